// Power iteration for PageRank with propagation blocking, in single precision, for graphs whose
// contributions exceed the caches: every gather is from shared memory, and global memory is read
// and written in order. In double precision, `iterate` in pagerank.cu is faster.
//
// The first num_cached contributions are hot. The others are divided into tiles of tile_width
// contributions, and rows into bins. An iteration has two phases with a barrier between them:
//
//   1. For each arc with a cold source, copy its contribution to `values`, tile by tile, from a
//      copy of the tile in shared memory. Within a tile, values are sorted by the bin of the row.
//   2. For each bin, load its values of all tiles into shared memory, behind the hot contributions,
//      and add up the rows. `positions` has the position in shared memory of each entry of a row.
//
// Contributions behind the last tile have few arcs per tile and bin. They form the tail, which is
// gathered from global memory.
//
// A block works on bins_per_block bins at once, by as many teams of threads, so that the loads of
// one bin overlap with the sums of another. Shared memory has the hot contributions, a zero, and
// bin_capacity values for each team; bin b is for team b % bins_per_block.
//
// Rows are sorted by descending in-degree. A unit is the work of one warp: 1 to 32 rows, each
// summed by 32 to 1 lanes. Units of class c are class_units[c] up to class_units[c + 1]; they have
// rows class_rows[c] up to class_rows[c + 1]. Class 0 has PAGERANK_BLOCK_CHUNK entries of one long
// row per unit, and the long rows are added up in a third phase. Lane l has its entries 4 k to
// 4 k + 3 of unit u at 128 (unit_offsets[u] + k) + 4 l, padded with the position of the zero.
//
// A segment is the values of one tile in one bin, padded to vectors of 16 bytes. It starts at
// vector segment_starts[s] of `values` and is copied to vector segment_offsets[s] of the bin, where
// s = bin (num_tiles + 1) + tile; segment_offsets has one more value per bin, the end of the last.
//
// References: S. Beamer, K. Asanovic, D. Patterson, "Reducing Pagerank communication via
// propagation blocking", IPDPS 2017. https://doi.org/10.1109/IPDPS.2017.112

#include "pagerank.cuh"

#define GROUP (PAGERANK_LANE_ENTRIES * WARP)
#define GROUPS_PER_UNIT (PAGERANK_BLOCK_CHUNK / GROUP)
#define NUM_CLASSES 7
#define VECTORS_AT_ONCE 4  // that a thread copies
#define TAIL_AT_ONCE 4
#define SEGMENT_LANES 8  // lanes that copy a segment

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

// Copy the lists of all units from (offsets, neighbors) by destination, as positions of
// contributions, and count the entries of each that are not cached.
extern "C" __global__ void arrange_units(
    long long num_units, long long num_rows, long long num_contributions, long long num_cached,
    const int *class_units, const int *class_rows, const int *chunk_rows, const int *chunk_offsets,
    const int *unit_offsets, const int *order, const int *contribution_index,
    const long long *offsets, const int *neighbors, const float *weights, long long weighted,
    int *new_neighbors, float *new_weights, int *num_cold) {
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long unit = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; unit < num_units;
       unit += warps) {
    const Lane lane = find_lane(unit, num_rows, class_units, class_rows, chunk_rows, chunk_offsets);
    long long start = 0, length = 0;
    if (lane.row >= 0) {
      start = offsets[order[lane.row]] + lane.chunk * (long long)PAGERANK_BLOCK_CHUNK;
      length = min(offsets[order[lane.row] + 1] - start, (long long)PAGERANK_BLOCK_CHUNK);
    }
    int cold = 0;
    for (int group = unit_offsets[unit]; group < unit_offsets[unit + 1]; group++) {
      const long long to = group * (long long)GROUP + threadIdx.x % WARP * PAGERANK_LANE_ENTRIES;
      for (int k = 0; k < PAGERANK_LANE_ENTRIES; k++) {
        const long long entry =
            ((group - unit_offsets[unit]) * PAGERANK_LANE_ENTRIES + k) * (long long)lane.lanes +
            lane.member;
        const bool is_entry = entry < length;
        const int neighbor =
            is_entry ? contribution_index[neighbors[start + entry]] : (int)num_contributions;
        cold += is_entry && neighbor >= num_cached;
        new_neighbors[to + k] = neighbor;
        if (weighted) new_weights[to + k] = is_entry ? weights[start + entry] : 0.0f;
      }
    }
    cold = warp_sum(cold);
    if (threadIdx.x % WARP == 0) num_cold[unit] = cold;
  }
}

