"""Building a layered edge list out of core, on CPUs only: what lies on disk comes by in pieces.

Means: edges as keys, source << 32 | destination, so that ascending keys are adjacency lists; moved
  by digits of their keys, merged, searched in levels, and moved again in layer order.
Requires: ids below 2^31. There is no CUDA twin: the disk is slower than one thread.
Reference: counting sort by digits, Knuth, The Art of Computer Programming 3, 5.2.5.
"""

import numpy as np
from numba import prange

from ...kernels import parallel, serial
from ...kernels.intrinsics import prefetch

HALF, ONE = np.uint64(32), np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
NO_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
SUM, LEAST, MOST = 1, 2, 3  # as adjacency.MULTI_EDGES
AHEAD = 16


@parallel
def look_up(values, low, shift, starts, names, ids):
    """The place of each value in ascending `names`, -1 where it has none.

    Names with (name - low) >> shift == b are names[starts[b]:starts[b + 1]].
    """
    for i_ in prange(len(values)):
        i = np.uint64(i_)
        value = values[i] - low
        bucket, found = value >> shift, np.int32(-1)
        if bucket < np.uint64(len(starts) - 1):
            first, last = starts[bucket], starts[bucket + ONE]
            while first < last:
                middle = (first + last) // 2
                if names[np.uint64(middle)] - low < value:
                    first = middle + 1
                else:
                    last = middle
            if first < starts[bucket + ONE] and names[np.uint64(first)] == values[i]:
                found = np.int32(first)
        ids[i] = found


@serial
def to_keys(sources, destinations, weights, weighted, symmetrize, drops_loops, place, keys, moved):
    """Append edges to keys[place:] and their weights to moved[place:]; where these end then."""
    for i_ in range(len(sources)):
        i = np.uint64(i_)
        source, destination = np.uint64(sources[i]), np.uint64(destinations[i])
        if drops_loops and source == destination:
            continue
        keys[np.uint64(place)] = source << HALF | destination
        if weighted:
            moved[np.uint64(place)] = weights[i]
        place += 1
        if symmetrize and source != destination:
            keys[np.uint64(place)] = destination << HALF | source
            if weighted:
                moved[np.uint64(place)] = weights[i]
            place += 1
    return place


@parallel
def count_digits(keys, low, shift, mask, cursors):
    """How many keys of each part have each digit, (key - low) >> shift & mask."""
    parts, rows = len(cursors), len(keys)
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            cursors[part, keys[np.uint64(i)] - low >> shift & mask] += 1


@parallel
def move_digits(keys, weights, weighted, low, shift, mask, cursors, new_keys, new_weights):
    """Move keys and weights to the places of their digits, those with equal digits in order."""
    parts, rows = len(cursors), len(keys)
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            key = keys[np.uint64(i)]
            digit = key - low >> shift & mask
            place = np.uint64(cursors[part, digit])
            cursors[part, digit] += 1
            new_keys[place] = key
            if weighted:
                new_weights[place] = weights[np.uint64(i)]


@serial
def merge(keys, weights, weighted, how, open_key, open_weight, neighbors, degrees, sums):
    """Ascending keys to neighbors, parallel edges merged as `how` says (below 0: not at all).

    What is merged is written over `keys`, of which `neighbors` is a view, and over `weights`; the
    last edge stays open, because the next keys may begin with another like it.
    """
    last, weight, count = open_key[0], open_weight[0], 0
    for i_ in range(len(keys)):
        i = np.uint64(i_)
        key = keys[i]
        if key == last and how >= 0:
            if weighted and how == SUM:
                weight += weights[i]
            elif weighted and how == LEAST:
                weight = min(weight, weights[i])
            elif weighted and how == MOST:
                weight = max(weight, weights[i])
            continue
        new = weights[i] if weighted else weight
        if last != NO_KEY:
            neighbors[np.uint64(count)] = last & LOW
            degrees[last >> HALF] += 1
            if weighted:
                weights[np.uint64(count)] = weight
                sums[last >> HALF] += weight
            count += 1
        last, weight = key, new
    open_key[0], open_weight[0] = last, weight
    return count


