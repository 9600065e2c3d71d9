// Read the neighbors of a range of vertices from the partitions of a layered edge list.
//
// Entries, each of which reads all sections: count_arcs counts the arcs from and to every vertex;
// list_neighbors lists the neighbors of a tile, of vertices in a range; link_arcs links the
// endpoints of all arcs, for weak components; list_arcs lists the arcs of a contracted graph, for
// strong components.
//
// sections.cuh describes the parameters that all kernels share.
//
// References: X. Hu, Y. Tao, C.-W. Chung, "Massive graph triangulation", SIGMOD 2013,
// https://doi.org/10.1145/2463676.2463704 (lists of as many vertices as fit in memory, against
// which the edges stream).

#define weight_t double  // not read

#include "disjoint_sets.cuh"
#include "sections.cuh"

// Add the arcs from every vertex to out_counts, and if is_directed those to it to in_counts.
extern "C" __global__ void count_arcs(long long start, long long stop, long long origin,
                                      const long long *table, const unsigned int *words,
                                      const unsigned long long *checksums, long long is_directed,
                                      long long *out_counts, long long *in_counts) {
  sweep_edges<int>(
      start, stop, origin, 2, table, words, checksums, [](long long) { return true; },
      [](long long) { return 0; },
      [=](const Section &, const bool *is_edge, const unsigned *, long long first_row,
          const int *lanes, const int *, const int *neighbor) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (!is_edge[k]) continue;
          atomicAdd((u64 *)&out_counts[first_row + lanes[k]], 1ull);
          if (is_directed) atomicAdd((u64 *)&in_counts[neighbor[k]], 1ull);
        }
      });
}

// List the neighbors of the vertices [tile_start, tile_stop), in any order: those of arcs from a
// vertex v from out_neighbors[out_cursors[v - tile_start]] on, and if is_directed those of arcs to
// it likewise in in_neighbors. Cursors advance; vertices with negative ones are left out.
extern "C" __global__ void list_neighbors(long long start, long long stop, long long origin,
                                          const long long *table, const unsigned int *words,
                                          const unsigned long long *checksums, long long tile_start,
                                          long long tile_stop, long long is_directed,
                                          long long *out_cursors, int *out_neighbors,
                                          long long *in_cursors, int *in_neighbors) {
  sweep_edges<int>(
      start, stop, origin, 2, table, words, checksums,
      [=](long long row) {
        return is_directed ||
               (row >= tile_start && row < tile_stop && out_cursors[row - tile_start] >= 0);
      },
      [](long long) { return 0; },
      [=](const Section &, const bool *is_edge, const unsigned *, long long first_row,
          const int *lanes, const int *, const int *neighbor) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (!is_edge[k]) continue;
          const long long row = first_row + lanes[k];
          if (row >= tile_start && row < tile_stop && out_cursors[row - tile_start] >= 0)
            out_neighbors[atomicAdd((u64 *)&out_cursors[row - tile_start], 1ull)] = neighbor[k];
          if (is_directed && neighbor[k] >= tile_start && neighbor[k] < tile_stop &&
              in_cursors[neighbor[k] - tile_start] >= 0)
            in_neighbors[atomicAdd((u64 *)&in_cursors[neighbor[k] - tile_start], 1ull)] = (int)row;
        }
      });
}

// Link the endpoints of all arcs in a forest of vertex ids; names are the ids by position.
extern "C" __global__ void link_arcs(long long start, long long stop, long long origin,
                                     const long long *table, const unsigned int *words,
                                     const unsigned long long *checksums, const int *names,
                                     int *parents) {
  sweep_edges<int>(
      start, stop, origin, 2, table, words, checksums, [](long long) { return true; },
      [=](long long row) { return names[row]; },
      [=](const Section &, const bool *is_edge, const unsigned *, long long, const int *,
          const int *name, const int *neighbor) {
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          if (is_edge[k]) join(parents, name[k], names[neighbor[k]]);
      });
}

// Append the arcs between different nodes below num_active to sources and destinations, in any
// order, from *num_arcs on, which advances. nodes are those of a contracted graph, by position.
extern "C" __global__ void list_arcs(long long start, long long stop, long long origin,
                                     const long long *table, const unsigned int *words,
                                     const unsigned long long *checksums, long long num_active,
                                     const int *nodes, long long *num_arcs, int *sources,
                                     int *destinations) {
  sweep_edges<int>(
      start, stop, origin, 2, table, words, checksums,
      [=](long long row) { return nodes[row] < num_active; },
      [=](long long row) { return nodes[row]; },
      [=](const Section &, const bool *is_edge, const unsigned *, long long, const int *,
          const int *node, const int *neighbor) {
        int other[BATCH], count = 0;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          other[k] = is_edge[k] ? nodes[neighbor[k]] : -1;
          if (other[k] >= num_active || other[k] == node[k]) other[k] = -1;
          count += other[k] >= 0;
        }
        const int end = prefix_sum(count), lane = threadIdx.x % WARP;
        const int total = __shfl_sync(FULL_MASK, end, WARP - 1);
        if (!total) return;
        long long first = 0;
        if (lane == 0) first = (long long)atomicAdd((u64 *)num_arcs, (u64)total);
        long long index = __shfl_sync(FULL_MASK, first, 0) + end - count;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (other[k] < 0) continue;
          sources[index] = node[k];
          destinations[index++] = other[k];
        }
      });
}
