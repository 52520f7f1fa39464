// Constants by the file that defines them: a file sees its own, and those of the files that it
// uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vyre {

// Files are entered one after the other, each once, and after those that it uses, unless these use
// it, too. `Constant` has a name.
template <class Constant>
class FileConstants {
 public:
  void enter(std::uint32_t file, std::span<const std::uint32_t> used) {
    file_ = file;
    used_ = {used.begin(), used.end()};
    used_.erase(file);
    entered_.insert(file);
  }

  // Of the file at hand, which has none of this name.
  void add(Constant constant) {
    all_.push_back(std::move(constant));
    by_name_[all_.back().name].push_back({file_, &all_.back()});
  }

  // The file at hand.
  std::uint32_t file() const { return file_; }

  // The one that the file at hand defines.
  const Constant* own(std::string_view name) const {
    const auto known = by_name_.find(name);
    const bool is_own = known != by_name_.end() && known->second.back().file == file_;
    return is_own ? known->second.back().constant : nullptr;
  }

  // What a name means in the file at hand, if it means one thing.
  const Constant* find(std::string_view name) const {
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return nullptr;
    if (const Constant* mine = own(name)) return mine;
    const Constant* found = nullptr;
    for (const Definition& each : known->second) {
      if (!used_.contains(each.file)) continue;
      if (found != nullptr) return nullptr;
      found = each.constant;
    }
    return found;
  }

  // The used files that define it.
  std::vector<std::uint32_t> files_with(std::string_view name) const {
    std::vector<std::uint32_t> files;
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return files;
    for (const Definition& each : known->second) {
      if (used_.contains(each.file)) files.push_back(each.file);
    }
    return files;
  }

  // The used files whose constants are not known yet, because they use this one.
  std::vector<std::uint32_t> later_files() const {
    std::vector<std::uint32_t> files;
    std::ranges::set_difference(used_, entered_, std::back_inserter(files));
    return files;
  }

 private:
  struct Definition {
    std::uint32_t file;
    const Constant* constant;
  };
  std::deque<Constant> all_;
  std::map<std::string, std::vector<Definition>, std::less<>> by_name_;
  std::uint32_t file_ = 0;
  std::set<std::uint32_t> used_;
  std::set<std::uint32_t> entered_;
};

}  // namespace vyre
