// Breadth-first search.
//
// distances[v] becomes the number of arcs of a shortest path from a source to v, and
// predecessors[v] the smallest vertex before v on such a path, in one cooperative launch: blocks
// synchronize by a barrier between levels, and no level needs the host.
//
// Adjacency lists are by source (offsets, neighbors) and, for the bottom-up direction, by
// destination (in_*); both are ascending. The caller sets distances to -1, predecessors to
// NO_VERTEX, and counters and arrived_blocks to 0.
//
// Entry: search. Frontiers in the shared memory of a few blocks are our own.
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

// How a team ends: with an empty frontier or at the depth limit (DONE), or with a frontier in the
// queue of the next round (QUEUED), from which vertices are missing if shared memory was exceeded.
enum Ending { DONE, QUEUED };

// Barrier of the blocks of a team, which also sums their numbers of new vertices and tells whether
// a block wants to leave the team. A word has, from its lowest bit on, sums since the launch:
// vertices (31 bits), arrivals (27), exits (6). Three words are used in turn, so that no block adds
// to a word that another one still reads. Blocks share other data by atomics only, so no fence is
// needed.
struct TeamBarrier {
  u64 *words;
  long long count, part;
  int team;
  u64 *last_words;  // in shared memory: the last values of the words, and the results

  __device__ __forceinline__ int wait(int found, bool wants_exit) {
    if (threadIdx.x == 0) {
      const int place = (int)(count % 3);
      const u64 arrivals = (u64)(count / 3 + 1) * team & 0x7ffffff, before = last_words[place];
      volatile u64 *word = words + place;
      atomicAdd(words + place, (u64)found | 1ull << 31 | (wants_exit ? 1ull << 58 : 0));
      u64 now;
      do now = *word;
      while ((now >> 31 & 0x7ffffff) != arrivals);
      last_words[place] = now;
      last_words[3] = (now - before) & 0x7fffffff;
      last_words[4] = now >> 58 != before >> 58;
    }
    __syncthreads();
    count++;
    part = last_words[4];
    return (int)last_words[3];
  }
};

