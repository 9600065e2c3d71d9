// Label propagation: every vertex takes the most frequent label of its neighbors, the smallest of
// those that are equally frequent.
//
// The neighbors of a row are those of its list, and if is_directed also those of its list in in_*;
// a vertex in both counts twice. Entries read `labels` and write new_labels, so the order of rows
// does not matter. Rows have neighbors.
//
// Groups of lanes of a warp process short lists, by comparing their labels. Blocks count the labels
// of longer lists in a hash table in shared memory, and those that find no slot in it in a second
// table in global memory. A label with more than half of the list ends the count.
//
// Entries: take_first_labels, propagate_short, propagate_long, mark_neighbors.
//
// References: U. N. Raghavan, R. Albert, S. Kumara, "Near linear time algorithm to detect community
// structures in large-scale networks", Phys. Rev. E 76, 2007.
// https://doi.org/10.1103/PhysRevE.76.036106. A. Iosup et al., "LDBC Graphalytics: a benchmark for
// large-scale graph analysis on parallel and distributed platforms", PVLDB 9(13), 2016.
// https://doi.org/10.14778/3007263.3007270 (the synchronous, deterministic variant).

#include "frontier.cuh"
#include "hash_table.cuh"
#include "search.cuh"

#define MAX_PROBES 16  // slots of the table in shared memory that a label may occupy

// The more frequent, then the smaller label has the larger key.
__device__ __forceinline__ u64 key_of(int count, int label) {
  return (u64)count << 32 | (unsigned)~label;
}

__device__ __forceinline__ int label_of(u64 key) { return (int)~(unsigned)key; }

__device__ __forceinline__ u64 warp_max(u64 key, int width) {
  for (int step = width / 2; step > 0; step /= 2)
    key = max(key, __shfl_xor_sync(FULL_MASK, key, step));
  return key;
}

// Both lists of a row as one.
struct Neighborhood {
  const int *first, *second;
  long long num_first, degree;

  __device__ __forceinline__ Neighborhood(long long row, bool is_directed, const long long *offsets,
                                          const int *neighbors, const long long *in_offsets,
                                          const int *in_neighbors) {
    const long long start = offsets[row], in_start = is_directed ? in_offsets[row] : 0;
    first = neighbors + start, second = in_neighbors + in_start;
    num_first = offsets[row + 1] - start;
    degree = num_first + (is_directed ? in_offsets[row + 1] - in_start : 0);
  }

  __device__ __forceinline__ int operator[](long long index) const {
    return index < num_first ? first[index] : second[index - num_first];
  }
};

// The first iteration of a graph without parallel arcs, where the label of every vertex is its id:
// the smallest vertex in both lists, or in one of them if they have none in common. A warp
// processes a row; lists are ascending.
extern "C" __global__ void take_first_labels(long long num_rows, const int *rows,
                                             long long is_directed, const long long *offsets,
                                             const int *neighbors, const long long *in_offsets,
                                             const int *in_neighbors, int *new_labels) {
  const int lane = lane_id();
  for (long long item = warp_id(); item < num_rows; item += warp_count()) {
    const int row = rows[item];
    const Neighborhood list(row, is_directed, offsets, neighbors, in_offsets, in_neighbors);
    const long long num_second = list.degree - list.num_first;
    int label = list.num_first ? list.first[0] : NO_VERTEX;
    if (num_second) label = min(label, list.second[0]);
    // Each vertex of the shorter list is searched in the longer one.
    const bool is_first_shorter = list.num_first <= num_second;
    const int *shorter = is_first_shorter ? list.first : list.second;
    const int *longer = is_first_shorter ? list.second : list.first;
    const long long length = min(list.num_first, num_second), other_length = list.degree - length;
    for (long long base = 0; base < length; base += WARP) {
      const long long index = base + lane;
      const int vertex = index < length ? shorter[index] : NO_VERTEX;
      const long long match = position(longer, 0, index < length ? other_length : 0, vertex);
      const bool is_common = index < length && match < other_length && longer[match] == vertex;
      const unsigned mask = __ballot_sync(FULL_MASK, is_common);
      if (mask) {
        label = __shfl_sync(FULL_MASK, vertex, __ffs(mask) - 1);
        break;
      }
    }
    if (lane == 0) new_labels[row] = label;
  }
}

// One iteration for rows of at most `lanes` neighbors, which is a power of two up to 32. Each lane
// of a group has one neighbor.
extern "C" __global__ void propagate_short(long long lanes, long long num_rows, const int *rows,
                                           long long is_directed, const long long *offsets,
                                           const int *neighbors, const long long *in_offsets,
                                           const int *in_neighbors, const int *labels,
                                           int *new_labels) {
  const int width = (int)lanes, groups = WARP / width;
  const int group = lane_id() / width, member = lane_id() % width;
  for (long long base = warp_id() * groups; base < num_rows; base += warp_count() * groups) {
    const bool has_row = base + group < num_rows;
    const int row = has_row ? rows[base + group] : 0;
    const Neighborhood list(row, is_directed, offsets, neighbors, in_offsets, in_neighbors);
    const bool has_neighbor = has_row && member < list.degree;
    const int label = has_neighbor ? labels[list[member]] : EMPTY;
    const unsigned equal = __match_any_sync(FULL_MASK, (u64)group << 32 | (unsigned)label);
    const u64 best = warp_max(has_neighbor ? key_of(__popc(equal), label) : 0, width);
    if (has_row && member == 0) new_labels[row] = label_of(best);
  }
}

