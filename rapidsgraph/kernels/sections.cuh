// Packed partitions of layered edge lists: their sections, and passes over the edges of sections.
//
// layered/packing.py describes the format: a partition has a section of forward edges (0) and one
// of backward edges (1). Vertices are positions in layer order. The including file defines
// weight_t.
//
// Kernels have these parameters in common:
//
//   start, stop  partitions to process
//   origin       index of words[0] among the words of all partitions
//   table        layout of all partitions, PARTITION_COLUMNS values each
//   words        packed words, which include those of the partitions to process
//   checksums    computed checksums, two per partition; a section is skipped if its checksum is not
//                the one in the table, because it is damaged, or a value in it is out of bounds
//   weight_type  unused; its type is that of the weights

#include "grid.cuh"

#define CHUNK_WORK 992      // work of a warp at a time; a chunk overlaps at most 32 groups
#define BATCH 4             // edges in flight per thread
#define MIN_WARP_DEGREE 64  // from this degree on, all lanes of a warp share a row
#define GROUPS_AT_ONCE 8    // groups whose rows are tested before the next branch

struct Section {
  const unsigned *starts, *degrees, *neighbors;
  const weight_t *weights;
  long long first, rows, edges, base;
  int bits, degree_bits;
};

// Whether the computed checksum of a section is the one in the table.
__device__ __forceinline__ bool is_intact(const long long *table, const u64 *checksums,
                                          long long partition, int direction) {
  const long long *row = table + partition * PARTITION_COLUMNS;
  return checksums[2 * partition + direction] == (u64)row[COLUMN_FORWARD_CHECKSUM + direction];
}

__device__ __forceinline__ Section read_section(const long long *table, const unsigned *words,
                                                long long origin, long long partition,
                                                int direction) {
  const long long *row = table + partition * PARTITION_COLUMNS;
  const long long *section_row = row + (direction ? COLUMN_BACKWARD_EDGES : COLUMN_FORWARD_EDGES);
  Section s;
  s.starts = words + (row[COLUMN_POSITION] - origin + (direction ? row[COLUMN_FORWARD_WORDS] : 0));
  s.first = row[COLUMN_FIRST], s.rows = row[COLUMN_ROWS], s.edges = section_row[0],
  s.base = section_row[1];
  s.bits = (int)section_row[2], s.degree_bits = (int)section_row[3];
  const long long degrees = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS + 1;
  const long long neighbors = degrees + (s.rows * s.degree_bits + 31) / 32 + 1;
  const long long weights = neighbors + (max(s.edges * s.bits, 1ll) + 31) / 32 + 1;
  s.degrees = s.starts + degrees;
  s.neighbors = s.starts + neighbors;
  s.weights = (const weight_t *)(s.starts + weights + weights % 2);
  return s;
}

// Return a packed value.
__device__ __forceinline__ unsigned extract(const unsigned *words, int bits, long long index) {
  const u64 bit = (u64)index * bits;
  const unsigned *word = words + (bit >> 5);
  return __funnelshift_r(word[0], word[1], (unsigned)bit & 31) & (unsigned)((1ull << bits) - 1);
}

// Add the checksum of words to *checksum. Each word is multiplied by an odd number that depends on
// its index, so that a change of a single word always changes the sum.
__device__ __forceinline__ void add_words(const unsigned *words, long long num_words,
                                          u64 *checksum) {
  u64 sum = 0;
  STRIDE(i, num_words) sum += (words[i] + 1ull) * ((2 * i + 1) * 0x9e3779b97f4a7c15ull);
  sum = warp_sum(sum);
  if (threadIdx.x % WARP == 0) atomicAdd(checksum, sum);
}

// Return the layer of a position: the last one that starts at or before it.
__device__ __forceinline__ long long find_layer(const long long *layer_starts, long long num_layers,
                                                long long position) {
  long long layer = 0, stop = num_layers;
  while (stop - layer > 1) {
    const long long middle = (layer + stop) / 2;
    if (layer_starts[middle] <= position)
      layer = middle;
    else
      stop = middle;
  }
  return layer;
}

// Return the sum of a value over the lanes up to this one.
__device__ __forceinline__ int prefix_sum(int value) {
  for (int step = 1; step < WARP; step *= 2) {
    const int lower = __shfl_up_sync(FULL_MASK, value, step);
    if ((int)(threadIdx.x % WARP) >= step) value += lower;
  }
  return value;
}

