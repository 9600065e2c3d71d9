// SSSP of a layered edge list, in passes over its partitions until nothing changes.
//
// relax              lower distances along edges, to a fixed point within the partitions
// relax_zero_weight  lower hops along zero-weight edges, to a fixed point within the partitions
// find_predecessors  lower predecessors to the smallest vertex id on a shortest path
// find_active        mark partitions with rows that have to be relaxed again
//
// sections.cuh describes the parameters that all kernels share. Distances of unreached vertices are
// infinite.
//
// A row is active if its value was lowered after the row was relaxed: last_update[row] is the last
// round that lowered it, -1 if none did, and last_relaxed[row] the last round that relaxed it. A
// row that is split over several partitions is alone in each of them, and last_relaxed_partition
// has the last round for each of these.
//
// References: H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
// algorithms on GPU", Int. J. Parallel Program. 47, 2019.
// https://doi.org/10.1007/s10766-017-0533-y (layers; combined lists that run without the host).
// A. Davidson, S. Baxter, M. Garland, J. D. Owens, "Work-efficient parallel GPU methods for
// single-source shortest paths", IPDPS 2014. https://doi.org/10.1109/IPDPS.2014.45 (near-far
// queues, in the CPU twin).

#ifndef weight_t
#define weight_t double
#endif

#include "sections.cuh"

// Relax active rows, round after round, until there are none.
//
// lower(values[k], weight, neighbor, distance of the neighbor) lowers what belongs to the neighbor
// and returns whether it did. state[0] counts rounds over all launches, state[1] is the last round
// that relaxed a row. Selecting near rows first takes more rounds, which costs more than it saves.
template <class Value, class Load, class Lower>
__device__ __forceinline__ void relax_rounds(long long start, long long stop, long long origin,
                                             const long long *table, const unsigned *words,
                                             const u64 *checksums, const double *distances,
                                             int *last_update, int *last_relaxed,
                                             int *last_relaxed_partition, u64 *arrived_blocks,
                                             long long *state, Load load, Lower lower) {
  __shared__ unsigned chunk_ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long num_chunks = count_chunks(start, stop, 2, table, checksums, chunk_ends);
  const int first_round = (int)state[0] + 1;
  int round = first_round;
  for (;; round++) {
    bool any_active = false;
    for_each_chunk(
        start, stop, origin, table, words, chunk_ends, num_chunks,
        [&](const Section &s, long long partition, long long chunk) {
          for_each_edge<Value>(
              s, chunk,
              [&](long long row) {
                int *relaxed =
                    s.rows == 1 ? last_relaxed_partition + partition : last_relaxed + row;
                const int relaxed_round = __ldcg(relaxed);
                if (__ldcg(last_update + row) < relaxed_round && relaxed_round != round)
                  return false;
                *relaxed = round;
                any_active = true;
                return true;
              },
              load,
              [&](const bool *is_edge, const unsigned *edge, long long, const int *,
                  const Value *values, const int *neighbor) {
                double weight[BATCH], distance[BATCH];
#pragma unroll
                for (int k = 0; k < BATCH; k++)
                  distance[k] = is_edge[k] ? __ldcg(distances + neighbor[k]) : 0.0;
#pragma unroll
                for (int k = 0; k < BATCH; k++)
                  weight[k] = is_edge[k] ? (double)s.weights[edge[k]] : 0.0;
#pragma unroll
                for (int k = 0; k < BATCH; k++)
                  if (is_edge[k] && lower(values[k], weight[k], neighbor[k], distance[k]))
                    last_update[neighbor[k]] = round;
              });
        });
    if (__any_sync(FULL_MASK, any_active) && threadIdx.x % WARP == 0)
      atomicMax((u64 *)&state[1], (u64)round);
    grid_barrier(arrived_blocks, round - first_round + 1);
    if (__ldcg(state + 1) < round) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) state[0] = round;
}

