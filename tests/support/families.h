// Families of programs that backends write special code for, and whose memory is filled by a seed.
#pragma once

#include <functional>
#include <string>

#include "vyre/base/random.h"
#include "vyre/conform/case.h"

namespace vyre {

// Gives the buffers so many elements: numbers that are indices of something, mostly.
void fill(Case& c, Random& random, const std::function<std::uint32_t(const BufferDecl&)>& length);

// The program of a text, with so many elements in its buffers. A test fails where the text is
// wrong.
Case case_of(const std::string& text, std::array<std::uint32_t, 3> grid, Random& random,
             const std::function<std::uint32_t(const BufferDecl&)>& length);

// Every collective on every type, in workgroups of this size.
Case collectives_case(std::array<std::uint32_t, 3> size, std::uint64_t seed);

// Collectives side by side, of numbers, too, at the ends of blocks and right after them; the
// workgroup size is one of a few.
Case neighbours_case(std::uint64_t seed);

// The sizes of workgroups of up to 130 invocations in a row, and of some in two and three
// dimensions; one of `every`, from a seed on.
std::vector<std::array<std::uint32_t, 3>> workgroup_sizes(std::size_t every, std::size_t first = 0);

// Loads and stores of elements of one or two bytes, side by side from different invocations.
Case narrow_case(std::uint64_t seed);

// Elements of tables of bytes and others, of sizes around those of vectors, at indices from data.
Case table_case(std::uint64_t seed);

}  // namespace vyre