// Expand levels while a team of blocks can keep the frontier in shared memory: each block expands
// the vertices that it reached first, without a queue in global memory; a team of one block needs
// no barrier. report becomes {level, ending, arcs of new vertices, total levels, round in which
// vertices did not fit}.
__device__ __forceinline__ void expand_locally(int team, const int *queue, int queued,
                                               long long level, long long depth_limit,
                                               bool with_predecessors, const long long *offsets,
                                               const int *neighbors, int *distances,
                                               int *predecessors, int *next_queue, Slot *next_slot,
                                               long long round, long long *report,
                                               TeamBarrier &barrier) {
  extern __shared__ __align__(8) unsigned char shared[];
  __shared__ int lengths[3], parts[3], place_out;  // of a level, used in turn
  u64 *lists = (u64 *)shared;                      // begin << 16 | degree, two frontiers
  int *vertices = (int *)(lists + 2 * SHARED_FRONTIER);
  const int lane = lane_id();
  const int own = ((int)queued - (int)blockIdx.x + team - 1) / team;
  if (threadIdx.x < 3) lengths[threadIdx.x] = threadIdx.x ? 0 : own, parts[threadIdx.x] = 0;
  for (int place = threadIdx.x; place < own; place += blockDim.x) {
    const int vertex = queue[place * team + blockIdx.x];
    const long long begin = offsets[vertex];
    lists[place] = ((u64)begin << 16) | (u64)(offsets[vertex + 1] - begin);
    vertices[place] = vertex;
  }
  long long arcs = 0;
  int turn = 0, count = own, total = queued, ending = DONE;
  __syncthreads();
  while (total > 0 && level < depth_limit) {
    const int here = (turn & 1) * SHARED_FRONTIER, there = SHARED_FRONTIER - here;
    int *length = &lengths[(turn + 1) % 3], *part = &parts[(turn + 1) % 3];
    const int next = (int)level + 1;
    if (threadIdx.x == 0) lengths[(turn + 2) % 3] = parts[(turn + 2) % 3] = 0;

    // BATCH arcs per lane; vertices reached for the first time go to the next frontier.
    auto visit = [&](const bool *is, const long long *arc, const int *owner) {
      int neighbor[BATCH], old_distance[BATCH], degree[BATCH];
      long long begin[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) neighbor[k] = is[k] ? neighbors[arc[k]] : -1;
#pragma unroll
      for (int k = 0; k < BATCH; k++)
        old_distance[k] = is[k] ? atomicCAS(&distances[neighbor[k]], -1, next) : 0;
#pragma unroll
      for (int k = 0; k < BATCH;
           k++) {  // needed for new vertices only, but loaded before they are known
        begin[k] = is[k] ? offsets[neighbor[k]] : 0;
        degree[k] = is[k] ? (int)min(offsets[neighbor[k] + 1] - begin[k], 65535ll) : 0;
      }
      unsigned is_new[BATCH];
      int some = 0;
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (with_predecessors && is[k] && (old_distance[k] == -1 || old_distance[k] == next))
          atomicMin(&predecessors[neighbor[k]], owner[k]);
        is_new[k] = __ballot_sync(FULL_MASK, is[k] && old_distance[k] == -1 && degree[k] > 0);
        some += __popc(is_new[k]);
      }
      if (!some) return;
      int at = lane ? 0 : atomicAdd(length, some);
      at = __shfl_sync(FULL_MASK, at, 0);
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (is_new[k] >> lane & 1) {
          const int place = at + __popc(is_new[k] & ((1u << lane) - 1));
          arcs += degree[k];
          if (place < SHARED_FRONTIER) {
            lists[there + place] = ((u64)begin[k] << 16) | (u64)degree[k];
            vertices[there + place] = neighbor[k];
          } else {
            report[4] = round;
          }
          if (place >= SHARED_FRONTIER || degree[k] > FRONTIER_CHUNK) *part = 1;
        }
        at += __popc(is_new[k]);
      }
    };

    const int warps = blockDim.x / WARP;
    const int share = min(WARP, (count + warps - 1) / warps);
    for (int first = threadIdx.x / WARP * share; first < count; first += warps * share) {
      bool is[BATCH];
      long long arc[BATCH];
      int owner[BATCH];
      const int place = first + lane;
      const bool has_vertex = lane < share && place < count;
      const long long begin = has_vertex ? (long long)(lists[here + place] >> 16) : 0;
      const int degree = has_vertex ? (int)(lists[here + place] & 0xffff) : 0;
      const int vertex = has_vertex ? vertices[here + place] : 0;
      for (unsigned rest = __ballot_sync(FULL_MASK, degree > 2 * BATCH); rest; rest &= rest - 1) {
        const int from = __ffs(rest) - 1;
        const long long at = __shfl_sync(FULL_MASK, begin, from);
        const int size = __shfl_sync(FULL_MASK, degree, from),
                  list_owner = __shfl_sync(FULL_MASK, vertex, from);
        for (int done = 0; done < size; done += BATCH * WARP) {
#pragma unroll
          for (int k = 0; k < BATCH; k++) {
            is[k] = done + k * WARP + lane < size;
            arc[k] = at + done + k * WARP + lane;
            owner[k] = list_owner;
          }
          visit(is, arc, owner);
        }
      }
      const int few = degree > 2 * BATCH ? 0 : degree;
      for (int done = 0; __any_sync(FULL_MASK, done < few); done += BATCH) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          is[k] = done + k < few;
          arc[k] = begin + done + k;
          owner[k] = vertex;
        }
        visit(is, arc, owner);
      }
    }
    __syncthreads();
    count = *length;
    turn++;
    level++;
    bool over;
    if (team == 1) {
      total = count;
      over = *part || total > MAX_BLOCK_FRONTIER;
    } else {
      const bool uneven = count > MIN_IMBALANCE && count > 4 * (total / team);
      total = barrier.wait(count, *part || uneven);
      over = barrier.part || total < MIN_TEAM_FRONTIER || total > MAX_TEAM_FRONTIER;
    }
    if (over && total > 0) {
      ending = QUEUED;
      break;
    }
  }

  if (ending == QUEUED) {
    count = min(count, SHARED_FRONTIER);
    if (threadIdx.x == 0) place_out = (int)atomicAdd(&next_slot->queued, (u64)count);
    __syncthreads();
    long long own_arcs = 0;
    for (int place = threadIdx.x; place < count; place += blockDim.x) {
      next_queue[place_out + place] = vertices[(turn & 1) * SHARED_FRONTIER + place];
      own_arcs += (long long)(lists[(turn & 1) * SHARED_FRONTIER + place] & 0xffff);
    }
    own_arcs = warp_total(own_arcs);
    if (lane == 0 && own_arcs) atomicAdd(&next_slot->arcs, (u64)own_arcs);
  }
  arcs = warp_total(arcs);
  if (lane == 0 && arcs) atomicAdd((u64 *)report + 2, (u64)arcs);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    report[0] = level;
    report[1] = ending;
    report[3] += turn;
  }
}

