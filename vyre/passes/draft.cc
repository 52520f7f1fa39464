#include "vyre/passes/draft.h"

#include <algorithm>
#include <unordered_map>

#include "vyre/base/hash.h"
#include "vyre/base/slots.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// `x_12` without its number.
std::string_view stem(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

constexpr std::size_t kMaxNesting = 1000;

// Numbers names, so that what is known of them is in tables. The text of a new one has to stay.
class Names {
 public:
  std::uint32_t number(std::string_view name) {
    const std::uint32_t index = find_or_add(
        slots_, all_.size(), spot_of(name), [&](std::size_t i) { return spot_of(all_[i]); },
        [&](std::uint32_t i) { return all_[i] == name; });
    if (index == all_.size()) all_.push_back(name);
    return index;
  }
  std::size_t size() const { return all_.size(); }

 private:
  static Spot spot_of(std::string_view name) {
    const std::uint64_t hash = hash_text(name);
    return {hash, static_cast<std::uint32_t>(hash)};
  }

  Slots slots_;
  std::vector<std::string_view> all_;
};

}  // namespace

bool nests_deeply(const Body& body) {
  BlockStack<OpenBlock> stack(body);
  std::uint64_t looks = 0;
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i);
    if (stack.frames().size() > kMaxNesting) return true;
    if (std::holds_alternative<Assign>(body.stmts[i])) looks += stack.frames().size() - 1;
    stack.open(i);
  }
  return looks > std::uint64_t{kMaxStmtDepth} * body.stmts.size();
}

void name_apart(Program& program) {
  Body& body = program.body;
  const std::vector<BufferDecl>& buffers = program.buffers;
  const std::size_t count = buffers.size() + body.locals.size();
  Names names;
  for (const BufferDecl& buffer : buffers) names.number(buffer.name);
  std::vector<std::uint32_t> own;  // per local: the number of its name
  own.reserve(body.locals.size());
  for (const Local& local : body.locals) own.push_back(names.number(local.name));
  const std::size_t given = names.size();
  if (given == count) return;

  struct Frame : OpenBlock {
    std::size_t declared = 0;
  };
  std::vector<std::string> renamed(body.locals.size());  // those that get another name
  std::vector<bool> visible(given);                      // by number
  std::fill_n(visible.begin(), buffers.size(), true);
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> declared_names;
  BlockStack<Frame> stack(body);
  const auto close = [&](const Frame& closed, Frame& now) {
    while (declared_names.size() > closed.declared) {
      visible[declared_names.back()] = false;
      declared_names.pop_back();
    }
    if (now.owner == closed.owner && now.is_else && !closed.is_else) now.declared = closed.declared;
  };
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i, close);
    const LocalId local = declared(body.stmts[i]);
    const bool is_loop = std::holds_alternative<For>(body.stmts[i]);
    const std::size_t before = declared_names.size();
    if (local.exists()) {
      std::uint32_t name = own[local.index];
      if (visible[name]) {
        const std::string_view base = stem(body[local].name);
        std::uint32_t& number = numbers.try_emplace(base, 1).first->second;
        std::string& other = renamed[local.index];
        do {
          other = std::string(base) + "_" + std::to_string(++number);
          name = names.number(other);
          visible.resize(names.size());
        } while (visible[name] || name < given);
      }
      visible[name] = true;
      declared_names.push_back(name);
    }
    if (Frame* opened = stack.open(i)) opened->declared = is_loop ? before : declared_names.size();
  }
  for (std::size_t i = 0; i < renamed.size(); ++i) {
    if (!renamed[i].empty()) body.locals[i].name = std::move(renamed[i]);
  }
}

Draft::Draft(const Program& from, unsigned simplifications, Expressions begin)
    : from_(from), begin_(begin), make_(from, out_, simplifications) {
  if (has_same()) {
    out_.exprs.reserve(expected_exprs(from.body));
    out_.exprs = from.body.exprs;
    out_.operands = from.body.operands;
    out_.constants = from.body.constants;
  }
  out_.locals.resize(from.body.locals.size());  // named in the end
  out_.stmts.reserve(from.body.stmts.size() + 16);
}