// A hash table of labels with open addressing: `size` keys, which is a power of two, and as many
// counts. Slots are never emptied, so that a label is either in one of its first slots or in none.
struct LabelTable {
  int *keys, *counts;
  int size;

  __device__ __forceinline__ void clear() {
    for (int slot = threadIdx.x; slot < size; slot += blockDim.x)
      keys[slot] = EMPTY, counts[slot] = 0;
  }

  // Add to the count of a label, and return it; 0 if the label has none of its first slots.
  __device__ __forceinline__ int add(int label, int amount, int max_probes) {
    unsigned slot = hash(label, __clz(size - 1) & 31);
    for (int probe = 0; probe < max_probes; probe++, slot++) {
      slot &= size - 1;
      int key = *(volatile int *)(keys + slot);
      if (key == EMPTY) key = atomicCAS(keys + slot, EMPTY, label);
      if (key == EMPTY || key == label) return atomicAdd(counts + slot, amount) + amount;
    }
    return 0;
  }
};

// One iteration for longer rows, each of which a block processes. next_row is 0 before. Each block
// has a table of table_size slots in shared memory, and one of overflow_size slots in `overflow`,
// which is 0 if the first one has twice as many slots as the longest list.
extern "C" __global__ void propagate_long(long long num_rows, const int *rows, long long *next_row,
                                          long long table_size, long long overflow_size,
                                          int *overflow, long long is_directed,
                                          const long long *offsets, const int *neighbors,
                                          const long long *in_offsets, const int *in_neighbors,
                                          const int *labels, int *new_labels) {
  extern __shared__ int shared[];
  __shared__ long long item;
  __shared__ u64 bests[WARP];
  __shared__ int has_majority;
  const int lane = lane_id(), warp = threadIdx.x / WARP;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) {
      item = (long long)atomicAdd((u64 *)next_row, 1ull);
      has_majority = 0;
    }
    __syncthreads();
    if (item >= num_rows) return;
    const int row = rows[item];
    const Neighborhood list(row, is_directed, offsets, neighbors, in_offsets, in_neighbors);
    long long num_slots = 32;
    while (num_slots < 2 * list.degree) num_slots *= 2;
    LabelTable table{shared, shared + table_size, (int)min(num_slots, table_size)};
    LabelTable second{overflow + 2 * overflow_size * blockIdx.x,
                      overflow + 2 * overflow_size * blockIdx.x + overflow_size,
                      (int)min(num_slots, overflow_size)};
    const bool may_overflow = num_slots > table_size;
    table.clear();
    if (may_overflow) second.clear();
    __syncthreads();
    u64 best = 0;
    for (long long base = 0; base < list.degree; base += BATCH * (long long)blockDim.x) {
      int label[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const long long index = base + k * (long long)blockDim.x + threadIdx.x;
        label[k] = index < list.degree ? list[index] : EMPTY;
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++)
        if (label[k] != EMPTY) label[k] = labels[label[k]];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        // One lane adds for all lanes of the warp that have the same label.
        const unsigned equal = __match_any_sync(FULL_MASK, label[k]);
        if (label[k] == EMPTY || lane != __ffs(equal) - 1) continue;
        const int amount = __popc(equal);
        int count = table.add(label[k], amount, may_overflow ? MAX_PROBES : table.size);
        if (!count) count = second.add(label[k], amount, second.size);
        best = max(best, key_of(count, label[k]));
        if (2 * (long long)count > list.degree) atomicExch(&has_majority, 1);
      }
      if (__any_sync(FULL_MASK, *(volatile int *)&has_majority)) break;
    }
    best = warp_max(best, WARP);
    if (lane == 0) bests[warp] = best;
    __syncthreads();
    if (warp == 0) {
      best = warp_max(lane < blockDim.x / WARP ? bests[lane] : 0, WARP);
      if (lane == 0) new_labels[row] = label_of(best);
    }
  }
}

// Set is_active of the neighbors of rows: their labels may change in the next iteration.
extern "C" __global__ void mark_neighbors(long long num_rows, const int *rows,
                                          long long is_directed, const long long *offsets,
                                          const int *neighbors, const long long *in_offsets,
                                          const int *in_neighbors, bool *is_active) {
  for (int direction = 0; direction < (is_directed ? 2 : 1); direction++) {
    const int *list = direction ? in_neighbors : neighbors;
    expand(rows, num_rows, (const long long *)0, 0, direction ? in_offsets : offsets,
           [&](const bool *is_valid, const long long *arc, const int *) {
#pragma unroll
             for (int k = 0; k < BATCH; k++)
               if (is_valid[k]) is_active[list[arc[k]]] = true;
           });
  }
}

// degrees[v] = neighbors of v in both lists if is_directed, else in the first.
extern "C" __global__ void sum_degrees(long long num_vertices, long long is_directed,
                                       const long long *offsets, const long long *in_offsets,
                                       long long *degrees) {
  STRIDE(vertex, num_vertices) {
    long long degree = offsets[vertex + 1] - offsets[vertex];
    if (is_directed) degree += in_offsets[vertex + 1] - in_offsets[vertex];
    degrees[vertex] = degree;
  }
}
