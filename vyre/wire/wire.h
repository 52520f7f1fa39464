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

// Whether the bytes are meant as a wire file: no text starts like this, but they may be damaged.
bool is_wire(std::string_view bytes);

// The module is one that parse(), decode() or Builder::finish() gave. Fails where an item is too
// large, a text is not UTF-8, or a law has other arguments than it takes.
Result<std::string> encode(const Module& module);

// `file` is the name that diagnostics carry; they give places as byte offsets.
Result<Module> decode(std::string_view bytes, std::string_view file = "");

// The XXH3-128 of the encoded items, as 32 hexadecimal digits: equal programs have equal digests on
// every machine and with every compiler.
std::string digest(const Module& module);
std::string digest(const Program& program);
// Of a program together with the ops that it calls.
std::string digest_with_ops(const Linked& linked);

}  // namespace vyre
