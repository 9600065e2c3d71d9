// Reddy's implementation III of PageRank: sums by warps, in child kernels and without.
//
// Means: one iteration makes  rank'[v] = damping * sum over edges (u, v) of contribution[u] + base
//   and contribution'[v] = rank'[v] / out_weights[v], in single precision, as the paper has it.
// Requires: lists by destination (offsets, neighbors); out_weights of a sink given as 1; as many
//   pending launches allowed as there are vertices; failed[0] = 0 before.
// Reference: Reddy, chapter 7. Listing 7.1 is sum_list, with what is left over of a list as zeros
//   in a warp's last lanes, and lists longer than a block in several rounds. A child also finishes
//   its vertex: a parent cannot wait for its children, and the next iteration waits for both.

#define WARP 32
#define MOST 1024  // threads of a child
#ifndef cudaStreamFireAndForget
#define cudaStreamFireAndForget ((cudaStream_t)0x4)
#endif

__device__ __forceinline__ float sum_list(long long begin, long long end, const int *neighbors,
                                          const float *contributions) {
  __shared__ float block_sum;
  float sum = 0.0f;
  for (long long edge = begin + threadIdx.x; edge < end; edge += blockDim.x)
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
                                             float *new_contributions, float *new_ranks) {
  const float rank = (float)damping * sum + (float)base;
  new_ranks[vertex] = rank;
  new_contributions[vertex] = rank / out_weights[vertex];
}

// A block for each vertex.
extern "C" __global__ void sum_in_blocks(long long vertices, const long long *offsets,
                                         const int *neighbors, const float *out_weights,
                                         double damping, double base, const float *contributions,
                                         float *new_contributions, float *new_ranks) {
  const long long vertex = blockIdx.x;
  if (vertex >= vertices) return;
  const float sum = sum_list(offsets[vertex], offsets[vertex + 1], neighbors, contributions);
  if (threadIdx.x == 0)
    store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_ranks);
}

#ifdef CHILDREN  // needs relocatable device code and the device runtime
extern "C" __global__ void sum_in_child(long long vertex, long long begin, long long end,
                                        const int *neighbors, const float *out_weights,
                                        double damping, double base, const float *contributions,
                                        float *new_contributions, float *new_ranks) {
  const float sum = sum_list(begin, end, neighbors, contributions);
  if (threadIdx.x == 0)
    store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_ranks);
}

// A thread for each vertex. It sums a list of at most `shortest` itself, and launches a child for a
// longer one. failed counts launches that were refused, and has the last error.
extern "C" __global__ void sum_in_children(long long vertices, long long shortest,
                                           const long long *offsets, const int *neighbors,
                                           const float *out_weights, double damping, double base,
                                           const float *contributions, float *new_contributions,
                                           float *new_ranks, int *failed) {
  const long long vertex = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (vertex >= vertices) return;
  const long long begin = offsets[vertex], end = offsets[vertex + 1];
  if (end - begin > shortest) {
    const long long threads = min((end - begin + WARP - 1) / WARP * WARP, (long long)MOST);
    sum_in_child<<<1, (unsigned int)threads, 0, cudaStreamFireAndForget>>>(
        vertex, begin, end, neighbors, out_weights, damping, base, contributions, new_contributions,
        new_ranks);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
      atomicAdd(failed, 1);
      failed[1] = (int)error;
    }
    return;
  }
  float sum = 0.0f;
  for (long long edge = begin; edge < end; edge++) sum += contributions[neighbors[edge]];
  store_vertex(vertex, sum, damping, base, out_weights, new_contributions, new_ranks);
}
#endif
