#include "tools/vyre/data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tools/vyre/image.h"
#include "tools/vyre/npy.h"
#include "vyre/base/random.h"
#include "vyre/base/text.h"
#include "vyre/base/zeroed.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr Wide kMost = ~Wide{0};

// Digits of a base, `_` only between digits; nothing for anything else.
std::optional<Wide> read_digits(std::string_view text, unsigned base) {
  if (text.empty() || text.front() == '_' || text.back() == '_') return {};
  Wide number = 0;
  char before = '0';
  for (char c : text) {
    if (c == '_' && before == '_') return {};
    before = c;
    if (c == '_') continue;
    const unsigned digit = is_digit(c)            ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                  : base;
    if (digit >= base || number > (kMost - digit) / base) return {};
    number = number * base + digit;
  }
  return number;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// The bytes of a number in a list or a fill.
std::size_t lane_bytes(DataType type) { return type == DataType::Bytes ? 1 : lane_bits(type) / 8; }

// --- Lists --------------------------------------------------------------------------------------

// One number of a list: a lane of a vector, a byte of `bytes`, else an element. Its bits are in the
// low bytes of the result.
std::optional<Wide> read_lane(DataType type, std::string_view text) {
  if (type == DataType::Bool) {
    if (text == "true" || text == "1") return 1;
    if (text == "false" || text == "0") return 0;
    return {};
  }
  const bool negative = has_sign(type) && text.starts_with('-');
  const std::optional<Wide> number = read_number(text.substr(negative ? 1 : 0));
  if (!number) return {};
  const unsigned width = type == DataType::Bytes ? 8 : info(type).width;
  Wide most = width == 128 ? kMost : (Wide{1} << width) - 1;
  if (has_sign(type)) most = (Wide{1} << (width - 1)) - (negative ? 0 : 1);
  if (*number > most) return {};
  return negative ? Wide{0} - *number : *number;
}

std::string_view elements_hint(DataType type) {
  switch (type) {
    case DataType::U32: return "numbers from 0 to 4294967295, as in 1,2,0xff";
    case DataType::I32: return "numbers from -2147483648 to 2147483647, as in -1,2,0xff";
    case DataType::U64: return "numbers below 2^64, as in 1,2,0xff";
    case DataType::U128: return "numbers below 2^128, as in 1,2,0xff";
    case DataType::Vec2U32:
    case DataType::Vec4U32: return "lanes from 0 to 4294967295, one vector after the other";
    case DataType::U8: return "numbers from 0 to 255, as in 1,2,0xff";
    case DataType::U16: return "numbers from 0 to 65535, as in 1,2,0xffff";
    case DataType::I8: return "numbers from -128 to 127, as in -1,2,0x7f";
    case DataType::I16: return "numbers from -32768 to 32767, as in -1,2,0x7fff";
    case DataType::Bool: return "true, false, 1 or 0, as in true,false";
    case DataType::Bytes: return "bytes from 0 to 255, as in 104,105,0xff";
    case DataType::Unknown: break;
  }
  return "";
}

Result<Bytes> read_list(const BufferDecl& buffer, std::string_view list) {
  Bytes bytes;
  if (trimmed(list).empty()) return bytes;
  const DataType type = buffer.element;
  for (std::string_view part : parts_of(list, ',')) {
    const std::string_view text = trimmed(part);
    const std::optional<Wide> lane = read_lane(type, text);
    if (!lane) {
      return diagnose<message::bad_element>(shown(text), buffer.name, info(type).text,
                                            elements_hint(type));
    }
    const auto written = std::as_bytes(std::span(&*lane, 1)).first(lane_bytes(type));
    bytes.insert(bytes.end(), written.begin(), written.end());
  }
  return bytes;
}

// --- Counted forms ------------------------------------------------------------------------------

// Fills a buffer with what next() gives, `each` bytes of every number.
template <class Next>
void fill(Bytes& bytes, std::size_t each, Next next) {
  for (std::size_t at = 0; at < bytes.size(); at += each) {
    const Wide number = next();
    std::memcpy(bytes.data() + at, &number, std::min(each, bytes.size() - at));
  }
}

Diagnostic no_memory(Wide bytes) {
  return diagnose<message::out_of_memory>(decimal(bytes), "this machine");
}

// zeros:N, fill:VALUE:N, iota:N, random:N and random:N:SEED, split at the colons.
Result<Bytes> read_counted(const BufferDecl& buffer, std::string_view form, std::string_view rest,
                           std::uint64_t budget) {
  const auto [first, second] = split_at(rest, ':');
  std::string_view seed_text = "0";
  std::optional<Wide> value = 0;
  if (form == "random") {
    rest = first;
    seed_text = second.value_or("0");
  } else if (form == "fill") {
    value = read_lane(buffer.element, trimmed(first));
    if (!value) {
      return diagnose<message::bad_element>(shown(first), buffer.name, text(buffer.element),
                                            elements_hint(buffer.element));
    }
    rest = second.value_or("");
  }
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  const Result<std::uint64_t> count =
      read_count(std::string(form) + (form == "fill" ? ":VALUE:N" : ":N"), rest, 0, kAny);
  if (!count.ok()) return count.diagnostics();
  const Result<std::uint64_t> seed = read_count("the seed of random:N:SEED", seed_text, 0, kAny);
  if (!seed.ok()) return seed.diagnostics();
  const DataType type = buffer.element;
  const Wide size = Wide{*count} * stride(type);
  if (size > budget) return no_memory(size);
  Bytes bytes(static_cast<std::size_t>(size));
  const Wide mask = type == DataType::Bool ? 1 : kMost;
  if (form == "fill") {
    fill(bytes, lane_bytes(type), [&] { return *value; });
  } else if (form == "iota") {
    const std::size_t each = type == DataType::Bytes ? 4 : lane_bytes(type);
    fill(bytes, each, [&, next = Wide{0}]() mutable { return next++ & mask; });
  } else if (form == "random") {
    // Two words from each number.
    fill(bytes, 4, [&, random = Random(*seed), is_low = false, pair = std::uint64_t{0}]() mutable {
      is_low = !is_low;
      pair = is_low ? random.next() : pair >> 32;
      return pair & mask;
    });
  }
  return bytes;
}

Result<Bytes> read_whole(std::string_view path, std::uint64_t budget, const Console& console) {
  struct stat status{};
  const bool regular =
      path != "-" && stat(std::string(path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (regular && static_cast<std::uint64_t>(status.st_size) > budget) {
    return no_memory(static_cast<Wide>(status.st_size));
  }
  Result<Bytes> bytes = read_bytes(path, budget, console);
  if (bytes.ok() && bytes->size() > budget) return no_memory(bytes->size());
  return bytes;
}

// What a file of that name holds: an array, a picture, or the bytes as they are.
Result<Bytes> read_data_file(const BufferDecl& buffer, std::string_view path, std::uint64_t budget,
                             const Console& console) {
  Result<Bytes> bytes = read_whole(path, budget, console);
  const bool is_npy = path.ends_with(".npy");
  const bool is_png = path.ends_with(".png") && buffer.element != DataType::Bytes;
  if (!bytes.ok() || (!is_npy && !is_png)) return bytes;
  Result<Bytes> contents =
      is_npy ? read_npy(buffer, *bytes, budget) : read_pixels(buffer, *bytes, budget);
  if (contents.ok()) return contents;
  std::vector<Diagnostic> wrong = contents.diagnostics();
  for (Diagnostic& diagnostic : wrong) diagnostic.file = path;
  return wrong;
}

// --- Text ---------------------------------------------------------------------------------------

// Lane number `lane` of a value, or all of it when it is not a vector.
Wide lane_of(DataType type, const Bits& value, std::size_t lane) {
  if (is_vector(type)) return value.lanes[lane];
  Wide number = 0;
  for (std::size_t i = value.lanes.size(); i-- > 0;) number = number << 32 | value.lanes[i];
  return number;
}

std::string scalar_text(DataType type, Wide number) {
  if (type == DataType::Bool && number <= 1) return number != 0 ? "true" : "false";
  if (has_sign(type)) return std::to_string(static_cast<std::int32_t>(number));
  return decimal(number);
}

// A lane as a format writes it; in hexadecimal and binary the bits of its type.
std::string number_text(DataType type, Wide number, NumberFormat format) {
  if (type == DataType::Bool && number <= 1) return scalar_text(type, number);
  const unsigned bits = lane_bits(type);
  const Wide kept = bits == 128 ? number : number & ((Wide{1} << bits) - 1);
  switch (format) {
    case NumberFormat::Automatic:
    case NumberFormat::Decimal: break;
    case NumberFormat::Hexadecimal: return "0x" + hex(kept, bits / 4);
    case NumberFormat::Binary: {
      std::string digits = "0b";
      for (unsigned bit = bits; bit-- > 0;) digits += (kept >> bit & 1) != 0 ? '1' : '0';
      return digits;
    }
  }
  return scalar_text(type, number);
}

std::size_t lanes_of(DataType type) { return type == DataType::Bytes ? 1 : info(type).lanes; }

std::string lanes_text(const std::vector<std::string>& lanes) {
  return lanes.size() == 1 ? lanes[0] : "(" + join(lanes, ", ") + ")";
}

// The rows of a table that are shown: all, or the first and the last ones.
template <class Row>
std::string rows_text(const OutputBuffer& buffer, std::size_t elements, std::size_t per_row,
                      std::string_view noun, Row row) {
  constexpr std::size_t kFirst = 12;
  constexpr std::size_t kLast = 4;
  const std::size_t rows = (elements + per_row - 1) / per_row;
  const bool whole = rows <= kFirst + kLast + 1;
  std::string out;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!whole && i == kFirst) {
      i = rows - kLast;
      out += "  … " + plural((i - kFirst) * per_row, noun) + " left out; --out " + buffer.name +
             "=FILE or --json has all\n";
    }
    out += "  " + row(i * per_row, std::min(elements, (i + 1) * per_row)) + "\n";
  }
  return out;
}

// Offset, bytes in pairs, and the characters that they are.
std::string bytes_text(const OutputBuffer& buffer) {
  constexpr std::size_t kPerRow = 16;
  const auto row = [&](std::size_t first, std::size_t last) {
    std::string out = hex(first, 8) + ":";
    std::string characters;
    for (std::size_t i = first; i < first + kPerRow; ++i) {
      if (i % 2 == 0) out += ' ';
      if (i >= last) {
        out += "  ";
        continue;
      }
      const auto byte = std::to_integer<unsigned char>(buffer.bytes[i]);
      out += hex(byte, 2);
      characters += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
    }
    return out + "  " + characters;
  };
  return rows_text(buffer, buffer.bytes.size(), kPerRow, "byte", row);
}

// Numbers in columns. Without another choice, unsigned ones are hexadecimal when most of them fill
// their type, as hashes and colours do. Both is decided by the values at the two ends, of which the
// shown ones are a part.
std::string numbers_text(const OutputBuffer& buffer, NumberFormat format) {
  constexpr std::size_t kLine = 80;
  constexpr std::size_t kSample = 256;
  const bool is_bytes = buffer.element == DataType::Bytes;
  const DataType type = is_bytes ? DataType::U8 : buffer.element;
  const std::size_t count = buffer.bytes.size() / stride(type);
  const std::size_t lanes = lanes_of(type);
  const auto lane_at = [&](std::size_t i, std::size_t lane) {
    return lane_of(type, element_at(type, buffer.bytes, i), lane);
  };
  const auto each_of_sample = [&](auto visit) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i == kSample && count > 2 * kSample) i = count - kSample;
      for (std::size_t lane = 0; lane < lanes; ++lane) visit(lane_at(i, lane));
    }
  };
  const unsigned width_in_bits = info(type).width;
  std::size_t wide = 0;
  std::size_t all = 0;
  each_of_sample([&](Wide number) {
    ++all;
    if (number >> (width_in_bits - width_in_bits / 4) != 0) ++wide;
  });
  const bool is_unsigned = !has_sign(type) && type != DataType::Bool;
  if (format == NumberFormat::Automatic) {
    format = is_unsigned && wide * 2 > all ? NumberFormat::Hexadecimal : NumberFormat::Decimal;
  }
  const auto text_of = [&](Wide number) { return number_text(type, number, format); };
  std::size_t width = 0;
  each_of_sample([&](Wide number) { width = std::max(width, text_of(number).size()); });

  const std::size_t index_width = std::to_string(count).size();
  const std::size_t cell = lanes == 1 ? width + 1 : lanes * (width + 2) + 1;
  std::size_t per_row = 16;
  while (per_row > 1 && 2 + index_width + 1 + per_row * cell > kLine) per_row /= 2;
  const auto row = [&](std::size_t first, std::size_t last) {
    const std::string index = std::to_string(first);
    std::string out = std::string(index_width - index.size(), ' ') + index + ":";
    for (std::size_t i = first; i < last; ++i) {
      std::vector<std::string> parts;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::string text = text_of(lane_at(i, lane));
        parts.push_back(std::string(width - text.size(), ' ') + text);
      }
      out += " " + lanes_text(parts);
    }
    return out;
  };
  return rows_text(buffer, count, per_row, is_bytes ? "byte" : "element", row);
}

}  // namespace

