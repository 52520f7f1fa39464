// Printing writes plain tokens and says which of them start a line; layout() does the rest.
#include "vyre/text/print.h"

#include <algorithm>
#include <array>
#include <set>

#include "vyre/base/text.h"
#include "vyre/ir/typing.h"
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
  Printer() = default;
  // For a part of a body: its expressions are cut where the text grows longer than `limit` bytes.
  Printer(const Body& body, std::span<const BufferDecl> buffers, std::size_t limit)
      : body_(&body), buffers_(buffers), limit_(limit) {}

  std::string out;

  void item(const Program& program);
  void item(const Op& op);
  void head(const Stmt& stmt);
  void expr(ExprId root);

  std::string laid_out() const { return layout(out, line_starts_); }

 private:
  void line() {
    out += '\n';
    line_starts_.push_back(static_cast<std::uint32_t>(out.size()));
  }
  void statements(const Body& body, std::span<const BufferDecl> buffers);
  void tables(const Body& body);
  void table(const ConstTable& table);
  void begin(const Expr& expr);
  void end(const Expr& expr);
  const std::string& name(BufferId id) const { return buffers_[id.index].name; }
  const std::string& name(LocalId id) const { return (*body_)[id].name; }

  std::vector<std::uint32_t> line_starts_;
  std::set<std::string, std::less<>> printed_;  // the tables that the text has
  // Of what is being printed.
  const Body* body_ = nullptr;
  std::span<const BufferDecl> buffers_;
  std::size_t limit_ = ~std::size_t{0};
};

// The constants that a body mentions come before its item, each once in a text.
void Printer::tables(const Body& body) {
  for (const ConstTable& table : body.tables) {
    if (printed_.insert(table.name).second) this->table(table);
  }
}

void Printer::table(const ConstTable& table) {
  line();
  out += "const " + table.name + ": ";
  out += argument_text(array_type(table.element, table.count())) + " = [";
  const DataType type = loaded_type(table.element);
  for (std::uint32_t i = 0; i < table.count(); ++i) {
    if (i > 0) out += ", ";
    std::string element =
        print_literal({type, load_element(table.element, table.contents.bytes(), i)});
    // A number needs no suffix.
    if (contains(type_sets::Scalar, type))
      element.resize(std::min(element.size(), element.find_first_of("iu")));
    out += element;
  }
  out += ']';
}

void Printer::item(const Program& program) {
  tables(program.body);
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access == BufferAccess::Constant)
      table({buffer.name, buffer.element, buffer.contents});
  }
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
    if (is_added(buffer.access)) continue;
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
  // Memory of an invocation is what arrays become.
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Private) continue;
    line();
    out += "let " + buffer.name + ": " + argument_text(array_type(buffer.element, buffer.count));
  }
  statements(program.body, program.buffers);
  out += " }";
}

void Printer::item(const Op& op) {
  tables(op.body);
  line();
  out += "op " + op.id + "(";
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    out += (i > 0 ? ", " : "") + op.body.locals[i].name + ": ";
    out += argument_text(op.signature.inputs[i]);
  }
  out += ") -> " + argument_text(op.signature.output);
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

void Printer::statements(const Body& body, std::span<const BufferDecl> buffers) {
  body_ = &body;
  buffers_ = buffers;
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
    head(body.stmts[i]);
    stack.open(i);
  }
  stack.enter(count, close);
}

