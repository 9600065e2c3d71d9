// A pass over adjacency lists: a thread for each short list, a warp for each longer one, and a
// block for each very long one.

#include "grid.cuh"

#define SHORT 32   // from so many neighbors on, a list is for a warp
#define LONG 2048  // and from so many, for a block

__device__ __forceinline__ int warp_total(int value) {
  for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(FULL_MASK, value, step);
  return value;
}

// Who goes through a list together: N threads. rank() is how many before this one say so, of as
// many as come together at once; total is how many in all.
template <int N>
struct Lanes {
  static constexpr int count = N;
  int lane;

  __device__ __forceinline__ int rank(bool flag, int *total) const {
    if constexpr (N == 1) {
      *total = flag;
      return 0;
    } else {
      const unsigned mask = __ballot_sync(FULL_MASK, flag);
      const int before = __popc(mask & ((1u << threadIdx.x % WARP) - 1));
      *total = __popc(mask);
      if constexpr (N == WARP) return before;
      __shared__ int sums[BLOCK_THREADS / WARP];
      __syncthreads();
      if (threadIdx.x % WARP == 0) sums[threadIdx.x / WARP] = *total;
      __syncthreads();
      int earlier = 0;
      *total = 0;
      for (int warp = 0; warp < BLOCK_THREADS / WARP; warp++) {
        earlier += warp < threadIdx.x / WARP ? sums[warp] : 0;
        *total += sums[warp];
      }
      return earlier + before;
    }
  }

  __device__ __forceinline__ bool any(bool flag) const {
    if constexpr (N == 1) return flag;
    if constexpr (N == WARP) return __any_sync(FULL_MASK, flag);
    return __syncthreads_or(flag);
  }
};

// visit(lanes, row, begin, end) for the list of every row; rows[i] is a row, or i itself where
// there are no rows. Blocks have BLOCK_THREADS threads. A warp takes up to 32 rows in a row, and
// the warps of a block rows far apart, since long lists often stand together.
template <class Visit>
__device__ __forceinline__ void each_row(long long count, const int *rows, const long long *offsets,
                                         Visit visit) {
  __shared__ int waiting, queue[BLOCK_THREADS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const long long warps = gridDim.x * (long long)(BLOCK_THREADS / WARP);
  const int taken = (int)min((long long)WARP, (count + warps - 1) / warps);
  for (long long start = 0; start < count; start += warps * taken) {
    const long long i = start + (warp * (long long)gridDim.x + blockIdx.x) * taken + lane;
    const bool there = lane < taken && i < count;
    const int row = !there ? 0 : rows ? rows[i] : (int)i;
    const long long begin = there ? offsets[row] : 0, end = there ? offsets[row + 1] : 0;
    if (threadIdx.x == 0) waiting = 0;
    __syncthreads();
    if (end - begin >= LONG) queue[atomicAdd(&waiting, 1)] = row;
    if (there && end - begin < SHORT) visit(Lanes<1>{0}, row, begin, end);
    __syncwarp();
    for (unsigned rest = __ballot_sync(FULL_MASK, end - begin >= SHORT && end - begin < LONG); rest;
         rest &= rest - 1) {
      const int from = __ffs(rest) - 1;
      visit(Lanes<WARP>{lane}, __shfl_sync(FULL_MASK, row, from),
            __shfl_sync(FULL_MASK, begin, from), __shfl_sync(FULL_MASK, end, from));
    }
    __syncthreads();
    for (int k = 0; k < waiting; k++)
      visit(Lanes<BLOCK_THREADS>{(int)threadIdx.x}, queue[k], offsets[queue[k]],
            offsets[queue[k] + 1]);
    __syncthreads();
  }
}
