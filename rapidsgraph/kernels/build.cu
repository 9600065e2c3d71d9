// Construction of adjacency lists from named edges: loops that no array operation does in one pass.
//
// Names are less than the length of is_present or table after min_name is subtracted; offsets
// ascend from 0. Sorting is left to CuPy and radix_sort.cu and, on a CPU, to counting.py.
//
// count_by_owner and group_by_owner distribute edges among ranks: rank r owns the vertices from
// bounds[r] to bounds[r + 1] - 1, and gets the arcs that start at them. An edge is the arc from its
// source to its destination or, if not `directed`, also the reverse one unless it is a self-loop;
// without self-loops if drop_loops. Chunk c is the edges chunk_starts[c] to chunk_starts[c + 1].

#include "grid.cuh"
#include "limits.cuh"
#include "search.cuh"

#ifndef name_t
#define name_t long long
#endif
#ifndef weight_t
#define weight_t double
#endif

#ifndef order_t
#define order_t int
#endif
#ifndef count_t
#define count_t int
#endif

// is_present[name - min_name] = true for every name.
extern "C" __global__ void mark_present(long long num_names, const name_t *names,
                                        long long min_name, bool *is_present) {
  STRIDE(i, num_names) {
    const long long index = names[i] - min_name;
    if (!is_present[index]) is_present[index] = true;  // a read is cheaper than a contended write
  }
}

// Mark the names from min_name to min_name + num_flags - 1 like mark_present, and find the limits
// of all names like measure_range in arrays.cu.
extern "C" __global__ void mark_names(long long num_names, const name_t *names, long long is_signed,
                                      long long min_name, long long num_flags, bool *is_present,
                                      unsigned long long *limits) {
  Limits own;
  STRIDE(i, num_names) {
    const long long name = (long long)names[i];
    const u64 index = (u64)name - (u64)min_name;
    own.take(name, is_signed);
    if (index < (u64)num_flags && !is_present[index]) is_present[index] = true;
  }
  own.merge(limits);
}

// ids[i] = table[names[i] - min_name].
extern "C" __global__ void translate(long long num_names, const name_t *names, long long min_name,
                                     const int *table, int *ids) {
  STRIDE(i, num_names) ids[i] = table[names[i] - min_name];
}

// ids[i] = names[i], -1 if it is not from 0 to num_vertices - 1.
extern "C" __global__ void find_ids(long long num_names, const name_t *names,
                                    long long num_vertices, int *ids) {
  STRIDE(i, num_names) {
    const long long name = (long long)names[i];
    ids[i] = (u64)name < (u64)num_vertices ? (int)name : -1;
  }
}

// ids[i] = the position of values[i] in names, which ascend; -1 if it is not there.
extern "C" __global__ void find_names(long long num_values, const long long *values,
                                      long long num_names, const name_t *names, int *ids) {
  STRIDE(i, num_values) {
    long long first = 0, stop = num_names;
    while (first < stop) {
      const long long middle = (first + stop) / 2;
      if ((long long)names[middle] < values[i])
        first = middle + 1;
      else
        stop = middle;
    }
    ids[i] = first < num_names && (long long)names[first] == values[i] ? (int)first : -1;
  }
}

// is_proper[i] = edge i is not a self-loop.
extern "C" __global__ void mark_proper(long long num_edges, const int *sources,
                                       const int *destinations, bool *is_proper) {
  STRIDE(i, num_edges) is_proper[i] = sources[i] != destinations[i];
}

// low[i], high[i] = the endpoints of edge i in ascending order.
extern "C" __global__ void sort_endpoints(long long num_edges, const int *sources,
                                          const int *destinations, int *low, int *high) {
  STRIDE(i, num_edges) {
    const int source = sources[i], destination = destinations[i];
    low[i] = min(source, destination);
    high[i] = max(source, destination);
  }
}

