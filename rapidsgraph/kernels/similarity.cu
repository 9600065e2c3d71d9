// Count the common neighbors of the endpoints of every edge.
//
// An edge is oriented to the endpoint of higher degree, of equal degrees to the later vertex; the
// upper neighbors of a vertex are the endpoints that its edges point to. Both endpoints of the
// lowest edge of a triangle have the third vertex as upper neighbor, so every triangle is counted
// once: the upper list of the endpoint x that has the longer one (the owner) is stored in a hash
// table, in which the list of the other is looked up. A triangle counts for three edges: (x, y), in
// a register; the edge of x, beside the table; and the edge of y, in memory.
//
// Adjacency lists have both directions, are ascending and have no self-loops or parallel arcs;
// degrees do not count the vertex itself.
//
// References: Chiba, Nishizeki, SIAM J. Comput. 14(1), 1985, https://doi.org/10.1137/0214017
// (orientation by degree); Schank, Wagner, WEA 2005, https://doi.org/10.1007/11427186_54 (forward
// algorithm); Stovall, Kockara, Avci, IEEE TPDS 26(12), 2015,
// https://doi.org/10.1109/TPDS.2014.2374607 (GPUSCAN: compare_lists).

#include "hash_table.cuh"
#include "rows.cuh"
#include "search.cuh"

#define OWNERS_PER_FETCH 4  // owners that a warp fetches at a time
#define BATCH 4             // items of a list that a lane loads at once
#define MAX_LANE_DEGREE 8   // upper neighbors that a single lane looks up

__device__ __forceinline__ bool is_above(const int *degrees, long long vertex, int other) {
  const int degree = degrees[vertex], other_degree = degrees[other];
  return other_degree > degree || (other_degree == degree && other > vertex);
}

// sizes[v] = vertices in v's upper list.
extern "C" __global__ void count_upper(long long num_vertices, const long long *offsets,
                                       const int *neighbors, const int *degrees, long long *sizes) {
  each_row(num_vertices, nullptr, offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             long long size = 0;
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               int num_flagged;
               lanes.rank(arc < stop && is_above(degrees, row, neighbors[arc]), &num_flagged);
               size += num_flagged;
             }
             if (lanes.lane == 0) sizes[row] = size;
           });
}

// Upper lists, ascending.
extern "C" __global__ void gather_upper(long long num_vertices, const long long *offsets,
                                        const int *neighbors, const int *degrees,
                                        const long long *upper_offsets, int *upper_neighbors) {
  each_row(num_vertices, nullptr, offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             long long index = upper_offsets[row];
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               const int neighbor = arc < stop ? neighbors[arc] : row;
               const bool above = is_above(degrees, row, neighbor);
               int num_flagged;
               const int before = lanes.rank(above, &num_flagged);
               if (above) upper_neighbors[index + before] = neighbor;
               index += num_flagged;
             }
           });
}

// Return whether `vertex` owns the pair: its upper list is longer, or as long and it is later.
__device__ __forceinline__ bool is_owner(long long size, long long vertex, long long other_size,
                                         long long other) {
  return size > 1 && other_size > 0 &&
         (size > other_size || (size == other_size && vertex > other));
}

// Triangles whose owner has at most `max_degree` neighbors: lists are merged, one thread per owner.
// As in the next entries, the lists may lack neighbors that degrees count, and their triangles.
extern "C" __global__ void count_by_thread(long long num_vertices, long long max_degree,
                                           const int *degrees, const long long *offsets,
                                           const int *neighbors, const long long *upper_offsets,
                                           const int *upper_neighbors, int *triangles) {
  STRIDE(x, num_vertices) {
    if (degrees[x] > max_degree) continue;
    const long long start = offsets[x], stop = offsets[x + 1];
    const long long first = upper_offsets[x], last = upper_offsets[x + 1];
    if (last - first < 2) continue;
    for (long long arc = start; arc < stop; arc++) {
      const int y = neighbors[arc];
      const long long y_first = upper_offsets[y], y_last = upper_offsets[y + 1];
      if (!is_owner(last - first, x, y_last - y_first, y)) continue;
      long long i = first, j = y_first, edge = EMPTY;
      int num_common = 0;
      while (i < last && j < y_last) {
        const int one = upper_neighbors[i], other = upper_neighbors[j];
        if (one == other) {
          atomicAdd(&triangles[i], 1);
          atomicAdd(&triangles[j], 1);
          num_common++;
        }
        i += one <= other;
        j += other <= one;
      }
      if (!num_common) continue;
      for (i = first; i < last; i++)
        if (upper_neighbors[i] == y) edge = i;
      for (j = y_first; j < y_last; j++)
        if (upper_neighbors[j] == x) edge = j;
      atomicAdd(&triangles[edge], num_common);
    }
  }
}