void Draft::begin(Types types) {
  make_.begin(std::move(types));
  typed_ = true;
}

LocalId Draft::declare(std::string_view name, DataType type) {
  out_.locals.push_back({std::string(name)});
  make().local_types().push_back(type);
  return LocalId{out_.locals.size() - 1};
}

void Draft::add(const Stmt& stmt) {
  if (is_dead()) return;
  out_.stmts.push_back(stmt);
  if (std::holds_alternative<Break>(stmt) || std::holds_alternative<Return>(stmt)) {
    blocks_.back().ended = true;
  }
}

void Draft::open(const Stmt& stmt) {
  if (is_dead()) {
    blocks_.push_back({{}, false, true, true, false});
    return;
  }
  blocks_.push_back({here(), true, false, false, false});
  out_.stmts.push_back(stmt);
}

void Draft::put(const Stmt& stmt) {
  const bool has_blocks = std::holds_alternative<If>(stmt) || std::holds_alternative<For>(stmt) ||
                          std::holds_alternative<Block>(stmt);
  has_blocks ? open(stmt) : add(stmt);
}

void Draft::else_begins() {
  Open& block = blocks_.back();
  block.first_ended = block.ended;
  block.is_else = true;
  if (!block.kept) return;
  block.ended = false;
  std::get<If>(out_.stmts[block.owner.index]).else_begin = here();
}

void Draft::close() {
  const Open block = blocks_.back();
  blocks_.pop_back();
  if (!block.kept) return;
  Stmt& stmt = out_.stmts[block.owner.index];
  if (If* branch = std::get_if<If>(&stmt)) {
    if (!block.is_else) branch->else_begin = here();
    branch->end = here();
    if (block.is_else && block.ended && block.first_ended) blocks_.back().ended = true;
  } else if (For* loop = std::get_if<For>(&stmt)) {
    loop->end = here();
  } else {
    std::get<Block>(stmt).end = here();
    if (block.ended) blocks_.back().ended = true;
  }
}

Program Draft::finish() && {
  Program program;
  program.name = from_.name;
  program.workgroup_size = from_.workgroup_size;
  program.buffers = from_.buffers;
  for (const Stmt& stmt : out_.stmts) {
    const LocalId local = declared(stmt);
    if (local.exists() && local.index < from_.body.locals.size()) {
      out_.locals[local.index] = from_.body[local];
    }
  }
  program.body = canonical(out_, 0, true);
  return program;
}

Keep put_or_fold(Draft& draft, const Stmt& stmt) {
  const auto constant = [&](ExprId id) -> std::optional<std::uint32_t> {
    const Expr& expr = draft.body()[id];
    return expr.op == Operation::Literal ? std::optional(expr.imm) : std::nullopt;
  };
  if (const If* branch = std::get_if<If>(&stmt)) {
    const auto condition = constant(branch->condition);
    if (condition) return *condition == 0 ? Keep::Second : Keep::First;
  } else if (const For* loop = std::get_if<For>(&stmt)) {
    const auto from = constant(loop->from);
    const auto to = constant(loop->to);
    if (from && to && *from >= *to) return Keep::Nothing;
  }
  draft.put(stmt);
  return Keep::All;
}

std::vector<bool> assigned_locals(const Body& body) {
  std::vector<bool> assigned(body.locals.size());
  for (const Stmt& stmt : body.stmts) {
    if (const Assign* assign = std::get_if<Assign>(&stmt)) assigned[assign->local.index] = true;
    if (const SetElement* set = std::get_if<SetElement>(&stmt)) assigned[set->local.index] = true;
  }
  return assigned;
}

std::vector<bool> varying(const Program& program, const std::vector<bool>& assigned) {
  return spread(program.body, [&](const Expr& expr) {
    return is_volatile(program, expr) || (expr.op == Operation::Local && assigned[expr.imm]);
  });
}

}  // namespace vyre
