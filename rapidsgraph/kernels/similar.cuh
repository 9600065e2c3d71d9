// Comparison of similarities: exact against a threshold, and by level for sorting.

#include "grid.cuh"

// Adjacency lists with common-neighbor counts and sizes of closed neighborhoods; lists may be in
// descending order of similarity level.
struct Neighborhoods {
  const long long *offsets;
  const int *neighbors, *common, *sizes;
  u64 numerator, denominator;
  long long floor;

  // Whether (common / sqrt(size * other))^2 is at least numerator / denominator: integers below
  // 2^62, so their products have 128 bits.
  __device__ __forceinline__ bool similar(int row, long long arc) const {
    const u64 shared = common[arc], square = shared * shared;
    const u64 product = (u64)sizes[row] * (u64)sizes[neighbors[arc]];
    const u64 high = __umul64hi(square, denominator), other_high = __umul64hi(numerator, product);
    return high > other_high || (high == other_high && square * denominator >= numerator * product);
  }

  __device__ __forceinline__ int level(int row, long long arc) const {
    const double product = (double)sizes[row] * (double)sizes[neighbors[arc]];
    return min((int)(common[arc] / sqrt(product) * SIMILARITY_LEVELS), SIMILARITY_LEVELS - 1);
  }

  // Whether neither this arc nor any after it is similar, in a list in descending order of level;
  // similar arcs have at least the level `floor`. In other lists floor is 0.
  __device__ __forceinline__ bool ends(int row, long long arc) const {
    return floor > 0 && level(row, arc) < floor;
  }
};

// The core that a border is most similar to, ties by smallest id; -1 before there is one.
struct NearestCore {
  int core = -1, common = 0, size = 1;

  // Whether common^2 / size of another core is above that of this one, or the same and its id is
  // lower.
  __device__ __forceinline__ bool is_behind(int other_core, int other_common,
                                            int other_size) const {
    if (core == -1 || other_core == -1) return other_core != -1;
    const u64 square = (u64)other_common * other_common, other = (u64)common * common;
    const u64 high = __umul64hi(square, size), other_high = __umul64hi(other, other_size);
    if (high != other_high) return high > other_high;
    const u64 low = square * size, other_low = other * other_size;
    return low > other_low || (low == other_low && other_core < core);
  }

  __device__ __forceinline__ void update(int other_core, int other_common, int other_size) {
    if (is_behind(other_core, other_common, other_size))
      core = other_core, common = other_common, size = other_size;
  }

  // The nearest core of a whole warp, in every lane; every lane must call it.
  __device__ __forceinline__ void reduce_warp() {
    for (int step = WARP / 2; step > 0; step /= 2) {
      const int other_core = __shfl_xor_sync(FULL_MASK, core, step);
      const int other_common = __shfl_xor_sync(FULL_MASK, common, step);
      update(other_core, other_common, __shfl_xor_sync(FULL_MASK, size, step));
    }
  }
};
