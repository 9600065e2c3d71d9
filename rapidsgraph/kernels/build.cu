// Construction of adjacency lists from named edges: loops that no array operation does in one pass.
//
// mark_present and translate take names from min_name to the end of their table; mark_names and
// number_in_shared_memory take any names. Offsets ascend from 0. Sorting is left to CuPy and
// radix_sort.cu and, on a CPU, to counting.py.
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

// Mark the names of two arrays from min_name to min_name + num_flags - 1 like mark_present, and
// find the limits of all names like measure_range in arrays.cu.
extern "C" __global__ void mark_names(long long num_names, const name_t *names,
                                      long long num_others, const name_t *others,
                                      long long is_signed, long long min_name, long long num_flags,
                                      bool *is_present, unsigned long long *limits) {
  Limits own;
  auto mark = [&](long long name) {
    const u64 index = (u64)name - (u64)min_name;
    own.take(name, is_signed);
    if (index < (u64)num_flags && !is_present[index]) is_present[index] = true;
  };
  STRIDE(i, num_names) mark((long long)names[i]);
  STRIDE(i, num_others) mark((long long)others[i]);
  own.merge(limits);
}

// A word of ids holds WORD_FLAGS flags in its lower half and the number of flags set before them in
// its upper half, so that a lookup reads one word.
__device__ __forceinline__ int id_of(u64 word, int flag) {
  return (int)(word >> 32) + __popc((unsigned)word & ((1u << flag) - 1));
}

// Fill in the upper halves of words of ids, and write the number of names to *num_names. Skipped if
// the names are exactly 0 to high, since ids equal names then. All threads of a cooperative launch
// must call it. A block has the words start to stop - 1 and has counted their flags. `barrier` is
// the number of grid barriers so far; `sums` has one item per block.
__device__ __forceinline__ void add_prefix_counts(long long start, long long stop, long long count,
                                                  long long min_name, long long high, u64 *id_words,
                                                  long long *sums, u64 *arrived_blocks, u64 barrier,
                                                  long long *num_names) {
  count = block_sum(count);
  if (threadIdx.x == 0) sums[blockIdx.x] = count;
  grid_barrier(arrived_blocks, barrier + 1);
  long long before = 0, total = 0;
  for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
    total += sums[block];
    before += block < blockIdx.x ? sums[block] : 0;
  }
  before = block_sum(before);
  total = block_sum(total);
  if (blockIdx.x == 0 && threadIdx.x == 0) num_names[0] = total;
  if (min_name == 0 && total == high + 1) return;
  for (long long base = start; base < stop; base += blockDim.x) {
    const long long word = base + threadIdx.x;
    const u64 flags = word < stop ? id_words[word] : 0;
    long long sum;
    const long long id = before + scan_block(__popcll(flags), &sum);
    if (word < stop) id_words[word] = (u64)id << 32 | flags;
    before += sum;
  }
}

// The least and the largest name, minus min_name, as unsigned integers: a name below min_name wraps
// around to a large value.
__device__ __forceinline__ u64 least_of(const u64 *limits, bool is_signed, long long min_name) {
  return (~__ldcg(limits) ^ (is_signed ? 1ull << 63 : 0)) - (u64)min_name;
}
__device__ __forceinline__ u64 largest_of(const u64 *limits, bool is_signed, long long min_name) {
  return (__ldcg(limits + 1) ^ (is_signed ? 1ull << 63 : 0)) - (u64)min_name;
}

