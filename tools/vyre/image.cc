#include "tools/vyre/image.h"

#include <png.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "vyre/base/text.h"

namespace vyre {
namespace {

using Format = ImageRequest::Format;

constexpr std::uint32_t kMaxSide = 1 << 20;

bool is_gray_by_default(DataType element, std::uint64_t bytes, std::uint64_t pixels) {
  switch (element) {
    case DataType::Bool:
    case DataType::U8:
    case DataType::I8:
    case DataType::U16:
    case DataType::I16:
    case DataType::U64:
    case DataType::U128: return true;
    case DataType::Bytes: return bytes < 4 * pixels;
    case DataType::U32:
    case DataType::I32:
    case DataType::Vec2U32:
    case DataType::Vec4U32:
    case DataType::Unknown: break;
  }
  return false;
}

std::uint8_t gray_of(DataType type, const Bits& value) {
  if (type == DataType::Bool) return value.lanes[0] != 0 ? 255 : 0;
  if (has_sign(type) && value.lanes[0] >> 31 != 0) return 0;
  if ((value.lanes[1] | value.lanes[2] | value.lanes[3]) != 0) return 255;
  return static_cast<std::uint8_t>(std::min(value.lanes[0], 255u));
}

// The mean colour of the pixels [x0, x1) x [y0, y1), over black where they are transparent.
std::array<unsigned, 3> mean(const Picture& picture, std::size_t x0, std::size_t x1, std::size_t y0,
                             std::size_t y1) {
  std::array<std::uint64_t, 3> sum{};
  for (std::size_t y = y0; y < y1; ++y) {
    for (std::size_t x = x0; x < x1; ++x) {
      const std::uint8_t* pixel = picture.rgba.data() + 4 * (y * picture.width + x);
      for (std::size_t i = 0; i < 3; ++i) sum[i] += std::uint64_t{pixel[i]} * pixel[3];
    }
  }
  const std::uint64_t weight = 255 * (x1 - x0) * (y1 - y0);
  return {static_cast<unsigned>(sum[0] / weight), static_cast<unsigned>(sum[1] / weight),
          static_cast<unsigned>(sum[2] / weight)};
}

// --- libpng -------------------------------------------------------------------------------------

// What libpng reads from, and why it gave up. It leaves functions by jumping, so these have nothing
// to destroy.
struct PngInput {
  std::span<const std::byte> rest;
  std::array<char, 100> reason;
};

void give_bytes(png_structp png, png_bytep to, std::size_t count) {
  PngInput& input = *static_cast<PngInput*>(png_get_io_ptr(png));
  if (count > input.rest.size()) png_error(png, "it is cut short");
  std::memcpy(to, input.rest.data(), count);
  input.rest = input.rest.subspan(count);
}

[[noreturn]] void give_up(png_structp png, png_const_charp reason) {
  PngInput& input = *static_cast<PngInput*>(png_get_error_ptr(png));
  std::snprintf(input.reason.data(), input.reason.size(), "%s", reason);
  png_longjmp(png, 1);
}

void pass_over(png_structp, png_const_charp) {}

bool read_png_header(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  return true;
}

// Makes every kind of pixel red, green, blue and opacity, a byte each.
bool read_png_rows(png_structp png, png_infop info, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> file) : input_{file, {}} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, give_up, pass_over);
    info_ = png_create_info_struct(png_);
    png_set_read_fn(png_, &input_, give_bytes);
    // Only what pixels need: the rest of a small file may unfold to much.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_user_limits(png_, kMaxSide, kMaxSide);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Result<Picture> read(std::uint64_t budget) {
    if (info_ == nullptr) return diagnose<message::full_machine>();
    const std::size_t size = input_.rest.size();
    if (!read_png_header(png_, info_)) return failure();
    Picture picture{png_get_image_width(png_, info_), png_get_image_height(png_, info_), false, {}};
    const std::uint64_t stored = png_get_rowbytes(png_, info_) * std::uint64_t{picture.height};
    // A byte of compressed data stands for at most 1032.
    constexpr std::uint64_t kMostUnfolded = 1032;
    if (stored / kMostUnfolded > size) return diagnose<message::bad_png>("it is cut short");
    const std::uint64_t bytes = std::uint64_t{4} * picture.width * picture.height;
    if (bytes > budget) return diagnose<message::out_of_memory>(bytes, "this machine");
    picture.rgba.resize(bytes);
    std::vector<png_bytep> rows;
    for (std::size_t y = 0; y < picture.height; ++y) {
      rows.push_back(picture.rgba.data() + 4 * y * picture.width);
    }
    if (!read_png_rows(png_, info_, rows.data())) return failure();
    return picture;
  }

 private:
  Diagnostic failure() const { return diagnose<message::bad_png>(input_.reason.data()); }

  PngInput input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