std::optional<Wide> read_number(std::string_view text) {
  if (text.starts_with("0x")) return read_digits(text.substr(2), 16);
  if (text.starts_with("0b")) return read_digits(text.substr(2), 2);
  return read_digits(text, 10);
}

Result<std::uint64_t> read_count(std::string_view what, std::string_view text, std::uint64_t least,
                                 std::uint64_t most) {
  const std::size_t e = text.starts_with("0x") ? text.npos : text.find('e');
  std::optional<Wide> number = read_number(text.substr(0, e));
  if (e != text.npos) {
    const std::optional<Wide> exponent = read_digits(text.substr(e + 1), 10);
    if (!exponent) number.reset();
    for (Wide i = 0; number && *number != 0 && i < *exponent; ++i) {
      *number > kMost / 10 ? number.reset() : void(*number *= 10);
    }
  }
  const bool is_number = !text.empty() && is_digit(text[0]) && is_digit(text.back()) &&
                         text.find_first_not_of("0123456789_e") == text.npos;  // however large
  if (!number && !is_number) return diagnose<message::bad_count>(what, shown(text));
  if (!number || *number < least || *number > most) {
    return diagnose<message::far_count>(what, shorten(text), least, most);
  }
  return static_cast<std::uint64_t>(*number);
}

std::optional<Ids> read_ids(std::string_view text, std::uint32_t when_missing) {
  Ids ids{when_missing, when_missing, when_missing};
  const std::vector<std::string_view> parts = parts_of(text, ',');
  if (parts.size() > ids.size()) return {};
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    const std::optional<Wide> id = read_number(trimmed(parts[axis]));
    if (!id || *id > std::numeric_limits<std::uint32_t>::max()) return {};
    ids[axis] = static_cast<std::uint32_t>(*id);
  }
  return ids;
}

