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
// https://doi.org/10.1007/s10766-017-0533-y (section 4.5.1: shared memory; section 2: the flag).
// The package's grid.cuh precedes this text, and CHUNK_EDGES, the edges that a block processes at a
// time in shared memory, is passed with -D.

template <class Layer>
__device__ __forceinline__ void each_layer(long long start_level, long long stop_level,
                                           int *changed, unsigned long long *num_arrived,
                                           Layer layer) {
  for (long long level = start_level; level < stop_level; level++) {
    const bool has_changed = layer(level);
    if (__syncthreads_or(has_changed) && threadIdx.x == 0) changed[level] = 1;
    if (level + 1 == stop_level) break;
    grid_barrier(num_arrived, (unsigned long long)(level - start_level + 1));
    if (!__ldcg(changed + level)) break;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    search(long long start_level, long long stop_level, const long long *layer_starts,
           const int *sources, const int *destinations, int *distances, int *changed, unsigned long long *num_arrived) {
  each_layer(start_level, stop_level, changed, num_arrived, [=](long long level) {
    bool has_changed = false;
    const long long start = layer_starts[level], count = layer_starts[level + 1] - start;
    STRIDE(i, count) {
      const int destination = destinations[start + i];
      if (__ldcg(distances + sources[start + i]) != level) continue;
      if (__ldcg(distances + destination) != -1) continue;
      distances[destination] = (int)level + 1;
      has_changed = true;
    }
    return has_changed;
  });
}

// The same with the distances of a chunk's destinations in shared memory. Chunk c has the edges
// from chunk_starts[c]; its distinct destinations are local_vertices from vertex_starts[c], which
// local_ids index. Layer l has the chunks from layer_chunks[l].
extern "C" __global__ void __launch_bounds__(1024)
    search_in_shared(long long start_level, long long stop_level, const long long *layer_chunks,
                     const long long *chunk_starts, const long long *vertex_starts,
                     const int *local_vertices, const int *sources, const unsigned short *local_ids,
                     int *distances, int *changed, unsigned long long *num_arrived) {
  __shared__ int values[CHUNK_EDGES];
  each_layer(start_level, stop_level, changed, num_arrived, [=](long long level) {
    bool has_changed = false;
    const int next = (int)level + 1;
    for (long long chunk = layer_chunks[level] + blockIdx.x; chunk < layer_chunks[level + 1];
         chunk += gridDim.x) {
      const int *vertices = local_vertices + vertex_starts[chunk];
      const int count = (int)(vertex_starts[chunk + 1] - vertex_starts[chunk]);
      for (int i = threadIdx.x; i < count; i += blockDim.x)
        values[i] = __ldcg(distances + vertices[i]);
      __syncthreads();
      const long long stop = chunk_starts[chunk + 1];
      for (long long edge = chunk_starts[chunk] + threadIdx.x; edge < stop; edge += blockDim.x) {
        if (__ldcg(distances + sources[edge]) != level || values[local_ids[edge]] != -1) continue;
        values[local_ids[edge]] = next;
        has_changed = true;
      }
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += blockDim.x)
        if (values[i] == next) distances[vertices[i]] = next;
    }
    return has_changed;
  });
}