std::string colour_code(int base, const std::array<unsigned, 3>& colour) {
  std::string out = "\x1b[" + std::to_string(base) + ";2";
  for (unsigned part : colour) out += ";" + std::to_string(part);
  return out + "m";
}

}  // namespace

Result<ImageRequest> read_image_request(std::string_view text) {
  ImageRequest request;
  std::string_view rest = text;
  const auto takes = [&](std::string_view suffix) {
    const bool is_there = rest.ends_with(suffix);
    if (is_there) rest.remove_suffix(suffix.size());
    return is_there;
  };
  if (takes(":rgba8")) {
    request.format = Format::Rgba8;
  } else if (takes(":gray8")) {
    request.format = Format::Gray8;
  }
  // The path may have colons in it, so the size is what follows the last one.
  const std::size_t colon = rest.rfind(':');
  const std::string_view size = colon == rest.npos ? "" : rest.substr(colon + 1);
  const auto [across, down] = split_at(size, 'x');
  const auto [name, path] = split_at(rest.substr(0, colon), '=');
  const std::optional<Wide> width = read_number(across);
  const std::optional<Wide> height = read_number(down.value_or(""));
  if (!width || !height) return diagnose<message::bad_image>(shown(text));
  if (*width == 0 || *width > kMaxSide || *height == 0 || *height > kMaxSide) {
    return diagnose<message::image_side>(shorten(size), kMaxSide);
  }
  if (name.empty() || path == "") return diagnose<message::bad_image>(shown(text));
  request.name = name;
  request.path = path.value_or("");
  request.width = static_cast<std::uint32_t>(*width);
  request.height = static_cast<std::uint32_t>(*height);
  const bool is_png = request.path.size() > 4 && request.path.ends_with(".png");
  if (!request.path.empty() && !is_png) return diagnose<message::not_png>(shorten(request.path));
  return request;
}

Result<void> choose_format(ImageRequest& request, const BufferDecl& buffer, std::uint64_t bytes) {
  const DataType type = buffer.element;
  const std::uint64_t pixels = std::uint64_t{request.width} * request.height;
  if (request.format == Format::Automatic) {
    request.format = is_gray_by_default(type, bytes, pixels) ? Format::Gray8 : Format::Rgba8;
  }
  const bool gray = request.format == Format::Gray8;
  if (gray && is_vector(type)) {
    return diagnose<message::image_elements>(buffer.name, text(type), "gray8");
  }
  // Bytes are padded to whole words.
  const bool by_element = gray && type != DataType::Bytes;
  const std::uint64_t has = by_element ? bytes / stride(type) : bytes;
  std::uint64_t takes = gray ? pixels : 4 * pixels;
  if (gray && type == DataType::Bytes) takes = (takes + 3) / 4 * 4;
  if (has == takes) return {};
  const std::string size = std::to_string(request.width) + "x" + std::to_string(request.height);
  const std::string_view noun = by_element ? "element" : "byte";
  return diagnose<message::image_size>(size, plural(takes, noun), buffer.name, plural(has, noun));
}

