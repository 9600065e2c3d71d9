"""BFS, PageRank and verification of a layered edge list on a CPU: the twins of layered_sweep.cu."""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS
from .intrinsics import add_float_at
from .jit import parallel, serial
from .sections import (
    BIT_MASK,
    CHECKSUM,
    FIRST,
    FORWARD_WORDS,
    NUM_CHUNKS,
    ONE,
    POSITION,
    WORD_SHIFT,
    WORDS,
    add_words,
    atomic_min,
    extract,
    find_layer,
    first_group,
    group_start,
    is_intact,
    num_groups,
    read_section,
    split_work,
)


@serial
def add_checksums(start, stop, origin, num_sections, table, words, checksums):
    for partition in range(start, stop):
        for direction in range(num_sections):
            first, size = table[partition, POSITION] - origin, table[partition, FORWARD_WORDS]
            if direction:
                first, size = first + size, table[partition, WORDS] - size
            add_words(words[first : first + size], checksums[2 * partition + direction :])


@serial
def _exceeds(words, position, bits, max_value, start, stop):
    """Return whether one of the packed values [start, stop) exceeds `max_value`.

    GROUP_ROWS values take `bits` whole words. ``2**bits - 1 - max_value`` is added to each value in
    place, one word at a time: a value carries out of its top bit if and only if it exceeds the
    maximum. Other values carry nothing into the next value, so the carry into a word depends only
    on the word before.
    """
    # The words that are added, those before them, and the top bits of values: of 8 groups, because
    # that makes loops over them long enough to be vectorized.
    period, addend = 8 * bits, (ONE << np.uint64(bits)) - ONE - np.uint64(max_value)
    added, previous = np.zeros(period + 1, np.uint32), np.zeros(period, np.uint32)
    top_bits = np.zeros(period, np.uint32)
    for value in range(8 * GROUP_ROWS):
        word, shift = value * bits // 32, np.uint64(value * bits % 32)
        shifted = addend << shift
        added[word] |= np.uint32(shifted & np.uint64(0xFFFFFFFF))
        added[word + 1] |= np.uint32(shifted >> np.uint64(32))
        top_bit = value * bits + bits - 1
        top_bits[top_bit // 32] |= np.uint32(ONE << np.uint64(top_bit % 32))
    for word in range(period):
        if word % bits:
            previous[word] = added[word - 1]
    whole_groups = (stop - start) // GROUP_ROWS
    word_start = position + start * bits // 32
    word_stop = word_start + whole_groups * bits
    carries = np.uint32(0)
    for block in range(word_start, word_stop, period):
        for i in range(min(period, word_stop - block)):
            word, addend_word = words[np.uint64(block + i)], added[np.uint64(i)]
            low = previous[np.uint64(i)]
            carry_in = np.uint32(np.uint32(words[np.uint64(block + i - 1)] + low) < low)
            total = np.uint32(word + addend_word + carry_in)
            carry_out = (word & addend_word) | ((word | addend_word) & ~total)
            carries |= carry_out & top_bits[np.uint64(i)]
    largest = np.int64(0)
    for i in range(start + whole_groups * GROUP_ROWS, stop):
        largest = max(largest, extract(words, position, bits, i))
    return carries != 0 or largest > max_value


@serial
def _sum_packed(words, position, bits, start, stop):
    """Return the sum of the packed values [start, stop)."""
    bit, step = np.uint64(start * bits), np.uint64(bits)
    first_word, mask, total = np.uint64(position), (ONE << step) - ONE, np.uint64(0)
    for _ in range(stop - start):
        word = first_word + (bit >> WORD_SHIFT)
        pair = np.uint64(words[word]) | np.uint64(words[word + ONE]) << np.uint64(32)
        total += pair >> (bit & BIT_MASK) & mask
        bit += step
    return np.int64(total)


@parallel
def check_sections(
    start, stop, origin, num_sections, num_vertices, table, words, weight_type, weighted, checksums
):
    weights = words.view(weight_type.dtype)
    for partition in range(start, stop):
        for direction in range(num_sections):
            starts, degrees, neighbors, first_weight, rows, edges, base, bits, degree_bits = (
                read_section(
                    table, partition, direction, origin, weight_type.itemsize // words.itemsize
                )
            )
            if not edges:
                continue
            max_value = num_vertices - 1 - base
            row_groups, edge_groups = num_groups(rows), num_groups(edges)
            is_chunk_valid = np.ones(NUM_CHUNKS, np.bool_)
            for chunk in prange(NUM_CHUNKS):
                is_valid = group_start(words, starts, 0) == 0
                is_valid &= group_start(words, starts, row_groups) == edges
                group_stop = (chunk + 1) * row_groups // NUM_CHUNKS
                for group in range(chunk * row_groups // NUM_CHUNKS, group_stop):
                    row, row_stop = GROUP_ROWS * group, min(GROUP_ROWS * (group + 1), rows)
                    edge = group_start(words, starts, group)
                    edge += _sum_packed(words, degrees, degree_bits, row, row_stop)
                    is_valid &= edge == group_start(words, starts, group + 1)
                edge_start = GROUP_ROWS * (chunk * edge_groups // NUM_CHUNKS)
                edge_stop = min(GROUP_ROWS * ((chunk + 1) * edge_groups // NUM_CHUNKS), edges)
                if (1 << bits) - 1 > max_value and edge_start < edge_stop:
                    is_valid &= not _exceeds(
                        words, neighbors, bits, max_value, edge_start, edge_stop
                    )
                if weighted:
                    num_valid = 0
                    for edge in range(edge_start, edge_stop):
                        weight = weights[np.uint64(first_weight + edge)]
                        num_valid += np.int64((weight >= 0.0) & (weight < np.inf))
                    is_valid &= num_valid == max(edge_stop - edge_start, 0)
                is_chunk_valid[chunk] = is_valid
            if not is_chunk_valid.all():
                expected = np.uint64(table[partition, CHECKSUM + direction])
                checksums[2 * partition + direction] = expected + ONE


@parallel
def find_parents(
    start, stop, origin, table, words, checksums, num_layers, layer_starts, row_limit, parents
):
    for partition in range(start, stop):
        if not is_intact(table, checksums, partition, 0):
            continue
        starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = read_section(
            table, partition, 0, origin, 1
        )
        first = table[partition, FIRST]
        work, num_chunks = split_work(rows, edges)
        for chunk in prange(num_chunks):
            work_start, work_stop = chunk * work // num_chunks, (chunk + 1) * work // num_chunks
            group = first_group(words, starts, rows, work_start)
            layer = find_layer(layer_starts, num_layers, first + GROUP_ROWS * group)
            while group < num_groups(rows) and first + GROUP_ROWS * group < row_limit:
                edge, work_before = group_start(words, starts, group), GROUP_ROWS * (group + 1)
                if edge + work_before - GROUP_ROWS >= work_stop:
                    break
                for row in range(GROUP_ROWS * group, min(GROUP_ROWS * (group + 1), rows)):
                    position = first + row
                    if position >= row_limit:
                        break
                    row_stop = edge + extract(words, degrees, degree_bits, row)
                    while layer_starts[layer + 1] <= position:
                        layer += 1
                    next_layer_start = layer_starts[layer + 1]
                    edge_start = max(edge, work_start - work_before)
                    for i in range(edge_start, min(row_stop, work_stop - work_before)):
                        neighbor = base + extract(words, neighbors, bits, i)
                        if neighbor >= next_layer_start and parents[np.uint64(neighbor)] > position:
                            atomic_min(parents, np.uint64(neighbor), np.int32(position))
                    edge = row_stop
                group += 1


@parallel
def scatter(
    start,
    stop,
    origin,
    table,
    words,
    checksums,
    weight_type,
    weighted,
    damping,
    out_weights,
    pagerank,
    state,
    sums,
):
    if state[3] != 0.0:
        return
    weights = words.view(weight_type.dtype)
    num_copies = sums.size // pagerank.size  # with several, a chunk adds to one of its own
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, first_weight, rows, edges, base, bits, degree_bits = (
                read_section(
                    table, partition, direction, origin, weight_type.itemsize // words.itemsize
                )
            )
            work, num_chunks = split_work(rows, edges)
            num_chunks = num_copies if num_copies > 1 else num_chunks
            for chunk in prange(num_chunks):
                work_start, work_stop = chunk * work // num_chunks, (chunk + 1) * work // num_chunks
                sums_start = pagerank.size * chunk if num_copies > 1 else 0
                group = first_group(words, starts, rows, work_start) if work else num_groups(rows)
                while group < num_groups(rows):
                    edge, work_before = group_start(words, starts, group), GROUP_ROWS * (group + 1)
                    if edge + work_before - GROUP_ROWS >= work_stop:
                        break
                    group += 1
                    for row in range(work_before - GROUP_ROWS, min(work_before, rows)):
                        row_stop = edge + extract(words, degrees, degree_bits, row)
                        position = np.uint64(first + row)
                        contribution = damping * pagerank[position]
                        out_weight = out_weights[position]
                        edge_start = max(edge, work_start - work_before)
                        for i in range(edge_start, min(row_stop, work_stop - work_before)):
                            neighbor = base + extract(words, neighbors, bits, i)
                            target = np.uint64(sums_start + neighbor)
                            weight = weights[np.uint64(first_weight + i)] if weighted else 1.0
                            if num_copies > 1:
                                sums[target] += contribution * (weight / out_weight)
                            else:
                                add_float_at(sums, target, contribution * (weight / out_weight))
                        edge = row_stop
