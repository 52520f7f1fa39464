#include "vyre/backends/ptx/places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/ranges.h"

namespace vyre {
namespace {

constexpr std::int64_t kIndices = std::int64_t{1} << 32;
constexpr int kMaxTerms = 16;
constexpr std::uint32_t kPackBytes = 16;

class Finder {
 public:
  Finder(const Program& program, const Bounds& bounds)
      : program_(program),
        body_(program.body),
        bounds_(bounds),
        ranges_(program),
        effects_(program.buffers.size()) {
    places_.bound.resize(body_.locals.size());
  }

  PtxPlaces find() {
    find_stable();
    places_.all.resize(bounds_.accesses.size());
    BlockStack<OpenBlock> stack(body_);
    for (std::uint32_t i = 0, next = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, [&](const OpenBlock&, OpenBlock&) { ++flow_; });
      for (; next < bounds_.accesses.size() && bounds_.accesses[next].stmt.index == i; ++next) {
        ranges_.go_to(StmtId{i});
        visit(next);
      }
      if (std::holds_alternative<Barrier>(body_.stmts[i])) ++barriers_;
      if (stack.open(i) != nullptr) ++flow_;
    }
    for (const auto& [key, lanes] : groups_) add(key, lanes);
    return std::move(places_);
  }

 private:
  // Which effects others could tell the order of.
  struct Effects {
    std::uint32_t writes = 0;  // by which loads are parted
    std::uint32_t breaks = 0;  // by which stores are
    ExprId base;               // of the stores since
    std::vector<std::int64_t> offsets;
  };
  // Control flow, barriers, effects, whether it is a store, buffer, base, which stretch, its width.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, BufferId, ExprId,
                         std::int64_t, std::uint32_t>;
  using Lanes = std::vector<std::vector<std::uint32_t>>;  // accesses, by lane

  // A local that a `let` declares and nothing assigns keeps its value, and so does what is computed
  // from such. What is loaded is not computed again.
  void find_stable() {
    std::vector<bool> assigned(body_.locals.size());
    for (const Stmt& stmt : body_.stmts) {
      if (const Let* let = std::get_if<Let>(&stmt)) places_.bound[let->local.index] = let->value;
      if (const Assign* assign = std::get_if<Assign>(&stmt)) assigned[assign->local.index] = true;
    }
    for (std::size_t i = 0; i < assigned.size(); ++i) {
      if (assigned[i]) places_.bound[i] = {};
    }
    for (const Expr& expr : body_.exprs) {
      bool stable =
          expr.op != Operation::Load && (expr.op != Operation::Local || !assigned[expr.imm]);
      for (ExprId arg : operands(body_, expr)) stable = stable && places_.stable[arg.index];
      places_.stable.push_back(stable);
    }
  }

  // The literal that an expression adds to another, and the other.
  std::optional<std::pair<ExprId, std::int64_t>> step(ExprId id) const {
    const Expr& expr = body_[id];
    const bool is_sub = expr.op == Operation::Sub;
    if (expr.op != Operation::Add && !is_sub) return std::nullopt;
    const auto literal = [&](ExprId arg) { return body_[arg].op == Operation::Literal; };
    const auto number = [&](ExprId arg) {
      return std::int64_t{static_cast<std::int32_t>(body_[arg].imm)};
    };
    if (literal(expr.args[1])) {
      return std::pair(expr.args[0], is_sub ? -number(expr.args[1]) : number(expr.args[1]));
    }
    if (!is_sub && literal(expr.args[0])) return std::pair(expr.args[1], number(expr.args[0]));
    return std::nullopt;
  }

  // The farthest base that the index has not wrapped around from.
  void split(ExprId index, std::uint32_t bytes, PtxPlace& place) {
    place.base = index;
    const auto fits = [&](std::int64_t offset) {
      return std::abs(offset * bytes) <= std::numeric_limits<std::int32_t>::max();
    };
    ExprId at = index;
    std::int64_t offset = 0;
    for (int steps = 0; steps < kMaxTerms; ++steps) {
      const Expr& expr = body_[at];
      if (expr.op == Operation::Literal) {
        const std::int64_t all = offset + std::int64_t{expr.imm};
        if (all >= 0 && all < kIndices && fits(all)) {
          place.base = {};
          place.offset = all;
        }
        return;
      }
      if (expr.op == Operation::Local) {
        const ExprId value = places_.bound[expr.imm];
        if (!value.exists() || !places_.stable[value.index]) return;
        if (!step(value) && body_[value].op != Operation::Literal) return;
        at = value;
        continue;
      }
      const auto part = step(at);
      if (!part) return;
      at = part->first;
      offset += part->second;
      if (body_[at].op == Operation::Literal) continue;
      const Range range = ranges_.range(ranges_.value(at));
      const bool wraps = static_cast<std::int64_t>(range.lo) + offset < 0 ||
                         static_cast<std::int64_t>(range.hi) + offset >= kIndices;
      if (!wraps && fits(offset)) {
        place.base = at;
        place.offset = offset;
      }
    }
  }

