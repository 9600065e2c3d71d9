// Frontiers of traversals: their expansion, and the search for a first matching arc.
//
// A frontier is a queue of vertices, and a list of chunks of FRONTIER_CHUNK arcs of those vertices
// that have more. counters has three slots of {queued, chunks, arcs, found}: round t reads slot t %
// 3, adds to slot (t + 1) % 3 and clears slot (t + 2) % 3, which no block reads any more. A plain
// load may return an old value; claiming a vertex is atomic.
//
// Reference: Merrill, Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012,
// https://doi.org/10.1145/2145816.2145832 (a thread, a warp or a block per list).

#include "grid.cuh"

#define LONG 64  // arcs from which a warp expands a list on its own
#define BATCH 4  // arcs that a thread loads at once

struct Slot {
  u64 queued, chunks, arcs, found;
};

__device__ __forceinline__ Slot *slot_of(long long *counts, long long round) {
  return (Slot *)(counts + 4 * (round % 3));
}

__device__ __forceinline__ int lane_id() { return threadIdx.x % WARP; }

__device__ __forceinline__ long long warp_id() {
  return (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
}

__device__ __forceinline__ long long warp_count() {
  return gridDim.x * (long long)(blockDim.x / WARP);
}

__device__ __forceinline__ long long warp_total(long long value) {
  for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(FULL_MASK, value, step);
  return value;
}

// Buffer of a warp that appends to a queue, 32 values at a time.
struct Appender {
  int *buffer, count;
  int *queue;
  u64 *length;

  __device__ __forceinline__ void append(bool is, int value) {
    const unsigned mask = __ballot_sync(FULL_MASK, is);
    if (!mask) return;
    if (is) buffer[count + __popc(mask & ((1u << lane_id()) - 1))] = value;
    count += __popc(mask);
    __syncwarp();
    if (count >= WARP) flush(WARP);
  }

  __device__ __forceinline__ void flush(int num_values) {
    if (!num_values) return;
    count -= num_values;
    u64 at = lane_id() ? 0 : atomicAdd(length, (u64)num_values);
    at = __shfl_sync(FULL_MASK, at, 0);
    if (lane_id() < num_values) queue[at + lane_id()] = buffer[count + lane_id()];
    __syncwarp();
  }
};

// The next frontier as one warp sees it.
struct Next {
  Appender queue;
  Slot *slot;
  long long *chunks;
  const long long *offsets;
  long long arcs;

  // Append `vertex` where `is`; called by all lanes.
  template <int COUNT>
  __device__ __forceinline__ void take(const bool *is, const int *vertex) {
    long long degree[COUNT];
    bool any = false;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      degree[k] = is[k] ? offsets[vertex[k] + 1] - offsets[vertex[k]] : 0;
      any |= is[k];
    }
    if (!__any_sync(FULL_MASK, any)) return;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      arcs += degree[k];
      queue.append(degree[k] > 0 && degree[k] <= FRONTIER_CHUNK, vertex[k]);
      if (degree[k] > FRONTIER_CHUNK) {
        const long long num_values = (degree[k] + FRONTIER_CHUNK - 1) / FRONTIER_CHUNK;
        const long long at = atomicAdd(&slot->chunks, (u64)num_values);
        for (long long chunk = 0; chunk < num_values; chunk++)
          chunks[at + chunk] = ((long long)vertex[k] << 32) | chunk;
      }
      __syncwarp();
    }
  }

  // Flush the buffer and add up the arcs, before the barrier.
  __device__ __forceinline__ void finish() {
    queue.flush(queue.count);
    const long long total = warp_total(arcs);
    if (lane_id() == 0 && total) atomicAdd(&slot->arcs, (u64)total);
  }

  // Append all of these vertices.
  __device__ __forceinline__ void take_all(const int *vertices, long long count) {
    for (long long first = warp_id() * WARP; first < count; first += warp_count() * WARP) {
      const bool is[1] = {first + lane_id() < count};
      const int which[1] = {is[0] ? vertices[first + lane_id()] : 0};
      take<1>(is, which);
    }
    finish();
  }
};

