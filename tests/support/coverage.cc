// A feature is its name. One function lists all that are to be seen, another finds those of a case.
#include "tests/support/coverage.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::string_view kUses[] = {"load", "store", "atomic"};
constexpr std::string_view kClasses[] = {"inside", "just past the end", "wrapping",
                                         "in an empty buffer", "in a row far away"};
constexpr std::string_view kElementClasses[] = {"known", "unknown", "out of bounds"};
constexpr std::string_view kPlaces[] = {"the body", "then", "else", "a loop", "a block"};
constexpr std::string_view kShapes[] = {"line", "area",         "box",   "single",
                                        "odd",  "power of two", "other", "empty"};
constexpr std::string_view kPlain[] = {
    "else if",
    "call of an op with an early return",
    "divergent break",
    "divergent continue",
    "divergent return",
    "barrier straight",
    "barrier in an if",
    "barrier in a loop",
    "barrier in a row",
    "barrier between store and load of workgroup memory",
    "barrier between store and load of storage",
    "collective straight",
    "collective in an if",
    "collective in a loop",
    "collective between store and load of workgroup memory",
    "collective between store and load of storage",
    "let of an array",
    "assignment of an array",
    "table as a value",
    "element of a call",
    "length of an array",
    "length of a table",
    "bool other than 0 and 1",
    "part of a word",
    "buffer of no elements",
    "buffer of one element",
    "buffer of nearly as many elements as fill vectors",
    // What has been hard on compilers.
    "twenty wide locals that live across a barrier",
    "twenty wide locals that live across a loop",
    "wide division in a loop",
    "wide division in an if",
    "wide division by 0",
    "wide division by 1",
    "wide division by a power of two",
    "chain of ten tests",
    "workgroup memory of a small odd workgroup",
    "workgroup memory of a small odd workgroup, with a barrier",
    "workgroup of more than 512",
};

constexpr BufferAccess kAccesses[] = {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                                      BufferAccess::Uniform, BufferAccess::Workgroup};

// --- Names ---------------------------------------------------------------------------------------

std::string joined(auto... parts) {
  std::string name;
  (name.append(parts), ...);
  return name;
}

std::string type_name(DataType type) {
  return joined(is_array(type) ? "array of " : "", text(element_type(type)));
}
std::string of_type(Operation op, std::string_view how, DataType type) {
  return joined(info(op).name, how, type_name(type));
}
std::string of_buffer(std::string_view what, BufferAccess access, DataType element) {
  return joined(what, " of ", text(access), " ", text(element));
}
std::string cast_name(DataType from, DataType to) { return joined(text(from), " to ", text(to)); }
std::string lane_name(DataType type, std::uint32_t lane) {
  return joined("lane ", std::to_string(lane), " of ", text(type));
}
std::string id_name(Operation op, std::uint32_t axis) {
  return joined(info(op).name, ".", std::string(1, "xyz"[axis]));
}
std::string index_name(std::string_view use, std::string_view index_class, BufferAccess access,
                       DataType element) {
  return joined(use, " ", index_class, ": ", text(access),
                element == DataType::Bytes ? " bytes"
                : is_narrow(element)       ? " narrow"
                                           : "");
}
std::string element_name(std::string_view use, std::string_view of, DataType element,
                         std::string_view index_class) {
  return joined(use, " of ", of, " of ", text(element), ", index ", index_class);
}
std::string atomic_name(AtomicOp op, DataType element, bool wanted) {
  return joined(info(op).text, " on ", text(element), wanted ? ", result wanted" : "");
}
std::string collective_name(CollectiveOp op, DataType type) {
  return joined(info(op).text, " on ", text(type));
}
std::string exit_name(std::string_view exit, std::string_view place, bool in_loop) {
  return joined(exit, " in ", place, in_loop ? " in a loop" : "");
}

bool takes(std::string_view use, BufferAccess access, DataType element) {
  const bool storage = access == BufferAccess::ReadWrite;
  if (use == "atomic") return storage && contains(type_sets::Word, element);
  return use == "load" || storage || access == BufferAccess::Workgroup;
}