std::string decimal(Wide number) {
  std::string digits;
  do digits += static_cast<char>('0' + static_cast<char>(number % 10));
  while ((number /= 10) != 0);
  return {digits.rbegin(), digits.rend()};
}

// Contents are there three times: as they were given, on the device, and as outputs.
std::uint64_t memory_budget() { return physical_memory() / 4; }

Result<Bytes> read_data(const BufferDecl& buffer, std::string_view data, std::uint64_t& budget,
                        const Console& console) {
  Result<Bytes> bytes = [&]() -> Result<Bytes> {
    if (data.starts_with('@')) return read_data_file(buffer, data.substr(1), budget, console);
    const auto [form, rest] = split_at(data, ':');
    if (rest && form == "text") {
      const auto text = std::as_bytes(std::span(*rest));
      return Bytes(text.begin(), text.end());
    }
    if (rest && (form == "zeros" || form == "fill" || form == "iota" || form == "random")) {
      return read_counted(buffer, form, *rest, budget);
    }
    return read_list(buffer, data);
  }();
  if (!bytes.ok()) return bytes;
  // Bytes are accessed in whole words.
  if (buffer.element == DataType::Bytes) bytes->resize((bytes->size() + 3) / 4 * 4);
  budget -= std::min<std::uint64_t>(budget, bytes->size());
  return bytes;
}

