// Core numbers by peeling.
//
// The k-core of a graph is its largest subgraph in which every vertex has k neighbors or more, and
// the core number of a vertex is the largest k of a k-core that contains it. Level k removes the
// vertices with k remaining neighbors, until all that remain have more; their core number is k. A
// level is a sequence of rounds: each removes the vertices whose degree the last one lowered to k.
//
// Adjacency lists (offsets, neighbors) have both directions of every edge, without self-loops and
// parallel edges. The caller sets cores to the degrees, which become the core numbers.
//
// A level also drops the removed vertices from the list of those that remain. A vertex is in the
// list at one level more than its core number, and the core numbers sum up to at most the number of
// arcs, so all levels together read the list in time linear in the size of the graph.
//
// Entries: peel, remove_vertices, lower_bounds.
//
// References: V. Batagelj, M. Zaversnik, "An O(m) algorithm for cores decomposition of networks",
// 2003, https://arxiv.org/abs/cs/0310049. N. S. Dasari, D. Ranjan, M. Zubair, "ParK: an efficient
// algorithm for k-core decomposition on multi-core processors", IEEE Big Data 2014,
// https://doi.org/10.1109/BigData.2014.7004366 (levels of rounds). H. Kabir, K. Madduri, "Parallel
// k-core decomposition on multicore platforms", IPDPSW 2017,
// https://doi.org/10.1109/IPDPSW.2017.151 (dropping removed vertices). A. Montresor, F. De
// Pellegrini, D. Miorandi, "Distributed k-core decomposition", IEEE Trans. Parallel Distrib. Syst.
// 24(2), 2013, https://doi.org/10.1109/TPDS.2012.124 (lowering bounds).

#include "frontier.cuh"

// The vertices that remain after a selection, and NO_VERTEX minus their least degree. They are
// triple-buffered like the counters of rounds.
struct Selection {
  u64 num_remaining, slack;
};

__device__ __forceinline__ Selection *selection_of(long long *counters, long long number) {
  return (Selection *)(counters + CORE_SELECTIONS + 2 * (number % 3));
}

// Lower the degrees of neighbors that are above `level`; is_new is whether they reach it.
__device__ __forceinline__ void lower_degrees(const bool *is_valid, const int *neighbor, int level,
                                              int *cores, bool *is_new) {
  int degree[BATCH];
#pragma unroll
  for (int k = 0; k < BATCH; k++) degree[k] = is_valid[k] ? __ldcg(cores + neighbor[k]) : level;
#pragma unroll
  for (int k = 0; k < BATCH; k++) {
    is_new[k] = false;
    if (degree[k] <= level) continue;
    const int before = atomicSub(cores + neighbor[k], 1);
    is_new[k] = before == level + 1;
    // Another thread has lowered it to the level in the meantime.
    if (before <= level) atomicAdd(cores + neighbor[k], 1);
  }
}

