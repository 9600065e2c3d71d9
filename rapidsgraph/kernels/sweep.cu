// Sweeps over the partitions of a layered edge list, wherever these are at the moment.
//
// Means: partitions from `start` to before `stop` of `table` are in `words`, whose first is word
// `origin` of
//   all; vertices are places. sums has the checksums found for both sections of each partition;
//   what is damaged is left alone. `sample` only tells the type of the weights.
// Requires: as said at each entry.
// Reference: Zhu et al. 2017 (WolfPath: layers, combined lists, no host between them). Kim 2014
//   (an addition an edge). Rounds inside a partition, and skipping by stamps, are ours.

#ifndef weight_t
#define weight_t double
#endif

#include "sections.cuh"

#define NO_VERTEX 0x7fffffff

// sums[2 p] and [2 p + 1] are 0 before; with `parts` 1 only forward sections are there.
extern "C" __global__ void add_checksums(long long start, long long stop, long long origin,
                                         long long parts, const long long *table,
                                         const unsigned int *words, unsigned long long *sums) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *row = table + partition * COLUMNS;
    for (int part = 0; part < parts; part++) {
      const unsigned *own = words + (row[POSITION] - origin + (part ? row[FORWARD_WORDS] : 0));
      const long long count = part ? row[WORDS] - row[FORWARD_WORDS] : row[FORWARD_WORDS];
      u64 sum = 0;
      STRIDE(i, count) sum += (own[i] + 1ull) * ((2 * i + 1) * 0x9e3779b97f4a7c15ull);
      for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
      if (threadIdx.x % WARP == 0) atomicAdd(&sums[2 * partition + part], sum);
    }
  }
}

