// Power iteration for PageRank, in several variants.
//
// One iteration computes
//
//   pagerank'[v] = damping * sum over arcs (u, v) of pagerank[u] * w / W[u]
//                  + teleport[v] + dangling_mass * dangling_weights[v]
//
// where W[u] is the total weight of the arcs that leave u, teleport is (1 - damping) times the
// personalization, dangling_mass is the PageRank of dangling vertices (W = 0), and dangling_weights
// is damping times the distribution it goes to. teleport and dangling_weights have one value per
// vertex or one for all.
//
// Arcs are sorted by destination (offsets, neighbors) unless an entry says otherwise. out_weights
// of a dangling vertex is 1, so that 0 / W is 0. state is {iterations, residual, dangling_mass,
// converged, PageRank of isolated vertices} in double; only `iterate` and iterate_blocks of
// pagerank_blocks.cu have the last value. Kernels that continue from a state return at once if it
// says converged, so the host may enqueue iterations ahead. Sums accumulate in double; value_t is
// the precision of the values that are gathered.
//
// Entries: initialize_sums, scatter_edges and gather_nodes (Kim) and gather_contributions and
// gather_groups (Reddy) compute one iteration into sums or new_pagerank; measure_change and
// check_convergence reduce it into state. `iterate` runs all iterations in one launch, over the
// rows of pagerank_layout.cu; initialize_rows and order_by_vertex convert its values from and to
// PageRank by vertex. iterate_in_block runs all iterations on a small graph in one block, over its
// adjacency lists.
//
// References: M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale
// networks", DGIST (edge- and node-centric PageRank). C. S. Reddy, "GPU Programming", B.Tech.
// project report, Indian Institute of Technology Palakkad (contributions, warp-level sums).

#include "pagerank.cuh"

#ifndef value_t
#define value_t double
#endif
// Of `iterate`: bool means that the graph has no weights.
#ifndef weight_t
#define weight_t bool
#endif
#define WEIGHTED (sizeof(weight_t) > 1)
#ifndef new_value_t
#define new_value_t value_t
#endif

#define LOADS_IN_FLIGHT 8  // contributions that a thread loads at once in long lists
#define SLICES_PER_WARP 2  // wide slices that a warp processes at once
#define ROW_LANES 8        // lanes that sum a list in iterate_in_block
#define MIN_WARP_LIST 64   // neighbors from which a whole warp sums a list there

// Kim, algorithm 1: initialize every sum by the terms that need no edge.
extern "C" __global__ void initialize_sums(long long num_vertices, const double *teleport,
                                           long long num_teleports, const double *dangling_weights,
                                           long long num_dangling_weights, const double *state,
                                           double *sums) {
  if (state[3] != 0.0) return;
  STRIDE(vertex, num_vertices)
  sums[vertex] = finish(0.0, 0.0, teleport, num_teleports, state[2], dangling_weights,
                        num_dangling_weights, vertex);
}

// Kim, algorithm 2: an atomic addition per edge, and one back where edges have no direction.
extern "C" __global__ void scatter_edges(long long num_edges, long long symmetrize, double damping,
                                         const int *sources, const int *destinations,
                                         const value_t *weights, long long weighted,
                                         const value_t *out_weights, const value_t *pagerank,
                                         const double *state, double *sums) {
  if (state[3] != 0.0) return;
  STRIDE(edge, num_edges) {
    const int source = sources[edge], destination = destinations[edge];
    const double weight = weighted ? damping * weights[edge] : damping;
    atomicAdd(&sums[destination], weight * pagerank[source] / out_weights[source]);
    if (symmetrize && source != destination)
      atomicAdd(&sums[source], weight * pagerank[destination] / out_weights[destination]);
  }
}

// Kim, algorithm 3: a thread a vertex, dividing at every edge.
extern "C" __global__ void gather_nodes(long long num_vertices, const long long *offsets,
                                        const int *neighbors, const value_t *weights,
                                        long long weighted, const value_t *out_weights,
                                        double damping, const double *teleport,
                                        long long num_teleports, const double *dangling_weights,
                                        long long num_dangling_weights, const double *state,
                                        const value_t *pagerank, value_t *new_pagerank) {
  if (state[3] != 0.0) return;
  STRIDE(vertex, num_vertices) {
    double sum = 0.0;
    for (long long edge = offsets[vertex]; edge < offsets[vertex + 1]; edge++) {
      const int neighbor = neighbors[edge];
      const double weight = weighted ? (double)weights[edge] : 1.0;
      sum += weight * pagerank[neighbor] / out_weights[neighbor];
    }
    new_pagerank[vertex] = finish(sum, damping, teleport, num_teleports, state[2], dangling_weights,
                                  num_dangling_weights, vertex);
  }
}

