#include "vyre/passes/places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/ranges.h"

namespace vyre {
namespace {

constexpr std::int64_t kIndices = std::int64_t{1} << 32;
constexpr int kMaxTerms = 16;
constexpr std::uint32_t kPackBytes = 16;

class Finder {
 public:
  explicit Finder(const Program& program)
      : program_(program),
        body_(program.body),
        stack_(body_),
        effects_(program.buffers.size()),
        divides_(spread(body_,
                        [](const Expr& expr) {
                          return expr.op == Operation::Div || expr.op == Operation::Mod;
                        })),
        mentions_(body_) {
    find_stable();
    places_.divisors.resize(body_.exprs.size());
  }

  void statement(StmtId id, Ranges& ranges, const Bounds& bounds) {
    ranges_ = &ranges;
    stack_.enter(id.index, [&](const OpenBlock&, OpenBlock&) { ++flow_; });
    while (places_.all.size() < bounds.accesses.size()) {
      const CheckedAccess& access = bounds.accesses[places_.all.size()];
      visit(access, places_.all.emplace_back());
    }
    find_divisors(id);
    if (waits(body_[id])) ++barriers_;
    if (stack_.open(id.index) != nullptr) ++flow_;
  }

  Places places(const Bounds& bounds) {
    for (const auto& [key, lanes] : groups_) add(key, lanes, bounds);
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
  struct Key {
    std::uint32_t flow;
    std::uint32_t barriers;
    std::uint32_t effects;
    bool is_store;
    BufferId buffer;
    ExprId condition;
    ExprId base;
    std::int64_t stretch;
    std::uint32_t width;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Lanes = std::vector<std::vector<std::uint32_t>>;  // accesses, by lane

  // A local that a `let` declares and nothing assigns keeps its value, and so does what is computed
  // from such. What is loaded is not computed again.
  void find_stable() {
    const std::vector<bool> assigned = assigned_locals(body_);
    places_.bound = bound_values(body_);
    for (const Expr& expr : body_.exprs) {
      bool stable =
          expr.op != Operation::Load && (expr.op != Operation::Local || !assigned[expr.imm]);
      for (ExprId arg : operands(body_, expr)) stable = stable && places_.stable[arg.index];
      places_.stable.push_back(stable);
    }
  }

  Range range_of(ExprId id) { return ranges_->range(ranges_->value(id)); }

  void find_divisors(StmtId id) {
    mentions_.visit(id, [&](ExprId at) {
      const Expr& expr = body_[at];
      if (expr.op == Operation::Div || expr.op == Operation::Mod) {
        const Range range = range_of(expr.args[1]);
        Places::Divisor& divisor = places_.divisors[at.index];
        divisor.not_zero = divisor.not_zero && !contains(range, 0);
        divisor.not_minus_one = divisor.not_minus_one && !contains(range, 0xffffffff);
      }
      return divides_[at.index];
    });
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
  void split(ExprId index, std::uint32_t bytes, AccessPlace& place) {
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
      const Range range = range_of(at);
      const bool wraps = static_cast<std::int64_t>(range.lo) + offset < 0 ||
                         static_cast<std::int64_t>(range.hi) + offset >= kIndices;
      if (!wraps && fits(offset)) {
        place.base = at;
        place.offset = offset;
      }
    }
  }

  bool is_stable(ExprId id) const { return !id.exists() || places_.stable[id.index]; }

  // A power of two that divides the base.
  std::uint32_t align(ExprId base) {
    if (!base.exists()) return kPackBytes;
    return std::uint32_t{1} << std::min(std::countr_one(range_of(base).zeros), 4);
  }

  void visit(const CheckedAccess& access, AccessPlace& place) {
    const BufferDecl& buffer = program_.buffers[access.buffer.index];
    const std::uint32_t bytes = stride(buffer.element);
    place.checked = access.is_compared();
    place.condition = access.condition;
    place.index = access.condition.exists() ? access.inner : access.index;
    std::optional<Ranges::Assumed> assumed;
    if (place.condition.exists()) assumed.emplace(*ranges_, ranges_->value(place.condition));
    split(place.index, bytes, place);

    const bool is_store = !access.load.exists();
    const bool is_atomic = is_store && std::holds_alternative<Atomic>(body_[access.stmt]);
    Effects& effects = effects_[access.buffer.index];
    const std::uint32_t width =
        place.checked || is_atomic || !is_stable(place.base) || !is_stable(place.condition)
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
                            is_store, access.buffer, place.condition, place.base, stretch, width}];
    lanes.resize(width);
    lanes[static_cast<std::size_t>(place.offset - stretch * width)].push_back(
        static_cast<std::uint32_t>(&place - places_.all.data()));
  }

  // All of a stretch, or its largest parts.
  void add(const Key& key, const Lanes& lanes, const Bounds& bounds) {
    const auto width = static_cast<std::uint32_t>(lanes.size());
    const auto is_whole = [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t i = begin; i < end; ++i) {
        if (lanes[i].empty()) return false;
      }
      return true;
    };
    for (std::uint32_t size = width; size >= 2; size /= 2) {
      for (std::uint32_t begin = 0; begin < width; begin += size) {
        if (is_whole(begin, begin + size)) add_pack(key, lanes, begin, size, bounds);
      }
    }
  }

  void add_pack(const Key& key, const Lanes& lanes, std::uint32_t begin, std::uint32_t size,
                const Bounds& bounds) {
    if (places_.all[lanes[begin][0]].pack != AccessPlace::kNoPack) return;  // of a larger one
    AccessPack pack{size, key.base, key.stretch * key.width + begin, key.condition, {}};
    for (std::uint32_t i = begin; i < begin + size; ++i) {
      for (const std::uint32_t number : lanes[i]) {
        const StmtId stmt = bounds.accesses[number].stmt;
        if (!pack.at.exists()) pack.at = stmt;
        pack.at = key.is_store ? std::max(pack.at, stmt) : std::min(pack.at, stmt);
        places_.all[number].pack = static_cast<std::uint32_t>(places_.packs.size());
        places_.all[number].lane = i - begin;
      }
    }
    places_.packs.push_back(pack);
  }

  static constexpr std::size_t kMaxOpen = 64;  // stores that are looked through for each other one

  const Program& program_;
  const Body& body_;
  BlockStack<OpenBlock> stack_;
  Ranges* ranges_ = nullptr;  // at the statement
  std::vector<Effects> effects_;
  std::uint32_t flow_ = 0;
  std::uint32_t barriers_ = 0;
  const std::vector<bool> divides_;  // by expression: whether there is a division in it
  Mentions mentions_;
  std::map<Key, Lanes> groups_;
  Places places_;
};

}  // namespace

Bounds bounds_of(const Program& program, const DispatchFacts* facts, Places& places) {
  Finder finder(program);
  Bounds bounds = bounds_of(program, facts, [&](StmtId id, Ranges& ranges, const Bounds& found) {
    finder.statement(id, ranges, found);
  });
  places = finder.places(bounds);
  return bounds;
}

}  // namespace vyre
