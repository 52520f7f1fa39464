// Which accesses still need a check that their index is in bounds: a table beside a program, per
// statement and access, never part of it. What is not in a table is checked.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/ranges.h"

namespace vyre {

struct CheckedAccess {
  enum class Verdict : std::uint8_t {
    Checked,
    Proved,       // always in bounds
    Specialised,  // in bounds wherever the assumptions hold
  };
  StmtId stmt;
  ExprId load;  // none: the store or atomic itself
  BufferId buffer;
  ExprId index;
  Verdict verdict = Verdict::Checked;
  StmtId guard = {};       // the branch or loop that proves it; none where ranges alone do
  std::uint64_t most = 0;  // that the index can be, as far as ranges tell
  // Of an index `select(condition, inner, 0xffffffff)`, which says that the access only happens
  // under a condition: the parts, and what holds for `inner` where the condition does. The verdict
  // on the whole index is that it is checked.
  ExprId condition = {};
  ExprId inner = {};
  Verdict inner_verdict = Verdict::Checked;
  std::uint64_t inner_most = 0;
  std::vector<std::pair<BufferId, BufferId>> orders =
      {};  // of lengths, that it takes from the host

  // Whether the index has to be compared with the length.
  bool is_compared() const {
    return (condition.exists() ? inner_verdict : verdict) == Verdict::Checked;
  }
};

// Something that the host promises about a dispatch, and that is checked before it.
struct Assumption {
  enum class Kind : std::uint8_t {
    Groups,   // at most `value` workgroups on axis `axis`
    Length,   // len(buffer) is `value`
    AtLeast,  // len(buffer) is at least `value`
    Order,    // len(buffer) is at most len(other)
    Word,     // word `index` of the uniform `buffer` is `value`
  };
  Kind kind = Kind::Groups;
  std::uint32_t axis = 0;
  BufferId buffer;
  BufferId other;
  std::uint32_t index = 0;
  std::uint64_t value = 0;

  friend bool operator==(const Assumption&, const Assumption&) = default;
};
bool holds(const Assumption& assumption, const DispatchFacts& facts);
std::string text(const Assumption& assumption, const Program& program);

struct Bounds {
  std::vector<CheckedAccess> accesses;  // in the order of statements; loads before the store
  std::vector<Assumption> assumptions;  // that those which are Specialised need, all together

  std::size_t checked() const;  // how many still need to be compared with a length

  // The store or atomic of a statement, or a load in it.
  const CheckedAccess* find(StmtId stmt, ExprId load = {}) const;
  bool is_proved(StmtId stmt, ExprId load = {}) const {
    const CheckedAccess* access = find(stmt, load);
    return access != nullptr && access->verdict == CheckedAccess::Verdict::Proved;
  }
};

// Of a valid program without calls; with facts of a dispatch, also what these prove. `each` is
// called after each statement, with what is known there without the facts, and the bounds so far.
using EachStatement = std::function<void(StmtId, Ranges&, const Bounds&)>;
Bounds bounds_of(const Program& program, const DispatchFacts* facts = nullptr,
                 const EachStatement& each = {});

// Whether an access that is not proved is in bounds as soon as its buffer is as long as may be
// expected: ranges know where its index ends.
bool ends_early(const Program& program, const CheckedAccess& access);

// By expression: whether it depends on what a buffer holds that is no uniform. For people: what
// loops hand on is followed only a few times.
std::vector<bool> depends_on_data(const Program& program);

// All that a program could take from these facts: the ids, lengths and uniforms that it mentions.
std::vector<Assumption> assumptions_of(const Program& program, const DispatchFacts& facts);

}  // namespace vyre