// The tile of a contribution that is not cached, or num_tiles for the tail.
__device__ __forceinline__ int tile_of(int contribution, int num_cached, int tile_width,
                                       int num_tiles) {
  return min((contribution - num_cached) / tile_width, num_tiles);
}

// Count the values of each bin per tile; counts has num_tiles + 1 columns.
extern "C" __global__ void count_segments(long long num_bins, long long num_tiles,
                                          long long num_cached, long long num_contributions,
                                          long long tile_width, const int *bin_units,
                                          const int *unit_offsets, const int *neighbors,
                                          int *counts) {
  __shared__ int tile_counts[PAGERANK_MAX_TILES];
  for (long long bin = blockIdx.x; bin < num_bins; bin += gridDim.x) {
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x) tile_counts[tile] = 0;
    __syncthreads();
    const long long start = unit_offsets[bin_units[bin]] * (long long)GROUP;
    const long long stop = unit_offsets[bin_units[bin + 1]] * (long long)GROUP;
    for (long long entry = start + threadIdx.x; entry < stop; entry += blockDim.x) {
      const int neighbor = neighbors[entry];
      if (neighbor >= num_cached && neighbor < num_contributions)
        atomicAdd(&tile_counts[tile_of(neighbor, num_cached, tile_width, num_tiles)], 1);
    }
    __syncthreads();
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x)
      counts[bin * (num_tiles + 1) + tile] = tile_counts[tile];
    __syncthreads();
  }
}

// Give each cold entry a place in its segment: its position in shared memory, and the source of the
// value that phase 1 copies there, within its tile. The places of a segment are in any order.
extern "C" __global__ void place_entries(
    long long num_bins, long long num_tiles, long long num_cached, long long num_contributions,
    long long tile_width, long long bin_capacity, long long bins_per_block, const int *bin_units,
    const int *unit_offsets, const int *neighbors, const long long *tile_starts,
    const int *segment_starts, const unsigned short *segment_offsets, unsigned short *positions,
    unsigned short *sources, int *tail_sources) {
  __shared__ int num_placed[PAGERANK_MAX_TILES];
  for (long long bin = blockIdx.x; bin < num_bins; bin += gridDim.x) {
    for (int tile = threadIdx.x; tile <= num_tiles; tile += blockDim.x) num_placed[tile] = 0;
    __syncthreads();
    const long long start = unit_offsets[bin_units[bin]] * (long long)GROUP;
    const long long stop = unit_offsets[bin_units[bin + 1]] * (long long)GROUP;
    const long long first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity;
    for (long long entry = start + threadIdx.x; entry < stop; entry += blockDim.x) {
      const int neighbor = neighbors[entry];
      long long position = neighbor < num_cached ? neighbor : num_cached;  // of a hot value or 0
      if (neighbor >= num_cached && neighbor < num_contributions) {
        const int tile = tile_of(neighbor, num_cached, tile_width, num_tiles);
        const long long place = atomicAdd(&num_placed[tile], 1);
        const long long to = segment_starts[bin * (num_tiles + 1) + tile] * PAGERANK_VECTOR + place;
        position =
            first_slot + segment_offsets[bin * (num_tiles + 2) + tile] * PAGERANK_VECTOR + place;
        if (tile < num_tiles)
          sources[to] = neighbor - num_cached - tile * tile_width;
        else
          tail_sources[to - tile_starts[num_tiles]] = neighbor;
      }
      positions[entry] = position;
    }
    __syncthreads();
  }
}

// In assembly, since compilers split the store into its values.
__device__ __forceinline__ void store_vector(float *to, const float *values) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values[0]), "f"(values[1]),
               "f"(values[2]), "f"(values[3])
               : "memory");
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

// Load the 16-bit sources of several vectors.
__device__ __forceinline__ void load_sources(uint2 *loaded, const unsigned short *sources,
                                             long long first, long long end) {
#pragma unroll
  for (int j = 0; j < VECTORS_AT_ONCE; j++)
    loaded[j] = __ldcs((const uint2 *)sources + min(first + j * (long long)blockDim.x, end - 1));
}

// The first vector of the values that a block copies, for a share of the work of all tiles. The
// work of a tile is that of its values and of tile_vectors more, to load it.
__device__ __forceinline__ long long first_vector(long long work, int num_tiles, int tile_vectors,
                                                  const long long *tile_starts) {
  int tile = 0;
  for (int step = PAGERANK_MAX_TILES / 2; step > 0; step /= 2) {
    const int middle = tile + step;
    if (middle < num_tiles &&
        tile_starts[middle] / PAGERANK_VECTOR + middle * (long long)tile_vectors <= work)
      tile = middle;
  }
  const long long start = tile_starts[tile] / PAGERANK_VECTOR,
                  end = tile_starts[tile + 1] / PAGERANK_VECTOR;
  const long long done = work - start - (tile + 1) * (long long)tile_vectors;
  return min(end, start + max(0ll, done));
}

