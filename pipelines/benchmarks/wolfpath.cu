// BFS over layers of edges, one after the other, in one launch or in one launch per layer.
//
// The edges of layer l are [layer_starts[l], layer_starts[l + 1]). A source at distance l sets
// distance l + 1 of destinations that have none, and then changed[l] = 1. The kernel processes the
// layers [start_level, stop_level) until one changes nothing.
//
// Initially distances are -1, the root's is 0, and changed and num_arrived are 0. A launch with
// stop_level > start_level + 1 is cooperative.
//
// Reference: H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
// algorithms on GPU", Int. J. Parallel Program. 47, 2019.
// https://doi.org/10.1007/s10766-017-0533-y, section 2. The package's grid.cuh precedes this text.

extern "C" __global__ void __launch_bounds__(1024)
    search(long long start_level, long long stop_level, const long long *layer_starts,
           const int *sources, const int *destinations, int *distances, int *changed,
           unsigned long long *num_arrived) {
  for (long long level = start_level; level < stop_level; level++) {
    bool has_changed = false;
    const long long start = layer_starts[level], count = layer_starts[level + 1] - start;
    STRIDE(i, count) {
      const int destination = destinations[start + i];
      if (__ldcg(distances + sources[start + i]) != level) continue;
      if (__ldcg(distances + destination) != -1) continue;
      distances[destination] = (int)level + 1;
      has_changed = true;
    }
    if (__syncthreads_or(has_changed) && threadIdx.x == 0) changed[level] = 1;
    if (level + 1 == stop_level) break;
    grid_barrier(num_arrived, (unsigned long long)(level - start_level + 1));
    if (!__ldcg(changed + level)) break;
  }
}
