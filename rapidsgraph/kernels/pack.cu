// Construction of layered edge lists: arcs move to the positions of their sources and are packed.
//
// order[position] = vertex, position_of[vertex] = position, and depths[vertex] is its BFS depth or
// UNREACHED. Forward arcs of a source lead to its depth or beyond; all others, and those of an
// unreached source, are backward. Both keep their order in the adjacency lists.
//
// Reference: Zhu et al. 2017 (WolfPath: layers). The packing is our own; layered/packing.py
// describes it.

#include "rows.cuh"

#ifndef weight_t
#define weight_t double
#endif
#ifndef stored_t
#define stored_t double
#endif


// counts[vertex] = how many arcs of it go forward.
extern "C" __global__ void count_forward(long long num_vertices, const int *order, const int *depths,
                                         const long long *offsets, const int *neighbors,
                                         int *counts) {
  each_row(num_vertices, order, offsets, [=](auto lanes, int vertex, long long begin, long long end) {
    const int depth = depths[vertex];
    long long found = 0;
    for (long long arc = begin; arc < end; arc += lanes.count) {
      const long long mine = arc + lanes.lane;
      int total;
      lanes.rank(mine < end && depth != UNREACHED && depths[neighbors[mine]] >= depth, &total);
      found += total;
    }
    if (lanes.lane == 0) counts[vertex] = (int)found;
  });
}

// Both parts of every list, as places; forward_offsets and backward_offsets are by vertex.
extern "C" __global__ void move_arcs(long long num_vertices, const int *order, const int *position_of,
                                     const int *depths, const long long *offsets,
                                     const int *neighbors, const weight_t *weights,
                                     long long weighted, const long long *forward_offsets,
                                     const long long *backward_offsets, int *forward_neighbors, int *backward_neighbors,
                                     stored_t *forward_weights, stored_t *backward_weights) {
  each_row(num_vertices, order, offsets, [=](auto lanes, int vertex, long long begin, long long end) {
    const int depth = depths[vertex];
    long long ahead = forward_offsets[vertex], back = backward_offsets[vertex];
    for (long long arc = begin; arc < end; arc += lanes.count) {
      const long long mine = arc + lanes.lane;
      const bool is = mine < end;
      const int neighbor = is ? neighbors[mine] : 0;
      const bool goes_on = is && depth != UNREACHED && depths[neighbor] >= depth;
      int onward, others;
      const int rank = lanes.rank(goes_on, &onward);
      const int other = lanes.rank(is && !goes_on, &others);
      if (goes_on) {
        forward_neighbors[ahead + rank] = position_of[neighbor];
        if (weighted) forward_weights[ahead + rank] = (stored_t)weights[mine];
      } else if (is) {
        backward_neighbors[back + other] = position_of[neighbor];
        if (weighted) backward_weights[back + other] = (stored_t)weights[mine];
      }
      ahead += onward, back += others;
    }
  });
}

// `num_values` values less base, of so many bits each, one after the other. A thread a word.
extern "C" __global__ void pack(long long num_values, long long base, long long bits, const int *values,
                                unsigned int *words) {
  STRIDE(word, (num_values * bits + 31) / 32 + 1) {
    const long long begin = 32 * word, end = begin + 32;
    unsigned packed = 0;
    for (long long i = bits ? begin / bits : num_values; i < num_values && i * bits < end; i++) {
      const u64 value = (u64)(values[i] - base);
      const long long at = i * bits - begin;
      packed |= (unsigned)(at >= 0 ? value << at : value >> -at);
    }
    words[word] = packed;
  }
}

extern "C" __global__ void unpack(long long num_values, long long base, long long bits,
                                  const unsigned int *words, int *values) {
  STRIDE(i, num_values) {
    const long long at = i * bits;
    const u64 pair = words[at / 32] | (u64)words[at / 32 + 1] << 32;
    values[i] = (int)(base + (long long)(pair >> at % 32 & ((1ull << bits) - 1)));
  }
}

// What BFS found, by vertex: the layer of each of the first `num_reached` places, and the vertex at the
// place that `parents` has; -1 and the largest int where there is none.
extern "C" __global__ void compute_distances(long long num_vertices, long long num_reached, long long num_layers,
                                       const long long *layer_starts, const int *order, long long with_predecessors,
                                       const int *parents, int *distances, int *predecessors) {
  STRIDE(place, num_vertices) {
    const int vertex = order[place];
    long long layer = 0, behind = num_layers;
    while (behind - layer > 1) {
      const long long middle = (layer + behind) / 2;
      if (layer_starts[middle] <= place)
        layer = middle;
      else
        behind = middle;
    }
    distances[vertex] = place < num_reached ? (int)layer : -1;
    if (!with_predecessors) continue;
    const int parent = parents[place];
    predecessors[vertex] = parent == NO_VERTEX ? NO_VERTEX : order[parent];
  }
}

// Each word counts by an odd number of its own, so that no change of a single one is lost.
extern "C" __global__ void add_checksum(long long num_words, const unsigned int *words,
                                        unsigned long long *checksum) {
  u64 sum = 0;
  STRIDE(i, num_words) sum += (words[i] + 1ull) * ((2 * i + 1) * 0x9e3779b97f4a7c15ull);
  for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(FULL_MASK, sum, step);
  if (threadIdx.x % WARP == 0) atomicAdd(checksum, sum);
}
