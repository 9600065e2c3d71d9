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
// Entries: shortest_paths, pull_predecessors, push_predecessors. Reference: Davidson, Baxter,
// Garland, Owens, IPDPS 2014, https://doi.org/10.1109/IPDPS.2014.45 (near-far queues).

#include "frontier.cuh"

#ifndef weight_t
#define weight_t double
#endif

#define GROW_BELOW 4096      // expanded vertices per round: delta doubles if there are fewer,
#define SHRINK_ABOVE 262144  // and is halved if there are more
#define LARGEST 1.7976931348623157e308
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

// Atomic minimum: non-negative doubles have the order of their bits.
__device__ __forceinline__ double lower(double *address, double value) {
  return __longlong_as_double(
      (long long)atomicMin((u64 *)address, (u64)__double_as_longlong(value)));
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

// Relax all paths from `sources`. Vertices nearer than `bound` are expanded in rounds until none is
// left; others wait in the far queue, once each, until `bound` grows by delta. Vertices at distance
// `stop` or farther are reached, but not expanded. Sources are nearer. Reads the adjacency
// lists, writes distances; marks has the round in whose frontier each vertex is, then whether it is
// in the far queue. state[0] becomes the number of rounds.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    shortest_paths(long long num_vertices, long long num_arcs, double cutoff, double stop,
                   double delta, long long num_sources, const int *sources, long long num_targets,
                   const int *targets, const long long *offsets, const int *neighbors,
                   const weight_t *weights, double *distances, int *queues, int *marks,
                   long long *chunks, long long *counters, unsigned long long *arrived_blocks,
                   double *min_distance, long long *state) {
  __shared__ int buffers[2 * COOPERATIVE_THREADS / WARP][2 * WARP];
  const int lane = lane_id(), warp = threadIdx.x / WARP;
  const long long max_chunks = num_arcs / FRONTIER_CHUNK * 2 + 4;
  int *is_in_far_queue = marks + num_vertices;
  u64 *far_lengths = (u64 *)(counters + 12);
  long long round = 0, barriers = 0, splits = 0, expanded = 0, num_rounds = 0;
  const double first_step = delta;
  double bound = fmin(delta, stop);
  bool has_expanded = true;

  auto begin_round = [&]() {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      *counters_of(counters, round + 2) = Counters{0, 0, 0, 0};
    Counters *next_counters = counters_of(counters, round + 1);
    const long long parity = (round + 1) & 1;
    return Next{{buffers[warp], 0, queues + parity * num_vertices, &next_counters->num_queued},
                next_counters,
                chunks + parity * max_chunks,
                offsets,
                0};
  };
  auto far_queue = [&](long long split) {
    return Appender{buffers[COOPERATIVE_THREADS / WARP + warp], 0,
                    queues + (2 + (split & 1)) * num_vertices, far_lengths + split % 3};
  };

  {
    Next next = begin_round();
    next.take_all(sources, num_sources);
    grid_barrier(arrived_blocks, ++barriers);
    round++;
  }

  for (;;) {
    const Counters *round_counters = counters_of(counters, round);
    const long long num_queued = __ldcg(&round_counters->num_queued),
                    num_chunks = __ldcg(&round_counters->num_chunks);
    if (num_queued + num_chunks > 0) {
      Next next = begin_round();
      Appender far = far_queue(splits);
      const int stamp = (int)round + 1;
      expand(
          queues + (round & 1) * num_vertices, num_queued, chunks + (round & 1) * max_chunks,
          num_chunks, offsets, [&](const bool *is_valid, const long long *arc, const int *owner) {
            int neighbor[BATCH];
            double new_distance[BATCH], old_distance[BATCH];
            bool is_near[BATCH], is_far[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
              neighbor[k] = is_valid[k] ? neighbors[arc[k]] : -1;
              new_distance[k] =
                  is_valid[k] ? __ldcg(distances + owner[k]) + (double)weights[arc[k]] : 0.0;
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++)
              old_distance[k] = is_valid[k] ? distances[neighbor[k]] : 0.0;
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
              const bool shorter = new_distance[k] < old_distance[k] && new_distance[k] <= cutoff;
              if (shorter) old_distance[k] = lower(distances + neighbor[k], new_distance[k]);
              is_near[k] = shorter && new_distance[k] < old_distance[k] && new_distance[k] < bound;
              is_far[k] =
                  shorter && new_distance[k] < old_distance[k] && !(new_distance[k] < bound);
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
              if (is_near[k]) is_near[k] = atomicExch(&marks[neighbor[k]], stamp) != stamp;
              if (is_far[k]) is_far[k] = atomicExch(&is_in_far_queue[neighbor[k]], 1) == 0;
            }
            next.take<BATCH>(is_near, neighbor);
#pragma unroll
            for (int k = 0; k < BATCH; k++) far.append(is_far[k], neighbor[k]);
          });
      next.finish();
      far.flush(far.count);
      grid_barrier(arrived_blocks, ++barriers);
      round++;
      expanded += num_queued + num_chunks;
      num_rounds++;
      has_expanded = true;
      continue;
    }

    const long long num_far = __ldcg(far_lengths + splits % 3);
    if (num_far == 0 || bound >= stop) break;
    if (are_settled(num_targets, targets, distances, bound)) break;
    if (num_rounds && expanded < num_rounds * GROW_BELOW) delta *= 2;
    if (num_rounds && expanded > num_rounds * SHRINK_ABOVE && delta > first_step) delta /= 2;
    expanded = num_rounds = 0;
    const double old_bound = bound;
    const double min_far = has_expanded ? bound : __ldcg(min_distance + (splits + 2) % 3);
    bound = fmin(fmax(min_far + delta, nextafter(min_far, INFINITE)), stop);
    Next next = begin_round();
    Appender far = far_queue(splits + 1);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      far_lengths[(splits + 2) % 3] = 0;
      min_distance[(splits + 1) % 3] = INFINITE;
    }
    const int *queue = queues + (2 + (splits & 1)) * num_vertices;
    double my_min = INFINITE;
    for (long long first = warp_id() * WARP; first < num_far; first += warp_count() * WARP) {
      const bool is_valid = first + lane < num_far;
      const int candidate[1] = {is_valid ? queue[first + lane] : 0};
      const double distance = is_valid ? __ldcg(distances + candidate[0]) : 0.0;
      const bool is_near[1] = {is_valid && distance >= old_bound && distance < bound};
      const bool is_far = is_valid && distance >= bound;
      if (is_valid && !is_far) is_in_far_queue[candidate[0]] = 0;
      if (is_far) my_min = fmin(my_min, distance);
      next.take<1>(is_near, candidate);
      far.append(is_far, candidate[0]);
    }
    next.finish();
    far.flush(far.count);
    for (int half = WARP / 2; half > 0; half /= 2)
      my_min = fmin(my_min, __shfl_xor_sync(FULL_MASK, my_min, half));
    if (lane == 0) lower(min_distance + splits % 3, my_min);
    grid_barrier(arrived_blocks, ++barriers);
    round++;
    splits++;
    has_expanded = false;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[0] = round;
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

// remaining[v] = v has been reached and has no predecessor.
extern "C" __global__ void mark_remaining(long long num_vertices, const double *distances,
                                          const int *predecessors, bool *remaining) {
  STRIDE(vertex, num_vertices)
  remaining[vertex] = predecessors[vertex] == NO_VERTEX && distances[vertex] < INFINITE;
}
