#include "tools/vyre/listing.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"
#include "vyre/library/library.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

constexpr std::size_t kLong = 44;  // of a statement that is shown

// The first line of the statement at `begin`, up to the next one, a comment, or a brace that it
// does not open itself.
std::string statement_text(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view line = text.substr(begin, end - begin);
  line = line.substr(0, line.find_first_of("\r\n"));
  line = line.substr(0, line.find("//"));
  std::size_t open = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '{') ++open;
    if (line[i] == '}' && open-- == 0) line = line.substr(0, i);
  }
  return shorten(line.substr(0, line.find_last_not_of(" \t") + 1), kLong);
}

// The statements that one of the text stands for, which begins with `first`.
std::vector<Part> parts_at(const Body& body, std::size_t first, std::size_t count) {
  if (count == 1) return {Part::Whole};
  if (std::holds_alternative<For>(body.stmts[first])) {
    return {Part::Hidden, Part::Test, Part::Hidden};
  }
  if (std::holds_alternative<Let>(body.stmts[first + 1])) {
    return {Part::Hidden, Part::From, Part::To, Part::Rounds, Part::Variable};
  }
  return {Part::Hidden, Part::Result, Part::Assigned};
}

void add_places(const Source& source, const ItemPositions& item, Listing& listing) {
  LineCounter lines(source);
  const auto place = [&](std::uint32_t offset, std::string text, std::size_t first, Part part) {
    const LineCounter::Place at = lines.at(offset);
    return StatementPlace{at.line, at.column, std::move(text), static_cast<std::uint32_t>(first),
                          part};
  };
  const auto head = [&](std::size_t i) { return item.statements[i].head.begin; };
  listing.head = place(item.heads[0], "op " + listing.name, 0, Part::Whole);
  const std::size_t count = item.statements.size();
  for (std::size_t first = 0, next = 0; first < count; first = next) {
    while (next < count && head(next) == head(first)) ++next;
    const std::string text =
        statement_text(source.text, head(first), next < count ? head(next) : item.end);
    for (const Part part : parts_at(listing.body, first, next - first)) {
      listing.places.push_back(place(head(first), text, first, part));
    }
  }
  listing.places.push_back(place(item.end, "end", count, Part::Whole));
}

// Where there is no text.
void add_heads(Listing& listing) {
  listing.has_lines = false;
  listing.head.text = "op " + listing.name;
  std::uint32_t number = 0;
  for (const Stmt& stmt : listing.body.stmts) {
    const std::string head = print_head(listing.body, listing.buffers, stmt, kLong);
    listing.places.push_back({0, 0, shorten(head, kLong), number++});
  }
  listing.places.push_back({0, 0, "end", number});
}

Listing listing_of(const Request& request, std::string name, const Body& body,
                   std::span<const BufferDecl> buffers, std::span<const DataType> inputs) {
  std::vector<DataType> results;
  for (const std::string& id : body.callees) {
    results.push_back(request.loaded.registry.find(id)->signature.output);
  }
  return {body, buffers, types_of(body, buffers, inputs, results), std::move(name)};
}

// Of an item of the user.
void add_item(const Request& request, std::size_t item, Listing& listing) {
  const Loaded& loaded = request.loaded;
  listing.file = loaded.file_of(item);
  if (listing.file != loaded.file_of(request.item)) {
    listing.suffix = " (" + path_text(listing.file) + ")";
  }
  loaded.positions.empty() ? add_heads(listing)
                           : add_places(loaded.source, loaded.positions[item], listing);
}

}  // namespace

std::string Listing::number_of(std::size_t stmt) const {
  return has_lines ? std::to_string(places[stmt].line) + ":" + std::to_string(places[stmt].column)
                   : path_of(body, StmtId{stmt});
}

std::optional<std::size_t> own_item(const Request& request, std::string_view op) {
  const std::vector<Item>& items = request.loaded.module.items;
  const auto item = std::ranges::find_if(items, [&](const Item& each) {
    const Op* own = std::get_if<Op>(&each);
    return own != nullptr && own->id == op;
  });
  if (item == items.end()) return {};
  return static_cast<std::size_t>(item - items.begin());
}

Listing list_program(const Request& request) {
  const Program& program = request.program();
  Listing listing = listing_of(request, program.name, program.body, program.buffers, {});
  add_item(request, request.item, listing);
  return listing;
}

Listing list_op(const Request& request, const Op& op) {
  Listing listing = listing_of(request, op.id, op.body, {}, op.signature.inputs);
  if (const std::optional<std::size_t> item = own_item(request, op.id)) {
    add_item(request, *item, listing);
    return listing;
  }
  // Lines are those of its own text.
  listing.suffix = " (library)";
  const Source source{op.id, find_library_entry(op.id)->text()};
  const Parsed parsed = parse_source(source, signatures_of(request.loaded.registry));
  add_places(source, parsed.positions[0], listing);
  return listing;
}

}  // namespace vyre
