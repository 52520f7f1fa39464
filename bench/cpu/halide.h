// Halide's peers of bench_cpu. They run whole workloads, on Halide's own threads: as many as there
// are cores, or as HL_NUM_THREADS says.
#pragma once

#include "bench/cpu/workloads.h"

namespace bench {

void halide_xor(u32* const* buffers);
void halide_life(u32* const* buffers);

}  // namespace bench
