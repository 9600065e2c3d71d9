// Reddy's implementation III of PageRank: sums by warps, with and without child kernels.
//
// One iteration computes
//   new_values[v] = damping * sum over edges (u, v) of contributions[u] + base,
//   new_contributions[v] = new_values[v] / out_weights[v],
// in single precision as the paper does. The lists are by destination, the out_weights of a dangling
// vertex is 1, the device allows as many pending launches as there are vertices, and failures[0] is
// initially 0.
//
// Reference: Reddy, chapter 7. Listing 7.1 is sum_list, with zeros in the idle lanes of a list's last
// warp, and several rounds for lists longer than a block. A child also finishes its vertex: a parent
// cannot wait for its children, and the next iteration waits for both.

#define WARP 32
#define MAX_CHILD_THREADS 1024
#ifndef cudaStreamFireAndForget
#define cudaStreamFireAndForget ((cudaStream_t)0x4)
#endif

__device__ __forceinline__ float sum_list(long long start, long long stop, const int *neighbors,
                                          const float *contributions) {
  __shared__ float block_sum;
  float sum = 0.0f;
  for (long long edge = start + threadIdx.x; edge < stop; edge += blockDim.x)
    sum += contributions[neighbors[edge]];
  for (int offset = WARP / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x == 0) block_sum = 0.0f;
  __syncthreads();
  if (threadIdx.x % WARP == 0) atomicAdd(&block_sum, sum);
  __syncthreads();
  return block_sum;
}

__device__ __forceinline__ void store_vertex(long long vertex, float sum, double damping,
                                             double base, const float *out_weights,
                                             float *new_contributions, float *new_values) {
  const float value = (float)damping * sum + (float)base;
  new_values[vertex] = value;
  new_contributions[vertex] = value / out_weights[vertex];
}

// One block per vertex.
extern "C" __global__ void sum_in_blocks(long long vertices, const long long *offsets,
                                         const int *neighbors, const float *out_weights,
                                         double damping, double base, const float *contributions,
                                         float *new_contributions, float *new_values) {
  const long long vertex = blockIdx.x;
  if (vertex >= vertices) return;
  const float sum = sum_list(offsets[vertex], offsets[vertex + 1], neighbors, contributions);
  if (threadIdx.x == 0)
    store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_values);
}

#ifdef CHILD_KERNELS  // needs relocatable device code and the device runtime
extern "C" __global__ void sum_in_child(long long vertex, long long start, long long stop,
                                        const int *neighbors, const float *out_weights,
                                        double damping, double base, const float *contributions,
                                        float *new_contributions, float *new_values) {
  const float sum = sum_list(start, stop, neighbors, contributions);
  if (threadIdx.x == 0)
    store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_values);
}

// One thread per vertex. It sums a list of at most `max_inline` neighbors itself, and launches a child
// for a longer one. failures[0] counts refused launches, failures[1] is the last error.
extern "C" __global__ void sum_in_children(long long vertices, long long max_inline,
                                           const long long *offsets, const int *neighbors,
                                           const float *out_weights, double damping, double base,
                                           const float *contributions, float *new_contributions,
                                           float *new_values, int *failures) {
  const long long vertex = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (vertex >= vertices) return;
  const long long start = offsets[vertex], stop = offsets[vertex + 1];
  if (stop - start > max_inline) {
    const long long threads = min((stop - start + WARP - 1) / WARP * WARP, (long long)MAX_CHILD_THREADS);
    sum_in_child<<<1, (unsigned int)threads, 0, cudaStreamFireAndForget>>>(
        vertex, start, stop, neighbors, out_weights, damping, base, contributions, new_contributions,
        new_values);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
      atomicAdd(failures, 1);
      failures[1] = (int)error;
    }
    return;
  }
  float sum = 0.0f;
  for (long long edge = start; edge < stop; edge++) sum += contributions[neighbors[edge]];
  store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_values);
}
#endif
