// Strong components by trimming and coloring.
//
// roots[v] is the smallest vertex of the component of v, or NO_VERTEX while v is active, that is,
// its component is unknown. active lists vertices that include all active ones.
//
// The caller repeats trim, lower_colors and join_roots until nothing changes.
//
// References: W. McLendon III, B. Hendrickson, S. J. Plimpton, L. Rauchwerger, "Finding strongly
// connected components in distributed graphs", J. Parallel Distrib. Comput. 65(8), 2005.
// https://doi.org/10.1016/j.jpdc.2005.03.007 (trimming). S. Orzan, "On distributed verification and
// verified distribution", PhD thesis, Vrije Universiteit Amsterdam, 2004 (coloring).

#include "frontier.cuh"

// Call visit(vertex, is_active) for all vertices of the list, a warp with 32 of them at a time.
template <class Visit>
__device__ __forceinline__ void each_active(long long num_active, const int *active,
                                            const int *roots, Visit visit) {
  for (long long base = warp_id() * WARP; base < num_active; base += warp_count() * WARP) {
    const bool is_valid = base + lane_id() < num_active;
    const int vertex = is_valid ? active[base + lane_id()] : 0;
    visit(vertex, is_valid && __ldcg(roots + vertex) == NO_VERTEX);
  }
}

// A vertex without an active out-neighbor or without an active in-neighbor, other than itself, is a
// component of its own.
extern "C" __global__ void trim(long long num_active, const int *active, const long long *offsets,
                                const int *neighbors, const long long *in_offsets,
                                const int *in_neighbors, int *roots) {
  each_active(num_active, active, roots, [&](int vertex, bool is_active) {
    const int *state = roots;
    const long long arc =
        first_arc(is_active ? offsets[vertex] : 0, is_active ? offsets[vertex + 1] : 0, vertex,
                  [=](long long position, int self) {
                    const int neighbor = neighbors[position];
                    return neighbor != self && __ldcg(state + neighbor) == NO_VERTEX;
                  });
    const bool has_successor = is_active && arc >= 0;
    const long long in_arc = first_arc(
        has_successor ? in_offsets[vertex] : 0, has_successor ? in_offsets[vertex + 1] : 0, vertex,
        [=](long long position, int self) {
          const int neighbor = in_neighbors[position];
          return neighbor != self && __ldcg(state + neighbor) == NO_VERTEX;
        });
    if (is_active && in_arc < 0) roots[vertex] = vertex;
  });
}

// Send the color of every active vertex to its active out-neighbors, which keep the smallest. All
// vertices of the list are active. *has_changed becomes 1 if a color changes.
extern "C" __global__ void lower_colors(long long num_active, const int *active,
                                        const long long *offsets, const int *neighbors,
                                        const int *roots, int *colors, long long *has_changed) {
  expand(active, num_active, (const long long *)0, 0, offsets,
         [&](const bool *is_valid, const long long *arc, const int *owner) {
#pragma unroll
           for (int k = 0; k < BATCH; k++) {
             if (!is_valid[k]) continue;
             const int neighbor = neighbors[arc[k]], color = __ldcg(colors + owner[k]);
             if (roots[neighbor] != NO_VERTEX || color >= __ldcg(colors + neighbor)) continue;
             atomicMin(colors + neighbor, color);
             *has_changed = 1;
           }
         });
}

// A vertex that has its own color is the root of a component, in which are the other vertices of
// its color with an arc into it. *has_changed becomes 1 if a vertex joins.
extern "C" __global__ void join_roots(long long num_active, const int *active,
                                      const long long *offsets, const int *neighbors,
                                      const int *colors, int *roots, long long *has_changed) {
  each_active(num_active, active, roots, [&](int vertex, bool is_active) {
    const int *state = roots, color = is_active ? colors[vertex] : 0;
    const bool is_root = is_active && color == vertex;
    const bool is_other = is_active && !is_root;
    const long long arc =
        first_arc(is_other ? offsets[vertex] : 0, is_other ? offsets[vertex + 1] : 0, color,
                  [=](long long position, int value) {
                    return __ldcg(state + neighbors[position]) == value;
                  });
    if (is_root || arc >= 0) {
      roots[vertex] = color;
      *has_changed = 1;
    }
  });
}

// is_active[i] = active[i] is active.
extern "C" __global__ void mark_active(long long num_active, const int *active, const int *roots,
                                       bool *is_active) {
  STRIDE(i, num_active) is_active[i] = roots[active[i]] == NO_VERTEX;
}

// products[i] = out-degree times in-degree of active[i].
extern "C" __global__ void multiply_degrees(long long num_active, const int *active,
                                            const long long *offsets, const long long *in_offsets,
                                            double *products) {
  STRIDE(i, num_active) {
    const int vertex = active[i];
    products[i] = (double)(offsets[vertex + 1] - offsets[vertex]) *
                  (double)(in_offsets[vertex + 1] - in_offsets[vertex]);
  }
}

// smallest[0] becomes the smallest vertex that both searches have reached.
extern "C" __global__ void find_smallest(long long num_vertices, const int *distances,
                                         const int *in_distances, int *smallest) {
  STRIDE(vertex, num_vertices)
  if (distances[vertex] >= 0 && in_distances[vertex] >= 0 && vertex < __ldcg(smallest))
    atomicMin(smallest, (int)vertex);
}

// The root of the vertices that both searches have reached is the smallest one.
extern "C" __global__ void join_reached(long long num_vertices, const int *distances,
                                        const int *in_distances, const int *smallest, int *roots) {
  STRIDE(vertex, num_vertices)
  if (distances[vertex] >= 0 && in_distances[vertex] >= 0) roots[vertex] = smallest[0];
}

// Every active vertex gets its own color.
extern "C" __global__ void reset_colors(long long num_active, const int *active, int *colors) {
  STRIDE(i, num_active) colors[active[i]] = active[i];
}