// What buffers can have as elements.
void add_buffer_features(std::vector<std::string>& all, DataType type) {
  for (BufferAccess access : kAccesses) {
    if (access == BufferAccess::Workgroup && type == DataType::Bytes) continue;
    all.push_back(of_buffer("length", access, type));
    for (std::string_view use : kUses) {
      if (takes(use, access, type)) all.push_back(of_buffer(use, access, type));
      // One type for each name; an index wraps only where a stride is not 1.
      const bool is_plain =
          type == DataType::U32 || type == DataType::Bytes || type == DataType::U16;
      if (!is_plain || !takes(use, access, type)) continue;
      for (std::string_view each : kClasses) {
        const bool is_never = access == BufferAccess::Workgroup && each == "in an empty buffer";
        if (!is_never) all.push_back(index_name(use, each, access, type));
      }
    }
  }
}

// What values can have as their type, and arrays as that of their elements.
void add_value_features(std::vector<std::string>& all, DataType type) {
  for (const OperationInfo& operation : all_operations()) {
    if (is_form(operation.op) || !contains(operation.types, type)) continue;
    all.push_back(of_type(operation.op, " of ", type));
  }
  for (Operation form : {Operation::Literal, Operation::Local, Operation::Load, Operation::Select,
                         Operation::Cast, Operation::Call}) {
    if (form == Operation::Literal && is_vector(type)) continue;
    all.push_back(of_type(form, " giving ", type));
  }
  for (const TypeInfo& target : all_types()) {
    if (cast_exists(type, target.type)) all.push_back(cast_name(type, target.type));
  }
  for (std::uint32_t lane = 0; is_vector(type) && lane < lane_count(type); ++lane) {
    all.push_back(lane_name(type, lane));
  }
  const DataType array = array_type(type, 1);
  for (Operation form : {Operation::Local, Operation::Call, Operation::Array, Operation::Zeros}) {
    all.push_back(of_type(form, " giving ", array));
  }
  for (DataType each : {type, array}) {
    all.push_back("parameter: " + type_name(each));
    all.push_back("result: " + type_name(each));
  }
  for (std::string_view index_class : kElementClasses) {
    all.push_back(element_name("element", "an array", type, index_class));
    all.push_back(element_name("change", "an array", type, index_class));
  }
}

// Everything that cases should have.
std::vector<std::string> all_features() {
  std::vector<std::string> all(std::begin(kPlain), std::end(kPlain));
  for (const TypeInfo& row : all_types()) {
    add_buffer_features(all, row.type);
    if (is_value_type(row.type)) add_value_features(all, row.type);
    for (std::string_view index_class : kElementClasses) {
      if (row.type == DataType::Bytes) continue;
      all.push_back(element_name("element", "a table", row.type, index_class));
    }
  }
  all.insert(all.end(), {"Vec2", "Vec4", "select by u32", "select by bool"});
  for (Operation id : {Operation::InvocationId, Operation::WorkgroupId, Operation::LocalId,
                       Operation::NumWorkgroups}) {
    for (std::uint32_t axis = 0; axis < 3; ++axis) all.push_back(id_name(id, axis));
  }
  for (const AtomicInfo& row : all_atomics()) {
    for (DataType type : {DataType::U32, DataType::I32}) {
      // A load is there for its result, a store has none.
      if (row.op != AtomicOp::Load) all.push_back(atomic_name(row.op, type, false));
      if (row.op != AtomicOp::Store) all.push_back(atomic_name(row.op, type, true));
    }
  }
  for (const CollectiveInfo& row : all_collectives()) {
    for (DataType type : {DataType::U32, DataType::I32, DataType::U64}) {
      all.push_back(collective_name(row.op, type));
    }
  }
  for (std::size_t i = 0; i < std::variant_size_v<Stmt>; ++i) {
    all.push_back("statement " + std::to_string(i));
  }
  for (std::string_view exit : {"break", "continue", "return", "return of a value"}) {
    for (std::string_view place : kPlaces) {
      for (bool in_loop : {false, true}) {
        const bool of_loop = exit == "break" || exit == "continue";
        if (!in_loop && (place == "a loop" || of_loop)) continue;
        if (!in_loop || place != "the body") all.push_back(exit_name(exit, place, in_loop));
      }
    }
  }
  for (std::string_view depth : {"1", "2", "3"}) {
    all.push_back(joined("loops nested ", depth, " deep"));
  }
  for (const Op* op : plain_library()) all.push_back("call of " + op->id);
  for (std::string_view shape : kShapes) {
    if (shape != "empty") all.push_back(joined("workgroup: ", shape));
    all.push_back(joined("grid: ", shape));
  }
  return all;
}

