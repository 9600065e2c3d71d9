// Packed partitions, as layers/partitions.py describes them: where their parts are, and a pass over
// the edges of a section. Who includes this says what a weight_t is.

#include "grid.cuh"

#define FULL 0xffffffffu
#define GROUP 32    // rows that share one start
#define COLUMNS 16  // of the table of partitions
#define CHUNK 1024  // edges that a warp takes at a time
#define BATCH 4     // edges in flight a thread

typedef unsigned long long u64;

struct Section {
  const unsigned *starts, *degrees, *neighbors;
  const weight_t *weights;
  long long first, rows, edges, base;
  int bits, degree_bits;
};

enum Column {
  POSITION,
  WORDS,
  FORWARD_WORDS,
  FIRST,
  ROWS,
  FORWARD_EDGES,
  FORWARD_BASE,
  FORWARD_BITS,
  FORWARD_DEGREE_BITS,
  BACKWARD_EDGES,
  BACKWARD_BASE,
  BACKWARD_BITS,
  BACKWARD_DEGREE_BITS,
  FORWARD_CHECKSUM,
  BACKWARD_CHECKSUM
};

// Whether a section is what it was when it was written, by the sum of its words.
__device__ __forceinline__ bool is_sound(const long long *table, const unsigned long long *sums,
                                         long long partition, int part) {
  return sums[2 * partition + part] == (u64)table[partition * COLUMNS + FORWARD_CHECKSUM + part];
}

// The forward (0) or backward (1) section; `words` begin at word `origin` of all.
__device__ __forceinline__ Section section_of(const long long *table, const unsigned *words,
                                              long long origin, long long partition, int part) {
  const long long *row = table + partition * COLUMNS;
  const long long *own = row + (part ? BACKWARD_EDGES : FORWARD_EDGES);
  Section s;
  s.starts = words + (row[POSITION] - origin + (part ? row[FORWARD_WORDS] : 0));
  s.first = row[FIRST], s.rows = row[ROWS], s.edges = own[0], s.base = own[1];
  s.bits = (int)own[2], s.degree_bits = (int)own[3];
  const long long degrees = (s.rows + GROUP - 1) / GROUP + 1;
  const long long neighbors = degrees + (s.rows * s.degree_bits + 31) / 32 + 1;
  const long long weights = neighbors + (s.edges * s.bits + 31) / 32 + 1;
  s.degrees = s.starts + degrees;
  s.neighbors = s.starts + neighbors;
  s.weights = (const weight_t *)(s.starts + weights + weights % 2);
  return s;
}

__device__ __forceinline__ unsigned extract(const unsigned *words, int bits, long long index) {
  const long long at = index * bits;
  const u64 pair = words[at / 32] | (u64)words[at / 32 + 1] << 32;
  return (unsigned)(pair >> (at % 32)) & (unsigned)((1ull << bits) - 1);
}

__device__ __forceinline__ int before_lane(int value) {  // sum over the lanes up to this one
  for (int step = 1; step < WARP; step *= 2) {
    const int lower = __shfl_up_sync(FULL, value, step);
    if ((int)(threadIdx.x % WARP) >= step) value += lower;
  }
  return value;
}

// Call visit(is, edge, row, value, neighbor) for the edges of the section, BATCH a lane at a time,
// but for rows for which load(row, &value) says no. A warp takes CHUNK edges, wherever rows begin;
// `turn` counts chunks, so that warps take turns from one section to the next.
template <class Value, class Load, class Visit>
__device__ __forceinline__ void each_edge(const Section &s, long long *turn, Load load,
                                          Visit visit) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
  const long long chunks = (s.edges + CHUNK - 1) / CHUNK, groups = (s.rows + GROUP - 1) / GROUP;
  const long long own = (warp + warps - *turn % warps) % warps;
  *turn += chunks;
  for (long long chunk = own; chunk < chunks; chunk += warps) {
    const long long low = chunk * CHUNK, high = min(low + CHUNK, s.edges);
    long long group = 0, behind = groups;  // the last group that begins at `low` or before
    while (behind - group > 1) {
      const long long step = max(1ll, (behind - group) / WARP);
      const long long at = group + (lane + 1) * step;
      const unsigned mask = __ballot_sync(FULL, at < behind && s.starts[at] <= low);
      const int passed = __popc(mask);
      const long long next = group + (passed + 1) * step;
      group += passed * step;
      if (passed < WARP) behind = min(behind, next);
    }
    for (; group < groups && s.starts[group] < high; group++) {
      const long long row = group * GROUP + lane;
      const int degree = row < s.rows ? (int)extract(s.degrees, s.degree_bits, row) : 0;
      long long begin = s.starts[group] + (long long)before_lane(degree) - degree;
      const long long end = min(begin + degree, high);
      begin = max(begin, low);
      int count = end > begin ? (int)(end - begin) : 0;
      Value value;
      if (count && !load(s.first + row, &value)) count = 0;
      if (!__any_sync(FULL, count)) continue;
      const int behind_own = before_lane(count), before = behind_own - count;
      const int total = __shfl_sync(FULL, behind_own, WARP - 1);
      const int shift = (int)(begin - low) - before;
      for (int done = 0; done < total; done += BATCH * WARP) {
        bool is[BATCH];
        long long edge[BATCH], rows[BATCH];
        Value values[BATCH];
        int neighbor[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const int place = done + k * WARP + lane;
          int whose = 0;
#pragma unroll
          for (int step = WARP / 2; step > 0; step /= 2)
            if (__shfl_sync(FULL, before, whose + step) <= place) whose += step;
          is[k] = place < total;
          edge[k] = low + place + __shfl_sync(FULL, shift, whose);
          rows[k] = s.first + group * GROUP + whose;
          values[k] = __shfl_sync(FULL, value, whose);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          neighbor[k] = is[k] ? (int)(s.base + extract(s.neighbors, s.bits, edge[k])) : 0;
        visit(is, edge, rows, values, neighbor);
      }
    }
  }
}