Bits element_at(DataType element, std::span<const std::byte> bytes, std::size_t index) {
  Bits bits = load_element(element, bytes, index);
  // Of a bool that nobody stored to, all bits are shown.
  if (element == DataType::Bool) std::memcpy(bits.lanes.data(), &bytes[index * 4], 4);
  return bits;
}

std::string value_text(DataType type, const Bits& value) {
  std::vector<std::string> lanes;
  for (std::size_t lane = 0; lane < lanes_of(type); ++lane) {
    const Wide number = lane_of(type, value, lane);
    const bool small = number < 65536 || has_sign(type) || type == DataType::Bool;
    lanes.push_back(small ? scalar_text(type, number) : "0x" + hex(number));
  }
  return lanes_text(lanes);
}

Json value_json(DataType type, const Bits& value) {
  if (is_vector(type)) return json_list_of(std::span(value.lanes).first(lanes_of(type)));
  // Readers of JSON lose the low bits of large numbers.
  if (is_wide(type)) return decimal(lane_of(type, value, 0));
  if (has_sign(type)) return static_cast<std::int32_t>(value.lanes[0]);
  return value.lanes[0];
}

std::string buffer_text(const OutputBuffer& buffer, NumberFormat format) {
  const std::string head = buffer.name + ": " + std::string(text(buffer.element)) + "[" +
                           std::to_string(buffer.bytes.size() / stride(buffer.element)) + "]\n";
  const bool dumps = buffer.element == DataType::Bytes &&
                     (format == NumberFormat::Automatic || format == NumberFormat::Hexadecimal);
  return head + (dumps ? bytes_text(buffer) : numbers_text(buffer, format));
}

