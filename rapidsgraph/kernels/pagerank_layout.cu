// The layout of rows that `iterate` in pagerank.cu reads.
//
// Rows are vertices by descending in-degree (order); contribution_index maps a vertex to the index
// of its contribution. Units of work, each for one warp, largest first:
//   chunks: PAGERANK_CHUNK arcs of a long row; row r < num_long_rows has the chunks from
//           chunk_offsets[r] to chunk_offsets[r + 1];
//   rows:   num_long_rows <= r < num_whole_rows; row_offsets has num_whole_rows + 1 values;
//   slices: 32 rows each from num_whole_rows on, one row per lane, in column-major order and padded
//           to the longest with index num_contributions, whose contribution is 0.
//
// Entries: classify_rows, classify_values and rank_values prepare keys for sorts of vertices;
// propagate_labels gives vertices that are close to each other one label; measure_rows and
// list_chunks find the sizes of units, and `arrange` fills them. sum_first, normalize_weights and
// invert_weights take less time than CuPy's compilation of such operations. Counters are 0 before a
// launch.
//
// Reference: A. Monakov, A. Lokhmotov, A. Avetisyan, "Automatically tuning sparse matrix-vector
// multiplication for GPU architectures", HiPEAC 2010. https://doi.org/10.1007/978-3-642-11515-8_10
// (sliced ELLPACK).

#include "grid.cuh"
#include "search.cuh"

#ifndef value_t
#define value_t double
#endif
#ifndef weight_t
#define weight_t double
#endif

#define UNIT_ARCS 256  // of whole rows that a warp copies; more leave warps idle on small graphs
#define COPY_BATCH 8   // entries that a thread copies at once

// The class of a row, below 256, which ascends with its length: one for each length up to
// PAGERANK_EXACT_LENGTH, without and with out-edges; one for two lengths up to
// PAGERANK_MIDDLE_LENGTH; and one for each power of two above.
__device__ __forceinline__ int class_of_row(long long length, bool has_out_edges) {
  if (length <= PAGERANK_EXACT_LENGTH) return 2 * (int)length + has_out_edges;
  const int first = 2 * PAGERANK_EXACT_LENGTH + 2,
            middle = (PAGERANK_MIDDLE_LENGTH - PAGERANK_EXACT_LENGTH) / 2;
  if (length <= PAGERANK_MIDDLE_LENGTH)
    return first + ((int)length - PAGERANK_EXACT_LENGTH - 1) / 2;
  return first + middle + __clzll(PAGERANK_MIDDLE_LENGTH) - __clzll(length - 1);
}

// The class of a value, below 256, which ascends with its four leading bits.
__device__ __forceinline__ int class_of_value(long long value) {
  if (value < 8) return (int)value;
  const int exponent = 63 - __clzll(value);
  return 8 * (exponent - 2) + (int)(value >> (exponent - 3) & 7);
}

// keys[v] = 255 - class of row v. counts += rows longer than narrow_length, than PAGERANK_CHUNK and
// than the three other lengths; arcs of rows that are not longer than narrow_length; isolated rows;
// and dangling rows.
extern "C" __global__ void classify_rows(long long num_rows, long long narrow_length,
                                         long long first_length, long long second_length,
                                         long long third_length, const long long *offsets,
                                         const double *out_weights, long long *keys,
                                         long long *counts) {
  long long count[8] = {};
  STRIDE(row, num_rows) {
    const long long length = offsets[row + 1] - offsets[row];
    const bool has_out_edges = out_weights[row] > 0.0;
    keys[row] = 255 - class_of_row(length, has_out_edges);
    count[0] += length > narrow_length;
    count[1] += length > PAGERANK_CHUNK;
    count[2] += length > first_length;
    count[3] += length > second_length;
    count[4] += length > third_length;
    if (length <= narrow_length) count[5] += length;
    count[6] += length == 0 && !has_out_edges;
    count[7] += !has_out_edges;
  }
  for (int i = 0; i < 8; i++) add_of_block(count[i], counts + i);
}

// keys[v] = 255 - class of values[v], which are whole numbers.
extern "C" __global__ void classify_values(long long num_values, const value_t *values,
                                           long long *keys) {
  STRIDE(i, num_values) keys[i] = 255 - class_of_value(min((long long)values[i], 1ll << 31));
}

