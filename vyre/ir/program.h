// The intermediate representation.
//
// Values are a table, effects are a tree. Expressions are pure; they live in one arena per body,
// are addressed by ids, and a structurally equal expression is the same id. Statements are the
// only things with effects. An expression is evaluated anew by each statement that mentions it;
// `let` fixes a value.
//
// What holds for every Body that parse(), decode() and Builder::finish() return:
//  - Operands precede their users, so one forward loop over `exprs` sees operands first.
//  - The numbering is canonical: expressions, locals, constants, tables and callees are numbered in
//    order of their first visit when the statements are walked in order, operands first and left to
//    right; nothing unreachable is kept. So equality of programs is equality of their tables.
//  - Statements are stored in preorder. A compound statement knows where its blocks end, so the
//    statements of a block are first, next(first), ... and a subtree is a contiguous range; nothing
//    that walks them needs recursion.
//
// A program is a value: it is copied, compared and hashed like a number. Source positions, types
// and the results of analyses are tables beside it, never part of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "vyre/base/counters.h"
#include "vyre/base/ids.h"
#include "vyre/ir/ops.h"
#include "vyre/ir/types.h"

namespace vyre {

// A constant of any type: 32-bit lanes, lowest first, zero beyond the type's size.
struct Bits {
  std::array<std::uint32_t, 4> lanes{};
  friend bool operator==(const Bits&, const Bits&) = default;
};

struct Expr;
struct Local;
using ExprId = Id<Expr>;
using LocalId = Id<Local>;
using BufferId = Id<BufferDecl>;
using StmtId = Id<struct Statements>;

struct Expr {
  Operation op = Operation::Literal;
  std::uint8_t detail = 0;  // type tag of a literal or cast; axis of an id; lane
  std::uint16_t unused = 0;
  // Literal: its bits, or for a type wider than 32 bits its index in `constants`.
  // Local: its LocalId. Load and Length: the BufferId. Call: the index in `callees`. Table:
  // the index in `tables`. Zeros: its type.
  std::uint32_t imm = 0;
  // Vec4, Array and Call: args[0] is the first index in `operands`, args[1] the count.
  std::array<ExprId, 3> args{ExprId{0u}, ExprId{0u}, ExprId{0u}};

  friend bool operator==(const Expr&, const Expr&) = default;
};
static_assert(sizeof(Expr) == 20);  // it is hashed, compared and copied by the million

struct Local {
  std::string name;
  friend bool operator==(const Local&, const Local&) = default;
};

// An array of constants.
struct ConstTable {
  std::string name;
  DataType element = DataType::U32;  // as in memory: it may be narrow
  Contents contents;

  std::uint32_t count() const {
    return static_cast<std::uint32_t>(contents.bytes().size() / stride(element));
  }
  // The type of its value.
  DataType type() const { return array_type(loaded_type(element), count()); }

  friend bool operator==(const ConstTable&, const ConstTable&) = default;
};

struct Let {
  LocalId local;
  ExprId value;
  friend bool operator==(const Let&, const Let&) = default;
};
struct Assign {
  LocalId local;
  ExprId value;
  friend bool operator==(const Assign&, const Assign&) = default;
};
struct Store {
  BufferId buffer;
  ExprId index;
  ExprId value;
  friend bool operator==(const Store&, const Store&) = default;
};
struct Atomic {
  AtomicOp op = AtomicOp::Add;
  LocalId result;  // none when the old value is not wanted
  BufferId buffer;
  ExprId index;
  ExprId expected;  // only of a compare_exchange
  ExprId value;     // none of a load
  friend bool operator==(const Atomic&, const Atomic&) = default;
};
struct If {
  ExprId condition;
  StmtId else_begin;  // the then block ends here
  StmtId end;
  friend bool operator==(const If&, const If&) = default;
};
struct For {
  LocalId variable;
  ExprId from;
  ExprId to;
  StmtId end;
  friend bool operator==(const For&, const For&) = default;
};
struct Block {
  StmtId end;
  friend bool operator==(const Block&, const Block&) = default;
};
struct Break {
  friend bool operator==(const Break&, const Break&) = default;
};
struct Return {
  ExprId value;  // none in a program
  friend bool operator==(const Return&, const Return&) = default;
};
struct Barrier {
  friend bool operator==(const Barrier&, const Barrier&) = default;
};
struct SetElement {
  LocalId local;  // an array
  ExprId index;
  ExprId value;
  friend bool operator==(const SetElement&, const SetElement&) = default;
};
struct Continue {
  friend bool operator==(const Continue&, const Continue&) = default;
};
struct Collective {
  CollectiveOp op = CollectiveOp::Add;
  LocalId result;
  ExprId value;
  ExprId invocation;  // whose value; only of a broadcast or a shuffle
  friend bool operator==(const Collective&, const Collective&) = default;
};

// The alternatives are in the order of the STATEMENT rows of ops.def.
using Stmt = std::variant<Let, Assign, Store, Atomic, If, For, Block, Break, Return, Barrier,
                          SetElement, Continue, Collective>;
#define STATEMENT(name, tag, meaning) \
  static_assert(std::is_same_v<std::variant_alternative_t<tag - 1, Stmt>, name>);
#include "vyre/ir/ops.def"

// Calls the function that takes statements of this kind. Each kind has its function, or is listed
// in a Nothing: a new one does not compile until everybody has dealt with it.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Kinds>
struct Nothing {
  template <class Kind>
    requires(std::is_same_v<Kind, Kinds> || ...)
  void operator()(const Kind&) const {}
};
template <class... Cases>
decltype(auto) visit(const Stmt& stmt, Cases... cases) {
  return std::visit(Overloaded{std::move(cases)...}, stmt);
}

struct Body {
  std::vector<Expr> exprs;
  std::vector<ExprId> operands;
  std::vector<Bits> constants;
  std::vector<ConstTable> tables;
  std::vector<std::string> callees;
  std::vector<Local> locals;
  std::vector<Stmt> stmts;
  [[no_unique_address]] CopyCount copies = {};

  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.index]; }
  const Local& operator[](LocalId id) const { return locals[id.index]; }

  friend bool operator==(const Body&, const Body&) = default;
};

