// The second half of a hybrid radix sort of pairs of keys by (major, minor).
//
// One pass of radix_sort.cu has put pairs into buckets of consecutive major keys. A block sorts
// each bucket in shared memory: by major key through counting, and then the pairs of each key by a
// thread, a warp or the block. A radix sort moves all pairs once per digit; this one moves them
// twice.
//
// Reference: E. Stehle, H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs",
// SIGMOD 2017. https://arxiv.org/abs/1611.01137

#include "grid.cuh"

#ifndef position_t
#define position_t bool
#endif

#define MAX_LONG_KEYS (MAX_BUCKET_PAIRS / BUCKET_WARP_SIZE)  // keys that the block sorts
#define WITH_POSITIONS (sizeof(position_t) == 4)  // position_t is bool if no order is wanted

// A minor key, or in 64 bits the minor key and then the position of the pair, so that pairs of
// equal keys keep their order.
template <bool HAS_POSITION>
struct ItemType {
  typedef int type;
};
template <>
struct ItemType<true> {
  typedef long long type;
};
typedef ItemType<WITH_POSITIONS>::type item_t;

__device__ __forceinline__ int minor_of(int item) { return item; }
__device__ __forceinline__ int minor_of(long long item) { return (int)(item >> 32); }

__device__ __forceinline__ void sort_by_insertion(item_t *items, int size) {
  for (int i = 1; i < size; i++) {
    const item_t item = items[i];
    int to = i;
    for (; to > 0 && items[to - 1] > item; to--) items[to] = items[to - 1];
    items[to] = item;
  }
}

// Sort items by a bitonic network, as if they were padded to a power of two by the largest ones.
// num_threads threads call it, of which `synchronize` is a barrier.
template <typename Synchronize>
__device__ __forceinline__ void sort_by_network(item_t *items, int size, int thread,
                                                int num_threads, Synchronize synchronize) {
  for (int half = 1; half < size; half *= 2) {  // of the lists to merge
    for (int distance = half; distance > 0; distance /= 2) {
      for (int pair = thread;; pair += num_threads) {
        const int low = 2 * pair - (pair & (distance - 1));
        if (low >= size) break;
        // The first step compares two lists from the outside in, so that all lists ascend.
        const int high = distance == half ? low ^ (2 * half - 1) : low + distance;
        if (high >= size) continue;
        const item_t first = items[low], second = items[high];
        if (second < first) {
          items[low] = second;
          items[high] = first;
        }
      }
      synchronize();
    }
  }
}

// The number of items from `thread` on, in steps, whose minor key repeats that of the item before.
__device__ __forceinline__ int count_repeated(const item_t *items, int size, int thread,
                                              int num_threads) {
  int repeated = 0;
  for (int i = thread + 1; i < size; i += num_threads)
    repeated += minor_of(items[i]) == minor_of(items[i - 1]);
  return repeated;
}

// Calls visit(i, pair) for the pairs of a block's bucket; several loads are under way at a time.
template <typename Visit>
__device__ __forceinline__ void visit_pairs(const long long *pairs, int size, Visit visit) {
  for (int base = threadIdx.x; base < size; base += BUCKET_BATCH * COOPERATIVE_THREADS) {
    long long batch[BUCKET_BATCH];
#pragma unroll
    for (int k = 0; k < BUCKET_BATCH; k++) {
      const int i = base + k * COOPERATIVE_THREADS;
      batch[k] = i < size ? pairs[i] : 0;
    }
#pragma unroll
    for (int k = 0; k < BUCKET_BATCH; k++) {
      const int i = base + k * COOPERATIVE_THREADS;
      if (i < size) visit(i, batch[k]);
    }
  }
}

