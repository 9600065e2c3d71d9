"""Sweeps over partitions on a CPU: the twins of sweep.cu, which says what they mean."""

import numpy as np
from numba import prange

from . import parallel
from .intrinsics import add_float_at
from .sections import (
    FIRST,
    FORWARD_WORDS,
    GROUP,
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
        if not is_sound(table, sums, partition, 0):
            continue
        starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = section(
            table, partition, 0, origin
        )
        first = table[partition, FIRST]
        work, parts = shared_work(rows, edges)
        for part in prange(parts):
            low, high = part * work // parts, (part + 1) * work // parts
            group = first_group(words, starts, rows, low)
            layer, behind = 0, layers
            while behind - layer > 1:
                middle = (layer + behind) // 2
                if layer_starts[middle] <= first + GROUP * group:
                    layer = middle
                else:
                    behind = middle
            while group < groups(rows) and first + GROUP * group < end:
                edge, shift = first_edge(words, starts, group), GROUP * (group + 1)
                if edge + shift - GROUP >= high:
                    break
                for row in range(GROUP * group, min(GROUP * (group + 1), rows)):
                    place = first + row
                    if place >= end:
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
    copies = totals.size // ranks.size  # of the totals: a part has one for itself
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for which in range(2):
            if not is_sound(table, sums, partition, which):
                continue
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = section(
                table, partition, which, origin
            )
            costs //= sample.itemsize // words.itemsize
            work, parts = shared_work(rows, edges)
            parts = copies if copies > 1 else parts
            for part in prange(parts):
                low, high = part * work // parts, (part + 1) * work // parts
                own = ranks.size * part if copies > 1 else 0
                group = first_group(words, starts, rows, low) if work else groups(rows)
                while group < groups(rows):
                    edge, shift = first_edge(words, starts, group), GROUP * (group + 1)
                    if edge + shift - GROUP >= high:
                        break
                    group += 1
                    for row in range(shift - GROUP, min(shift, rows)):
                        after = edge + extract(words, degrees, degree_bits, row)
                        place = np.uint64(first + row)
                        rank, leaving = damping * ranks[place], out_weights[place]
                        for at in range(max(edge, low - shift), min(after, high - shift)):
                            to = np.uint64(own + base + extract(words, neighbors, bits, at))
                            weight = weights[np.uint64(costs + at)] if weighted else 1.0
                            if copies > 1:
                                totals[to] += rank * (weight / leaving)
                            else:
                                add_float_at(totals, to, rank * (weight / leaving))
                        edge = after
