// Single-source shortest paths by weight.
//
// distances[v] becomes the least distance of a source plus the weight of a path from it to v, in
// one cooperative launch. Then predecessors[v] becomes the smallest vertex before v on a shortest
// path, among those with a smaller distance.
//
// Weights are finite and not negative. The caller sets the distances of sources, other distances to
// infinity or a known upper bound, predecessors to NO_VERTEX, counters, marks and arrived_blocks to
// 0, and min_distance to infinity. If there are targets, the search ends when their distances are
// final; those of farther vertices are upper bounds then.
//
// Entries: shortest_paths; find_weight_keys, by which lists are sorted by weight; find_predecessors
// of such lists, pull_predecessors and push_predecessors of others; convert_depths, drop_farther,
// mark_remaining.
// Reference: Davidson, Baxter, Garland, Owens, IPDPS 2014,
// https://doi.org/10.1109/IPDPS.2014.45 (near-far queues).

#define APPEND_CAPACITY (4 * WARP)  // half of all vertices may be in a queue

#include "frontier.cuh"

#ifndef weight_t
#define weight_t double
#endif

#define GROW_BELOW 4096      // expanded vertices per round: delta doubles if there are fewer,
#define SHRINK_ABOVE 262144  // and is halved if there are more
#define LIGHT_ABOVE 2        // arcs of a frontier per vertex from which only light ones are relaxed
#define LIGHT_WIDTH 4        // width of the near queue then, in initial widths
#define TAIL_GROWTH 4        // factor of delta per bound, once most arcs are behind
#define LARGEST 1.7976931348623157e308
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

// Atomic minimum: non-negative doubles have the order of their bits.
__device__ __forceinline__ double lower(double *address, double value) {
  return __longlong_as_double(
      (long long)atomicMin((u64 *)address, (u64)__double_as_longlong(value)));
}

// A lower bound of the weights from an arc of a sorted list on: lists are in the order of weights
// rounded down to single precision.
__device__ __forceinline__ double least_from(weight_t weight) {
  return (double)__double2float_rd((double)weight);
}

// Fold the arcs of a list in the order of weights: state = visit(state, neighbor, weight, distance
// of the neighbor), while is_open(least weight of the rest, value, state) holds. The states of
// parts of a list merge by minimum. All lanes call it, each with a list of its own: each tests a
// few arcs, then the warp searches the remaining lists one by one.
template <class State, class IsOpen, class Visit>
__device__ __forceinline__ State fold_sorted(long long start, long long stop, const int *neighbors,
                                             const weight_t *weights, const double *distances,
                                             double value, State state, IsOpen is_open,
                                             Visit visit) {
  const int lane = lane_id();
  for (int pass = 0; pass < 2; pass++) {
    weight_t weight[BATCH];
    int neighbor[BATCH];
    double before[BATCH];
    bool opens[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      opens[k] = start + k < stop;
      weight[k] = opens[k] ? weights[start + k] : (weight_t)0;
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      if (opens[k] && !is_open(least_from(weight[k]), value, state)) {
        opens[k] = false;
        stop = start;
      }
      neighbor[k] = opens[k] ? neighbors[start + k] : 0;
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++) before[k] = opens[k] ? __ldcg(distances + neighbor[k]) : 0.0;
#pragma unroll
    for (int k = 0; k < BATCH; k++)
      if (opens[k]) state = visit(state, neighbor[k], (double)weight[k], before[k], value);
    start += BATCH;
  }
  for (unsigned remaining = __ballot_sync(FULL_MASK, start < stop); remaining;
       remaining &= remaining - 1) {
    const int source_lane = __ffs(remaining) - 1;
    const long long last = __shfl_sync(FULL_MASK, stop, source_lane);
    const double lane_value = __shfl_sync(FULL_MASK, value, source_lane);
    State lane_state = __shfl_sync(FULL_MASK, state, source_lane);
    for (long long base = __shfl_sync(FULL_MASK, start, source_lane); base < last;
         base += BATCH * WARP) {
      weight_t weight[BATCH];
      int neighbor[BATCH];
      double before[BATCH];
      bool opens[BATCH], ends = false;
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const long long arc = base + k * WARP + lane;
        opens[k] = arc < last;
        weight[k] = opens[k] ? weights[arc] : (weight_t)0;
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (opens[k] && !is_open(least_from(weight[k]), lane_value, lane_state)) {
          opens[k] = false;
          ends = true;
        }
        neighbor[k] = opens[k] ? neighbors[base + k * WARP + lane] : 0;
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++) before[k] = opens[k] ? __ldcg(distances + neighbor[k]) : 0.0;
#pragma unroll
      for (int k = 0; k < BATCH; k++)
        if (opens[k])
          lane_state = visit(lane_state, neighbor[k], (double)weight[k], before[k], lane_value);
      for (int step = WARP / 2; step > 0; step /= 2)
        lane_state = min(lane_state, __shfl_xor_sync(FULL_MASK, lane_state, step));
      if (__any_sync(FULL_MASK, ends)) break;
    }
    if (lane == source_lane) state = lane_state;
  }
  return state;
}