// --- What a case has -----------------------------------------------------------------------------

// The values that a U32 can have, both ends included.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint32_t>::max();
};

// Finds the features of one item.
class Finder {
 public:
  Finder(const Case& c, const Item& item, std::unordered_set<std::string>& found)
      : case_(c),
        item_(item),
        program_(std::get_if<Program>(&item)),
        body_(body_of(item)),
        types_(types_of(c.module, item)),
        found_(found),
        ranges_(body_.exprs.size()),
        locals_(body_.locals.size()) {}

  void run();

 private:
  struct Frame : OpenBlock {
    bool divergent = false;
  };

  void is(std::string name) { found_.insert(std::move(name)); }
  void visit_expr(ExprId id);
  void visit_statement(std::uint32_t i);
  void visit_access(std::string_view use, BufferId buffer, ExprId index);
  void visit_exit(std::string_view exit);
  void visit_element(std::string_view use, std::string_view of, DataType element,
                     std::uint32_t count, ExprId index);
  void visit_order(std::string_view what, std::set<std::uint32_t>& published);
  void visit_divisions(std::uint32_t i);
  void visit_crowds();
  void visit_call(const std::string& callee);
  Range range_of(const Expr& expr) const;
  bool mentions_ids(ExprId root) const;
  const BufferDecl& buffer(std::uint32_t i) const { return program_->buffers[i]; }
  auto loops() { return std::ranges::count(stack_.frames(), true, &Frame::is_loop); }
  bool is_in_if(const Frame& frame) {
    return &frame != &stack_.frames().front() &&
           std::holds_alternative<If>(body_.stmts[frame.owner]);
  }

  const Case& case_;
  const Item& item_;
  const Program* program_;
  const Body& body_;
  const Types types_;
  std::unordered_set<std::string>& found_;
  std::vector<Range> ranges_;
  std::vector<Range> locals_;  // of loop variables
  BlockStack<Frame> stack_{body_};
  std::set<std::uint32_t> stored_;     // buffers, since the last barrier or collective
  std::set<std::uint32_t> published_;  // buffers, before a barrier
  std::set<std::uint32_t> collected_;  // buffers, before a collective
};

void Finder::run() {
  if (program_ == nullptr) {
    const OpSignature& signature = std::get<Op>(item_).signature;
    for (DataType input : signature.inputs) is("parameter: " + type_name(input));
    is("result: " + type_name(signature.output));
  }
  std::uint32_t visited = 0;
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    stack_.enter(i);
    for (ExprId root : roots(body_.stmts[i])) {
      for (; visited <= root.index; ++visited) visit_expr(ExprId{visited});
      if (body_[root].op == Operation::Table) is("table as a value");
      if (published_.empty() && collected_.empty()) continue;
      for_each_use(body_, root, [&](ExprId id) {
        const Expr& expr = body_[id];
        if (expr.op != Operation::Load) return;
        const std::string_view memory =
            buffer(expr.imm).access == BufferAccess::Workgroup ? "workgroup memory" : "storage";
        const std::string_view between = " between store and load of ";
        if (published_.contains(expr.imm)) is(joined("barrier", between, memory));
        if (collected_.contains(expr.imm)) is(joined("collective", between, memory));
      });
    }
    visit_divisions(i);
    visit_statement(i);
  }
  visit_crowds();
}

Range Finder::range_of(const Expr& expr) const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::span<const ExprId> args = operands(body_, expr);
  const auto id_range = [&](std::uint64_t places) {
    return Range{0, places == 0 ? 0 : places - 1};
  };
  if (expr.op == Operation::Literal && type_of_detail(expr) == DataType::U32) {
    return {expr.imm, expr.imm};
  }
  if (expr.op == Operation::Local) return locals_[expr.imm];
  if (expr.op == Operation::Length) {
    const std::uint32_t length = length_of(case_, expr.imm);
    return {length, length};
  }
  if (expr.op == Operation::LocalId) return id_range(program_->workgroup_size[expr.detail]);
  if (expr.op == Operation::NumWorkgroups) {
    return {case_.grid[expr.detail], case_.grid[expr.detail]};
  }
  if (expr.op == Operation::WorkgroupId) return id_range(case_.grid[expr.detail]);
  if (expr.op == Operation::InvocationId) {
    return id_range(std::uint64_t{case_.grid[expr.detail]} * program_->workgroup_size[expr.detail]);
  }
  if (args.size() != 2 || types_[args[0]] != DataType::U32) return {};
  const Range a = ranges_[args[0].index];
  const Range b = ranges_[args[1].index];
  Range result;
  if (expr.op == Operation::Add) result = {a.low + b.low, a.high + b.high};
  if (expr.op == Operation::Mul) result = {a.low * b.low, a.high * b.high};
  if (expr.op == Operation::Sub && a.low >= b.high) result = {a.low - b.high, a.high - b.low};
  if (expr.op == Operation::Sub && a.high < b.low) {
    result = {kMost + 1 + a.low - b.high, kMost + 1 + a.high - b.low};
  }
  if (expr.op == Operation::Mod) result = {0, std::min(a.high, b.high == 0 ? 0 : b.high - 1)};
  if (expr.op == Operation::Min) result = {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (expr.op == Operation::BitAnd) result = {0, std::min(a.high, b.high)};
  if (expr.op == Operation::BitOr) {
    result = {std::max(a.low, b.low), std::bit_ceil(std::max(a.high, b.high) + 1) - 1};
  }
  return result.high > kMost ? Range{} : result;
}

