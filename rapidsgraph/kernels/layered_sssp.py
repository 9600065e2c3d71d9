"""Shortest paths over partitions on a CPU: the twins of layered_sssp.cu, which documents them.

One thread expands rows one after the other, so a shorter path is taken into account at once, and
active rows are in a near and a far queue, as in sssp.py. A row that was expanded in round r has
r + 1 in `last_relaxed` or `last_relaxed_partition`.
"""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS
from .jit import parallel, serial
from .sections import (
    FIRST,
    ROWS,
    extract,
    first_edge,
    first_group,
    groups,
    is_sound,
    lower_to,
    section,
    shared_work,
)

NEAR, FAR, AGAIN = 1, 2, 4  # a row is in the queue, in the far one, was expanded before: by bits


@serial
def _above(distance, step):
    """Return `distance` plus `step`, or the next floating-point number if that is no different."""
    return max(distance + step, np.nextafter(distance, np.inf))


@serial
def _waiting_rows(start, stop, table, stamps, relaxed, done, flags, flag, queue):
    """Put the rows that wait into a queue, each once; how many there are."""
    count, first = 0, table[start, FIRST]
    for partition in range(start, stop):
        rows = table[partition, ROWS]
        for place in range(table[partition, FIRST], table[partition, FIRST] + rows):
            before = done[partition] if rows == 1 else relaxed[np.uint64(place)]
            row = np.uint64(place - first)
            if stamps[np.uint64(place)] >= before and not flags[row]:
                flags[row] = flag
                queue[np.uint64(count)] = row
                count += 1
    return count


