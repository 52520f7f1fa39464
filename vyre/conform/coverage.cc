// A feature is a kind and up to three details, packed into a number. One loop lists all that are to
// be seen, with their names; another finds those of a case.
#include "vyre/conform/coverage.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_set>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

enum class Kind : std::uint8_t {
  Operation,    // operation, type of its first operand
  Form,         // expression form, type of the result
  SelectBy,     // type of the condition
  Cast,         // from, to
  Lane,         // vector, lane
  Id,           // which, axis
  Length,       // access, element
  Access,       // use, access, element
  Index,        // use, access (and whether of bytes), class
  Atomic,       // operation, element, whether the result is wanted
  Statement,    // alternative of Stmt
  Leave,        // Exit, Place, whether in a loop
  Divergent,    // Exit: where ids decide
  ElseIf,       //
  Loops,        // how many inside each other
  LibraryCall,  // number in the registry
  EarlyReturn,  // a call of an op that returns from more than one place
  Barrier,      // BarrierPattern
  GroupShape,   // ShapeKind
  GridShape,    // ShapeKind
  Contents,     // ContentsKind
  Hard,         // HardShape
};

enum class Use : std::uint8_t { Load, Store, Atomic };
enum class IndexClass : std::uint8_t { Inside, JustPast, Wrapping, Empty, FarRow };
enum class Exit : std::uint8_t { Break, Return, OpReturn };
enum class Place : std::uint8_t { Body, Then, Else, Loop, Block };
enum class BarrierPattern : std::uint8_t {
  Straight,
  InIf,
  InLoop,
  InARow,
  WorkgroupData,
  StorageData
};
enum class ShapeKind : std::uint8_t { Line, Area, Box, Single, Odd, PowerOfTwo, Other, Empty };
enum class ContentsKind : std::uint8_t { OtherBool, PartOfAWord, None, One, BesideAVector };
// What has been hard on compilers.
enum class HardShape : std::uint8_t {
  CrowdAtBarrier,
  CrowdAtLoop,
  DivisionInLoop,
  DivisionInIf,
  DivisionByZero,
  DivisionByOne,
  DivisionByPower,
  Chain,
  SmallOddGroup,
  SmallOddGroupWithBarrier,
  LargeGroup
};

constexpr std::string_view kUses[] = {"load", "store", "atomic"};
constexpr std::string_view kClasses[] = {"inside", "just past the end", "wrapping",
                                         "in an empty buffer", "in a row far away"};
constexpr std::string_view kExits[] = {"break", "return", "return of a value"};
constexpr std::string_view kPlaces[] = {"the body", "then", "else", "a loop", "a block"};
constexpr std::string_view kPatterns[] = {"straight",
                                          "in an if",
                                          "in a loop",
                                          "in a row",
                                          "between store and load of workgroup memory",
                                          "between store and load of storage"};
constexpr std::string_view kShapes[] = {"line", "area",         "box",   "single",
                                        "odd",  "power of two", "other", "empty"};
constexpr std::string_view kContents[] = {"bool other than 0 and 1", "part of a word",
                                          "buffer of no elements", "buffer of one element",
                                          "buffer of nearly as many elements as fill vectors"};
constexpr std::string_view kHard[] = {"twenty wide locals that live across a barrier",
                                      "twenty wide locals that live across a loop",
                                      "wide division in a loop",
                                      "wide division in an if",
                                      "wide division by 0",
                                      "wide division by 1",
                                      "wide division by a power of two",
                                      "chain of ten tests",
                                      "workgroup memory of a small odd workgroup",
                                      "workgroup memory of a small odd workgroup, with a barrier",
                                      "workgroup of more than 512"};

constexpr BufferAccess kAccesses[] = {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                                      BufferAccess::Uniform, BufferAccess::Workgroup};
constexpr std::uint8_t kBytes = 16;  // added to an access: the buffer is one of bytes

std::uint32_t feature(Kind kind, auto a, auto b, auto c) {
  return static_cast<std::uint32_t>(kind) << 24 | static_cast<std::uint32_t>(a) << 16 |
         static_cast<std::uint32_t>(b) << 8 | static_cast<std::uint32_t>(c);
}
std::uint32_t feature(Kind kind, auto a, auto b) { return feature(kind, a, b, 0); }
std::uint32_t feature(Kind kind, auto a) { return feature(kind, a, 0, 0); }
std::uint32_t feature(Kind kind) { return feature(kind, 0, 0, 0); }