// Return the number of chunks of all sections, and write their prefix sums to chunk_ends, two per
// partition. Sections that are damaged, and backward ones if num_sections is 1, have no chunks.
// The work of a section is 1 per edge and GROUP_ROWS per group of rows. All threads of a block call
// this function.
__device__ __forceinline__ long long count_chunks(long long start, long long stop, int num_sections,
                                                  const long long *table, const u64 *checksums,
                                                  unsigned *chunk_ends) {
  const int size = 2 * (int)(stop - start);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    const long long partition = start + i / 2, *row = table + partition * PARTITION_COLUMNS;
    const long long edges = row[i % 2 ? COLUMN_BACKWARD_EDGES : COLUMN_FORWARD_EDGES];
    const long long groups = (row[COLUMN_ROWS] + GROUP_ROWS - 1) / GROUP_ROWS;
    const bool is_used =
        edges && i % 2 < num_sections && is_intact(table, checksums, partition, i % 2);
    chunk_ends[i] =
        is_used ? (unsigned)((edges + GROUP_ROWS * groups + CHUNK_WORK - 1) / CHUNK_WORK) : 0;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < size; i++) chunk_ends[i] += chunk_ends[i - 1];
  __syncthreads();
  return size ? chunk_ends[size - 1] : 0;
}

// Call visit(section, partition, chunk) for all chunks of all sections, each from one warp.
template <class Visit>
__device__ __forceinline__ void for_each_chunk(long long start, long long stop, long long origin,
                                               const long long *table, const unsigned *words,
                                               const unsigned *chunk_ends, long long num_chunks,
                                               Visit visit) {
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; i < num_chunks;
       i += warps) {
    int section = 0, section_stop = 2 * (int)(stop - start);  // the first that ends after chunk i
    while (section_stop > section) {
      const int middle = (section + section_stop) / 2;
      if (chunk_ends[middle] <= i)
        section = middle + 1;
      else
        section_stop = middle;
    }
    const long long partition = start + section / 2;
    visit(read_section(table, words, origin, partition, section % 2), partition,
          i - (section ? chunk_ends[section - 1] : 0));
  }
}

