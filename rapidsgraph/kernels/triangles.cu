// Count the triangles of every vertex, or the arcs between its neighbors.
//
// Vertices are numbered by descending degree: the rank. The upper list of a vertex has its
// neighbors of lower rank, and a vertex of m edges has at most sqrt(2 m) of these. Of a triangle w
// < y < x, y is the middle vertex: its upper list is stored in a hash table, in which the upper
// list of each of its neighbors x of higher rank is looked up. So a triangle is found once, and
// counts for x in a register, for y in another, and for w beside the table.
//
// Lists have one entry a neighbor: its rank, or with flags 2 * rank + flag, where the flag tells
// that both arcs exist between the two vertices. With flags a triangle counts for each vertex the
// arcs between the other two, one or two, as the local clustering coefficient of directed graphs
// needs it.
//
// References: Chiba, Nishizeki, SIAM J. Comput. 14(1), 1985, https://doi.org/10.1137/0214017
// (orientation by degree); Latapy, Theor. Comput. Sci. 407, 2008,
// https://doi.org/10.1016/j.tcs.2008.07.017 (triangles by vertices of descending degree).

#include "hash_table.cuh"
#include "rows.cuh"
#include "search.cuh"

#ifndef degree_t
#define degree_t int
#endif

#define ROWS_PER_FETCH 4    // rows that a warp fetches at a time
#define BATCH 4             // entries of a list that a lane loads at once
#define MAX_LANE_ENTRIES 8  // of a list that a single lane looks up
#define FLAG 0x80000000u    // of a neighbor to which both arcs exist

// Whether an arc is the first to its neighbor, which is not the row itself.
__device__ __forceinline__ bool is_first(const int *neighbors, long long start, long long arc,
                                         int row) {
  const int neighbor = neighbors[arc];
  return neighbor != row && (arc == start || neighbors[arc - 1] != neighbor);
}

__device__ __forceinline__ bool contains(const int *list, long long start, long long stop,
                                         int key) {
  const long long index = position(list, start, stop, key);
  return index < stop && list[index] == key;
}

// out_sizes[v] = distinct out-neighbors of v except v, and sizes[v] += those and its other
// in-neighbors. Lists are ascending; they may have self-loops and parallel arcs.
extern "C" __global__ void count_neighbors(long long num_vertices, const long long *out_offsets,
                                           const int *out_neighbors, const long long *in_offsets,
                                           const int *in_neighbors, long long *out_sizes,
                                           long long *sizes) {
  each_row(num_vertices, nullptr, out_offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             long long size = 0;
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               int num_flagged;
               lanes.rank(arc < stop && is_first(out_neighbors, start, arc, row), &num_flagged);
               size += num_flagged;
             }
             if (lanes.lane == 0) {
               out_sizes[row] = size;
               atomicAdd((u64 *)&sizes[row], (u64)size);
             }
           });
  each_row(num_vertices, nullptr, in_offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             const long long out_start = out_offsets[row], out_stop = out_offsets[row + 1];
             long long size = 0;
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               int num_flagged;
               lanes.rank(arc < stop && is_first(in_neighbors, start, arc, row) &&
                              !contains(out_neighbors, out_start, out_stop, in_neighbors[arc]),
                          &num_flagged);
               size += num_flagged;
             }
             if (lanes.lane == 0) atomicAdd((u64 *)&sizes[row], (u64)size);
           });
}