// Compute id_words from the flags of mark_names, up to the word of the largest name. Writes nothing
// if a name has no flag. If the names are 0 to n - 1, the upper halves are not written.
// num_names[0] = number of names. num_flags is rounded up to whole words; sums has one item per
// block.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    number_names(long long is_signed, long long min_name, long long num_flags,
                 const bool *is_present, const unsigned long long *limits, long long *sums,
                 unsigned long long *arrived_blocks, unsigned long long *id_words,
                 long long *num_names) {
  const u64 low = least_of(limits, is_signed, min_name),
            high = largest_of(limits, is_signed, min_name);
  if (low >= (u64)num_flags || high >= (u64)num_flags) return;
  const long long num_words = (long long)high / WORD_FLAGS + 1;
  const long long range = (num_words + gridDim.x - 1) / gridDim.x;
  const long long start = min(blockIdx.x * range, num_words), stop = min(start + range, num_words);
  const u64 *flags = (const u64 *)is_present;  // eight in each
  const int parts = WORD_FLAGS / 8;
  long long count = 0;
  for (long long word = start + threadIdx.x; word < stop; word += blockDim.x) {
    unsigned bits = 0;
    for (int part = 0; part < parts; part++)  // the lowest bit of each byte
      bits |= (unsigned)(flags[word * parts + part] * 0x0102040810204080ull >> 56) << 8 * part;
    id_words[word] = bits;
    count += __popc(bits);
  }
  add_prefix_counts(start, stop, count, min_name, (long long)high, id_words, sums, arrived_blocks,
                    0, num_names);
}

// mark_names and number_names in one launch. Each block marks its share of the names in a bitmap in
// shared memory, since random writes to global memory dominate otherwise. A range wider than shared
// memory is processed in windows of window_words words. `bitmaps` has max_words words per block.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    number_in_shared_memory(long long num_names, const name_t *names, long long num_others,
                            const name_t *others, long long is_signed, long long min_name,
                            long long num_flags, long long window_words, long long max_words,
                            unsigned int *bitmaps, long long *sums,
                            unsigned long long *arrived_blocks, unsigned long long *id_words,
                            unsigned long long *limits, long long *num_distinct) {
  extern __shared__ unsigned int window[];
  unsigned int *bitmap = bitmaps + blockIdx.x * max_words;
  const long long stride = gridDim.x * (long long)blockDim.x;
  Limits own;
  long long num_words = 1, high = 0;
  u64 barrier = 0;
  for (long long first = 0; first < num_words; first += window_words) {
    for (int i = threadIdx.x; i < window_words; i += blockDim.x) window[i] = 0;
    __syncthreads();
    auto mark = [&](long long name) {
      const u64 flag = (u64)name - (u64)min_name - (u64)first * WORD_FLAGS;
      if (first == 0) own.take(name, is_signed);
      if (flag >= (u64)window_words * WORD_FLAGS) return;
      unsigned int *word = window + flag / WORD_FLAGS;
      const unsigned bit = 1u << flag % WORD_FLAGS;
      if (!(*word & bit)) atomicOr(word, bit);  // a stale read only repeats the atomic
    };
    for (int side = 0; side < 2; side++) {
      const name_t *list = side ? others : names;
      const long long size = side ? num_others : num_names;
      long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
      for (; i + (NAME_BATCH - 1) * stride < size; i += NAME_BATCH * stride) {
        name_t batch[NAME_BATCH];
#pragma unroll
        for (int k = 0; k < NAME_BATCH; k++) batch[k] = list[i + k * stride];
#pragma unroll
        for (int k = 0; k < NAME_BATCH; k++) mark((long long)batch[k]);
      }
      for (; i < size; i += stride) mark((long long)list[i]);
    }
    if (first == 0) {
      own.merge(limits);
      grid_barrier(arrived_blocks, ++barrier);
      high = (long long)largest_of(limits, is_signed, min_name);
      if (least_of(limits, is_signed, min_name) >= (u64)num_flags || (u64)high >= (u64)num_flags)
        return;
      num_words = high / WORD_FLAGS + 1;
    }
    __syncthreads();
    for (long long i = threadIdx.x; i < min(window_words, num_words - first); i += blockDim.x)
      bitmap[first + i] = window[i];
    __syncthreads();
  }
  grid_barrier(arrived_blocks, ++barrier);
  const long long range = (num_words + gridDim.x - 1) / gridDim.x;
  const long long start = min(blockIdx.x * range, num_words), stop = min(start + range, num_words);
  long long count = 0;
  for (long long word = start + threadIdx.x; word < stop; word += blockDim.x) {
    unsigned bits = 0;
#pragma unroll 8
    for (int block = 0; block < gridDim.x; block++) bits |= bitmaps[block * max_words + word];
    id_words[word] = bits;
    count += __popc(bits);
  }
  add_prefix_counts(start, stop, count, min_name, high, id_words, sums, arrived_blocks, barrier,
                    num_distinct);
}

