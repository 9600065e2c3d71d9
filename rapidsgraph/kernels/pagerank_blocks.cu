// Power iteration for PageRank with propagation blocking, for graphs whose contributions exceed the
// caches: every gather is from shared memory, and global memory is read and written in order.
//
// The first num_cached contributions are hot. The others are divided into ranges of tile_width
// contributions, and rows into bins. An iteration has two phases with a barrier between them:
//
//   1. Write the contributions of arcs with a cold source to `values`, range by range, from a copy
//      of the range in shared memory. Within a range, values are sorted by the bin of the row.
//   2. For each bin, load its values of all ranges into shared memory, behind the hot
//      contributions, and add up the rows. `positions` has the position in shared memory of each
//      entry of a row.
//
// Rows have several arcs from the first ranges, which have the vertices of most out-edges. Without
// weights, phase 1 adds these up: each of the first num_summed ranges has a tile of values that are
// the sum of PAGERANK_LONG_SUM contributions of a row, a tile of sums of PAGERANK_SHORT_SUM, and a
// tile of the single ones left. Each other range is one tile of single contributions. Tile t has
// values tile_starts[t] up to tile_starts[t + 1], of tile_terms[t] contributions each; they are
// tile_firsts[t] plus `sources`, from source_starts[t] on.
//
// Contributions behind the last tile have few arcs per tile and bin. They form the tail, which is
// gathered from global memory.
//
// A block works on bins_per_block bins at once, by as many teams of threads, so that the loads of
// one bin overlap with the sums of another. Shared memory has the hot contributions, a zero, and
// bin_capacity values for each team; bin b is for team b % bins_per_block.
//
// Rows are sorted by descending number of entries. A unit is the work of one warp: 1 to 32 rows,
// each summed by 32 to 1 lanes. Units of class c are class_units[c] up to class_units[c + 1]; they
// have rows class_rows[c] up to class_rows[c + 1]. Class 0 has PAGERANK_BLOCK_CHUNK entries of one
// long row per unit, and the long rows are added up in a third phase. Lane l has its entries 4 k to
// 4 k + 3 of unit u at 128 (unit_offsets[u] + k) + 4 l, padded with the position of the zero.
//
// A segment is the values of one tile in one bin, padded to vectors of 16 bytes. It starts at
// vector segment_starts[s] of `values` and is copied to vector segment_offsets[s] of the bin, where
// s = bin (num_tiles + 1) + tile; segment_offsets has one more value per bin, the end of the last.
//
// References: S. Beamer, K. Asanovic, D. Patterson, "Reducing Pagerank communication via
// propagation blocking", IPDPS 2017. https://doi.org/10.1109/IPDPS.2017.112

#include "pagerank.cuh"

#ifndef value_t
#define value_t float
#endif

#define GROUP (PAGERANK_LANE_ENTRIES * WARP)
#define GROUPS_PER_UNIT (PAGERANK_BLOCK_CHUNK / GROUP)
#define NUM_CLASSES 7
#define VALUES_PER_VECTOR (16 / (int)sizeof(value_t))
#define MAX_SOURCES_AT_ONCE 8
#define TAIL_AT_ONCE 4
#define SEGMENT_LANES 8  // lanes that copy a segment

// Stores of several values, in assembly, since compilers split them.
__device__ __forceinline__ void store_values(float *to, const float (&values)[4]) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values[0]), "f"(values[1]),
               "f"(values[2]), "f"(values[3])
               : "memory");
}

__device__ __forceinline__ void store_values(float *to, const float (&values)[2]) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(values[0]), "f"(values[1])
               : "memory");
}

__device__ __forceinline__ void store_values(double *to, const double (&values)[2]) {
  asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(values[0]), "d"(values[1])
               : "memory");
}

template <class T>
__device__ __forceinline__ void store_values(T *to, const T (&values)[1]) {
  *to = values[0];
}

// Copy 16 bytes to shared memory without waiting, where the architecture can.
__device__ __forceinline__ void copy_vector(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
      "l"(from)
      : "memory");
