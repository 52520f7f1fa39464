// What rows of workgroup memory hold, where each gang has code of its own: what a gang has stored
// stays in registers for those after it.
#pragma once

#include <map>

#include "vyre/backends/cpu/moves.h"

namespace vyre {

class KnownRows {
 public:
  using Value = Ir::Value;

  KnownRows(Ir& ir, Moves& moves) : ir_(ir), moves_(moves) {}

  bool is_empty() const { return rows_.empty(); }
  void clear() { rows_.clear(); }
  void forget(BufferId buffer) { rows_.erase(buffer); }
  // A row is stored, from element `start` on; of lanes that are off nothing is known.
  void know(BufferId buffer, Value start, Value mask, Value row);
  // The row that begins at an element, which may consist of parts of two; null: it is not known.
  Value row(BufferId buffer, Value start, Value mask);

  // To be compared with what is known later.
  using State = std::map<BufferId, std::map<std::int64_t, Value>>;
  const State& state() const { return rows_; }

 private:
  Ir& ir_;
  Moves& moves_;
  State rows_;  // by buffer and first element
};

}  // namespace vyre
