// Shortest paths over the partitions of a layered edge list, in sweeps until nothing changes.
//
// The partitions start to stop of `table` are in `words`, which begin at word `origin` of the whole
// list; vertices are positions. checksums has the sums computed for both sections of each
// partition, and a section whose sum differs from the table is skipped. weight_type only tells the
// type of the weights. Distances of vertices that have not been reached are infinite.
//
// References: Zhu et al. 2017 (WolfPath: layers, combined lists, no host between them); Davidson,
// Baxter, Garland, Owens 2014 (near-far queues, on CPUs). Rounds inside a partition, and skipping
// rows by the round of their last update, are our own.

#ifndef weight_t
#define weight_t double
#endif

#include "sections.cuh"

// Rounds of what SSSP and its ties do alike. A row waits where its stamp, the round that last
// lowered it, is not before the round that last relaxed it: relaxed[row], or done[partition] where
// a row has several partitions, one row each. Every round relaxes all that wait, until none does.
// (To take near rows first means more rounds, which cost more than what they save.) lower(value of
// the row, edge weight, neighbor, its distance) says whether it lowered something.
template <class Value, class Load, class Lower>
__device__ __forceinline__ void rounds(long long start, long long stop, long long origin,
                                       const long long *table, const unsigned int *words,
                                       const unsigned long long *sums, const double *distances,
                                       int *stamps, int *relaxed, int *done,
                                       unsigned long long *arrived, long long *state, Load load,
                                       Lower lower) {
  __shared__ unsigned ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long chunks = count_chunks(start, stop, 2, table, sums, ends);
  const int first_round = (int)state[0] + 1;
  int round = first_round;
  for (;; round++) {
    bool any = false;
    each_chunk(start, stop, origin, table, words, ends, chunks,
               [&](const Section &s, long long partition, long long chunk) {
                 each_edge<Value>(
                     s, chunk,
                     [&](long long row) {
                       int *last = s.rows == 1 ? done + partition : relaxed + row;
                       const int before = __ldcg(last);
                       if (__ldcg(stamps + row) < before && before != round) return false;
                       *last = round;
                       any = true;
                       return true;
                     },
                     load,
                     [&](const bool *is, const unsigned *edge, long long, const int *,
                         const Value *value, const int *neighbor) {
                       double weight[BATCH], there[BATCH];
#pragma unroll
                       for (int k = 0; k < BATCH; k++)
                         there[k] = is[k] ? __ldcg(distances + neighbor[k]) : 0.0;
#pragma unroll
                       for (int k = 0; k < BATCH; k++)
                         weight[k] = is[k] ? (double)s.weights[edge[k]] : 0.0;
#pragma unroll
                       for (int k = 0; k < BATCH; k++)
                         if (is[k] && lower(value[k], weight[k], neighbor[k], there[k]))
                           stamps[neighbor[k]] = round;
                     });
               });
    if (__any_sync(FULL_MASK, any) && threadIdx.x % WARP == 0)
      atomicMax((unsigned long long *)&state[1], (u64)round);
    grid_barrier(arrived, round - first_round + 1);
    if (__ldcg(state + 1) < round) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) state[0] = round;
}

// SSSP: lower distances along edges. stamps[v] is -1 where nothing was lowered, relaxed and done
// are 0 before; state[0] counts rounds, state[1] is the last that relaxed. `delta`, by which a bound
// goes on, is for CPUs.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    relax(long long start, long long stop, long long origin, const long long *table,
          const unsigned int *words, const unsigned long long *checksums, const weight_t *weight_type,
          double delta, double cutoff, double *distances, int *last_update, int *last_relaxed, int *last_relaxed_partition,
          unsigned long long *arrived_blocks, long long *state) {
  rounds<double>(
      start, stop, origin, table, words, checksums, distances, last_update, last_relaxed, last_relaxed_partition, arrived_blocks, state,
      [=](long long row) { return __ldcg(distances + row); },
      [=](double distance, double weight, int neighbor, double there) {
        const double reached = distance + weight;
        if (reached > cutoff || !(reached < there)) return false;
        const long long bits = __double_as_longlong(reached);
        return atomicMin((long long *)&distances[neighbor], bits) > bits;
      });
}

