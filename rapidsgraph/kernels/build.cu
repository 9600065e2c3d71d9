// From named edges to adjacency lists: the loops that no array operation does in one pass.
//
// Means: see each entry; build.py beside this does the same on a CPU.
// Requires: ids below `present`'s and `table`'s length after `low` is taken off; offsets
//   ascending from 0. Sorting itself is sorting.py's work.

#ifndef name_t
#define name_t long long
#endif
#ifndef weight_t
#define weight_t double
#endif

#ifndef order_t
#define order_t int
#endif

#define WARP 32

#define STRIDE(i, count)                                                            \
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (count); \
       i += gridDim.x * (long long)blockDim.x)

// present[name - low] = true for every name.
extern "C" __global__ void mark(long long count, const name_t *names, long long low,
                                bool *present) {
  STRIDE(i, count) {
    const long long place = names[i] - low;
    if (!present[place]) present[place] = true;  // a read is cheaper than a contended write
  }
}

// ids[i] = table[names[i] - low].
extern "C" __global__ void translate(long long count, const name_t *names, long long low,
                                     const int *table, int *ids) {
  STRIDE(i, count) ids[i] = table[names[i] - low];
}

// moved[i] = values[order[i]].
extern "C" __global__ void permute(long long count, const order_t *order, const weight_t *values,
                                   weight_t *moved) {
  STRIDE(i, count) moved[i] = values[order[i]];
}

// sums[key] += weight of every item with that key, or 1.
extern "C" __global__ void accumulate(long long count, const int *keys, const weight_t *weights,
                                      long long weighted, double *sums) {
  STRIDE(i, count) atomicAdd(sums + keys[i], weighted ? (double)weights[i] : 1.0);
}

// rows[offsets[r] .. offsets[r + 1]) = r.
extern "C" __global__ void expand_rows(long long count, const long long *offsets, int *rows) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; row < count;
       row += warps)
    for (long long i = offsets[row] + lane; i < offsets[row + 1]; i += WARP) rows[i] = row;
}

// Row by row the first list and then the second; offsets are the sum of the two.
extern "C" __global__ void join_rows(long long count, const long long *first_offsets,
                                     const int *first, const weight_t *first_weights,
                                     const long long *second_offsets, const int *second,
                                     const weight_t *second_weights, long long weighted,
                                     int *joined, weight_t *joined_weights) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  for (long long row = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; row < count;
       row += warps) {
    for (long long i = first_offsets[row] + lane; i < first_offsets[row + 1]; i += WARP) {
      joined[i + second_offsets[row]] = first[i];
      if (weighted) joined_weights[i + second_offsets[row]] = first_weights[i];
    }
    for (long long i = second_offsets[row] + lane; i < second_offsets[row + 1]; i += WARP) {
      joined[i + first_offsets[row + 1]] = second[i];
      if (weighted) joined_weights[i + first_offsets[row + 1]] = second_weights[i];
    }
  }
}

// One weight for each run of parallel edges, from starts[r] to starts[r + 1] or, for the last
// run, to `count`: 0 the first, 1 the sum (in order), 2 the smallest, 3 the largest.
extern "C" __global__ void reduce_runs(long long runs, long long count, const long long *starts,
                                       const weight_t *weights, long long how, weight_t *reduced) {
  STRIDE(run, runs) {
    const long long end = run + 1 < runs ? starts[run + 1] : count;
    weight_t value = weights[starts[run]];
    if (how > 0)
      for (long long i = starts[run] + 1; i < end; i++) {
        const weight_t weight = weights[i];
        value = how == 1   ? value + weight
                : how == 2 ? (weight < value ? weight : value)
                           : (weight > value ? weight : value);
      }
    reduced[run] = value;
  }
}

// later[r] = neighbors of r from r itself on.
extern "C" __global__ void count_later(long long count, const long long *offsets,
                                       const int *neighbors, long long *later) {
  STRIDE(row, count) {
    long long begin = offsets[row], end = offsets[row + 1];
    later[row] = end;
    while (begin < end) {
      const long long middle = (begin + end) / 2;
      if (neighbors[middle] < row)
        begin = middle + 1;
      else
        end = middle;
    }
    later[row] -= begin;
  }
}
