// Writes the Halide peers of bench_cpu, compiled for this machine, as one static library with its
// header:
//
//   halide_generate PATH    makes PATH.a and PATH.h
#include <Halide.h>

#include <cstdio>
#include <exception>
#include <string>

#include "bench/cpu/workloads.h"

namespace {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Module;
using Halide::Target;
using Halide::Var;

constexpr int kWords = bench::kXorWords;
constexpr int kColumns = bench::kLifeColumns;
constexpr int kRows = bench::kLifeRows;

Module xor_module(const Target& target) {
  Var i("i"), chunk("chunk");
  ImageParam left(Halide::UInt(32), 1, "left");
  ImageParam right(Halide::UInt(32), 1, "right");
  Func out("out");
  out(i) = left(i) ^ right(i);

  for (ImageParam* param : {&left, &right}) {
    param->set_host_alignment(64);
    param->dim(0).set_bounds(0, kWords);
  }
  out.output_buffer().set_host_alignment(64);
  out.output_buffer().dim(0).set_bounds(0, kWords);
  out.split(i, chunk, i, 1 << 18).parallel(chunk).vectorize(i, 64);
  return out.compile_to_module({left, right}, "generated_xor", target);
}

Module life_module(const Target& target) {
  Var x("x"), y("y"), lane("lane"), row("row"), strip("strip");
  ImageParam board(Halide::UInt(32), 2, "board");
  Func cell = Halide::BoundaryConditions::constant_exterior(board, Halide::cast<bench::u32>(0));
  Func column("column"), next("next");
  column(x, y) = cell(x, y - 1) + cell(x, y) + cell(x, y + 1);
  const Expr around = column(x - 1, y) + column(x, y) + column(x + 1, y);
  // `around` counts the cell itself too. Three neighbours, or two and it is alive: either way 3.
  next(x, y) = Halide::cast<bench::u32>(((around - cell(x, y)) | cell(x, y)) == 3);

  board.set_host_alignment(64);
  next.output_buffer().set_host_alignment(64);
  for (Halide::OutputImageParam buffer : {Halide::OutputImageParam(board), next.output_buffer()}) {
    buffer.dim(0).set_bounds(0, kColumns);
    buffer.dim(1).set_bounds(0, kRows).set_stride(kColumns);
  }
  // Four rows at a time share what they load.
  next.tile(x, y, lane, row, 16, 4).vectorize(lane).unroll(row);
  next.split(y, strip, y, 4).parallel(strip);
  return next.compile_to_module({board}, "generated_life", target);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: halide_generate PATH\n");
    return 1;
  }
  try {
    const Target target = Halide::get_host_target()
                              .with_feature(Target::NoAsserts)
                              .with_feature(Target::NoBoundsQuery);
    const std::string path = argv[1];
    const Module all =
        Halide::link_modules("halide_peers", {xor_module(target), life_module(target)});
    all.compile({{Halide::OutputFileType::static_library, path + ".a"},
                 {Halide::OutputFileType::c_header, path + ".h"}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halide_generate: %s\n", error.what());
    return 1;
  }
}
