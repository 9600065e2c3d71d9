// A hash table in shared memory, with a count of each key.

#define EMPTY (-1)

// A block of a vertex's upper list in shared memory: open addressing, at most half full.
struct Table {
  int *keys, *counts;
  int mask, shift;

  __device__ __forceinline__ int slot(int key) const {
    int slot = (unsigned)key * 2654435761u >> shift;
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
    int slot = (unsigned)key * 2654435761u >> shift;
    while (atomicCAS(&keys[slot], EMPTY, key) != EMPTY) slot = (slot + 1) & mask;
    return slot;
  }
  // Use the fewest slots, at most max_slots, of which three quarters stay empty.
  __device__ __forceinline__ void fit(int size, int max_slots) {
    int bits = 5;
    while ((1 << bits) < 4 * size && (2 << bits) <= max_slots) bits++;
    mask = (1 << bits) - 1;
    shift = 32 - bits;
  }
};
