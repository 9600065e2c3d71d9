// Frontiers of traversals: their expansion, and the search for a first matching arc.
//
// A frontier is a queue of vertices, and a list of chunks of FRONTIER_CHUNK arcs of those vertices
// that have more. The counters of rounds are triple-buffered: round t reads the ones of index t %
// 3, adds to those of (t + 1) % 3 and clears those of (t + 2) % 3, which no block reads any more. A
// plain load may return an old value; claiming a vertex is atomic.
//
// Reference: Merrill, Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012,
// https://doi.org/10.1145/2145816.2145832 (a thread, a warp or a block per list).

#include "grid.cuh"

#define LONG 64  // arcs from which one warp expands a list
#define BATCH 4  // arcs that a thread loads at once
#ifndef APPEND_CAPACITY
#define APPEND_CAPACITY (2 * WARP)  // values in the buffer of an Appender
#endif

struct Counters {
  u64 num_queued, num_chunks, num_arcs, num_found;
};

__device__ __forceinline__ Counters *counters_of(long long *counters, long long round) {
  return (Counters *)(counters + 4 * (round % 3));
}

__device__ __forceinline__ int lane_id() { return threadIdx.x % WARP; }

__device__ __forceinline__ long long warp_id() {
  return (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
}

__device__ __forceinline__ long long warp_count() {
  return gridDim.x * (long long)(blockDim.x / WARP);
}

// Buffer of a warp that appends to a queue, APPEND_CAPACITY - 32 values at a time. Kernels have its
// loop, and that over chunks below, many times: unrolled, they take a third of the compilation.
struct Appender {
  int *buffer, count;
  int *queue;
  u64 *length;

  __device__ __forceinline__ void append(bool is_valid, int value) {
    const unsigned mask = __ballot_sync(FULL_MASK, is_valid);
    if (!mask) return;
    if (is_valid) buffer[count + __popc(mask & ((1u << lane_id()) - 1))] = value;
    count += __popc(mask);
    __syncwarp();
    if (count > APPEND_CAPACITY - WARP) flush(APPEND_CAPACITY - WARP);
  }

  __device__ __forceinline__ void flush(int num_values) {
    if (!num_values) return;
    count -= num_values;
    u64 base = lane_id() ? 0 : atomicAdd(length, (u64)num_values);
    base = __shfl_sync(FULL_MASK, base, 0);
#pragma unroll 1
    for (int index = lane_id(); index < num_values; index += WARP)
      queue[base + index] = buffer[count + index];
    __syncwarp();
  }
};

// The arcs of a list that are visited: all of them.
struct WholeList {
  __device__ __forceinline__ long long operator()(int, long long, long long degree) const {
    return degree;
  }
};

// The next frontier as one warp sees it.
struct Next {
  Appender queue;
  Counters *counters;
  long long *chunks;
  const long long *offsets;
  long long arcs;

  // Append each vertex for which is_valid; all lanes must call it. length(vertex, start, degree) is
  // an upper bound of the arcs that will be visited, the first ones of the list.
  template <int COUNT, class Length = WholeList>
  __device__ __forceinline__ void take(const bool *is_valid, const int *vertex,
                                       Length length = Length()) {
    long long degree[COUNT];
    bool any = false;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      degree[k] = is_valid[k] ? offsets[vertex[k] + 1] - offsets[vertex[k]] : 0;
      any |= is_valid[k];
    }
    if (!__any_sync(FULL_MASK, any)) return;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      arcs += degree[k];
      if (degree[k] > FRONTIER_CHUNK) degree[k] = length(vertex[k], offsets[vertex[k]], degree[k]);
      queue.append(degree[k] > 0 && degree[k] <= FRONTIER_CHUNK, vertex[k]);
      if (degree[k] > FRONTIER_CHUNK) {
        const long long num_values = (degree[k] + FRONTIER_CHUNK - 1) / FRONTIER_CHUNK;
        const long long base = atomicAdd(&counters->num_chunks, (u64)num_values);
#pragma unroll 1
        for (long long chunk = 0; chunk < num_values; chunk++)
          chunks[base + chunk] = ((long long)vertex[k] << 32) | chunk;
      }
      __syncwarp();
    }
  }

  // Flush the buffer and add up the arcs, before the barrier.
  __device__ __forceinline__ void finish() {
    queue.flush(queue.count);
    const long long total = warp_sum(arcs);
    if (lane_id() == 0 && total) atomicAdd(&counters->num_arcs, (u64)total);
  }

  // Append all of these vertices, and `last`, but no negative ones.
  __device__ __forceinline__ void take_all(const int *vertices, long long count, int last = -1) {
    for (long long first = warp_id() * WARP; first <= count; first += warp_count() * WARP) {
      const long long index = first + lane_id();
      const int candidate[1] = {index < count ? vertices[index] : index == count ? last : -1};
      const bool is_valid[1] = {candidate[0] >= 0};
      take<1>(is_valid, candidate);
    }
    finish();
  }
};

