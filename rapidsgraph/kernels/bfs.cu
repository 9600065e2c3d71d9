// Breadth-first search.
//
// distances[v] becomes the number of arcs of a shortest path from a source to v, and
// predecessors[v] the smallest vertex before v on such a path, in one cooperative launch: blocks
// synchronize by a barrier between levels, and no level needs the host.
//
// Adjacency lists are by source (offsets, neighbors) and, for the bottom-up direction, by
// destination (in_*); both are ascending. The caller sets counters and arrived_blocks to 0; an
// unreached vertex has the distance -1 and the predecessor NO_VERTEX. If there are targets, the
// search ends with the level in which the last of them is reached. Sources of -1 are ignored.
//
// Entries: search, expand_bottom_up. Frontiers in the shared memory of a few blocks are not from
// the papers below.
//
// References: H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
// algorithms on GPU", Int. J. Parallel Program. 47, 2019.
// https://doi.org/10.1007/s10766-017-0533-y (no host round trip per level). S. Beamer, K. Asanovic,
// D. Patterson, "Direction-optimizing breadth-first search", SC 2012.
// https://doi.org/10.1109/SC.2012.50 (bottom-up direction).

#include "frontier.cuh"

#define MAX_BLOCK_FRONTIER 256   // vertices of a frontier that one block expands
#define TEAM_BLOCKS 32           // blocks that expand a larger frontier together, the team
#define MIN_TEAM_FRONTIER 128    // vertices of the frontier of a team, at least
#define MAX_TEAM_FRONTIER 16384  // and at most
#define MAX_TEAM_ARCS 65536      // arcs of the first frontier of a team, at most
#define MIN_IMBALANCE 64         // vertices of one block from which a team checks its balance

// How a team ends: with an empty frontier, at the depth limit or with all targets reached (DONE),
// or with a frontier in the queue of the next round (QUEUED), from which vertices are missing if
// shared memory was exceeded.
enum Ending { DONE, QUEUED };

// Whether there are targets, and all have distances up to `level`. All blocks agree: those ahead of
// others only write larger distances. All threads of a block call it.
__device__ __forceinline__ bool are_reached(long long num_targets, const int *targets,
                                            const int *distances, long long level) {
  if (num_targets == 0) return false;
  bool is_unreached = false;
  for (long long index = threadIdx.x; index < num_targets; index += blockDim.x) {
    const int distance = __ldcg(distances + targets[index]);
    is_unreached |= distance < 0 || distance > level;
  }
  return !__syncthreads_or(is_unreached);
}

// Barrier of the blocks of a team, which also sums their numbers of new vertices and tells whether
// a block wants to leave the team. A word has, from its lowest bit on, sums since the launch:
// vertices (31 bits), arrivals (27), exits (6). The words are triple-buffered, so that no block
// adds to a word that another one still reads. Other data of several blocks is accessed by atomics
// only, so no fence is needed.
struct TeamBarrier {
  u64 *words;
  long long count, must_exit;
  int team;
  u64 *last_words;  // in shared memory: the last values of the words, and the results

  __device__ __forceinline__ int wait(int num_new, bool wants_exit) {
    if (threadIdx.x == 0) {
      const int index = (int)(count % 3);
      const u64 arrivals = (u64)(count / 3 + 1) * team & 0x7ffffff, before = last_words[index];
      volatile u64 *word = words + index;
      atomicAdd(words + index, (u64)num_new | 1ull << 31 | (wants_exit ? 1ull << 58 : 0));
      u64 now;
      do now = *word;
      while ((now >> 31 & 0x7ffffff) != arrivals);
      last_words[index] = now;
      last_words[3] = (now - before) & 0x7fffffff;
      last_words[4] = now >> 58 != before >> 58;
    }
    __syncthreads();
    count++;
    must_exit = last_words[4];
    return (int)last_words[3];
  }
};