  // A power of two that divides the base.
  std::uint32_t align(ExprId base) {
    if (!base.exists()) return kPackBytes;
    const Range range = ranges_.range(ranges_.value(base));
    return std::uint32_t{1} << std::min(std::countr_one(range.zeros), 4);
  }

  void visit(std::uint32_t number) {
    const CheckedAccess& access = bounds_.accesses[number];
    PtxPlace& place = places_.all[number];
    const BufferDecl& buffer = program_.buffers[access.buffer.index];
    const std::uint32_t bytes = stride(buffer.element);
    place.checked = access.verdict == CheckedAccess::Verdict::Checked;
    split(access.index, bytes, place);

    const bool is_store = !access.load.exists();
    const bool is_atomic = is_store && std::holds_alternative<Atomic>(body_[access.stmt]);
    Effects& effects = effects_[access.buffer.index];
    const std::uint32_t width =
        place.checked || is_atomic || (place.base.exists() && !places_.stable[place.base.index])
            ? 1
            : std::min(kPackBytes / bytes, align(place.base));
    if (is_store) {
      ++effects.writes;
      const bool goes_on =
          width > 1 && effects.base == place.base &&
          std::ranges::find(effects.offsets, place.offset) == effects.offsets.end() &&
          effects.offsets.size() < kMaxOpen;
      if (!goes_on) {
        ++effects.breaks;
        effects.offsets.clear();
        effects.base = place.base;
      }
      effects.offsets.push_back(place.offset);
    } else if (is_written(buffer.access)) {
      ++effects.breaks;
      effects.offsets.clear();
    }
    if (width < 2) return;
    const bool ordered = is_written(buffer.access);
    const std::int64_t stretch =
        place.offset >= 0 ? place.offset / width : -((-place.offset + width - 1) / width);
    Lanes& lanes = groups_[{flow_, ordered ? barriers_ : 0,
                            is_store  ? effects.breaks
                            : ordered ? effects.writes
                                      : 0,
                            is_store, access.buffer, place.base, stretch, width}];
    lanes.resize(width);
    lanes[static_cast<std::size_t>(place.offset - stretch * width)].push_back(number);
  }

  // All of a stretch, or a half of it.
  void add(const Key& key, const Lanes& lanes) {
    const auto width = static_cast<std::uint32_t>(lanes.size());
    const std::int64_t first = std::get<6>(key) * width;
    const auto is_whole = [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t i = begin; i < end; ++i) {
        if (lanes[i].empty()) return false;
      }
      return true;
    };
    std::uint32_t size = width;
    if (!is_whole(0, width)) size /= 2;
    if (size < 2) return;
    for (std::uint32_t begin = 0; begin < width; begin += size) {
      if (!is_whole(begin, begin + size)) continue;
      const bool is_store = std::get<3>(key);
      PtxPack pack{size, std::get<5>(key), first + begin, {}};
      for (std::uint32_t i = begin; i < begin + size; ++i) {
        for (const std::uint32_t number : lanes[i]) {
          const StmtId stmt = bounds_.accesses[number].stmt;
          if (!pack.at.exists()) pack.at = stmt;
          pack.at = is_store ? std::max(pack.at, stmt) : std::min(pack.at, stmt);
          places_.all[number].pack = static_cast<std::uint32_t>(places_.packs.size());
          places_.all[number].lane = i - begin;
        }
      }
      places_.packs.push_back(pack);
    }
  }

  static constexpr std::size_t kMaxOpen = 64;  // stores that are looked through for each other one

  const Program& program_;
  const Body& body_;
  const Bounds& bounds_;
  Ranges ranges_;
  std::vector<Effects> effects_;
  std::uint32_t flow_ = 0;
  std::uint32_t barriers_ = 0;
  std::map<Key, Lanes> groups_;
  PtxPlaces places_;
};

