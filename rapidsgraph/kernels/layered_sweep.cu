// Sweeps over the partitions of a layered edge list, in host or device memory.
//
// The partitions start to stop of `table` are in `words`, which begin at word `origin` of the whole
// list; vertices are positions. checksums has the sums computed for both sections of each
// partition, and a section whose sum differs from the table is skipped. weight_type only tells the
// type of the weights.
//
// References: Zhu et al. 2017 (WolfPath: layers, combined lists, no host between them); Kim
// (edge-centric PageRank).

#ifndef weight_t
#define weight_t double
#endif

#include "sections.cuh"

// sums[2 p] and [2 p + 1] are 0 before; with `num_sections` 1 only forward sections are there.
extern "C" __global__ void add_checksums(long long start, long long stop, long long origin,
                                         long long num_sections, const long long *table,
                                         const unsigned int *words, unsigned long long *checksums) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *row = table + partition * PARTITION_COLUMNS;
    for (int part = 0; part < num_sections; part++) {
      const unsigned *own = words + (row[COLUMN_POSITION] - origin + (part ? row[COLUMN_FORWARD_WORDS] : 0));
      const long long count = part ? row[COLUMN_WORDS] - row[COLUMN_FORWARD_WORDS] : row[COLUMN_FORWARD_WORDS];
      u64 sum = 0;
      STRIDE(i, count) sum += (own[i] + 1ull) * ((2 * i + 1) * 0x9e3779b97f4a7c15ull);
      for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(FULL_MASK, sum, step);
      if (threadIdx.x % WARP == 0) atomicAdd(&checksums[2 * partition + part], sum);
    }
  }
}

// Set a checksum found to something else than the one in the table where a section, though intact,
// has values out of bounds, so that no kernel reads it: row starts that do not agree with the
// degrees, neighbors that are no vertices, weights that are negative, infinite or NaN. The table
// was checked before: the section lies within `words`, and its base is a vertex.
extern "C" __global__ void check_sections(long long start, long long stop, long long origin,
                                          long long num_sections, long long num_vertices,
                                          const long long *table, const unsigned int *words,
                                          const weight_t *weight_type, long long weighted,
                                          unsigned long long *checksums) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  for (long long partition = start; partition < stop; partition++) {
    for (int part = 0; part < num_sections; part++) {
      const Section s = section_of(table, words, origin, partition, part);
      if (!s.edges) continue;
      const long long groups = (s.rows + GROUP_ROWS - 1) / GROUP_ROWS, limit = num_vertices - 1 - s.base;
      bool valid = s.starts[0] == 0 && s.starts[groups] == s.edges;
      STRIDE(group, groups) {
        const long long behind = min(GROUP_ROWS * (group + 1), s.rows);
        long long edge = s.starts[group];
        for (long long row = GROUP_ROWS * group; row < behind; row++)
          edge += extract(s.degrees, s.degree_bits, row);
        valid &= edge == s.starts[group + 1];
      }
      if ((1ll << s.bits) - 1 > limit)
        STRIDE(edge, s.edges) valid &= extract(s.neighbors, s.bits, edge) <= limit;
      if (weighted)
        STRIDE(edge, s.edges) {
          const double weight = (double)s.weights[edge];
          valid &= weight >= 0.0 && weight < infinity;
        }
      const u64 expected = (u64)table[partition * PARTITION_COLUMNS + COLUMN_FORWARD_CHECKSUM + part];
      if (!valid) checksums[2 * partition + part] = expected + 1;
    }
  }
}

// BFS: parents[v] = the first place from which an edge leads to the next layer, where v is.
// layer_starts has depth + 2 places; rows from `row_limit` on are not looked at.
extern "C" __global__ void find_parents(long long start, long long stop, long long origin,
                                        const long long *table, const unsigned int *words,
                                        const unsigned long long *checksums, long long num_layers,
                                        const long long *layer_starts, long long row_limit,
                                        int *parents) {
  __shared__ unsigned ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long chunks = count_chunks(start, stop, 1, table, checksums, ends);
  each_chunk(
      start, stop, origin, table, words, ends, chunks,
      [=](const Section &s, long long, long long chunk) {
        each_edge<int>(
            s, chunk, [=](long long row) { return row < row_limit; },
            [=](long long row) {
              long long layer = 0, behind = num_layers;
              while (behind - layer > 1) {
                const long long middle = (layer + behind) / 2;
                if (layer_starts[middle] <= row)
                  layer = middle;
                else
                  behind = middle;
              }
              return (int)layer_starts[layer + 1];
            },
            [=](const bool *is, const unsigned *, long long group, const int *place,
                const int *next, const int *neighbor) {
              int known[BATCH];
#pragma unroll
              for (int k = 0; k < BATCH; k++)
                known[k] = is[k] && neighbor[k] >= next[k] ? parents[neighbor[k]] : -1;
#pragma unroll
              for (int k = 0; k < BATCH; k++) {
                const int row = (int)group + place[k];
                if (known[k] > row && __ldcg(parents + neighbor[k]) > row)  // not an old value
                  atomicMin(&parents[neighbor[k]], row);
              }
            });
      });
}

// PageRank: every source's rank goes along its edges, in equal shares or by weight.
extern "C" __global__ void scatter(long long start, long long stop, long long origin,
                                   const long long *table, const unsigned int *words,
                                   const unsigned long long *checksums, const weight_t *weight_type,
                                   long long weighted, double damping, const double *out_weights,
                                   const double *pagerank, const double *state, double *sums) {
  if (state[3] != 0.0) return;
  __shared__ unsigned ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long chunks = count_chunks(start, stop, 2, table, checksums, ends);
  each_chunk(start, stop, origin, table, words, ends, chunks,
             [=](const Section &s, long long, long long chunk) {
               each_edge<double>(
                   s, chunk, [](long long) { return true; },
                   [=](long long row) {
                     return damping * pagerank[row] / (weighted ? 1.0 : out_weights[row]);
                   },
                   [=](const bool *is, const unsigned *edge, long long group, const int *place,
                       const double *rank, const int *neighbor) {
#pragma unroll
                     for (int k = 0; k < BATCH; k++) {
                       if (!is[k]) continue;
                       const double share =
                           weighted ? (double)s.weights[edge[k]] / out_weights[group + place[k]]
                                    : 1.0;
                       atomicAdd(&sums[neighbor[k]], rank[k] * share);
                     }
                   });
             });
}