#else
  *(uint4 *)to = __ldcg((const uint4 *)from);
#endif
}

__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Barrier of the threads of a team.
__device__ __forceinline__ void team_barrier(int team, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(threads) : "memory");
}

// Several 16-bit sources, two per word.
template <int COUNT>
struct Sources {
  unsigned int words[COUNT / 2];

  __device__ __forceinline__ void load(const unsigned short *from) {
    if constexpr (COUNT == 8) {
      const uint4 loaded = __ldcs((const uint4 *)from);
      words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
    } else if constexpr (COUNT == 4) {
      const uint2 loaded = __ldcs((const uint2 *)from);
      words[0] = loaded.x, words[1] = loaded.y;
    } else {
      words[0] = __ldcs((const unsigned int *)from);
    }
  }

  // The sum of TERMS values from the given one on.
  template <int TERMS>
  __device__ __forceinline__ value_t sum(const value_t *values, int first) const {
    if constexpr (TERMS == 1)
      return values[first % 2 ? words[first / 2] >> 16 : words[first / 2] & 0xffff];
    else
      return sum<TERMS / 2>(values, first) + sum<TERMS / 2>(values, first + TERMS / 2);
  }
};

// Sources that a thread loads at once in a tile of sums of `terms` contributions.
__device__ __forceinline__ constexpr int sources_at_once(int terms) {
  return terms * VALUES_PER_VECTOR < MAX_SOURCES_AT_ONCE ? terms * VALUES_PER_VECTOR
                                                         : MAX_SOURCES_AT_ONCE;
}

// Sum contributions of a tile, TERMS at a time: loads `first` to `end` of its sources.
template <int TERMS>
__device__ __forceinline__ void sum_tile(long long first, long long end,
                                         const unsigned short *sources, const value_t *tile_values,
                                         value_t *values) {
  constexpr int SOURCES = sources_at_once(TERMS), SUMS = SOURCES / TERMS;
  constexpr int LOADS = SOURCES == MAX_SOURCES_AT_ONCE ? 2 : 4;
  // The next sources are loaded while the values of the last ones are added up.
  Sources<SOURCES> loaded[LOADS], next[LOADS];
  const auto load = [&](Sources<SOURCES> *to, long long index) {
#pragma unroll
    for (int j = 0; j < LOADS; j++)
      to[j].load(sources + SOURCES * min(index + j * (long long)blockDim.x, end - 1));
  };
  long long index = first + threadIdx.x;
  load(loaded, index);
  for (; index < end; index += LOADS * blockDim.x) {
    load(next, index + LOADS * blockDim.x);
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
      value_t sums[SUMS];
#pragma unroll
      for (int k = 0; k < SUMS; k++)
        sums[k] = loaded[j].template sum<TERMS>(tile_values, TERMS * k);
      if (index + j * blockDim.x < end)
        store_values(values + SUMS * (index + j * (long long)blockDim.x), sums);
      loaded[j] = next[j];
    }
  }
}

