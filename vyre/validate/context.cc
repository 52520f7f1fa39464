#include "vyre/validate/context.h"

#include "vyre/base/text.h"
#include "vyre/text/print.h"

namespace vyre {

Context::Context(const Item& item, const Callees& callees_by_id, Findings& findings,
                 const ItemPositions* positions)
    : program(std::get_if<Program>(&item)),
      op(std::get_if<Op>(&item)),
      body(body_of(item)),
      name(program != nullptr ? program->name : op->id),
      callees(callees_by_id),
      findings_(findings),
      positions_(positions) {
  if (program != nullptr) buffers = program->buffers;
}

void Context::add(Diagnostic diagnostic, Place place, std::optional<Place> cause) {
  if (full()) return;
  if (positions_ != nullptr) {
    findings_.add(std::move(diagnostic), span_of(place),
                  cause ? std::optional(span_of(*cause)) : std::nullopt);
  } else {
    diagnostic.path = path_of(place);
    findings_.add(std::move(diagnostic));
  }
}

void Context::report_twice(const Context& first) {
  if (full()) return;
  Diagnostic diagnostic = diagnose<message::duplicate_item>(shorten(name));
  if (positions_ == nullptr) return add(std::move(diagnostic), Place::Name);
  diagnostic.notes = {"  the first one is at {place}"};
  findings_.add(std::move(diagnostic), positions_->name, first.positions_->name);
}

Place Context::root(std::uint32_t stmt, std::size_t k) const {
  const Roots ids = roots(body.stmts[stmt]);
  std::uint32_t use = 0;
  for (std::size_t i = 0; i <= k; ++i) use += sizes[ids.ids[i].index];
  return {Place::Use, stmt, use - 1};
}

bool Context::is_while(StmtId branch) const {
  if (positions_ == nullptr || branch.index == 0) return false;
  const StmtId loop{branch.index - 1};
  return std::holds_alternative<For>(body[loop]) &&
         span_of({Place::Head, loop.index}).begin == span_of({Place::Head, branch.index}).begin;
}

std::string Context::where(StmtId cause) const {
  return positions_ != nullptr ? "in line {line}" : "at " + vyre::path_of(body, cause);
}

Span Context::span_of(Place place) const {
  switch (place.kind) {
    case Place::Name: return positions_->name;
    case Place::WorkgroupSize: return positions_->workgroup_size;
    case Place::Buffer: return positions_->buffers[place.index];
    case Place::Parameter: return positions_->parameters[place.index];
    case Place::Output: return positions_->output;
    case Place::Law: return positions_->laws[place.index];
    case Place::End: return {positions_->end, positions_->end + 1};
    case Place::Head: return positions_->statements[place.index].head;
    case Place::Local: return positions_->statements[place.index].local;
    case Place::Accessed: return positions_->statements[place.index].buffer;
    case Place::Use:
      return positions_->uses[positions_->statements[place.index].first_use + place.use];
  }
  return {};
}

// The expression of a use. Uses are numbered as for_each_use() visits them: what comes before it is
// skipped by its size.
ExprId Context::expr_of(Place place) const {
  std::uint32_t before = 0;
  const auto with_use = [&](std::span<const ExprId> ids) {
    for (ExprId id : ids) {
      if (place.use < before + sizes[id.index]) return id;
      before += sizes[id.index];
    }
    return ExprId{};
  };
  const Roots ids = roots(body.stmts[place.index]);
  ExprId found = with_use({ids.begin(), ids.end()});
  while (place.use + 1 < before + sizes[found.index]) found = with_use(operands(body, body[found]));
  return found;
}

std::string Context::path_of(Place place) const {
  std::string path = (program != nullptr ? "program " : "op ") + shorten(name);
  const auto part = [&](std::string_view what) {
    return path + ": " + std::string(what) + "[" + std::to_string(place.index) + "]";
  };
  switch (place.kind) {
    case Place::Name:
    case Place::WorkgroupSize:
    case Place::Output:
    case Place::End: return path;
    case Place::Buffer: return part("buffers");
    case Place::Parameter: return part("parameters");
    case Place::Law: return part("laws");
    case Place::Head:
    case Place::Local:
    case Place::Accessed:
    case Place::Use: break;
  }

  path += ": " + vyre::path_of(body, StmtId{place.index});
  if (place.kind == Place::Use) {
    path += ": " + shorten(print_expr(body, buffers, expr_of(place), 60));
  }
  return path;
}

}  // namespace vyre
