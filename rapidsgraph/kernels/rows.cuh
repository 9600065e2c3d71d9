// A pass over adjacency lists: a thread for each short list, a warp for each longer one, and a
// block for each very long one.

#include "grid.cuh"

#define SHORT 32   // neighbors from which a warp processes a list
#define LONG 2048  // neighbors from which a block does

// The N threads that process a list: one, a warp or a block. rank() returns the number of lower
// threads whose flag is set, and sets *total to that of all N.
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

// Call visit(lanes, row, start, stop) for the list of every row: of rows[i], or of i if rows is
// null. Blocks have BLOCK_THREADS threads. A warp takes up to 32 consecutive rows, and the warps of
// a block take rows far apart, because long lists are often adjacent.
template <class Visit>
__device__ __forceinline__ void each_row(long long count, const int *rows, const long long *offsets,
                                         Visit visit) {
  __shared__ int num_queued, queue[BLOCK_THREADS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const long long warps = gridDim.x * (long long)(BLOCK_THREADS / WARP);
  const int rows_per_warp = (int)min((long long)WARP, (count + warps - 1) / warps);
  for (long long first = 0; first < count; first += warps * rows_per_warp) {
    const long long i = first + (warp * (long long)gridDim.x + blockIdx.x) * rows_per_warp + lane;
    const bool is_valid = lane < rows_per_warp && i < count;
    const int row = !is_valid ? 0 : rows ? rows[i] : (int)i;
    const long long start = is_valid ? offsets[row] : 0, stop = is_valid ? offsets[row + 1] : 0;
    if (threadIdx.x == 0) num_queued = 0;
    __syncthreads();
    if (stop - start >= LONG) queue[atomicAdd(&num_queued, 1)] = row;
    if (is_valid && stop - start < SHORT) visit(Lanes<1>{0}, row, start, stop);
    __syncwarp();
    for (unsigned remaining =
             __ballot_sync(FULL_MASK, stop - start >= SHORT && stop - start < LONG);
         remaining; remaining &= remaining - 1) {
      const int source_lane = __ffs(remaining) - 1;
      visit(Lanes<WARP>{lane}, __shfl_sync(FULL_MASK, row, source_lane),
            __shfl_sync(FULL_MASK, start, source_lane), __shfl_sync(FULL_MASK, stop, source_lane));
    }
    __syncthreads();
    for (int k = 0; k < num_queued; k++)
      visit(Lanes<BLOCK_THREADS>{(int)threadIdx.x}, queue[k], offsets[queue[k]],
            offsets[queue[k] + 1]);
    __syncthreads();
  }
}