std::uint8_t access_detail(const BufferDecl& buffer) {
  const auto access = static_cast<std::uint8_t>(buffer.access);
  return buffer.element == DataType::Bytes ? access | kBytes : access;
}

// --- What there is -------------------------------------------------------------------------------

bool takes(Use use, BufferAccess access, DataType element) {
  switch (use) {
    case Use::Load: return true;
    case Use::Store: return access == BufferAccess::ReadWrite || access == BufferAccess::Workgroup;
    case Use::Atomic:
      return access == BufferAccess::ReadWrite && contains(type_sets::Word, element);
  }
  return false;
}

// Calls visit(feature, name) for everything that cases should have.
void for_each_feature(auto visit) {
  const auto text_of = [](DataType type) { return std::string(text(type)); };
  for (const TypeInfo& type : all_types()) {
    const std::string name(type.text);
    for (BufferAccess access : kAccesses) {
      const bool workgroup = access == BufferAccess::Workgroup;
      if (workgroup && type.type == DataType::Bytes) continue;
      const std::string buffer = std::string(text(access)) + " " + name;
      visit(feature(Kind::Length, access, type.type), "length of " + buffer);
      for (Use use : {Use::Load, Use::Store, Use::Atomic}) {
        if (!takes(use, access, type.type)) continue;
        visit(feature(Kind::Access, use, access, type.type),
              std::string(kUses[static_cast<std::size_t>(use)]) + " of " + buffer);
      }
    }
    if (type.type == DataType::Bytes) continue;
    for (const OperationInfo& row : all_operations()) {
      if (!is_form(row.op) && contains(row.types, type.type)) {
        visit(feature(Kind::Operation, row.op, type.type), std::string(row.name) + " of " + name);
      }
    }
    for (Operation form : {Operation::Literal, Operation::Local, Operation::Load, Operation::Select,
                           Operation::Cast, Operation::Call}) {
      if (form == Operation::Literal && is_vector(type.type)) continue;
      visit(feature(Kind::Form, form, type.type), std::string(info(form).name) + " giving " + name);
    }
    for (const TypeInfo& target : all_types()) {
      if (!cast_exists(type.type, target.type)) continue;
      visit(feature(Kind::Cast, type.type, target.type), name + " to " + text_of(target.type));
    }
    for (std::uint32_t lane = 0; is_vector(type.type) && lane < type.lanes; ++lane) {
      visit(feature(Kind::Lane, type.type, lane), "lane " + std::to_string(lane) + " of " + name);
    }
  }
  visit(feature(Kind::Form, Operation::Vec2, DataType::Vec2U32), "Vec2");
  visit(feature(Kind::Form, Operation::Vec4, DataType::Vec4U32), "Vec4");
  for (DataType type : {DataType::U32, DataType::Bool}) {
    visit(feature(Kind::SelectBy, type), "select by " + text_of(type));
  }
  for (Operation id : {Operation::InvocationId, Operation::WorkgroupId, Operation::LocalId}) {
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      visit(feature(Kind::Id, id, axis), std::string(info(id).name) + "." + "xyz"[axis]);
    }
  }
  for (Use use : {Use::Load, Use::Store, Use::Atomic}) {
    for (BufferAccess access : kAccesses) {
      for (DataType element : {DataType::U32, DataType::Bytes}) {
        const bool workgroup = access == BufferAccess::Workgroup;
        if (!takes(use, access, element) || (workgroup && element == DataType::Bytes)) continue;
        const BufferDecl buffer{"", 0, access, element};
        for (std::uint32_t i = 0; i < std::size(kClasses); ++i) {
          if (workgroup && static_cast<IndexClass>(i) == IndexClass::Empty) continue;
          visit(feature(Kind::Index, use, access_detail(buffer), i),
                std::string(kUses[static_cast<std::size_t>(use)]) + " " + std::string(kClasses[i]) +
                    ": " + std::string(text(access)) +
                    (element == DataType::Bytes ? " bytes" : ""));
        }
      }
    }
  }
  for (const AtomicInfo& row : all_atomics()) {
    for (DataType type : {DataType::U32, DataType::I32}) {
      for (bool wanted : {false, true}) {
        visit(feature(Kind::Atomic, row.op, type, wanted),
              std::string(row.text) + " on " + text_of(type) + (wanted ? ", result wanted" : ""));
      }
    }
  }
  for (std::size_t i = 0; i < std::variant_size_v<Stmt>; ++i) {
    visit(feature(Kind::Statement, i), "statement " + std::to_string(i));
  }
  for (Exit exit : {Exit::Break, Exit::Return, Exit::OpReturn}) {
    const std::string name(kExits[static_cast<std::size_t>(exit)]);
    if (exit != Exit::OpReturn) visit(feature(Kind::Divergent, exit), "divergent " + name);
    for (std::uint32_t i = 0; i < std::size(kPlaces); ++i) {
      const auto place = static_cast<Place>(i);
      for (bool in_loop : {false, true}) {
        if (place == Place::Loop && !in_loop) continue;
        if (place == Place::Body && (in_loop || exit == Exit::Break)) continue;
        if (exit == Exit::Break && !in_loop) continue;
        visit(feature(Kind::Leave, exit, i, in_loop),
              name + " in " + std::string(kPlaces[i]) + (in_loop ? " in a loop" : ""));
      }
    }
  }
  visit(feature(Kind::ElseIf), "else if");
  for (std::uint32_t loops = 1; loops <= 3; ++loops) {
    visit(feature(Kind::Loops, loops), "loops nested " + std::to_string(loops) + " deep");
  }
  for (std::size_t i = 0; i < plain_library().size(); ++i) {
    visit(feature(Kind::LibraryCall, i), "call of " + plain_library()[i]->id);
  }
  visit(feature(Kind::EarlyReturn), "call of an op with an early return");
  for (std::uint32_t i = 0; i < std::size(kPatterns); ++i) {
    visit(feature(Kind::Barrier, i), "barrier " + std::string(kPatterns[i]));
  }
  for (std::uint32_t i = 0; i < std::size(kShapes); ++i) {
    const bool empty = static_cast<ShapeKind>(i) == ShapeKind::Empty;
    if (!empty) visit(feature(Kind::GroupShape, i), "workgroup: " + std::string(kShapes[i]));
    visit(feature(Kind::GridShape, i), "grid: " + std::string(kShapes[i]));
  }
  for (std::uint32_t i = 0; i < std::size(kContents); ++i) {
    visit(feature(Kind::Contents, i), std::string(kContents[i]));
  }
  for (std::uint32_t i = 0; i < std::size(kHard); ++i) {
    visit(feature(Kind::Hard, i), std::string(kHard[i]));
  }
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
  Finder(const Case& c, const Item& item, std::unordered_map<std::uint32_t, std::uint64_t>& counts)
      : case_(c),
        program_(std::get_if<Program>(&item)),
        body_(body_of(item)),
        types_(types_of(c.module, item)),
        counts_(counts),
        ranges_(body_.exprs.size()),
        locals_(body_.locals.size()) {}

  void run();

 private:
  struct Frame : OpenBlock {
    bool divergent = false;
  };

  void count(std::uint32_t what) { ++counts_[what]; }
  void visit_expr(ExprId id);
  void visit_statement(std::uint32_t i);
  void visit_access(Use use, BufferId buffer, ExprId index);
  void visit_exit(Exit exit);
  void visit_barrier(std::uint32_t i);
  void visit_divisions(std::uint32_t i);
  void visit_crowds();
  Range range_of(const Expr& expr) const;
  bool mentions_ids(ExprId root) const;
  const BufferDecl& buffer(std::uint32_t i) const { return program_->buffers[i]; }

  const Case& case_;
  const Program* program_;
  const Body& body_;
  const Types types_;
  std::unordered_map<std::uint32_t, std::uint64_t>& counts_;
  std::vector<Range> ranges_;
  std::vector<Range> locals_;  // of loop variables
  BlockStack<Frame> stack_{body_};
  std::unordered_set<std::uint32_t> stored_;     // buffers, since the last barrier
  std::unordered_set<std::uint32_t> published_;  // buffers, before it
};