// Neighbors in both directions, each once and in any order: out-neighbors, with FLAG if they are
// in-neighbors, too, and then the other in-neighbors.
extern "C" __global__ void list_neighbors(long long num_vertices, const long long *out_offsets,
                                          const int *out_neighbors, const long long *in_offsets,
                                          const int *in_neighbors, const long long *out_sizes,
                                          const long long *new_offsets, int *new_neighbors) {
  each_row(num_vertices, nullptr, out_offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             const long long in_start = in_offsets[row], in_stop = in_offsets[row + 1];
             long long index = new_offsets[row];
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               const bool is_new = arc < stop && is_first(out_neighbors, start, arc, row);
               int num_flagged;
               const int before = lanes.rank(is_new, &num_flagged);
               if (is_new) {
                 const int neighbor = out_neighbors[arc];
                 const bool is_both = contains(in_neighbors, in_start, in_stop, neighbor);
                 new_neighbors[index + before] = (int)(neighbor | (is_both ? FLAG : 0u));
               }
               index += num_flagged;
             }
           });
  each_row(num_vertices, nullptr, in_offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             const long long out_start = out_offsets[row], out_stop = out_offsets[row + 1];
             long long index = new_offsets[row] + out_sizes[row];
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               const bool is_new = arc < stop && is_first(in_neighbors, start, arc, row) &&
                                   !contains(out_neighbors, out_start, out_stop, in_neighbors[arc]);
               int num_flagged;
               const int before = lanes.rank(is_new, &num_flagged);
               if (is_new) new_neighbors[index + before] = in_neighbors[arc];
               index += num_flagged;
             }
           });
}

// Add the triangles of every vertex to counts where all lists are short and ascend: each is found
// at its smallest vertex, a thread a vertex, and lists are merged from their ends.
extern "C" __global__ void merge_lists(long long num_vertices, const long long *offsets,
                                       const int *neighbors, long long *counts) {
  STRIDE(row, num_vertices) {
    const long long start = offsets[row], last = offsets[row + 1] - 1;
    long long row_count = 0;
    for (long long arc = last - 1; arc >= start && neighbors[arc] > row; arc--) {
      const int middle = neighbors[arc];
      const long long list_start = offsets[middle];
      long long i = last, j = offsets[middle + 1] - 1, count = 0;
      while (i > arc && j >= list_start) {
        const int one = neighbors[i], other = neighbors[j];
        if (other <= middle) break;
        if (one == other) {
          atomicAdd((unsigned long long *)&counts[one], 1ull);
          count++;
        }
        i -= one >= other;
        j -= other >= one;
      }
      if (count) atomicAdd((unsigned long long *)&counts[middle], (unsigned long long)count);
      row_count += count;
    }
    if (row_count) atomicAdd((unsigned long long *)&counts[row], (unsigned long long)row_count);
  }
}

// The adjacency by rank: of each row the upper list, which ends at upper_stops, and then the other
// neighbors, both in any order. Rows of vertices without arcs here may have any place.
extern "C" __global__ void relabel(long long num_vertices, long long has_flags,
                                   const long long *offsets, const int *neighbors, const int *ranks,
                                   const long long *new_offsets, long long *upper_stops,
                                   unsigned int *new_neighbors) {
  each_row(num_vertices, nullptr, offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             const int rank = ranks[row];
             long long index = new_offsets[rank], reverse = index + stop - start;
             for (long long base = start; base < stop; base += lanes.count) {
               const long long arc = base + lanes.lane;
               const bool is_valid = arc < stop;
               const unsigned item = is_valid ? neighbors[arc] : 0u;
               const int neighbor = is_valid ? ranks[item & ~FLAG] : rank;
               const bool above = neighbor < rank;
               int num_above;
               const int before = lanes.rank(above, &num_above);
               const unsigned entry = (unsigned)neighbor << has_flags | item >> 31;
               if (above) new_neighbors[index + before] = entry;
               if (is_valid && !above) new_neighbors[reverse - 1 - (lanes.lane - before)] = entry;
               index += num_above;
               reverse -= min((long long)lanes.count, stop - base) - num_above;
             }
             if (lanes.lane == 0) upper_stops[rank] = index;
           });
}

// Rows and upper lists, by rank. The lists may be of other rows than those that are counted.
struct Lists {
  const long long *offsets, *upper_stops;
  const unsigned *neighbors;
  const long long *starts, *stops;
  const unsigned *entries;
  long long *counts;

  __device__ __forceinline__ void add(int vertex, long long value) const {
    if (value) atomicAdd((u64 *)&counts[vertex], (u64)value);
  }
};

