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

// limits[0] = the largest complement, limits[1] = the largest value, of integers that are mapped to
// unsigned ones in the same order. Both are 0 before.
extern "C" __global__ void measure_range(long long num_values, const value_t *values,
                                         long long is_signed, unsigned long long *limits) {
  u64 least = 0, most = 0;
  STRIDE(i, num_values) {
    const u64 value = (u64)(long long)values[i] ^ (is_signed ? 1ull << 63 : 0);
    least = max(least, ~value);
    most = max(most, value);
  }
  for (int step = WARP / 2; step > 0; step /= 2) {
    least = max(least, __shfl_xor_sync(FULL_MASK, least, step));
    most = max(most, __shfl_xor_sync(FULL_MASK, most, step));
  }
  if (threadIdx.x % WARP == 0) {
    atomicMax(limits, least);
    atomicMax(limits + 1, most);
  }
}
