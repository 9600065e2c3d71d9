// Grid-stride loops, sums over warps and blocks, and a barrier of the whole grid.

#define FULL_MASK 0xffffffffu

typedef unsigned long long u64;

#define STRIDE(i, count)                                                            \
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (count); \
       i += gridDim.x * (long long)blockDim.x)

// The sum over a warp, the same in every lane; every lane must call it.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
  for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(FULL_MASK, value, step);
  return value;
}

// The sum over a block, the same in every thread; every thread of the block must call it.
template <class T>
__device__ __forceinline__ T block_sum(T value) {
  __shared__ T sums[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  return warp_sum(lane < warps ? sums[lane] : T(0));
}

// *total += the sum over a block, by one atomic addition; one per warp would serialize on the
// address. Every thread of the block must call it.
__device__ __forceinline__ void add_of_block(long long value, long long *total) {
  __shared__ u64 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  value = warp_sum(value);
  if (threadIdx.x % WARP == 0 && value) atomicAdd(&sum, (u64)value);
  __syncthreads();
  if (threadIdx.x == 0 && sum) atomicAdd((u64 *)total, sum);
  __syncthreads();
}

// The sum over the lower threads of the block; *total becomes the sum over all. Every thread of the
// block must call it.
__device__ __forceinline__ long long scan_block(long long value, long long *total) {
  __shared__ long long sums[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  long long inclusive = value;
  for (int step = 1; step < WARP; step *= 2) {
    const long long lower = __shfl_up_sync(FULL_MASK, inclusive, step);
    if (lane >= step) inclusive += lower;
  }
  __syncthreads();  // all have read the sums of the last call
  if (lane == WARP - 1) sums[warp] = inclusive;
  __syncthreads();
  const long long sum = lane < warps ? sums[lane] : 0;
  *total = warp_sum(sum);
  return warp_sum(lane < warp ? sum : 0) + inclusive - value;
}

// Barrier of all blocks of a cooperative launch. round counts the barriers of this launch from 1,
// and *arrived is 0 before the launch. Plain loads after it see what other blocks stored before it:
// such arrays must not be read through the non-coherent path, so they are never
// __restrict__. A grid of one block needs only the barrier of the block; *arrived stays 0 then.
__device__ __forceinline__ void grid_barrier(unsigned long long *arrived,
                                             unsigned long long round) {
  __syncthreads();
  if (gridDim.x == 1) return;
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1ull);
    while (*(volatile unsigned long long *)arrived < round * gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}