Json buffer_json(const OutputBuffer& buffer) {
  JsonList data;
  const std::size_t count = buffer.bytes.size() / stride(buffer.element);
  for (std::size_t i = 0; i < count; ++i) {
    data.add(value_json(buffer.element, element_at(buffer.element, buffer.bytes, i)));
  }
  return JsonObject().add("type", text(buffer.element)).add("data", data);
}

std::string difference(const OutputBuffer& buffer, std::span<const std::byte> other,
                       std::string_view between) {
  const DataType type = buffer.element;
  const auto at = std::ranges::mismatch(buffer.bytes, other).in1 - buffer.bytes.begin();
  const std::size_t element = static_cast<std::size_t>(at) / stride(type);
  const auto count = [&](std::size_t bytes) { return plural(bytes / stride(type), "element"); };
  if (element == std::min(buffer.bytes.size(), other.size()) / stride(type)) {
    if (buffer.bytes.size() == other.size()) return {};
    return buffer.name + ": " + count(buffer.bytes.size()) + std::string(between) +
           count(other.size());
  }
  const auto value = [&](std::span<const std::byte> bytes) {
    return value_text(type, element_at(type, bytes, element));
  };
  return buffer.name + "[" + std::to_string(element) + "]: " + value(buffer.bytes) +
         std::string(between) + value(other);
}

std::string difference(const Outputs& a, const Outputs& b) {
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    const std::string differs = difference(a.buffers[i], b.buffers[i].bytes, " and ");
    if (!differs.empty()) return differs;
  }
  return {};
}

}  // namespace vyre
