// What the build that is tested is like, and how many cases its tests take. Test cases are compiled
// once and linked with the libraries of several builds; build.cc is compiled in each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vyre {

extern const bool kSanitized;  // the slow build that looks for mistakes with memory

extern const char* const kSourceRoot;
extern const char* const kCommand;
extern const char* const kExampleBuilder;
extern const char* const kExampleDispatch;
extern const char* const kExampleDispatchC;
extern const char* const kExampleResident;

// Whether VYRE_LONG asks for many more cases.
bool is_long();

// How many cases a test generates. Mistakes with memory show in few; where that is looked for, it
// is an eighth of the usual.
inline std::uint64_t cases(std::uint64_t usual, std::uint64_t many) {
  return is_long() ? many : kSanitized ? usual / 8 : usual;
}

// Of a long list whose elements are alike, this build takes one in this many.
inline std::size_t every() { return kSanitized && !is_long() ? 8 : 1; }

}  // namespace vyre
