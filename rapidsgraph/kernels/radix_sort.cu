// A stable radix sort of 64-bit keys, least significant digit first.
//
// CuPy sorts by all 64 bits; this sort passes only over the bits in use. Each pass reads and
// writes the keys once: a block has a tile of SORT_TILE consecutive ones, and learns from the tiles
// before its own where to put the keys of each digit. A digit has digit_bits bits, at most as many
// as SORT_DIGITS needs, from `shift` on. The caller sets histograms, states and tickets to 0.
//
// Tiles find these positions by decoupled look-back. A state of a tile and digit is 0, the number
// of keys of the tile that have the digit (AGGREGATE), or the position behind them in the result
// (INCLUSIVE_PREFIX); the kind is in the two bits below the sign.
//
// References: D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back",
// NVIDIA, 2016. A. Adinets, D. Merrill, "Onesweep: a faster least significant digit radix sort for
// GPUs", 2022. https://arxiv.org/abs/2206.01784

#include "grid.cuh"

#ifndef state_t
#define state_t int
#endif

#define SORT_WARPS (SORT_DIGITS / WARP)
#define LANE_ITEMS (SORT_TILE / SORT_DIGITS)
#define LOOKBACK_BATCH 8  // states that a thread loads at once
#define KIND_SHIFT (8 * sizeof(state_t) - 3)
#define AGGREGATE ((state_t)1 << KIND_SHIFT)
#define INCLUSIVE_PREFIX ((state_t)2 << KIND_SHIFT)

__device__ __forceinline__ int digit_of(long long key, long long shift, long long digit_bits) {
  return (int)(key >> shift) & ((1 << digit_bits) - 1);
}