@serial
def _partition_of(table, start, stop, place):
    """Return the first partition that has a row."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if table[middle, FIRST] + table[middle, ROWS] > place:
            high = middle
        else:
            low = middle + 1
    return low


@serial
def _edges_of(words, parts, row):
    """Return the range of the edges of a row in a section."""
    starts, degrees, _, _, _, _, _, _, degree_bits = parts
    group = row // GROUP_ROWS
    edge = first_edge(words, starts, group)
    for before in range(GROUP_ROWS * group, row):
        edge += extract(words, degrees, degree_bits, before)
    return edge, edge + extract(words, degrees, degree_bits, row)


@serial
def _mark(table, partition, place, relaxed, done, round_):
    if table[partition, ROWS] == 1:
        done[partition] = round_ + 1
    else:
        relaxed[place] = round_ + 1


@serial
def relax(
    start,
    stop,
    origin,
    table,
    words,
    checksums,
    weight_type,
    delta,
    cutoff,
    distances,
    last_update,
    last_relaxed,
    last_relaxed_partition,
    arrived_blocks,
    state,
):
    round_, first = state[0] + 1, table[start, FIRST]
    rows = table[stop - 1, FIRST] + table[stop - 1, ROWS] - first
    weights = words.view(weight_type.dtype)
    flags = np.zeros(rows, np.uint8)
    near, far = np.empty(rows + 1, np.int32), np.empty(rows + 1, np.int32)
    head, tail = 0, 0  # near is a ring
    parked = _waiting_rows(
        start, stop, table, last_update, last_relaxed, last_relaxed_partition, flags, FAR, far
    )
    low = below = -1.0
    expanded, repeated = 0, 0
    while parked:
        least = np.inf
        for at in range(parked):
            least = min(least, distances[np.uint64(first + far[np.uint64(at)])])
        # A look at all that waits should cost less than what is expanded between two of them.
        if low >= 0 and (expanded < 1024 or 4 * expanded < parked) and delta * 2 < np.inf:
            delta *= 2
        expanded, repeated, kept = 0, 0, 0
        old, low, below = below, least, _above(least, delta)
        for at in range(parked):
            row = np.uint64(far[np.uint64(at)])
            distance = distances[np.uint64(first + row)]
            if distance >= below:
                far[np.uint64(kept)] = row
                kept += 1
            else:
                flags[row] &= ~FAR
                # Below `old` it was reached by a shorter way meanwhile, and expanded.
                if distance >= old and not flags[row] & NEAR:
                    flags[row] |= NEAR
                    near[np.uint64(tail)] = row
                    tail = tail + 1 if tail < rows else 0
        parked = kept
        while head != tail:
            row = np.uint64(near[np.uint64(head)])
            head = head + 1 if head < rows else 0
            place = np.uint64(first + row)
            distance = distances[place]
            flags[row] &= ~NEAR
            if distance >= below:  # the step has become smaller since
                if not flags[row] & FAR:
                    flags[row] |= FAR
                    far[np.uint64(parked)] = row
                    parked += 1
                continue
            partition, cost = _partition_of(table, start, stop, place), 1
            while partition < stop and table[partition, FIRST] <= place:
                _mark(table, partition, place, last_relaxed, last_relaxed_partition, round_)
                for which in range(2):
                    parts = section(table, partition, which, origin)
                    if not parts[5] or not is_sound(table, checksums, partition, which):
                        continue
                    _, _, neighbors, costs, _, _, base, bits, _ = parts
                    costs //= weights.itemsize // words.itemsize
                    edge, end = _edges_of(words, parts, place - table[partition, FIRST])
                    cost += end - edge
                    for at in range(edge, end):
                        reached = distance + weights[np.uint64(costs + at)]
                        neighbor = base + extract(words, neighbors, bits, at)
                        if reached >= distances[np.uint64(neighbor)] or reached > cutoff:
                            continue
                        distances[np.uint64(neighbor)] = reached
                        last_update[np.uint64(neighbor)] = round_
                        if not first <= neighbor < first + rows:
                            continue  # it waits for its partition
                        other = np.uint64(neighbor - first)
                        if reached < below:
                            if not flags[other] & NEAR:
                                flags[other] |= NEAR
                                near[np.uint64(tail)] = other
                                tail = tail + 1 if tail < rows else 0
                        elif not flags[other] & FAR:
                            flags[other] |= FAR
                            far[np.uint64(parked)] = other
                            parked += 1
                partition += 1
            expanded += cost
            repeated += cost if flags[row] & AGAIN else 0
            flags[row] |= AGAIN
            if expanded > 4096 and 4 * repeated > 3 * expanded:
                # Rows are expanded again and again: the step takes in too much.
                delta = min(delta / 4, (distance - low) / 2 if distance > low else delta)
                below = _above(low, delta)
                expanded, repeated = 0, 0
    state[0] = round_


@serial
def relax_zero_weight(
    start,
    stop,
    origin,
    table,
    words,
    checksums,
    weight_type,
    delta,
    distances,
    hops,
    last_update,
    last_relaxed,
    last_relaxed_partition,
    arrived_blocks,
    state,
):
    round_, first = state[0] + 1, table[start, FIRST]
    rows = table[stop - 1, FIRST] + table[stop - 1, ROWS] - first
    weights = words.view(weight_type.dtype)
    flags, queue = np.zeros(rows, np.uint8), np.empty(rows + 1, np.int32)
    head = 0
    tail = _waiting_rows(
        start, stop, table, last_update, last_relaxed, last_relaxed_partition, flags, NEAR, queue
    )
    while head != tail:
        row = np.uint64(queue[np.uint64(head)])
        head = head + 1 if head < rows else 0
        flags[row] = 0
        place = np.uint64(first + row)
        distance, reached = distances[place], np.int32(hops[place] + 1)
        partition = _partition_of(table, start, stop, place)
        while partition < stop and table[partition, FIRST] <= place:
            _mark(table, partition, place, last_relaxed, last_relaxed_partition, round_)
            for which in range(2):
                parts = section(table, partition, which, origin)
                if not parts[5] or not is_sound(table, checksums, partition, which):
                    continue
                _, _, neighbors, costs, _, _, base, bits, _ = parts
                costs //= weights.itemsize // words.itemsize
                edge, end = _edges_of(words, parts, place - table[partition, FIRST])
                for at in range(edge, end):
                    if distance + weights[np.uint64(costs + at)] != distance:
                        continue
                    neighbor = base + extract(words, neighbors, bits, at)
                    if distances[np.uint64(neighbor)] != distance:
                        continue
                    if reached >= hops[np.uint64(neighbor)]:
                        continue
                    hops[np.uint64(neighbor)] = reached
                    last_update[np.uint64(neighbor)] = round_
                    other = neighbor - first
                    if 0 <= other < rows and not flags[np.uint64(other)]:
                        flags[np.uint64(other)] = NEAR
                        queue[np.uint64(tail)] = other
                        tail = tail + 1 if tail < rows else 0
            partition += 1
    state[0] = round_


@parallel
def find_predecessors(
    start,
    stop,
    origin,
    table,
    words,
    checksums,
    weight_type,
    zero_weight,
    names,
    distances,
    hops,
    predecessors,
):
    weights = words.view(weight_type.dtype)
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for which in range(2):
            if not is_sound(table, checksums, partition, which):
                continue
            starts, degrees, neighbors, costs, rows, edges, base, bits, degree_bits = section(
                table, partition, which, origin
            )
            costs, (work, parts) = (
                costs // (weight_type.itemsize // words.itemsize),
                shared_work(rows, edges),
            )
            for part in prange(parts):
                low, high = part * work // parts, (part + 1) * work // parts
                group = first_group(words, starts, rows, low)
                while group < groups(rows):
                    edge, shift = first_edge(words, starts, group), GROUP_ROWS * (group + 1)
                    if edge + shift - GROUP_ROWS >= high:
                        break
                    group += 1
                    for row in range(shift - GROUP_ROWS, min(shift, rows)):
                        after = edge + extract(words, degrees, degree_bits, row)
                        place = np.uint64(first + row)
                        distance, name = distances[place], names[place]
                        begin = max(edge, low - shift) if distance < np.inf else after
                        for at in range(begin, min(after, high - shift)):
                            reached = distance + weights[np.uint64(costs + at)]
                            neighbor = np.uint64(base + extract(words, neighbors, bits, at))
                            is_no_way = distances[neighbor] != reached or reached == np.inf
                            if is_no_way or predecessors[neighbor] <= name:
                                continue
                            if zero_weight:
                                fits = reached == distance and hops[place] + 1 == hops[neighbor]
                            else:
                                fits = distance < reached
                            if fits:
                                lower_to(predecessors, neighbor, name)
                        edge = after


@parallel
def find_active(start, stop, table, last_update, last_relaxed, last_relaxed_partition, is_active):
    for partition in prange(start, stop):
        first, rows = table[partition, FIRST], table[partition, ROWS]
        for row in range(rows):
            before = last_relaxed_partition[partition] if rows == 1 else last_relaxed[first + row]
            if last_update[first + row] >= before:
                is_active[partition] = 1
                break
