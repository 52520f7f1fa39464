// Reads any bytes as an array of NumPy and as a picture, and the same bytes as a picture whose
// checksums are right, so that what these guard is reached as well. What was read fits its buffer,
// and an array that is written again reads the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tools/vyre/image.h"
#include "tools/vyre/npy.h"

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{16} << 20;
constexpr vyre::DataType kTypes[] = {vyre::DataType::U32,     vyre::DataType::U128,
                                     vyre::DataType::Vec2U32, vyre::DataType::Bool,
                                     vyre::DataType::I8,      vyre::DataType::Bytes};

void require(bool holds) {
  if (!holds) std::abort();
}

void read_array(const vyre::BufferDecl& buffer, std::span<const std::byte> file) {
  const vyre::Result<vyre::Bytes> contents = vyre::read_npy(buffer, file, kBudget);
  if (!contents.ok()) return;
  if (buffer.element != vyre::DataType::Bytes) {
    require(contents->size() % vyre::stride(buffer.element) == 0);
  }
  vyre::OutputBuffer output;
  output.name = "data";
  output.element = buffer.element;
  output.bytes = *contents;
  const std::string written = vyre::npy_of(output);
  const vyre::Result<vyre::Bytes> again =
      vyre::read_npy(buffer, std::as_bytes(std::span(written)), kBudget);
  // A bool is 0 or 1 there.
  require(again.ok() && again->size() == contents->size());
  require(buffer.element == vyre::DataType::Bool || *again == *contents);
}

void read_picture(std::span<const std::byte> file) {
  vyre::BufferDecl buffer;
  buffer.name = "data";
  buffer.element = vyre::DataType::U32;
  const vyre::Result<vyre::Bytes> pixels = vyre::read_pixels(buffer, file, kBudget);
  buffer.element = vyre::DataType::U8;
  const vyre::Result<vyre::Bytes> gray = vyre::read_pixels(buffer, file, kBudget);
  require(pixels.ok() == gray.ok());
  if (pixels.ok()) require(pixels->size() == 4 * gray->size() && pixels->size() <= kBudget);
}

// The checksum of a chunk, bit by bit.
std::uint32_t checksum(const std::uint8_t* data, std::size_t size) {
  std::uint32_t sum = ~0u;
  for (std::size_t i = 0; i < size; ++i) {
    sum ^= data[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0u);
  }
  return ~sum;
}

// The signature, and the checksum of each chunk: a length, a name, that many bytes, a checksum.
void seal(std::vector<std::uint8_t>& file) {
  constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (file.size() < sizeof kSignature) return;
  std::memcpy(file.data(), kSignature, sizeof kSignature);
  for (std::size_t at = sizeof kSignature; at + 12 <= file.size();) {
    const std::size_t length = std::size_t{file[at]} << 24 | std::size_t{file[at + 1]} << 16 |
                               std::size_t{file[at + 2]} << 8 | file[at + 3];
    if (length > file.size() - at - 12) return;
    const std::uint32_t sum = checksum(file.data() + at + 4, length + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> file(data, data + size);
  vyre::BufferDecl buffer;
  buffer.name = "data";
  for (const vyre::DataType type : kTypes) {
    buffer.element = type;
    read_array(buffer, std::as_bytes(std::span(file)));
  }
  read_picture(std::as_bytes(std::span(file)));
  seal(file);
  read_picture(std::as_bytes(std::span(file)));
  return 0;
}
