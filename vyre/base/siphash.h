// SipHash-2-4 with a result of 128 bits (Aumasson and Bernstein, 2012): without the key nobody can
// tell which hash belongs to a text, nor find two texts with one hash.
#pragma once

#include <array>
#include <string_view>

namespace vyre {

using SipBytes = std::array<unsigned char, 16>;

SipBytes siphash(const SipBytes& key, std::string_view text);

}  // namespace vyre
