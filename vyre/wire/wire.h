// The binary form of a module. docs/wire-format.md describes every byte.
//
// A module has exactly one encoding: encode(*decode(bytes)) == bytes, and two modules are equal
// when their encodings are. Decoding allocates in proportion to the input and trusts no count in
// it; what it returns has every reference in range and the canonical numbering, but has not been
// validated otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

inline constexpr std::uint32_t kWireVersion = 1;

bool is_wire(std::string_view bytes);

Result<std::string> encode(const Module& module);
Result<Module> decode(std::string_view bytes, std::string_view file = "");

// A digest of 128 bits, as 32 hexadecimal digits: equal programs have equal digests on every
// machine and with every compiler.
std::string digest(const Module& module);
std::string digest(const Program& program);

}  // namespace vyre