// Phase 1 for the tiles: each block has an equal share of the work. The work of a tile is that of
// loading it, its bytes, and that of its sums, which tile_work adds up for all tiles.
__device__ __forceinline__ void copy_tiles(int num_tiles, int num_contributions, int tile_width,
                                           const long long *tile_starts,
                                           const long long *source_starts, const int *tile_firsts,
                                           const int *tile_terms, const long long *tile_work,
                                           const unsigned short *sources,
                                           const value_t *contributions, value_t *tile_values,
                                           value_t *values) {
  if (num_tiles == 0) return;
  const long long begin = tile_work[num_tiles] * blockIdx.x / gridDim.x,
                  end = tile_work[num_tiles] * (blockIdx.x + 1) / gridDim.x;
  int tile = 0, loaded_first = -1;
  for (int step = PAGERANK_MAX_TILES / 2; step > 0; step /= 2)
    if (tile + step < num_tiles && tile_work[tile + step] <= begin) tile += step;
  for (; tile < num_tiles && tile_work[tile] < end; tile++) {
    const int terms = tile_terms[tile], first = tile_firsts[tile];
    const long long before = tile_work[tile] + tile_width * (long long)sizeof(value_t);
    const long long work = tile_work[tile + 1] - before;
    const long long loads =
        (source_starts[tile + 1] - source_starts[tile]) / sources_at_once(terms);
    if (loads == 0) continue;
    const long long load_work = work / loads;  // of each load, the same in a tile
    const long long first_load = min(max(begin - before, 0ll), work) / load_work,
                    after_loads = min(max(end - before, 0ll), work) / load_work;
    if (first_load >= after_loads) continue;
    if (first != loaded_first) {
      const int width = min(tile_width, num_contributions + 1 - first);
      __syncthreads();
      for (int i = VALUES_PER_VECTOR * threadIdx.x; i < width; i += VALUES_PER_VECTOR * blockDim.x)
        copy_vector(tile_values + i, contributions + first + i);
      wait_for_copies();
      __syncthreads();
      loaded_first = first;
    }
    const unsigned short *tile_sources = sources + source_starts[tile];
    value_t *tile_sums = values + tile_starts[tile];
    if (terms == 1)
      sum_tile<1>(first_load, after_loads, tile_sources, tile_values, tile_sums);
    else if (terms == PAGERANK_SHORT_SUM)
      sum_tile<PAGERANK_SHORT_SUM>(first_load, after_loads, tile_sources, tile_values, tile_sums);
    else
      sum_tile<PAGERANK_LONG_SUM>(first_load, after_loads, tile_sources, tile_values, tile_sums);
  }
}

// Phase 1 for the tail: gather from global memory.
__device__ __forceinline__ void copy_tail(long long size, const int *sources,
                                          const value_t *contributions, value_t *values) {
  const long long threads = gridDim.x * (long long)blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size;
       i += TAIL_AT_ONCE * threads) {
    int source[TAIL_AT_ONCE];
    value_t value[TAIL_AT_ONCE];
#pragma unroll
    for (int j = 0; j < TAIL_AT_ONCE; j++)
      source[j] = __ldcs(sources + min(i + j * threads, size - 1));
#pragma unroll
    for (int j = 0; j < TAIL_AT_ONCE; j++) value[j] = contributions[source[j]];
#pragma unroll
    for (int j = 0; j < TAIL_AT_ONCE; j++)
      if (i + j * threads < size) values[i + j * threads] = value[j];
  }
}

// Load the values of a bin into shared memory. Each warp has an equal number of segments, and
// copies each by SEGMENT_LANES lanes.
__device__ __forceinline__ void copy_bin(int bin, int num_tiles, int warp, int warps,
                                         const int *segment_starts,
                                         const unsigned short *segment_offsets,
                                         const value_t *values, value_t *bin_values) {
  const int lane = threadIdx.x % WARP, num_segments = num_tiles + 1;
  const int *starts = segment_starts + bin * (long long)num_segments;
  const unsigned short *offsets = segment_offsets + bin * (num_segments + 1ll);
  const int after = (warp + 1) * num_segments / warps;
  for (int batch = warp * num_segments / warps; batch < after; batch += WARP) {
    const int segment = min(batch + lane, num_segments - 1), count = min(WARP, after - batch);
    const int start = starts[segment], offset = offsets[segment], stop = offsets[segment + 1];
    for (int first = 0; first < count; first += WARP / SEGMENT_LANES) {
      const int index = first + lane / SEGMENT_LANES;
      const uint4 *from = (const uint4 *)values + __shfl_sync(FULL_MASK, start, index);
      const int to = __shfl_sync(FULL_MASK, offset, index);
      const int end = __shfl_sync(FULL_MASK, stop, index);
      const int length = index < count ? end - to : 0;
      for (int i = lane % SEGMENT_LANES; i < length; i += SEGMENT_LANES)
        copy_vector((uint4 *)bin_values + to + i, from + i);
    }
  }
}