// The partial sum of one thread of a group of `threads` over the list of a vertex.
__device__ __forceinline__ double partial_sum(long long edge, long long end, int threads,
                                              const int *neighbors, const value_t *weights,
                                              long long weighted, const value_t *contributions) {
  double sum = 0.0;
  if (weighted)
    for (; edge < end; edge += threads)
      sum += (double)weights[edge] * contributions[neighbors[edge]];
  else
    for (; edge < end; edge += threads) sum += contributions[neighbors[edge]];
  return sum;
}

// Store the PageRank of a vertex and its next contribution, divided once for all neighbors.
__device__ __forceinline__ void store_vertex(long long vertex, double new_value,
                                             const value_t *out_weights, value_t *new_pagerank,
                                             value_t *new_contributions) {
  new_pagerank[vertex] = new_value;
  new_contributions[vertex] = new_value / out_weights[vertex];
}

// Reddy, implementation II: a thread a vertex, contributions divided once.
extern "C" __global__ void gather_contributions(
    long long num_vertices, const long long *offsets, const int *neighbors, const value_t *weights,
    long long weighted, const value_t *out_weights, double damping, const double *teleport,
    long long num_teleports, const double *dangling_weights, long long num_dangling_weights,
    const double *state, const value_t *contributions, value_t *new_contributions,
    value_t *new_pagerank) {
  if (state[3] != 0.0) return;
  STRIDE(vertex, num_vertices) {
    const double sum = partial_sum(offsets[vertex], offsets[vertex + 1], 1, neighbors, weights,
                                   weighted, contributions);
    store_vertex(vertex,
                 finish(sum, damping, teleport, num_teleports, state[2], dangling_weights,
                        num_dangling_weights, vertex),
                 out_weights, new_pagerank, new_contributions);
  }
}

// Reddy, implementation III: the vertices in `rows`, each summed by a group of threads: 1, a warp
// of 32, or (group 0) a whole block, with warp-level sums.
extern "C" __global__ void gather_groups(
    long long num_rows, const int *rows, long long group_size, const long long *offsets,
    const int *neighbors, const value_t *weights, long long weighted, const value_t *out_weights,
    double damping, const double *teleport, long long num_teleports, const double *dangling_weights,
    long long num_dangling_weights, const double *state, const value_t *contributions,
    value_t *new_contributions, value_t *new_pagerank) {
  if (state[3] != 0.0) return;
  const int threads = group_size ? (int)group_size : blockDim.x;
  const int member = threadIdx.x % threads, groups = blockDim.x / threads;
  for (long long row = blockIdx.x * (long long)groups + threadIdx.x / threads; row < num_rows;
       row += gridDim.x * (long long)groups) {
    const int vertex = rows[row];
    double sum = partial_sum(offsets[vertex] + member, offsets[vertex + 1], threads, neighbors,
                             weights, weighted, contributions);
    if (group_size == 0) sum = block_sum(sum);
    if (group_size == WARP) sum = warp_sum(sum);
    if (member == 0)
      store_vertex(vertex,
                   finish(sum, damping, teleport, num_teleports, state[2], dangling_weights,
                          num_dangling_weights, vertex),
                   out_weights, new_pagerank, new_contributions);
  }
}

// Sum the change of all values, and the values of dangling vertices, per block. With `copy` the new
// values also replace the old ones, for an iteration that adds into separate sums.
extern "C" __global__ void measure_change(long long num_vertices, long long copy,
                                          const new_value_t *new_pagerank, const bool *is_dangling,
                                          const double *state, value_t *pagerank,
                                          double *partials) {
  if (state[3] != 0.0) return;
  double residual = 0.0, dangling_mass = 0.0;
  STRIDE(vertex, num_vertices) {
    const double new_value = new_pagerank[vertex];
    residual += fabs(new_value - pagerank[vertex]);
    if (is_dangling[vertex]) dangling_mass += new_value;
    if (copy) pagerank[vertex] = new_value;
  }
  residual = block_sum(residual);
  dangling_mass = block_sum(dangling_mass);
  if (threadIdx.x == 0) {
    partials[2 * blockIdx.x] = residual;
    partials[2 * blockIdx.x + 1] = dangling_mass;
  }
}