// Call visit(is_edge, edge, first_row, lanes, values, neighbor) for the edges of a chunk whose rows
// satisfy is_active(row), BATCH edges per lane at a time. Edge k is from the row
// first_row + lanes[k], of which values[k] = load(row). If is_edge[k] is false, there is no edge k.
//
// Chunks have equal work wherever rows begin, so that neither long rows nor many empty ones delay a
// warp.
template <class Value, class IsActive, class Load, class Visit>
__device__ __forceinline__ void for_each_edge(const Section &s, long long chunk, IsActive is_active,
                                              Load load, Visit visit) {
  const int lane = threadIdx.x % WARP;
  const long long num_groups = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS;
  const long long work_start = chunk * CHUNK_WORK, work_stop = work_start + CHUNK_WORK;
  // Find the last group whose work begins at or before work_start; each lane tests one group.
  long long first_group = 0, stop_group = num_groups;
  while (stop_group - first_group > 1) {
    const long long step = max(1ll, (stop_group - first_group) / WARP);
    const long long group = first_group + (lane + 1) * step;
    const int num_passed = __popc(__ballot_sync(
        FULL_MASK, group < stop_group && s.starts[group] + GROUP_ROWS * group <= work_start));
    const long long next = first_group + (num_passed + 1) * step;
    first_group += num_passed * step;
    if (num_passed < WARP) stop_group = min(stop_group, next);
  }
  const bool has_group = first_group + lane < num_groups;
  const unsigned group_start = has_group ? s.starts[first_group + lane] : 0;
  const bool is_in_chunk = has_group && group_start + GROUP_ROWS * (first_group + lane) < work_stop;
  const int chunk_groups = __popc(__ballot_sync(FULL_MASK, is_in_chunk));
  unsigned active_groups = 0;  // one bit per group
  for (int k = 0; k < chunk_groups; k += GROUPS_AT_ONCE) {
    bool is_row_active[GROUPS_AT_ONCE];
#pragma unroll
    for (int j = 0; j < GROUPS_AT_ONCE; j++) {
      const long long row = (first_group + k + j) * GROUP_ROWS + lane;
      is_row_active[j] = k + j < chunk_groups && row < s.rows && is_active(s.first + row);
    }
#pragma unroll
    for (int j = 0; j < GROUPS_AT_ONCE; j++)
      if (__any_sync(FULL_MASK, is_row_active[j])) active_groups |= 1u << (k + j);
  }
  for (; active_groups; active_groups &= active_groups - 1) {
    const int k = __ffs(active_groups) - 1;
    const long long row = (first_group + k) * GROUP_ROWS + lane;
    const long long work_before = GROUP_ROWS * (first_group + k + 1);  // of edge 0, in this group
    const int degree = row < s.rows ? (int)extract(s.degrees, s.degree_bits, row) : 0;
    long long edge_start =
        __shfl_sync(FULL_MASK, group_start, k) + (long long)prefix_sum(degree) - degree;
    const long long edge_stop = min(edge_start + degree, work_stop - work_before);
    edge_start = max(edge_start, work_start - work_before);
    const bool has_edges = edge_stop > edge_start && is_active(s.first + row);
    Value value;
    if (has_edges) value = load(s.first + row);
    const int num_edges = has_edges ? (int)(edge_stop - edge_start) : 0;
    const long long first_row = s.first + row - lane;
    bool is_edge[BATCH];
    unsigned edge[BATCH];
    int lanes[BATCH], neighbor[BATCH];
    Value values[BATCH];
    // Long rows, one after another.
    for (unsigned remaining = __ballot_sync(FULL_MASK, num_edges >= MIN_WARP_DEGREE); remaining;
         remaining &= remaining - 1) {
      const int source = __ffs(remaining) - 1, size = __shfl_sync(FULL_MASK, num_edges, source);
      const unsigned source_start = __shfl_sync(FULL_MASK, (unsigned)edge_start, source);
      const Value source_value = __shfl_sync(FULL_MASK, value, source);
      for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
          const int i = done + j * WARP + lane;
          is_edge[j] = i < size;
          edge[j] = source_start + i;
          lanes[j] = source;
          values[j] = source_value;
          neighbor[j] = is_edge[j] ? (int)(s.base + extract(s.neighbors, s.bits, edge[j])) : 0;
        }
        visit(is_edge, edge, first_row, lanes, values, neighbor);
      }
    }
    // The edges of all short rows of the group, as one list.
    const int num_short = num_edges < MIN_WARP_DEGREE ? num_edges : 0;
    const int list_stop = prefix_sum(num_short), list_start = list_stop - num_short;
    const int total = __shfl_sync(FULL_MASK, list_stop, WARP - 1);
    const unsigned offset = (unsigned)edge_start - (unsigned)list_start;
    for (int done = 0; done < total; done += BATCH * WARP) {
#pragma unroll
      for (int j = 0; j < BATCH; j++) {
        const int i = done + j * WARP + lane;
        lanes[j] = 0;
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2)
          if (__shfl_sync(FULL_MASK, list_start, lanes[j] + step) <= i) lanes[j] += step;
        is_edge[j] = i < total;
        edge[j] = (unsigned)i + __shfl_sync(FULL_MASK, offset, lanes[j]);
        values[j] = __shfl_sync(FULL_MASK, value, lanes[j]);
      }
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        neighbor[j] = is_edge[j] ? (int)(s.base + extract(s.neighbors, s.bits, edge[j])) : 0;
      visit(is_edge, edge, first_row, lanes, values, neighbor);
    }
  }
}

// Call visit(section, is_edge, edge, first_row, lanes, values, neighbor) for the edges of all
// sections, or of forward sections if num_sections is 1; see for_each_edge.
template <class Value, class IsActive, class Load, class Visit>
__device__ __forceinline__ void sweep_edges(long long start, long long stop, long long origin,
                                            int num_sections, const long long *table,
                                            const unsigned *words, const u64 *checksums,
                                            IsActive is_active, Load load, Visit visit) {
  __shared__ unsigned chunk_ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long num_chunks =
      count_chunks(start, stop, num_sections, table, checksums, chunk_ends);
  for_each_chunk(start, stop, origin, table, words, chunk_ends, num_chunks,
                 [=](const Section &s, long long, long long chunk) {
                   for_each_edge<Value>(
                       s, chunk, is_active, load,
                       [=, &s](const bool *is_edge, const unsigned *edge, long long first_row,
                               const int *lanes, const Value *values, const int *neighbor) {
                         visit(s, is_edge, edge, first_row, lanes, values, neighbor);
                       });
                 });
}
