// Connected components by union-find.
//
// parents[v] leads to the root of the tree of v, which is its smallest vertex; two vertices are in
// one tree once every arc on a path between them has been linked. The caller sets parents[v] = v.
// parents[v] <= v always, so there is no cycle, and only the parent of a root changes to another
// tree, by compare-and-swap.
//
// Entries: link_neighbor, link_remaining and link_arcs read adjacency lists and link parents;
// compress points parents to roots; count_members writes the size of every tree.
//
// References: Jaiganesh, Burtscher, HPDC 2018, https://doi.org/10.1145/3208040.3208041 (ECL-CC);
// Sutton, Ben-Nun, Barak, IPDPS 2018, https://doi.org/10.1109/IPDPS.2018.00012 (Afforest).

#include "disjoint_sets.cuh"
#include "search.cuh"

#define BATCH 8  // arcs that a thread loads at once in long lists

// Link every vertex with its neighbor at `position`.
extern "C" __global__ void link_neighbor(long long num_vertices, long long position,
                                         const long long *offsets, const int *neighbors,
                                         int *parents) {
  STRIDE(vertex, num_vertices) {
    const long long arc = offsets[vertex] + position;
    if (arc < offsets[vertex + 1]) join(parents, (int)vertex, neighbors[arc]);
  }
}

// Link the vertices outside the tree `largest_root` with their neighbors from `position` on. A warp
// processes 32 vertices; all its lanes process each long list.
extern "C" __global__ void link_remaining(long long num_vertices, long long position,
                                          long long largest_root, const long long *offsets,
                                          const int *neighbors, int *parents) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)(blockDim.x / WARP);
  const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP;
  for (long long first = warp * WARP; first < num_vertices; first += warps * WARP) {
    const long long vertex = first + lane;
    const bool is_remaining = vertex < num_vertices && parents[vertex] != largest_root;
    const long long start = is_remaining ? offsets[vertex] + position : 0;
    const long long stop = is_remaining ? offsets[vertex + 1] : 0;
    if (stop - start < WARP)
      for (long long arc = start; arc < stop; arc++) join(parents, (int)vertex, neighbors[arc]);
    __syncwarp();
    for (unsigned remaining = __ballot_sync(FULL_MASK, stop - start >= WARP); remaining;
         remaining &= remaining - 1) {
      const int source_lane = __ffs(remaining) - 1, row = (int)first + source_lane;
      const long long last = __shfl_sync(FULL_MASK, stop, source_lane);
      for (long long base = __shfl_sync(FULL_MASK, start, source_lane) + lane; base < last;
           base += BATCH * WARP) {
        int neighbor[BATCH], parent[BATCH];
        const int row_parent = parents[row];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          neighbor[k] = base + k * WARP < last ? neighbors[base + k * WARP] : row;
#pragma unroll
        for (int k = 0; k < BATCH; k++) parent[k] = parents[neighbor[k]];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          if (parent[k] != row_parent) join(parents, row, neighbor[k]);
      }
    }
  }
}

// Link the endpoints of all arcs, rows[arc] and neighbors[arc], independent of position.
extern "C" __global__ void link_arcs(long long num_vertices, long long num_arcs, long long position,
                                     const int *rows, const long long *offsets,
                                     const int *neighbors, int *parents) {
  STRIDE(arc, num_arcs) join(parents, rows[arc], neighbors[arc]);
}

// Point every vertex to its root. A thread writes only to its vertex: path halving could
// replace a root by a parent below it.
extern "C" __global__ void compress(long long num_vertices, int *parents) {
  STRIDE(vertex, num_vertices) { parents[vertex] = find_root(parents, (int)vertex); }
}

// keys[0 .. num_keys[0]) become the roots of more than one vertex, in any order: -size << 32 |
// root, which ascend by descending size and then by root.
extern "C" __global__ void list_large(long long num_vertices, const int *sizes, long long *keys,
                                      int *num_keys) {
  STRIDE(vertex, num_vertices) {
    const int size = sizes[vertex];
    if (size > 1) keys[atomicAdd(num_keys, 1)] = -((long long)size << 32) + vertex;
  }
}

// sizes[root] = -i for the root of keys[i]; all roots of more than one vertex have a key.
extern "C" __global__ void number_large(long long num_keys, const long long *keys, int *sizes) {
  STRIDE(i, num_keys) sizes[(int)keys[i]] = -(int)i;
}

// numbers[v] = the number of v's root, from `sizes` of number_large. Single vertices follow behind
// num_large components: num_single[v] counts those before v, and may be overwritten.
extern "C" __global__ void number_vertices(long long num_vertices, long long num_large,
                                           const int *roots, const int *sizes, int *num_single,
                                           int *numbers) {
  STRIDE(vertex, num_vertices) {
    const int root = roots[vertex], size = sizes[root];
    numbers[vertex] = size == 1 ? (int)num_large + num_single[root] : -size;
  }
}

// sizes[r] += vertices whose parent is r; lanes with the same parent add once.
extern "C" __global__ void count_members(long long num_vertices, const int *parents, int *sizes) {
  STRIDE(vertex, num_vertices) {
    const int parent = parents[vertex];
    const unsigned active = __activemask();
    const unsigned same = __match_any_sync(active, parent);
    if (__ffs(same) - 1 == threadIdx.x % WARP) atomicAdd(&sizes[parent], __popc(same));
  }
}

// components[v] = number of the component of v, by descending size and then by smallest vertex, of
// a graph for which one block suffices. work_space has two values per vertex.
extern "C" __global__ void number_in_block(long long num_vertices, long long num_arcs,
                                           const long long *offsets, const int *neighbors,
                                           long long *work_space, int *components) {
  __shared__ int num_large, num_flagged[WARP];
  long long *keys = work_space;
  int *parents = (int *)(work_space + num_vertices), *sizes = parents + num_vertices;
  const int thread = threadIdx.x, threads = blockDim.x, lane = thread % WARP, warp = thread / WARP;
  for (int vertex = thread; vertex < num_vertices; vertex += threads)
    parents[vertex] = vertex, sizes[vertex] = 0;
  if (thread == 0) num_large = 0;
  __syncthreads();
  for (long long arc = thread; arc < num_arcs; arc += threads)
    join(parents, (int)position(offsets, 0, num_vertices, arc + 1) - 1, neighbors[arc]);
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads) {
    components[vertex] = find_root(parents, vertex);
    atomicAdd(&sizes[components[vertex]], 1);
  }
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads)
    if (sizes[vertex] > 1)
      keys[atomicAdd(&num_large, 1)] = -((long long)sizes[vertex] << 32) + vertex;
  __syncthreads();
  int *numbers = parents;  // of roots
  rank_in_block(keys, num_large, [=](long long key, int rank) { numbers[(int)key] = rank; });
  int next = num_large;  // number of the next single vertex
  for (int base = 0; base < num_vertices; base += threads) {
    const int vertex = base + thread;
    const bool is_single = vertex < num_vertices && sizes[vertex] == 1;
    const unsigned mask = __ballot_sync(FULL_MASK, is_single);
    __syncthreads();  // all have read the counts of the last round
    if (lane == 0) num_flagged[warp] = __popc(mask);
    __syncthreads();
    int before = next + __popc(mask & ((1u << lane) - 1));
    for (int other = 0; other < threads / WARP; other++) {
      if (other < warp) before += num_flagged[other];
      next += num_flagged[other];
    }
    if (is_single) numbers[vertex] = before;
  }
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads)
    components[vertex] = numbers[components[vertex]];
}