// Count a triangle of vertex `slot` in the table. With flags a count is 2 * arcs + flag.
template <bool FLAGS>
__device__ __forceinline__ void count_triangle(const Table &table, int slot, unsigned entry,
                                               int num_arcs, int *opposite, int *row_count) {
  if (FLAGS) {
    *opposite += 1 + (table.counts[slot] & 1);
    *row_count += 1 + (entry & 1);
    atomicAdd(&table.counts[slot], 2 * num_arcs);
  } else {
    (*opposite)++, (*row_count)++;
    atomicAdd(&table.counts[slot], 1);
  }
}

// Look up the lists of the neighbors in [first, stop). A warp takes 32 of them, then the next that
// are `step` farther. Return what this lane counted for the row.
template <bool FLAGS>
__device__ __forceinline__ long long look_up(const Lists &lists, const Table &table,
                                             long long first, long long stop, long long step) {
  const int lane = threadIdx.x % WARP;
  long long row_total = 0;
  for (long long base = first; base < stop; base += step) {
    const bool is_valid = base + lane < stop;
    const unsigned neighbor = is_valid ? lists.neighbors[base + lane] : 0u;
    const int x = neighbor >> FLAGS, num_arcs = FLAGS ? 1 + (neighbor & 1) : 1;
    const long long start = lists.starts[x];
    const int length = is_valid ? (int)(lists.stops[x] - start) : 0;
    if (length > 1 && length < MAX_LANE_ENTRIES) {
      int opposite = 0, row_count = 0;
      for (long long j = start; j < start + length; j++) {
        const unsigned entry = lists.entries[j];
        const int vertex = entry >> FLAGS, slot = table.slot(vertex);
        if (table.keys[slot] == vertex)
          count_triangle<FLAGS>(table, slot, entry, num_arcs, &opposite, &row_count);
      }
      lists.add(x, opposite);
      row_total += row_count;
    }
    __syncwarp();
    for (unsigned remaining = __ballot_sync(FULL_MASK, length >= MAX_LANE_ENTRIES); remaining;
         remaining &= remaining - 1) {
      const int source_lane = __ffs(remaining) - 1;
      const long long list_start = __shfl_sync(FULL_MASK, start, source_lane);
      const long long list_stop = list_start + __shfl_sync(FULL_MASK, length, source_lane);
      const int arcs = __shfl_sync(FULL_MASK, num_arcs, source_lane);
      int opposite = 0, row_count = 0;
      for (long long j = list_start + lane; j < list_stop; j += BATCH * WARP) {
        unsigned entries[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          if (j + k * WARP < list_stop) entries[k] = lists.entries[j + k * WARP];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (j + k * WARP >= list_stop) break;
          const int vertex = entries[k] >> FLAGS, slot = table.slot(vertex);
          if (table.keys[slot] == vertex)
            count_triangle<FLAGS>(table, slot, entries[k], arcs, &opposite, &row_count);
        }
      }
      row_total += row_count;
      opposite = warp_sum(opposite);
      if (lane == source_lane) lists.add(x, opposite);
    }
  }
  return row_total;
}

// Store entries [start, stop) in the table, which is empty.
template <bool FLAGS>
__device__ __forceinline__ void fill(const Lists &lists, const Table &table, long long start,
                                     long long stop, int thread, int num_threads) {
  for (long long i = start + thread; i < stop; i += num_threads) {
    const unsigned entry = lists.neighbors[i];
    const int slot = table.insert(entry >> FLAGS);
    if (FLAGS) table.counts[slot] = entry & 1;
  }
}

// Add the counts of the table to those of the vertices in it.
template <bool FLAGS>
__device__ __forceinline__ void flush_counts(const Lists &lists, const Table &table,
                                             long long start, long long stop, int thread,
                                             int num_threads) {
  for (long long i = start + thread; i < stop; i += num_threads) {
    const int vertex = lists.neighbors[i] >> FLAGS;
    lists.add(vertex, table.counts[table.slot(vertex)] >> FLAGS);
  }
}

