// Sums of weights by key, such as those of the arcs that leave each vertex.
//
// The result of atomic additions of floating-point numbers depends on their order, that of integers
// does not. find_largest, add_parts and join_parts therefore split each weight into two integers:
// multiples of 2^(e - SUM_HIGH_BITS), and of 2^SUM_LOW_BITS times less, where 2^e is the largest
// power of 2 that the largest absolute weight of the key reaches. A key has at most 2^31 items.
// Reference: Demmel, Nguyen, ARITH 2013, https://doi.org/10.1109/ARITH.2013.9 (reproducible sums).

#include "grid.cuh"

#ifndef weight_t
#define weight_t double
#endif

// sums[key] += weight of every item with that key, or 1; independent of the order for integers.
extern "C" __global__ void sum_by_key(long long num_items, const int *keys, const weight_t *weights,
                                      long long weighted, double *sums) {
  STRIDE(i, num_items) atomicAdd(sums + keys[i], weighted ? (double)weights[i] : 1.0);
}

// largest[key] = max(largest[key], |weight| of every item with that key).
extern "C" __global__ void find_largest(long long num_items, const int *keys,
                                        const weight_t *weights, double *largest) {
  STRIDE(i, num_items) {
    u64 *const address = (u64 *)(largest + keys[i]);
    // Non-negative doubles have the order of their bits.
    const u64 bits = (u64)__double_as_longlong(fabs((double)weights[i]));
    if (bits > *address) atomicMax(address, bits);  // a read is cheaper than a contended write
  }
}

// high[key], low[key] += the parts of every weight with that key.
extern "C" __global__ void add_parts(long long num_items, const int *keys, const weight_t *weights,
                                     const double *largest, long long *high, long long *low) {
  STRIDE(i, num_items) {
    const double weight = (double)weights[i];
    if (weight == 0) continue;
    const int key = keys[i];
    const double scaled = scalbn(weight, SUM_HIGH_BITS - ilogb(largest[key]));
    const double whole = rint(scaled);
    const long long rest = llrint(scalbn(scaled - whole, SUM_LOW_BITS));
    if (whole != 0) atomicAdd((u64 *)high + key, (u64)(long long)whole);
    if (rest != 0) atomicAdd((u64 *)low + key, (u64)rest);
  }
}

// sums[key] = the sum of the weights with that key, the largest of which it is before.
extern "C" __global__ void join_parts(long long num_keys, const long long *high,
                                      const long long *low, double *sums) {
  STRIDE(key, num_keys) {
    if (sums[key] == 0) continue;
    const int exponent = ilogb(sums[key]) - SUM_HIGH_BITS;
    const long long carry = low[key] >> SUM_LOW_BITS;
    const long long rest = low[key] & ((1ll << SUM_LOW_BITS) - 1);
    sums[key] = scalbn((double)(high[key] + carry) + scalbn((double)rest, -SUM_LOW_BITS), exponent);
  }
}
