// Disjoint sets as trees of vertices: the root of a vertex, and the union of two trees.
//
// parents[v] <= v always, so there is no cycle, and only the parent of a root changes to another
// tree, by compare-and-swap. Initially parents[v] = v.
//
// Reference: Jaiganesh, Burtscher, HPDC 2018, https://doi.org/10.1145/3208040.3208041 (ECL-CC).

#include "grid.cuh"

// The root of a vertex, halving the path to it. A stale parent is a lower vertex on the same path.
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

// The root of a vertex, without path halving, so that parents of other vertices stay as they are.
__device__ __forceinline__ int find_root(const int *parents, int vertex) {
  int parent = parents[vertex];
  while (parents[parent] != parent) parent = parents[parent];
  return parent;
}

// Merge the trees of two vertices; the smaller root becomes the root of both.
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