// Breadth-first search from distinct `sources`. Reads the adjacency lists, and in_* if bottom_up;
// writes distances and, if with_predecessors, predecessors; queues, chunks, frontier_bits and
// counters are work space. state[0] becomes the number of rounds.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    search(long long num_vertices, long long num_arcs, long long depth_limit, long long bottom_up,
           long long with_predecessors, long long num_sources, const int *sources,
           const long long *offsets, const int *neighbors, const long long *in_offsets,
           const int *in_neighbors, int *distances, int *predecessors, int *queues,
           long long *chunks, unsigned int *frontier_bits, long long *counters,
           unsigned long long *arrived_blocks, long long *state) {
  __shared__ int buffers[COOPERATIVE_THREADS / WARP][2 * WARP];
  const int lane = lane_id();
  const long long words = (num_vertices + WARP - 1) / WARP,
                  max_chunks = num_arcs / FRONTIER_CHUNK * 2 + 4;
  long long *report = counters + 16;
  long long round = 0, level = 0, barriers = 0, unexplored = num_arcs, local_arcs_before = 0;
  bool may_pull = bottom_up;
  unsigned int *here = frontier_bits, *there = frontier_bits + words;
  __shared__ u64 last_words[5];
  if (threadIdx.x < 5) last_words[threadIdx.x] = 0;
  TeamBarrier barrier{(u64 *)counters + 21, 0, 0, min(TEAM_BLOCKS, (int)gridDim.x), last_words};

  auto begin_round = [&]() {
    if (blockIdx.x == 0 && threadIdx.x == 0) *slot_of(counters, round + 2) = Slot{0, 0, 0, 0};
    Slot *slot = slot_of(counters, round + 1);
    const long long parity = (round + 1) & 1;
    return Next{{buffers[threadIdx.x / WARP], 0, queues + parity * num_vertices, &slot->queued},
                slot,
                chunks + parity * max_chunks,
                offsets,
                0};
  };
  auto end_round = [&]() {
    grid_barrier(arrived_blocks, ++barriers);
    round++;
  };
  // Build the queue of the frontier from the distances.
  auto collect = [&]() {
    Next next = begin_round();
    for (long long word = warp_id(); word < words; word += warp_count()) {
      const long long vertex = word * WARP + lane;
      const bool is[1] = {vertex < num_vertices && __ldcg(distances + vertex) == level};
      const int which[1] = {(int)vertex};
      next.take<1>(is, which);
    }
    next.finish();
    end_round();
  };

  STRIDE(place, num_sources) distances[sources[place]] = 0;
  grid_barrier(arrived_blocks, ++barriers);
  {
    Next next = begin_round();
    next.take_all(sources, num_sources);
    end_round();
  }

  while (level < depth_limit) {
    const Slot *slot = slot_of(counters, round);
    const long long queued = __ldcg(&slot->queued), num_chunks = __ldcg(&slot->chunks);
    const long long frontier_arcs = __ldcg(&slot->arcs);
    const int *queue = queues + (round & 1) * num_vertices;
    const long long *long_lists = chunks + (round & 1) * max_chunks;
    if (queued + num_chunks == 0) break;

    if (may_pull && frontier_arcs > unexplored / BFS_ALPHA && frontier_arcs > num_vertices / 64) {
      for (long long word = warp_id(); word < words; word += warp_count()) {
        const long long vertex = word * WARP + lane;
        const bool is = vertex < num_vertices && __ldcg(distances + vertex) == level;
        const unsigned mask = __ballot_sync(FULL_MASK, is);
        if (lane == 0) here[word] = mask;
      }
      grid_barrier(arrived_blocks, ++barriers);
      long long found = queued, before;
      do {
        begin_round();
        Slot *next = slot_of(counters, round + 1);
        long long new_vertices = 0, new_arcs = 0;
        for (long long word = warp_id(); word < words; word += warp_count()) {
          const long long vertex = word * WARP + lane;
          const bool open = vertex < num_vertices && __ldcg(distances + vertex) == -1;
          const long long begin = open ? in_offsets[vertex] : 0;
          const long long end = open ? in_offsets[vertex + 1] : 0;
          const unsigned int *bits_here = here;
          const long long arc = first_arc(begin, end, 0, [=](long long at, int) {
            const int neighbor = in_neighbors[at];
            return (bits_here[neighbor / WARP] >> (neighbor % WARP) & 1) != 0;
          });
          if (arc >= 0) {
            distances[vertex] = (int)level + 1;
            if (with_predecessors) predecessors[vertex] = in_neighbors[arc];
            new_vertices++;
            new_arcs += offsets[vertex + 1] - offsets[vertex];
          }
          const unsigned mask = __ballot_sync(FULL_MASK, arc >= 0);
          if (lane == 0) there[word] = mask;
        }
        new_vertices = warp_total(new_vertices);
        new_arcs = warp_total(new_arcs);
        if (lane == 0 && new_vertices) {
          atomicAdd(&next->found, (u64)new_vertices);
          atomicAdd(&next->arcs, (u64)new_arcs);
        }
        end_round();
        level++;
        unsigned int *other = here;
        here = there, there = other;
        before = found;
        found = __ldcg(&slot_of(counters, round)->found);
        unexplored -= __ldcg(&slot_of(counters, round)->arcs);
      } while (found > 0 && level < depth_limit &&
               !(found < before && found < num_vertices / BFS_BETA));
      may_pull =
          false;  // few vertices are left, so the size of the frontier no longer predicts the work
      collect();
      continue;
    }

    if (num_chunks == 0 && queued <= MAX_TEAM_FRONTIER / 2 && frontier_arcs <= MAX_TEAM_ARCS) {
      const int team = queued <= MAX_BLOCK_FRONTIER ? 1 : barrier.team;
      Next next = begin_round();
      if (blockIdx.x < team)
        expand_locally(team, queue, (int)queued, level, depth_limit,
                       with_predecessors && !bottom_up, offsets, neighbors, distances, predecessors,
                       next.queue.queue, next.slot, round + 1, report, barrier);
      end_round();
      level = __ldcg(report);
      if (__ldcg(report + 1) == DONE) break;
      if (__ldcg(report + 4) == round) collect();
      const long long local_arcs = __ldcg(report + 2);  // including the arcs of the new frontier
      unexplored += __ldcg(&slot_of(counters, round)->arcs) - frontier_arcs;
      unexplored -= local_arcs - local_arcs_before;
      local_arcs_before = local_arcs;
      continue;
    }

    unexplored -= frontier_arcs;
    Next next = begin_round();
    const int new_level = (int)level + 1;
    expand(queue, queued, long_lists, num_chunks, offsets,
           [&](const bool *is, const long long *arc, const int *owner) {
             int neighbor[BATCH], old_distance[BATCH];
             bool is_new[BATCH];
#pragma unroll
             for (int k = 0; k < BATCH; k++) neighbor[k] = is[k] ? neighbors[arc[k]] : -1;
#pragma unroll
             for (int k = 0; k < BATCH; k++) old_distance[k] = is[k] ? distances[neighbor[k]] : 0;
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
               if (with_predecessors && is[k] && (is_new[k] || old_distance[k] == new_level))
                 atomicMin(&predecessors[neighbor[k]], owner[k]);
             next.take<BATCH>(is_new, neighbor);
           });
    next.finish();
    end_round();
    level++;
  }
  if (with_predecessors && bottom_up) {  // of the vertices that expand_locally reached
    grid_barrier(arrived_blocks, ++barriers);
    for (long long word = warp_id(); word < words; word += warp_count()) {
      const long long vertex = word * WARP + lane;
      const int depth = vertex < num_vertices ? distances[vertex] : 0;
      const bool open = depth > 0 && predecessors[vertex] == NO_VERTEX;
      const long long begin = open ? in_offsets[vertex] : 0;
      const long long arc =
          first_arc(begin, open ? in_offsets[vertex + 1] : 0, depth,
                    [=](long long at, int its) { return distances[in_neighbors[at]] == its - 1; });
      if (arc >= 0) predecessors[vertex] = in_neighbors[arc];
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[0] = round + report[3];
  }
}
