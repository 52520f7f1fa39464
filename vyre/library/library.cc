#include "vyre/library/library.h"

#include <algorithm>

#include "library_ops.h"

namespace vyre {
namespace {

// In a file of the library an op begins with `op ` and ends with `}`, both at the start of a line.
// The comment above it has its examples.
void add_entries(std::string_view file, std::string_view text, std::vector<LibraryEntry>& entries) {
  constexpr std::string_view kOp = "op ";
  constexpr std::string_view kComment = "// ";
  std::vector<std::string_view> examples;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kOp)) {
      const std::string_view id = line.substr(kOp.size(), line.find('(') - kOp.size());
      const std::string_view op = text.substr(0, text.find("\n}") + 2);
      std::erase_if(examples, [&](std::string_view example) { return !example.starts_with(id); });
      entries.push_back({id, file, op, std::move(examples)});
      examples.clear();
      text.remove_prefix(op.size());
      continue;
    }
    if (line.starts_with(kComment)) {
      examples.push_back(line.substr(kComment.size()));
    } else {
      examples.clear();
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

}  // namespace

std::span<const LibraryEntry> library_entries() {
  static const std::vector<LibraryEntry> entries = [] {
    std::vector<LibraryEntry> all;
    for (const auto& [file, text] : embedded::library_ops) add_entries(file, text, all);
    std::ranges::sort(all, {}, &LibraryEntry::id);
    return all;
  }();
  return entries;
}

const LibraryEntry* find_library_entry(std::string_view id) {
  const std::span<const LibraryEntry> entries = library_entries();
  const auto found = std::ranges::lower_bound(entries, id, {}, &LibraryEntry::id);
  return found != entries.end() && found->id == id ? &*found : nullptr;
}

}  // namespace vyre
