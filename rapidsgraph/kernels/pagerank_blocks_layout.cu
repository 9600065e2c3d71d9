// The layout of rows, tiles and bins that `iterate_blocks` in pagerank_blocks.cu reads, and which
// its comments describe.
//
// sum_gathers, find_ranges, count_longer and group_sources find the sums; measure_lists,
// find_classes, measure_chunks and measure_units divide rows into units; measure_costs, find_bins,
// count_segments, measure_bins, place_in_tiles and add_tile_offsets divide units into bins, and
// these into segments; place_entries fills them.

#include "grid.cuh"
#include "search.cuh"

#ifndef value_t
#define value_t float
#endif

#define GROUP (PAGERANK_LANE_ENTRIES * WARP)
#define GROUP_WARPS (BLOCK_THREADS / WARP)  // of a block of group_sources
#define SOURCE_BATCH 4                      // entries that a thread of group_sources loads at once
#define NO_RANGE 255

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

// sums[r] = out-degrees, which are whole numbers, of the vertices of range r: tile_width at a time
// of `order` behind the first num_cached.
extern "C" __global__ void sum_gathers(long long num_vertices, long long num_cached,
                                       long long tile_width, const int *order,
                                       const double *out_degrees, double *sums) {
  const long long num_ranges = (num_vertices - num_cached + tile_width - 1) / tile_width;
  for (long long range = blockIdx.x; range < num_ranges; range += gridDim.x) {
    const long long first = num_cached + range * tile_width,
                    stop = min(first + tile_width, num_vertices);
    double sum = 0.0;
    for (long long i = first + threadIdx.x; i < stop; i += blockDim.x) sum += out_degrees[order[i]];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[range] = sum;
  }
}

// count[0] += rows longer than `length`.
extern "C" __global__ void count_longer(long long num_rows, long long length,
                                        const long long *offsets, long long *count) {
  long long longer = 0;
  STRIDE(row, num_rows) longer += offsets[row + 1] - offsets[row] > length;
  add_of_block(longer, count);
}

// ranges[v] = the range of the contribution of vertex v, or NO_RANGE if it has no sums.
extern "C" __global__ void find_ranges(long long num_vertices, long long num_cached,
                                       long long tile_width, long long num_summed,
                                       const int *contribution_index, unsigned char *ranges) {
  STRIDE(vertex, num_vertices) {
    const int contribution = contribution_index[vertex];
    const long long range = (contribution - num_cached) / tile_width;
    ranges[vertex] = contribution >= num_cached && range < num_summed ? range : NO_RANGE;
  }
}

// Call visit(range, contribution) for the entries of this warp, WARP at a time. Entries are loaded
// in batches, so that their latencies overlap. `range` is negative behind the last entry, and
// `contribution` is -1 without contribution_index.
template <class Visit>
__device__ __forceinline__ void for_each_source(long long first, long long stop,
                                                const int *neighbors, const unsigned char *ranges,
                                                const int *contribution_index, Visit visit) {
  const int lane = threadIdx.x % WARP;
  for (long long i = first; i < stop; i += SOURCE_BATCH * WARP) {
    int range[SOURCE_BATCH], contribution[SOURCE_BATCH];
#pragma unroll
    for (int k = 0; k < SOURCE_BATCH; k++) {
      const long long entry = i + k * WARP + lane;
      range[k] = entry < stop ? neighbors[entry] : -1;
    }
#pragma unroll
    for (int k = 0; k < SOURCE_BATCH; k++) {
      contribution[k] = range[k] >= 0 && contribution_index ? contribution_index[range[k]] : -1;
      range[k] = range[k] >= 0 ? ranges[range[k]] : -1;
    }
#pragma unroll
    for (int k = 0; k < SOURCE_BATCH; k++)
      if (i + k * WARP < stop) visit(range[k], contribution[k]);
  }
}