template <bool FLAGS>
__device__ __forceinline__ void count_few(const Lists &lists, long long first_row,
                                          long long stop_row) {
  STRIDE(index, stop_row - first_row) {
    const long long row = first_row + index;
    const long long first = lists.offsets[row], middle = lists.upper_stops[row];
    long long row_count = 0;
    for (long long arc = middle; first < middle && arc < lists.offsets[row + 1]; arc++) {
      const unsigned neighbor = lists.neighbors[arc];
      const int x = neighbor >> FLAGS, num_arcs = FLAGS ? 1 + (neighbor & 1) : 1;
      long long opposite = 0;
      for (long long j = lists.starts[x]; j < lists.stops[x]; j++) {
        const unsigned entry = lists.entries[j];
        for (long long i = first; i < middle; i++) {
          if (lists.neighbors[i] >> FLAGS != entry >> FLAGS) continue;
          lists.add(entry >> FLAGS, num_arcs);
          opposite += FLAGS ? 1 + (lists.neighbors[i] & 1) : 1;
          row_count += FLAGS ? 1 + (entry & 1) : 1;
        }
      }
      lists.add(x, opposite);
    }
    lists.add((int)row, row_count);
  }
}

// Add to counts[rank] the triangles whose middle vertex is a row in [start, stop), or with flags
// the arcs between the other two vertices of these: rows of few neighbors, one thread each.
extern "C" __global__ void count_by_thread(long long start, long long stop, long long has_flags,
                                           const long long *offsets, const long long *upper_stops,
                                           const unsigned int *neighbors,
                                           const long long *list_starts,
                                           const long long *list_stops, const unsigned int *lists,
                                           long long *counts) {
  const Lists all = {offsets, upper_stops, neighbors, list_starts, list_stops, lists, counts};
  if (has_flags)
    count_few<true>(all, start, stop);
  else
    count_few<false>(all, start, stop);
}

template <bool FLAGS>
__device__ __forceinline__ void count_rows(const Lists &lists, const Table &shared_table,
                                           long long first_row, long long stop_row,
                                           long long *next_row, int table_size) {
  const int lane = threadIdx.x % WARP;
  Table table = shared_table;
  while (true) {
    long long fetched = 0;
    if (lane == 0) fetched = (long long)atomicAdd((u64 *)next_row, (u64)ROWS_PER_FETCH);
    fetched = first_row + __shfl_sync(FULL_MASK, fetched, 0);
    if (fetched >= stop_row) return;
    for (long long row = fetched; row < min(fetched + ROWS_PER_FETCH, stop_row); row++) {
      const long long first = lists.offsets[row], middle = lists.upper_stops[row];
      const long long stop = lists.offsets[row + 1];
      if (first == middle || middle == stop) continue;
      table.fit((int)(middle - first), table_size);
      table.clear(lane, WARP);
      __syncwarp();
      fill<FLAGS>(lists, table, first, middle, lane, WARP);
      __syncwarp();
      const long long row_count = warp_sum(look_up<FLAGS>(lists, table, middle, stop, WARP));
      if (lane == 0) lists.add((int)row, row_count);
      __syncwarp();
      flush_counts<FLAGS>(lists, table, first, middle, lane, WARP);
      __syncwarp();
    }
  }
}

// The same with one warp a row, and a table of `table_size` for at most half as many vertices.
extern "C" __global__ void count_by_warp(long long start, long long stop, long long *next_row,
                                         long long table_size, long long has_flags,
                                         const long long *offsets, const long long *upper_stops,
                                         const unsigned int *neighbors,
                                         const long long *list_starts, const long long *list_stops,
                                         const unsigned int *lists, long long *counts) {
  extern __shared__ int shared[];
  const Lists all = {offsets, upper_stops, neighbors, list_starts, list_stops, lists, counts};
  Table table;
  table.keys = shared + threadIdx.x / WARP * 2 * (int)table_size;
  table.counts = table.keys + table_size;
  if (has_flags)
    count_rows<true>(all, table, start, stop, next_row, (int)table_size);
  else
    count_rows<false>(all, table, start, stop, next_row, (int)table_size);
}

