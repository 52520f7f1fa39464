// Arrays of NumPy, in .npy files.
#pragma once

#include "tools/vyre/data.h"

namespace vyre {

// The contents of a buffer from those of a file, or I003. The elements have to be of the buffer's
// type, in little-endian order and row by row; the shape only has to have the lanes of a vector on
// its last axis. A bool is a byte there, a u128 two u64, the low one first, and `bytes` are u8.
Result<Bytes> read_npy(const BufferDecl& buffer, std::span<const std::byte> file,
                       std::uint64_t budget);

// The same the other way round: an array of one axis, or of two with the lanes on the last.
std::string npy_of(const OutputBuffer& buffer);

}  // namespace vyre
