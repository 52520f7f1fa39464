// Printing writes plain tokens and says which of them start a line; layout() does the rest.
#include "vyre/text/print.h"

#include <algorithm>
#include <array>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"
#include "vyre/text/lexer.h"
#include "vyre/text/parse.h"

namespace vyre {
namespace {

// Tighter than every operator: literals, names, calls, lanes.
constexpr int kPrimary = kPrefixPrecedence + 1;

std::string unsigned_text(Wide value) {
  return value < 65536 ? std::to_string(static_cast<unsigned>(value)) : "0x" + hex(value);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + '"';
}

class Printer {
 public:
  std::string out;
  std::vector<std::uint32_t> line_starts;

  void item(const Item& item) {
    if (const Program* program = std::get_if<Program>(&item)) {
      this->program(*program);
    } else {
      op(std::get<Op>(item));
    }
  }

  void program(const Program& program);
  void op(const Op& op);
  void expr(const Body& body, const std::vector<BufferDecl>& buffers, ExprId root,
            std::size_t limit = ~std::size_t{0});
  void head(const Body& body, const std::vector<BufferDecl>& buffers, const Stmt& stmt,
            std::size_t limit = ~std::size_t{0});

 private:
  void line() {
    out += '\n';
    line_starts.push_back(static_cast<std::uint32_t>(out.size()));
  }
  void statements(const Body& body, const std::vector<BufferDecl>& buffers);
};

void Printer::program(const Program& program) {
  line();
  out += "program " + program.name + " workgroup(";
  const auto& size = program.workgroup_size;
  // Axes of one at the end are left out.
  const std::size_t axes = size[2] != 1 ? 3 : size[1] != 1 ? 2 : 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    out += (axis > 0 ? ", " : "") + unsigned_text(size[axis]);
  }
  out += ") {";
  for (const BufferDecl& buffer : program.buffers) {
    line();
    out += text(buffer.access);
    out += ' ' + buffer.name + ": ";
    out += text(buffer.element);
    if (buffer.count != 0) {
      out += '[' + unsigned_text(buffer.count) + ']';
    } else if (buffer.element != DataType::Bytes) {
      out += "[]";
    }
    if (buffer.access != BufferAccess::Workgroup) out += " @" + unsigned_text(buffer.binding);
  }
  statements(program.body, program.buffers);
  out += " }";
}

void Printer::op(const Op& op) {
  line();
  out += "op " + op.id + "(";
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    out += (i > 0 ? ", " : "") + op.body.locals[i].name + ": ";
    out += text(op.signature.inputs[i]);
  }
  out += ") -> ";
  out += text(op.signature.output);
  out += " {";
  if (!op.description.empty()) {
    line();
    out += quote(op.description);
  }
  for (const Law& law : op.laws) {
    line();
    out += "law " + print_law(law);
  }
  statements(op.body, {});
  out += " }";
}

void Printer::statements(const Body& body, const std::vector<BufferDecl>& buffers) {
  BlockStack<OpenBlock> stack(body);
  bool chained = false;  // the next statement goes on after `else`
  const auto close = [&](const OpenBlock& closed, const OpenBlock& now) {
    chained = is_else_of(now, closed) && now.is_chained;
    // An `else if` ends with its inner `if`, without its own brace.
    if (closed.is_chained) return;
    out += !is_else_of(now, closed) ? " }" : chained ? " } else " : " } else {";
  };
  const auto count = static_cast<std::uint32_t>(body.stmts.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    chained = false;
    stack.enter(i, close);
    if (!chained) line();
    head(body, buffers, body.stmts[i]);
    stack.open(i);
  }
  stack.enter(count, close);
}