// A sum of the local ids, each times a factor, and a number; nothing for anything else.
using Factors = std::array<std::uint32_t, 4>;
std::optional<Factors> factors_of(const Program& program, const PtxPlaces& places, ExprId id,
                                  int depth = 0) {
  const Body& body = program.body;
  const Expr& expr = body[id];
  if (depth > kMaxTerms) return std::nullopt;
  const auto of = [&](ExprId arg) { return factors_of(program, places, arg, depth + 1); };
  const auto scaled = [](std::optional<Factors> a, std::uint32_t factor) {
    for (std::size_t i = 0; a && i < 4; ++i) (*a)[i] *= factor;
    return a;
  };
  const auto literal = [&](ExprId arg) { return body[arg].op == Operation::Literal; };
  if (expr.op == Operation::Literal) return Factors{0, 0, 0, expr.imm};
  if (expr.op == Operation::LocalId) {
    Factors own{};
    own[expr.detail] = 1;
    return own;
  }
  if (expr.op == Operation::Local && places.bound[expr.imm].exists()) {
    return of(places.bound[expr.imm]);
  }
  if (expr.op == Operation::Add) {
    std::optional<Factors> a = of(expr.args[0]);
    const std::optional<Factors> b = of(expr.args[1]);
    if (!a || !b) return std::nullopt;
    for (std::size_t i = 0; i < 4; ++i) (*a)[i] += (*b)[i];
    return a;
  }
  if (expr.op == Operation::Mul && literal(expr.args[1])) {
    return scaled(of(expr.args[0]), body[expr.args[1]].imm);
  }
  if (expr.op == Operation::Shl && literal(expr.args[1])) {
    return scaled(of(expr.args[0]), std::uint32_t{1} << (body[expr.args[1]].imm & 31));
  }
  return std::nullopt;
}

}  // namespace

std::vector<bool> find_filled(const Program& program, const Bounds& bounds,
                              const PtxPlaces& places) {
  constexpr std::uint32_t kNever = 0xffffffff;
  const Body& body = program.body;
  // By buffer: the first access, the last one, the first load.
  struct Uses {
    std::uint32_t first = kNever;
    std::uint32_t last = 0;
    std::uint32_t load = kNever;
  };
  std::vector<Uses> uses(program.buffers.size());
  for (const CheckedAccess& access : bounds.accesses) {
    Uses& use = uses[access.buffer.index];
    use.first = std::min(use.first, access.stmt.index);
    use.last = std::max(use.last, access.stmt.index);
    if (access.load.exists()) use.load = std::min(use.load, access.stmt.index);
  }
  // By statement the block that it stands in, and the end of that; and the barriers of each block.
  using BlockId = std::pair<std::uint32_t, bool>;  // the owner, and whether it is an `else`
  std::vector<BlockId> blocks(body.stmts.size());
  std::vector<std::uint32_t> ends(body.stmts.size());
  std::map<BlockId, std::vector<std::uint32_t>> barriers;
  BlockStack<OpenBlock> stack(body);
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i);
    const bool is_inside = stack.frames().size() > 1;
    blocks[i] = {is_inside ? stack.back().owner : kNever, stack.back().is_else};
    ends[i] = stack.back().end;
    if (std::holds_alternative<Barrier>(body.stmts[i])) barriers[blocks[i]].push_back(i);
    stack.open(i);
  }
  const auto& size = program.workgroup_size;
  std::vector<bool> filled(program.buffers.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    const Uses& use = uses[i];
    if (buffer.access != BufferAccess::Workgroup || use.first == kNever) continue;
    if (buffer.count > std::uint64_t{size[0]} * size[1] * size[2]) continue;
    const Store* store = std::get_if<Store>(&body.stmts[use.first]);
    if (store == nullptr || store->buffer.index != i || use.load <= use.first ||
        use.last >= ends[use.first]) {
      continue;
    }
    const std::optional<Factors> index = factors_of(program, places, store->index);
    const auto is_own = [&](std::size_t axis, std::uint32_t factor) {
      return size[axis] == 1 || (*index)[axis] == factor;
    };
    if (!index || !is_own(0, 1) || !is_own(1, size[0]) || !is_own(2, size[0] * size[1]) ||
        (*index)[3] != 0) {
      continue;
    }
    // A barrier behind it in its block says that all invocations run both.
    const std::vector<std::uint32_t>& waits = barriers[blocks[use.first]];
    const auto next = std::ranges::upper_bound(waits, use.first);
    filled[i] = use.load == kNever || (next != waits.end() && *next < use.load);
  }
  return filled;
}

PtxPlaces find_places(const Program& program, const Bounds& bounds) {
  return Finder(program, bounds).find();
}

}  // namespace vyre