// Phase 1 for the tiles: each block has an equal share of the work.
__device__ __forceinline__ void copy_tiles(int num_tiles, int num_cached, int num_contributions,
                                           int tile_width, const long long *tile_starts,
                                           const unsigned short *sources,
                                           const float *contributions, float *tile_values,
                                           float *values) {
  if (num_tiles == 0) return;
  const int tile_vectors = tile_width * 3 / 2 / PAGERANK_VECTOR;
  const long long work =
      tile_starts[num_tiles] / PAGERANK_VECTOR + num_tiles * (long long)tile_vectors;
  long long vector =
      first_vector(work * blockIdx.x / gridDim.x, num_tiles, tile_vectors, tile_starts);
  const long long stop =
      blockIdx.x + 1 == gridDim.x
          ? tile_starts[num_tiles] / PAGERANK_VECTOR
          : first_vector(work * (blockIdx.x + 1) / gridDim.x, num_tiles, tile_vectors, tile_starts);
  int tile = 0;
  for (int step = PAGERANK_MAX_TILES / 2; step > 0; step /= 2)
    if (tile + step < num_tiles && tile_starts[tile + step] <= PAGERANK_VECTOR * vector)
      tile += step;
  while (vector < stop) {
    while (tile_starts[tile + 1] <= PAGERANK_VECTOR * vector) tile++;
    const long long end = min(stop, tile_starts[tile + 1] / PAGERANK_VECTOR);
    const int first = num_cached + tile * tile_width;
    const int width = min(tile_width, num_contributions + 1 - first);
    __syncthreads();
    for (int i = PAGERANK_VECTOR * threadIdx.x; i < width; i += PAGERANK_VECTOR * blockDim.x)
      copy_vector(tile_values + i, contributions + first + i);
    wait_for_copies();
    __syncthreads();
    // The next sources are loaded while the values of the last ones are copied.
    uint2 loaded[VECTORS_AT_ONCE], next[VECTORS_AT_ONCE];
    load_sources(loaded, sources, vector + threadIdx.x, end);
    for (vector += threadIdx.x; vector < end; vector += VECTORS_AT_ONCE * blockDim.x) {
      load_sources(next, sources, vector + VECTORS_AT_ONCE * blockDim.x, end);
#pragma unroll
      for (int j = 0; j < VECTORS_AT_ONCE; j++) {
        const float copied[PAGERANK_VECTOR] = {
            tile_values[loaded[j].x & 0xffff], tile_values[loaded[j].x >> 16],
            tile_values[loaded[j].y & 0xffff], tile_values[loaded[j].y >> 16]};
        if (vector + j * blockDim.x < end)
          store_vector(values + PAGERANK_VECTOR * (vector + j * blockDim.x), copied);
        loaded[j] = next[j];
      }
    }
    vector = end;
  }
}