// A statement up to its opening brace, if it has one.
void Printer::head(const Body& body, const std::vector<BufferDecl>& buffers, const Stmt& stmt,
                   std::size_t limit) {
  const auto value = [&](ExprId id) { expr(body, buffers, id, limit); };
  visit(
      stmt,
      [&](const Let& let) {
        out += "let " + body[let.local].name + " = ";
        value(let.value);
      },
      [&](const Assign& assign) {
        out += body[assign.local].name + " = ";
        value(assign.value);
      },
      [&](const Store& store) {
        out += buffers[store.buffer.index].name + "[";
        value(store.index);
        out += "] = ";
        value(store.value);
      },
      [&](const Atomic& atomic) {
        if (atomic.result.exists()) out += "let " + body[atomic.result].name + " = ";
        out += info(atomic.op).text;
        out += '(' + buffers[atomic.buffer.index].name + '[';
        value(atomic.index);
        out += ']';
        if (atomic.expected.exists()) {
          out += ", ";
          value(atomic.expected);
        }
        out += ", ";
        value(atomic.value);
        out += ')';
      },
      [&](const If& branch) {
        out += "if ";
        value(branch.condition);
        out += " {";
      },
      [&](const For& loop) {
        out += "for " + body[loop.variable].name + " in ";
        value(loop.from);
        out += "..";
        value(loop.to);
        out += " {";
      },
      [&](const Block&) { out += '{'; }, [&](const Break&) { out += "break"; },
      [&](const Barrier&) { out += "barrier"; },
      [&](const Return& result) {
        out += result.value.exists() ? "return " : "return";
        if (result.value.exists()) value(result.value);
      });
}

int precedence(Operation op) {
  const int level = info(op).precedence;
  return level == 0 ? kPrimary : level;
}

// Depth first with an explicit stack: each frame prints what comes before its next operand.
void Printer::expr(const Body& body, const std::vector<BufferDecl>& buffers, ExprId root,
                   std::size_t limit) {
  struct Frame {
    ExprId id;
    std::uint32_t next;
    bool parentheses;
  };
  const auto needs_parentheses = [&](const Expr& parent, std::size_t position, const Expr& child) {
    const int inner = precedence(child.op);
    // A minus sign before an i32 literal would become part of it.
    if (parent.op == Operation::Negate && child.op == Operation::Literal) {
      return has_sign(type_of_detail(child));
    }
    if (parent.op == Operation::Lane) return inner < kPrimary;
    const int outer = precedence(parent.op);
    if (outer == kPrimary) return false;
    if (outer == kPrefixPrecedence) return inner < outer;
    return inner < outer || (inner == outer && (position == 1 || outer == kComparisonPrecedence));
  };
  std::vector<Frame> stack{{root, 0, false}};
  while (!stack.empty()) {
    if (out.size() > limit) {
      out += "…";
      return;
    }
    Frame& frame = stack.back();
    const Expr& expr = body[frame.id];
    const OperationInfo& row = info(expr.op);
    const std::span<const ExprId> args = operands(body, expr);
    const std::uint32_t next = frame.next++;
    const bool infix = row.arity == 2 && row.precedence > 0;
    if (next == 0) {
      if (frame.parentheses) out += '(';
      switch (expr.op) {
        case Operation::Literal:
          out += print_literal({type_of_detail(expr), literal_bits(body, expr)});
          break;
        case Operation::Local:
          // A value that could not be made is a local that does not exist.
          out += expr.imm < body.locals.size() ? body.locals[expr.imm].name : "?";
          break;
        case Operation::Load: out += buffers[expr.imm].name + '['; break;
        case Operation::Length: out += "len(" + buffers[expr.imm].name + ')'; break;
        case Operation::InvocationId:
        case Operation::WorkgroupId:
        case Operation::LocalId:
          out += std::string(id_name(expr.op)) + '.' + "xyz"[expr.detail];
          break;
        case Operation::Select: out += "select("; break;
        case Operation::Cast:
          out += text(type_of_detail(expr));
          out += '(';
          break;
        case Operation::Vec2: out += "vec2u32("; break;
        case Operation::Vec4: out += "vec4u32("; break;
        case Operation::Call: out += body.callees[expr.imm] + '('; break;
        case Operation::Lane: break;
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
          if (row.arity == 1 || !infix) out += row.text;
          if (row.precedence == 0) out += '(';
          break;
      }
    } else if (next < args.size()) {
      if (infix) {
        out += ' ';
        out += row.text;
        out += ' ';
      } else {
        out += ", ";
      }
    }
    if (next < args.size()) {
      const bool parentheses = needs_parentheses(expr, next, body[args[next]]);
      stack.push_back({args[next], 0, parentheses});
      continue;
    }
    if (expr.op == Operation::Load) {
      out += ']';
    } else if (expr.op == Operation::Lane) {
      out += '.';
      out += "xyzw"[expr.detail];
    } else if (precedence(expr.op) == kPrimary && (!args.empty() || expr.op == Operation::Call)) {
      out += ')';
    }
    if (frame.parentheses) out += ')';
    stack.pop_back();
  }
}