void Finder::visit_access(std::string_view use, BufferId id, ExprId index) {
  const BufferDecl& decl = buffer(id.index);
  is(of_buffer(use, decl.access, decl.element));
  const Range at = ranges_[index.index];
  const std::uint64_t length = length_of(case_, id.index);
  const auto is_class = [&](bool holds, std::string_view name) {
    if (holds) is(index_name(use, name, decl.access, decl.element));
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kFar = 0x8000;  // further than a buffer of ours is long
  is_class(at.high < length, "inside");
  is_class(length > 0 && at.low == length && at.high == length, "just past the end");
  is_class(at.low * stride(decl.element) > kMost, "wrapping");
  is_class(length == 0, "in an empty buffer");
  is_class(at.low >= kFar && at.low < at.high && mentions_ids(index), "in a row far away");
}

void Finder::visit_element(std::string_view use, std::string_view of, DataType element,
                           std::uint32_t count, ExprId index) {
  const bool outside = ranges_[index.index].low >= count;
  const bool known = body_[index].op == Operation::Literal;
  is(element_name(use, of, element, outside ? "out of bounds" : known ? "known" : "unknown"));
}

// Divisions of more than 32 bits in a statement.
void Finder::visit_divisions(std::uint32_t i) {
  for (ExprId root : roots(body_.stmts[i])) {
    for_each_use(body_, root, [&](ExprId id) {
      const Expr& expr = body_[id];
      if (expr.op != Operation::Div && expr.op != Operation::Mod) return;
      const std::span<const ExprId> args = operands(body_, expr);
      if (min_bytes(types_[args[0]]) <= 4) return;
      if (loops() > 0) is("wide division in a loop");
      if (is_in_if(stack_.frames().back())) is("wide division in an if");
      if (body_[args[1]].op != Operation::Literal) return;
      const Bits by = literal_bits(body_, body_[args[1]]);
      int ones = 0;
      for (std::uint32_t word : by.lanes) ones += std::popcount(word);
      if (ones == 0) is("wide division by 0");
      if (ones == 1)
        is(by.lanes[0] == 1 ? "wide division by 1" : "wide division by a power of two");
    });
  }
}

// Locals of more than 32 bits that live at once.
void Finder::visit_crowds() {
  constexpr std::uint32_t kMany = 20;
  constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> declared(body_.locals.size(), kNever);
  std::vector<std::uint32_t> used(body_.locals.size());
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    if (const Let* let = std::get_if<Let>(&body_.stmts[i])) declared[let->local.index] = i;
    for (ExprId root : roots(body_.stmts[i])) {
      for_each_use(body_, root, [&](ExprId id) {
        if (body_[id].op == Operation::Local) used[body_[id].imm] = i;
      });
    }
  }
  const auto is_crowded = [&](std::uint32_t begin, std::uint32_t end) {
    std::uint32_t live = 0;
    for (std::uint32_t local = 0; local < body_.locals.size(); ++local) {
      const bool wide = min_bytes(types_[LocalId{local}]) > 4;
      if (wide && declared[local] < begin && used[local] >= end) ++live;
    }
    return live >= kMany;
  };
  for (std::uint32_t i = 0; i < body_.stmts.size() && body_.locals.size() >= kMany; ++i) {
    const For* loop = std::get_if<For>(&body_.stmts[i]);
    if (loop != nullptr && is_crowded(i, loop->end.index)) {
      is("twenty wide locals that live across a loop");
    }
    if (std::holds_alternative<Barrier>(body_.stmts[i]) && is_crowded(i, i + 1)) {
      is("twenty wide locals that live across a barrier");
    }
  }
}