// Ways along edges that add nothing: steps[v] = the fewest from a vertex that needs none. Those
// have 0 steps, the others, which are open, the largest int before.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS)
    relax_zero_weight(long long start, long long stop, long long origin, const long long *table,
               const unsigned int *words, const unsigned long long *checksums, const weight_t *weight_type,
               double delta, const double *distances, int *hops, int *last_update, int *last_relaxed,
               int *last_relaxed_partition, unsigned long long *arrived_blocks, long long *state) {
  rounds<long long>(
      start, stop, origin, table, words, checksums, distances, last_update, last_relaxed, last_relaxed_partition, arrived_blocks, state,
      [=](long long row) { return row; },
      [=](long long row, double weight, int neighbor, double there) {
        const double distance = distances[row];
        const int reached = __ldcg(hops + row) + 1;
        if (there != distance || distance + weight != distance) return false;
        if (!(reached < hops[neighbor])) return false;
        return atomicMin(&hops[neighbor], reached) > reached;
      });
}

// The smallest vertex (names[place]) before each: nearer, at the end of a shortest way; with
// `zero_weight` of those as near, a step less away, where steps are above 0.
extern "C" __global__ void find_predecessors(long long start, long long stop, long long origin,
                                             const long long *table, const unsigned int *words,
                                             const unsigned long long *checksums, const weight_t *weight_type,
                                             long long zero_weight, const int *names,
                                             const double *distances, const int *hops,
                                             int *predecessors) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  __shared__ unsigned ends[2 * MAX_LAUNCH_PARTITIONS];
  const long long chunks = count_chunks(start, stop, 2, table, checksums, ends);
  each_chunk(start, stop, origin, table, words, ends, chunks,
             [=](const Section &s, long long, long long chunk) {
               each_edge<double>(
                   s, chunk, [=](long long row) { return distances[row] < infinity; },
                   [=](long long row) { return distances[row]; },
                   [=](const bool *is, const unsigned *edge, long long group, const int *place,
                       const double *distance, const int *neighbor) {
                     double reached[BATCH], there[BATCH];
#pragma unroll
                     for (int k = 0; k < BATCH; k++) {
                       reached[k] = distance[k] + (is[k] ? (double)s.weights[edge[k]] : 0.0);
                       there[k] = is[k] ? distances[neighbor[k]] : 0.0;
                     }
#pragma unroll
                     for (int k = 0; k < BATCH; k++) {
                       if (!is[k] || there[k] != reached[k] || reached[k] == infinity) continue;
                       const long long row = group + place[k];
                       const bool fits =
                           zero_weight ? there[k] == distance[k] && hops[row] + 1 == hops[neighbor[k]]
                                : distance[k] < there[k];
                       if (!fits) continue;
                       const int name = names[row];
                       if (name < __ldcg(predecessors + neighbor[k]))
                         atomicMin(&predecessors[neighbor[k]], name);
                     }
                   });
             });
}

// wanted[p] = 1 where a row waits, as in `relax`; it is 0 before.
extern "C" __global__ void find_active(long long start, long long stop, const long long *table,
                                        const int *last_update, const int *last_relaxed, const int *last_relaxed_partition,
                                        int *is_active) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *own = table + partition * PARTITION_COLUMNS;
    const long long first = own[COLUMN_FIRST], rows = own[COLUMN_ROWS];
    bool any = false;
    STRIDE(i, rows) any |= last_update[first + i] >= (rows == 1 ? last_relaxed_partition[partition] : last_relaxed[first + i]);
    if (any) is_active[partition] = 1;
  }
}
