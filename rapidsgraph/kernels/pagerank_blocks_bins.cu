// Bins, tiles and segments of propagation blocking, which pagerank_blocks.cu describes.
//
// measure_costs, find_bins, count_segments and measure_bins divide units into bins; place_in_tiles
// and add_tile_offsets place the segments of bins in tiles; place_entries fills them.

#include "grid.cuh"
#include "search.cuh"

#ifndef value_t
#define value_t float
#endif

#define GROUP (PAGERANK_LANE_ENTRIES * WARP)

// The entries of a unit that this lane has.
struct Lane {
  int row;        // -1 if the lane has no row
  int lanes;      // lanes of the row
  int member;     // index of this lane among them
  int chunk = 0;  // of the long row
};

__device__ __forceinline__ Lane find_lane(int unit, long long num_rows, const int *class_units,
                                          const int *class_rows, const int *chunk_rows,
                                          const int *chunk_offsets) {
  const int index = threadIdx.x % WARP;
  Lane lane;
  if (unit < class_units[1]) {
    lane.row = chunk_rows[unit];
    lane.chunk = unit - chunk_offsets[lane.row];
    lane.lanes = WARP;
    lane.member = index;
    return lane;
  }
  int unit_class = 1;
  while (unit >= class_units[unit_class + 1]) unit_class++;
  lane.lanes = WARP >> (unit_class - 1);
  lane.member = index % lane.lanes;
  lane.row = class_rows[unit_class] + (unit - class_units[unit_class]) * (WARP / lane.lanes) +
             index / lane.lanes;
  if (lane.row >= min((long long)class_rows[unit_class + 1], num_rows)) lane.row = -1;
  return lane;
}

// The lists of rows: group_sources describes their order.
struct Lists {
  long long num_rows;
  const int *class_units, *class_rows, *chunk_rows, *chunk_offsets, *unit_offsets, *order;
  const long long *offsets;
  const int *grouped, *long_sums, *short_sums;

  // Call visit(to, terms, from) for the entries of this lane in a unit: entry `to` is the sum of
  // the `terms` contributions grouped[from] and so on, or padding if terms is 0.
  template <class Visit>
  __device__ __forceinline__ void visit_entries(long long unit, Visit visit) const {
    const Lane lane = find_lane(unit, num_rows, class_units, class_rows, chunk_rows, chunk_offsets);
    long long start = 0, length = 0, first_short = 0, first_single = 0, skipped = 0;
    if (lane.row >= 0) {
      const int vertex = order[lane.row];
      start = offsets[vertex];
      skipped = lane.chunk * (long long)PAGERANK_BLOCK_CHUNK;
      first_short = long_sums[vertex];
      first_single = first_short + short_sums[vertex];
      const long long in_sums =
          first_short * PAGERANK_LONG_SUM + (first_single - first_short) * PAGERANK_SHORT_SUM;
      length = min(first_single + offsets[vertex + 1] - start - in_sums - skipped,
                   (long long)PAGERANK_BLOCK_CHUNK);
    }
    for (int group = unit_offsets[unit]; group < unit_offsets[unit + 1]; group++) {
      const long long to = group * (long long)GROUP + threadIdx.x % WARP * PAGERANK_LANE_ENTRIES;
      for (int k = 0; k < PAGERANK_LANE_ENTRIES; k++) {
        const long long entry =
            ((group - unit_offsets[unit]) * PAGERANK_LANE_ENTRIES + k) * (long long)lane.lanes +
            lane.member;
        const long long item = skipped + entry;
        const long long from =
            item < first_short ? item * PAGERANK_LONG_SUM
            : item < first_single
                ? first_short * PAGERANK_LONG_SUM + (item - first_short) * PAGERANK_SHORT_SUM
                : first_short * PAGERANK_LONG_SUM +
                      (first_single - first_short) * PAGERANK_SHORT_SUM + item - first_single;
        const int terms = entry >= length       ? 0
                          : item < first_short  ? PAGERANK_LONG_SUM
                          : item < first_single ? PAGERANK_SHORT_SUM
                                                : 1;
        visit(to + k, terms, start + from);
      }
    }
  }
};