// Call visit(is, arcs, owners) for every arc of the frontier, BATCH per lane at a time.
template <class Visit>
__device__ __forceinline__ void expand(const int *queue, long long queued, const long long *chunks,
                                       long long num_chunks, const long long *offsets,
                                       Visit visit) {
  const int lane = lane_id();
  bool is[BATCH];
  long long arc[BATCH];
  int owner[BATCH];

  for (long long item = blockIdx.x; item < num_chunks; item += gridDim.x) {
    const long long chunk = chunks[item];
    const int vertex = (int)(chunk >> 32);
    const long long begin = offsets[vertex] + (chunk & 0xffffffff) * FRONTIER_CHUNK;
    const long long end = min(begin + FRONTIER_CHUNK, offsets[vertex + 1]);
    for (long long at = begin; at < end; at += BATCH * (long long)blockDim.x) {
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        arc[k] = at + k * (long long)blockDim.x + threadIdx.x;
        is[k] = arc[k] < end;
        owner[k] = vertex;
      }
      visit(is, arc, owner);
    }
  }

  // As few vertices per warp as keep all warps busy.
  const long long warps = warp_count();
  const int vertices_per_warp = (int)min((long long)WARP, max(1ll, (queued + warps - 1) / warps));
  for (long long first = warp_id() * vertices_per_warp; first < queued;
       first += warps * vertices_per_warp) {
    const bool has_vertex = lane < vertices_per_warp && first + lane < queued;
    const int vertex = has_vertex ? queue[first + lane] : 0;
    const long long begin = has_vertex ? offsets[vertex] : 0;
    const int degree = has_vertex ? (int)(offsets[vertex + 1] - begin) : 0;
    for (unsigned rest = __ballot_sync(FULL_MASK, degree >= LONG); rest; rest &= rest - 1) {
      const int from = __ffs(rest) - 1;
      const long long at = __shfl_sync(FULL_MASK, begin, from);
      const int size = __shfl_sync(FULL_MASK, degree, from),
                list_owner = __shfl_sync(FULL_MASK, vertex, from);
      for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const int place = done + k * WARP + lane;
          is[k] = place < size;
          arc[k] = at + place;
          owner[k] = list_owner;
        }
        visit(is, arc, owner);
      }
    }
    // Concatenate short lists: an arc belongs to the last list that starts at or before it.
    int before = degree < LONG ? degree : 0;
    const int own = before;
    for (int step = 1; step < WARP; step *= 2) {
      const int lower = __shfl_up_sync(FULL_MASK, before, step);
      if (lane >= step) before += lower;
    }
    const int total = __shfl_sync(FULL_MASK, before, WARP - 1);
    before -= own;
    for (int done = 0; done < total; done += BATCH * WARP) {
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const int place = done + k * WARP + lane;
        int list_owner = 0;
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2) {
          const int start = __shfl_sync(FULL_MASK, before, list_owner + step);
          if (start <= place) list_owner += step;
        }
        is[k] = place < total;
        arc[k] = __shfl_sync(FULL_MASK, begin, list_owner) +
                 (place - __shfl_sync(FULL_MASK, before, list_owner));
        owner[k] = __shfl_sync(FULL_MASK, vertex, list_owner);
      }
      visit(is, arc, owner);
    }
  }
}

// For every lane the first arc from `begin` to `end` that passes test(arc, given), or -1. Lanes
// search a few arcs by themselves; then the warp searches the other lists together.
template <class Given, class Test>
__device__ __forceinline__ long long first_arc(long long begin, long long end, Given given,
                                               Test test) {
  const int lane = lane_id();
  long long result = -1;
  for (int turn = 0; turn < 2; turn++) {
    bool passes[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++)
      passes[k] = result < 0 && begin + k < end && test(begin + k, given);
#pragma unroll
    for (int k = BATCH - 1; k >= 0; k--)
      if (passes[k]) result = begin + k;
    begin += BATCH;
  }
  for (unsigned rest = __ballot_sync(FULL_MASK, result < 0 && begin < end); rest;
       rest &= rest - 1) {
    const int from = __ffs(rest) - 1;
    const long long last = __shfl_sync(FULL_MASK, end, from);
    const Given lane_value = __shfl_sync(FULL_MASK, given, from);
    for (long long at = __shfl_sync(FULL_MASK, begin, from); at < last; at += BATCH * WARP) {
      bool passes[BATCH];
      unsigned found = 0;
      int turn = 0;
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const long long arc = at + k * WARP + lane;
        passes[k] = arc < last && test(arc, lane_value);
      }
#pragma unroll
      for (int k = BATCH - 1; k >= 0; k--) {
        const unsigned mask = __ballot_sync(FULL_MASK, passes[k]);
        if (mask) found = mask, turn = k;
      }
      if (found) {
        if (lane == from) result = at + turn * WARP + __ffs(found) - 1;
        break;
      }
    }
  }
  return result;
}