Picture make_picture(const ImageRequest& request, const OutputBuffer& buffer) {
  const std::size_t pixels = std::size_t{request.width} * request.height;
  Picture picture{request.width, request.height, request.format == Format::Gray8,
                  std::vector<std::uint8_t>(4 * pixels)};
  if (!picture.gray) {
    std::memcpy(picture.rgba.data(), buffer.bytes.data(), picture.rgba.size());
    return picture;
  }
  const DataType type = buffer.element;
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t value = type == DataType::Bytes
                                   ? std::to_integer<std::uint8_t>(buffer.bytes[i])
                                   : gray_of(type, element_at(type, buffer.bytes, i));
    std::uint8_t* pixel = picture.rgba.data() + 4 * i;
    pixel[0] = pixel[1] = pixel[2] = value;
    pixel[3] = 255;
  }
  return picture;
}

std::string png_of(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> gray;
  if (picture.gray) {
    for (std::size_t i = 0; i < picture.rgba.size(); i += 4) gray.push_back(picture.rgba[i]);
  }
  const std::uint8_t* pixels = picture.gray ? gray.data() : picture.rgba.data();
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr) == 0) return {};
  bytes.resize(size);
  return bytes;
}

Result<Picture> read_png(std::span<const std::byte> file, std::uint64_t budget) {
  return PngReader(file).read(budget);
}

Result<Bytes> read_pixels(const BufferDecl& buffer, std::span<const std::byte> file,
                          std::uint64_t budget) {
  const DataType type = buffer.element;
  const bool gray = type == DataType::U8;
  if (!gray && type != DataType::U32 && type != DataType::I32) {
    return diagnose<message::png_elements>(buffer.name, text(type));
  }
  const Result<Picture> picture = read_png(file, budget);
  if (!picture.ok()) return picture.diagnostics();
  const auto pixels = std::as_bytes(std::span(picture->rgba));
  if (!gray) return Bytes(pixels.begin(), pixels.end());
  Bytes bytes;
  bytes.reserve(pixels.size() / 4);
  for (std::size_t i = 0; i < pixels.size(); i += 4) {
    const std::uint8_t* pixel = &picture->rgba[i];
    bytes.push_back(std::byte((299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000));
  }
  return bytes;
}

std::string draw(const Picture& picture, std::size_t columns, bool colour) {
  const std::size_t width = std::clamp<std::size_t>(picture.width, 1, std::max(columns, 1ul));
  // A character is twice as high as it is wide: in colour it shows two rows, else one twice as
  // high.
  const std::size_t rows = std::max<std::size_t>(
      1, (std::size_t{picture.height} * width + picture.width / 2) / picture.width);
  const std::size_t lines = (rows + 1) / 2;
  const auto column = [&](std::size_t x) { return x * picture.width / width; };
  const auto row = [&](std::size_t y) {
    return std::min<std::size_t>(y * picture.height / rows, picture.height);
  };
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string out;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t top = row(2 * line);
    const std::size_t middle =
        std::min(std::max(row(2 * line + 1), top + 1), std::size_t{picture.height});
    const std::size_t bottom = std::max(row(2 * line + 2), middle);
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t left = column(x);
      const std::size_t right = std::max(column(x + 1), left + 1);
      if (colour) {
        out += colour_code(38, mean(picture, left, right, top, middle));
        if (bottom > middle)
          out += colour_code(48, mean(picture, left, right, middle, bottom));
        else
          out += "\x1b[49m";
        out += "▀";
      } else {
        const auto [red, green, blue] = mean(picture, left, right, top, bottom);
        const std::size_t light = (299 * red + 587 * green + 114 * blue) / 1000;
        out += kShades[light * kShades.size() / 256];
      }
    }
    if (!colour) out.erase(out.find_last_not_of(' ') + 1);
    out += colour ? "\x1b[0m\n" : "\n";
  }
  return out;
}

std::size_t columns_of(const Console& console) {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  if (!console.out_is_terminal || ioctl(fileno(console.out), TIOCGWINSZ, &size) != 0) return kUsual;
  return size.ws_col > 0 ? size.ws_col : kUsual;
}

bool colour_of(const Console& console) {
  return console.out_is_terminal && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace vyre
