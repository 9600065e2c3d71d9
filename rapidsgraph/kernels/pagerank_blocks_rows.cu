// Rows of propagation blocking: their entries, among which are sums of contributions, and the units
// into which they are divided. pagerank_blocks.cu describes both.
//
// sum_gathers, find_ranges, count_longer and group_sources find the sums; measure_lists,
// find_classes, measure_chunks and measure_units divide rows into units.

#include "grid.cuh"

#define GROUP_WARPS (BLOCK_THREADS / WARP)  // of a block of group_sources
#define SOURCE_BATCH 4                      // entries that a thread of group_sources loads at once
#define NO_RANGE 255

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
