#include "vyre/validate/context.h"

#include "vyre/base/text.h"
#include "vyre/text/lexer.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

const std::vector<BufferDecl> kNoBuffers;

// The token of a statement that a place means; the statement starts at `begin`.
Span token_in(std::string_view text, std::uint32_t begin, Place::Kind kind) {
  Findings scratch;
  Lexer lexer(text, scratch);
  lexer.seek(begin);
  Token token = lexer.next_but_comments();
  if (kind == Place::Kind::LocalName && (token.word == Word::Let || token.word == Word::For)) {
    token = lexer.next_but_comments();
  } else if (kind == Place::Kind::Accessed && token.word != Word::None) {
    // An atomic: its buffer stands behind the parenthesis.
    while (token.kind != Tok::LParen && token.kind != Tok::End) token = lexer.next_but_comments();
    token = lexer.next_but_comments();
  }
  return token.span;
}

}  // namespace

Context::Context(const Item& item, const Callees& callees_by_id, const Source* source,
                 const ItemPositions* positions, Findings* findings,
                 std::vector<Diagnostic>* diagnostics)
    : program(std::get_if<Program>(&item)),
      op(std::get_if<Op>(&item)),
      body(body_of(item)),
      buffers(program != nullptr ? program->buffers : kNoBuffers),
      name(program != nullptr ? program->name : op->id),
      callees(callees_by_id),
      source_(source),
      positions_(positions),
      findings_(findings),
      diagnostics_(diagnostics) {}

void Context::add(Diagnostic diagnostic, Place place) {
  if (source_ != nullptr) {
    if (!findings_->full()) findings_->add(std::move(diagnostic), span_of(place));
  } else if (diagnostics_->size() < kMaxDiagnostics) {
    diagnostic.path = path_of(place);
    diagnostics_->push_back(std::move(diagnostic));
  }
}

bool Context::full() const {
  return source_ != nullptr ? findings_->full() : diagnostics_->size() >= kMaxDiagnostics;
}

Place Context::root(std::uint32_t stmt, std::size_t k) const {
  const Roots ids = roots(body.stmts[stmt]);
  std::uint32_t use = 0;
  for (std::size_t i = 0; i <= k; ++i) use += sizes[ids.ids[i].index];
  return Place::at_use(stmt, use - 1);
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
    case Place::Kind::Head:
    case Place::Kind::LocalName:
    case Place::Kind::Accessed:
      return token_in(source_->text, positions_->statements[place.index].begin, place.kind);
    case Place::Kind::Use:
      return positions_->uses[positions_->statements[place.index].first_use + place.use];
  }
  return {};
}

// The expression of a use. Uses are numbered as for_each_use() visits them: what stands before it
// is skipped by its size.
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