// Expand levels while a team of blocks can keep the frontier in shared memory: each block expands
// the vertices that it reached first, without a queue in global memory; a team of one block needs
// no barrier. report becomes {level, ending, arcs of new vertices, total levels, round in which
// vertices did not fit}.
__device__ __forceinline__ void expand_locally(
    int team, const int *queue, int num_queued, long long level, long long depth_limit,
    bool with_predecessors, long long num_targets, const int *targets, const long long *offsets,
    const int *neighbors, int *distances, int *predecessors, Next &next_frontier, long long round,
    long long *report, TeamBarrier &barrier) {
  extern __shared__ __align__(8) unsigned char shared[];
  __shared__ int lengths[3], exit_flags[3];  // of a level, triple-buffered
  u64 *lists = (u64 *)shared;                // start << 16 | degree, two frontiers
  int *vertices = (int *)(lists + 2 * SHARED_FRONTIER);
  const int lane = lane_id();
  const int num_local = ((int)num_queued - (int)blockIdx.x + team - 1) / team;
  if (threadIdx.x < 3) {
    lengths[threadIdx.x] = threadIdx.x ? 0 : num_local;
    exit_flags[threadIdx.x] = 0;
  }
  for (int index = threadIdx.x; index < num_local; index += blockDim.x) {
    const int vertex = queue[index * team + blockIdx.x];
    const long long start = offsets[vertex];
    lists[index] = ((u64)start << 16) | (u64)(offsets[vertex + 1] - start);
    vertices[index] = vertex;
  }
  long long arcs = 0;
  int num_levels = 0, count = num_local, total = num_queued, ending = DONE;
  __syncthreads();
  while (total > 0 && level < depth_limit) {
    const int current = (num_levels & 1) * SHARED_FRONTIER, next = SHARED_FRONTIER - current;
    int *length = &lengths[(num_levels + 1) % 3], *must_exit = &exit_flags[(num_levels + 1) % 3];
    const int next_level = (int)level + 1;
    if (threadIdx.x == 0) lengths[(num_levels + 2) % 3] = exit_flags[(num_levels + 2) % 3] = 0;

    // BATCH arcs per lane; vertices reached for the first time go to the next frontier.
    auto visit = [&](const bool *is_valid, const long long *arc, const int *owner) {
      int neighbor[BATCH], old_distance[BATCH], degree[BATCH];
      long long start[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) neighbor[k] = is_valid[k] ? neighbors[arc[k]] : -1;
#pragma unroll
      for (int k = 0; k < BATCH; k++)
        old_distance[k] = is_valid[k] ? atomicCAS(&distances[neighbor[k]], -1, next_level) : 0;
// Only new vertices need these, but they are loaded before it is known which are new.
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        start[k] = is_valid[k] ? offsets[neighbor[k]] : 0;
        degree[k] =
            is_valid[k] ? (int)min(offsets[neighbor[k] + 1] - start[k], (long long)NO_VERTEX) : 0;
      }
      unsigned is_new[BATCH];
      int num_new = 0;
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (with_predecessors && is_valid[k] &&
            (old_distance[k] == -1 || old_distance[k] == next_level))
          atomicMin(&predecessors[neighbor[k]], owner[k]);
        is_new[k] = __ballot_sync(FULL_MASK, is_valid[k] && old_distance[k] == -1 && degree[k] > 0);
        num_new += __popc(is_new[k]);
      }
      if (!num_new) return;
      int base = lane ? 0 : atomicAdd(length, num_new);
      base = __shfl_sync(FULL_MASK, base, 0);
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (is_new[k] >> lane & 1) {
          const int index = base + __popc(is_new[k] & ((1u << lane) - 1));
          arcs += degree[k];
          if (index < SHARED_FRONTIER) {
            lists[next + index] = ((u64)start[k] << 16) | (u64)min(degree[k], 65535);
            vertices[next + index] = neighbor[k];
          } else {
            report[4] = round;
          }
          if (index >= SHARED_FRONTIER || degree[k] > FRONTIER_CHUNK) *must_exit = 1;
        }
        base += __popc(is_new[k]);
      }
    };

    const int warps = blockDim.x / WARP;
    const int vertices_per_warp = min(WARP, (count + warps - 1) / warps);
    for (int first = threadIdx.x / WARP * vertices_per_warp; first < count;
         first += warps * vertices_per_warp) {
      bool is_valid[BATCH];
      long long arc[BATCH];
      int owner[BATCH];
      const int index = first + lane;
      const bool has_vertex = lane < vertices_per_warp && index < count;
      const long long start = has_vertex ? (long long)(lists[current + index] >> 16) : 0;
      const int degree = has_vertex ? (int)(lists[current + index] & 0xffff) : 0;
      const int vertex = has_vertex ? vertices[current + index] : 0;
      for (unsigned remaining = __ballot_sync(FULL_MASK, degree > 2 * BATCH); remaining;
           remaining &= remaining - 1) {
        const int source_lane = __ffs(remaining) - 1;
        const long long base = __shfl_sync(FULL_MASK, start, source_lane);
        const int size = __shfl_sync(FULL_MASK, degree, source_lane),
                  list_owner = __shfl_sync(FULL_MASK, vertex, source_lane);
        for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
          for (int k = 0; k < BATCH; k++) {
            is_valid[k] = done + k * WARP + lane < size;
            arc[k] = base + done + k * WARP + lane;
            owner[k] = list_owner;
          }
          visit(is_valid, arc, owner);
        }
      }
      const int short_degree = degree > 2 * BATCH ? 0 : degree;
      for (int done = 0; __any_sync(FULL_MASK, done < short_degree); done += BATCH) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          is_valid[k] = done + k < short_degree;
          arc[k] = start + done + k;
          owner[k] = vertex;
        }
        visit(is_valid, arc, owner);
      }
    }
    __syncthreads();
    count = *length;
    num_levels++;
    level++;
    bool must_stop;
    if (team == 1) {
      total = count;
      must_stop = *must_exit || total > MAX_BLOCK_FRONTIER;
    } else {
      const bool is_imbalanced = count > MIN_IMBALANCE && count > 4 * (total / team);
      total = barrier.wait(count, *must_exit || is_imbalanced);
      must_stop = barrier.must_exit || total < MIN_TEAM_FRONTIER || total > MAX_TEAM_FRONTIER;
    }
    if (must_stop && total > 0) {
      ending = QUEUED;
      break;
    }
    if (are_reached(num_targets, targets, distances, level)) break;
  }

  if (ending == QUEUED) {
    count = min(count, SHARED_FRONTIER);
    for (int first = threadIdx.x - lane; first < count; first += blockDim.x) {
      const bool is_valid[1] = {first + lane < count};
      const int index = (num_levels & 1) * SHARED_FRONTIER + first + lane;
      const int candidate[1] = {is_valid[0] ? vertices[index] : 0};
      next_frontier.take<1>(is_valid, candidate);
    }
    next_frontier.finish();
  }
  arcs = warp_sum(arcs);
  if (lane == 0 && arcs) atomicAdd((u64 *)report + 2, (u64)arcs);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    report[0] = level;
    report[1] = ending;
    report[3] += num_levels;
  }
}