struct Lists {
  const long long *offsets;
  const int *neighbors;
  const long long *upper_offsets;
  const int *upper;
  int *triangles;
};

// Count `num_common` for the edge from x to y.
__device__ __forceinline__ void add_to_edge(const Lists &lists, const Table &table, int x, int y,
                                            int num_common) {
  const int slot = table.slot(y);
  if (table.keys[slot] == y) {
    atomicAdd(&table.counts[slot], num_common);
    return;
  }
  const long long start = lists.upper_offsets[x], stop = lists.upper_offsets[x + 1];
  atomicAdd(&lists.triangles[position(lists.upper, start, stop, y)], num_common);
}

// Look up the lists of those neighbors of x that x is the owner for. A warp takes 32 neighbors
// from `first` on, then the next that are `step` farther.
__device__ __forceinline__ void look_up(const Lists &lists, const Table &table, int x,
                                        long long first, long long step) {
  const int lane = threadIdx.x % WARP;
  const long long size = lists.upper_offsets[x + 1] - lists.upper_offsets[x];
  const long long stop = lists.offsets[x + 1];
  for (long long base = first; base < stop; base += step) {
    const bool is_valid = base + lane < stop;
    const int neighbor = is_valid ? lists.neighbors[base + lane] : 0;
    const long long start = lists.upper_offsets[neighbor];
    const int length = (int)(lists.upper_offsets[neighbor + 1] - start);
    const bool owns_pair = is_valid && is_owner(size, x, length, neighbor);
    if (owns_pair && length < MAX_LANE_DEGREE) {
      int num_common = 0;
      long long self = EMPTY;
      for (long long j = start; j < start + length; j++) {
        const int vertex = lists.upper[j], slot = table.slot(vertex);
        if (vertex == x) self = j;
        if (table.keys[slot] != vertex) continue;
        atomicAdd(&table.counts[slot], 1);
        atomicAdd(&lists.triangles[j], 1);
        num_common++;
      }
      if (num_common && self != EMPTY) atomicAdd(&lists.triangles[self], num_common);
      if (num_common && self == EMPTY) add_to_edge(lists, table, x, neighbor, num_common);
    }
    __syncwarp();
    for (unsigned remaining = __ballot_sync(FULL_MASK, owns_pair && length >= MAX_LANE_DEGREE);
         remaining; remaining &= remaining - 1) {
      const int source_lane = __ffs(remaining) - 1;
      const long long list_start = __shfl_sync(FULL_MASK, start, source_lane);
      const long long list_stop = list_start + __shfl_sync(FULL_MASK, length, source_lane);
      const int y = __shfl_sync(FULL_MASK, neighbor, source_lane);
      int num_common = 0;
      long long self = EMPTY;
      for (long long j = list_start + lane; j < list_stop; j += BATCH * WARP) {
        int vertices[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          vertices[k] = j + k * WARP < list_stop ? lists.upper[j + k * WARP] : EMPTY;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const int vertex = vertices[k];
          if (vertex == EMPTY) break;
          if (vertex == x) self = j + k * WARP;
          const int slot = table.slot(vertex);
          if (table.keys[slot] != vertex) continue;
          atomicAdd(&table.counts[slot], 1);
          atomicAdd(&lists.triangles[j + k * WARP], 1);
          num_common++;
        }
      }
      num_common = warp_sum(num_common);
      const bool points_here = __any_sync(FULL_MASK, self != EMPTY);
      if (num_common && self != EMPTY) atomicAdd(&lists.triangles[self], num_common);
      if (num_common && !points_here && lane == 0) add_to_edge(lists, table, x, y, num_common);
    }
  }
}

// Add the counts of the table to the edges from x.
__device__ __forceinline__ void flush_counts(const Lists &lists, const Table &table,
                                             long long start, long long stop, int thread,
                                             int num_threads) {
  for (long long i = start + thread; i < stop; i += num_threads) {
    const int count = table.counts[table.slot(lists.upper[i])];
    if (count) atomicAdd(&lists.triangles[i], count);
  }
}

