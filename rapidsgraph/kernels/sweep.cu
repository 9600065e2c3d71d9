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
  long long turn = 0;
  for (long long partition = start; partition < stop; partition++) {
    if (!is_sound(table, sums, partition, 0)) continue;
    const Section s = section_of(table, words, origin, partition, 0);
    each_edge<int>(
        s, &turn,
        [=](long long row, int *next) {
          if (row >= end) return false;
          long long layer = 0, behind = layers;
          while (behind - layer > 1) {
            const long long middle = (layer + behind) / 2;
            if (layer_starts[middle] <= row)
              layer = middle;
            else
              behind = middle;
          }
          *next = (int)layer_starts[layer + 1];
          return true;
        },
        [=](const bool *is, const long long *, const long long *row, const int *next,
            const int *neighbor) {
          int known[BATCH];
#pragma unroll
          for (int k = 0; k < BATCH; k++)
            known[k] = is[k] && neighbor[k] >= next[k] ? parents[neighbor[k]] : -1;
#pragma unroll
          for (int k = 0; k < BATCH; k++)
            if (known[k] > row[k]) atomicMin(&parents[neighbor[k]], (int)row[k]);
        });
  }
}

// Rounds of what SSSP and its ties do alike: rows whose stamp is not older than the partition's
// `done`, and then those that the round before changed, until a round changes nothing, or so many.
// lower(row, value, edge weight, neighbor) says whether it lowered something there.
template <class Value, class Load, class Lower>
__device__ __forceinline__ void rounds(long long start, long long stop, long long origin,
                                       const long long *table, const unsigned int *words,
                                       const unsigned long long *sums, long long most_rounds,
                                       int *stamps, long long *done, unsigned long long *arrived,
                                       long long *state, Load load, Lower lower) {
  long long round = state[0] + 1;
  const long long first_round = round;
  for (;; round++) {
    bool any = false;
    long long turn = 0;
    for (long long partition = start; partition < stop; partition++) {
      const long long since = round == first_round ? done[partition] : round - 1;
      for (int part = 0; part < 2; part++) {
        if (!is_sound(table, sums, partition, part)) continue;
        const Section s = section_of(table, words, origin, partition, part);
        each_edge<Value>(
            s, &turn,
            [=](long long row, Value *value) {
              if (__ldcg(stamps + row) < since) return false;
              *value = load(row);
              return true;
            },
            [&](const bool *is, const long long *edge, const long long *, const Value *value,
                const int *neighbor) {
              double weight[BATCH];
#pragma unroll
              for (int k = 0; k < BATCH; k++) weight[k] = is[k] ? (double)s.weights[edge[k]] : 0.0;
#pragma unroll
              for (int k = 0; k < BATCH; k++)
                if (is[k] && lower(value[k], weight[k], neighbor[k])) {
                  stamps[neighbor[k]] = (int)round;
                  any = true;
                }
            });
      }
    }
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
      start, stop, origin, table, words, sums, most_rounds, stamps, done, arrived, state,
      [=](long long row) { return __ldcg(distances + row); },
      [=](double distance, double weight, int neighbor) {
        const double reached = distance + weight;
        if (reached > cutoff || !(reached < distances[neighbor])) return false;
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
      start, stop, origin, table, words, sums, most_rounds, stamps, done, arrived, state,
      [=](long long row) { return row; },
      [=](long long row, double weight, int neighbor) {
        const double distance = distances[row];
        const int reached = __ldcg(steps + row) + 1;
        if (distances[neighbor] != distance || distance + weight != distance) return false;
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
  long long turn = 0;
  for (long long partition = start; partition < stop; partition++) {
    for (int part = 0; part < 2; part++) {
      if (!is_sound(table, sums, partition, part)) continue;
      const Section s = section_of(table, words, origin, partition, part);
      each_edge<double>(
          s, &turn,
          [=](long long row, double *distance) {
            *distance = distances[row];
            return *distance < __longlong_as_double(0x7ff0000000000000ll);
          },
          [=](const bool *is, const long long *edge, const long long *row, const double *distance,
              const int *neighbor) {
            double reached[BATCH], there[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
              reached[k] = distance[k] + (is[k] ? (double)s.weights[edge[k]] : 0.0);
              there[k] = is[k] ? distances[neighbor[k]] : -1.0;
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
              if (there[k] != reached[k]) continue;
              const bool fits =
                  tied ? there[k] == distance[k] && steps[row[k]] + 1 == steps[neighbor[k]]
                       : distance[k] < there[k];
              if (!fits) continue;
              const int name = names[row[k]];
              if (name < predecessors[neighbor[k]]) atomicMin(&predecessors[neighbor[k]], name);
            }
          });
    }
  }
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
  long long turn = 0;
  for (long long partition = start; partition < stop; partition++) {
    for (int part = 0; part < 2; part++) {
      if (!is_sound(table, sums, partition, part)) continue;
      const Section s = section_of(table, words, origin, partition, part);
      each_edge<double>(
          s, &turn,
          [=](long long row, double *share) {
            *share = damping * ranks[row] / out_weights[row];
            return true;
          },
          [=](const bool *is, const long long *edge, const long long *, const double *share,
              const int *neighbor) {
#pragma unroll
            for (int k = 0; k < BATCH; k++)
              if (is[k])
                atomicAdd(&totals[neighbor[k]],
                          weighted ? share[k] * (double)s.weights[edge[k]] : share[k]);
          });
    }
  }
}