// One block: add the partial sums in a fixed order, count the iteration, and test for convergence.
extern "C" __global__ void check_convergence(long long num_blocks, double tolerance,
                                             const double *partials, double *state) {
  if (state[3] != 0.0) return;
  double residual = 0.0, dangling_mass = 0.0;
  for (long long block = threadIdx.x; block < num_blocks; block += blockDim.x) {
    residual += partials[2 * block];
    dangling_mass += partials[2 * block + 1];
  }
  residual = block_sum(residual);
  dangling_mass = block_sum(dangling_mass);
  if (threadIdx.x == 0) {
    state[0] += 1.0;
    state[1] = residual;
    state[2] = dangling_mass;
    state[3] = residual < tolerance;
  }
}

// Initial values of rows, of which `start` has one each or one for all, and their contributions:
// both buffers are 0 where no row writes. If `start` is empty, every row starts at uniform_start,
// and teleport[0] and dangling_weights[0] are written, too. The state is set for iteration 0.
extern "C" __global__ void initialize_rows(
    long long num_vertices, long long num_contributions, const double *start, long long num_starts,
    double uniform_start, double uniform_teleport, double uniform_dangling_weight,
    double dangling_mass, const value_t *inverse_weights, const int *contribution_index,
    long long has_contribution_index, value_t *contributions, value_t *pagerank, double *teleport,
    double *dangling_weights, double *state) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (num_starts == 0) {
      teleport[0] = uniform_teleport;
      dangling_weights[0] = uniform_dangling_weight;
    }
    state[0] = 0.0;
    state[1] = __longlong_as_double(0x7ff0000000000000ll);  // infinity
    state[2] = dangling_mass;
    state[3] = 0.0;
    state[4] = uniform_start;
  }
  STRIDE(i, num_contributions + 1) {
    const long long index = i < num_vertices && has_contribution_index ? contribution_index[i] : i;
    value_t value = 0;
    if (i < num_vertices)
      pagerank[i] = value = num_starts ? start[num_starts > 1 ? i : 0] : uniform_start;
    contributions[index] = i < num_vertices ? value * inverse_weights[i] : (value_t)0;
    contributions[num_contributions + 1 + index] = 0;
  }
}

// result[order[row]] = PageRank of each row after the iterations that state counts.
extern "C" __global__ void order_by_vertex(
    long long num_vertices, long long num_contributions, long long num_isolated, const int *order,
    const value_t *inverse_weights, const int *contribution_index, long long has_contribution_index,
    const double *state, const value_t *contributions, const value_t *pagerank, value_t *result) {
  const value_t *last = contributions + ((long long)state[0] & 1) * (num_contributions + 1);
  STRIDE(row, num_vertices) {
    const value_t inverse = inverse_weights[row];
    result[order[row]] =
        row >= num_vertices - num_isolated ? (value_t)state[4]
        : inverse == (value_t)0
            ? pagerank[row]
            : last[has_contribution_index ? contribution_index[row] : row] / inverse;
  }
}

__device__ __forceinline__ value_t load_weight(const bool *) { return 1; }

template <class T>
__device__ __forceinline__ value_t load_weight(const T *weight) {
  return __ldcs(weight);
}

// Most loads of an iteration wait for a contribution, so as many are in flight as registers allow.
// A neighbor is read once per iteration, with a streaming load that leaves the cache to
// contributions.
template <int COUNT>
__device__ __forceinline__ double gather_batch(const int *neighbors, const weight_t *weights,
                                               const value_t *contributions,
                                               const value_t *cached_contributions,
                                               int num_cached) {
  int neighbor[COUNT];
  value_t value[COUNT], weight[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++) neighbor[k] = __ldcs(neighbors + k * WARP);
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    value[k] =
        neighbor[k] < num_cached ? cached_contributions[neighbor[k]] : contributions[neighbor[k]];
    if (WEIGHTED) weight[k] = load_weight(weights + k * WARP);
  }
  double sum = 0.0;
