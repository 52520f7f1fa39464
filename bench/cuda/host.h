// What programs write, computed once more on the host in the plainest way: for samples of it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "bench/cuda/peers.h"

namespace bench {

using Buffers = std::vector<std::vector<u32>>;

// Inputs that need more than random words.
std::vector<u32> crc_tables();
std::vector<u32> sbox_words();  // of AES, four bytes in each
std::vector<u32> keccak_constants();
std::vector<u32> abc_block();  // of SHA-256: the text "abc", padded

// Places among the `size` words that a program writes, and the words that belong there. `inputs`
// are all buffers but that one.
std::vector<std::pair<u64, u32>> sample_words(std::string_view program, const Buffers& inputs,
                                              u64 size);

}  // namespace bench
