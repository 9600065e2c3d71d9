// Binary search.

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
