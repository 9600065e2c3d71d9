// Packed partitions of layered edge lists: the sections of a partition, and a pass over the edges
// of one. layered/packing.py describes the format. The including file defines weight_t.

#include "grid.cuh"

#define CHUNK 992     // work that a warp takes at a time: 32 groups at most
#define BATCH 4       // edges in flight a thread
#define LONG 64       // from so many edges on, a warp takes a row for itself
#define AHEAD 8       // groups that are looked at together


struct Section {
  const unsigned *starts, *degrees, *neighbors;
  const weight_t *weights;
  long long first, rows, edges, base;
  int bits, degree_bits;
};

// Whether a section is what it was when it was written, by the sum of its words.
__device__ __forceinline__ bool is_sound(const long long *table, const unsigned long long *sums,
                                         long long partition, int part) {
  return sums[2 * partition + part] == (u64)table[partition * PARTITION_COLUMNS + COLUMN_FORWARD_CHECKSUM + part];
}

// The forward (0) or backward (1) section; `words` begin at word `origin` of all.
__device__ __forceinline__ Section section_of(const long long *table, const unsigned *words,
                                              long long origin, long long partition, int part) {
  const long long *row = table + partition * PARTITION_COLUMNS;
  const long long *own = row + (part ? COLUMN_BACKWARD_EDGES : COLUMN_FORWARD_EDGES);
  Section s;
  s.starts = words + (row[COLUMN_POSITION] - origin + (part ? row[COLUMN_FORWARD_WORDS] : 0));
  s.first = row[COLUMN_FIRST], s.rows = row[COLUMN_ROWS], s.edges = own[0], s.base = own[1];
  s.bits = (int)own[2], s.degree_bits = (int)own[3];
  const long long degrees = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS + 1;
  const long long neighbors = degrees + (s.rows * s.degree_bits + 31) / 32 + 1;
  const long long weights = neighbors + (max(s.edges * s.bits, 1ll) + 31) / 32 + 1;
  s.degrees = s.starts + degrees;
  s.neighbors = s.starts + neighbors;
  s.weights = (const weight_t *)(s.starts + weights + weights % 2);
  return s;
}

__device__ __forceinline__ unsigned extract(const unsigned *words, int bits, long long index) {
  const u64 at = (u64)index * bits;
  const unsigned *word = words + (at >> 5);
  return __funnelshift_r(word[0], word[1], (unsigned)at & 31) & (unsigned)((1ull << bits) - 1);
}

__device__ __forceinline__ int before_lane(int value) {  // sum over the lanes up to this one
  for (int step = 1; step < WARP; step *= 2) {
    const int lower = __shfl_up_sync(FULL_MASK, value, step);
    if ((int)(threadIdx.x % WARP) >= step) value += lower;
  }
  return value;
}

// The chunks of all sections that are sound: `ends` counts those up to each section's last, a
// forward and a backward section a partition; with `parts` 1 backward ones have none. All threads
// of a block call it.
__device__ __forceinline__ long long count_chunks(long long start, long long stop, int parts,
                                                  const long long *table,
                                                  const unsigned long long *sums, unsigned *ends) {
  const int sections = 2 * (int)(stop - start);
  for (int i = threadIdx.x; i < sections; i += blockDim.x) {
    const long long partition = start + i / 2, *row = table + partition * PARTITION_COLUMNS;
    const long long edges = row[i % 2 ? COLUMN_BACKWARD_EDGES : COLUMN_FORWARD_EDGES];
    const long long groups = (row[COLUMN_ROWS] + GROUP_ROWS - 1) / GROUP_ROWS;
    const bool is = edges && i % 2 < parts && is_sound(table, sums, partition, i % 2);
    ends[i] = is ? (unsigned)((edges + GROUP_ROWS * groups + CHUNK - 1) / CHUNK) : 0;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < sections; i++) ends[i] += ends[i - 1];
  __syncthreads();
  return sections ? ends[sections - 1] : 0;
}

// Call visit(section, partition, chunk) for all chunks, each by one warp.
template <class Visit>
__device__ __forceinline__ void each_chunk(long long start, long long stop, long long origin,
                                           const long long *table, const unsigned *words,
                                           const unsigned *ends, long long chunks, Visit visit) {
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  for (long long at = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; at < chunks;
       at += warps) {
    int section = 0, behind = 2 * (int)(stop - start);  // the first that ends beyond `at`
    while (behind > section) {
      const int middle = (section + behind) / 2;
      if (ends[middle] <= at)
        section = middle + 1;
      else
        behind = middle;
    }
    const long long partition = start + section / 2;
    visit(section_of(table, words, origin, partition, section % 2), partition,
          at - (section ? ends[section - 1] : 0));
  }
}