// A statement up to its opening brace, if it has one.
void Printer::head(const Stmt& stmt) {
  visit(
      stmt,
      [&](const Let& let) {
        out += "let " + name(let.local);
        if (const Expr& value = (*body_)[let.value]; value.op == Operation::Zeros) {
          out += ": " + argument_text(static_cast<DataType>(value.imm));
          return;
        }
        out += " = ";
        expr(let.value);
      },
      [&](const SetElement& set) {
        out += name(set.local) + "[";
        expr(set.index);
        out += "] = ";
        expr(set.value);
      },
      [&](const Collective& collective) {
        out += "let " + name(collective.result) + " = ";
        out += info(collective.op).text;
        out += '(';
        expr(collective.value);
        if (collective.invocation.exists()) {
          out += ", ";
          expr(collective.invocation);
        }
        out += ')';
      },
      [&](const Assign& assign) {
        out += name(assign.local) + " = ";
        expr(assign.value);
      },
      [&](const Store& store) {
        out += name(store.buffer) + "[";
        expr(store.index);
        out += "] = ";
        expr(store.value);
      },
      [&](const Atomic& atomic) {
        if (atomic.result.exists()) out += "let " + name(atomic.result) + " = ";
        out += info(atomic.op).text;
        out += '(' + name(atomic.buffer) + '[';
        expr(atomic.index);
        out += ']';
        for (ExprId operand : {atomic.expected, atomic.value}) {
          if (!operand.exists()) continue;
          out += ", ";
          expr(operand);
        }
        out += ')';
      },
      [&](const If& branch) {
        out += "if ";
        expr(branch.condition);
        out += " {";
      },
      [&](const For& loop) {
        out += "for " + name(loop.variable) + " in ";
        expr(loop.from);
        out += "..";
        expr(loop.to);
        out += " {";
      },
      [&](const Block&) { out += '{'; }, [&](const Break&) { out += "break"; },
      [&](const Continue&) { out += "continue"; }, [&](const Barrier&) { out += "barrier"; },
      [&](const Return& result) {
        out += result.value.exists() ? "return " : "return";
        if (result.value.exists()) expr(result.value);
      });
}

int precedence(Operation op) {
  const int level = info(op).precedence;
  return level == 0 ? kPrimary : level;
}
bool is_infix(Operation op) { return arity(op) == 2 && info(op).precedence > 0; }

bool needs_parentheses(const Expr& parent, std::size_t position, const Expr& child) {
  const int inner = precedence(child.op);
  // A minus sign before an i32 literal would become part of it.
  if (parent.op == Operation::Negate && child.op == Operation::Literal) {
    return has_sign(type_of_detail(child));
  }
  if (parent.op == Operation::Lane || (parent.op == Operation::Element && position == 0)) {
    return inner < kPrimary;
  }
  const int outer = precedence(parent.op);
  if (outer == kPrimary) return false;
  if (outer == kPrefixPrecedence) return inner < outer;
  return inner < outer || (inner == outer && (position == 1 || outer == kComparisonPrecedence));
}

// All of an expression that comes before its operands.
void Printer::begin(const Expr& expr) {
  switch (expr.op) {
    case Operation::Literal:
      out += print_literal({type_of_detail(expr), literal_bits(*body_, expr)});
      break;
    case Operation::Local:
      // A value that could not be made is a local that does not exist.
      out += expr.imm < body_->locals.size() ? body_->locals[expr.imm].name : "?";
      break;
    case Operation::Load: out += buffers_[expr.imm].name + '['; break;
    case Operation::Length: out += "len(" + buffers_[expr.imm].name + ')'; break;
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
    case Operation::NumWorkgroups:
      out += std::string(id_name(expr.op)) + '.' + "xyz"[expr.detail];
      break;
    case Operation::Select: out += "select("; break;
    case Operation::Cast:
      out += text(type_of_detail(expr));
      out += '(';
      break;
    case Operation::Vec2: out += "vec2u32("; break;
    case Operation::Vec4: out += "vec4u32("; break;
    case Operation::Call: out += body_->callees[expr.imm] + '('; break;
    case Operation::Table: out += body_->tables[expr.imm].name; break;
    case Operation::Array: out += '['; break;
    case Operation::Zeros: {
      // Nobody writes it but in a `let`; a list of zeros means the same.
      const auto type = static_cast<DataType>(expr.imm);
      const DataType element = element_type(type);
      std::string zero = print_literal({element, {}});
      if (element == DataType::Vec2U32) zero = "vec2u32(0, 0)";
      if (element == DataType::Vec4U32) zero = "vec4u32(0, 0, 0, 0)";
      out += '[' + zero;
      for (std::uint32_t i = 1; i < element_count(type); ++i) out += ", " + zero;
      out += ']';
      break;
    }
    case Operation::Count: out += "len("; break;
    case Operation::Element:
    case Operation::Lane: break;
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      if (!is_infix(expr.op)) out += info(expr.op).text;
      if (info(expr.op).precedence == 0) out += '(';
      break;
  }
}