// Block b sorts the pairs whose major key >> bucket_bits is b: histogram[b] of them, after those
// of lower buckets. offsets[k] becomes the number of pairs whose major key is below k, and `minor`
// and `order` the minor keys and positions of all pairs. num_distinct[0] += distinct pairs. The
// minor keys are below 2^minor_bits. Shared memory has an item for each pair of the largest bucket,
// and 2^bucket_bits int.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    sort_buckets(long long num_keys, long long minor_bits, long long bucket_bits,
                 long long capacity, const long long *histogram, const long long *packed,
                 const position_t *positions, long long *offsets, int *minor, position_t *order,
                 long long *num_distinct) {
  extern __shared__ long long shared_memory[];
  __shared__ int long_keys[MAX_LONG_KEYS];
  __shared__ int num_long;
  item_t *items = (item_t *)shared_memory;
  int *ends = (int *)(items + capacity);  // of the pairs of each key in the bucket
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int size = (int)histogram[blockIdx.x], num_own = 1 << bucket_bits;
  const long long first = block_sum(threadIdx.x < blockIdx.x ? histogram[threadIdx.x] : 0);
  for (int key = threadIdx.x; key < num_own; key += COOPERATIVE_THREADS) ends[key] = 0;
  if (threadIdx.x == 0) num_long = 0;
  __syncthreads();

  const auto key_of = [=](long long pair) { return (int)(pair >> minor_bits) & (num_own - 1); };
  visit_pairs(packed + first, size,
              [=](int, long long pair) { atomicAdd(ends + key_of(pair), 1); });
  __syncthreads();
  long long before = 0;
  for (int base = 0; base < num_own; base += COOPERATIVE_THREADS) {
    const int key = base + threadIdx.x;
    long long total;
    const long long start = before + scan_block(key < num_own ? ends[key] : 0, &total);
    if (key < num_own) {
      ends[key] = (int)start;
      const long long whole_key = (blockIdx.x * (long long)num_own) + key;
      if (whole_key <= num_keys) offsets[whole_key] = first + start;
    }
    before += total;
  }
  if (threadIdx.x == 0 && (blockIdx.x + 1ll) * num_own == num_keys)
    offsets[num_keys] = first + size;
  __syncthreads();
  visit_pairs(packed + first, size, [=](int i, long long pair) {
    const long long key = pair & ((1ll << minor_bits) - 1);
    const item_t item =
        WITH_POSITIONS ? (item_t)((u64)key << 32 | (u64)positions[first + i]) : (item_t)key;
    items[atomicAdd(ends + key_of(pair), 1)] = item;
  });
  __syncthreads();

  long long repeated = 0;
  // All warps share the keys even if there are few.
  const int warp_keys = max(1, min(WARP, num_own / (COOPERATIVE_THREADS / WARP)));
  for (int base = warp * warp_keys; base < num_own;
       base += COOPERATIVE_THREADS / WARP * warp_keys) {
    const int key = base + lane;
    const bool is_own = lane < warp_keys && key < num_own;
    const int start = is_own && key ? ends[key - 1] : 0, length = is_own ? ends[key] - start : 0;
    if (length <= BUCKET_THREAD_SIZE) {
      sort_by_insertion(items + start, length);
      repeated += count_repeated(items + start, length, 0, 1);
    } else if (length > BUCKET_WARP_SIZE) {
      long_keys[atomicAdd(&num_long, 1)] = key;
    }
    for (unsigned rest =
             __ballot_sync(FULL_MASK, length > BUCKET_THREAD_SIZE && length <= BUCKET_WARP_SIZE);
         rest; rest &= rest - 1) {
      const int owner = __ffs(rest) - 1, own_length = __shfl_sync(FULL_MASK, length, owner);
      item_t *own = items + __shfl_sync(FULL_MASK, start, owner);
      sort_by_network(own, own_length, lane, WARP, [] { __syncwarp(); });
      repeated += count_repeated(own, own_length, lane, WARP);
    }
  }
  __syncthreads();
  for (int index = 0; index < num_long; index++) {
    const int key = long_keys[index], start = key ? ends[key - 1] : 0, length = ends[key] - start;
    sort_by_network(items + start, length, threadIdx.x, COOPERATIVE_THREADS,
                    [] { __syncthreads(); });
    repeated += count_repeated(items + start, length, threadIdx.x, COOPERATIVE_THREADS);
  }
  for (int i = threadIdx.x; i < size; i += COOPERATIVE_THREADS) {
    minor[first + i] = minor_of(items[i]);
    if (WITH_POSITIONS) order[first + i] = (position_t)items[i];
  }
  long long distinct = (threadIdx.x == 0 ? size : 0) - repeated;
  add_of_block(distinct, num_distinct);
}
