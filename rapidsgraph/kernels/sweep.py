"""Sweeps over partitions on a CPU: the twins of sweep.cu, which says what they mean.

What differs: a round goes through rows in their order and sees at once what it lowered before.
"""

import numpy as np
from numba import prange

from . import parallel, serial
from .intrinsics import add_float_at, exchange_if, prefetch

GROUP = 32
PARTS = 64  # of a section, at most
LEAST = 4096  # work of a part
ONE, FIVE, MASK = np.uint64(1), np.uint64(5), np.uint64(31)
# Columns of the table, as in sections.cuh.
POSITION, WORDS, FORWARD_WORDS, FIRST, ROWS, FORWARD, BACKWARD, CHECKSUM = 0, 1, 2, 3, 4, 5, 9, 13


@serial
def _section(table, partition, part, origin):
    """(starts, degrees, neighbors, weights, rows, edges, base, bits, degree_bits) of a section."""
    row = table[partition]
    own = BACKWARD if part else FORWARD
    rows, edges, base, bits, degree_bits = (
        row[ROWS],
        row[own],
        row[own + 1],
        row[own + 2],
        row[own + 3],
    )
    starts = row[POSITION] - origin + (row[FORWARD_WORDS] if part else 0)
    degrees = (rows + GROUP - 1) // GROUP + 1
    neighbors = degrees + (rows * degree_bits + 31) // 32 + 1
    weights = neighbors + (edges * bits + 31) // 32 + 1
    weights += weights % 2
    return (
        starts, starts + degrees, starts + neighbors, starts + weights, rows, edges, base, bits,
        degree_bits,
    )  # fmt: skip


@serial
def _extract(words, position, bits, index):
    at = np.uint64(index * bits)
    word = np.uint64(position) + (at >> FIVE)
    pair = np.uint64(words[word]) | np.uint64(words[word + ONE]) << np.uint64(32)
    return np.int64(pair >> (at & MASK) & ((ONE << np.uint64(bits)) - ONE))


@serial
def _groups(rows):
    return (rows + GROUP - 1) // GROUP


@serial
def _begin(words, starts, group):
    """The first edge of a group."""
    return np.int64(words[np.uint64(starts + group)])


@serial
def _first_group(words, starts, rows, low):
    """The last group whose work begins at `low` or before; a group is work of GROUP, an edge of 1."""
    group, behind = 0, _groups(rows)
    while behind - group > 1:
        middle = (group + behind) // 2
        if _begin(words, starts, middle) + GROUP * middle <= low:
            group = middle
        else:
            behind = middle
    return group


