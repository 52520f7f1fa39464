// Names what turns up in cases: rows of the operation tables with each type that they take, casts,
// kinds of access and index, shapes, and places of statements; and what does not. It reads the
// program and does not run it, so an index is of a class when that is so whenever it is evaluated.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "vyre/conform/case.h"

namespace vyre {

class Coverage {
 public:
  void add(const Case& c);

  // In words, everything that no case had.
  std::vector<std::string> missing() const;

 private:
  std::unordered_set<std::string> found_;
};

}  // namespace vyre
