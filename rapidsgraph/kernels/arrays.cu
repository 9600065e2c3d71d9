// Operations of arrays. CuPy has them, but compiles each one for each type, with its headers, on
// its first use, which takes several times as long as a kernel without headers.
//
// sum_ranges, accumulate and list_nonzero divide values into ranges of equal size, a block each.
// The second pass begins with the sum over the ranges before its own.

#include "grid.cuh"
#include "limits.cuh"

#define ITEMS 4  // consecutive values that a thread sums

#ifndef value_t
#define value_t bool
#endif
#ifndef new_t
#define new_t double
#endif
#ifndef total_t
#define total_t int
#endif
#ifndef order_t
#define order_t int
#endif

// count[0] += number of values that are not 0. Flags, a byte each, are read eight at a time.
extern "C" __global__ void count_nonzero(long long num_values, const value_t *values,
                                         long long *count) {
  long long nonzero = 0, done = 0;
  if (sizeof(value_t) == 1 && (u64)values % sizeof(u64) == 0) {
    const u64 *words = (const u64 *)values;
    done = num_values / sizeof(u64);
    STRIDE(i, done) {  // sets the highest bit of each byte that is not 0
      const u64 low_bits = 0x7f7f7f7f7f7f7f7full, word = words[i];
      nonzero += __popcll((((word & low_bits) + low_bits) | word) & ~low_bits);
    }
    done *= sizeof(u64);
  }
  STRIDE(i, num_values - done) nonzero += values[done + i] != (value_t)0;
  add_of_block(nonzero, count);
}

// limits[0] = the largest complement, limits[1] = the largest value, of integers that are mapped to
// unsigned ones in the same order. Both are 0 before.
extern "C" __global__ void measure_range(long long num_values, const value_t *values,
                                         long long is_signed, unsigned long long *limits) {
  const long long stride = gridDim.x * (long long)blockDim.x;
  Limits own;
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  for (; i + 3 * stride < num_values; i += 4 * stride) {  // four loads are in flight
    const value_t first = values[i], second = values[i + stride];
    const value_t third = values[i + 2 * stride], fourth = values[i + 3 * stride];
    own.take(first, is_signed), own.take(second, is_signed);
    own.take(third, is_signed), own.take(fourth, is_signed);
  }
  for (; i < num_values; i += stride) own.take(values[i], is_signed);
  own.merge(limits);
}

// values[i] = value.
extern "C" __global__ void fill(long long num_values, double value, value_t *values) {
  STRIDE(i, num_values) values[i] = (value_t)value;
}

// values[i] = i.
extern "C" __global__ void fill_range(long long num_values, value_t *values) {
  STRIDE(i, num_values) values[i] = (value_t)i;
}

// values[indices[i]] = value.
extern "C" __global__ void put(long long num_indices, const int *indices, double value,
                               value_t *values) {
  STRIDE(i, num_indices) values[indices[i]] = (value_t)value;
}

// Bit i % 32 of words[i / 32] = flags[i]; count[0] += number of flags that are set.
extern "C" __global__ void pack_flags(long long num_flags, const bool *flags, unsigned int *words,
                                      long long *count) {
  const int lane = threadIdx.x % WARP;
  const long long stride = gridDim.x * (long long)blockDim.x;
  long long num_set = 0;
  for (long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x - lane; first < num_flags;
       first += stride) {
    const unsigned word = __ballot_sync(FULL_MASK, first + lane < num_flags && flags[first + lane]);
    if (lane == 0) {
      words[first / WARP] = word;
      num_set += __popc(word);
    }
  }
  add_of_block(num_set, count);
}

// A column that is null where integers[i] == null. with_column: column[i] = names[integers[i]], or
// integers[i] without names, and `other` for null. with_words: words and count as in pack_flags.
extern "C" __global__ void fill_nulls(long long num_values, const value_t *integers, long long null,
                                      long long with_names, const new_t *names, long long other,
                                      long long with_column, new_t *column, long long with_words,
                                      unsigned int *words, long long *count) {
  const int lane = threadIdx.x % WARP;
  const long long stride = gridDim.x * (long long)blockDim.x;
  long long num_valid = 0;
  for (long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x - lane;
       first < num_values; first += stride) {
    const long long i = first + lane;
    const value_t integer = i < num_values ? integers[i] : (value_t)null;
    const bool is_valid = (long long)integer != null;
    if (with_column && i < num_values)
      column[i] = !is_valid    ? (new_t)other
                  : with_names ? names[(long long)integer]
                               : (new_t)integer;
    if (!with_words) continue;
    const unsigned word = __ballot_sync(FULL_MASK, is_valid);
    if (lane == 0) {
      words[first / WARP] = word;
      num_valid += __popc(word);
    }
  }
  if (with_words) add_of_block(num_valid, count);
}