// packed[i] = major[i] << minor_bits | minor[i], which sorts pairs by (major, minor). The minor
// keys are below 2^minor_bits.
extern "C" __global__ void pack_pairs(long long num_pairs, long long minor_bits, const int *major,
                                      const int *minor, long long *packed) {
  STRIDE(i, num_pairs) packed[i] = (long long)major[i] << minor_bits | minor[i];
}

// Split sorted pairs: minor keys, and offsets[k] = number of pairs whose major key is below k. A
// binary search per key takes less time than an atomic addition per pair.
extern "C" __global__ void split_pairs(long long num_keys, long long num_pairs,
                                       long long minor_bits, const long long *packed,
                                       long long *offsets, int *minor) {
  const long long mask = (1ll << minor_bits) - 1;
  STRIDE(i, num_pairs) minor[i] = (int)(packed[i] & mask);
  STRIDE(key, num_keys + 1) offsets[key] = position(packed, 0, num_pairs, key << minor_bits);
}

// is_first[i] = arc i is the first from its row to its neighbor; num_first[0] += such arcs.
// is_first has num_arcs + 1 flags; the last is undefined. Warps share arcs, since one row may have
// most.
extern "C" __global__ void mark_first(long long num_rows, const long long *offsets,
                                      const int *neighbors, bool *is_first, long long *num_first) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP, num_arcs = offsets[num_rows];
  long long count = 0;
  for (long long start = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP * ARC_CHUNK;
       start < num_arcs; start += warps * ARC_CHUNK) {
    const long long stop = min(start + ARC_CHUNK, num_arcs);
    for (long long i = start + lane; i < stop; i += WARP) {
      const bool differs = i == 0 || neighbors[i] != neighbors[i - 1];
      is_first[i] = differs;
      count += differs;
    }
    __syncwarp();  // the first arcs of rows are marked after that
    for (long long row = position(offsets, 0, num_rows, start) + lane;
         row < num_rows && offsets[row] < stop; row += WARP) {
      const long long first = offsets[row];
      if (first == offsets[row + 1] || is_first[first]) continue;
      is_first[first] = true;
      count++;
    }
  }
  count = warp_sum(count);
  if (lane == 0 && count) atomicAdd((u64 *)num_first, (u64)count);
}

// The neighbors of the arcs to keep; num_before[i] counts those before arc i.
extern "C" __global__ void filter_neighbors(long long num_arcs, const bool *keep,
                                            const count_t *num_before, const int *neighbors,
                                            int *new_neighbors) {
  STRIDE(i, num_arcs) if (keep[i]) new_neighbors[num_before[i]] = neighbors[i];
}

// The offsets of the arcs to keep.
extern "C" __global__ void filter_offsets(long long num_rows, const count_t *num_before,
                                          const long long *offsets, long long *new_offsets) {
  STRIDE(row, num_rows + 1) new_offsets[row] = num_before[offsets[row]];
}

// new_values[i] = values[order[i]].
extern "C" __global__ void permute(long long num_items, const order_t *order,
                                   const weight_t *values, weight_t *new_values) {
  STRIDE(i, num_items) new_values[i] = values[order[i]];
}

// count[0] += rows that have neighbors.
extern "C" __global__ void count_nonempty(long long num_rows, const long long *offsets,
                                          long long *count) {
  long long nonempty = 0;
  STRIDE(row, num_rows) nonempty += offsets[row + 1] > offsets[row];
  nonempty = warp_sum(nonempty);
  if (threadIdx.x % WARP == 0 && nonempty) atomicAdd((u64 *)count, (u64)nonempty);
}

// rows[offsets[r] .. offsets[r + 1]) = r.
extern "C" __global__ void expand_rows(long long num_rows, const long long *offsets, int *rows) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; row < num_rows;
       row += warps)
    for (long long i = offsets[row] + lane; i < offsets[row + 1]; i += WARP) rows[i] = row;
}

