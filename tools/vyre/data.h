// Contents of buffers on the command line: from DATA to bytes, and from bytes to what people and
// programs read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vyre/command.h"
#include "vyre/runtime/dispatch.h"

namespace vyre {

using Bytes = std::vector<std::byte>;

// --- Numbers ------------------------------------------------------------------------------------

// Decimal, 0x or 0b with `_` between digits; nothing for anything else, or beyond 128 bits.
std::optional<Wide> read_number(std::string_view text);

// A count that an option takes: as above, or as in 4e9. `what` names the option in the error.
Result<std::uint64_t> read_count(std::string_view what, std::string_view text, std::uint64_t least,
                                 std::uint64_t most);

// The value of such an option from 1 on, where it is given; what is wrong with it.
template <class Number>
std::vector<Diagnostic> read_option(const Invocation& invocation, std::string_view name,
                                    std::uint64_t most, Number& into) {
  if (!invocation.has(name)) return {};
  const Result<std::uint64_t> value = read_count(name, invocation.value(name), 1, most);
  if (value.ok()) into = static_cast<Number>(*value);
  return value.diagnostics();
}

// "X", "X,Y" or "X,Y,Z"; nothing for anything else.
std::optional<Ids> read_ids(std::string_view text, std::uint32_t when_missing);

std::string decimal(Wide number);

// --- From DATA to bytes -------------------------------------------------------------------------

// What buffers may take together: half of the machine's memory.
std::uint64_t memory_budget();

// `budget` is what is left of that, and becomes less.
Result<Bytes> read_data(const BufferDecl& buffer, std::string_view data, std::uint64_t& budget,
                        const Console& console);

// --- From bytes to text -------------------------------------------------------------------------

// A value as programs write it, but without its type: `-3`, `0xdeadbeef`, `(1, 2)`, `true`.
std::string value_text(DataType type, const Bits& value);
Json value_json(DataType type, const Bits& value);

// Element `index` of a buffer. The word of a bool stays as it is.
Bits element_at(DataType element, std::span<const std::byte> bytes, std::size_t index);

// How numbers are shown. Automatic: decimal, but unsigned numbers that fill their type and `bytes`
// are hexadecimal.
enum class NumberFormat : std::uint8_t { Automatic, Decimal, Hexadecimal, Binary };

// The values in rows with their indices; the middle of a long buffer is left out.
std::string buffer_text(const OutputBuffer& buffer, NumberFormat format = NumberFormat::Automatic);

// {"type":"u32","data":[…]}
Json buffer_json(const OutputBuffer& buffer);

// Where a buffer first differs from other bytes: "out[3]: 5 and 7". Nothing when they are equal.
std::string difference(const OutputBuffer& buffer, std::span<const std::byte> other,
                       std::string_view between);
// Where the results of two runs do.
std::string difference(const Outputs& a, const Outputs& b);

}  // namespace vyre