// costs[u] = entries of unit u that are not cached + group_cost * groups + unit_cost; num_cold[0]
// += these entries of all units.
extern "C" __global__ void measure_costs(
    long long num_units, long long unit_cost, long long group_cost, long long num_rows,
    long long num_cached, const int *class_units, const int *class_rows, const int *chunk_rows,
    const int *chunk_offsets, const int *unit_offsets, const int *order, const long long *offsets,
    const int *grouped, const int *long_sums, const int *short_sums, const int *cold_counts,
    long long *costs, long long *num_cold) {
  long long all_cold = 0;
  const Lists lists = {num_rows, class_units, class_rows, chunk_rows, chunk_offsets, unit_offsets,
                       order,    offsets,     grouped,    long_sums,  short_sums};
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long unit = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; unit < num_units;
       unit += warps) {
    int cold = 0;
    if (unit < class_units[1]) {
      lists.visit_entries(unit, [&](long long, int terms, long long from) {
        cold += terms && grouped[from] >= num_cached;
      });
    } else {
      const Lane lane =
          find_lane(unit, num_rows, class_units, class_rows, chunk_rows, chunk_offsets);
      if (lane.row >= 0 && lane.member == 0) cold = cold_counts[order[lane.row]];
    }
    all_cold += cold;
    cold = warp_sum(cold);
    if (threadIdx.x % WARP == 0)
      costs[unit] = cold + unit_cost + group_cost * (unit_offsets[unit + 1] - unit_offsets[unit]);
  }
  add_of_block(all_cold, num_cold);
}

// bin_units[b] = the first unit whose cost starts at or after b * max_cost.
extern "C" __global__ void find_bins(long long num_bins, long long num_units, long long max_cost,
                                     const long long *starts, int *bin_units) {
  STRIDE(bin, num_bins + 1) bin_units[bin] = position(starts, 0, num_units, bin * max_cost);
}

// The tile of sums of contributions that are not cached, or num_tiles for the tail.
__device__ __forceinline__ int tile_of(int contribution, int terms, int num_cached, int tile_width,
                                       int num_summed, int num_tiles) {
  const int range = (contribution - num_cached) / tile_width;
  if (range >= num_summed) return min(range + (PAGERANK_SUM_KINDS - 1) * num_summed, num_tiles);
  const int kind = terms == PAGERANK_LONG_SUM ? 0 : terms == PAGERANK_SHORT_SUM ? 1 : 2;
  return PAGERANK_SUM_KINDS * range + kind;
}

// Count the values of each bin per tile; counts has num_tiles + 1 columns.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    count_segments(long long num_bins, long long num_tiles, long long num_rows,
                   long long num_cached, long long tile_width, long long num_summed,
                   const int *bin_units, const int *class_units, const int *class_rows,
                   const int *chunk_rows, const int *chunk_offsets, const int *unit_offsets,
                   const int *order, const long long *offsets, const int *grouped,
                   const int *long_sums, const int *short_sums, int *counts) {
  __shared__ int tile_counts[PAGERANK_MAX_TILES];
  const Lists lists = {num_rows, class_units, class_rows, chunk_rows, chunk_offsets, unit_offsets,
                       order,    offsets,     grouped,    long_sums,  short_sums};
  for (long long bin = blockIdx.x; bin < num_bins; bin += gridDim.x) {
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x) tile_counts[tile] = 0;
    __syncthreads();
    for (int unit = bin_units[bin] + threadIdx.x / WARP; unit < bin_units[bin + 1];
         unit += blockDim.x / WARP)
      lists.visit_entries(unit, [&](long long, int terms, long long from) {
        const int source = terms ? grouped[from] : 0;
        if (terms && source >= num_cached)
          atomicAdd(
              &tile_counts[tile_of(source, terms, num_cached, tile_width, num_summed, num_tiles)],
              1);
      });
    __syncthreads();
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x)
      counts[bin * (num_tiles + 1) + tile] = tile_counts[tile];
    __syncthreads();
  }
}

// segment_offsets[b] = the first vector of each segment in bin b, and the end of the last;
// max_vectors[0] = the maximum of itself and the vectors of each bin.
extern "C" __global__ void measure_bins(long long num_bins, long long num_segments,
                                        long long vector, const int *counts,
                                        unsigned short *segment_offsets, long long *max_vectors) {
  for (long long bin = blockIdx.x; bin < num_bins; bin += gridDim.x) {
    long long before = 0;
    for (long long first = 0; first < num_segments; first += blockDim.x) {
      const long long segment = first + threadIdx.x;
      const long long count = segment < num_segments ? counts[bin * num_segments + segment] : 0;
      long long total;
      const long long offset = before + scan_block((count + vector - 1) / vector, &total);
      if (segment < num_segments) segment_offsets[bin * (num_segments + 1) + segment] = offset;
      before += total;
    }
    if (threadIdx.x == 0) {
      segment_offsets[bin * (num_segments + 1) + num_segments] = before;
      atomicMax(max_vectors, before);
    }
  }
}

