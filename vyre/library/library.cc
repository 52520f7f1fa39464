// In a file of the library an op begins with `op ` and ends with `}`, both at the start of a line.
// The constants between it and the op before it are its own; the comments there that call it are
// its examples. `// Also for u64, u32.`, after these, says for which types the text stands besides.
#include "vyre/library/library.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "library_ops.h"
#include "vyre/base/text.h"

namespace vyre {

// What is different in the text of an op for another type or field than the one that it is written
// for. Ids of ops for u32 have no suffix.
struct LibraryVariant {
  std::string_view of;
  std::string_view type;
  std::array<std::array<std::string_view, 2>, 5> changes;  // one after the other
};

namespace {

// Those of wider types first: an op is written for the first one that it mentions.
constexpr LibraryVariant kVariants[] = {
    {"babybear",
     "m31",
     {{{"babybear", "m31"},
       {"15 * 2^27 + 1", "2^31 - 1"},
       {"0x78000001", "0x7fffffff"},
       {"0x78000000", "0x7ffffffe"},
       {"0x3c000001", "0x40000000"}}}},
    {"u512", "u256", {{{"u512", "u256"}, {"[16]", "[8]"}, {"[32]", "[16]"}, {"512", "256"}}}},
    {"u128", "u64", {{{"u128", "u64"}, {"128", "64"}, {"127", "63"}}}},
    {"u128", "u32", {{{"_u128", ""}, {"u128", "u32"}, {"128", "32"}, {"127", "31"}}}},
    {"u128", "i32", {{{"u128", "i32"}, {"128", "32"}, {"127", "31"}}}},
    {"u64", "u32", {{{"_u64", ""}, {"u64", "u32"}, {"64", "32"}, {"63", "31"}}}},
};

// Whether a part of a text is a whole number, or a type or a name up to its end.
bool is_whole(std::string_view text, std::size_t at, std::size_t size) {
  const char before = at == 0 ? ' ' : text[at - 1];
  const char after = at + size < text.size() ? text[at + size] : ' ';
  if (is_digit(text[at + size - 1]) && is_digit(after)) return false;
  if (is_digit(text[at])) return !is_name_char(before);
  const bool is_word = is_name_start(text[at]) && text[at] != '_';
  return !is_word || before == '_' || !is_name_start(before);
}

std::string in_type(std::string_view written, const LibraryVariant& variant) {
  std::string text(written);
  for (const auto& [from, to] : variant.changes) {
    for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != text.npos;) {
      const bool changes = is_whole(text, at, from.size());
      if (changes) text.replace(at, from.size(), to);
      at += changes ? to.size() : 1;
    }
  }
  return text;
}

struct Entries {
  std::vector<LibraryEntry> all;
  std::deque<std::string> ids;  // of variants
};

void add_entries(std::string_view file, std::string_view text, Entries& entries) {
  constexpr std::string_view kOp = "\nop ";
  constexpr std::string_view kTypes = "// Also for ";
  for (std::size_t at = text.find(kOp); at != text.npos; at = text.find(kOp)) {
    const std::string_view head = text.substr(at + kOp.size(), text.find('\n', at + 1) - at);
    const std::size_t begin = std::min(text.substr(0, at).find("\nconst "), at) + 1;
    const std::size_t end = text.find("\n}", at) + 2;
    LibraryEntry entry{head.substr(0, head.find('(')), file, text.substr(0, begin),
                       text.substr(begin, end - begin)};
    text.remove_prefix(end);
    entries.all.push_back(entry);
    const std::size_t types = entry.comments.find(kTypes);
    if (types == text.npos) continue;
    const std::string_view id = entry.id;
    std::string_view of;
    for (const LibraryVariant& variant : kVariants) {
      if (of.empty() && head.find(variant.of) != head.npos) of = variant.of;
      if (of != variant.of || entry.comments.find(variant.type, types) == text.npos) continue;
      entry.id = entries.ids.emplace_back(in_type(id, variant));
      entry.variant = &variant;
      entries.all.push_back(entry);
    }
  }
}

}  // namespace

std::string LibraryEntry::text() const {
  return variant == nullptr ? std::string(written) : in_type(written, *variant);
}

std::vector<std::string_view> LibraryEntry::examples() const {
  std::vector<std::string_view> found;
  const std::string begin = "// " + std::string(id) + "(";
  for (std::size_t at = comments.find(begin); at != comments.npos;
       at = comments.find(begin, at + 1)) {
    found.push_back(comments.substr(at + 3, comments.find('\n', at) - at - 3));
  }
  return found;
}

std::span<const LibraryEntry> library_entries() {
  static const Entries entries = [] {
    Entries sorted;
    for (const auto& [file, text] : embedded::library_ops) add_entries(file, text, sorted);
    std::ranges::sort(sorted.all, {}, &LibraryEntry::id);
    return sorted;
  }();
  return entries.all;
}

const LibraryEntry* find_library_entry(std::string_view id) {
  const std::span<const LibraryEntry> entries = library_entries();
  const auto found = std::ranges::lower_bound(entries, id, {}, &LibraryEntry::id);
  return found != entries.end() && found->id == id ? &*found : nullptr;
}

}  // namespace vyre