// The entries of a lane in one unit.
struct Entries {
  uint2 positions[GROUPS_PER_UNIT];

  __device__ __forceinline__ void load(const unsigned short *all, int2 offsets) {
    const uint2 *from = (const uint2 *)all + offsets.x * (long long)WARP + threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < GROUPS_PER_UNIT; k++)
      if (offsets.x + k < offsets.y) positions[k] = __ldcs(from + k * WARP);
  }

  // The sum of the values at the positions, times the weights if there are any.
  template <bool WEIGHTED>
  __device__ __forceinline__ double sum(int groups, const value_t *weights,
                                        const value_t *cached) const {
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < GROUPS_PER_UNIT; k++) {
      if (k >= groups) break;
      const value_t a = cached[positions[k].x & 0xffff], b = cached[positions[k].x >> 16],
                    c = cached[positions[k].y & 0xffff], d = cached[positions[k].y >> 16];
      if (WEIGHTED) {
        const value_t *from = weights + k * GROUP;
        sum += ((double)__ldcs(from) * (double)a + (double)__ldcs(from + 1) * (double)b) +
               ((double)__ldcs(from + 2) * (double)c + (double)__ldcs(from + 3) * (double)d);
      } else {
        sum += (double)((a + b) + (c + d));  // conversions of single precision are slow
      }
    }
    return sum;
  }
};

// The sum of a value over `lanes` neighboring lanes.
__device__ __forceinline__ double lanes_sum(double value, int lanes) {
#pragma unroll
  for (int step = WARP / 2; step > 0; step /= 2)
    if (step < lanes) value += __shfl_xor_sync(FULL_MASK, value, step);
  return value;
}

// The update of rows by one thread. PageRank is stored in the order of rows, where it is read again
// in the next iteration; contributions are stored where they are gathered.
struct RowUpdate {
  double damping, base, dangling_mass;
  const double *teleport;
  bool has_teleports;
  const double *dangling_weights;
  bool has_dangling_weights;
  value_t *new_contributions, *pagerank;
  double residual = 0.0, new_dangling_mass = 0.0;

  __device__ __forceinline__ void finish_row(int row, double sum, value_t old, value_t inverse,
                                             int index) {
    const value_t value = has_teleports | has_dangling_weights
                              ? finish(sum, damping, teleport, has_teleports ? 2 : 1, dangling_mass,
                                       dangling_weights, has_dangling_weights ? 2 : 1, row)
                              : damping * sum + base;
    residual += fabs((double)value - (double)old);
    pagerank[row] = value;
    if (inverse == (value_t)0)
      new_dangling_mass += value;
    else
      new_contributions[index] = (double)value * (double)inverse;
  }
};

// Phase 3: add up the chunks of rows, `lanes` lanes per row.
__device__ __forceinline__ void finish_long_rows(int first_row, int last_row, int lanes,
                                                 const int *chunk_offsets, const double *chunk_sums,
                                                 const value_t *inverse_weights,
                                                 const int *contribution_index, RowUpdate &update) {
  const int per_warp = WARP / lanes, warps = gridDim.x * (blockDim.x / WARP);
  const int warp = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  const int member = threadIdx.x % lanes;
  for (long long base = first_row + warp * (long long)per_warp; base < last_row;
       base += warps * (long long)per_warp) {
    const int row = base + threadIdx.x % WARP / lanes;
    double sum = 0.0;
    if (row < last_row)
      for (int chunk = chunk_offsets[row] + member; chunk < chunk_offsets[row + 1]; chunk += lanes)
        sum += __ldcg(chunk_sums + chunk);
    sum = lanes_sum(sum, lanes);
    if (row < last_row && member == 0)
      update.finish_row(row, sum, update.pagerank[row], inverse_weights[row],
                        contribution_index[row]);
  }
}

