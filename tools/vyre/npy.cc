#include "tools/vyre/npy.h"

#include <algorithm>
#include <cstring>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// How an array holds elements of a type.
struct Layout {
  std::string_view descr;  // NumPy's name of a number: order, kind and bytes
  std::size_t bytes = 1;   // of a number
  std::size_t lanes = 1;   // numbers of an element
};

Layout layout_of(DataType type) {
  switch (type) {
    case DataType::U32: return {"<u4", 4};
    case DataType::I32: return {"<i4", 4};
    case DataType::U64: return {"<u8", 8};
    case DataType::U128: return {"<u8", 8, 2};
    case DataType::Vec2U32: return {"<u4", 4, 2};
    case DataType::Vec4U32: return {"<u4", 4, 4};
    case DataType::Bool: return {"|b1"};
    case DataType::U8:
    case DataType::Bytes: return {"|u1"};
    case DataType::I8: return {"|i1"};
    case DataType::U16: return {"<u2", 2};
    case DataType::I16: return {"<i2", 2};
    case DataType::Unknown: break;
  }
  return {};
}

// --- The header ---------------------------------------------------------------------------------

struct Header {
  std::string_view descr;
  bool by_columns = false;
  std::vector<std::uint64_t> shape;
};

// Reads what NumPy writes of a dictionary, as in {'descr': '<u4', 'fortran_order': False,
// 'shape': (2, 3), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  std::optional<Header> read() {
    Header header;
    if (!takes("{")) return {};
    constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
    std::array<bool, 3> seen{};
    while (!takes("}")) {
      const std::optional<std::string_view> name = quoted();
      const auto key = std::ranges::find(kKeys, name.value_or(""));
      if (key == std::end(kKeys) || !takes(":")) return {};
      const auto number = static_cast<std::size_t>(key - kKeys);
      if (std::exchange(seen[number], true)) return {};
      const bool fine = number == 0   ? read_descr(header)
                        : number == 1 ? read_order(header)
                                      : read_shape(header);
      if (!fine || (!takes(",") && !rest_.starts_with("}"))) return {};
    }
    skip_blanks();
    if (!rest_.empty() || !std::ranges::all_of(seen, std::identity())) return {};
    return header;
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
  }
  bool takes(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    skip_blanks();
    return true;
  }
  std::optional<std::string_view> quoted() {
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) return {};
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) return {};
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip_blanks();
    return inside;
  }
  bool read_descr(Header& header) {
    const std::optional<std::string_view> descr = quoted();
    header.descr = descr.value_or("");
    return descr.has_value();
  }
  bool read_order(Header& header) {
    header.by_columns = takes("True");
    return header.by_columns || takes("False");
  }
  bool read_shape(Header& header) {
    if (!takes("(")) return false;
    while (!takes(")")) {
      const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const std::optional<Wide> length = read_number(rest_.substr(0, digits));
      if (!length || *length > ~std::uint64_t{0}) return false;
      header.shape.push_back(static_cast<std::uint64_t>(*length));
      rest_.remove_prefix(digits);
      if (!takes(",") && !rest_.starts_with(")")) return false;
    }
    return true;
  }

  std::string_view rest_;
};

std::string shape_text(const Header& header) {
  const std::string text = join(header.shape, ", ", [](auto length) { return decimal(length); });
  return shorten(text, 60);
}

bool is_descr(std::string_view given, const Layout& layout) {
  if (given.empty() || given.substr(1) != layout.descr.substr(1)) return false;
  return given[0] == '<' || given[0] == '=' || layout.bytes == 1;
}

}  // namespace

Result<Bytes> read_npy(const BufferDecl& buffer, std::span<const std::byte> file,
                       std::uint64_t budget) {
  const auto bad = [](std::string_view why) { return diagnose<message::bad_npy>(why); };
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (!all.starts_with(kMagic)) return bad("it does not begin as a .npy file does");
  // Magic, version, and the length of the header, which takes two bytes and from version 2 on four.
  const std::size_t version = all.size() > 6 ? static_cast<unsigned char>(all[6]) : 0;
  if (version < 1 || version > 3) return bad("its version is not 1, 2 or 3");
  const std::size_t begin = version == 1 ? 10 : 12;
  std::uint32_t length = 0;
  if (all.size() >= begin) std::memcpy(&length, all.data() + 8, begin - 8);
  if (all.size() < begin || all.size() - begin < length) return bad("its header is cut short");
  const std::optional<Header> header = HeaderReader(all.substr(begin, length)).read();
  if (!header) return bad("its header does not describe an array of numbers");

  const DataType type = buffer.element;
  const Layout layout = layout_of(type);
  if (!is_descr(header->descr, layout)) {
    return diagnose<message::npy_elements>(shorten(header->descr), buffer.name, text(type),
                                           layout.descr);
  }
  if (header->by_columns && header->shape.size() > 1) return diagnose<message::npy_columns>();
  if (layout.lanes > 1 && (header->shape.empty() || header->shape.back() != layout.lanes)) {
    return diagnose<message::npy_lanes>(shape_text(*header), buffer.name, text(type), layout.lanes);
  }
  const std::span<const std::byte> data = file.subspan(begin + length);
  Wide size = layout.bytes;
  // What is more than the file has stays so, unless an axis is empty.
  for (std::uint64_t axis : header->shape) size = std::min<Wide>(size, data.size() + 1) * axis;
  if (size != data.size()) {
    return bad("its shape is (" + shape_text(*header) + ") of `" + std::string(layout.descr) +
               "`, and " + plural(data.size(), "byte") +
               (data.size() == 1 ? " follows" : " follow"));
  }
  if (type != DataType::Bool) return Bytes(data.begin(), data.end());
  if (Wide{data.size()} * stride(type) > budget) {
    return diagnose<message::out_of_memory>(decimal(Wide{data.size()} * stride(type)),
                                            "this machine");
  }
  Bytes words(data.size() * stride(type));
  for (std::size_t i = 0; i < data.size(); ++i) words[i * stride(type)] = data[i];
  return words;
}

std::string npy_of(const OutputBuffer& buffer) {
  const Layout layout = layout_of(buffer.element);
  const std::size_t each = buffer.element == DataType::Bytes ? 1 : stride(buffer.element);
  const std::size_t elements = buffer.bytes.size() / each;
  std::string header = "{'descr': '" + std::string(layout.descr) +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(elements) + "," +
                       (layout.lanes > 1 ? " " + std::to_string(layout.lanes) : "") + "), }";
  // Numbers begin at a multiple of 64 bytes, and a new line ends the header.
  constexpr std::size_t kBegin = 10;
  header.append(63 - (kBegin + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  out += header;
  if (buffer.element != DataType::Bool) {
    return out.append(reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size());
  }
  for (std::size_t i = 0; i < elements; ++i) {
    const bool truth = load_element(buffer.element, buffer.bytes, i).lanes[0] != 0;
    out += static_cast<char>(truth);
  }
  return out;
}

}  // namespace vyre