// keys[v] orders vertices by descending values, which are whole numbers.
extern "C" __global__ void rank_values(long long num_values, const value_t *values,
                                       long long *keys) {
  STRIDE(i, num_values) keys[i] = -min((long long)values[i], 1ll << 31) * (1ll << 32) + i;
}

// sums[0] and sums[1] += values of the first `num_first` vertices of two orders. Values are whole
// numbers, so sums are exact.
extern "C" __global__ void sum_first(long long num_first, const int *first_order,
                                     const int *second_order, const double *values, double *sums) {
  double first = 0.0, second = 0.0;
  STRIDE(i, num_first) {
    first += values[first_order[i]];
    second += values[second_order[i]];
  }
  first = warp_sum(first);
  second = warp_sum(second);
  if (threadIdx.x % WARP == 0) {
    atomicAdd(sums, first);
    atomicAdd(sums + 1, second);
  }
}

// new_labels[v] = the smallest label among v and its neighbors; a few rounds give vertices that
// are close to each other the same label.
extern "C" __global__ void propagate_labels(long long num_vertices, const long long *offsets,
                                            const int *neighbors, const int *labels,
                                            int *new_labels) {
  STRIDE(vertex, num_vertices) {
    int label = labels[vertex];
    for (long long edge = offsets[vertex]; edge < offsets[vertex + 1]; edge++)
      label = min(label, labels[neighbors[edge]]);
    new_labels[vertex] = label;
  }
}

// sizes[u] = entries of whole row u, or of slice u - num_whole_rows, with padding; and chunks[r] =
// chunks of long row r. totals += slices wider than narrow_length, entries, and chunks.
extern "C" __global__ void measure_rows(long long num_rows, long long num_long_rows,
                                        long long num_whole_rows, long long narrow_length,
                                        const int *order, const long long *offsets,
                                        long long *sizes, long long *chunks, long long *totals) {
  const int lane = threadIdx.x % WARP;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  long long wide = 0, entries = 0, all_chunks = 0;
  STRIDE(row, num_whole_rows) {
    const long long length = offsets[order[row] + 1] - offsets[order[row]];
    sizes[row] = length;
    entries += length;
    if (row < num_long_rows) {
      chunks[row] = (length + PAGERANK_CHUNK - 1) / PAGERANK_CHUNK;
      all_chunks += chunks[row];
    }
  }
  const long long slices = (num_rows - num_whole_rows + WARP - 1) / WARP;
  for (long long slice = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; slice < slices;
       slice += warps) {
    const long long row = num_whole_rows + slice * WARP + lane;
    long long width = row < num_rows ? offsets[order[row] + 1] - offsets[order[row]] : 0;
    for (int step = WARP / 2; step > 0; step /= 2)
      width = max(width, __shfl_xor_sync(FULL_MASK, width, step));
    if (lane == 0) {
      sizes[num_whole_rows + slice] = width * WARP;
      entries += width * WARP;
      wide += width > narrow_length;
    }
  }
  add_of_block(wide, totals);
  add_of_block(entries, totals + 1);
  add_of_block(all_chunks, totals + 2);
}

// chunk_rows[c] = the row of chunk c.
extern "C" __global__ void list_chunks(long long num_long_rows, const int *chunk_offsets,
                                       int *chunk_rows) {
  STRIDE(row, num_long_rows)
  for (int chunk = chunk_offsets[row]; chunk < chunk_offsets[row + 1]; chunk++)
    chunk_rows[chunk] = row;
}

// new_weights[i] = weight of arc i over the weight that leaves its source, or its weight if that is
// 0.
extern "C" __global__ void normalize_weights(long long num_arcs, const int *neighbors,
                                             const weight_t *weights, const double *out_weights,
                                             value_t *new_weights) {
  STRIDE(arc, num_arcs) {
    const double out_weight = out_weights[neighbors[arc]];
    new_weights[arc] = (value_t)((double)weights[arc] / (out_weight > 0.0 ? out_weight : 1.0));
  }
}