// histograms[pass * SORT_DIGITS + digit] += keys that have the digit in a pass. The passes share
// num_bits bits from first_bit on, digit_bits each but the last one.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    count_digits(long long num_keys, long long first_bit, long long num_bits, long long digit_bits,
                 long long num_passes, const long long *keys, long long *histograms) {
  __shared__ int counts[SORT_PASSES * SORT_DIGITS];
  const int size = (int)num_passes * SORT_DIGITS;
  for (int i = threadIdx.x; i < size; i += BLOCK_THREADS) counts[i] = 0;
  __syncthreads();
  const long long mask = (1ll << num_bits) - 1;
  STRIDE(i, num_keys) {
    long long rest = keys[i] >> first_bit & mask;
    for (int pass = 0; pass < num_passes; pass++, rest >>= digit_bits)
      atomicAdd(counts + pass * SORT_DIGITS + digit_of(rest, 0, digit_bits), 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += BLOCK_THREADS)
    if (counts[i]) atomicAdd((u64 *)histograms + i, (u64)counts[i]);
}

// The sum over the lower threads of a block of SORT_DIGITS.
__device__ __forceinline__ long long sum_lower(long long value) {
  __shared__ long long totals[SORT_WARPS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  long long sum = value;
#pragma unroll
  for (int step = 1; step < WARP; step *= 2) {
    const long long lower = __shfl_up_sync(FULL_MASK, sum, step);
    if (lane >= step) sum += lower;
  }
  __syncthreads();  // all have read the totals of the last call
  if (lane == WARP - 1) totals[warp] = sum;
  __syncthreads();
  sum -= value;
  for (int w = 0; w < warp; w++) sum += totals[w];
  return sum;
}

// One pass: move the keys, and with_positions also the position of each one before all passes,
// which is its index if is_first.
extern "C" __global__ void __launch_bounds__(SORT_DIGITS, 4)
    sort_by_digit(long long num_keys, long long shift, long long digit_bits,
                  long long with_positions, long long is_first, const long long *histogram,
                  const long long *keys, const unsigned int *positions, long long *new_keys,
                  unsigned int *new_positions, state_t *states, unsigned long long *ticket) {
  __shared__ long long tile_keys[SORT_TILE];
  __shared__ int cursors[SORT_WARPS][SORT_DIGITS];  // positions in the tile
  __shared__ state_t scatter_offsets[SORT_DIGITS];  // from a position in the tile to the result
  __shared__ unsigned shared_tile;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, digit = threadIdx.x;
  if (threadIdx.x == 0)
    shared_tile = (unsigned)atomicAdd(ticket, 1ull);  // tiles begin in their order
  for (int w = 0; w < SORT_WARPS; w++) cursors[w][digit] = 0;
  __syncthreads();
  const long long tile = shared_tile, tile_start = tile * SORT_TILE;
  const int tile_size = (int)min((long long)SORT_TILE, num_keys - tile_start);
  const int start = warp * WARP * LANE_ITEMS + lane;
  long long key[LANE_ITEMS];
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++)
    key[k] = start + k * WARP < tile_size ? keys[tile_start + start + k * WARP] : 0;

  // Keys of a warp are ranked in their order among those with the same digit.
  int rank[LANE_ITEMS];
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++) {
    const bool is_key = start + k * WARP < tile_size;
    const int own = is_key ? digit_of(key[k], shift, digit_bits) : -1;
    const unsigned peers = __match_any_sync(FULL_MASK, own);
    const int before = is_key ? cursors[warp][own] : 0;
    const int rank_among_peers = __popc(peers & ((1u << lane) - 1));
    __syncwarp();  // all have read their cursors
    if (is_key && rank_among_peers == 0) cursors[warp][own] = before + __popc(peers);
    __syncwarp();
    rank[k] = before + rank_among_peers;
  }
  __syncthreads();

  // From here on, each thread has a digit, too.
  int count = 0;
  for (int w = 0; w < SORT_WARPS; w++) {
    const int warp_count = cursors[w][digit];
    cursors[w][digit] = count;
    count += warp_count;
  }
  volatile state_t *own_state = states + tile * SORT_DIGITS + digit;
  long long prefix = 0;
  if (tile == 0)
    prefix = sum_lower(histogram[digit]);
  else
    *own_state = AGGREGATE | (state_t)count;
  const int first = (int)sum_lower(count);
  for (int w = 0; w < SORT_WARPS; w++) cursors[w][digit] += first;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++)
    if (start + k * WARP < tile_size) {
      rank[k] += cursors[warp][digit_of(key[k], shift, digit_bits)];
      tile_keys[rank[k]] = key[k];
    }
  bool has_prefix = tile == 0;
  for (long long other = tile - 1; !has_prefix;) {
    state_t read[LOOKBACK_BATCH];
#pragma unroll
    for (int k = 0; k < LOOKBACK_BATCH; k++) {  // tile 0 is never only AGGREGATE
      const long long before = max(other - k, 0ll);
      read[k] = *(volatile const state_t *)(states + before * SORT_DIGITS + digit);
    }
#pragma unroll
    for (int k = 0; k < LOOKBACK_BATCH; k++) {
      if (has_prefix || read[k] == 0) break;  // and try again from there
      prefix += read[k] & (AGGREGATE - 1);
      has_prefix = (read[k] & INCLUSIVE_PREFIX) != 0;
      other--;
    }
  }
  *own_state = INCLUSIVE_PREFIX | (state_t)(prefix + count);
  scatter_offsets[digit] = (state_t)(prefix - first);
  __syncthreads();

  state_t to[LANE_ITEMS];
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++) {
    const int i = k * SORT_DIGITS + threadIdx.x;
    if (i >= tile_size) continue;
    const long long sorted_key = tile_keys[i];
    to[k] = scatter_offsets[digit_of(sorted_key, shift, digit_bits)] + i;
    new_keys[to[k]] = sorted_key;
  }
  if (!with_positions) return;
  unsigned *tile_positions = (unsigned *)tile_keys;
  __syncthreads();  // all have read the keys
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++) {
    const long long i = tile_start + start + k * WARP;
    if (start + k * WARP < tile_size)
      tile_positions[rank[k]] = is_first ? (unsigned)i : positions[i];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < LANE_ITEMS; k++) {
    const int i = k * SORT_DIGITS + threadIdx.x;
    if (i < tile_size) new_positions[to[k]] = tile_positions[i];
  }
}
