// Reductions that CuPy would compile for seconds, with the headers of CUB, on their first use.

#include "grid.cuh"

#ifndef value_t
#define value_t bool
#endif

// count[0] += number of values that are not 0.
extern "C" __global__ void count_nonzero(long long num_values, const value_t *values,
                                         long long *count) {
  long long nonzero = 0;
  STRIDE(i, num_values) nonzero += values[i] != (value_t)0;
  for (int step = WARP / 2; step > 0; step /= 2) nonzero += __shfl_xor_sync(~0u, nonzero, step);
  if (threadIdx.x % WARP == 0 && nonzero) atomicAdd((u64 *)count, (u64)nonzero);
}
