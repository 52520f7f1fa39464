#include "vyre/backends/cpu/pieces.h"

#include <algorithm>

#include "vyre/backends/cpu/ops.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// Weights are about what a statement takes of LLVM's instructions.
constexpr std::uint64_t kLong = 16;  // an operation
constexpr std::uint64_t kCall = 6;

enum class Work : std::uint8_t { Short, Compare, Shift, Count, Reverse, Mul, MulHigh, Divide };

Work work_of(Operation op) {
  using enum Operation;
  const auto is = [op](auto... all) { return ((op == all) || ...); };
  if (is(Div, Mod)) return Work::Divide;
  if (is(MulHigh)) return Work::MulHigh;
  if (is(Mul)) return Work::Mul;
  if (is(ReverseBits)) return Work::Reverse;
  if (is(Popcount, Clz, Ctz)) return Work::Count;
  if (is(Shl, Shr, RotateLeft, RotateRight)) return Work::Shift;
  return gives_truth(op) || is(Min, Max, AddSat, SubSat, AbsDiff) ? Work::Compare : Work::Short;
}

// Of an operation on vectors; `by_constant`: its second operand is one.
std::uint64_t weight(Operation op, DataType type, bool by_constant, const CpuTarget& target) {
  const bool is_wide = part_bits(type) == 64;
  const bool is_pair = type == DataType::U128;
  const std::uint64_t vectors =
      std::max<std::uint64_t>(1, std::uint64_t{target.width} * part_bits(type) / target.bits);
  const std::uint64_t each = vectors * part_count(type);
  const bool is_new = target.bits == 512;  // has an instruction for most things
  const bool is_old = target.bits == 128;  // does without many
  switch (work_of(op)) {
    case Work::Divide:
      if (is_pair) return std::uint64_t{26} * target.width;
      return is_wide ? std::uint64_t{6} * target.width : 20 * each;
    case Work::MulHigh: return (is_wide ? 14 : 9) * each;
    case Work::Mul:
      if (is_pair) return 24 * vectors;
      return (is_wide ? (is_new ? 3 : 9) : (is_old ? 5 : 1)) * each;
    case Work::Reverse:
    case Work::Count: return 10 * each;
    case Work::Shift:
      if (is_pair && by_constant) return 2 * each;
      return (is_pair ? 8 : 3) * (is_old && !by_constant ? 4 : 1) * each;
    case Work::Compare: return (is_wide && !is_new ? 5 : 1) * each;
    case Work::Short: break;
  }
  return each;
}

// Of one on numbers that are the same in all lanes.
std::uint64_t scalar_weight(Operation op, DataType type) {
  const std::uint64_t parts = part_count(type);
  const bool is_pair = type == DataType::U128;
  switch (work_of(op)) {
    case Work::Divide: return is_pair ? 30 : 12 * parts;
    case Work::Reverse: return 20 * parts;
    case Work::Count: return 6 * parts;
    case Work::Mul: return is_pair ? 8 : parts;
    case Work::MulHigh: return 3 * parts;
    case Work::Shift: return is_pair ? 16 : 3 * parts;
    case Work::Compare:
    case Work::Short: break;
  }
  return parts;
}

// Of a load or store of all lanes, under a mask. `is_row`: of elements side by side.
std::uint64_t access_weight(DataType element, bool is_store, bool is_row, const CpuTarget& target) {
  const DataType type = loaded_type(element);
  const std::uint64_t words = part_count(type) * (part_bits(type) / 32);
  const bool by_lane = target.bits == 128 || (is_store && !is_row && target.bits != 512);
  return 6 + words * (by_lane ? std::uint64_t{5} * target.width : is_row ? 2 : 4);
}

class Weights {
 public:
  Weights(const Lowered& lowered, const CpuTarget& target, bool in_pieces)
      : lowered_(lowered), target_(target), in_pieces_(in_pieces), seen_(body_.exprs.size()) {}