// BFS: parents[v] = the first place from which an edge leads to the next layer, where v is.
// layer_starts has depth + 2 places; rows from `end` on are not looked at.
extern "C" __global__ void find_parents(long long start, long long stop, long long origin,
                                        const long long *table, const unsigned int *words,
                                        const unsigned long long *sums, long long layers,
                                        const long long *layer_starts, long long end,
                                        int *parents) {
  __shared__ unsigned ends[SECTIONS];
  const long long chunks = count_chunks(start, stop, 1, table, sums, ends);
  each_chunk(
      start, stop, origin, table, words, ends, chunks,
      [=](const Section &s, long long, long long chunk) {
        each_edge<int>(
            s, chunk, [=](long long row) { return row < end; },
            [=](long long row) {
              long long layer = 0, behind = layers;
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

// Rounds of what SSSP and its ties do alike: rows whose stamp is not older than the partition's
// `done`, and then those that the round before changed, until a round changes nothing, or so many.
// lower(value of the row, edge weight, neighbor, its distance) says whether it lowered something.
template <class Value, class Load, class Lower>
__device__ __forceinline__ void rounds(long long start, long long stop, long long origin,
                                       const long long *table, const unsigned int *words,
                                       const unsigned long long *sums, long long most_rounds,
                                       int *stamps, long long *done, unsigned long long *arrived,
                                       long long *state, const double *distances, Load load,
                                       Lower lower) {
  __shared__ unsigned ends[SECTIONS];
  const long long chunks = count_chunks(start, stop, 2, table, sums, ends);
  long long round = state[0] + 1;
  const long long first_round = round;
  for (;; round++) {
    bool any = false;
    each_chunk(start, stop, origin, table, words, ends, chunks,
               [&](const Section &s, long long partition, long long chunk) {
                 const long long since = round == first_round ? done[partition] : round - 1;
                 each_edge<Value>(
                     s, chunk, [=](long long row) { return __ldcg(stamps + row) >= since; }, load,
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
                         if (is[k] && lower(value[k], weight[k], neighbor[k], there[k])) {
                           stamps[neighbor[k]] = (int)round;
                           any = true;
                         }
                     });
               });
    if (__any_sync(FULL, any) && threadIdx.x % WARP == 0)
      atomicMax((unsigned long long *)&state[1], (u64)round);
    grid_barrier(arrived, round - first_round + 1);
    if (__ldcg(state + 1) < round || round - first_round + 1 >= most_rounds) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (long long partition = start; partition < stop; partition++) done[partition] = round;
    state[0] = round;
  }
}

// SSSP: lower distances along edges. stamps[v] = the round that last lowered v, -1 for none;
// state[0] counts rounds, state[1] is the last that lowered anything.
extern "C" __global__ void __launch_bounds__(1024)
    relax(long long start, long long stop, long long origin, const long long *table,
          const unsigned int *words, const unsigned long long *sums, const weight_t *sample,
          long long most_rounds, double cutoff, double *distances, int *stamps, long long *done,
          unsigned long long *arrived, long long *state) {
  rounds<double>(
      start, stop, origin, table, words, sums, most_rounds, stamps, done, arrived, state, distances,
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
extern "C" __global__ void __launch_bounds__(1024)
    relax_ties(long long start, long long stop, long long origin, const long long *table,
               const unsigned int *words, const unsigned long long *sums, const weight_t *sample,
               long long most_rounds, const double *distances, int *steps, int *stamps,
               long long *done, unsigned long long *arrived, long long *state) {
  rounds<long long>(
      start, stop, origin, table, words, sums, most_rounds, stamps, done, arrived, state, distances,
      [=](long long row) { return row; },
      [=](long long row, double weight, int neighbor, double there) {
        const double distance = distances[row];
        const int reached = __ldcg(steps + row) + 1;
        if (there != distance || distance + weight != distance) return false;
        if (!(reached < steps[neighbor])) return false;
        return atomicMin(&steps[neighbor], reached) > reached;
      });
}

// The smallest vertex (names[place]) before each: nearer, at the end of a shortest way; with
// `tied` of those as near, a step less away, where steps are above 0.
extern "C" __global__ void find_predecessors(long long start, long long stop, long long origin,
                                             const long long *table, const unsigned int *words,
                                             const unsigned long long *sums, const weight_t *sample,
                                             long long tied, const int *names,
                                             const double *distances, const int *steps,
                                             int *predecessors) {
  __shared__ unsigned ends[SECTIONS];
  const long long chunks = count_chunks(start, stop, 2, table, sums, ends);
  each_chunk(start, stop, origin, table, words, ends, chunks,
             [=](const Section &s, long long, long long chunk) {
               each_edge<double>(
                   s, chunk,
                   [=](long long row) {
                     return distances[row] < __longlong_as_double(0x7ff0000000000000ll);
                   },
                   [=](long long row) { return distances[row]; },
                   [=](const bool *is, const unsigned *edge, long long group, const int *place,
                       const double *distance, const int *neighbor) {
                     double reached[BATCH], there[BATCH];
#pragma unroll
                     for (int k = 0; k < BATCH; k++) {
                       reached[k] = distance[k] + (is[k] ? (double)s.weights[edge[k]] : 0.0);
                       there[k] = is[k] ? distances[neighbor[k]] : -1.0;
                     }
#pragma unroll
                     for (int k = 0; k < BATCH; k++) {
                       if (there[k] != reached[k]) continue;
                       const long long row = group + place[k];
                       const bool fits =
                           tied ? there[k] == distance[k] && steps[row] + 1 == steps[neighbor[k]]
                                : distance[k] < there[k];
                       if (!fits) continue;
                       const int name = names[row];
                       if (name < __ldcg(predecessors + neighbor[k]))
                         atomicMin(&predecessors[neighbor[k]], name);
                     }
                   });
             });
}

// wanted[p] = 1 where a row has a stamp that is not older than done[p]; it is 0 before.
extern "C" __global__ void find_changed(long long start, long long stop, const long long *table,
                                        const int *stamps, const long long *done, int *wanted) {
  for (long long partition = start; partition < stop; partition++) {
    const long long *row = table + partition * COLUMNS;
    const long long since = done[partition];
    bool any = false;
    STRIDE(i, row[ROWS]) any |= stamps[row[FIRST] + i] >= since;
    if (__any_sync(__activemask(), any)) wanted[partition] = 1;
  }
}

// PageRank: every source's rank goes along its edges, in equal shares or by weight.
extern "C" __global__ void scatter(long long start, long long stop, long long origin,
                                   const long long *table, const unsigned int *words,
                                   const unsigned long long *sums, const weight_t *sample,
                                   long long weighted, double damping, const double *out_weights,
                                   const double *ranks, const double *state, double *totals) {
  if (state[3] != 0.0) return;
  __shared__ unsigned ends[SECTIONS];
  const long long chunks = count_chunks(start, stop, 2, table, sums, ends);
  each_chunk(start, stop, origin, table, words, ends, chunks,
             [=](const Section &s, long long, long long chunk) {
               each_edge<double>(
                   s, chunk, [](long long) { return true; },
                   [=](long long row) { return damping * ranks[row] / out_weights[row]; },
                   [=](const bool *is, const unsigned *edge, long long, const int *,
                       const double *share, const int *neighbor) {
#pragma unroll
                     for (int k = 0; k < BATCH; k++)
                       if (is[k])
                         atomicAdd(&totals[neighbor[k]],
                                   weighted ? share[k] * (double)s.weights[edge[k]] : share[k]);
                   });
             });
}