void Finder::visit_expr(ExprId id) {
  const Expr& expr = body_[id];
  const std::span<const ExprId> args = operands(body_, expr);
  ranges_[id.index] = range_of(expr);
  if (!is_form(expr.op)) return is(of_type(expr.op, " of ", types_[args[0]]));
  switch (expr.op) {
    case Operation::Vec2:
    case Operation::Vec4: return is(std::string(info(expr.op).name));
    case Operation::Lane: return is(lane_name(types_[args[0]], expr.detail));
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
    case Operation::NumWorkgroups: return is(id_name(expr.op, expr.detail));
    case Operation::Length:
      return is(of_buffer("length", buffer(expr.imm).access, buffer(expr.imm).element));
    case Operation::Select: is(joined("select by ", text(types_[args[0]]))); break;
    case Operation::Cast: is(cast_name(types_[args[0]], types_[id])); break;
    case Operation::Load: visit_access("load", BufferId{expr.imm}, args[0]); break;
    case Operation::Call: visit_call(body_.callees[expr.imm]); break;
    case Operation::Element: {
      const Expr& array = body_[args[0]];
      if (array.op == Operation::Call) is("element of a call");
      if (array.op == Operation::Table) {
        const ConstTable& table = body_.tables[array.imm];
        return visit_element("element", "a table", table.element, table.count(), args[1]);
      }
      const DataType type = types_[args[0]];
      return visit_element("element", "an array", element_type(type), element_count(type), args[1]);
    }
    case Operation::Count:
      return is(body_[args[0]].op == Operation::Table ? "length of a table" : "length of an array");
    case Operation::Table: return;
    case Operation::Array:
    case Operation::Zeros:
    case Operation::Literal:
    case Operation::Local:
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      break;
  }
  is(of_type(expr.op, " giving ", types_[id]));
}

void Finder::visit_call(const std::string& callee) {
  is("call of " + callee);
  for (const Item& item : case_.module.items) {
    const Op* op = std::get_if<Op>(&item);
    if (op == nullptr || op->id != callee) continue;
    const auto returns = [](const Stmt& stmt) { return std::holds_alternative<Return>(stmt); };
    const bool early = std::ranges::count_if(op->body.stmts, returns) > 1;
    if (early) is("call of an op with an early return");
  }
}

bool Finder::mentions_ids(ExprId root) const {
  bool found = false;
  for_each_use(body_, root, [&](ExprId id) {
    found |= body_[id].op == Operation::InvocationId || body_[id].op == Operation::LocalId;
  });
  return found;
}

void Finder::visit_exit(std::string_view exit) {
  const auto& frames = stack_.frames();
  const Frame& innermost = frames.back();
  const std::string_view place = frames.size() == 1    ? "the body"
                                 : innermost.is_loop   ? "a loop"
                                 : innermost.is_else   ? "else"
                                 : is_in_if(innermost) ? "then"
                                                       : "a block";
  is(exit_name(exit, place, loops() > 0));
  const bool divergent = std::ranges::any_of(frames, [](const Frame& f) { return f.divergent; });
  if (divergent) is(joined("divergent ", exit));
}

// What orders memory, here, and where it puts what was stored before.
void Finder::visit_order(std::string_view what, std::set<std::uint32_t>& published) {
  const bool in_if =
      std::ranges::any_of(stack_.frames(), [&](const Frame& frame) { return is_in_if(frame); });
  if (in_if) is(joined(what, " in an if"));
  if (loops() > 0) is(joined(what, " in a loop"));
  if (!in_if && loops() == 0) is(joined(what, " straight"));
  published.merge(stored_);
  stored_.clear();
}