@serial
def _work(rows, edges):
    """(how much there is to do in a section, for how many to share)."""
    work = edges + GROUP * _groups(rows) if edges else 0
    return work, min(PARTS, (work + LEAST - 1) // LEAST)


@serial
def _is_sound(table, sums, partition, part):
    return np.int64(sums[2 * partition + part]) == table[partition, CHECKSUM + part]


@serial
def _lower_to(values, place, new):
    """values[place] = new where that is less, in one step; whether it was."""
    old = values[place]
    while new < old:
        seen = exchange_if(values, place, old, new)
        if seen == old:
            return True
        old = seen
    return False


@parallel
def add_checksums(start, stop, origin, parts, table, words, sums):
    for partition in range(start, stop):
        for which in range(parts):
            first, count = table[partition, POSITION] - origin, table[partition, FORWARD_WORDS]
            if which:
                first, count = first + count, table[partition, WORDS] - count
            found = np.zeros(PARTS, np.uint64)
            for part in prange(PARTS):
                total = np.uint64(0)
                for i in range(part * count // PARTS, (part + 1) * count // PARTS):
                    factor = np.uint64(2 * i + 1) * np.uint64(0x9E3779B97F4A7C15)
                    total += (np.uint64(words[np.uint64(first + i)]) + ONE) * factor
                found[part] = total
            for part in range(PARTS):
                sums[2 * partition + which] += found[part]


@parallel
def find_parents(start, stop, origin, table, words, sums, layers, layer_starts, end, parents):
    for partition in range(start, stop):
        if not _is_sound(table, sums, partition, 0):
            continue
        starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = _section(
            table, partition, 0, origin
        )
        first = table[partition, FIRST]
        work, parts = _work(rows, edges)
        for part in prange(parts):
            low, high = part * work // parts, (part + 1) * work // parts
            group = _first_group(words, starts, rows, low)
            layer, behind = 0, layers
            while behind - layer > 1:
                middle = (layer + behind) // 2
                if layer_starts[middle] <= first + GROUP * group:
                    layer = middle
                else:
                    behind = middle
            while group < _groups(rows) and first + GROUP * group < end:
                edge, shift = _begin(words, starts, group), GROUP * (group + 1)
                if edge + shift - GROUP >= high:
                    break
                for row in range(GROUP * group, min(GROUP * (group + 1), rows)):
                    place = first + row
                    if place >= end:
                        break
                    after = edge + _extract(words, degrees, degree_bits, row)
                    while layer_starts[layer + 1] <= place:
                        layer += 1
                    next_layer = layer_starts[layer + 1]
                    for at in range(max(edge, low - shift), min(after, high - shift)):
                        neighbor = base + _extract(words, neighbors, bits, at)
                        if neighbor >= next_layer and parents[np.uint64(neighbor)] > place:
                            _lower_to(parents, np.uint64(neighbor), np.int32(place))
                    edge = after
                group += 1


@parallel
def relax(
    start,
    stop,
    origin,
    table,
    words,
    sums,
    sample,
    most_rounds,
    cutoff,
    distances,
    stamps,
    done,
    arrived,
    state,
):
    weights, as_bits = words.view(sample.dtype), distances.view(np.int64)
    each = 2 if sample.itemsize == 8 else 1  # words of a weight
    round_ = state[0] + 1
    first_round = round_
    while True:
        for partition in range(start, stop):
            since = done[partition] if round_ == first_round else round_ - 1
            first = table[partition, FIRST]
            for which in range(2):
                if not _is_sound(table, sums, partition, which):
                    continue
                starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = _section(
                    table, partition, which, origin
                )
                costs, (work, parts) = costs // each, _work(rows, edges)
                for part in prange(parts):
                    low, high = part * work // parts, (part + 1) * work // parts
                    group = _first_group(words, starts, rows, low) - 1
                    while group + 1 < _groups(rows):
                        group += 1
                        edge, shift = _begin(words, starts, group), GROUP * (group + 1)
                        if edge + shift - GROUP >= high:
                            break
                        behind = min(shift, rows)
                        if not _any_since(stamps, first + shift - GROUP, first + behind, since):
                            continue
                        for row in range(shift - GROUP, behind):
                            after = edge + _extract(words, degrees, degree_bits, row)
                            if stamps[np.uint64(first + row)] >= since:
                                distance = distances[np.uint64(first + row)]
                                for at in range(max(edge, low - shift), min(after, high - shift)):
                                    reached = distance + weights[np.uint64(costs + at)]
                                    neighbor = np.uint64(
                                        base + _extract(words, neighbors, bits, at)
                                    )
                                    if reached < distances[neighbor] and reached <= cutoff:
                                        if _lower_to(as_bits, neighbor, _bits_of(reached)):
                                            stamps[neighbor] = round_
                                            state[1] = round_
                            edge = after
        if state[1] < round_ or round_ - first_round + 1 >= most_rounds:
            break
        round_ += 1
    for partition in range(start, stop):
        done[partition] = round_
    state[0] = round_


@serial
def _any_since(stamps, first, behind, since):
    for place in range(first, behind):
        if stamps[np.uint64(place)] >= since:
            return True
    return False


@serial
def _bits_of(number):
    return np.float64(number).view(np.int64)


@parallel
def relax_ties(
    start,
    stop,
    origin,
    table,
    words,
    sums,
    sample,
    most_rounds,
    distances,
    steps,
    stamps,
    done,
    arrived,
    state,
):
    weights = words.view(sample.dtype)
    each = 2 if sample.itemsize == 8 else 1
    round_ = state[0] + 1
    first_round = round_
    while True:
        for partition in range(start, stop):
            since = done[partition] if round_ == first_round else round_ - 1
            first = table[partition, FIRST]
            for which in range(2):
                if not _is_sound(table, sums, partition, which):
                    continue
                starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = _section(
                    table, partition, which, origin
                )
                costs, (work, parts) = costs // each, _work(rows, edges)
                for part in prange(parts):
                    low, high = part * work // parts, (part + 1) * work // parts
                    group = _first_group(words, starts, rows, low) - 1
                    while group + 1 < _groups(rows):
                        group += 1
                        edge, shift = _begin(words, starts, group), GROUP * (group + 1)
                        if edge + shift - GROUP >= high:
                            break
                        behind = min(shift, rows)
                        if not _any_since(stamps, first + shift - GROUP, first + behind, since):
                            continue
                        for row in range(shift - GROUP, behind):
                            after = edge + _extract(words, degrees, degree_bits, row)
                            if stamps[np.uint64(first + row)] >= since:
                                distance = distances[np.uint64(first + row)]
                                reached = steps[np.uint64(first + row)] + 1
                                for at in range(max(edge, low - shift), min(after, high - shift)):
                                    if distance + weights[np.uint64(costs + at)] != distance:
                                        continue
                                    neighbor = np.uint64(
                                        base + _extract(words, neighbors, bits, at)
                                    )
                                    if (
                                        distances[neighbor] == distance
                                        and reached < steps[neighbor]
                                    ):
                                        if _lower_to(steps, neighbor, np.int32(reached)):
                                            stamps[neighbor] = round_
                                            state[1] = round_
                            edge = after
        if state[1] < round_ or round_ - first_round + 1 >= most_rounds:
            break
        round_ += 1
    for partition in range(start, stop):
        done[partition] = round_
    state[0] = round_


@parallel
def find_predecessors(
    start,
    stop,
    origin,
    table,
    words,
    sums,
    sample,
    tied,
    names,
    distances,
    steps,
    predecessors,
):
    weights = words.view(sample.dtype)
    each = 2 if sample.itemsize == 8 else 1
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for which in range(2):
            if not _is_sound(table, sums, partition, which):
                continue
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = _section(
                table, partition, which, origin
            )
            costs, (work, parts) = costs // each, _work(rows, edges)
            for part in prange(parts):
                low, high = part * work // parts, (part + 1) * work // parts
                group = _first_group(words, starts, rows, low)
                while group < _groups(rows):
                    edge, shift = _begin(words, starts, group), GROUP * (group + 1)
                    if edge + shift - GROUP >= high:
                        break
                    group += 1
                    for row in range(shift - GROUP, min(shift, rows)):
                        after = edge + _extract(words, degrees, degree_bits, row)
                        place = np.uint64(first + row)
                        distance, name = distances[place], names[place]
                        begin = max(edge, low - shift) if distance < np.inf else after
                        for at in range(begin, min(after, high - shift)):
                            reached = distance + weights[np.uint64(costs + at)]
                            neighbor = np.uint64(base + _extract(words, neighbors, bits, at))
                            if distances[neighbor] != reached or predecessors[neighbor] <= name:
                                continue
                            if tied:
                                fits = reached == distance and steps[place] + 1 == steps[neighbor]
                            else:
                                fits = distance < reached
                            if fits:
                                _lower_to(predecessors, neighbor, name)
                        edge = after


@parallel
def find_changed(start, stop, table, stamps, done, wanted):
    for partition in prange(start, stop):
        first = table[partition, FIRST]
        if _any_since(stamps, first, first + table[partition, ROWS], done[partition]):
            wanted[partition] = 1


@parallel
def scatter(
    start,
    stop,
    origin,
    table,
    words,
    sums,
    sample,
    weighted,
    damping,
    out_weights,
    ranks,
    state,
    totals,
):
    if state[3] != 0.0:
        return
    weights = words.view(sample.dtype)
    each = 2 if sample.itemsize == 8 else 1
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for which in range(2):
            if not _is_sound(table, sums, partition, which):
                continue
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = _section(
                table, partition, which, origin
            )
            costs, (work, parts) = costs // each, _work(rows, edges)
            for part in prange(parts):
                low, high = part * work // parts, (part + 1) * work // parts
                group = _first_group(words, starts, rows, low)
                while group < _groups(rows):
                    edge, shift = _begin(words, starts, group), GROUP * (group + 1)
                    if edge + shift - GROUP >= high:
                        break
                    group += 1
                    for row in range(shift - GROUP, min(shift, rows)):
                        after = edge + _extract(words, degrees, degree_bits, row)
                        place = np.uint64(first + row)
                        share = damping * ranks[place] / out_weights[place]
                        for at in range(max(edge, low - shift), min(after, high - shift)):
                            neighbor = np.uint64(base + _extract(words, neighbors, bits, at))
                            if weighted:
                                add_float_at(
                                    totals, neighbor, share * weights[np.uint64(costs + at)]
                                )
                            else:
                                add_float_at(totals, neighbor, share)
                        edge = after