#pragma unroll
  for (int k = 0; k < COUNT; k++)
    sum += WEIGHTED ? (double)weight[k] * (double)value[k] : (double)value[k];
  return sum;
}

// The sum over `count` contributions, WARP apart from each other in the list.
__device__ __forceinline__ double gather(const int *neighbors, const weight_t *weights, int count,
                                         const value_t *contributions,
                                         const value_t *cached_contributions, int num_cached) {
  double sum = 0.0;
  for (; count >= LOADS_IN_FLIGHT; count -= LOADS_IN_FLIGHT, neighbors += LOADS_IN_FLIGHT * WARP) {
    sum += gather_batch<LOADS_IN_FLIGHT>(neighbors, weights, contributions, cached_contributions,
                                         num_cached);
    if (WEIGHTED) weights += LOADS_IN_FLIGHT * WARP;
  }
#pragma unroll
  for (int step = LOADS_IN_FLIGHT / 2; step > 0; step /= 2) {
    if (!(count & step)) continue;
    sum +=
        step == 8
            ? gather_batch<8>(neighbors, weights, contributions, cached_contributions, num_cached)
        : step == 4
            ? gather_batch<4>(neighbors, weights, contributions, cached_contributions, num_cached)
        : step == 2
            ? gather_batch<2>(neighbors, weights, contributions, cached_contributions, num_cached)
            : gather_batch<1>(neighbors, weights, contributions, cached_contributions, num_cached);
    neighbors += step * WARP;
    if (WEIGHTED) weights += step * WARP;
  }
  return sum;
}

// Number of the `length` items of a list that this lane of a warp processes.
__device__ __forceinline__ int items_of_lane(int length, int lane) {
  return (length - lane + WARP - 1) / WARP;
}