void Finder::visit_statement(std::uint32_t i) {
  const Stmt& stmt = body_.stmts[i];
  is("statement " + std::to_string(stmt.index()));
  visit(
      stmt,
      [&](const Store& store) {
        visit_access("store", store.buffer, store.index);
        stored_.insert(store.buffer.index);
      },
      [&](const Atomic& atomic) {
        visit_access("atomic", atomic.buffer, atomic.index);
        const DataType element = buffer(atomic.buffer.index).element;
        is(atomic_name(atomic.op, element, atomic.result.exists()));
      },
      [&](const Break&) { visit_exit("break"); },
      [&](const Return&) { visit_exit(program_ != nullptr ? "return" : "return of a value"); },
      [&](const Continue&) { visit_exit("continue"); },
      [&](const Barrier&) {
        visit_order("barrier", published_);
        if (i > 0 && std::holds_alternative<Barrier>(body_.stmts[i - 1])) is("barrier in a row");
      },
      [&](const Collective& collective) {
        visit_order("collective", collected_);
        is(collective_name(collective.op, types_[collective.value]));
      },
      [&](const Let& let) {
        if (is_array(types_[let.value])) is("let of an array");
      },
      [&](const Assign& assign) {
        if (is_array(types_[assign.value])) is("assignment of an array");
      },
      [&](const SetElement& set) {
        const DataType type = types_[set.local];
        visit_element("change", "an array", element_type(type), element_count(type), set.index);
      },
      [&](const If& branch) {
        if (is_else_if(body_, branch)) is("else if");
        std::uint32_t tests = 1;
        for (const If* next = &branch; is_else_if(body_, *next); ++tests) {
          next = &std::get<If>(body_[next->else_begin]);
        }
        if (tests == 10) is("chain of ten tests");
        stack_.open(i)->divergent = mentions_ids(branch.condition);
      },
      [&](const For& loop) {
        const Range from = ranges_[loop.from.index];
        const Range to = ranges_[loop.to.index];
        locals_[loop.variable.index] = {from.low,
                                        std::max(from.low, to.high - (to.high > 0 ? 1 : 0))};
        stack_.open(i)->divergent = mentions_ids(loop.from) || mentions_ids(loop.to);
        is(joined("loops nested ", std::to_string(loops()), " deep"));
      },
      [&](const Block&) { stack_.open(i); });
}

std::set<std::string_view> shapes_of(const std::array<std::uint32_t, 3>& extents) {
  if (std::ranges::count(extents, 0u) > 0) return {"empty"};
  constexpr std::string_view kByAxes[] = {"single", "line", "area", "box"};
  std::set<std::string_view> shapes{kByAxes[3 - std::ranges::count(extents, 1u)]};
  for (std::uint32_t extent : extents) {
    if (extent == 1) continue;
    shapes.insert(extent % 2 == 1 ? "odd" : std::has_single_bit(extent) ? "power of two" : "other");
  }
  return shapes;
}

}  // namespace

void Coverage::add(const Case& c) {
  for (const Item& item : c.module.items) Finder(c, item, found_).run();
  const Program& program = c.program();
  const auto is = [&](bool holds, std::string_view name) {
    if (holds) found_.emplace(name);
  };
  for (std::string_view shape : shapes_of(program.workgroup_size)) {
    is(true, joined("workgroup: ", shape));
  }
  for (std::string_view shape : shapes_of(c.grid)) is(true, joined("grid: ", shape));
  std::uint32_t group = 1;
  for (std::uint32_t size : program.workgroup_size) group *= size;
  is(group > 512, "workgroup of more than 512");
  const bool waits = std::ranges::any_of(
      program.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); });
  for (std::size_t i = 0; i < c.contents.size(); ++i) {
    const DataType element = program.buffers[i].element;
    if (program.buffers[i].access == BufferAccess::Workgroup) {
      is(group <= 40 && group % 2 == 1 && group > 1,
         joined("workgroup memory of a small odd workgroup", waits ? ", with a barrier" : ""));
      continue;
    }
    const std::uint32_t length = length_of(c, i);
    is(length == 0, "buffer of no elements");
    is(length == 1, "buffer of one element");
    is(length > 1 && (length % 16 == 1 || length % 16 == 15),
       "buffer of nearly as many elements as fill vectors");
    const std::vector<std::byte>& bytes = c.contents[i];
    is(element == DataType::Bytes && bytes.size() % 4 != 0, "part of a word");
    for (std::size_t at = 0; element == DataType::Bool && at < bytes.size(); at += 4) {
      is(bytes[at] > std::byte{1} || bytes[at + 1] > std::byte{0}, "bool other than 0 and 1");
    }
  }
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> names = all_features();
  std::erase_if(names, [&](const std::string& name) { return found_.contains(name); });
  return names;
}

}  // namespace vyre