// ids[i] = the id of name i.
extern "C" __global__ void look_up_ids(long long num_names, const name_t *names, long long min_name,
                                       const unsigned long long *id_words, int *ids) {
  STRIDE(i, num_names) {
    const long long flag = (long long)names[i] - min_name;
    ids[i] = id_of(id_words[flag / WORD_FLAGS], flag % WORD_FLAGS);
  }
}

// names[id] = the name of each id.
extern "C" __global__ void list_names(long long num_words, const unsigned long long *id_words,
                                      long long min_name, name_t *names) {
  STRIDE(i, num_words * WORD_FLAGS) {
    const u64 word = id_words[i / WORD_FLAGS];
    const int flag = i % WORD_FLAGS;
    if (word >> flag & 1) names[id_of(word, flag)] = (name_t)(min_name + i);
  }
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

// ids[0] = the position of `value` in names, as in find_names. The threads of a block compare
// evenly spaced names at once, since each step of a search waits for memory.
extern "C" __global__ void find_name(long long value, long long num_names, const name_t *names,
                                     int *ids) {
  if (blockIdx.x) return;
  long long first = 0, stop = num_names;
  while (first < stop) {
    const long long step = (stop - first + blockDim.x - 1) / blockDim.x;
    const long long probe = first + (threadIdx.x + 1) * step - 1;
    first += step * __syncthreads_count(probe < stop && (long long)names[probe] < value);
    stop = min(stop, first + step - 1);
  }
  if (threadIdx.x == 0)
    ids[0] = first < num_names && (long long)names[first] == value ? (int)first : -1;
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

// Split sorted pairs: minor keys, and offsets[k] = number of pairs whose major key is below k.
// num_distinct[0] += distinct pairs. The first pair of each major key writes the offsets of that
// key and of the absent keys before it; a warp shares long runs. The grid writes the offsets up to
// the first key and behind the last.
extern "C" __global__ void split_pairs(long long num_keys, long long num_pairs,
                                       long long minor_bits, const long long *packed,
                                       long long *offsets, int *minor, long long *num_distinct) {
  const int lane = threadIdx.x % WARP;
  const long long mask = (1ll << minor_bits) - 1, stride = gridDim.x * (long long)blockDim.x;
  long long distinct = 0;
  for (long long start = blockIdx.x * (long long)blockDim.x + threadIdx.x - lane; start < num_pairs;
       start += stride) {
    const long long i = start + lane;
    long long first = 0, key = -1;  // offsets to write: first to key
    if (i < num_pairs) {
      const long long pair = packed[i], before = i ? packed[i - 1] : -1;
      minor[i] = (int)(pair & mask);
      distinct += pair != before;
      if (i) {
        first = (before >> minor_bits) + 1;
        key = pair >> minor_bits;
      }
    }
    const bool is_long = key - first >= WARP;
    if (!is_long)
      for (; first <= key; first++) offsets[first] = i;
    for (unsigned remaining = __ballot_sync(FULL_MASK, is_long); remaining;
         remaining &= remaining - 1) {
      const int source = __ffs(remaining) - 1;
      const long long stop = __shfl_sync(FULL_MASK, key, source);
      for (long long k = __shfl_sync(FULL_MASK, first, source) + lane; k <= stop; k += WARP)
        offsets[k] = start + source;
    }
  }
  const long long first = num_pairs ? packed[0] >> minor_bits : -1,
                  last = num_pairs ? packed[num_pairs - 1] >> minor_bits : -1;
  STRIDE(k, first + 1) offsets[k] = 0;
  STRIDE(k, num_keys - last) offsets[last + 1 + k] = num_pairs;
  add_of_block(distinct, num_distinct);
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
  add_of_block(count, num_first);
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
  add_of_block(nonempty, count);
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
  add_of_block(conflicts, count);
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