@serial
def reach(frontier, level, offsets, neighbors, distances, found, tail):
    """Give what a frontier reaches first its distance; where found[:tail] ends then."""
    for row in range(len(frontier)):
        vertex = np.uint64(frontier[row])
        first, last = offsets[vertex], offsets[vertex + ONE]
        for arc in range(first, last):
            prefetch(distances, np.uint64(neighbors[np.uint64(min(arc + AHEAD, last - 1))]))
            neighbor = np.uint64(neighbors[np.uint64(arc)])
            if distances[neighbor] < 0:
                distances[neighbor] = level
                found[np.uint64(tail)] = neighbor
                tail += 1
    return tail


@serial
def reach_few(queue, first, last, level, few, most, offsets, neighbors, distances):
    """Search on from the frontier queue[first:last] while levels have few vertices.

    Ends behind `most` vertices, too. Where the frontier is then, and its level.
    """
    begin = first
    while first < last and last - first < few and first - begin < most:
        tail = reach(queue[first:last], level + 1, offsets, neighbors, distances, queue, last)
        first, last, level = last, tail, level + 1
    return first, last, level


@serial
def find_room(first, begin, end, offsets, buckets, cursors, targets):
    """Where the arcs of each row, of those in [begin, end), go if rows are moved by bucket."""
    for row in range(len(buckets)):
        count = min(offsets[first + row + 1], end) - max(offsets[first + row], begin)
        cursors[buckets[row] + 1] += count
    for bucket in range(len(cursors) - 1):
        cursors[bucket + 1] += cursors[bucket]
    for row in range(len(buckets)):
        count = min(offsets[first + row + 1], end) - max(offsets[first + row], begin)
        targets[row] = cursors[buckets[row]]
        cursors[buckets[row]] += count


@parallel
def move_rows(
    first, begin, end, offsets, targets, place_of, neighbors, weights, weighted, places, moved
):
    """Neighbors by place, and weights, of the arcs [begin, end) to the targets of their rows."""
    for row_ in prange(len(targets)):
        row = np.int64(row_)
        arc, last = max(offsets[first + row], begin), min(offsets[first + row + 1], end)
        shift = targets[row] - arc
        for i in range(arc, last):
            places[np.uint64(i + shift)] = place_of[np.uint64(neighbors[np.uint64(i - begin)])]
            if weighted:
                moved[np.uint64(i + shift)] = weights[np.uint64(i - begin)]


@parallel
def count_ahead(starts, degrees, bounds, neighbors, ahead):
    """How many neighbors of each row have places at its bound or behind."""
    for row_ in prange(len(starts)):
        row, count = np.int64(row_), 0
        for i in range(starts[row], starts[row] + degrees[row]):
            count += neighbors[np.uint64(i)] >= bounds[row]
        ahead[row] = count


@parallel
def part_rows(
    starts,
    degrees,
    bounds,
    neighbors,
    weights,
    weighted,
    forward_offsets,
    backward_offsets,
    forward,
    backward,
    forward_weights,
    backward_weights,
):
    """Neighbors at or behind the bound of their row, and those before it, each in order."""
    for row_ in prange(len(starts)):
        row = np.int64(row_)
        ahead, back = np.uint64(forward_offsets[row]), np.uint64(backward_offsets[row])
        for i_ in range(starts[row], starts[row] + degrees[row]):
            i = np.uint64(i_)
            if neighbors[i] >= bounds[row]:
                forward[ahead] = neighbors[i]
                if weighted:
                    forward_weights[ahead] = weights[i]
                ahead += ONE
            else:
                backward[back] = neighbors[i]
                if weighted:
                    backward_weights[back] = weights[i]
                back += ONE
