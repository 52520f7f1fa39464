// Buffers as pictures: PNG files, and drawings for the terminal.
#pragma once

#include "tools/vyre/data.h"

namespace vyre {

// NAME[=FILE.png]:WxH[:rgba8|gray8]
struct ImageRequest {
  enum class Format : std::uint8_t { Automatic, Rgba8, Gray8 };
  std::string_view name;
  std::string_view path;  // empty: drawn in the terminal
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Format format = Format::Automatic;
};
Result<ImageRequest> read_image_request(std::string_view text);

// Red, green, blue and opacity of each pixel, row after row.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool gray = false;  // all three are equal, and it is opaque
  std::vector<std::uint8_t> rgba;
};

// Chooses the format of a buffer's picture where it is automatic, or says why the buffer does not
// fit it. rgba8: four bytes per pixel, for all element types. gray8: one element per pixel, clamped
// to 255; of a bool 0 or 255, of bytes one byte. By default gray8 for bool, u64, u128 and for bytes
// with one byte per pixel, else rgba8.
Result<void> choose_format(ImageRequest& request, const BufferDecl& buffer, std::uint64_t bytes);
// In the chosen format.
Picture make_picture(const ImageRequest& request, const OutputBuffer& buffer);

std::string png_of(const Picture& picture);

// The pixels of a PNG file, or I003; their values as they are stored, without regard to gamma and
// colour profiles, 16 bits rounded to 8. At most `budget` bytes.
Result<Picture> read_png(std::span<const std::byte> file, std::uint64_t budget);
// The contents of a buffer of u32 or i32: red in the low byte, then green, blue and opacity. Of one
// of u8: (299 red + 587 green + 114 blue) / 1000, rounded.
Result<Bytes> read_pixels(const BufferDecl& buffer, std::span<const std::byte> file,
                          std::uint64_t budget);

// At most `columns` wide. In colour two pixels share a character, one above the other; without,
// characters of different darkness show the brightness.
std::string draw(const Picture& picture, std::size_t columns, bool colour);

// What a drawing on standard output may use: the terminal's width, or 80 columns.
std::size_t columns_of(const Console& console);
bool colour_of(const Console& console);

}  // namespace vyre