// Compute all core numbers. remaining and queues have room for all vertices twice; they, chunks and
// counters are work space. The caller sets counters and arrived_blocks to 0.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    peel(long long num_vertices, long long num_arcs, const long long *offsets, const int *neighbors,
         int *cores, int *remaining, int *queues, long long *chunks, long long *counters,
         unsigned long long *arrived_blocks) {
  __shared__ int buffers[2][COOPERATIVE_THREADS / WARP][APPEND_CAPACITY];
  const int lane = lane_id(), warp = threadIdx.x / WARP;
  const long long max_chunks = num_arcs / FRONTIER_CHUNK * 2 + 4;
  long long round = 0, selection = 0, barriers = 0, num_remaining = num_vertices;
  int level = 0;

  auto begin_round = [&]() {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      *counters_of(counters, round + 2) = Counters{0, 0, 0, 0};
    Counters *next_counters = counters_of(counters, round + 1);
    const long long parity = (round + 1) & 1;
    return Next{{buffers[0][warp], 0, queues + parity * num_vertices, &next_counters->num_queued},
                next_counters,
                chunks + parity * max_chunks,
                offsets,
                0};
  };
  auto end_round = [&]() {
    grid_barrier(arrived_blocks, ++barriers);
    round++;
  };

  while (num_remaining > 0) {
    // Split the remaining vertices into those of this level and the others.
    Next next = begin_round();
    if (blockIdx.x == 0 && threadIdx.x == 0)
      *selection_of(counters, selection + 2) = Selection{0, 0};
    Selection *result = selection_of(counters, selection + 1);
    const int *vertices = remaining + (selection & 1) * num_vertices;
    Appender others{buffers[1][warp], 0, remaining + ((selection + 1) & 1) * num_vertices,
                    &result->num_remaining};
    int slack = 0;
    for (long long first = warp_id() * WARP; first < num_remaining; first += warp_count() * WARP) {
      const long long index = first + lane;
      const bool is_valid = index < num_remaining;
      const int vertex[1] = {!is_valid ? 0 : selection ? vertices[index] : (int)index};
      const int degree = is_valid ? __ldcg(cores + vertex[0]) : -1;
      const bool is_in_level[1] = {degree == level};
      next.take<1>(is_in_level, vertex);
      others.append(degree > level, vertex[0]);
      if (degree > level) slack = max(slack, NO_VERTEX - degree);
    }
    others.flush(others.count);
    for (int step = WARP / 2; step > 0; step /= 2)
      slack = max(slack, __shfl_xor_sync(FULL_MASK, slack, step));
    if (lane == 0 && slack) atomicMax(&result->slack, (u64)slack);
    next.finish();
    end_round();
    num_remaining = __ldcg(&result->num_remaining);
    const int least = NO_VERTEX - (int)__ldcg(&result->slack);
    selection++;

    bool is_empty = true;
    while (true) {
      const Counters *round_counters = counters_of(counters, round);
      const long long num_queued = __ldcg(&round_counters->num_queued),
                      num_chunks = __ldcg(&round_counters->num_chunks);
      if (num_queued + num_chunks == 0) break;
      is_empty = false;
      const int *queue = queues + (round & 1) * num_vertices;
      const long long *long_lists = chunks + (round & 1) * max_chunks;
      next = begin_round();
      expand(queue, num_queued, long_lists, num_chunks, offsets,
             [&](const bool *is_valid, const long long *arc, const int *) {
               int neighbor[BATCH];
               bool is_new[BATCH];
#pragma unroll
               for (int k = 0; k < BATCH; k++) neighbor[k] = is_valid[k] ? neighbors[arc[k]] : 0;
               lower_degrees(is_valid, neighbor, level, cores, is_new);
               next.take<BATCH>(is_new, neighbor);
             });
      next.finish();
      end_round();
    }
    // Without a removal no degree has changed, so the least one is that of the next level.
    level = is_empty ? least : level + 1;
  }
}

// One round of a level for a partition of a graph: lower the degrees of the neighbors of removed
// vertices, and append those that reach the level to queue. Lists are by removed vertex, and have
// the neighbors in the partition; cores are of all vertices. *num_queued is 0 before.
extern "C" __global__ void remove_vertices(long long num_removed, const int *removed,
                                           long long level, const long long *offsets,
                                           const int *neighbors, int *cores, int *queue,
                                           unsigned long long *num_queued) {
  __shared__ int buffers[BLOCK_THREADS / WARP][APPEND_CAPACITY];
  Appender next{buffers[threadIdx.x / WARP], 0, queue, num_queued};
  expand(removed, num_removed, (const long long *)0, 0, offsets,
         [&](const bool *is_valid, const long long *arc, const int *) {
           int neighbor[BATCH];
           bool is_new[BATCH];
#pragma unroll
           for (int k = 0; k < BATCH; k++) neighbor[k] = is_valid[k] ? neighbors[arc[k]] : 0;
           lower_degrees(is_valid, neighbor, (int)level, cores, is_new);
#pragma unroll
           for (int k = 0; k < BATCH; k++) next.append(is_new[k], neighbor[k]);
         });
  next.flush(next.count);
}

// Lower the bounds of rows whose lists are in memory: a bound k becomes the largest number h up
// to k of neighbors with bounds of h or more. Bounds that no row lowers are the core numbers. Rows
// whose neighbors have changed become active. The caller has made `rows` inactive; a GPU processes
// each once, and a CPU also those that is_loaded marks and that become active.
extern "C" __global__ void lower_bounds(long long num_rows, const int *rows, const bool *is_loaded,
                                        const long long *offsets, const int *neighbors, int *cores,
                                        bool *is_active) {
  const int lane = lane_id();
  for (long long item = warp_id(); item < num_rows; item += warp_count()) {
    const int row = rows[item], bound = cores[row];
    const long long start = offsets[row], stop = offsets[row + 1];
    int low = 0, high = (int)min((long long)bound, stop - start);
    while (low < high) {
      const int middle = low + (high - low + 1) / 2;
      long long count = 0;
      for (long long arc = start + lane; arc < stop; arc += WARP)
        count += __ldcg(cores + neighbors[arc]) >= middle;
      if (warp_sum(count) >= middle)
        low = middle;
      else
        high = middle - 1;
    }
    if (low == bound) continue;
    if (lane == 0) *(volatile int *)(cores + row) = low;
    // A neighbor that another warp lowers meanwhile either sees this bound or becomes active.
    __threadfence();
    __syncwarp();
    for (long long arc = start + lane; arc < stop; arc += WARP)
      if (__ldcg(cores + neighbors[arc]) > low) is_active[neighbors[arc]] = true;
  }
}
