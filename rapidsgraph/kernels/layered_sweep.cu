// BFS, PageRank and verification of a layered edge list, in passes over its partitions.
//
// add_checksums    compute the checksums of sections: reads words, adds to checksums
// check_sections   check the values in sections: reads words, changes checksums of invalid sections
// find_parents     BFS: reads forward sections, lowers parents
// scatter          PageRank: reads pagerank and all sections, adds to sums
//
// sections.cuh describes the parameters that all kernels share.
//
// References: H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
// algorithms on GPU", Int. J. Parallel Program. 47, 2019.
// https://doi.org/10.1007/s10766-017-0533-y (layers; combined lists that run without the host).
// M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale networks", DGIST
// (edge-centric PageRank).

#ifndef weight_t
#define weight_t double
#endif

#include "sections.cuh"

// Add the checksums of sections to checksums, which are 0 before; of forward sections only if
// num_sections is 1, in which case words may lack the backward ones.
extern "C" __global__ void add_checksums(long long start, long long stop, long long origin,
                                         long long num_sections, const long long *table,
                                         const unsigned int *words, unsigned long long *checksums) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *row = table + partition * PARTITION_COLUMNS;
    const long long forward_words = row[COLUMN_FORWARD_WORDS];
    for (int direction = 0; direction < num_sections; direction++)
      add_words(words + (row[COLUMN_POSITION] - origin + (direction ? forward_words : 0)),
                direction ? row[COLUMN_WORDS] - forward_words : forward_words,
                &checksums[2 * partition + direction]);
  }
}

// Make the computed checksum of a section differ from the one in the table if values in the section
// are out of bounds, so that no kernel reads it: group starts that disagree with the degrees,
// neighbors that are no vertices, and weights that are negative, infinite or NaN. The host has
// validated the table, so that a section lies within words and its base is a vertex.
extern "C" __global__ void check_sections(long long start, long long stop, long long origin,
                                          long long num_sections, long long num_vertices,
                                          const long long *table, const unsigned int *words,
                                          const weight_t *weight_type, long long weighted,
                                          unsigned long long *checksums) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  for (long long partition = start; partition < stop; partition++) {
    const u64 *expected =
        (const u64 *)table + partition * PARTITION_COLUMNS + COLUMN_FORWARD_CHECKSUM;
    for (int direction = 0; direction < num_sections; direction++) {
      const Section s = read_section(table, words, origin, partition, direction);
      if (!s.edges) continue;
      const long long num_groups = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS;
      const long long max_value = num_vertices - 1 - s.base;
      bool is_valid = s.starts[0] == 0 && s.starts[num_groups] == s.edges;
      STRIDE(group, num_groups) {
        const long long row_stop = min(GROUP_ROWS * (group + 1), s.rows);
        long long edge = s.starts[group];
        for (long long row = GROUP_ROWS * group; row < row_stop; row++)
          edge += extract(s.degrees, s.degree_bits, row);
        is_valid &= edge == s.starts[group + 1];
      }
      if ((1ll << s.bits) - 1 > max_value)
        STRIDE(edge, s.edges) is_valid &= extract(s.neighbors, s.bits, edge) <= max_value;
      if (weighted) STRIDE(edge, s.edges) {
          const double weight = (double)s.weights[edge];
          is_valid &= weight >= 0.0 && weight < infinity;
        }
      if (!is_valid) checksums[2 * partition + direction] = expected[direction] + 1;
    }
  }
}

// BFS: lower parents[v] to the smallest position u with an edge (u, v) to the next layer.
// layer_starts has num_layers + 1 positions; rows from row_limit on are ignored.
extern "C" __global__ void find_parents(long long start, long long stop, long long origin,
                                        const long long *table, const unsigned int *words,
                                        const unsigned long long *checksums, long long num_layers,
                                        const long long *layer_starts, long long row_limit,
                                        int *parents) {
  sweep_edges<int>(
      start, stop, origin, 1, table, words, checksums,
      [=](long long row) { return row < row_limit; },
      [=](long long row) {
        return (int)layer_starts[find_layer(layer_starts, num_layers, row) + 1];
      },
      [=](const Section &, const bool *is_edge, const unsigned *, long long first_row,
          const int *lanes, const int *next_layer_start, const int *neighbor) {
        int parent[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
          parent[k] = is_edge[k] && neighbor[k] >= next_layer_start[k] ? parents[neighbor[k]] : -1;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const int row = (int)first_row + lanes[k];
          // The first load may come from a stale cache line; the second one does not.
          if (parent[k] > row && __ldcg(parents + neighbor[k]) > row)
            atomicMin(&parents[neighbor[k]], row);
        }
      });
}

// PageRank: add to sums[v] the damped contributions of all edges (u, v), which divide pagerank[u]
// equally or by weight. Nothing is added after convergence (state[3]).
extern "C" __global__ void scatter(long long start, long long stop, long long origin,
                                   const long long *table, const unsigned int *words,
                                   const unsigned long long *checksums, const weight_t *weight_type,
                                   long long weighted, double damping, const double *out_weights,
                                   const double *pagerank, const double *state, double *sums) {
  if (state[3] != 0.0) return;
  sweep_edges<double>(
      start, stop, origin, 2, table, words, checksums, [](long long) { return true; },
      [=](long long row) { return damping * pagerank[row] / (weighted ? 1.0 : out_weights[row]); },
      [=](const Section &s, const bool *is_edge, const unsigned *edge, long long first_row,
          const int *lanes, const double *contribution, const int *neighbor) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (!is_edge[k]) continue;
          const double factor =
              weighted ? (double)s.weights[edge[k]] / out_weights[first_row + lanes[k]] : 1.0;
          atomicAdd(&sums[neighbor[k]], contribution[k] * factor);
        }
      });
}
