// Construction of layered edge lists: arcs are grouped by the positions of their sources, and
// packed.
//
// count_forward      count the forward arcs of each vertex
// move_arcs          write forward and backward arcs by position
// pack, unpack       convert between integers and packed words
// compute_distances  convert layers and parents by position to distances and predecessors by vertex
// add_checksum       compute a checksum of words
//
// order[position] is a vertex, position_of[vertex] its position, and depths[vertex] its BFS depth
// or UNREACHED. Arcs to the same or a greater depth are forward. All others are backward, as are
// all arcs of unreached vertices. Both keep the order of the adjacency lists.
//
// Reference: H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
// algorithms on GPU", Int. J. Parallel Program. 47, 2019.
// https://doi.org/10.1007/s10766-017-0533-y (layers).
// layered/packing.py describes the packed format.

#include "rows.cuh"

#ifndef weight_t
#define weight_t double
#endif
#ifndef stored_t
#define stored_t double
#endif

#include "sections.cuh"

// Write the number of forward arcs of each vertex to counts.
extern "C" __global__ void count_forward(long long num_vertices, const int *order,
                                         const int *depths, const long long *offsets,
                                         const int *neighbors, int *counts) {
  each_row(num_vertices, order, offsets,
           [=](auto lanes, int vertex, long long start, long long stop) {
             const int depth = depths[vertex];
             long long count = 0;
             for (long long i = start; i < stop; i += lanes.count) {
               const long long arc = i + lanes.lane;
               int num_forward;
               lanes.rank(arc < stop && depth != UNREACHED && depths[neighbors[arc]] >= depth,
                          &num_forward);
               count += num_forward;
             }
             if (lanes.lane == 0) counts[vertex] = (int)count;
           });
}

// Write the positions of neighbors, and weights, from forward_offsets and backward_offsets on,
// which are by vertex.
extern "C" __global__ void move_arcs(
    long long num_vertices, const int *order, const int *position_of, const int *depths,
    const long long *offsets, const int *neighbors, const weight_t *weights, long long weighted,
    const long long *forward_offsets, const long long *backward_offsets, int *forward_neighbors,
    int *backward_neighbors, stored_t *forward_weights, stored_t *backward_weights) {
  each_row(num_vertices, order, offsets,
           [=](auto lanes, int vertex, long long start, long long stop) {
             const int depth = depths[vertex];
             long long forward = forward_offsets[vertex], backward = backward_offsets[vertex];
             for (long long i = start; i < stop; i += lanes.count) {
               const long long arc = i + lanes.lane;
               const bool is_arc = arc < stop;
               const int neighbor = is_arc ? neighbors[arc] : 0;
               const bool is_forward = is_arc && depth != UNREACHED && depths[neighbor] >= depth;
               int num_forward, num_backward;
               const int forward_rank = lanes.rank(is_forward, &num_forward);
               const int backward_rank = lanes.rank(is_arc && !is_forward, &num_backward);
               if (is_forward) {
                 forward_neighbors[forward + forward_rank] = position_of[neighbor];
                 if (weighted) forward_weights[forward + forward_rank] = (stored_t)weights[arc];
               } else if (is_arc) {
                 backward_neighbors[backward + backward_rank] = position_of[neighbor];
                 if (weighted) backward_weights[backward + backward_rank] = (stored_t)weights[arc];
               }
               forward += num_forward, backward += num_backward;
             }
           });
}

// Pack values, less base, into words of 32 bits, and write a word of padding. One thread per word.
extern "C" __global__ void pack(long long num_values, long long base, long long bits,
                                const int *values, unsigned int *words) {
  STRIDE(word, (num_values * bits + 31) / 32 + 1) {
    const long long first_bit = 32 * word, stop_bit = first_bit + 32;
    unsigned packed = 0;
    for (long long i = bits ? first_bit / bits : num_values; i < num_values && i * bits < stop_bit;
         i++) {
      const u64 value = (u64)(values[i] - base);
      const long long shift = i * bits - first_bit;
      packed |= (unsigned)(shift >= 0 ? value << shift : value >> -shift);
    }
    words[word] = packed;
  }
}

// Unpack words to values.
extern "C" __global__ void unpack(long long num_values, long long base, long long bits,
                                  const unsigned int *words, int *values) {
  STRIDE(i, num_values) values[i] = (int)(base + extract(words, (int)bits, i));
}

// Write the result of BFS by vertex: the layers of the first num_reached positions, -1 for the
// others, and the vertices at the positions in parents, NO_VERTEX where there is none.
extern "C" __global__ void compute_distances(long long num_vertices, long long num_reached,
                                             long long num_layers, const long long *layer_starts,
                                             const int *order, long long with_predecessors,
                                             const int *parents, int *distances,
                                             int *predecessors) {
  STRIDE(position, num_vertices) {
    const int vertex = order[position];
    const long long layer = find_layer(layer_starts, num_layers, position);
    distances[vertex] = position < num_reached ? (int)layer : -1;
    if (!with_predecessors) continue;
    const int parent = parents[position];
    predecessors[vertex] = parent == NO_VERTEX ? NO_VERTEX : order[parent];
  }
}

// Add the checksum of words to *checksum.
extern "C" __global__ void add_checksum(long long num_words, const unsigned int *words,
                                        unsigned long long *checksum) {
  add_words(words, num_words, checksum);
}