// Call visit(is, edge, group, place, value, neighbor), group + place being the row, for the edges
// of one chunk whose rows are active(row), BATCH a lane at a time; value = load(row). Work is an
// edge, or the 32nd part of a group: a chunk is CHUNK of it, wherever rows begin, so that neither
// long rows nor many empty ones hold a warp up. Where is[k] is false, all others mean nothing.
template <class Value, class Active, class Load, class Visit>
__device__ __forceinline__ void each_edge(const Section &s, long long chunk, Active active,
                                          Load load, Visit visit) {
  const int lane = threadIdx.x % WARP;
  const long long groups = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS;
  const long long low = chunk * CHUNK, high = low + CHUNK;
  long long first = 0, behind = groups;  // the last group that begins at `low` or before
  while (behind - first > 1) {
    const long long step = max(1ll, (behind - first) / WARP);
    const long long at = first + (lane + 1) * step;
    const int passed = __popc(__ballot_sync(FULL_MASK, at < behind && s.starts[at] + GROUP_ROWS * at <= low));
    const long long next = first + (passed + 1) * step;
    first += passed * step;
    if (passed < WARP) behind = min(behind, next);
  }
  const bool is_there = first + lane < groups;
  const unsigned start = is_there ? s.starts[first + lane] : 0;
  const bool is_within = is_there && start + GROUP_ROWS * (first + lane) < high;
  const int count = __popc(__ballot_sync(FULL_MASK, is_within));  // groups of this chunk
  unsigned wanted = 0;
  for (int k = 0; k < count; k += AHEAD) {
    bool is[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; j++) {
      const long long row = (first + k + j) * GROUP_ROWS + lane;
      is[j] = k + j < count && row < s.rows && active(s.first + row);
    }
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
      if (__any_sync(FULL_MASK, is[j])) wanted |= 1u << (k + j);
  }
  for (; wanted; wanted &= wanted - 1) {
    const int k = __ffs(wanted) - 1;
    const long long row = (first + k) * GROUP_ROWS + lane, shift = GROUP_ROWS * (first + k + 1);
    const int degree = row < s.rows ? (int)extract(s.degrees, s.degree_bits, row) : 0;
    long long begin = __shfl_sync(FULL_MASK, start, k) + (long long)before_lane(degree) - degree;
    const long long end = min(begin + degree, high - shift);
    begin = max(begin, low - shift);
    const bool mine = end > begin && active(s.first + row);
    Value value;
    if (mine) value = load(s.first + row);
    const int edges = mine ? (int)(end - begin) : 0;
    const long long group = s.first + row - lane;
    bool is[BATCH];
    unsigned edge[BATCH];
    int whose[BATCH], neighbor[BATCH];
    Value values[BATCH];
    for (unsigned rest = __ballot_sync(FULL_MASK, edges >= LONG); rest; rest &= rest - 1) {
      const int from = __ffs(rest) - 1, size = __shfl_sync(FULL_MASK, edges, from);
      const unsigned at = __shfl_sync(FULL_MASK, (unsigned)begin, from);
      const Value its = __shfl_sync(FULL_MASK, value, from);
      for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
          const int place = done + j * WARP + lane;
          is[j] = place < size;
          edge[j] = at + place;
          whose[j] = from;
          values[j] = its;
          neighbor[j] = is[j] ? (int)(s.base + extract(s.neighbors, s.bits, edge[j])) : 0;
        }
        visit(is, edge, group, whose, values, neighbor);
      }
    }
    const int few = edges < LONG ? edges : 0, after = before_lane(few), before = after - few;
    const int total = __shfl_sync(FULL_MASK, after, WARP - 1);
    const unsigned offset = (unsigned)begin - (unsigned)before;
    for (int done = 0; done < total; done += BATCH * WARP) {
#pragma unroll
      for (int j = 0; j < BATCH; j++) {
        const int place = done + j * WARP + lane;
        whose[j] = 0;
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2)
          if (__shfl_sync(FULL_MASK, before, whose[j] + step) <= place) whose[j] += step;
        is[j] = place < total;
        edge[j] = (unsigned)place + __shfl_sync(FULL_MASK, offset, whose[j]);
        values[j] = __shfl_sync(FULL_MASK, value, whose[j]);
      }
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        neighbor[j] = is[j] ? (int)(s.base + extract(s.neighbors, s.bits, edge[j])) : 0;
      visit(is, edge, group, whose, values, neighbor);
    }
  }
}