// Row by row the first list and then the second; offsets become the sum of the two.
extern "C" __global__ void concatenate_rows(long long num_rows, const long long *first_offsets,
                                            const int *first_neighbors,
                                            const weight_t *first_weights,
                                            const long long *second_offsets,
                                            const int *second_neighbors,
                                            const weight_t *second_weights, long long weighted,
                                            long long *offsets, int *neighbors, weight_t *weights) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  STRIDE(row, num_rows + 1) offsets[row] = first_offsets[row] + second_offsets[row];
  for (long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; row < num_rows;
       row += warps) {
    for (long long i = first_offsets[row] + lane; i < first_offsets[row + 1]; i += WARP) {
      neighbors[i + second_offsets[row]] = first_neighbors[i];
      if (weighted) weights[i + second_offsets[row]] = first_weights[i];
    }
    for (long long i = second_offsets[row] + lane; i < second_offsets[row + 1]; i += WARP) {
      neighbors[i + first_offsets[row + 1]] = second_neighbors[i];
      if (weighted) weights[i + first_offsets[row + 1]] = second_weights[i];
    }
  }
}

// One weight for each run of parallel edges, from starts[r] to starts[r + 1] or, for the last
// run, to `num_edges`. reduction is MERGE_FIRST, MERGE_SUM (in order), MERGE_MIN or MERGE_MAX.
extern "C" __global__ void reduce_runs(long long num_runs, long long num_edges,
                                       const order_t *starts, const weight_t *weights,
                                       long long reduction, weight_t *reduced) {
  STRIDE(run, num_runs) {
    const long long stop = run + 1 < num_runs ? starts[run + 1] : num_edges;
    weight_t value = weights[starts[run]];
    if (reduction > MERGE_FIRST)
      for (long long i = starts[run] + 1; i < stop; i++) {
        const weight_t weight = weights[i];
        value = reduction == MERGE_SUM   ? value + weight
                : reduction == MERGE_MIN ? (weight < value ? weight : value)
                                         : (weight > value ? weight : value);
      }
    reduced[run] = value;
  }
}

// count[0] += arcs whose weight differs from that of the first arc of their run, as mark_first
// marks it. Warps share arcs, since one run may have most of them.
extern "C" __global__ void count_conflicts(long long num_rows, const long long *offsets,
                                           const int *neighbors, const bool *is_first,
                                           const weight_t *weights, long long *count) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP, num_arcs = offsets[num_rows];
  long long conflicts = 0;
  for (long long start = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP * ARC_CHUNK;
       start < num_arcs; start += warps * ARC_CHUNK) {
    const long long stop = min(start + ARC_CHUNK, num_arcs);
    long long first = start;  // of the run so far
    if (!is_first[start]) {
      const long long row = position(offsets, 0, num_rows + 1, start + 1) - 1;
      first = position(neighbors, offsets[row], start, neighbors[start]);
    }
    for (long long base = start; base < stop; base += WARP) {
      const long long i = base + lane;
      const unsigned mask = __ballot_sync(FULL_MASK, i < stop && is_first[i]);
      const unsigned up_to_lane = mask & (FULL_MASK >> (WARP - 1 - lane));
      const long long own_first = up_to_lane ? base + WARP - 1 - __clz(up_to_lane) : first;
      if (i < stop) conflicts += weights[i] != weights[own_first];
      if (mask) first = base + WARP - 1 - __clz(mask);
    }
  }
  conflicts = warp_sum(conflicts);
  if (lane == 0 && conflicts) atomicAdd((u64 *)count, (u64)conflicts);
}

// counts[r] = neighbors of r that are not below r.
extern "C" __global__ void count_upper(long long num_rows, const long long *offsets,
                                       const int *neighbors, long long *counts) {
  STRIDE(row, num_rows) {
    const long long stop = offsets[row + 1];
    counts[row] = stop - position(neighbors, offsets[row], stop, (int)row);
  }
}