// Phase 1 for the tail: gather from global memory.
__device__ __forceinline__ void copy_tail(long long size, const int *sources,
                                          const float *contributions, float *values) {
  const long long threads = gridDim.x * (long long)blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size;
       i += TAIL_AT_ONCE * threads) {
    int source[TAIL_AT_ONCE];
    float value[TAIL_AT_ONCE];
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
                                         const unsigned short *segment_offsets, const float *values,
                                         float *bin_values) {
  const int lane = threadIdx.x % WARP, num_segments = num_tiles + 1;
  const int *starts = segment_starts + bin * (long long)num_segments;
  const unsigned short *offsets = segment_offsets + bin * (num_segments + 1ll);
  const int after = (warp + 1) * num_segments / warps;
  for (int batch = warp * num_segments / warps; batch < after; batch += WARP) {
    const int segment = min(batch + lane, num_segments - 1), count = min(WARP, after - batch);
    const int start = starts[segment], offset = offsets[segment], stop = offsets[segment + 1];
    for (int first = 0; first < count; first += WARP / SEGMENT_LANES) {
      const int own = first + lane / SEGMENT_LANES;
      const uint4 *from = (const uint4 *)values + __shfl_sync(FULL_MASK, start, own);
      const int to = __shfl_sync(FULL_MASK, offset, own);
      const int after_own = __shfl_sync(FULL_MASK, stop, own);
      const int length = own < count ? after_own - to : 0;
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
  __device__ __forceinline__ double sum(int groups, const float *weights,
                                        const float *cached) const {
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < GROUPS_PER_UNIT; k++) {
      if (k >= groups) break;
      const float a = cached[positions[k].x & 0xffff], b = cached[positions[k].x >> 16],
                  c = cached[positions[k].y & 0xffff], d = cached[positions[k].y >> 16];
      if (WEIGHTED) {
        const float4 w = __ldcs((const float4 *)weights + k * WARP);
        sum += ((double)w.x * (double)a + (double)w.y * (double)b) +
               ((double)w.z * (double)c + (double)w.w * (double)d);
      } else {
        sum += (a + b) + (c + d);  // in single precision, since conversions are slow
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
  float *new_contributions, *pagerank;
  double residual = 0.0, new_dangling_mass = 0.0;

  __device__ __forceinline__ void finish_row(int row, double sum, float old, float inverse,
                                             int index) {
    const float value = has_teleports | has_dangling_weights
                            ? finish(sum, damping, teleport, has_teleports ? 2 : 1, dangling_mass,
                                     dangling_weights, has_dangling_weights ? 2 : 1, row)
                            : damping * sum + base;
    residual += fabs((double)value - (double)old);
    pagerank[row] = value;
    if (inverse == 0.0f)
      new_dangling_mass += value;
    else
      new_contributions[index] = (double)value * (double)inverse;
  }
};

// Phase 3: add up the chunks of rows, `lanes` lanes per row.
__device__ __forceinline__ void finish_long_rows(int first_row, int last_row, int lanes,
                                                 const int *chunk_offsets, const double *chunk_sums,
                                                 const float *inverse_weights,
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
                   const int *bin_units, const long long *tile_starts, const int *segment_starts,
                   const unsigned short *segment_offsets, const unsigned short *positions,
                   const float *weights, long long weighted, const unsigned short *sources,
                   const int *tail_sources, const int *contribution_index,
                   const float *inverse_weights, const double *teleport, long long num_teleports,
                   const double *dangling_weights, long long num_dangling_weights,
                   float *contributions, float *pagerank, float *values, double *chunk_sums,
                   double *partials, unsigned long long *arrived_blocks, double *state) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int units_of_class[NUM_CLASSES + 1], rows_of_class[NUM_CLASSES + 1];
  float *cached = (float *)shared;
  if (threadIdx.x <= NUM_CLASSES) {
    units_of_class[threadIdx.x] = class_units[threadIdx.x];
    rows_of_class[threadIdx.x] = class_rows[threadIdx.x];
  }
  const int team_threads = blockDim.x / bins_per_block, team = threadIdx.x / team_threads;
  const int warp = threadIdx.x % team_threads / WARP, warps = team_threads / WARP;
  float *bin_values = cached + num_cached + PAGERANK_VECTOR + team * bin_capacity;
  const int num_active = num_rows - num_isolated;
  double iterations_done = state[0], residual = state[1], dangling_mass = state[2],
         converged = state[3], isolated_value = state[4];
  unsigned long long barrier = 0;

  for (long long iteration = 0; iteration < num_iterations && converged == 0.0; iteration++) {
    const int parity = (long long)iterations_done & 1;
    const float *old_contributions = contributions + parity * (num_contributions + 1);
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

    copy_tiles(num_tiles, num_cached, num_contributions, tile_width, tile_starts, sources,
               old_contributions, cached, values);
    copy_tail(tile_starts[num_tiles + 1] - tile_starts[num_tiles], tail_sources, old_contributions,
              values + tile_starts[num_tiles]);
    grid_barrier(arrived_blocks, ++barrier);

    for (int i = PAGERANK_VECTOR * threadIdx.x; i < num_cached; i += PAGERANK_VECTOR * blockDim.x)
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
    const auto load_offsets = [&](int of) {
      return of < stop ? make_int2(unit_offsets[of], unit_offsets[of + 1]) : make_int2(0, 0);
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
        float inverse = 0, old = 0;
        int index = 0;
        if (is_first) {
          inverse = inverse_weights[row];
          old = pagerank[row];
          index = contribution_index[row];
        }
        const int groups = offsets.y - offsets.x;
        const float *own_weights =
            weights + offsets.x * (long long)GROUP + lane * PAGERANK_LANE_ENTRIES;
        double sum = weighted ? entries.sum<true>(groups, own_weights, cached)
                              : entries.sum<false>(groups, own_weights, cached);
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