// Triangles of the owners in `owners`: one warp per owner, with a table of `table_size` for at most
// half as many vertices.
extern "C" __global__ void count_by_warp(long long num_owners, const int *owners,
                                         long long *next_owner, long long table_size,
                                         const long long *offsets, const int *neighbors,
                                         const long long *upper_offsets, const int *upper_neighbors,
                                         int *triangles) {
  extern __shared__ int shared[];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const Lists lists = {offsets, neighbors, upper_offsets, upper_neighbors, triangles};
  Table table;
  table.keys = shared + warp * 2 * (int)table_size;
  table.counts = table.keys + table_size;
  while (true) {
    long long first_owner = 0;
    if (lane == 0)
      first_owner = (long long)atomicAdd((unsigned long long *)next_owner, OWNERS_PER_FETCH);
    first_owner = __shfl_sync(FULL_MASK, first_owner, 0);
    if (first_owner >= num_owners) return;
    for (long long i = first_owner; i < min(first_owner + OWNERS_PER_FETCH, num_owners); i++) {
      const int x = owners[i];
      const long long start = upper_offsets[x], stop = upper_offsets[x + 1];
      if (stop - start < 2) continue;
      table.fit((int)(stop - start), (int)table_size);
      table.clear(lane, WARP);
      __syncwarp();
      for (long long j = start + lane; j < stop; j += WARP) table.insert(upper_neighbors[j]);
      __syncwarp();
      look_up(lists, table, x, offsets[x], WARP);
      __syncwarp();
      flush_counts(lists, table, start, stop, lane, WARP);
      __syncwarp();
    }
  }
}

// The same with one block per owner; a longer upper list is processed in blocks of table_size / 2.
extern "C" __global__ void count_by_block(long long num_owners, const int *owners,
                                          long long *next_owner, long long table_size,
                                          const long long *offsets, const int *neighbors,
                                          const long long *upper_offsets,
                                          const int *upper_neighbors, int *triangles) {
  extern __shared__ int shared[];
  __shared__ long long owner_index;
  const int thread = threadIdx.x, threads = blockDim.x;
  const Lists lists = {offsets, neighbors, upper_offsets, upper_neighbors, triangles};
  Table table;
  table.keys = shared;
  table.counts = shared + table_size;
  while (true) {
    if (thread == 0) owner_index = (long long)atomicAdd((unsigned long long *)next_owner, 1ull);
    __syncthreads();
    const long long i = owner_index;
    __syncthreads();
    if (i >= num_owners) return;
    const int x = owners[i];
    const long long last = upper_offsets[x + 1];
    if (last - upper_offsets[x] < 2) continue;
    for (long long start = upper_offsets[x]; start < last; start += table_size / 2) {
      const long long stop = min(start + table_size / 2, last);
      table.fit((int)(stop - start), (int)table_size);
      table.clear(thread, threads);
      __syncthreads();
      for (long long j = start + thread; j < stop; j += threads) table.insert(upper_neighbors[j]);
      __syncthreads();
      look_up(lists, table, x, offsets[x] + thread / WARP * WARP, threads);
      __syncthreads();
      flush_counts(lists, table, start, stop, thread, threads);
      __syncthreads();
    }
  }
}

// common[arc] = vertices in both closed neighborhoods: triangles[edge], and the two endpoints.
extern "C" __global__ void assign_counts(long long num_vertices, const long long *offsets,
                                         const int *neighbors, const int *degrees,
                                         const long long *upper_offsets, const int *upper_neighbors,
                                         const int *triangles, int *common) {
  each_row(num_vertices, nullptr, offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             long long index = upper_offsets[row];
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               const int neighbor = arc < stop ? neighbors[arc] : row;
               const bool above = is_above(degrees, row, neighbor);
               int num_flagged;
               long long edge = index + lanes.rank(above, &num_flagged);
               index += num_flagged;
               if (arc >= stop) continue;
               if (!above)
                 edge = position(upper_neighbors, upper_offsets[neighbor],
                                 upper_offsets[neighbor + 1], row);
               common[arc] = triangles[edge] + 2;
             }
           });
}

// common[arc] where all lists are short: they are merged, a thread a vertex and its later
// neighbors.
extern "C" __global__ void merge_lists(long long num_vertices, const long long *offsets,
                                       const int *neighbors, int *common) {
  STRIDE(row, num_vertices) {
    const long long start = offsets[row], stop = offsets[row + 1];
    for (long long arc = start; arc < stop; arc++) {
      const int neighbor = neighbors[arc];
      if (neighbor < row) continue;
      const long long other_start = offsets[neighbor], other_stop = offsets[neighbor + 1];
      long long i = start, j = other_start, back = other_start;
      int num_common = 2;
      while (i < stop && j < other_stop) {
        const int one = neighbors[i], other = neighbors[j];
        num_common += one == other;
        i += one <= other;
        j += other <= one;
      }
      while (neighbors[back] != row) back++;
      common[arc] = common[back] = num_common;
    }
  }
}

