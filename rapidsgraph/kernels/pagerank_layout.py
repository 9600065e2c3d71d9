"""The twins of pagerank_layout.cu, which documents them; those without a loop are of NumPy."""

import numpy as np
from numba import prange

from .constants import PAGERANK_CHUNK, PAGERANK_EXACT_LENGTH, PAGERANK_MIDDLE_LENGTH, WARP
from .jit import parallel


def _class_of_rows(lengths, has_out_edges):
    first = 2 * PAGERANK_EXACT_LENGTH + 2
    last = first + (PAGERANK_MIDDLE_LENGTH - PAGERANK_EXACT_LENGTH) // 2
    middle = first + (lengths - PAGERANK_EXACT_LENGTH - 1) // 2
    powers = np.frexp(np.maximum(lengths - 1, 1))[1] - PAGERANK_MIDDLE_LENGTH.bit_length()
    longer = np.where(lengths <= PAGERANK_MIDDLE_LENGTH, middle, last + powers)
    return np.where(lengths <= PAGERANK_EXACT_LENGTH, 2 * lengths + has_out_edges, longer)


def classify_rows(
    num_rows,
    narrow_length,
    first_length,
    second_length,
    third_length,
    offsets,
    out_weights,
    keys,
    counts,
):
    lengths, has_out_edges = np.diff(offsets), out_weights > 0
    keys[:] = 255 - _class_of_rows(lengths, has_out_edges)
    thresholds = narrow_length, PAGERANK_CHUNK, first_length, second_length, third_length
    counts[:5] += [np.count_nonzero(lengths > threshold) for threshold in thresholds]
    counts[5] += lengths[lengths <= narrow_length].sum()
    counts[6] += num_rows - np.count_nonzero(has_out_edges | (lengths > 0))
    counts[7] += num_rows - np.count_nonzero(has_out_edges)


def classify_values(num_values, values, keys):
    numbers = np.minimum(values.astype(np.int64), 1 << 31)
    exponents = np.frexp(np.maximum(numbers, 8))[1] - 1
    classes = 8 * (exponents - 2) + (numbers >> (exponents - 3) & 7)
    keys[:] = 255 - np.where(numbers < 8, numbers, classes)


def rank_values(num_values, values, keys):
    np.minimum(values, 1 << 31, out=keys, casting="unsafe")
    keys *= -(1 << 32)
    keys += np.arange(keys.size)


def sum_first(num_first, first_order, second_order, values, sums):
    sums[0] += values[first_order[:num_first]].sum()
    sums[1] += values[second_order[:num_first]].sum()


@parallel
def propagate_labels(num_vertices, offsets, neighbors, labels, new_labels):
    for vertex_ in prange(num_vertices):
        vertex = np.int64(vertex_)
        label = labels[vertex]
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            label = min(label, labels[np.uint32(neighbors[edge])])
        new_labels[vertex] = label


def measure_rows(
    num_rows, num_long_rows, num_whole_rows, narrow_length, order, offsets, sizes, chunks, totals
):
    lengths = np.diff(offsets)[order]
    sizes[:num_whole_rows] = lengths[:num_whole_rows]
    chunks[:] = -(-lengths[:num_long_rows] // PAGERANK_CHUNK)
    padded = np.zeros((sizes.size - num_whole_rows, WARP), np.int64)
    padded.reshape(-1)[: num_rows - num_whole_rows] = lengths[num_whole_rows:]
    widths = padded.max(axis=1)
    sizes[num_whole_rows:] = widths * WARP
    totals += np.count_nonzero(widths > narrow_length), sizes.sum(), chunks.sum()


def list_chunks(num_long_rows, chunk_offsets, chunk_rows):
    chunk_rows[:] = np.repeat(np.arange(num_long_rows), np.diff(chunk_offsets))


def normalize_weights(num_arcs, neighbors, weights, out_weights, new_weights):
    divisors = np.where(out_weights > 0, out_weights, 1.0)
    if new_weights.dtype == divisors.dtype:  # needs no other array of this size
        divisors = np.take(divisors, neighbors, out=new_weights, mode="clip")
    else:
        divisors = divisors[neighbors]
    np.divide(weights, divisors, out=new_weights, casting="same_kind")


def invert_weights(num_rows, order, out_weights, inverse_weights):
    weights = out_weights[order]
    has_out_edges = weights > 0
    inverse_weights[:] = np.where(has_out_edges, 1.0 / np.where(has_out_edges, weights, 1.0), 0.0)


@parallel
def arrange(
    num_vertices,
    num_contributions,
    num_whole_rows,
    order,
    contribution_index,
    offsets,
    neighbors,
    weights,
    weighted,
    row_offsets,
    slice_offsets,
    new_neighbors,
    new_weights,
):
    for row_ in prange(num_vertices):
        row = np.int64(row_)
        start = offsets[order[row]]
        length = offsets[order[row] + 1] - start
        if row < num_whole_rows:
            to, step, width = row_offsets[row], 1, length
        else:
            slice_index = (row - num_whole_rows) // WARP
            to = slice_offsets[slice_index] + (row - num_whole_rows) % WARP
            step = WARP
            width = (slice_offsets[slice_index + 1] - slice_offsets[slice_index]) // WARP
        for k in range(length):
            new_neighbors[to + k * step] = contribution_index[neighbors[start + k]]
            if weighted:
                new_weights[to + k * step] = weights[start + k]
        for k in range(length, width):
            new_neighbors[to + k * step] = num_contributions
            if weighted:
                new_weights[to + k * step] = 0
    for row in range(
        num_vertices, num_whole_rows + (num_vertices - num_whole_rows + WARP - 1) // WARP * WARP
    ):
        # Pad the lanes of the last slice that have no row.
        slice_index = (row - num_whole_rows) // WARP
        for index in range(
            slice_offsets[slice_index] + (row - num_whole_rows) % WARP,
            slice_offsets[slice_index + 1],
            WARP,
        ):
            new_neighbors[index] = num_contributions
            if weighted:
                new_weights[index] = 0