void Finder::run() {
  std::uint32_t visited = 0;
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    stack_.enter(i);
    for (ExprId root : roots(body_.stmts[i])) {
      for (; visited <= root.index; ++visited) visit_expr(ExprId{visited});
      if (published_.empty()) continue;
      for_each_use(body_, root, [&](ExprId id) {
        const Expr& expr = body_[id];
        if (expr.op != Operation::Load || !published_.contains(expr.imm)) return;
        const bool workgroup = buffer(expr.imm).access == BufferAccess::Workgroup;
        count(feature(Kind::Barrier,
                      workgroup ? BarrierPattern::WorkgroupData : BarrierPattern::StorageData));
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

void Finder::visit_access(Use use, BufferId id, ExprId index) {
  const BufferDecl& decl = buffer(id.index);
  count(feature(Kind::Access, use, decl.access, decl.element));
  const Range at = ranges_[index.index];
  const std::uint64_t length = length_of(case_, id.index);
  const auto is = [&](IndexClass what) {
    count(feature(Kind::Index, use, access_detail(decl), what));
  };
  if (length == 0) is(IndexClass::Empty);
  if (length > 0 && at.low == length && at.high == length) is(IndexClass::JustPast);
  if (at.high < length) is(IndexClass::Inside);
  if (at.low * stride(decl.element) > std::numeric_limits<std::uint32_t>::max()) {
    is(IndexClass::Wrapping);
  }
  // Further than a buffer of ours is long.
  constexpr std::uint64_t kFar = 0x8000;
  if (at.low >= kFar && at.low < at.high && mentions_ids(index)) is(IndexClass::FarRow);
}

// Divisions of more than 32 bits in a statement.
void Finder::visit_divisions(std::uint32_t i) {
  const auto is = [&](HardShape what) { count(feature(Kind::Hard, what)); };
  const auto& frames = stack_.frames();
  for (ExprId root : roots(body_.stmts[i])) {
    for_each_use(body_, root, [&](ExprId id) {
      const Expr& expr = body_[id];
      if (expr.op != Operation::Div && expr.op != Operation::Mod) return;
      const std::span<const ExprId> args = operands(body_, expr);
      if (min_bytes(types_[args[0]]) <= 4) return;
      const auto is_loop = [](const Frame& frame) { return frame.is_loop; };
      if (std::ranges::any_of(frames, is_loop)) is(HardShape::DivisionInLoop);
      const bool in_if =
          frames.size() > 1 && std::holds_alternative<If>(body_.stmts[frames.back().owner]);
      if (in_if) is(HardShape::DivisionInIf);
      if (body_[args[1]].op != Operation::Literal) return;
      const Bits by = literal_bits(body_, body_[args[1]]);
      int ones = 0;
      for (std::uint32_t word : by.lanes) ones += std::popcount(word);
      if (ones == 0) is(HardShape::DivisionByZero);
      if (ones == 1) is(by.lanes[0] == 1 ? HardShape::DivisionByOne : HardShape::DivisionByPower);
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
      count(feature(Kind::Hard, HardShape::CrowdAtLoop));
    }
    if (std::holds_alternative<Barrier>(body_.stmts[i]) && is_crowded(i, i + 1)) {
      count(feature(Kind::Hard, HardShape::CrowdAtBarrier));
    }
  }
}

void Finder::visit_expr(ExprId id) {
  const Expr& expr = body_[id];
  const std::span<const ExprId> args = operands(body_, expr);
  ranges_[id.index] = range_of(expr);
  if (!is_form(expr.op)) return count(feature(Kind::Operation, expr.op, types_[args[0]]));
  count(feature(Kind::Form, expr.op, types_[id]));
  if (expr.op == Operation::Select) count(feature(Kind::SelectBy, types_[args[0]]));
  if (expr.op == Operation::Cast) count(feature(Kind::Cast, types_[args[0]], types_[id]));
  if (expr.op == Operation::Lane) count(feature(Kind::Lane, types_[args[0]], expr.detail));
  if (expr.op == Operation::Load) visit_access(Use::Load, BufferId{expr.imm}, args[0]);
  if (expr.op == Operation::Length) {
    count(feature(Kind::Length, buffer(expr.imm).access, buffer(expr.imm).element));
  }
  const bool is_id = expr.op == Operation::InvocationId || expr.op == Operation::WorkgroupId ||
                     expr.op == Operation::LocalId;
  if (is_id) count(feature(Kind::Id, expr.op, expr.detail));
  if (expr.op != Operation::Call) return;
  const std::string& callee = body_.callees[expr.imm];
  for (std::size_t i = 0; i < plain_library().size(); ++i) {
    if (plain_library()[i]->id == callee) count(feature(Kind::LibraryCall, i));
  }
  for (const Item& item : case_.module.items) {
    const Op* op = std::get_if<Op>(&item);
    if (op == nullptr || op->id != callee) continue;
    const auto returns = [](const Stmt& stmt) { return std::holds_alternative<Return>(stmt); };
    if (std::ranges::count_if(op->body.stmts, returns) > 1) count(feature(Kind::EarlyReturn));
  }
}

bool Finder::mentions_ids(ExprId root) const {
  bool found = false;
  for_each_use(body_, root, [&](ExprId id) {
    found |= body_[id].op == Operation::InvocationId || body_[id].op == Operation::LocalId;
  });
  return found;
}

void Finder::visit_exit(Exit exit) {
  const auto& frames = stack_.frames();
  const Frame& innermost = frames.back();
  const auto is_loop = [](const Frame& frame) { return frame.is_loop; };
  const bool in_loop = std::ranges::any_of(frames, is_loop);
  Place place = Place::Body;
  if (frames.size() > 1) {
    const bool in_if = std::holds_alternative<If>(body_.stmts[innermost.owner]);
    place = innermost.is_loop   ? Place::Loop
            : innermost.is_else ? Place::Else
            : in_if             ? Place::Then
                                : Place::Block;
  }
  count(feature(Kind::Leave, exit, place, in_loop));
  for (const Frame& frame : frames) {
    if (frame.divergent) return count(feature(Kind::Divergent, exit));
  }
}

void Finder::visit_barrier(std::uint32_t i) {
  bool in_if = false, in_loop = false;
  for (const Frame& frame : stack_.frames()) {
    in_loop |= frame.is_loop;
    in_if |=
        &frame != &stack_.frames().front() && std::holds_alternative<If>(body_.stmts[frame.owner]);
  }
  if (in_if) count(feature(Kind::Barrier, BarrierPattern::InIf));
  if (in_loop) count(feature(Kind::Barrier, BarrierPattern::InLoop));
  if (!in_if && !in_loop) count(feature(Kind::Barrier, BarrierPattern::Straight));
  if (i > 0 && std::holds_alternative<Barrier>(body_.stmts[i - 1])) {
    count(feature(Kind::Barrier, BarrierPattern::InARow));
  }
  published_.merge(stored_);
  stored_.clear();
}

void Finder::visit_statement(std::uint32_t i) {
  const Stmt& stmt = body_.stmts[i];
  count(feature(Kind::Statement, stmt.index()));
  if (const Store* store = std::get_if<Store>(&stmt)) {
    visit_access(Use::Store, store->buffer, store->index);
    stored_.insert(store->buffer.index);
  } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
    visit_access(Use::Atomic, atomic->buffer, atomic->index);
    const DataType element = buffer(atomic->buffer.index).element;
    count(feature(Kind::Atomic, atomic->op, element, atomic->result.exists()));
  } else if (std::holds_alternative<Break>(stmt)) {
    visit_exit(Exit::Break);
  } else if (std::holds_alternative<Return>(stmt)) {
    visit_exit(program_ != nullptr ? Exit::Return : Exit::OpReturn);
  } else if (std::holds_alternative<Barrier>(stmt)) {
    visit_barrier(i);
  } else if (const If* branch = std::get_if<If>(&stmt)) {
    if (is_else_if(body_, *branch)) count(feature(Kind::ElseIf));
    std::uint32_t tests = 1;
    for (const If* next = branch; is_else_if(body_, *next); ++tests) {
      next = &std::get<If>(body_[next->else_begin]);
    }
    if (tests == 10) count(feature(Kind::Hard, HardShape::Chain));
    stack_.open(i)->divergent = mentions_ids(branch->condition);
  } else if (const For* loop = std::get_if<For>(&stmt)) {
    const Range from = ranges_[loop->from.index];
    const Range to = ranges_[loop->to.index];
    locals_[loop->variable.index] = {from.low, std::max(from.low, to.high - (to.high > 0 ? 1 : 0))};
    stack_.open(i)->divergent = mentions_ids(loop->from) || mentions_ids(loop->to);
    const auto is_loop = [](const Frame& frame) { return frame.is_loop; };
    count(feature(Kind::Loops, std::ranges::count_if(stack_.frames(), is_loop)));
  } else if (std::holds_alternative<Block>(stmt)) {
    stack_.open(i);
  }
}

void count_shape(Kind kind, const std::array<std::uint32_t, 3>& extents, auto count) {
  const auto longer = [](std::uint32_t extent) { return extent > 1; };
  const auto is = [&](ShapeKind what) { count(feature(kind, what)); };
  if (std::ranges::count(extents, 0u) > 0) return is(ShapeKind::Empty);
  switch (std::ranges::count_if(extents, longer)) {
    case 0: is(ShapeKind::Single); break;
    case 1: is(ShapeKind::Line); break;
    case 2: is(ShapeKind::Area); break;
    default: is(ShapeKind::Box); break;
  }
  for (std::uint32_t extent : extents) {
    if (extent == 1) continue;
    is(extent % 2 == 1               ? ShapeKind::Odd
       : std::has_single_bit(extent) ? ShapeKind::PowerOfTwo
                                     : ShapeKind::Other);
  }
}

void count_group(const Program& program, auto count) {
  const auto is = [&](HardShape what) { count(feature(Kind::Hard, what)); };
  std::uint32_t group = 1;
  for (std::uint32_t size : program.workgroup_size) group *= size;
  if (group > 512) is(HardShape::LargeGroup);
  const bool shares = std::ranges::any_of(program.buffers, [](const BufferDecl& buffer) {
    return buffer.access == BufferAccess::Workgroup;
  });
  if (!shares || group > 40 || group % 2 == 0 || group == 1) return;
  const bool waits = std::ranges::any_of(
      program.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); });
  is(waits ? HardShape::SmallOddGroupWithBarrier : HardShape::SmallOddGroup);
}

}  // namespace

void Coverage::add(const Case& c) {
  for (const Item& item : c.module.items) Finder(c, item, counts_).run();
  const auto count = [&](std::uint32_t what) { ++counts_[what]; };
  count_shape(Kind::GroupShape, c.program().workgroup_size, count);
  count_shape(Kind::GridShape, c.grid, count);
  count_group(c.program(), count);
  for (std::size_t i = 0; i < c.contents.size(); ++i) {
    const DataType element = c.program().buffers[i].element;
    if (c.program().buffers[i].access != BufferAccess::Workgroup) {
      const std::uint32_t length = length_of(c, i);
      const auto is = [&](ContentsKind what) { count(feature(Kind::Contents, what)); };
      if (length == 0) is(ContentsKind::None);
      if (length == 1) is(ContentsKind::One);
      if (length > 1 && (length % 16 == 1 || length % 16 == 15)) is(ContentsKind::BesideAVector);
    }
    const std::vector<std::byte>& bytes = c.contents[i];
    if (element == DataType::Bytes && bytes.size() % 4 != 0) {
      count(feature(Kind::Contents, ContentsKind::PartOfAWord));
    }
    for (std::size_t at = 0; element == DataType::Bool && at < bytes.size(); at += 4) {
      const bool other = bytes[at] > std::byte{1} || bytes[at + 1] > std::byte{0};
      if (other) count(feature(Kind::Contents, ContentsKind::OtherBool));
    }
  }
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> names;
  for_each_feature([&](std::uint32_t what, std::string name) {
    if (!counts_.contains(what)) names.push_back(std::move(name));
  });
  return names;
}

}  // namespace vyre
