// What an invocation knows that elements of memory hold: what it has loaded and stored, as nodes of
// a value graph. What is known of an element ends with a store that may hit it, with an atomic,
// with a barrier, and with the block in which it became known.
#pragma once

#include <algorithm>
#include <vector>

#include "vyre/ir/walk.h"

namespace vyre {

class Memory {
 public:
  struct Element {
    BufferId buffer;  // none: forgotten
    ExprId index;
    ExprId value;
    StmtId store;  // that has put the value there, if it was in bounds; none: it was loaded
    std::uint64_t serial = 0;  // grows from element to element
  };

  Memory(const Program& program, const Body& nodes)
      : body_(program.body), nodes_(nodes), forgotten_(program.buffers.size()) {}

  Element* find(BufferId buffer, ExprId index) {
    for (std::size_t i = elements_.size(), end = first_seen(); i-- > end;) {
      Element& element = elements_[i];
      if (element.buffer == buffer && element.index == index && element.serial > forgotten_all_ &&
          element.serial > forgotten_[buffer.index]) {
        return &element;
      }
    }
    return nullptr;
  }
  void loaded(BufferId buffer, ExprId index, ExprId value) {
    elements_.push_back({buffer, index, value, {}, ++serial_});
  }
  // No value: it is not known.
  void stored(BufferId buffer, ExprId index, ExprId value, StmtId store) {
    const auto [base, offset] = parts(index);
    const std::size_t end = first_seen();
    for (std::size_t i = elements_.size(); i-- > end;) {
      if (elements_[i].buffer != buffer) continue;
      // Two places at a constant distance from the same one differ.
      const auto [other, other_offset] = parts(elements_[i].index);
      if (base != other || offset == other_offset) elements_[i].buffer = {};
    }
    std::uint64_t& forgotten = forgotten_[buffer.index];
    if (end > 0) forgotten = std::max(forgotten, elements_[end - 1].serial);
    if (value.exists()) elements_.push_back({buffer, index, value, store, ++serial_});
  }
  void forget_all() { forgotten_all_ = ++serial_; }
  // The round before has done what the body of a loop does.
  void forget_effects(StmtId loop) {
    for (StmtId id{loop.index + 1}; id < next(body_, loop); ++id.index) {
      visit(
          body_[id], [&](const Store& store) { forgotten_[store.buffer.index] = ++serial_; },
          [&](const Atomic&) { forget_all(); }, [&](const Barrier&) { forget_all(); },
          [&](const Collective&) { forget_all(); },
          Nothing<Let, Assign, If, For, Block, Break, Return, SetElement, Continue>{});
    }
  }

  // What a block gets to know holds only there; what it has forgotten stays forgotten.
  std::size_t open() const { return elements_.size(); }
  void close(std::size_t opened) { elements_.resize(opened); }

 private:
  static constexpr std::size_t kMaxElements = 64;  // that are looked at; older ones are forgotten
  std::size_t first_seen() const {
    return elements_.size() - std::min(elements_.size(), kMaxElements);
  }
  // An index as something plus a constant.
  std::pair<ExprId, std::uint32_t> parts(ExprId index) const {
    const Expr& expr = nodes_[index];
    if (expr.op == Operation::Literal) return {ExprId{}, expr.imm};
    const bool is_sum = expr.op == Operation::Add || expr.op == Operation::Sub;
    if (!is_sum || nodes_[expr.args[1]].op != Operation::Literal) return {index, 0};
    const std::uint32_t number = nodes_[expr.args[1]].imm;
    return {expr.args[0], expr.op == Operation::Add ? number : 0 - number};
  }

  const Body& body_;
  const Body& nodes_;
  std::vector<Element> elements_;
  std::vector<std::uint64_t> forgotten_;  // per buffer: elements up to this one
  std::uint64_t forgotten_all_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace vyre