// inverse_weights[r] = 1 over the weight that leaves the vertex of row r; 0 for a dangling vertex.
extern "C" __global__ void invert_weights(long long num_rows, const int *order,
                                          const double *out_weights, value_t *inverse_weights) {
  STRIDE(row, num_rows) {
    const double weight = out_weights[order[row]];
    inverse_weights[row] = weight > 0.0 ? 1.0 / weight : 0.0;
  }
}

// Copies COUNT entries of a list: from i * step of the old one, if i < length, to i * WARP of the
// new one. All loads come before all stores, so that their latencies overlap.
template <int COUNT>
__device__ __forceinline__ void copy_entries(long long length, int step, const int *neighbors,
                                             const value_t *weights, bool weighted,
                                             const int *contribution_index, int padding,
                                             int *new_neighbors, value_t *new_weights) {
  int entries[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) entries[i] = i < length ? neighbors[i * step] : -1;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    entries[i] = entries[i] < 0 ? padding : contribution_index[entries[i]];
#pragma unroll
  for (int i = 0; i < COUNT; i++) new_neighbors[i * WARP] = entries[i];
  if (weighted)
    for (int i = 0; i < COUNT; i++)
      new_weights[i * WARP] = i < length ? weights[i * step] : (value_t)0;
}

// Copy lists from (offsets, neighbors) by destination into that layout. Warps share the arcs of
// whole rows, since one row may have most of them, and take one slice each.
extern "C" __global__ void arrange(long long num_vertices, long long num_contributions,
                                   long long num_whole_rows, const int *order,
                                   const int *contribution_index, const long long *offsets,
                                   const int *neighbors, const value_t *weights, long long weighted,
                                   const long long *row_offsets, const long long *slice_offsets,
                                   int *new_neighbors, value_t *new_weights) {
  const int lane = threadIdx.x % WARP, padding = (int)num_contributions;
  const long long warps = gridDim.x * (long long)blockDim.x / WARP;
  const long long whole_arcs = row_offsets[num_whole_rows];
  const long long chunks = (whole_arcs + UNIT_ARCS - 1) / UNIT_ARCS;
  const long long units = chunks + (num_vertices - num_whole_rows + WARP - 1) / WARP;
  for (long long unit = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP; unit < units;
       unit += warps) {
    if (unit < chunks) {
      const long long start = unit * UNIT_ARCS, stop = min(start + UNIT_ARCS, whole_arcs);
      long long row = position(row_offsets, 0, num_whole_rows + 1, start + 1) - 1;
      for (long long to = start; to < stop; row++) {
        const long long end = min(row_offsets[row + 1], stop);
        const long long shift = offsets[order[row]] - row_offsets[row];  // from new to old
        for (to += lane; to < end; to += COPY_BATCH * WARP) {
          const long long length = (end - to + WARP - 1) / WARP;
          if (length >= COPY_BATCH)
            copy_entries<COPY_BATCH>(length, WARP, neighbors + to + shift, weights + to + shift,
                                     weighted, contribution_index, padding, new_neighbors + to,
                                     new_weights + to);
          else
            for (long long i = to; i < end; i += WARP)
              copy_entries<1>(1, WARP, neighbors + i + shift, weights + i + shift, weighted,
                              contribution_index, padding, new_neighbors + i, new_weights + i);
        }
        to = end;
      }
      continue;
    }
    const long long slice = unit - chunks, row = num_whole_rows + slice * WARP + lane;
    const long long from = row < num_vertices ? offsets[order[row]] : 0;
    const long long length = row < num_vertices ? offsets[order[row] + 1] - from : 0;
    const long long to = slice_offsets[slice] + lane;
    const long long width = (slice_offsets[slice + 1] - slice_offsets[slice]) / WARP;
    long long k = 0;
    for (; k + COPY_BATCH <= width; k += COPY_BATCH)
      copy_entries<COPY_BATCH>(length - k, 1, neighbors + from + k, weights + from + k, weighted,
                               contribution_index, padding, new_neighbors + to + k * WARP,
                               new_weights + to + k * WARP);
    for (; k < width; k++)
      copy_entries<1>(length - k, 1, neighbors + from + k, weights + from + k, weighted,
                      contribution_index, padding, new_neighbors + to + k * WARP,
                      new_weights + to + k * WARP);
  }
}