// What comes after them.
void Printer::end(const Expr& expr) {
  if (expr.op == Operation::Load || expr.op == Operation::Element) {
    out += ']';
  } else if (expr.op == Operation::Array) {
    out += ']';
  } else if (expr.op == Operation::Lane) {
    out += '.';
    out += "xyzw"[expr.detail];
  } else if (precedence(expr.op) == kPrimary && arity(expr.op) != 0) {
    out += ')';
  }
}

// Depth first with an explicit stack: each frame prints what comes before its next operand.
void Printer::expr(ExprId root) {
  struct Frame {
    ExprId id;
    std::uint32_t next;
    bool parentheses;
  };
  std::vector<Frame> stack{{root, 0, false}};
  while (!stack.empty()) {
    if (out.size() > limit_) {
      out += "…";
      return;
    }
    Frame& frame = stack.back();
    const Expr& expr = (*body_)[frame.id];
    const std::span<const ExprId> args = operands(*body_, expr);
    const std::uint32_t next = frame.next++;
    if (next == 0) {
      if (frame.parentheses) out += '(';
      begin(expr);
    }
    if (next == args.size()) {
      end(expr);
      if (frame.parentheses) out += ')';
      stack.pop_back();
      continue;
    }
    if (next > 0 && expr.op == Operation::Element) {
      out += '[';
    } else if (next > 0 && is_infix(expr.op)) {
      out += ' ';
      out += info(expr.op).text;
      out += ' ';
    } else if (next > 0) {
      out += ", ";
    }
    stack.push_back({args[next], 0, needs_parentheses(expr, next, (*body_)[args[next]])});
  }
}

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
    std::visit(Overloaded{[&](const TypedBits& bits) { out += print_literal(bits); },
                          [&](const std::string& id) { out += id; },
                          [&](Direction direction) { out += text(direction); }},
               law.arguments[i]);
  }
  return law.arguments.empty() ? out : out + ')';
}

std::string print(const Module& module) {
  Printer printer;
  for (const Item& item : module.items) {
    std::visit([&](const auto& each) { printer.item(each); }, item);
  }
  return printer.laid_out();
}

std::string print(const Program& program) {
  Printer printer;
  printer.item(program);
  return printer.laid_out();
}

std::string print(const Op& op) {
  Printer printer;
  printer.item(op);
  return printer.laid_out();
}

std::string print_expr(const Body& body, std::span<const BufferDecl> buffers, ExprId id,
                       std::size_t limit) {
  Printer printer(body, buffers, limit);
  printer.expr(id);
  return printer.out;
}

std::string print_head(const Body& body, std::span<const BufferDecl> buffers, const Stmt& stmt,
                       std::size_t limit) {
  Printer printer(body, buffers, limit);
  printer.head(stmt);
  return printer.out;
}

Result<std::string> format(const Source& source) {
  Parsed parsed = parse_source(source);
  if (!parsed.syntax_ok) return std::move(parsed.findings).located(source);
  std::vector<std::uint32_t> line_starts = parsed.heads;
  for (const ItemPositions& item : parsed.positions) {
    line_starts.insert(line_starts.end(), item.heads.begin(), item.heads.end());
    for (const auto& statement : item.statements) line_starts.push_back(statement.head.begin);
  }
  std::ranges::sort(line_starts);
  // One statement of the text may be several of the program.
  const auto repeated = std::ranges::unique(line_starts);
  line_starts.erase(repeated.begin(), repeated.end());
  return layout(source.text, line_starts);
}

}  // namespace vyre
