// Binary search, and ranks of a few keys.

// Return the first index in list[start .. stop), ascending, whose item is not below `key`.
template <class T>
__device__ __forceinline__ long long position(const T *list, long long start, long long stop,
                                              T key) {
  while (start < stop) {
    const long long middle = (start + stop) / 2;
    if (list[middle] < key)
      start = middle + 1;
    else
      stop = middle;
  }
  return start;
}

// Call visit(key, rank) for each of distinct keys, where rank is the number of smaller keys. All
// threads of a block call it.
template <class Visit>
__device__ __forceinline__ void rank_in_block(const long long *keys, int count, Visit visit) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int rank = 0;
    for (int k = 0; k < count; k++) rank += keys[k] < keys[i];
    visit(keys[i], rank);
  }
}