// Up to `num_iterations` iterations in one cooperative launch. contributions, partials, state and
// the isolated rows are as for `iterate` in pagerank.cu; pagerank has the value of every row. The
// first num_huge_rows long rows have so many chunks that a warp adds them up.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    iterate_blocks(long long num_iterations, double tolerance, double damping, long long num_rows,
                   long long num_contributions, long long num_isolated, long long num_long_rows,
                   long long num_huge_rows, long long num_bins, long long num_tiles,
                   long long num_cached, long long tile_width, long long bins_per_block,
                   long long bin_capacity, const int *class_units, const int *class_rows,
                   const int *chunk_rows, const int *chunk_offsets, const int *unit_offsets,
                   const int *bin_units, const long long *tile_starts,
                   const long long *source_starts, const int *tile_firsts, const int *tile_terms,
                   const long long *tile_work, const int *segment_starts,
                   const unsigned short *segment_offsets, const unsigned short *positions,
                   const value_t *weights, long long weighted, const unsigned short *sources,
                   const int *tail_sources, const int *contribution_index,
                   const value_t *inverse_weights, const double *teleport, long long num_teleports,
                   const double *dangling_weights, long long num_dangling_weights,
                   value_t *contributions, value_t *pagerank, value_t *values, double *chunk_sums,
                   double *partials, unsigned long long *arrived_blocks, double *state) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int units_of_class[NUM_CLASSES + 1], rows_of_class[NUM_CLASSES + 1];
  value_t *cached = (value_t *)shared;
  if (threadIdx.x <= NUM_CLASSES) {
    units_of_class[threadIdx.x] = class_units[threadIdx.x];
    rows_of_class[threadIdx.x] = class_rows[threadIdx.x];
  }
  const int team_threads = blockDim.x / bins_per_block, team = threadIdx.x / team_threads;
  const int warp = threadIdx.x % team_threads / WARP, warps = team_threads / WARP;
  value_t *bin_values = cached + num_cached + PAGERANK_VECTOR + team * bin_capacity;
  const int num_active = num_rows - num_isolated;
  double iterations_done = state[0], residual = state[1], dangling_mass = state[2],
         converged = state[3], isolated_value = state[4];
  unsigned long long barrier = 0;

  for (long long iteration = 0; iteration < num_iterations && converged == 0.0; iteration++) {
    const int parity = (long long)iterations_done & 1;
    const value_t *old_contributions = contributions + parity * (num_contributions + 1);
    const double base = teleport[0] + dangling_mass * dangling_weights[0];
    RowUpdate update = {damping,
                        base,
                        dangling_mass,
                        teleport,
                        num_teleports > 1,
                        dangling_weights,
                        num_dangling_weights > 1,
                        contributions + (1 - parity) * (num_contributions + 1),
                        pagerank};

    copy_tiles(num_tiles, num_contributions, tile_width, tile_starts, source_starts, tile_firsts,
               tile_terms, tile_work, sources, old_contributions, cached, values);
    copy_tail(tile_starts[num_tiles + 1] - tile_starts[num_tiles], tail_sources, old_contributions,
              values + tile_starts[num_tiles]);
    grid_barrier(arrived_blocks, ++barrier);

    for (int i = VALUES_PER_VECTOR * threadIdx.x; i < num_cached;
         i += VALUES_PER_VECTOR * blockDim.x)
      copy_vector(cached + i, old_contributions + i);
    if (threadIdx.x == 0) cached[num_cached] = 0;
    wait_for_copies();
    __syncthreads();
    // Bins descend in size, so blocks take them in a snake order: 0 1 2 3 3 2 1 0 0 1 ...
    const auto bin_of = [&](int round) {
      const int block = round & 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
      return (int)((round * gridDim.x + block) * bins_per_block + team);
    };
    int bin = bin_of(0), unit = 0, stop = 0;
    if (bin < num_bins) unit = bin_units[bin] + warp, stop = bin_units[bin + 1];
    const auto load_offsets = [&](int number) {
      return number < stop ? make_int2(unit_offsets[number], unit_offsets[number + 1])
                           : make_int2(0, 0);
    };
    // The positions of a unit are loaded while the unit before is added up, and the offsets of its
    // positions one unit earlier.
    int2 offsets = load_offsets(unit), next_offsets = load_offsets(unit + warps);
    for (int round = 1; bin < num_bins; round++) {
      Entries entries, next_entries;
      entries.load(positions, offsets);
      copy_bin(bin, num_tiles, warp, warps, segment_starts, segment_offsets, values, bin_values);
      bin = bin_of(round);
      int next_unit = 0, next_stop = 0, unit_class = 0;
      if (bin < num_bins) next_unit = bin_units[bin] + warp, next_stop = bin_units[bin + 1];
      wait_for_copies();
      team_barrier(team, team_threads);
      for (; unit < stop; unit += warps) {
        const int2 later_offsets = load_offsets(unit + 2 * warps);
        next_entries.load(positions, next_offsets);
        while (unit >= units_of_class[unit_class + 1]) unit_class++;
        // 2^shift lanes have a row; chunks are of class 0.
        const int shift = min(5, 6 - unit_class), lanes = 1 << shift, lane = threadIdx.x % WARP;
        const int row = rows_of_class[unit_class] +
                        ((unit - units_of_class[unit_class]) << (5 - shift)) + (lane >> shift);
        const bool is_first = unit_class > 0 && (lane & (lanes - 1)) == 0 &&
                              row < min(rows_of_class[unit_class + 1], num_active);
        value_t inverse = 0, old = 0;
        int index = 0;
        if (is_first) {
          inverse = inverse_weights[row];
          old = pagerank[row];
          index = contribution_index[row];
        }
        const int groups = offsets.y - offsets.x;
        const value_t *lane_weights =
            weights + offsets.x * (long long)GROUP + lane * PAGERANK_LANE_ENTRIES;
        double sum = weighted ? entries.sum<true>(groups, lane_weights, cached)
                              : entries.sum<false>(groups, lane_weights, cached);
        sum = lanes_sum(sum, lanes);
        offsets = next_offsets, next_offsets = later_offsets, entries = next_entries;
        if (is_first) update.finish_row(row, sum, old, inverse, index);
        if (unit_class == 0 && lane == 0) chunk_sums[unit] = sum;
      }
      unit = next_unit, stop = next_stop;
      offsets = load_offsets(unit), next_offsets = load_offsets(unit + warps);
      team_barrier(team, team_threads);
    }
    if (num_long_rows) {
      grid_barrier(arrived_blocks, ++barrier);
      finish_long_rows(0, num_huge_rows, WARP, chunk_offsets, chunk_sums, inverse_weights,
                       contribution_index, update);
      finish_long_rows(num_huge_rows, num_long_rows, 4, chunk_offsets, chunk_sums, inverse_weights,
                       contribution_index, update);
    }

    double *sums = partials + parity * 2 * gridDim.x;
    const double my_residual = block_sum(update.residual);
    const double my_dangling_mass = block_sum(update.new_dangling_mass);
    if (threadIdx.x == 0) {
      sums[2 * blockIdx.x] = my_residual;
      sums[2 * blockIdx.x + 1] = my_dangling_mass;
    }
    grid_barrier(arrived_blocks, ++barrier);
    residual = dangling_mass = 0.0;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
      residual += __ldcg(sums + 2 * block);
      dangling_mass += __ldcg(sums + 2 * block + 1);
    }
    residual = block_sum(residual) + num_isolated * fabs(base - isolated_value);
    dangling_mass = block_sum(dangling_mass) + num_isolated * base;
    isolated_value = base;
    iterations_done += 1.0;
    converged = residual < tolerance;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[0] = iterations_done;
    state[1] = residual;
    state[2] = dangling_mass;
    state[3] = converged;
    state[4] = isolated_value;
  }
}
