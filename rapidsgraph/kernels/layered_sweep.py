"""Sweeps over partitions on a CPU: the twins of layered_sweep.cu, which documents them."""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS
from .intrinsics import add_float_at
from .jit import parallel, serial
from .sections import (
    CHECKSUM,
    FIRST,
    FIVE,
    FORWARD_WORDS,
    MASK,
    ONE,
    PARTS,
    POSITION,
    WORDS,
    extract,
    first_edge,
    first_group,
    groups,
    is_sound,
    lower_to,
    section,
    shared_work,
)


@parallel
def add_checksums(start, stop, origin, num_sections, table, words, checksums):
    for partition in range(start, stop):
        for which in range(num_sections):
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
                checksums[2 * partition + which] += found[part]


@serial
def _exceeds(words, position, bits, limit, first, last):
    """Whether one of the packed values from `first` to before `last` is above `limit`.

    GROUP_ROWS values take whole words, `bits` of them. To each value `2**bits - 1 - limit` is added
    in place, many values at once: what is above the limit carries out of its top bit. Values
    below it carry nothing into the next, so the carry into a word depends on the word before alone.
    """
    period, excess = 8 * bits, (ONE << np.uint64(bits)) - ONE - np.uint64(limit)
    added, before = np.zeros(period + 1, np.uint32), np.zeros(period, np.uint32)
    tops = np.zeros(period, np.uint32)
    for value in range(8 * GROUP_ROWS):
        word, at = value * bits // 32, np.uint64(value * bits % 32)
        shifted = excess << at
        added[word] |= np.uint32(shifted & np.uint64(0xFFFFFFFF))
        added[word + 1] |= np.uint32(shifted >> np.uint64(32))
        top = value * bits + bits - 1
        tops[top // 32] |= np.uint32(ONE << np.uint64(top % 32))
    for word in range(period):
        if word % bits:
            before[word] = added[word - 1]
    groups_of_all = (last - first) // GROUP_ROWS
    begin = position + first * bits // 32
    end = begin + groups_of_all * bits
    carried = np.uint32(0)
    for start in range(begin, end, period):
        for i in range(min(period, end - start)):
            own, plus = words[np.uint64(start + i)], added[np.uint64(i)]
            low = before[np.uint64(i)]
            carry = np.uint32(np.uint32(words[np.uint64(start + i - 1)] + low) < low)
            total = np.uint32(own + plus + carry)
            carried |= ((own & plus) | ((own | plus) & ~total)) & tops[np.uint64(i)]
    worst = np.int64(0)
    for value in range(first + groups_of_all * GROUP_ROWS, last):
        worst = max(worst, extract(words, position, bits, value))
    return carried != 0 or worst > limit


@serial
def _sum_of(words, position, bits, first, last):
    """Return the sum of the packed values from `first` to before `last`."""
    at, step = np.uint64(first * bits), np.uint64(bits)
    begin, mask, total = np.uint64(position), (ONE << step) - ONE, np.uint64(0)
    for _ in range(last - first):
        word = begin + (at >> FIVE)
        pair = np.uint64(words[word]) | np.uint64(words[word + ONE]) << np.uint64(32)
        total += pair >> (at & MASK) & mask
        at += step
    return np.int64(total)


@parallel
def check_sections(
    start, stop, origin, num_sections, num_vertices, table, words, weight_type, weighted, checksums
):
    weights = words.view(weight_type.dtype)
    for partition in range(start, stop):
        for which in range(num_sections):
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = section(
                table, partition, which, origin
            )
            if not edges:
                continue
            costs //= weight_type.itemsize // words.itemsize
            limit, count, blocks = num_vertices - 1 - base, groups(rows), groups(edges)
            is_valid = np.ones(PARTS, np.bool_)
            for part in prange(PARTS):
                valid = first_edge(words, starts, 0) == 0
                valid &= first_edge(words, starts, count) == edges
                for group in range(part * count // PARTS, (part + 1) * count // PARTS):
                    edge = first_edge(words, starts, group)
                    edge += _sum_of(
                        words,
                        degrees,
                        degree_bits,
                        GROUP_ROWS * group,
                        min(GROUP_ROWS * (group + 1), rows),
                    )
                    valid &= edge == first_edge(words, starts, group + 1)
                low = GROUP_ROWS * (part * blocks // PARTS)
                high = min(GROUP_ROWS * ((part + 1) * blocks // PARTS), edges)
                if (1 << bits) - 1 > limit and low < high:
                    valid &= not _exceeds(words, neighbors, bits, limit, low, high)
                if weighted:
                    usable = 0
                    for at in range(low, high):
                        weight = weights[np.uint64(costs + at)]
                        usable += np.int64((weight >= 0.0) & (weight < np.inf))
                    valid &= usable == max(high - low, 0)
                is_valid[part] = valid
            if not is_valid.all():
                checksums[2 * partition + which] = (
                    np.uint64(table[partition, CHECKSUM + which]) + ONE
                )


@parallel
def find_parents(
    start, stop, origin, table, words, checksums, num_layers, layer_starts, row_limit, parents
):
    for partition in range(start, stop):
        if not is_sound(table, checksums, partition, 0):
            continue
        starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = section(
            table, partition, 0, origin
        )
        first = table[partition, FIRST]
        work, parts = shared_work(rows, edges)
        for part in prange(parts):
            low, high = part * work // parts, (part + 1) * work // parts
            group = first_group(words, starts, rows, low)
            layer, behind = 0, num_layers
            while behind - layer > 1:
                middle = (layer + behind) // 2
                if layer_starts[middle] <= first + GROUP_ROWS * group:
                    layer = middle
                else:
                    behind = middle
            while group < groups(rows) and first + GROUP_ROWS * group < row_limit:
                edge, shift = first_edge(words, starts, group), GROUP_ROWS * (group + 1)
                if edge + shift - GROUP_ROWS >= high:
                    break
                for row in range(GROUP_ROWS * group, min(GROUP_ROWS * (group + 1), rows)):
                    place = first + row
                    if place >= row_limit:
                        break
                    after = edge + extract(words, degrees, degree_bits, row)
                    while layer_starts[layer + 1] <= place:
                        layer += 1
                    next_layer = layer_starts[layer + 1]
                    for at in range(max(edge, low - shift), min(after, high - shift)):
                        neighbor = base + extract(words, neighbors, bits, at)
                        if neighbor >= next_layer and parents[np.uint64(neighbor)] > place:
                            lower_to(parents, np.uint64(neighbor), np.int32(place))
                    edge = after
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
    copies = sums.size // pagerank.size  # of the totals: a part has one for itself
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for which in range(2):
            if not is_sound(table, checksums, partition, which):
                continue
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = section(
                table, partition, which, origin
            )
            costs //= weight_type.itemsize // words.itemsize
            work, parts = shared_work(rows, edges)
            parts = copies if copies > 1 else parts
            for part in prange(parts):
                low, high = part * work // parts, (part + 1) * work // parts
                own = pagerank.size * part if copies > 1 else 0
                group = first_group(words, starts, rows, low) if work else groups(rows)
                while group < groups(rows):
                    edge, shift = first_edge(words, starts, group), GROUP_ROWS * (group + 1)
                    if edge + shift - GROUP_ROWS >= high:
                        break
                    group += 1
                    for row in range(shift - GROUP_ROWS, min(shift, rows)):
                        after = edge + extract(words, degrees, degree_bits, row)
                        place = np.uint64(first + row)
                        rank, leaving = damping * pagerank[place], out_weights[place]
                        for at in range(max(edge, low - shift), min(after, high - shift)):
                            to = np.uint64(own + base + extract(words, neighbors, bits, at))
                            weight = weights[np.uint64(costs + at)] if weighted else 1.0
                            if copies > 1:
                                sums[to] += rank * (weight / leaving)
                            else:
                                add_float_at(sums, to, rank * (weight / leaving))
                        edge = after