  // Without the blocks of the statement.
  std::uint64_t operator()(StmtId id) {
    const Stmt& stmt = body_[id];
    std::uint64_t total = 2;
    ++time_;
    for (ExprId root : roots(stmt)) work_.push_back(root);
    while (!work_.empty()) {
      const ExprId at = work_.back();
      work_.pop_back();
      if (seen_[at.index] == time_) continue;
      seen_[at.index] = time_;
      total += of(at);
      for (ExprId arg : operands(body_, body_[at])) work_.push_back(arg);
    }
    visit(
        stmt, [&](const If& branch) { total += varies(branch.condition) ? 40 : 8; },
        [&](const For& loop) { total += varies(loop.from) || varies(loop.to) ? 80 : 40; },
        [&](const Store& store) { total += access(store.index, store.buffer, true); },
        [&](const Atomic&) { total += 60; }, [&](const Barrier&) { total += 60; },
        [&](const Collective&) { total += 60; }, [&](const Return&) { total += 10; },
        [&](const Break&) { total += 10; }, Nothing<Let, Assign, Block, SetElement, Continue>());
    return total;
  }

 private:
  bool varies(ExprId id) const { return lowered_.shapes[id].kind == Shape::Kind::Irregular; }

  std::uint64_t access(ExprId index, BufferId buffer, bool is_store) const {
    const DataType element = lowered_.program.buffers[buffer.index].element;
    const DataType type = loaded_type(element);
    const Shape& shape = lowered_.shapes[index];
    if (shape.kind == Shape::Kind::Uniform) return 4 + part_count(type);
    const bool is_row = shape.kind == Shape::Kind::Linear && shape.stride == 1;
    const std::uint64_t all = access_weight(element, is_store, is_row, target_);
    return in_pieces_ && all > kLong ? kCall + 3 * part_count(type) : all;
  }

  std::uint64_t of(ExprId id) const {
    const Expr& expr = body_[id];
    if (expr.op == Operation::Literal) return 0;
    if (expr.op == Operation::Load) return access(expr.args[0], BufferId{expr.imm}, false);
    const bool is_form = arity(expr.op) == 0 || expr.op == Operation::Cast ||
                         expr.op == Operation::Select || has_operand_list(expr.op);
    const std::span<const ExprId> args = operands(body_, expr);
    const DataType type = lowered_.types[is_form ? id : args[0]];
    if (!varies(id)) return scalar_weight(expr.op, type);
    const bool by_constant = args.size() > 1 && body_[args[1]].op == Operation::Literal;
    const std::uint64_t all = weight(expr.op, type, by_constant, target_);
    if (in_pieces_ && all > kLong) return kCall + 3 * part_count(type);
    return all;
  }

  const Lowered& lowered_;
  const Body& body_ = lowered_.program.body;
  const CpuTarget& target_;
  const bool in_pieces_;
  std::vector<std::uint32_t> seen_;  // in which statement
  std::uint32_t time_ = 0;
  std::vector<ExprId> work_;
};

class Cutter {
 public:
  Cutter(const Body& body, const std::vector<bool>& collective, Weights& weights,
         std::uint64_t most)
      : body_(body),
        collective_(collective),
        weights_(weights),
        most_(most),
        inside_(body_.stmts.size()) {}

  Pieces run() {
    // What is inside of a statement comes after it.
    for (std::size_t i = body_.stmts.size(); i-- > 0;) {
      const StmtId id{i};
      const StmtId first{i + 1};
      inside_[i] = weights_(id);
      if (const If* branch = std::get_if<If>(&body_[id])) {
        inside_[i] += cut(first, branch->else_begin, collective_[i]);
        inside_[i] += cut(branch->else_begin, branch->end, collective_[i]);
      } else if (next(body_, id) > first) {
        inside_[i] += cut(first, next(body_, id), collective_[i]);
      }
    }
    const StmtId end{body_.stmts.size()};
    const bool has_barriers = std::ranges::find(collective_, true) != collective_.end();
    cut(StmtId{0u}, end, has_barriers);
    add(StmtId{0u}, end, has_barriers);
    return nested();
  }

 private:
  struct Item {
    StmtId begin;
    StmtId end;
    std::uint64_t weight = 0;
  };

