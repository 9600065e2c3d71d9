// Hash tables with open addressing, with a count of each key.

#define EMPTY (-1)

// Return the high bits of a product, by which a key gets its first slot: 32 - shift of them.
__device__ __forceinline__ unsigned hash(int key, int shift) {
  return (unsigned)key * 2654435761u >> shift;
}

// A table in shared memory of a list of distinct keys, with at least twice as many slots as keys.
// Longer lists are stored block by block.
struct Table {
  int *keys, *counts;
  int mask, shift;

  __device__ __forceinline__ int slot(int key) const {
    int slot = hash(key, shift);
    while (true) {
      const int stored_key = keys[slot];
      if (stored_key == key || stored_key == EMPTY) return slot;
      slot = (slot + 1) & mask;
    }
  }
  __device__ __forceinline__ void clear(int thread, int num_threads) {
    for (int i = thread; i <= mask; i += num_threads) keys[i] = EMPTY, counts[i] = 0;
  }
  // Return the slot of a key that is not in the table yet.
  __device__ __forceinline__ int insert(int key) const {
    int slot = hash(key, shift);
    while (atomicCAS(&keys[slot], EMPTY, key) != EMPTY) slot = (slot + 1) & mask;
    return slot;
  }
  // Set the number of slots, a power of two from 32: four times as many as keys or more, unless
  // max_slots are fewer. `size` is the number of keys, at most max_slots / 2.
  __device__ __forceinline__ void fit(int size, int max_slots) {
    int bits = 5;
    while ((1 << bits) < 4 * size && (2 << bits) <= max_slots) bits++;
    mask = (1 << bits) - 1;
    shift = 32 - bits;
  }
};
