// The least and the largest of integers of any type, which are mapped to unsigned ones in the same
// order.

#include "grid.cuh"

// Those of a thread: the largest complement, which is that of the least integer, and the largest.
struct Limits {
  u64 complement = 0, most = 0;

  __device__ __forceinline__ void take(long long value, bool is_signed) {
    const u64 ordered = (u64)value ^ (is_signed ? 1ull << 63 : 0);
    complement = max(complement, ~ordered);
    most = max(most, ordered);
  }

  // Raise {complement, most} in global memory; every thread of the block must call it.
  __device__ __forceinline__ void merge(u64 *limits) {
    __shared__ u64 block_limits[2];
    if (threadIdx.x < 2) block_limits[threadIdx.x] = 0;
    __syncthreads();
    for (int step = WARP / 2; step > 0; step /= 2) {
      complement = max(complement, __shfl_xor_sync(FULL_MASK, complement, step));
      most = max(most, __shfl_xor_sync(FULL_MASK, most, step));
    }
    if (threadIdx.x % WARP == 0) {
      atomicMax(block_limits, complement);
      atomicMax(block_limits + 1, most);
    }
    __syncthreads();
    if (threadIdx.x < 2) atomicMax(limits + threadIdx.x, block_limits[threadIdx.x]);
  }
};