  void add(StmtId begin, StmtId end, bool is_collective) {
    made_.push_back({begin, end, is_collective, 0});
  }

  // Cuts the statements of a block, if they are too many, and gives what is left in its function.
  std::uint64_t cut(StmtId begin, StmtId end, bool is_collective) {
    std::vector<Item> items;
    for (StmtId id = begin; id < end;) {
      StmtId after = next(body_, id);
      if (is_collective && !collective_[id.index]) {
        // Gangs run all that is between two statements of the workgroup.
        while (after < end && !collective_[after.index]) after = next(body_, after);
        items.push_back({id, after, 60 + cut(id, after, false)});
      } else {
        items.push_back({id, after, inside_[id.index]});
      }
      id = after;
    }
    const auto total = [&] {
      std::uint64_t sum = 0;
      for (const Item& item : items) sum += item.weight;
      return sum;
    };
    while (total() > most_) {
      std::vector<Item> groups;
      for (const Item& item : items) {
        if (groups.empty() || groups.back().weight + item.weight > most_) {
          groups.push_back(item);
        } else {
          groups.back().end = item.end;
          groups.back().weight += item.weight;
        }
      }
      for (Item& group : groups) {
        if (group.weight <= kCall) continue;
        add(group.begin, group.end, is_collective);
        group.weight = kCall;
      }
      items = std::move(groups);
    }
    return total();
  }

  // Outer ones come first. Of those with the same statements, one for the workgroup is outside.
  Pieces nested() {
    std::ranges::sort(made_, [](const Piece& a, const Piece& b) {
      return std::tuple(a.begin, b.end, b.is_collective) <
             std::tuple(b.begin, a.end, a.is_collective);
    });
    Pieces pieces;
    pieces.all = std::move(made_);
    pieces.of.resize(body_.stmts.size());
    std::vector<std::uint32_t> open;
    std::uint32_t number = 0;
    for (std::uint32_t i = 0; i <= body_.stmts.size(); ++i) {
      while (!open.empty() && pieces.all[open.back()].end <= StmtId{i}) open.pop_back();
      for (; number < pieces.all.size() && pieces.all[number].begin == StmtId{i}; ++number) {
        Piece& piece = pieces.all[number];
        if (!open.empty()) {
          piece.parent = open.back();
          pieces.found[{piece.parent, piece.begin, piece.is_collective}] = number;
        }
        open.push_back(number);
      }
      if (i < body_.stmts.size()) pieces.of[i] = open.back();
    }
    return pieces;
  }

  const Body& body_;
  const std::vector<bool>& collective_;
  Weights& weights_;
  const std::uint64_t most_;           // that a function shall have
  std::vector<std::uint64_t> inside_;  // of statements, with what is left of their blocks
  std::vector<Piece> made_;
};

}  // namespace

bool is_long(Operation op, DataType type, bool by_constant, const CpuTarget& target) {
  return weight(op, type, by_constant, target) > kLong;
}

bool is_long_access(DataType element, bool is_store, bool is_row, const CpuTarget& target) {
  return access_weight(element, is_store, is_row, target) > kLong;
}

bool is_large(const Lowered& lowered, const CpuTarget& target) {
  const Program& program = lowered.program;
  Weights weights(lowered, target, false);
  std::uint64_t total = program.buffers.size() * 30;
  for (std::size_t i = 0; i < program.body.stmts.size() && total <= target.large; ++i) {
    total += weights(StmtId{i});
  }
  return total > target.large;
}

std::optional<std::uint32_t> Pieces::find(std::uint32_t parent, StmtId begin,
                                          bool is_collective) const {
  const auto piece = found.find({parent, begin, is_collective});
  if (piece == found.end()) return std::nullopt;
  return piece->second;
}

Pieces find_pieces(const Lowered& lowered, const CpuTarget& target,
                   const std::vector<bool>& collective) {
  Weights weights(lowered, target, true);
  return Cutter(lowered.program.body, collective, weights, target.piece).run();
}

}  // namespace vyre