// Breadth-first search from `source`, or -1 for none, and from distinct `sources`, which do not
// contain it and take two more grid barriers. Reads the adjacency lists, and in_* if bottom_up;
// writes distances and, if with_predecessors, predecessors; queues, chunks, frontier_bits and
// counters are work space. with_masks: bit v % 32 of word v / 32 of reached_mask and, if
// with_predecessors, predecessor_mask tells whether v is reached and has a predecessor. state
// becomes {rounds, vertices reached if with_masks}; it is 0 before.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    search(long long num_vertices, long long num_arcs, long long depth_limit, long long bottom_up,
           long long with_predecessors, long long source, long long num_sources, const int *sources,
           long long num_targets, const int *targets, const long long *offsets,
           const int *neighbors, const long long *in_offsets, const int *in_neighbors,
           int *distances, int *predecessors, int *queues, long long *chunks,
           unsigned int *frontier_bits, long long *counters, unsigned long long *arrived_blocks,
           long long with_masks, unsigned int *reached_mask, unsigned int *predecessor_mask,
           long long *state) {
  __shared__ int buffers[COOPERATIVE_THREADS / WARP][APPEND_CAPACITY];
  const int lane = lane_id();
  const long long words = (num_vertices + WARP - 1) / WARP,
                  max_chunks = num_arcs / FRONTIER_CHUNK * 2 + 4;
  long long *report = counters + 16;
  long long round = 0, level = 0, barriers = 0, unexplored = num_arcs, local_arcs_before = 0;
  bool may_pull = bottom_up;
  bool must_collect = false;  // vertices are missing in the queue of the frontier
  bool was_local = false;     // the last levels were expanded by expand_locally
  unsigned int *current_bits = frontier_bits, *next_bits = frontier_bits + words,
               *spare_bits = frontier_bits + 2 * words;
  __shared__ u64 last_words[5];
  if (threadIdx.x < 5) last_words[threadIdx.x] = 0;
  TeamBarrier barrier{(u64 *)counters + 21, 0, 0, min(TEAM_BLOCKS, (int)gridDim.x), last_words};

  auto begin_round = [&]() {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      *counters_of(counters, round + 2) = Counters{0, 0, 0, 0};
    Counters *next_counters = counters_of(counters, round + 1);
    const long long parity = (round + 1) & 1;
    return Next{{buffers[threadIdx.x / WARP], 0, queues + parity * num_vertices,
                 &next_counters->num_queued},
                next_counters,
                chunks + parity * max_chunks,
                offsets,
                0};
  };
  auto end_round = [&]() {
    grid_barrier(arrived_blocks, ++barriers);
    round++;
  };

  STRIDE(vertex, num_vertices) {
    distances[vertex] = vertex == source ? 0 : -1;
    if (with_predecessors) predecessors[vertex] = NO_VERTEX;
  }
  if (num_sources) {
    grid_barrier(arrived_blocks, ++barriers);
    STRIDE(index, num_sources) if (sources[index] >= 0) distances[sources[index]] = 0;
    grid_barrier(arrived_blocks, ++barriers);
  }
  {
    Next next = begin_round();
    next.take_all(sources, num_sources, (int)source);
    end_round();
  }

  while (level < depth_limit && !are_reached(num_targets, targets, distances, level)) {
    if (must_collect) {  // the queue of the frontier from the distances
      must_collect = false;
      Next next = begin_round();
      for (long long word = warp_id(); word < words; word += warp_count()) {
        const long long vertex = word * WARP + lane;
        const bool is_valid[1] = {vertex < num_vertices && __ldcg(distances + vertex) == level};
        const int candidate[1] = {(int)vertex};
        next.take<1>(is_valid, candidate);
      }
      next.finish();
      end_round();
    }
    const Counters *round_counters = counters_of(counters, round);
    const long long num_queued = __ldcg(&round_counters->num_queued),
                    num_chunks = __ldcg(&round_counters->num_chunks);
    const long long frontier_arcs = __ldcg(&round_counters->num_arcs);
    if (was_local) unexplored += frontier_arcs;
    was_local = false;
    const int *queue = queues + (round & 1) * num_vertices;
    const long long *long_lists = chunks + (round & 1) * max_chunks;
    if (num_queued + num_chunks == 0) break;

    if (may_pull && frontier_arcs > unexplored / BFS_ALPHA && frontier_arcs > num_vertices / 64) {
      for (long long word = warp_id(); word < words; word += warp_count()) {
        const long long vertex = word * WARP + lane;
        const bool is_valid = vertex < num_vertices && __ldcg(distances + vertex) == level;
        const unsigned mask = __ballot_sync(FULL_MASK, is_valid);
        if (lane == 0) current_bits[word] = mask;
      }
      grid_barrier(arrived_blocks, ++barriers);
      long long num_new = num_queued, num_unreached = -1, before;
      do {
        // The first level visits all vertices and lists those that it does not reach, and so on.
        const bool is_first = num_unreached < 0;
        const int *unreached = queues + (round & 1) * num_vertices;
        const long long num_items = is_first ? num_vertices : num_unreached;
        Next next = begin_round();
        long long new_vertices = 0, new_arcs = 0;
        // Each iteration loads what the next one needs.
        int next_vertex = 0, next_distance = 0;
        long long next_start = 0, next_stop = 0;
        auto load = [&](long long item) {
          next_distance = 0;
          if (item >= num_items) return;
          next_vertex = is_first ? (int)item : unreached[item];
          next_distance = is_first ? __ldcg(distances + next_vertex) : -1;
          next_start = in_offsets[next_vertex];
          next_stop = in_offsets[next_vertex + 1];
        };
        if (!is_first) STRIDE(word, words) spare_bits[word] = 0;
        load(warp_id() * WARP + lane);
        for (long long first = warp_id() * WARP; first < num_items; first += warp_count() * WARP) {
          // Reach the vertex from the current frontier, if it has a neighbor there; or list it.
          const int vertex = next_vertex;
          const bool is_unreached = next_distance == -1;
          const long long start = is_unreached ? next_start : 0,
                          stop = is_unreached ? next_stop : 0;
          load(first + warp_count() * WARP + lane);
          const unsigned int *bits = current_bits;
          const long long arc = first_arc(start, stop, 0, [=](long long position, int) {
            const int neighbor = in_neighbors[position];
            return (bits[neighbor / WARP] >> (neighbor % WARP) & 1) != 0;
          });
          if (arc >= 0) {
            distances[vertex] = (int)level + 1;
            if (with_predecessors) predecessors[vertex] = in_neighbors[arc];
            new_vertices++;
            new_arcs += offsets[vertex + 1] - offsets[vertex];
            if (!is_first) atomicOr(next_bits + vertex / WARP, 1u << (vertex % WARP));
          }
          next.queue.append(arc < 0 && start < stop, vertex);
          if (!is_first) continue;
          const unsigned mask = __ballot_sync(FULL_MASK, arc >= 0);
          if (lane == 0) {
            next_bits[first / WARP] = mask;
            spare_bits[first / WARP] = 0;
          }
        }
        next.queue.flush(next.queue.count);
        new_vertices = warp_sum(new_vertices);
        new_arcs = warp_sum(new_arcs);
        if (lane == 0 && new_vertices) {
          atomicAdd(&next.counters->num_found, (u64)new_vertices);
          atomicAdd(&next.counters->num_arcs, (u64)new_arcs);
        }
        end_round();
        level++;
        unsigned int *previous_bits = current_bits;
        current_bits = next_bits;
        next_bits = spare_bits;
        spare_bits = previous_bits;
        before = num_new;
        num_new = __ldcg(&counters_of(counters, round)->num_found);
        num_unreached = __ldcg(&counters_of(counters, round)->num_queued);
        unexplored -= __ldcg(&counters_of(counters, round)->num_arcs);
      } while (num_new > 0 && level < depth_limit &&
               !(num_new < before && num_new < num_vertices / BFS_BETA) &&
               !are_reached(num_targets, targets, distances, level));
      // Few vertices are left, so the size of the frontier no longer predicts the work.
      may_pull = false;
      must_collect = true;
      continue;
    }

    if (num_chunks == 0 && num_queued <= MAX_TEAM_FRONTIER / 2 && frontier_arcs <= MAX_TEAM_ARCS) {
      const int team = num_queued <= MAX_BLOCK_FRONTIER ? 1 : barrier.team;
      Next next = begin_round();
      if (blockIdx.x < team)
        expand_locally(team, queue, (int)num_queued, level, depth_limit,
                       with_predecessors && !bottom_up, num_targets, targets, offsets, neighbors,
                       distances, predecessors, next, round + 1, report, barrier);
      end_round();
      level = __ldcg(report);
      if (__ldcg(report + 1) == DONE) break;
      must_collect = __ldcg(report + 4) == round;
      was_local = true;
      const long long local_arcs = __ldcg(report + 2);  // including the arcs of the new frontier
      unexplored -= frontier_arcs + local_arcs - local_arcs_before;
      local_arcs_before = local_arcs;
      continue;
    }

    unexplored -= frontier_arcs;
    Next next = begin_round();
    const int new_level = (int)level + 1;
    expand(queue, num_queued, long_lists, num_chunks, offsets,
           [&](const bool *is_valid, const long long *arc, const int *owner) {
             int neighbor[BATCH], old_distance[BATCH];
             bool is_new[BATCH];
#pragma unroll
             for (int k = 0; k < BATCH; k++) neighbor[k] = is_valid[k] ? neighbors[arc[k]] : -1;
#pragma unroll
             for (int k = 0; k < BATCH; k++)
               old_distance[k] = is_valid[k] ? distances[neighbor[k]] : 0;
#pragma unroll
             for (int k = 0; k < BATCH; k++) {
               is_new[k] = false;
               if (old_distance[k] == -1) {
                 old_distance[k] = atomicCAS(&distances[neighbor[k]], -1, new_level);
                 is_new[k] = old_distance[k] == -1;
               }
             }
#pragma unroll
             for (int k = 0; k < BATCH; k++)
               if (with_predecessors && is_valid[k] && (is_new[k] || old_distance[k] == new_level))
                 atomicMin(&predecessors[neighbor[k]], owner[k]);
             next.take<BATCH>(is_new, neighbor);
           });
    next.finish();
    end_round();
    level++;
  }
  // Find the predecessors of the vertices that expand_locally reached.
  const bool must_pull = with_predecessors && bottom_up;
  if (must_pull || with_masks) {
    grid_barrier(arrived_blocks, ++barriers);
    long long num_reached = 0;
    for (long long word = warp_id(); word < words; word += warp_count()) {
      const long long vertex = word * WARP + lane;
      const int depth = vertex < num_vertices ? distances[vertex] : -1;
      if (with_masks) {
        const unsigned reached = __ballot_sync(FULL_MASK, depth >= 0),
                       not_source = __ballot_sync(FULL_MASK, depth > 0);
        if (lane == 0) {
          reached_mask[word] = reached;
          if (with_predecessors) predecessor_mask[word] = not_source;
          num_reached += __popc(reached);
        }
      }
      if (!must_pull) continue;
      const bool must_search = depth > 0 && predecessors[vertex] == NO_VERTEX;
      const long long start = must_search ? in_offsets[vertex] : 0;
      const long long arc =
          first_arc(start, must_search ? in_offsets[vertex + 1] : 0, depth,
                    [=](long long position, int vertex_depth) {
                      return distances[in_neighbors[position]] == vertex_depth - 1;
                    });
      if (arc >= 0) predecessors[vertex] = in_neighbors[arc];
    }
    if (with_masks) add_of_block(num_reached, state + 1);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[0] = round + report[3];
  }
}

