#include "vyre/files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "vyre/wire/wire.h"

namespace vyre {
namespace {

class Gatherer {
 public:
  Gatherer(Source first, const FindFile& find) : find_(find) {
    all_.source = std::move(first);
    numbers_.emplace(all_.source.file, 0);
    open(0);
  }

  // Depth first, without recursion: a chain may be as long as there are files.
  Result<Gathered> run() {
    while (!open_.empty()) {
      const std::uint32_t file = open_.back().file;
      if (open_.back().next == open_.back().uses.size()) {
        all_.uses.order.push_back(file);
        open_.pop_back();
        continue;
      }
      const Use use = std::move(open_.back().uses[open_.back().next++]);
      const std::optional<std::uint32_t> used = number_of(use, file);
      if (!used) continue;
      all_.uses.of_file[file].push_back(*used);
      if (*used == all_.uses.of_file.size()) open(*used);
    }
    if (!findings_.empty()) return std::move(findings_).located(all_.source);
    return std::move(all_);
  }

 private:
  struct Open {
    std::uint32_t file;
    std::vector<Use> uses;
    std::size_t next = 0;
  };

  void open(std::uint32_t file) {
    all_.uses.of_file.emplace_back();
    open_.push_back({file, uses_of(all_.source, all_.source.file_at(file))});
  }

  // The number of the file that is used, which may be new; nothing where there is none.
  std::optional<std::uint32_t> number_of(const Use& use, std::uint32_t file) {
    if (findings_.full()) return {};
    if (find_ == nullptr) return fail<message::no_finder>(use);
    Source& source = all_.source;
    Result<Source> found = find_(use.path, source.file_at(file).name);
    for (const Diagnostic& diagnostic : found.diagnostics()) findings_.add(diagnostic, use.span);
    if (!found) return {};
    if (const auto known = numbers_.find(found->file); known != numbers_.end()) {
      return known->second;
    }
    const auto number = static_cast<std::uint32_t>(source.file_count());
    if (number == kMaxFiles) return fail<message::too_many_files>(use, use.path);
    if (is_wire(found->text)) return fail<message::used_wire>(use, use.path);
    if (found->text.size() >= kMaxSourceBytes - std::min(kMaxSourceBytes, source.text.size())) {
      return fail<message::used_too_large>(use, use.path);
    }
    numbers_.emplace(found->file, number);
    source.text += '\n';
    source.used.push_back({std::move(found->file), static_cast<std::uint32_t>(source.text.size())});
    source.text += found->text;
    return number;
  }

  template <class Message, class... Arguments>
  std::optional<std::uint32_t> fail(const Use& use, const Arguments&... arguments) {
    findings_.report<Message>(use.span, arguments...);
    return {};
  }

  const FindFile& find_;
  Gathered all_;
  Findings findings_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // by name
  std::vector<Open> open_;
};

}  // namespace

FindFile find_among(std::vector<Source> files) {
  std::map<std::string, std::string> texts;
  for (Source& file : files) texts.emplace(std::move(file.file), std::move(file.text));
  return
      [texts = std::move(texts)](std::string_view path, std::string_view from) -> Result<Source> {
        const auto name = (std::filesystem::path(from).parent_path() / path).lexically_normal();
        const auto found = texts.find(name.string());
        if (found == texts.end()) return diagnose<message::no_used_file>(path);
        return Source{found->first, found->second};
      };
}

Result<Gathered> gather(Source first, const FindFile& find) {
  return Gatherer(std::move(first), find).run();
}

}  // namespace vyre