struct Program {
  std::string name;
  std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
  std::vector<BufferDecl> buffers;
  Body body;

  friend bool operator==(const Program&, const Program&) = default;
};

// --- Ops ----------------------------------------------------------------------------------------

enum class Direction : std::uint8_t { NonDecreasing = 1, NonIncreasing = 2 };

inline std::string_view text(Direction direction) {
  return direction == Direction::NonDecreasing ? "non_decreasing" : "non_increasing";
}

struct TypedBits {
  DataType type = DataType::U32;
  Bits bits;
  friend bool operator==(const TypedBits&, const TypedBits&) = default;
};

// A value, the id of an op, or a direction.
using LawArgument = std::variant<TypedBits, std::string, Direction>;

struct Law {
  LawKind kind = LawKind::Commutative;
  std::vector<LawArgument> arguments;
  friend bool operator==(const Law&, const Law&) = default;
};

// A pure function that programs and other ops call by its id. Its parameters are the first locals
// of its body.
struct Op {
  std::string id;
  OpSignature signature;
  std::string description;
  std::vector<Law> laws;
  Body body;

  friend bool operator==(const Op&, const Op&) = default;
};

// What a file holds, in order.
using Item = std::variant<Program, Op>;

struct Module {
  std::vector<Item> items;

  friend bool operator==(const Module&, const Module&) = default;
};

auto& body_of(auto& item) {
  return std::visit([](auto& each) -> auto& { return each.body; }, item);
}

// Where a program is written, for tools that show it beside its code: in which file, and by
// statement on which line.
struct SourceLines {
  std::string file;
  std::vector<std::uint32_t> lines;

  friend bool operator==(const SourceLines&, const SourceLines&) = default;
};

// What runs: a valid program with the ops that it calls, directly or through others. link()
// and Builder::finish() make it. It never changes, and copies share it.
class Linked {
 public:
  Linked() = default;
  using Ops = std::vector<std::shared_ptr<const Op>>;  // each after those that it calls
  // Of a program and ops that are known to be valid.
  static Linked trust(Program program, Ops ops = {}) {
    Linked linked;
    linked.parts_ = std::make_shared<const Parts>(std::move(program), std::move(ops));
    return linked;
  }

  const Program& program() const { return parts_->program; }
  const Ops& ops() const { return parts_->ops; }
  operator const Program&() const { return parts_->program; }

  // For profilers; empty: nobody asks.
  const SourceLines& source() const { return *source_; }
  void set_source(SourceLines source) {
    source_ = std::make_shared<const SourceLines>(std::move(source));
  }

 private:
  struct Parts {
    Program program;
    Ops ops;
  };
  std::shared_ptr<const Parts> parts_ = std::make_shared<const Parts>();
  std::shared_ptr<const SourceLines> source_ = std::make_shared<const SourceLines>();
};

// --- Limits -------------------------------------------------------------------------------------

inline constexpr std::uint32_t kMaxCallDepth = 32;
inline constexpr std::uint32_t kMaxStmtDepth = 64;
inline constexpr std::uint32_t kMaxExprDepth = 1024;
inline constexpr std::uint32_t kMaxStmts = 100'000;
inline constexpr std::uint32_t kMaxExprs =
    1'000'000;  // as written out: a shared one counts at each use
inline constexpr std::uint32_t kMaxBuffers = 16'384;
inline constexpr std::size_t kMaxEncodedBytes = std::size_t{64} << 20;

}  // namespace vyre