// Copy lists as contributions, those of sums first: PAGERANK_LONG_SUM at a time, then
// PAGERANK_SHORT_SUM, then the rest. Rows are order[first_row] and the next ones; warps_per_row,
// 1 or all of a block, share a list. The order does not depend on their number. cold_counts are the
// entries that are not cached, where a sum is one entry; they are 0 before the launch.
extern "C" __global__ void group_sources(long long first_row, long long num_rows,
                                         long long warps_per_row, long long num_cached,
                                         long long num_summed, const int *order,
                                         const int *contribution_index, const unsigned char *ranges,
                                         const long long *offsets, const int *neighbors,
                                         int *grouped, int *long_sums, int *short_sums,
                                         int *cold_counts) {
  // Entries per warp and range; then the rank of the next one in its range.
  __shared__ int counts[GROUP_WARPS][PAGERANK_MAX_SUMMED];
  // Of each range: entries, and where its long sums, short sums and single entry are in the list.
  __shared__ int totals[GROUP_WARPS][PAGERANK_MAX_SUMMED],
      long_starts[GROUP_WARPS][PAGERANK_MAX_SUMMED], short_starts[GROUP_WARPS][PAGERANK_MAX_SUMMED],
      single_starts[GROUP_WARPS][PAGERANK_MAX_SUMMED];
  __shared__ int other_counts[GROUP_WARPS], numbers[GROUP_WARPS][PAGERANK_SUM_KINDS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const unsigned lower_lanes = (1u << lane) - 1;
  const int team = warp / warps_per_row * warps_per_row, member = warp - team;
  const long long teams_per_block = blockDim.x / WARP / warps_per_row;
  const auto barrier = [&] {
    if (warps_per_row > 1)
      __syncthreads();
    else
      __syncwarp();
  };
  for (long long index = blockIdx.x * teams_per_block + team / warps_per_row; index < num_rows;
       index += gridDim.x * teams_per_block) {
    const int row = order[first_row + index];
    const long long start = offsets[row], length = offsets[row + 1] - start;
    if (length == 0) {
      if (lane == 0) long_sums[row] = short_sums[row] = 0;
      continue;
    }
    const long long first = start + length * member / warps_per_row,
                    stop = start + length * (member + 1) / warps_per_row;
    for (int range = lane; range < num_summed; range += WARP) counts[warp][range] = 0;
    __syncwarp();
    int others = 0;
    for_each_source(first, stop, neighbors, ranges, (const int *)nullptr, [&](int range, int) {
      const unsigned equal = __match_any_sync(FULL_MASK, range);
      if (range >= 0 && range != NO_RANGE && (equal & lower_lanes) == 0)
        counts[warp][range] += __popc(equal);
      others += __popc(__ballot_sync(FULL_MASK, range == NO_RANGE));
      __syncwarp();
    });
    if (lane == 0) other_counts[warp] = others;
    barrier();
    for (int range = lane + member * WARP; range < num_summed; range += WARP * warps_per_row) {
      int total = 0;
      for (int other = team; other < team + warps_per_row; other++) {
        const int count = counts[other][range];
        counts[other][range] = total;
        total += count;
      }
      totals[team][range] = total;
    }
    barrier();
    if (member == 0) {
      int num_long = 0, num_short = 0, num_single = 0;
      for (int base = 0; base < num_summed; base += WARP) {
        const int range = base + lane, total = range < num_summed ? totals[team][range] : 0;
        const int nums[PAGERANK_SUM_KINDS] = {total / PAGERANK_LONG_SUM,
                                              total % PAGERANK_LONG_SUM / PAGERANK_SHORT_SUM,
                                              total % PAGERANK_LONG_SUM % PAGERANK_SHORT_SUM};
        int ends[PAGERANK_SUM_KINDS] = {nums[0], nums[1], nums[2]};
#pragma unroll
        for (int step = 1; step < WARP; step *= 2)
#pragma unroll
          for (int k = 0; k < PAGERANK_SUM_KINDS; k++) {
            const int below = __shfl_up_sync(FULL_MASK, ends[k], step);
            if (lane >= step) ends[k] += below;
          }
        if (range < num_summed) {
          long_starts[team][range] = num_long + ends[0] - nums[0];
          short_starts[team][range] = num_short + ends[1] - nums[1];
          single_starts[team][range] = num_single + ends[2] - nums[2];
        }
        num_long += __shfl_sync(FULL_MASK, ends[0], WARP - 1);
        num_short += __shfl_sync(FULL_MASK, ends[1], WARP - 1);
        num_single += __shfl_sync(FULL_MASK, ends[2], WARP - 1);
      }
      if (lane == 0) {
        numbers[team][0] = num_long, numbers[team][1] = num_short, numbers[team][2] = num_single;
        long_sums[row] = num_long, short_sums[row] = num_short;
        atomicAdd(&cold_counts[row], num_long + num_short + num_single);
      }
    }
    barrier();
    const int after_long = numbers[team][0] * PAGERANK_LONG_SUM;
    const int after_short = after_long + numbers[team][1] * PAGERANK_SHORT_SUM;
    long long next_other = start + after_short + numbers[team][2];
    for (int other = team; other < warp; other++) next_other += other_counts[other];
    int num_cold = 0;
    for_each_source(
        first, stop, neighbors, ranges, contribution_index, [&](int range, int contribution) {
          const unsigned equal = __match_any_sync(FULL_MASK, range);
          const unsigned other = __ballot_sync(FULL_MASK, range == NO_RANGE);
          const bool is_summed = range >= 0 && range != NO_RANGE;
          const int rank = is_summed ? counts[warp][range] + __popc(equal & lower_lanes) : 0;
          __syncwarp();
          if (is_summed && (equal & lower_lanes) == 0) counts[warp][range] = rank + __popc(equal);
          __syncwarp();
          if (is_summed) {
            const int total = totals[team][range];
            const int in_long = total / PAGERANK_LONG_SUM * PAGERANK_LONG_SUM;
            const int in_short = total / PAGERANK_SHORT_SUM * PAGERANK_SHORT_SUM;
            const long long to =
                rank < in_long ? long_starts[team][range] * PAGERANK_LONG_SUM + rank
                : rank < in_short
                    ? after_long + short_starts[team][range] * PAGERANK_SHORT_SUM + rank - in_long
                    : after_short + single_starts[team][range];
            grouped[start + to] = contribution;
          } else if (range == NO_RANGE) {
            grouped[next_other + __popc(other & lower_lanes)] = contribution;
            num_cold += contribution >= num_cached;
          }
          next_other += __popc(other);
        });
    num_cold = warp_sum(num_cold);
    if (lane == 0 && num_cold) atomicAdd(&cold_counts[row], num_cold);
    barrier();
  }
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

// lengths[v] = entries of row v, and ranks[v] ascends with it; isolated rows have the lowest.
extern "C" __global__ void measure_lists(long long num_rows, const long long *offsets,
                                         const int *long_sums, const int *short_sums,
                                         const double *out_weights, long long *lengths,
                                         double *ranks) {
  STRIDE(row, num_rows) {
    const long long length = offsets[row + 1] - offsets[row] -
                             (PAGERANK_LONG_SUM - 1) * (long long)long_sums[row] -
                             (PAGERANK_SHORT_SUM - 1) * (long long)short_sums[row];
    lengths[row] = length;
    ranks[row] = (double)(2 * length + (out_weights[row] > 0.0));
  }
}

// counts[0] = rows longer than huge_length; counts[1 + k] = rows longer than PAGERANK_BLOCK_CHUNK /
// 2^k, for num_classes of k. Lengths are descending.
extern "C" __global__ void find_classes(long long num_rows, long long huge_length,
                                        long long num_classes, const long long *lengths,
                                        long long *counts) {
  STRIDE(index, num_classes + 1) {
    const long long length = index ? PAGERANK_BLOCK_CHUNK >> (index - 1) : huge_length;
    long long start = 0, stop = num_rows;
    while (start < stop) {
      const long long middle = (start + stop) / 2;
      if (lengths[middle] > length)
        start = middle + 1;
      else
        stop = middle;
    }
    counts[index] = start;
  }
}

// chunks[r] = chunks of long row r.
extern "C" __global__ void measure_chunks(long long num_long_rows, const long long *lengths,
                                          long long *chunks) {
  STRIDE(row, num_long_rows)
  chunks[row] = (lengths[row] + PAGERANK_BLOCK_CHUNK - 1) / PAGERANK_BLOCK_CHUNK;
}

// sizes[u] = groups of unit u; lengths are descending.
extern "C" __global__ void measure_units(long long num_units, const int *class_units,
                                         const int *class_rows, const int *chunk_rows,
                                         const int *chunk_offsets, const long long *lengths,
                                         long long *sizes) {
  STRIDE(unit, num_units) {
    long long length;
    int lanes = WARP;
    if (unit < class_units[1]) {
      const int row = chunk_rows[unit];
      const long long skipped = (unit - chunk_offsets[row]) * PAGERANK_BLOCK_CHUNK;
      length = min(lengths[row] - skipped, (long long)PAGERANK_BLOCK_CHUNK);
    } else {
      int unit_class = 1;
      while (unit >= class_units[unit_class + 1]) unit_class++;
      lanes = WARP >> (unit_class - 1);
      length = lengths[class_rows[unit_class] + (unit - class_units[unit_class]) * (WARP / lanes)];
    }
    const int entries = lanes * PAGERANK_LANE_ENTRIES;
    sizes[unit] = (length + entries - 1) / entries;
  }
}

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