// common[arc] of the arcs to later vertices: 4 neighbors of one endpoint against 8 of the other, a
// warp at a time, over both whole lists.
extern "C" __global__ void compare_lists(long long num_arcs, const int *sources,
                                         const long long *offsets, const int *neighbors,
                                         int *common) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
  for (long long arc = warp; arc < num_arcs; arc += warps) {
    const int row = sources[arc], neighbor = neighbors[arc];
    if (row > neighbor) continue;
    long long i = offsets[row], j = offsets[neighbor];
    const long long stop = offsets[row + 1], other_stop = offsets[neighbor + 1];
    int num_common = 0;
    while (i < stop && j < other_stop) {
      const long long index = i + lane / 8, other_index = j + lane % 8;
      if (index < stop && other_index < other_stop)
        num_common += neighbors[index] == neighbors[other_index];
      const int last = neighbors[min(i + 3, stop - 1)];
      const int other_last = neighbors[min(j + 7, other_stop - 1)];
      i += last <= other_last ? 4 : 0;
      j += other_last <= last ? 8 : 0;
    }
    num_common = warp_sum(num_common);
    if (lane == 0) common[arc] = num_common + 2;
  }
}

// Copy the counts of arcs to later vertices to the reverse arcs.
extern "C" __global__ void mirror_counts(long long num_arcs, const int *sources,
                                         const long long *offsets, const int *neighbors,
                                         int *common) {
  STRIDE(arc, num_arcs) {
    const int row = sources[arc], neighbor = neighbors[arc];
    if (row > neighbor)
      common[arc] = common[position(neighbors, offsets[neighbor], offsets[neighbor + 1], row)];
  }
}

// A similarity by the sizes of closed neighborhoods and of their intersection.
__device__ __forceinline__ double compare(int kind, double common, double size, double other) {
  if (kind == SIMILARITY_STRUCTURAL) return common / sqrt(size * other);
  common -= 2.0, size -= 1.0, other -= 1.0;  // of open neighborhoods
  if (kind == SIMILARITY_JACCARD) return common / (size + other - common);
  if (kind == SIMILARITY_OVERLAP) return common / min(size, other);
  if (kind == SIMILARITY_COSINE) return common / sqrt(size * other);
  return common;
}

// One row an edge, from each vertex to the later ones, at `starts`: both endpoints and their
// similarity of a kind. sizes count closed neighborhoods.
extern "C" __global__ void list_edges(long long num_vertices, long long kind,
                                      const long long *offsets, const int *neighbors,
                                      const int *common, const int *sizes, const long long *starts,
                                      int *sources, int *destinations, double *similarities) {
  each_row(num_vertices, nullptr, offsets, [&](auto lanes, int row, long long, long long stop) {
    const long long shift = starts[row + 1] - stop;
    const double size = (double)sizes[row];
    for (long long arc = starts[row] - shift + lanes.lane; arc < stop; arc += lanes.count) {
      const int neighbor = neighbors[arc];
      const double other = (double)sizes[neighbor];
      sources[arc + shift] = row;
      destinations[arc + shift] = neighbor;
      similarities[arc + shift] = compare((int)kind, common[arc], size, other);
    }
  });
}

// num_steps[0] += the squares of the degrees.
extern "C" __global__ void count_steps(long long num_vertices, const int *degrees,
                                       long long *num_steps) {
  long long steps = 0;
  STRIDE(vertex, num_vertices) steps += (long long)degrees[vertex] * degrees[vertex];
  steps = warp_sum(steps);
  if (threadIdx.x % WARP == 0 && steps) atomicAdd((u64 *)num_steps, (u64)steps);
}

// degrees[r] = neighbors of r, plus shift.
extern "C" __global__ void measure_degrees(long long num_rows, long long shift,
                                           const long long *offsets, int *degrees) {
  STRIDE(row, num_rows) degrees[row] = (int)(offsets[row + 1] - offsets[row] + shift);
}

// is_owner[v] = v has a degree from min_degree to max_degree, a neighbor here, and two neighbors
// in its upper list.
extern "C" __global__ void mark_owners(long long num_vertices, long long min_degree,
                                       long long max_degree, const int *degrees,
                                       const long long *offsets, const long long *upper_offsets,
                                       bool *is_owner) {
  STRIDE(vertex, num_vertices)
  is_owner[vertex] = degrees[vertex] >= min_degree && degrees[vertex] <= max_degree &&
                     offsets[vertex + 1] > offsets[vertex] &&
                     upper_offsets[vertex + 1] - upper_offsets[vertex] > 1;
}
