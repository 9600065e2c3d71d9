// What the kernels of pagerank.cu and pagerank_blocks.cu have in common.

#include "grid.cuh"

// The PageRank of a vertex from the sum over its in-arcs.
__device__ __forceinline__ double finish(double sum, double damping, const double *teleport,
                                         long long num_teleports, double dangling_mass,
                                         const double *dangling_weights,
                                         long long num_dangling_weights, long long vertex) {
  return damping * sum + teleport[num_teleports > 1 ? vertex : 0] +
         dangling_mass * dangling_weights[num_dangling_weights > 1 ? vertex : 0];
}