template <bool FLAGS>
__device__ __forceinline__ void count_chunks(const Lists &lists, const Table &shared_table,
                                             long long first_row, long long stop_row,
                                             long long *next_chunk, const long long *chunk_offsets,
                                             int table_size) {
  __shared__ long long shared_chunk;
  const int thread = threadIdx.x, threads = blockDim.x;
  Table table = shared_table;
  while (true) {
    if (thread == 0) shared_chunk = (long long)atomicAdd((u64 *)next_chunk, 1ull);
    __syncthreads();
    const long long chunk = shared_chunk;
    __syncthreads();
    const long long num_rows = stop_row - first_row;
    if (chunk >= chunk_offsets[num_rows]) return;
    const long long index = position(chunk_offsets, 0, num_rows, chunk + 1) - 1;
    const long long row = first_row + index;
    const long long first = lists.offsets[row], middle = lists.upper_stops[row];
    const long long arc = middle + (chunk - chunk_offsets[index]) * TRIANGLE_CHUNK;
    const long long arc_stop = min(arc + TRIANGLE_CHUNK, lists.offsets[row + 1]);
    for (long long start = first; start < middle; start += table_size / 2) {
      const long long stop = min(start + table_size / 2, middle);
      table.fit((int)(stop - start), table_size);
      table.clear(thread, threads);
      __syncthreads();
      fill<FLAGS>(lists, table, start, stop, thread, threads);
      __syncthreads();
      const long long row_count =
          warp_sum(look_up<FLAGS>(lists, table, arc + thread / WARP * WARP, arc_stop, threads));
      if (thread % WARP == 0) lists.add((int)row, row_count);
      __syncthreads();
      flush_counts<FLAGS>(lists, table, start, stop, thread, threads);
      __syncthreads();
    }
  }
}

// The same with one block for every TRIANGLE_CHUNK neighbors of higher rank of a row: the chunks of
// row start + i are chunk_offsets[i] to chunk_offsets[i + 1]. A longer upper list is processed in
// blocks of table_size / 2.
extern "C" __global__ void count_by_block(long long start, long long stop, long long *next_chunk,
                                          long long table_size, const long long *chunk_offsets,
                                          long long has_flags, const long long *offsets,
                                          const long long *upper_stops,
                                          const unsigned int *neighbors,
                                          const long long *list_starts, const long long *list_stops,
                                          const unsigned int *lists, long long *counts) {
  extern __shared__ int shared[];
  const Lists all = {offsets, upper_stops, neighbors, list_starts, list_stops, lists, counts};
  Table table;
  table.keys = shared;
  table.counts = shared + table_size;
  if (has_flags)
    count_chunks<true>(all, table, start, stop, next_chunk, chunk_offsets, (int)table_size);
  else
    count_chunks<false>(all, table, start, stop, next_chunk, chunk_offsets, (int)table_size);
}

// keys[v] ascend by descending degree.
extern "C" __global__ void invert_degrees(long long num_vertices, long long max_degree,
                                          const degree_t *degrees, int *keys) {
  STRIDE(vertex, num_vertices) keys[vertex] = (int)(max_degree - degrees[vertex]);
}

// sizes[r] = neighbors of lower rank.
extern "C" __global__ void measure_upper(long long num_vertices, const long long *offsets,
                                         const long long *upper_stops, long long *sizes) {
  STRIDE(row, num_vertices) sizes[row] = upper_stops[row] - offsets[row];
}

// num_chunks[r] = chunks of the neighbors of higher rank of a row with neighbors of lower rank.
extern "C" __global__ void count_chunks(long long num_rows, const long long *offsets,
                                        const long long *upper_stops, long long *num_chunks) {
  STRIDE(row, num_rows) {
    const long long stop = upper_stops[row];
    num_chunks[row] =
        stop == offsets[row] ? 0 : (offsets[row + 1] - stop + TRIANGLE_CHUNK - 1) / TRIANGLE_CHUNK;
  }
}

// coefficients[v] = num_arcs[v] of the pairs of neighbors of v, 0 if there are no pairs.
extern "C" __global__ void divide_by_pairs(long long num_vertices, const long long *num_arcs,
                                           const degree_t *degrees, double *coefficients) {
  STRIDE(vertex, num_vertices) {
    const long long degree = degrees[vertex];
    coefficients[vertex] = (double)num_arcs[vertex] / (double)max(degree * (degree - 1), 1ll);
  }
}
