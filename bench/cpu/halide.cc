#include "bench/cpu/halide.h"

#include <HalideRuntime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "halide_peers.h"  // by halide_generate

namespace bench {
namespace {

// Words in memory of somebody else, row after row, as Halide wants them told.
struct View {
  View(u32* words, u32 columns, u32 rows) {
    dimensions[0] = halide_dimension_t(0, static_cast<int>(columns), 1);
    dimensions[1] = halide_dimension_t(0, static_cast<int>(rows), static_cast<int>(columns));
    buffer.host = reinterpret_cast<std::uint8_t*>(words);
    buffer.type = halide_type_t(halide_type_uint, 32);
    buffer.dimensions = rows == 1 ? 1 : 2;
    buffer.dim = dimensions;
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  halide_dimension_t dimensions[2];
  halide_buffer_t buffer = {};
};

void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "bench_cpu: %s of Halide failed with error %d\n", what, code);
  std::exit(1);
}

}  // namespace

void halide_xor(u32* const* buffers) {
  View left(buffers[0], kXorWords, 1);
  View right(buffers[1], kXorWords, 1);
  View out(buffers[2], kXorWords, 1);
  check(generated_xor(&left.buffer, &right.buffer, &out.buffer), "xor");
}

void halide_life(u32* const* buffers) {
  View board(buffers[0], kLifeColumns, kLifeRows);
  View next(buffers[2], kLifeColumns, kLifeRows);
  check(generated_life(&board.buffer, &next.buffer), "life");
}

}  // namespace bench