// Whether there are targets, and all are nearer than `bound`. No block writes distances meanwhile.
// All threads of a block call it.
__device__ __forceinline__ bool are_settled(long long num_targets, const int *targets,
                                            const double *distances, double bound) {
  if (num_targets == 0) return false;
  bool is_unsettled = false;
  for (long long index = threadIdx.x; index < num_targets; index += blockDim.x)
    is_unsettled |= !(__ldcg(distances + targets[index]) < bound);
  return !__syncthreads_or(is_unsettled);
}

// Adjacency lists by one direction.
struct Lists {
  const long long *offsets;
  const int *neighbors;
  const weight_t *weights;
};

// The frontier of a round: queued vertices, and chunks of long lists.
struct Frontier {
  const int *queue;
  const long long *chunks;
  long long num_queued, num_chunks, num_arcs;

  __device__ __forceinline__ long long size() const { return num_queued + num_chunks; }
};

// The number of arcs of a sorted list that end before `bound` from a distance: powers of 2 are
// tried first.
__device__ __forceinline__ long long count_light(const weight_t *weights, long long degree,
                                                 double distance, double bound) {
  auto is_light = [&](long long index) { return distance + least_from(weights[index]) < bound; };
  long long last = 8;
  while (last < degree && is_light(last - 1)) last *= 2;
  long long first = last > 8 ? last / 2 : 0;
  last = min(last, degree);
  while (first < last) {
    const long long middle = (first + last) / 2;
    if (is_light(middle))
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// Keep the vertices of a frontier that are nearer than `bound`, whose light arcs will be relaxed;
// the others go to the far queue.
__device__ __forceinline__ void narrow_frontier(const Frontier &frontier, const Lists &lists,
                                                const double *distances, double low, double bound,
                                                int *is_in_far_queue, Next &next, Appender &far) {
  for (long long first = warp_id() * WARP; first < frontier.size(); first += warp_count() * WARP) {
    const long long item = first + lane_id();
    bool is_valid = item < frontier.num_queued;
    int candidate[1] = {is_valid ? frontier.queue[item] : 0};
    if (!is_valid && item < frontier.size()) {
      const long long chunk = frontier.chunks[item - frontier.num_queued];
      is_valid = (chunk & 0xffffffff) == 0;
      candidate[0] = (int)(chunk >> 32);
    }
    const double distance = is_valid ? __ldcg(distances + candidate[0]) : 0.0;
    const bool is_near[1] = {is_valid && distance < bound};
    const bool is_far =
        is_valid && !is_near[0] && atomicExch(&is_in_far_queue[candidate[0]], 1) == 0;
    next.take<1>(is_near, candidate, [&](int, long long start, long long degree) {
      return count_light(lists.weights + start, degree, low, bound);
    });
    far.append(is_far, candidate[0]);
  }
}

// Relax the arcs of a frontier, if is_light those that end before `bound`. Vertices that become
// nearer go to the next frontier, from `bound` on to the far queue. `stamp` marks the vertices of
// the next frontier.
__device__ __forceinline__ void relax_frontier(const Frontier &frontier, const Lists &lists,
                                               double cutoff, double low, double bound,
                                               bool is_light, int stamp, double *distances,
                                               int *marks, int *is_in_far_queue, Next &next,
                                               Appender &far) {
  // Distances may decrease until a vertex is expanded, but not below `low`. If they do later, it is
  // in the next frontier.
  auto max_length = [&](int, long long start, long long degree) {
    return is_light ? count_light(lists.weights + start, degree, low, bound) : degree;
  };
  auto length = [&](int vertex, long long start, long long degree) {
    return is_light ? count_light(lists.weights + start, degree, __ldcg(distances + vertex), bound)
                    : degree;
  };
  expand(
      frontier.queue, frontier.num_queued, frontier.chunks, frontier.num_chunks, lists.offsets,
      [&](const bool *is_valid, const long long *arc, const int *owner) {
        int neighbor[BATCH];
        double new_distance[BATCH], old_distance[BATCH];
        bool is_near[BATCH], is_far[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          neighbor[k] = is_valid[k] ? lists.neighbors[arc[k]] : -1;
          new_distance[k] =
              is_valid[k] ? __ldcg(distances + owner[k]) + (double)lists.weights[arc[k]] : INFINITE;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          const bool is_relaxed =
              new_distance[k] <= cutoff && (!is_light || new_distance[k] < bound);
          old_distance[k] = is_valid[k] && is_relaxed ? distances[neighbor[k]] : 0.0;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          bool is_shorter = new_distance[k] < old_distance[k];
          if (is_shorter) {
            old_distance[k] = lower(distances + neighbor[k], new_distance[k]);
            is_shorter = new_distance[k] < old_distance[k];
          }
          is_near[k] = is_shorter && new_distance[k] < bound;
          is_far[k] = is_shorter && !(new_distance[k] < bound);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
          if (is_near[k]) is_near[k] = atomicExch(&marks[neighbor[k]], stamp) != stamp;
          if (is_far[k]) is_far[k] = atomicExch(&is_in_far_queue[neighbor[k]], 1) == 0;
        }
        next.take<BATCH>(is_near, neighbor, max_length);
        if (!is_light) {
#pragma unroll
          for (int k = 0; k < BATCH; k++) far.append(is_far[k], neighbor[k]);
        }
      },
      length);
}

// Relax the arcs from vertices nearer than `bound` to others, from their destinations, which go to
// the far queue. Returns the number of arcs, by source, of the vertices from `bound` on that this
// thread has seen.
__device__ __forceinline__ long long relax_heavy(long long num_vertices, const long long *offsets,
                                                 const Lists &in_lists, double cutoff, double low,
                                                 double bound, double *distances,
                                                 int *is_in_far_queue, Appender &far) {
  long long num_unexplored = 0, next_start = 0, next_stop = 0;
  double next_distance = 0.0;
  auto load = [&](long long vertex) {  // each iteration loads what the next one needs
    next_distance = vertex < num_vertices ? __ldcg(distances + vertex) : 0.0;
    next_start = vertex < num_vertices ? in_lists.offsets[vertex] : 0;
    next_stop = vertex < num_vertices ? in_lists.offsets[vertex + 1] : 0;
  };
  const long long step = warp_count() * WARP;
  load(warp_id() * WARP + lane_id());
  for (long long first = warp_id() * WARP; first < num_vertices; first += step) {
    const long long vertex = first + lane_id();
    const double distance = next_distance;
    const bool is_unsettled = !(distance < bound);
    const long long list_start = is_unsettled ? next_start : 0,
                    list_stop = is_unsettled ? next_stop : 0;
    load(vertex + step);
    if (is_unsettled) num_unexplored += offsets[vertex + 1] - offsets[vertex];
    const double new_distance = fold_sorted(
        list_start, list_stop, in_lists.neighbors, in_lists.weights, distances, 0.0, distance,
        [&](double weight, double, double best) { return low + weight < best; },
        [&](double best, int, double weight, double before, double) {
          const double sum = before + weight;
          return before < bound && sum < best && sum <= cutoff ? sum : best;
        });
    bool is_far = is_unsettled && new_distance < distance;
    if (is_far) {
      distances[vertex] = new_distance;
      is_far = atomicExch(&is_in_far_queue[vertex], 1) == 0;
    }
    far.append(is_far, (int)vertex);
  }
  return num_unexplored;
}

// Move the vertices of the far queue `items` that are nearer than `bound` to the next frontier, and
// others to the next far queue `far`. Those nearer than old_bound have been expanded since. Returns
// the least distance of the others that this warp has seen.
__device__ __forceinline__ double split_far_queue(const int *items, long long num_items,
                                                  const double *distances, double old_bound,
                                                  double bound, int *is_in_far_queue, Next &next,
                                                  Appender &far) {
  double least = INFINITE;
  for (long long first = warp_id() * WARP; first < num_items; first += warp_count() * WARP) {
    const bool is_valid = first + lane_id() < num_items;
    const int candidate[1] = {is_valid ? items[first + lane_id()] : 0};
    const double distance = is_valid ? __ldcg(distances + candidate[0]) : 0.0;
    const bool is_near[1] = {is_valid && distance >= old_bound && distance < bound};
    const bool is_far = is_valid && distance >= bound;
    if (is_valid && !is_far) is_in_far_queue[candidate[0]] = 0;
    if (is_far) least = fmin(least, distance);
    next.take<1>(is_near, candidate);
    far.append(is_far, candidate[0]);
  }
  for (int half = WARP / 2; half > 0; half /= 2)
    least = fmin(least, __shfl_xor_sync(FULL_MASK, least, half));
  return least;
}

// Relax all paths from `sources`. Vertices nearer than `bound` are expanded in rounds until none is
// left; others wait in the far queue, once each, until `bound` grows by delta. Vertices at distance
// `stop` or farther are reached, but not expanded. Sources are nearer. Reads the adjacency
// lists, writes distances; marks has the round in whose frontier each vertex is, then whether it is
// in the far queue. state[0] becomes the number of rounds.
//
// If by_weight, lists are in the order of weights, and in_* are the lists by destination. Once a
// frontier has many arcs, `bound` narrows to LIGHT_WIDTH initial widths beyond the least distance
// of a frontier, `low`, and only arcs that end before it are relaxed: the beginnings of lists. When
// no vertex before `bound` is left, all others look for paths over an arc from one that is nearer:
// a vertex reads its lightest arcs only, until they alone are too long. pull_start[0] becomes the
// first such `low`: from there on, vertices have predecessors that are no nearer, or few arcs lead
// to them.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    shortest_paths(long long num_vertices, long long num_arcs, double cutoff, double stop,
                   double delta, long long by_weight, long long num_sources, const int *sources,
                   long long num_targets, const int *targets, const long long *offsets,
                   const int *neighbors, const weight_t *weights, const long long *in_offsets,
                   const int *in_neighbors, const weight_t *in_weights, double *distances,
                   int *queues, int *marks, long long *chunks, long long *counters,
                   unsigned long long *arrived_blocks, double *min_distance, double *pull_start,
                   long long *state) {
  __shared__ int buffers[2 * COOPERATIVE_THREADS / WARP][APPEND_CAPACITY];
  const int warp = threadIdx.x / WARP;
  const bool is_first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const long long max_chunks = num_arcs / FRONTIER_CHUNK * 2 + 4;
  const Lists lists{offsets, neighbors, weights}, in_lists{in_offsets, in_neighbors, in_weights};
  int *is_in_far_queue = marks + num_vertices;
  u64 *far_lengths = (u64 *)(counters + 12);
  long long round = 0, barriers = 0, splits = 0, expanded = 0, num_rounds = 0;
  long long unexplored = num_arcs;  // arcs of the vertices from `bound` on, or more
  const double first_step = delta;
  double low = 0.0, bound = fmin(delta, stop), first_low = 0.0;
  bool has_expanded = true, is_light = false, is_tail = false;

  auto begin_round = [&]() {
    if (is_first_thread) *counters_of(counters, round + 2) = Counters{0, 0, 0, 0};
    Counters *next_counters = counters_of(counters, round + 1);
    const long long parity = (round + 1) & 1;
    return Next{{buffers[warp], 0, queues + parity * num_vertices, &next_counters->num_queued},
                next_counters,
                chunks + parity * max_chunks,
                offsets,
                0};
  };
  auto end_round = [&]() {
    grid_barrier(arrived_blocks, ++barriers);
    round++;
  };
  auto far_items = [&](long long split) { return queues + (2 + (split & 1)) * num_vertices; };
  auto far_queue = [&](long long split) {
    return Appender{buffers[COOPERATIVE_THREADS / WARP + warp], 0, far_items(split),
                    far_lengths + split % 3};
  };

  {
    Next next = begin_round();
    next.take_all(sources, num_sources);
    end_round();
  }

  for (;;) {
    const Counters *round_counters = counters_of(counters, round);
    const Frontier frontier{queues + (round & 1) * num_vertices, chunks + (round & 1) * max_chunks,
                            (long long)__ldcg(&round_counters->num_queued),
                            (long long)__ldcg(&round_counters->num_chunks),
                            (long long)__ldcg(&round_counters->num_arcs)};
    if (by_weight && !is_light && frontier.num_arcs > LIGHT_ABOVE * num_vertices &&
        frontier.num_arcs > unexplored / BFS_ALPHA) {
      is_light = true;
      has_expanded = true;
      if (!is_tail) first_low = low;
      delta = LIGHT_WIDTH * first_step;
      bound = fmin(bound, fmax(low + delta, nextafter(low, INFINITE)));
      Next next = begin_round();
      Appender far = far_queue(splits);
      narrow_frontier(frontier, lists, distances, low, bound, is_in_far_queue, next, far);
      next.finish();
      far.flush(far.count);
      end_round();
      continue;
    }

    if (frontier.size() > 0) {
      Next next = begin_round();
      Appender far = far_queue(splits);
      relax_frontier(frontier, lists, cutoff, low, bound, is_light, (int)round + 1, distances,
                     marks, is_in_far_queue, next, far);
      next.finish();
      far.flush(far.count);
      end_round();
      expanded += frontier.size();
      num_rounds++;
      has_expanded = true;
      continue;
    }

    if (are_settled(num_targets, targets, distances, bound)) break;
    if (is_light) {
      Next next = begin_round();
      Appender far = far_queue(splits);
      const long long num_unexplored = warp_sum(relax_heavy(
          num_vertices, offsets, in_lists, cutoff, low, bound, distances, is_in_far_queue, far));
      far.flush(far.count);
      if (lane_id() == 0 && num_unexplored)
        atomicAdd(&next.counters->num_found, (u64)num_unexplored);
      end_round();
      unexplored = __ldcg(&counters_of(counters, round)->num_found);
      is_light = false;
      is_tail = true;
      continue;
    }

    const long long num_far = __ldcg(far_lengths + splits % 3);
    if (num_far == 0 || bound >= stop) break;
    if (is_tail) {
      if (has_expanded) delta *= TAIL_GROWTH;
    } else if (num_rounds) {
      if (expanded < num_rounds * GROW_BELOW) delta *= 2;
      if (expanded > num_rounds * SHRINK_ABOVE && delta > first_step) delta /= 2;
    }
    expanded = num_rounds = 0;
    const double old_bound = bound;
    low = has_expanded ? bound : __ldcg(min_distance + (splits + 2) % 3);
    bound = fmin(fmax(low + delta, nextafter(low, INFINITE)), stop);
    Next next = begin_round();
    Appender far = far_queue(splits + 1);
    if (is_first_thread) {
      far_lengths[(splits + 2) % 3] = 0;
      min_distance[(splits + 1) % 3] = INFINITE;
    }
    const double min_far = split_far_queue(far_items(splits), num_far, distances, old_bound, bound,
                                           is_in_far_queue, next, far);
    next.finish();
    far.flush(far.count);
    if (lane_id() == 0) lower(min_distance + splits % 3, min_far);
    end_round();
    splits++;
    has_expanded = false;
  }
  if (is_first_thread) {
    state[0] = round;
    pull_start[0] = first_low;
  }
}

// keys[arc] = the order of its weight, rounded down to single precision. CuPy has NVRTC flush
// subnormal numbers to 0, here and in least_from.
extern "C" __global__ void find_weight_keys(long long num_arcs, const weight_t *weights,
                                            int *keys) {
  STRIDE(arc, num_arcs) keys[arc] = __float_as_int(fabsf((float)least_from(weights[arc])));
}

// predecessors[v] = the smallest vertex before v on a shortest path, among those with a smaller
// distance, of lists in the order of weights; NO_VERTEX before. Vertices from pull_start[0] on are
// found from their successors, by the arcs that are no heavier than the rest of the distance;
// others push their number.
extern "C" __global__ void find_predecessors(long long num_vertices, const double *pull_start,
                                             const long long *offsets, const int *neighbors,
                                             const weight_t *weights, const long long *in_offsets,
                                             const int *in_neighbors, const weight_t *in_weights,
                                             const double *distances, int *predecessors) {
  const double least = pull_start[0];
  for (long long first = warp_id() * WARP; first < num_vertices; first += warp_count() * WARP) {
    const long long vertex = first + lane_id();
    const double distance = vertex < num_vertices ? distances[vertex] : INFINITE;
    const bool is_reached = distance > least && distance <= LARGEST;
    const int predecessor = fold_sorted(
        is_reached ? in_offsets[vertex] : 0, is_reached ? in_offsets[vertex + 1] : 0, in_neighbors,
        in_weights, distances, distance, (int)NO_VERTEX,
        [=](double weight, double sum, int) { return least + weight <= sum; },
        [](int best, int neighbor, double weight, double before, double sum) {
          return before < sum && before + weight == sum ? min(best, neighbor) : best;
        });
    if (predecessor != NO_VERTEX) atomicMin(&predecessors[vertex], predecessor);
    for (unsigned pushing = __ballot_sync(FULL_MASK, distance < least); pushing;
         pushing &= pushing - 1) {
      const int source_lane = __ffs(pushing) - 1;
      const double before = __shfl_sync(FULL_MASK, distance, source_lane);
      const long long source = first + source_lane;
      for (long long arc = offsets[source] + lane_id(); arc < offsets[source + 1]; arc += WARP) {
        const double sum = distances[neighbors[arc]];
        if (before < sum && sum <= LARGEST && before + (double)weights[arc] == sum)
          atomicMin(&predecessors[neighbors[arc]], (int)source);
      }
    }
  }
}

// predecessors[v] = the source of the first arc of v's in-list that attains distances[v] and comes
// from a nearer vertex, unless v has a predecessor already.
extern "C" __global__ void pull_predecessors(long long num_vertices, const long long *offsets,
                                             const int *neighbors, const weight_t *weights,
                                             const double *distances, int *predecessors) {
  for (long long first = warp_id() * WARP; first < num_vertices; first += warp_count() * WARP) {
    const long long vertex = first + lane_id();
    const double distance = vertex < num_vertices ? distances[vertex] : 0.0;
    const bool is_reached =
        distance > 0.0 && distance <= LARGEST && predecessors[vertex] == NO_VERTEX;
    const long long start = is_reached ? offsets[vertex] : 0,
                    stop = is_reached ? offsets[vertex + 1] : 0;
    const long long arc =
        first_arc(start, stop, distance, [=](long long position, double vertex_distance) {
          // Most arcs of a long list are heavier than the distance: their sources are not read.
          if (!((double)weights[position] <= vertex_distance)) return false;
          const double before = distances[neighbors[position]];
          return before < vertex_distance && before + (double)weights[position] == vertex_distance;
        });
    if (arc >= 0) predecessors[vertex] = neighbors[arc];
  }
}

// The same from lists by source, by atomic minimum. Vertices at distances from skip_start to below
// skip_stop are no predecessors.
extern "C" __global__ void push_predecessors(long long num_vertices, double skip_start,
                                             double skip_stop, const long long *offsets,
                                             const int *neighbors, const weight_t *weights,
                                             const double *distances, int *predecessors) {
  for (long long vertex = warp_id(); vertex < num_vertices; vertex += warp_count()) {
    const double before = distances[vertex];
    if (!(before <= LARGEST) || (skip_start <= before && before < skip_stop)) continue;
    for (long long arc = offsets[vertex] + lane_id(); arc < offsets[vertex + 1]; arc += WARP) {
      const double distance = distances[neighbors[arc]];
      if (before < distance && distance <= LARGEST && before + (double)weights[arc] == distance)
        atomicMin(&predecessors[neighbors[arc]], (int)vertex);
    }
  }
}

// distances[v] = the depth of v, infinity if it is negative.
extern "C" __global__ void convert_depths(long long num_vertices, const int *depths,
                                          double *distances) {
  STRIDE(vertex, num_vertices)
  distances[vertex] = depths[vertex] < 0 ? INFINITE : depths[vertex];
}

// distances[v] = infinity if it is above limit[0].
extern "C" __global__ void drop_farther(long long num_vertices, const double *limit,
                                        double *distances) {
  STRIDE(vertex, num_vertices)
  if (distances[vertex] > limit[0]) distances[vertex] = INFINITE;
}

// remaining[v] = v has been reached and has no predecessor.
extern "C" __global__ void mark_remaining(long long num_vertices, const double *distances,
                                          const int *predecessors, bool *remaining) {
  STRIDE(vertex, num_vertices)
  remaining[vertex] = predecessors[vertex] == NO_VERTEX && distances[vertex] < INFINITE;
}