// Lower distances along edges up to the distance `cutoff`. last_relaxed, last_relaxed_partition and
// state are 0 before the first launch, arrived_blocks before each. delta is used by the CPU twin.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    relax(long long start, long long stop, long long origin, const long long *table,
          const unsigned int *words, const unsigned long long *checksums,
          const weight_t *weight_type, double delta, double cutoff, double *distances,
          int *last_update, int *last_relaxed, int *last_relaxed_partition,
          unsigned long long *arrived_blocks, long long *state) {
  relax_rounds<double>(
      start, stop, origin, table, words, checksums, distances, last_update, last_relaxed,
      last_relaxed_partition, arrived_blocks, state,
      [=](long long row) { return __ldcg(distances + row); },
      [=](double distance, double weight, int neighbor, double neighbor_distance) {
        const double new_distance = distance + weight;
        if (new_distance > cutoff || !(new_distance < neighbor_distance)) return false;
        // Doubles that are not negative compare like their bits.
        const long long bits = __double_as_longlong(new_distance);
        return atomicMin((long long *)&distances[neighbor], bits) > bits;
      });
}

// Lower hops[v] to the fewest zero-weight edges to v from a vertex of 0 hops. Before the first
// launch hops is the largest int for vertices that lack a predecessor, and 0 for all others. An
// edge counts as zero-weight if adding its weight does not change the distance.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    relax_zero_weight(long long start, long long stop, long long origin, const long long *table,
                      const unsigned int *words, const unsigned long long *checksums,
                      const weight_t *weight_type, double delta, const double *distances, int *hops,
                      int *last_update, int *last_relaxed, int *last_relaxed_partition,
                      unsigned long long *arrived_blocks, long long *state) {
  relax_rounds<long long>(
      start, stop, origin, table, words, checksums, distances, last_update, last_relaxed,
      last_relaxed_partition, arrived_blocks, state, [=](long long row) { return row; },
      [=](long long row, double weight, int neighbor, double neighbor_distance) {
        const double distance = distances[row];
        const int new_hops = __ldcg(hops + row) + 1;
        if (neighbor_distance != distance || distance + weight != distance) return false;
        if (!(new_hops < hops[neighbor])) return false;
        return atomicMin(&hops[neighbor], new_hops) > new_hops;
      });
}

// Lower predecessors[v] to the smallest id, names[u], of the vertices u before v on shortest paths:
// of those nearer than v, or with zero_weight of those as near as v with one hop less.
extern "C" __global__ void find_predecessors(long long start, long long stop, long long origin,
                                             const long long *table, const unsigned int *words,
                                             const unsigned long long *checksums,
                                             const weight_t *weight_type, long long zero_weight,
                                             const int *names, const double *distances,
                                             const int *hops, int *predecessors) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  sweep_edges<double>(
      start, stop, origin, 2, table, words, checksums,
      [=](long long row) { return distances[row] < infinity; },
      [=](long long row) { return distances[row]; },
      [=](const Section &s, const bool *is_edge, const unsigned *edge, long long first_row,
          const int *lanes, const double *distance, const int *neighbor) {
        double path[BATCH], neighbor_distance[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          path[k] = distance[k] + (is_edge[k] ? (double)s.weights[edge[k]] : 0.0);
          neighbor_distance[k] = is_edge[k] ? distances[neighbor[k]] : 0.0;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (!is_edge[k] || neighbor_distance[k] != path[k] || path[k] == infinity) continue;
          const long long row = first_row + lanes[k];
          const bool is_predecessor = zero_weight ? neighbor_distance[k] == distance[k] &&
                                                        hops[row] + 1 == hops[neighbor[k]]
                                                  : distance[k] < neighbor_distance[k];
          if (!is_predecessor) continue;
          const int name = names[row];
          if (name < __ldcg(predecessors + neighbor[k]))
            atomicMin(&predecessors[neighbor[k]], name);
        }
      });
}

// Set is_active[p], which is 0 before, to 1 for the partitions p with an active row.
extern "C" __global__ void find_active(long long start, long long stop, const long long *table,
                                       const int *last_update, const int *last_relaxed,
                                       const int *last_relaxed_partition, int *is_active) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *table_row = table + partition * PARTITION_COLUMNS;
    const long long first = table_row[COLUMN_FIRST], rows = table_row[COLUMN_ROWS];
    bool any_active = false;
    STRIDE(i, rows)
    any_active |= last_update[first + i] >=
                  (rows == 1 ? last_relaxed_partition[partition] : last_relaxed[first + i]);
    if (any_active) is_active[partition] = 1;
  }
}