// Up to `num_iterations` iterations in one cooperative launch. contributions holds two buffers of
// num_contributions + 1 values, the last of them 0; iteration i reads buffer i % 2.
// num_contributions exceeds num_vertices if the rows are a partition of a graph. partials holds two
// buffers of two values per block. arrived_blocks (one value) and arrived_chunks (one per long row)
// are 0 before the launch. The last num_isolated rows have no arc, so they have one common value,
// state[4], which is not stored per row; teleport and dangling_weights then have one value each.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    iterate(long long num_iterations, double tolerance, double damping, long long num_vertices,
            long long num_contributions, long long num_isolated, long long num_long_rows,
            long long num_whole_rows, long long num_narrow_slices, long long num_chunks,
            long long num_cached, const int *chunk_rows, const int *chunk_offsets,
            const long long *row_offsets, const long long *slice_offsets, const int *neighbors,
            const weight_t *weights, const int *contribution_index,
            long long has_contribution_index, const value_t *inverse_weights,
            const double *teleport, long long num_teleports, const double *dangling_weights,
            long long num_dangling_weights, value_t *contributions, value_t *pagerank,
            double *chunk_sums, int *arrived_chunks, double *partials,
            unsigned long long *arrived_blocks, double *state) {
  extern __shared__ __align__(8) unsigned char shared[];
  value_t *cached_contributions = (value_t *)shared;
  const bool has_teleports = num_teleports > 1, has_dangling_weights = num_dangling_weights > 1;
  const int lane = threadIdx.x % WARP, warps = gridDim.x * (blockDim.x / WARP);
  const int warp = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  const int rows = num_vertices - num_isolated, slices = (rows - num_whole_rows + WARP - 1) / WARP;
  const int after_chunks = num_narrow_slices + num_chunks,
            after_rows = after_chunks + num_whole_rows - num_long_rows;
  const int units =
      after_rows + (slices - num_narrow_slices + SLICES_PER_WARP - 1) / SLICES_PER_WARP;
  // Units of one kind descend in size, so warps take them in a snake order: 0 1 2 3 3 2 1 0 0 1 ...
  const auto first_round = [&](int start) { return start / warps * warps; };
  const auto unit_of = [&](int round) {
    return round + ((round / warps) & 1 ? warps - 1 - warp : warp);
  };
  double iterations_done = state[0], residual = state[1], dangling_mass = state[2],
         converged = state[3];
  double isolated_value = state[4];

  for (long long barrier = 1; barrier <= num_iterations && converged == 0.0; barrier++) {
    const int parity = (long long)iterations_done & 1;
    const value_t *old_contributions = contributions + parity * (num_contributions + 1ll);
    value_t *new_contributions = contributions + (1 - parity) * (num_contributions + 1ll);
    const double base = teleport[0] + dangling_mass * dangling_weights[0];
    for (int slot = threadIdx.x; slot < num_cached; slot += blockDim.x)
      cached_contributions[slot] = old_contributions[slot];
    __syncthreads();
    double my_residual = 0.0, my_dangling_mass = 0.0;

    // PageRank is stored of dangling vertices only; of others it is contribution / inverse weight.
    // The old value of a row is loaded before its list, so that the two latencies overlap.
    auto old_value = [&](int row, value_t inverse) {
      return inverse == (value_t)0
                 ? pagerank[row]
                 : old_contributions[has_contribution_index ? contribution_index[row] : row];
    };
    auto finish_row = [&](int row, double sum, value_t old, value_t inverse) {
      double new_value = damping * sum + base;
      if (has_teleports | has_dangling_weights)
        new_value = finish(sum, damping, teleport, has_teleports ? 2 : 1, dangling_mass,
                           dangling_weights, has_dangling_weights ? 2 : 1, row);
      if (inverse == (value_t)0) {
        my_residual += fabs(new_value - (double)old);
        my_dangling_mass += new_value;
        pagerank[row] = new_value;
      } else {
        const value_t contribution = new_value * (double)inverse;
        my_residual += fabs((double)contribution - (double)old) * (double)((value_t)1 / inverse);
        new_contributions[has_contribution_index ? contribution_index[row] : row] = contribution;
      }
    };

    for (int round = 0; round < num_narrow_slices; round += warps) {
      const int slice = unit_of(round);
      if (slice >= num_narrow_slices) continue;
      const long long start = slice_offsets[slice];
      const int width = (int)((slice_offsets[slice + 1] - start) / WARP);
      const int row = num_whole_rows + slice * WARP + lane, valid_row = min(row, rows - 1);
      const value_t inverse = inverse_weights[valid_row], old = old_value(valid_row, inverse);
      const double sum = gather(neighbors + start + lane, weights + start + lane, width,
                                old_contributions, cached_contributions, num_cached);
      if (row < rows) finish_row(row, sum, old, inverse);
    }

    for (int round = first_round(num_narrow_slices); round < after_chunks; round += warps) {
      const int unit = unit_of(round), chunk = unit - num_narrow_slices;
      if (unit < num_narrow_slices || unit >= after_chunks) continue;
      const int row = chunk_rows[chunk], first = chunk_offsets[row], last = chunk_offsets[row + 1];
      const long long start = row_offsets[row] + (chunk - first) * (long long)PAGERANK_CHUNK;
      const int length = (int)min((long long)PAGERANK_CHUNK, row_offsets[row + 1] - start);
      double sum = warp_sum(gather(neighbors + start + lane, weights + start + lane,
                                   items_of_lane(length, lane), old_contributions,
                                   cached_contributions, num_cached));
      // The last warp to arrive adds the chunks of the row, always in the same order.
      int before = 0;
      if (lane == 0) {
        chunk_sums[chunk] = sum;
        __threadfence();
        before = atomicAdd(&arrived_chunks[row], 1);
        __threadfence();
      }
      before = __shfl_sync(~0u, before, 0);
      if (before < last - first - 1) continue;
      sum = 0.0;
      for (int chunk_index = first + lane; chunk_index < last; chunk_index += WARP)
        sum += __ldcg(chunk_sums + chunk_index);
      sum = warp_sum(sum);
      if (lane == 0) {
        arrived_chunks[row] = 0;
        finish_row(row, sum, old_value(row, inverse_weights[row]), inverse_weights[row]);
      }
    }

    for (int round = first_round(after_chunks); round < after_rows; round += warps) {
      const int unit = unit_of(round), row = unit - after_chunks + num_long_rows;
      if (unit < after_chunks || unit >= after_rows) continue;
      const long long start = row_offsets[row];
      const int length = (int)(row_offsets[row + 1] - start);
      const value_t inverse = inverse_weights[row], old = old_value(row, inverse);
      const double sum = warp_sum(gather(neighbors + start + lane, weights + start + lane,
                                         items_of_lane(length, lane), old_contributions,
                                         cached_contributions, num_cached));
      if (lane == 0) finish_row(row, sum, old, inverse);
    }

    // Short lists have too few loads to hide latency, so a warp processes several slices at once.
    for (int round = first_round(after_rows); round < units; round += warps) {
      const int unit = unit_of(round),
                first = num_narrow_slices + (unit - after_rows) * SLICES_PER_WARP;
      if (unit < after_rows || unit >= units) continue;
      long long start[SLICES_PER_WARP];
      int width[SLICES_PER_WARP];
      value_t old[SLICES_PER_WARP], inverse[SLICES_PER_WARP];
      double sum[SLICES_PER_WARP];
#pragma unroll
      for (int j = 0; j < SLICES_PER_WARP; j++) {
        const int slice = min(first + j, slices - 1);
        const int row = min((int)num_whole_rows + slice * WARP + lane, rows - 1);
        start[j] = slice_offsets[slice] + lane;
        width[j] =
            first + j < slices ? (int)((slice_offsets[slice + 1] - start[j] + lane) / WARP) : 0;
        inverse[j] = inverse_weights[row];
        old[j] = old_value(row, inverse[j]);
        sum[j] = 0.0;
      }
      int max_width = width[0];
#pragma unroll
      for (int j = 1; j < SLICES_PER_WARP; j++) max_width = max(max_width, width[j]);
      for (int k = 0; k < max_width; k += 2) {
        int neighbor[2 * SLICES_PER_WARP];
        value_t value[2 * SLICES_PER_WARP], weight[2 * SLICES_PER_WARP];
#pragma unroll
        for (int j = 0; j < 2 * SLICES_PER_WARP; j++)
          neighbor[j] = k + j % 2 < width[j / 2]
                            ? __ldcs(neighbors + start[j / 2] + (k + j % 2) * WARP)
                            : num_contributions;
#pragma unroll
        for (int j = 0; j < 2 * SLICES_PER_WARP; j++) {
          value[j] = neighbor[j] == num_contributions ? (value_t)0
                     : neighbor[j] < num_cached       ? cached_contributions[neighbor[j]]
                                                      : old_contributions[neighbor[j]];
          if (WEIGHTED)
            weight[j] = neighbor[j] == num_contributions
                            ? (value_t)0
                            : load_weight(weights + start[j / 2] + (k + j % 2) * WARP);
        }
#pragma unroll
        for (int j = 0; j < 2 * SLICES_PER_WARP; j++)
          sum[j / 2] += WEIGHTED ? (double)weight[j] * (double)value[j] : (double)value[j];
      }
#pragma unroll
      for (int j = 0; j < SLICES_PER_WARP; j++) {
        const int row = num_whole_rows + (first + j) * WARP + lane;
        if (row < rows) finish_row(row, sum[j], old[j], inverse[j]);
      }
    }

    double *sums = partials + parity * 2 * gridDim.x;
    my_residual = block_sum(my_residual);
    my_dangling_mass = block_sum(my_dangling_mass);
    if (threadIdx.x == 0) {
      sums[2 * blockIdx.x] = my_residual;
      sums[2 * blockIdx.x + 1] = my_dangling_mass;
    }
    grid_barrier(arrived_blocks, barrier);
    residual = dangling_mass = 0.0;
    for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
      residual += __ldcg(sums + 2 * block);
      dangling_mass += __ldcg(sums + 2 * block + 1);
    }
    residual = block_sum(residual) + num_isolated * fabs(base - isolated_value);
    dangling_mass = block_sum(dangling_mass) + num_isolated * base;
    isolated_value = base;
    iterations_done += 1.0;
    converged = residual < tolerance;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[0] = iterations_done;
    state[1] = residual;
    state[2] = dangling_mass;
    state[3] = converged;
    state[4] = isolated_value;
  }
}

