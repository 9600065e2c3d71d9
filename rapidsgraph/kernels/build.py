"""Construction of adjacency lists on a CPU: the twins of build.cu, which documents them."""

import numpy as np
from numba import prange

from .arrays import measure_range
from .constants import MERGE_FIRST, MERGE_MIN, MERGE_SUM, WORD_FLAGS
from .jit import parallel, serial
from .limits import decode_limits

ONE = np.uint64(1)
MAX_COMPARED_RANKS = 32  # whose bounds are compared one by one
SHORT_LIST = 16  # neighbors that are compared one by one


@parallel
def mark_present(num_names, names, min_name, is_present):
    for i_ in prange(num_names):
        i = np.int64(i_)
        index = np.uint64(names[i] - min_name)
        if not is_present[index]:  # a read is cheaper than a contended write
            is_present[index] = True


def mark_names(
    num_names, names, num_others, others, is_signed, min_name, num_flags, is_present, limits
):
    values = np.concatenate([names, others])
    indices = values.astype(np.uint64) - np.uint64(min_name % 2**64)
    is_present[indices[indices < num_flags]] = True
    measure_range(values.size, values, is_signed, limits)


def number_names(
    is_signed, min_name, num_flags, is_present, limits, sums, arrived_blocks, id_words, num_names
):
    low, high = (value - min_name for value in decode_limits(*limits.tolist(), is_signed))
    has_flags = low >= 0 and high < num_flags
    if has_flags:
        num_names[0] = np.count_nonzero(is_present)
    if has_flags and (min_name != 0 or num_names[0] != high + 1):
        flags = is_present[: (high // WORD_FLAGS + 1) * WORD_FLAGS].reshape(-1, WORD_FLAGS)
        bits = np.packbits(flags, axis=1, bitorder="little").view(np.uint32).ravel()
        counts = flags.sum(axis=1, dtype=np.uint64)
        id_words[: bits.size] = (np.cumsum(counts) - counts) << np.uint64(32) | bits


def number_in_shared_memory(
    num_names,
    names,
    num_others,
    others,
    is_signed,
    min_name,
    num_flags,
    window_words,
    max_words,
    bitmaps,
    sums,
    arrived_blocks,
    id_words,
    limits,
    num_distinct,
):
    is_present = np.zeros(id_words.size * WORD_FLAGS, bool)
    mark_names(
        num_names, names, num_others, others, is_signed, min_name, num_flags, is_present, limits
    )
    number_names(
        is_signed, min_name, num_flags, is_present, limits, sums, arrived_blocks, id_words,
        num_distinct,
    )  # fmt: skip


def look_up_ids(num_names, names, min_name, id_words, ids):
    flags = names.astype(np.int64) - min_name
    words, lower = id_words[flags // WORD_FLAGS], (1 << flags % WORD_FLAGS) - 1
    ids[:] = (words >> np.uint64(32)) + np.bitwise_count(words & lower.astype(np.uint64))


def list_names(num_words, id_words, min_name, names):
    flags = id_words[:num_words] & np.uint64(2**32 - 1)
    bits = np.unpackbits(flags.view(np.uint8), bitorder="little")
    words, positions = np.divmod(np.flatnonzero(bits), 64)
    names[:] = min_name + words * WORD_FLAGS + positions


@parallel
def translate(num_names, names, min_name, table, ids):
    for i_ in prange(num_names):
        i = np.int64(i_)
        ids[i] = table[np.uint64(names[i] - min_name)]


def find_ids(num_names, names, num_vertices, ids):
    is_known = (names >= 0) & (names < num_vertices)
    ids[:] = -1
    ids[is_known] = names[is_known]


def find_name(value, num_names, names, ids):
    first = np.searchsorted(names, value)
    ids[0] = first if first < num_names and names[first] == value else -1


def find_names(num_values, values, num_names, names, ids):
    positions = np.minimum(np.searchsorted(names, values), num_names - 1)
    ids[:] = np.where(names[positions] == values, positions, -1)


def mark_proper(num_edges, sources, destinations, is_proper):
    np.not_equal(sources, destinations, out=is_proper)


def sort_endpoints(num_edges, sources, destinations, low, high):
    np.minimum(sources, destinations, out=low)
    np.maximum(sources, destinations, out=high)


def pack_pairs(num_pairs, minor_bits, major, minor, packed):
    np.left_shift(major, minor_bits, out=packed, dtype=np.int64)
    packed |= minor


def split_pairs(num_keys, num_pairs, minor_bits, packed, offsets, minor, num_distinct):
    minor[:] = packed & ((1 << minor_bits) - 1)
    num_distinct[0] += np.count_nonzero(packed[1:] != packed[:-1]) + (num_pairs > 0)
    offsets[:] = np.searchsorted(packed, np.arange(num_keys + 1) << minor_bits)


def mark_first(num_rows, offsets, neighbors, is_first, num_first):
    np.not_equal(neighbors[1:], neighbors[:-1], out=is_first[1:-1])
    is_first[offsets] = True  # the last offset is the number of arcs
    num_first[0] += np.count_nonzero(is_first[:-1])


def filter_neighbors(num_arcs, keep, num_before, neighbors, new_neighbors):
    new_neighbors[:] = neighbors[keep]  # compress lists the positions first: 8 bytes per arc


def filter_offsets(num_rows, num_before, offsets, new_offsets):
    new_offsets[:] = num_before[offsets]


@parallel
def permute(num_items, order, values, new_values):
    for i_ in prange(num_items):
        i = np.int64(i_)
        new_values[i] = values[np.uint64(order[i])]


def count_nonempty(num_rows, offsets, count):
    count[0] += np.count_nonzero(offsets[1:] > offsets[:-1])


@parallel
def expand_rows(num_rows, offsets, rows):
    for row_ in prange(num_rows):
        row = np.int64(row_)
        for i in range(offsets[row], offsets[row + 1]):
            rows[i] = row


@serial
def _copy_list(start, stop, shift, neighbors, weights, weighted, new_neighbors, new_weights):
    for i in range(start, stop):
        new_neighbors[np.uint64(i + shift)] = neighbors[np.uint64(i)]
    if weighted:
        for i in range(start, stop):
            new_weights[np.uint64(i + shift)] = weights[np.uint64(i)]


@parallel
def concatenate_rows(
    num_rows,
    first_offsets,
    first_neighbors,
    first_weights,
    second_offsets,
    second_neighbors,
    second_weights,
    weighted,
    offsets,
    neighbors,
    weights,
):
    offsets[num_rows] = first_offsets[num_rows] + second_offsets[num_rows]
    for row_ in prange(num_rows):
        row = np.uint64(row_)
        first, second = first_offsets[row], second_offsets[row]
        first_stop, second_stop = first_offsets[row + ONE], second_offsets[row + ONE]
        offsets[row] = first + second
        _copy_list(
            first, first_stop, second, first_neighbors, first_weights, weighted, neighbors, weights
        )
        _copy_list(
            second,
            second_stop,
            first_stop,
            second_neighbors,
            second_weights,
            weighted,
            neighbors,
            weights,
        )


@parallel
def reduce_runs(num_runs, num_edges, starts, weights, reduction, reduced):
    for run_ in prange(num_runs):
        run = np.int64(run_)
        stop = starts[run + 1] if run + 1 < num_runs else num_edges
        value = weights[starts[run]]
        if reduction > MERGE_FIRST:
            for i in range(starts[run] + 1, stop):
                weight = weights[i]
                if reduction == MERGE_SUM:
                    value = value + weight
                elif reduction == MERGE_MIN:
                    value = min(value, weight)
                else:
                    value = max(value, weight)
        reduced[run] = value


@serial
def count_conflicts(num_rows, offsets, neighbors, is_first, weights, count):
    weight, conflicts = weights[0], 0
    for i in range(weights.size):
        if is_first[i]:
            weight = weights[i]
        else:
            conflicts += weights[i] != weight
    count[0] += conflicts


@parallel
def count_upper(num_rows, offsets, neighbors, counts):
    for row_ in prange(num_rows):
        row = np.int64(row_)
        start, stop = offsets[np.uint64(row)], offsets[np.uint64(row + 1)]
        last = stop
        while stop - start > SHORT_LIST:
            middle = (start + stop) // 2
            if neighbors[np.uint64(middle)] < row:
                start = middle + 1
            else:
                stop = middle
        size = last - stop
        for arc in range(start, stop):  # has no branch, which would be unpredictable
            size += neighbors[np.uint64(arc)] >= row
        counts[np.uint64(row)] = size


@serial
def _find_owner(vertex, bounds, num_ranks):
    """Return the rank of a vertex.

    The branches of a binary search are unpredictable, so the last few bounds are all compared.
    """
    owner, stop = 0, num_ranks
    while stop - owner > MAX_COMPARED_RANKS:
        middle = (owner + stop) // 2
        if bounds[middle] <= vertex:
            owner = middle
        else:
            stop = middle
    first = owner + 1
    for rank in range(first, stop):
        owner += np.int64(bounds[rank] <= vertex)
    return owner


@serial
def _num_arcs(source, destination, directed, drop_loops):
    """Return the number of arcs of an edge; its second arc is the reverse of the first one."""
    if source == destination:
        return 0 if drop_loops else 1
    return 1 if directed else 2


@parallel
def count_by_owner(
    num_chunks,
    chunk_starts,
    sources,
    destinations,
    directed,
    drop_loops,
    num_ranks,
    bounds,
    counts,
):
    for chunk_ in prange(num_chunks):
        chunk = np.int64(chunk_)
        for i in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
            num_arcs = _num_arcs(sources[i], destinations[i], directed, drop_loops)
            if num_arcs > 0:
                counts[chunk * num_ranks + _find_owner(sources[i], bounds, num_ranks)] += 1
            if num_arcs > 1:
                counts[chunk * num_ranks + _find_owner(destinations[i], bounds, num_ranks)] += 1


@parallel
def group_by_owner(
    num_chunks,
    chunk_starts,
    sources,
    destinations,
    weights,
    weighted,
    directed,
    drop_loops,
    num_ranks,
    bounds,
    cursors,
    keys,
    neighbors,
    new_weights,
):
    for chunk_ in prange(num_chunks):
        chunk = np.int64(chunk_)
        for i in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
            source, destination = sources[i], destinations[i]
            for number in range(_num_arcs(source, destination, directed, drop_loops)):
                key, neighbor = (destination, source) if number else (source, destination)
                cursor = chunk * num_ranks + _find_owner(key, bounds, num_ranks)
                position = cursors[cursor]
                cursors[cursor] = position + 1
                keys[np.uint64(position)], neighbors[np.uint64(position)] = key, neighbor
                if weighted:
                    new_weights[np.uint64(position)] = weights[i]
