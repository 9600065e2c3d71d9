// Count the common neighbors of pairs of vertices.
//
// The neighbors of the endpoint that has fewer of them are looked up in the list of the other one.
// Adjacency lists are ascending, without parallel arcs.

#include "rows.cuh"
#include "search.cuh"

#ifndef degree_t
#define degree_t int
#endif

// common[i] = vertices adjacent to both sources[i] and destinations[i]: a warp a pair.
extern "C" __global__ void count_pairs(long long num_pairs, const int *sources,
                                       const int *destinations, const long long *offsets,
                                       const int *neighbors, int *common) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
  for (long long pair = warp; pair < num_pairs; pair += warps) {
    const int source = sources[pair], destination = destinations[pair];
    const long long degree = offsets[source + 1] - offsets[source];
    const bool is_shorter = degree <= offsets[destination + 1] - offsets[destination];
    const int shorter = is_shorter ? source : destination;
    const int longer = is_shorter ? destination : source;
    const long long stop = offsets[shorter + 1], longer_stop = offsets[longer + 1];
    long long low = offsets[longer];
    int num_common = 0;
    for (long long arc = offsets[shorter] + lane; arc < stop; arc += WARP) {
      const int vertex = neighbors[arc];
      low = position(neighbors, low, longer_stop, vertex);  // later ones are not before
      num_common += low < longer_stop && neighbors[low] == vertex;
    }
    num_common = warp_sum(num_common);
    if (lane == 0) common[pair] = num_common;
  }
}

// similarities[i] of neighborhoods by their sizes and that of their intersection: kind is
// SIMILARITY_JACCARD, SIMILARITY_OVERLAP or SIMILARITY_COSINE.
extern "C" __global__ void compare(long long num_pairs, long long kind, const int *common,
                                   const degree_t *degrees, const degree_t *other_degrees,
                                   double *similarities) {
  STRIDE(i, num_pairs) {
    const long long degree = degrees[i], other_degree = other_degrees[i];
    const double denominator =
        kind == SIMILARITY_JACCARD   ? (double)(degree + other_degree - common[i])
        : kind == SIMILARITY_OVERLAP ? (double)min(degree, other_degree)
                                     : sqrt((double)degree * (double)other_degree);
    similarities[i] = (double)common[i] / max(denominator, 1.0);
  }
}