std::string finish(Printer& printer) { return layout(printer.out, printer.line_starts); }

}  // namespace

std::string print_literal(const TypedBits& value) {
  const auto& lanes = value.bits.lanes;
  if (value.type == DataType::Bool) return lanes[0] != 0 ? "true" : "false";
  if (is_vector(value.type)) {
    std::string out(text(value.type));
    for (std::size_t i = 0; i < info(value.type).lanes; ++i) {
      out += (i == 0 ? "(" : ", ") + unsigned_text(lanes[i]);
    }
    return out + ')';
  }
  Wide number = 0;
  for (std::size_t i = 4; i-- > 0;) number = number << 32 | lanes[i];
  std::string out;
  if (has_sign(value.type) && lanes[0] >> 31 != 0) {
    out = "-";
    number = (Wide{1} << 32) - number;
  }
  out += unsigned_text(number);
  if (value.type != DataType::U32) out += text(value.type);
  return out;
}

std::string print_applied(const OperationInfo& row) {
  const std::string text(row.text);
  if (row.precedence == 0) return text + (row.arity == 1 ? "(a)" : "(a, b)");
  return row.arity == 1 ? text + "a" : "a " + text + " b";
}

std::string print_law(const Law& law) {
  std::string out(info(law.kind).text);
  for (std::size_t i = 0; i < law.arguments.size(); ++i) {
    out += i == 0 ? "(" : ", ";
    const LawArgument& argument = law.arguments[i];
    if (const TypedBits* bits = std::get_if<TypedBits>(&argument)) {
      out += print_literal(*bits);
    } else if (const std::string* id = std::get_if<std::string>(&argument)) {
      out += *id;
    } else {
      const bool up = std::get<Direction>(argument) == Direction::NonDecreasing;
      out += up ? "non_decreasing" : "non_increasing";
    }
  }
  return law.arguments.empty() ? out : out + ')';
}

std::string print(const Module& module) {
  Printer printer;
  for (const Item& item : module.items) printer.item(item);
  return finish(printer);
}

std::string print(const Program& program) {
  Printer printer;
  printer.program(program);
  return finish(printer);
}

std::string print(const Op& op) {
  Printer printer;
  printer.op(op);
  return finish(printer);
}

std::string print_expr(const Body& body, const std::vector<BufferDecl>& buffers, ExprId id,
                       std::size_t limit) {
  Printer printer;
  printer.expr(body, buffers, id, limit);
  return printer.out;
}

std::string print_head(const Body& body, const std::vector<BufferDecl>& buffers, const Stmt& stmt,
                       std::size_t limit) {
  Printer printer;
  printer.head(body, buffers, stmt, limit);
  return printer.out;
}

Result<std::string> format(const Source& source) {
  Parsed parsed = parse_source(source);
  if (!parsed.syntax_ok) return std::move(parsed.findings).located(source);
  std::vector<std::uint32_t> line_starts;
  for (const ItemPositions& item : parsed.positions) {
    line_starts.insert(line_starts.end(), item.heads.begin(), item.heads.end());
    for (const auto& statement : item.statements) line_starts.push_back(statement.head.begin);
  }
  return layout(source.text, line_starts);
}

}  // namespace vyre