// A bottom-up level of BFS on consecutive vertices of a larger graph: each one with an infinite
// distance gets `level` and its first in-neighbor in the frontier as predecessor, if it has one.
// `frontier` is over all vertices; offsets, next_frontier, distances and predecessors are over the
// consecutive ones. num_new[0] grows by the number of vertices reached.
extern "C" __global__ void expand_bottom_up(long long num_vertices, double level,
                                            long long with_predecessors, const long long *offsets,
                                            const int *neighbors, const bool *frontier,
                                            bool *next_frontier, double *distances,
                                            int *predecessors, long long *num_new) {
  long long num_reached = 0;
  for (long long first = warp_id() * WARP; first < num_vertices; first += warp_count() * WARP) {
    const long long vertex = first + lane_id();
    const bool is_unreached = vertex < num_vertices && isinf(distances[vertex]);
    const long long start = is_unreached ? offsets[vertex] : 0,
                    stop = is_unreached ? offsets[vertex + 1] : 0;
    const long long arc = first_arc(
        start, stop, 0, [=](long long position, int) { return frontier[neighbors[position]]; });
    if (arc >= 0) {
      distances[vertex] = level;
      if (with_predecessors) predecessors[vertex] = neighbors[arc];
      num_reached++;
    }
    if (vertex < num_vertices) next_frontier[vertex] = arc >= 0;
  }
  num_reached = warp_sum(num_reached);
  if (lane_id() == 0 && num_reached) atomicAdd((u64 *)num_new, (u64)num_reached);
}
