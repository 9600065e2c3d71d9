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
  nonzero = warp_sum(nonzero);
  if (threadIdx.x % WARP == 0 && nonzero) atomicAdd((u64 *)count, (u64)nonzero);
}
