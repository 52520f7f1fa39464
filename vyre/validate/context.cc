#include "vyre/validate/context.h"

#include "vyre/base/text.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

const std::vector<BufferDecl> kNoBuffers;

}  // namespace

Context::Context(const Item& item, const Callees& callees_by_id, const ItemPositions* positions,
                 Findings* findings, std::vector<Diagnostic>* diagnostics)
    : program(std::get_if<Program>(&item)),
      op(std::get_if<Op>(&item)),
      body(body_of(item)),
      buffers(program != nullptr ? program->buffers : kNoBuffers),
      name(program != nullptr ? program->name : op->id),
      callees(callees_by_id),
      positions_(positions),
      findings_(findings),
      diagnostics_(diagnostics) {}

void Context::add(Diagnostic diagnostic, Place place, std::optional<Place> cause) {
  if (positions_ != nullptr) {
    if (findings_->full()) return;
    findings_->add(std::move(diagnostic), span_of(place),
                   cause ? std::optional(span_of(*cause)) : std::nullopt);
  } else if (diagnostics_->size() < kMaxDiagnostics) {
    diagnostic.path = path_of(place);
    diagnostics_->push_back(std::move(diagnostic));
  }
}

bool Context::full() const {
  return positions_ != nullptr ? findings_->full() : diagnostics_->size() >= kMaxDiagnostics;
}

Place Context::root(std::uint32_t stmt, std::size_t k) const {
  const Roots ids = roots(body.stmts[stmt]);
  std::uint32_t use = 0;
  for (std::size_t i = 0; i <= k; ++i) use += sizes[ids.ids[i].index];
  return Place::at_use(stmt, use - 1);
}

std::string Context::where(StmtId cause) const {
  return positions_ != nullptr ? "in line {line}" : "at " + vyre::path_of(body, cause);
}

Span Context::span_of(Place place) const {
  switch (place.kind) {
    case Place::Kind::Title: return positions_->name;
    case Place::Kind::GroupSize: return positions_->workgroup_size;
    case Place::Kind::BufferName: return positions_->buffers[place.index];
    case Place::Kind::ParameterName: return positions_->parameters[place.index];
    case Place::Kind::OutputType: return positions_->output;
    case Place::Kind::LawLine: return positions_->laws[place.index];
    case Place::Kind::Close: return {positions_->end, positions_->end + 1};
    case Place::Kind::Head: return positions_->statements[place.index].head;
    case Place::Kind::LocalName: return positions_->statements[place.index].local;
    case Place::Kind::Accessed: return positions_->statements[place.index].buffer;
    case Place::Kind::Use:
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
    case Place::Kind::Title:
    case Place::Kind::GroupSize:
    case Place::Kind::OutputType:
    case Place::Kind::Close: return path;
    case Place::Kind::BufferName: return part("buffers");
    case Place::Kind::ParameterName: return part("parameters");
    case Place::Kind::LawLine: return part("laws");
    case Place::Kind::Head:
    case Place::Kind::LocalName:
    case Place::Kind::Accessed:
    case Place::Kind::Use: break;
  }

  path += ": " + vyre::path_of(body, StmtId{place.index});
  if (place.kind == Place::Kind::Use) {
    path += ": " + shorten(print_expr(body, buffers, expr_of(place), 60));
  }
  return path;
}

}  // namespace vyre
