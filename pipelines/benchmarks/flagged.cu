// BFS over layers of edges, one after the other: the same work in one launch or in a launch a layer.
//
// Means: the edges of layer l are those from layer_starts[l] to before layer_starts[l + 1]; sources
//   that have distance l give their destinations l + 1, and changed[l] = 1 where one had none.
//   Layers from `first` to before `last` take their turn, until one changes nothing.
// Requires: distances -1, that of the root 0; changed and arrived 0. With `last` beyond first + 1
//   the launch is cooperative.
// Reference: Zhu et al. 2017 (WolfPath: section 4.5.1 on shared memory; section 2 on the flag).
//   grid.cuh of the package comes before this text.

#define CHUNK 2048  // edges that a block takes at a time, in shared memory; flagged.py agrees

template <class Layer>
__device__ __forceinline__ void each_layer(long long first, long long last, int *changed,
                                           unsigned long long *arrived, Layer layer) {
  for (long long level = first; level < last; level++) {
    const bool found = layer(level);
    if (__syncthreads_or(found) && threadIdx.x == 0) changed[level] = 1;
    if (level + 1 == last) break;
    grid_barrier(arrived, (unsigned long long)(level - first + 1));
    if (!__ldcg(changed + level)) break;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    search(long long first, long long last, const long long *layer_starts, const int *sources,
           const int *destinations, int *distances, int *changed, unsigned long long *arrived) {
  each_layer(first, last, changed, arrived, [=](long long level) {
    bool found = false;
    const long long start = layer_starts[level], count = layer_starts[level + 1] - start;
    STRIDE(i, count) {
      const int destination = destinations[start + i];
      if (__ldcg(distances + sources[start + i]) != level) continue;
      if (__ldcg(distances + destination) != -1) continue;
      distances[destination] = (int)level + 1;
      found = true;
    }
    return found;
  });
}

// The same with the distances of a chunk's destinations in shared memory: chunk c has the edges
// from chunk_starts[c], whose destinations are local_vertices from vertex_starts[c] on, each once;
// places says which of these. Layer l has the chunks from layer_chunks[l].
extern "C" __global__ void __launch_bounds__(1024)
    search_in_shared(long long first, long long last, const long long *layer_chunks,
                     const long long *chunk_starts, const long long *vertex_starts,
                     const int *local_vertices, const int *sources, const unsigned short *places,
                     int *distances, int *changed, unsigned long long *arrived) {
  __shared__ int values[CHUNK];
  each_layer(first, last, changed, arrived, [=](long long level) {
    bool found = false;
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
        if (__ldcg(distances + sources[edge]) != level || values[places[edge]] != -1) continue;
        values[places[edge]] = next;
        found = true;
      }
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += blockDim.x)
        if (values[i] == next) distances[vertices[i]] = next;
    }
    return found;
  });
}
