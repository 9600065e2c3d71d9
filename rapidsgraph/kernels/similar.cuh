// Comparison of similarities: exact against a threshold, and by level for sorting.

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