// Call visit(is_valid, arcs, owners) for every arc of the frontier, BATCH per lane at a time; of
// the lists of queued vertices, for the first length(vertex, start, degree).
template <class Visit, class Length = WholeList>
__device__ __forceinline__ void expand(const int *queue, long long num_queued,
                                       const long long *chunks, long long num_chunks,
                                       const long long *offsets, Visit visit,
                                       Length length = Length()) {
  const int lane = lane_id();
  bool is_valid[BATCH];
  long long arc[BATCH];
  int owner[BATCH];

  // A block takes a chunk or, if there are few, a queued vertex.
  const bool is_short = num_queued <= gridDim.x;
  for (long long item = blockIdx.x; item < num_chunks + (is_short ? num_queued : 0);
       item += gridDim.x) {
    const bool is_chunk = item < num_chunks;
    const long long chunk = is_chunk ? chunks[item] : (long long)queue[item - num_chunks] << 32;
    const int vertex = (int)(chunk >> 32);
    const long long list_start = offsets[vertex], list_stop = offsets[vertex + 1];
    const long long start = list_start + (chunk & 0xffffffff) * FRONTIER_CHUNK;
    long long stop = min(start + FRONTIER_CHUNK, list_stop);
    if (!is_chunk) {  // the length may change meanwhile, so the lanes of a warp use one value
      const long long own_length = length(vertex, start, list_stop - list_start);
      stop = start + __shfl_sync(FULL_MASK, own_length, 0);
    }
    for (long long base = start; base < stop; base += BATCH * (long long)blockDim.x) {
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        arc[k] = base + k * (long long)blockDim.x + threadIdx.x;
        is_valid[k] = arc[k] < stop;
        owner[k] = vertex;
      }
      visit(is_valid, arc, owner);
    }
  }

  if (is_short) return;

  // As few vertices per warp as keep all warps busy.
  const long long warps = warp_count();
  const int vertices_per_warp =
      (int)min((long long)WARP, max(1ll, (num_queued + warps - 1) / warps));
  for (long long first = warp_id() * vertices_per_warp; first < num_queued;
       first += warps * vertices_per_warp) {
    const bool has_vertex = lane < vertices_per_warp && first + lane < num_queued;
    const int vertex = has_vertex ? queue[first + lane] : 0;
    const long long start = has_vertex ? offsets[vertex] : 0;
    const int degree = has_vertex ? (int)length(vertex, start, offsets[vertex + 1] - start) : 0;
    for (unsigned remaining = __ballot_sync(FULL_MASK, degree >= LONG); remaining;
         remaining &= remaining - 1) {
      const int source_lane = __ffs(remaining) - 1;
      const long long base = __shfl_sync(FULL_MASK, start, source_lane);
      const int size = __shfl_sync(FULL_MASK, degree, source_lane),
                list_owner = __shfl_sync(FULL_MASK, vertex, source_lane);
      for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const int index = done + k * WARP + lane;
          is_valid[k] = index < size;
          arc[k] = base + index;
          owner[k] = list_owner;
        }
        visit(is_valid, arc, owner);
      }
    }
    // Concatenate short lists: an arc belongs to the last list that starts at or before it.
    int before = degree < LONG ? degree : 0;
    const int short_degree = before;
    for (int step = 1; step < WARP; step *= 2) {
      const int lower = __shfl_up_sync(FULL_MASK, before, step);
      if (lane >= step) before += lower;
    }
    const int total = __shfl_sync(FULL_MASK, before, WARP - 1);
    before -= short_degree;
    for (int done = 0; done < total; done += BATCH * WARP) {
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const int index = done + k * WARP + lane;
        int list_owner = 0;
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2) {
          const int list_start = __shfl_sync(FULL_MASK, before, list_owner + step);
          if (list_start <= index) list_owner += step;
        }
        is_valid[k] = index < total;
        arc[k] = __shfl_sync(FULL_MASK, start, list_owner) +
                 (index - __shfl_sync(FULL_MASK, before, list_owner));
        owner[k] = __shfl_sync(FULL_MASK, vertex, list_owner);
      }
      visit(is_valid, arc, owner);
    }
  }
}

// Return for every lane the first arc from `start` to `stop` that passes test(arc, value), or -1.
// Each lane tests a few arcs of its list; then the warp searches the remaining lists one by one.
template <class Value, class Test>
__device__ __forceinline__ long long first_arc(long long start, long long stop, Value value,
                                               Test test) {
  const int lane = lane_id();
  long long result = -1;
  for (int pass = 0; pass < 2; pass++) {
    bool passes[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++)
      passes[k] = result < 0 && start + k < stop && test(start + k, value);
#pragma unroll
    for (int k = BATCH - 1; k >= 0; k--)
      if (passes[k]) result = start + k;
    start += BATCH;
  }
  for (unsigned remaining = __ballot_sync(FULL_MASK, result < 0 && start < stop); remaining;
       remaining &= remaining - 1) {
    const int source_lane = __ffs(remaining) - 1;
    const long long last = __shfl_sync(FULL_MASK, stop, source_lane);
    const Value lane_value = __shfl_sync(FULL_MASK, value, source_lane);
    for (long long base = __shfl_sync(FULL_MASK, start, source_lane); base < last;
         base += BATCH * WARP) {
      bool passes[BATCH];
      unsigned passing = 0;
      int batch = 0;
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const long long arc = base + k * WARP + lane;
        passes[k] = arc < last && test(arc, lane_value);
      }
#pragma unroll
      for (int k = BATCH - 1; k >= 0; k--) {
        const unsigned mask = __ballot_sync(FULL_MASK, passes[k]);
        if (mask) {
          passing = mask;
          batch = k;
        }
      }
      if (passing) {
        if (lane == source_lane) result = base + batch * WARP + __ffs(passing) - 1;
        break;
      }
    }
  }
  return result;
}