// segment_starts = the vectors of lower bins in the same tile, and sizes[t] = the vectors of tile
// t. A block handles WARP tiles, one per lane; its warps divide the bins.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    place_in_tiles(long long num_bins, long long num_segments, long long vector, const int *counts,
                   int *segment_starts, long long *sizes) {
  __shared__ long long sums[COOPERATIVE_THREADS / WARP][WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  const long long first = num_bins * warp / warps, stop = num_bins * (warp + 1) / warps;
  for (long long base = blockIdx.x * (long long)WARP; base < num_segments;
       base += gridDim.x * (long long)WARP) {
    const long long tile = base + lane;
    const auto vectors = [&](long long bin) {
      return tile < num_segments ? (counts[bin * num_segments + tile] + vector - 1) / vector : 0;
    };
    long long sum = 0;
    for (long long bin = first; bin < stop; bin++) sum += vectors(bin);
    sums[warp][lane] = sum;
    __syncthreads();
    long long start = 0;
    for (int lower = 0; lower < warp; lower++) start += sums[lower][lane];
    if (tile < num_segments && warp == warps - 1) sizes[tile] = start + sum;
    for (long long bin = first; bin < stop && tile < num_segments; bin++) {
      segment_starts[bin * num_segments + tile] = start;
      start += vectors(bin);
    }
    __syncthreads();
  }
}

// segment_starts += the first vector of the tile.
extern "C" __global__ void add_tile_offsets(long long num_bins, long long num_segments,
                                            const long long *tile_offsets, int *segment_starts) {
  STRIDE(i, num_bins * num_segments) segment_starts[i] += tile_offsets[i % num_segments];
}

// Give each cold entry a place in its segment: its position in shared memory, and the sources of
// the value that phase 1 writes there, within its tile. The places of a segment are in any order.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    place_entries(long long num_bins, long long num_tiles, long long num_rows, long long num_cached,
                  long long tile_width, long long num_summed, long long bin_capacity,
                  long long bins_per_block, long long vector, const int *bin_units,
                  const int *class_units, const int *class_rows, const int *chunk_rows,
                  const int *chunk_offsets, const int *unit_offsets, const int *order,
                  const long long *offsets, const int *grouped, const int *long_sums,
                  const int *short_sums, const value_t *weights, long long weighted,
                  const long long *tile_starts, const long long *source_starts,
                  const int *segment_starts, const unsigned short *segment_offsets,
                  unsigned short *positions, unsigned short *sources, int *tail_sources,
                  value_t *new_weights) {
  __shared__ int num_placed[PAGERANK_MAX_TILES];
  const Lists lists = {num_rows, class_units, class_rows, chunk_rows, chunk_offsets, unit_offsets,
                       order,    offsets,     grouped,    long_sums,  short_sums};
  for (long long bin = blockIdx.x; bin < num_bins; bin += gridDim.x) {
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x) num_placed[tile] = 0;
    __syncthreads();
    const long long first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity;
    for (int unit = bin_units[bin] + threadIdx.x / WARP; unit < bin_units[bin + 1];
         unit += blockDim.x / WARP)
      lists.visit_entries(unit, [&](long long to, int terms, long long from) {
        const int source = terms ? grouped[from] : 0;
        long long position = terms && source < num_cached ? source : num_cached;  // hot, or 0
        if (terms && source >= num_cached) {
          const int tile = tile_of(source, terms, num_cached, tile_width, num_summed, num_tiles);
          const long long place = atomicAdd(&num_placed[tile], 1);
          const long long value =
              segment_starts[bin * (num_tiles + 1) + tile] * vector + place - tile_starts[tile];
          position = first_slot + segment_offsets[bin * (num_tiles + 2) + tile] * vector + place;
          if (tile == num_tiles)
            tail_sources[value] = source;
          else
            for (int k = 0; k < terms; k++)
              sources[source_starts[tile] + value * terms + k] =
                  (grouped[from + k] - num_cached) % tile_width;
        }
        positions[to] = position;
        if (weighted) new_weights[to] = terms ? weights[from] : (value_t)0;
      });
    __syncthreads();
  }
}
