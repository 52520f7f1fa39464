// Programs that grow: each family is a text for each size. bench_growth measures how long they
// take.
#pragma once

#include <functional>
#include <string>
#include <vector>

// `text(n)` has n repetitions of what the family is about, in one place or spread as the language's
// limits demand: it is a valid file for every n from 1 up to 100 KB and more, except in the
// families that are about errors.
struct GrowthFamily {
  std::string name;
  std::function<std::string(int)> text;
};

// Groups of operations for each type, and all other parts of the language.
std::vector<GrowthFamily> growth_families();
// Each operation of the table with each of its types.
std::vector<GrowthFamily> operation_families();
