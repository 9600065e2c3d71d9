// Trees of vertices: a vertex's way to its root, and making two trees one.
//
// parents[v] <= v always, so there is no cycle, and only a root's parent changes to another tree,
// by compare-and-swap. Before, parents[v] = v. Reference: Jaiganesh, Burtscher 2018 (ECL-CC).

#include "grid.cuh"

// The root of a vertex; the way there is halved. A parent that is out of date is further down on
// the same way.
__device__ __forceinline__ int root(int *parents, int vertex) {
  int parent = parents[vertex];
  while (parent != vertex) {
    const int above = parents[parent];
    if (above != parent) parents[vertex] = above;
    vertex = parent;
    parent = above;
  }
  return vertex;
}

// Make the trees of two vertices one, the smaller root the root of both.
__device__ __forceinline__ void join(int *parents, int one, int other) {
  if (parents[one] == parents[other]) return;
  one = root(parents, one);
  other = root(parents, other);
  while (one != other) {
    const int high = max(one, other), low = min(one, other);
    const int was = atomicCAS(&parents[high], high, low);
    if (was == high) return;
    one = root(parents, was);
    other = root(parents, low);
  }
}