__device__ __forceinline__ int find_owner(int vertex, const long long *bounds, int num_ranks) {
  int owner = 0, stop = num_ranks;
  while (stop - owner > 1) {
    const int middle = (owner + stop) / 2;
    if (bounds[middle] <= vertex)
      owner = middle;
    else
      stop = middle;
  }
  return owner;
}

// Calls visit(i, owner, peers, cell, key, neighbor) for the arcs of edges i of all chunks: a warp
// per chunk, a lane per edge. `peers` has the lanes whose arcs have this owner, and `cell` is chunk
// * num_ranks + owner. A lane without an arc has the owner -1. The two arcs of an undirected edge
// are {min, max} and then {max, min}: so each lane of a warp has the same direction of parallel
// edges, and equal arcs keep the order of their edges.
template <typename Visit>
__device__ __forceinline__ void visit_arcs(long long num_chunks, const long long *chunk_starts,
                                           const int *sources, const int *destinations,
                                           bool directed, bool drop_loops, int num_ranks,
                                           const long long *bounds, Visit visit) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long chunk = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
       chunk < num_chunks; chunk += warps)
    for (long long start = chunk_starts[chunk]; start < chunk_starts[chunk + 1]; start += WARP) {
      const long long i = start + lane;
      const bool is_valid = i < chunk_starts[chunk + 1];
      const int source = is_valid ? sources[i] : 0, destination = is_valid ? destinations[i] : 0;
      for (int is_reverse = 0; is_reverse < (directed ? 1 : 2); is_reverse++) {
        const bool is_arc = is_valid && (source != destination || !(drop_loops || is_reverse));
        const bool swap = !directed && (source > destination) != is_reverse;
        const int key = swap ? destination : source, neighbor = swap ? source : destination;
        const int owner = is_arc ? find_owner(key, bounds, num_ranks) : -1;
        const unsigned peers = __match_any_sync(FULL_MASK, owner);
        visit(i, owner, peers, chunk * num_ranks + owner, key, neighbor);
        __syncwarp();  // another lane may lead the next arcs of this owner
      }
    }
}

// counts[chunk * num_ranks + owner] += arcs of a chunk that the owner gets.
extern "C" __global__ void count_by_owner(long long num_chunks, const long long *chunk_starts,
                                          const int *sources, const int *destinations,
                                          long long directed, long long drop_loops,
                                          long long num_ranks, const long long *bounds,
                                          long long *counts) {
  const int lane = threadIdx.x % WARP;
  visit_arcs(num_chunks, chunk_starts, sources, destinations, directed, drop_loops, num_ranks,
             bounds, [=](long long, int owner, unsigned peers, long long cell, int, int) {
               if (owner >= 0 && lane == __ffs(peers) - 1) counts[cell] += __popc(peers);
             });
}

// Writes arcs in the order of chunks, and in a chunk equal arcs in the order of edges.
// cursors[chunk * num_ranks + owner] is the position of the owner's first arc in the chunk, and
// ends behind its last one.
extern "C" __global__ void group_by_owner(long long num_chunks, const long long *chunk_starts,
                                          const int *sources, const int *destinations,
                                          const weight_t *weights, long long weighted,
                                          long long directed, long long drop_loops,
                                          long long num_ranks, const long long *bounds,
                                          long long *cursors, int *keys, int *neighbors,
                                          weight_t *new_weights) {
  const int lane = threadIdx.x % WARP;
  visit_arcs(num_chunks, chunk_starts, sources, destinations, directed, drop_loops, num_ranks,
             bounds,
             [=](long long i, int owner, unsigned peers, long long cell, int key, int neighbor) {
               if (owner >= 0) {
                 const long long position = cursors[cell] + __popc(peers & ((1u << lane) - 1));
                 keys[position] = key;
                 neighbors[position] = neighbor;
                 if (weighted) new_weights[position] = weights[i];
               }
               __syncwarp();  // all have read the cursor
               if (owner >= 0 && lane == __ffs(peers) - 1) cursors[cell] += __popc(peers);
             });
}