// Up to `num_iterations` iterations in one block, for a graph without weights of at most
// PAGERANK_MAX_SHARED_VERTICES vertices, all of which have one start, teleport and dangling_weight.
// out_degrees of a dangling vertex is 0. All values but the result are in double. Dynamic shared
// memory has two doubles, an int and a short per vertex, a short per arc, and the last offset.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    iterate_in_block(long long num_iterations, double tolerance, double damping,
                     long long num_vertices, double start, double teleport, double dangling_weight,
                     const long long *offsets, const int *neighbors, const double *out_degrees,
                     value_t *result, double *state) {
  constexpr int PER_THREAD = PAGERANK_MAX_SHARED_VERTICES / COOPERATIVE_THREADS;
  static_assert(PER_THREAD * COOPERATIVE_THREADS == PAGERANK_MAX_SHARED_VERTICES, "");
  static_assert(PAGERANK_MAX_SHARED_VERTICES <= 1 << 16, "");  // vertices are unsigned shorts
  extern __shared__ __align__(8) unsigned char shared[];
  __shared__ int num_long_rows;
  const int thread = threadIdx.x, threads = blockDim.x, lane = thread % WARP;
  const int num_rows = (int)num_vertices, num_arcs = (int)offsets[num_rows];
  double *contributions = (double *)shared, *sums = contributions + num_rows;
  int *starts = (int *)(sums + num_rows);
  unsigned short *long_rows = (unsigned short *)(starts + num_rows + 1),
                 *sources = long_rows + num_rows;
  double pagerank[PER_THREAD], inverse[PER_THREAD];  // of every `threads`-th vertex
  double iterations = 0.0, dangling_mass = 0.0;
  double residual = __longlong_as_double(0x7ff0000000000000ll);  // infinity
  if (thread == 0) {
    num_long_rows = 0;
    starts[num_rows] = num_arcs;
  }
  for (int arc = thread; arc < num_arcs; arc += threads) sources[arc] = neighbors[arc];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < PER_THREAD; k++) {
    const int row = thread + k * threads;
    if (row >= num_rows) continue;
    const double out_degree = out_degrees[row];
    pagerank[k] = start;
    inverse[k] = out_degree > 0.0 ? 1.0 / out_degree : 0.0;
    contributions[row] = start * inverse[k];
    if (out_degree == 0.0) dangling_mass += start;
    starts[row] = (int)offsets[row];
    if (offsets[row + 1] - offsets[row] >= MIN_WARP_LIST)
      long_rows[atomicAdd(&num_long_rows, 1)] = row;
  }
  dangling_mass = block_sum(dangling_mass);

  while (iterations < num_iterations && residual >= tolerance) {
    const double base = teleport + dangling_mass * dangling_weight;
    for (int first = 0; first < num_rows; first += threads / ROW_LANES) {
      const int row = first + thread / ROW_LANES;
      const int begin = row < num_rows ? starts[row] : 0,
                end = row < num_rows ? starts[row + 1] : 0;
      const bool is_short = end - begin < MIN_WARP_LIST;
      double sum = 0.0;
      if (is_short)
        for (int arc = begin + lane % ROW_LANES; arc < end; arc += ROW_LANES)
          sum += contributions[sources[arc]];
      __syncwarp();
      for (int step = ROW_LANES / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(FULL_MASK, sum, step);
      if (row < num_rows && is_short && lane % ROW_LANES == 0) sums[row] = sum;
    }
    for (int k = thread / WARP; k < num_long_rows; k += threads / WARP) {
      const int row = long_rows[k];
      double sum = 0.0;
      for (int arc = starts[row] + lane; arc < starts[row + 1]; arc += WARP)
        sum += contributions[sources[arc]];
      __syncwarp();
      sum = warp_sum(sum);
      if (lane == 0) sums[row] = sum;
    }
    __syncthreads();
    double my_residual = 0.0, my_dangling_mass = 0.0;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
      const int row = thread + k * threads;
      if (row >= num_rows) continue;
      const double value = damping * sums[row] + base;
      my_residual += fabs(value - pagerank[k]);
      if (inverse[k] == 0.0) my_dangling_mass += value;
      pagerank[k] = value;
      contributions[row] = value * inverse[k];
    }
    residual = block_sum(my_residual);
    dangling_mass = block_sum(my_dangling_mass);
    iterations += 1.0;
  }
#pragma unroll
  for (int k = 0; k < PER_THREAD; k++) {
    const int row = thread + k * threads;
    if (row < num_rows) result[row] = pagerank[k];
  }
  if (thread == 0) {
    state[0] = iterations;
    state[1] = residual;
    state[2] = dangling_mass;
    state[3] = residual < tolerance;
  }
}