// new_values[i] = values[i] where flags[i], elsewhere `other`.
extern "C" __global__ void where(long long num_values, const bool *flags, const value_t *values,
                                 long long other, value_t *new_values) {
  STRIDE(i, num_values) new_values[i] = flags[i] ? values[i] : (value_t)other;
}

// positions[order[i]] = i.
extern "C" __global__ void invert_order(long long num_items, const order_t *order, int *positions) {
  STRIDE(i, num_items) positions[order[i]] = (int)i;
}

// flags[i] = low <= values[i] < high.
extern "C" __global__ void mark_range(long long num_values, const value_t *values, double low,
                                      double high, bool *flags) {
  STRIDE(i, num_values) {
    const double value = (double)values[i];
    flags[i] = value >= low && value < high;
  }
}

// count[0] += values that are not low <= value < high, such as NaN.
extern "C" __global__ void count_outside(long long num_values, const value_t *values, double low,
                                         double high, long long *count) {
  long long outside = 0;
  STRIDE(i, num_values) {
    const double value = (double)values[i];
    outside += !(value >= low && value < high);
  }
  add_of_block(outside, count);
}

// new_values[i] = values[i] of another type.
extern "C" __global__ void convert(long long num_values, const value_t *values, new_t *new_values) {
  STRIDE(i, num_values) new_values[i] = (new_t)values[i];
}

__device__ __forceinline__ long long range_size(long long num_values, long long num_ranges) {
  return (num_values + num_ranges - 1) / num_ranges;
}

// The sum over the ranges before one, the same in every thread of the block.
__device__ __forceinline__ long long sum_before(long long range, const long long *sums) {
  long long before = 0;
  for (long long i = threadIdx.x; i < range; i += blockDim.x) before += sums[i];
  return block_sum(before);
}

// sums[range] = sum of the values of every range, which are not negative.
extern "C" __global__ void sum_ranges(long long num_values, long long num_ranges,
                                      const value_t *values, long long *sums) {
  const long long size = range_size(num_values, num_ranges);
  for (long long range = blockIdx.x; range < num_ranges; range += gridDim.x) {
    const long long stop = min((range + 1) * size, num_values);
    long long sum = 0;
    for (long long i = range * size + threadIdx.x; i < stop; i += blockDim.x)
      sum += (long long)values[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[range] = sum;
  }
}

// totals = exclusive prefix sums of the values, followed by the sum of all. sums are those of
// sum_ranges; a single range needs none.
extern "C" __global__ void accumulate(long long num_values, long long num_ranges,
                                      const value_t *values, const long long *sums,
                                      total_t *totals) {
  const long long size = range_size(num_values, num_ranges);
  if (blockIdx.x == 0 && threadIdx.x == 0) totals[0] = 0;
  for (long long range = blockIdx.x; range < num_ranges; range += gridDim.x) {
    const long long stop = min((range + 1) * size, num_values);
    long long before = sum_before(range, sums);
    for (long long base = range * size; base < stop; base += ITEMS * blockDim.x) {
      const long long first = base + ITEMS * threadIdx.x;
      long long items[ITEMS], sum = 0, total;
      for (int k = 0; k < ITEMS; k++) {
        items[k] = first + k < stop ? (long long)values[first + k] : 0;
        sum += items[k];
      }
      long long lower = before + scan_block(sum, &total);
      for (int k = 0; k < ITEMS; k++) {
        lower += items[k];
        if (first + k < stop) totals[first + k + 1] = (total_t)lower;
      }
      before += total;
    }
  }
}

// positions[0 .. num_positions[0]) become the positions of flags, ascending. sums are as above.
extern "C" __global__ void list_nonzero(long long num_values, long long num_ranges,
                                        const bool *values, const long long *sums,
                                        total_t *positions, total_t *num_positions) {
  const long long size = range_size(num_values, num_ranges);
  for (long long range = blockIdx.x; range < num_ranges; range += gridDim.x) {
    const long long stop = min((range + 1) * size, num_values);
    long long before = sum_before(range, sums);
    for (long long base = range * size; base < stop; base += ITEMS * blockDim.x) {
      const long long first = base + ITEMS * threadIdx.x;
      long long total;
      int count = 0;
      for (int k = 0; k < ITEMS; k++) count += first + k < stop && values[first + k];
      long long next = before + scan_block(count, &total);
      for (int k = 0; k < ITEMS; k++)
        if (first + k < stop && values[first + k]) positions[next++] = (total_t)(first + k);
      before += total;
    }
    if (range == num_ranges - 1 && threadIdx.x == 0) *num_positions = (total_t)before;
  }
}
