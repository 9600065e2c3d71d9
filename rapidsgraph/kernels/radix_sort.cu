// A stable radix sort of items by integer keys, least significant digit first.
//
// CuPy sorts by all bits of a key; these passes by those that the keys have. A pass sorts by the
// digit of `shift`, of which there are num_digits: a power of two, at most SORT_DIGITS. A block of
// SORT_DIGITS threads has tile t: the items from t * SORT_TILE. counts and starts have a value per
// digit and tile of it.
//
// Reference: N. Satish, M. Harris, M. Garland, "Designing efficient sorting algorithms for manycore
// GPUs", IPDPS 2009. https://doi.org/10.1109/IPDPS.2009.5161005

#include "grid.cuh"
#include "search.cuh"

#ifndef count_t
#define count_t int
#endif

#define SORT_WARPS (SORT_DIGITS / WARP)
#define LANE_ITEMS (SORT_TILE / SORT_DIGITS)

// counts[digit * tiles + tile] = items of the tile that have the digit.
extern "C" __global__ void count_digits(long long num_items, long long shift, long long num_digits,
                                        const int *keys, count_t *counts) {
  __shared__ int histogram[SORT_DIGITS];
  const int digit = threadIdx.x, mask = (int)num_digits - 1;
  const long long start = blockIdx.x * (long long)SORT_TILE;
  const long long stop = min(start + SORT_TILE, num_items);
  histogram[digit] = 0;
  __syncthreads();
  for (long long i = start + threadIdx.x; i < stop; i += SORT_DIGITS)
    atomicAdd(histogram + (keys[i] >> shift & mask), 1);
  __syncthreads();
  if (digit < num_digits) counts[digit * (long long)gridDim.x + blockIdx.x] = histogram[digit];
}

// Move items to their positions: starts[digit * tiles + tile] is that of the first item of the tile
// that has the digit. Shared memory puts the tile in order first, so that neighboring threads store
// to neighboring positions.
extern "C" __global__ void __launch_bounds__(SORT_DIGITS, 3)
    move_items(long long num_items, long long shift, long long num_digits, const int *keys,
               const int *values, const count_t *starts, int *new_keys, int *new_values) {
  __shared__ int tile_keys[SORT_TILE];
  __shared__ int tile_values[SORT_TILE];
  __shared__ int cursors[SORT_WARPS][SORT_DIGITS];  // positions in the tile
  __shared__ count_t shifts[SORT_DIGITS];           // from a position in the tile to the global one
  __shared__ int warp_totals[SORT_WARPS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, mask = (int)num_digits - 1;
  const long long tile_start = blockIdx.x * (long long)SORT_TILE;
  const int tile_size = (int)min((long long)SORT_TILE, num_items - tile_start);
  const int start = warp * WARP * LANE_ITEMS + lane;
  int key[LANE_ITEMS];
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++)
    key[k] = start + k * WARP < tile_size ? keys[tile_start + start + k * WARP] : 0;
  for (int w = 0; w < SORT_WARPS; w++) cursors[w][threadIdx.x] = 0;
  __syncthreads();
  // Items of a warp are ranked in their order among those with the same digit.
  int rank[LANE_ITEMS];
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++) {
    const bool is_item = start + k * WARP < tile_size;
    const int digit = is_item ? key[k] >> shift & mask : -1;
    const unsigned peers = __match_any_sync(FULL_MASK, digit);
    const int before = is_item ? cursors[warp][digit] : 0;
    const int rank_among_peers = __popc(peers & ((1u << lane) - 1));
    __syncwarp();  // all have read their cursors
    if (is_item && rank_among_peers == 0) cursors[warp][digit] = before + __popc(peers);
    __syncwarp();
    rank[k] = before + rank_among_peers;
  }
  __syncthreads();

  // Each thread has a digit: the scan over digits and then warps gives the cursors.
  int total = 0;
  for (int w = 0; w < SORT_WARPS; w++) total += cursors[w][threadIdx.x];
  int before = total;
#pragma unroll
  for (int step = 1; step < WARP; step *= 2) {
    const int other = __shfl_up_sync(FULL_MASK, before, step);
    if (lane >= step) before += other;
  }
  if (lane == WARP - 1) warp_totals[warp] = before;
  __syncthreads();
  before -= total;
  for (int w = 0; w < warp; w++) before += warp_totals[w];
  if (threadIdx.x < num_digits)
    shifts[threadIdx.x] = starts[threadIdx.x * (long long)gridDim.x + blockIdx.x] - before;
  for (int w = 0; w < SORT_WARPS; w++) {
    const int count = cursors[w][threadIdx.x];
    cursors[w][threadIdx.x] = before;
    before += count;
  }
  __syncthreads();

#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++)
    if (start + k * WARP < tile_size) {
      const int to = cursors[warp][key[k] >> shift & mask] + rank[k];
      tile_keys[to] = key[k];
      tile_values[to] = values[tile_start + start + k * WARP];
    }
  __syncthreads();
  for (int i = threadIdx.x; i < tile_size; i += SORT_DIGITS) {
    const int sorted_key = tile_keys[i];
    const count_t to = shifts[sorted_key >> shift & mask] + i;
    new_keys[to] = sorted_key;
    new_values[to] = tile_values[i];
  }
}

// offsets[k] = number of sorted keys below k.
extern "C" __global__ void find_key_offsets(long long num_keys, long long num_items,
                                            const int *keys, long long *offsets) {
  STRIDE(key, num_keys + 1) offsets[key] = position(keys, 0, num_items, (int)key);
}
