// In a file of the library an op begins with `op ` and ends with `}`, both at the start of a line.
// The constants between it and the op before it are its own; the comments there that call it are
// its examples. `// Also for u64, u32.` says that the text stands for these types too.
#include "vyre/library/library.h"

#include <algorithm>
#include <utility>

#include "library_ops.h"

namespace vyre {
namespace {

// What is different in the text of an op for another type than the one that it is written for. Ids
// of ops for u32 have no suffix.
struct Variant {
  std::string_view of;
  std::string_view type;
  std::vector<std::pair<std::string_view, std::string_view>> changes;  // one after the other
};

// Those of wider types first: an op is written for the first one that it mentions.
const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> variants = {
      {"u512", "u256", {{"u512", "u256"}, {"[16]", "[8]"}, {"[32]", "[16]"}, {"512", "256"}}},
      {"u128", "u64", {{"u128", "u64"}, {"128", "64"}, {"127", "63"}}},
      {"u128", "u32", {{"_u128", ""}, {"u128", "u32"}, {"128", "32"}, {"127", "31"}}},
      {"u128", "i32", {{"u128", "i32"}, {"128", "32"}, {"127", "31"}}},
      {"u64", "u32", {{"_u64", ""}, {"u64", "u32"}, {"64", "32"}, {"63", "31"}}},
  };
  return variants;
}

std::string in_type(std::string text, const Variant& variant) {
  for (const auto& [from, to] : variant.changes) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

void add_entries(std::string_view file, std::string_view text, std::vector<LibraryEntry>& entries) {
  constexpr std::string_view kOp = "op ";
  constexpr std::string_view kComment = "// ";
  constexpr std::string_view kTypes = "// Also for ";
  std::vector<std::string_view> comments;
  std::string_view types;
  std::size_t begin = text.npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with("const ") || line.starts_with(kOp)) begin = std::min(begin, at);
    if (line.starts_with(kTypes)) types = line.substr(kTypes.size());
    if (line.starts_with(kComment)) comments.push_back(line.substr(kComment.size()));
    at += line.size() + 1;
    if (!line.starts_with(kOp)) continue;
    const std::string id(line.substr(kOp.size(), line.find('(') - kOp.size()));
    at = text.find("\n}", at - 1) + 2;
    const auto add = [&](std::string name, std::string op) {
      std::vector<std::string_view> examples;
      std::ranges::copy_if(comments, std::back_inserter(examples),
                           [&](std::string_view each) { return each.starts_with(name + "("); });
      entries.push_back({std::move(name), file, std::move(op), std::move(examples)});
    };
    const std::string op(text.substr(begin, at - begin));
    add(id, op);
    std::string_view of;
    for (const Variant& variant : all_variants()) {
      if (of.empty() && op.find(variant.of) != op.npos) of = variant.of;
      if (of != variant.of || types.find(variant.type) == types.npos) continue;
      add(in_type(id, variant), in_type(op, variant));
    }
    comments.clear();
    types = {};
    begin = text.npos;
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
