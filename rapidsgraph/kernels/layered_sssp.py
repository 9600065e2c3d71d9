"""SSSP of a layered edge list on a CPU: the twins of layered_sssp.cu.

One thread relaxes rows one after another, so that a shorter path takes effect at once. Active rows
wait in a near and a far queue, as in sssp.py. A row that was relaxed in round r has r + 1 in
`last_relaxed` or `last_relaxed_partition`, because its own round cannot make it active again.
"""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS
from .jit import parallel, serial
from .sections import (
    FIRST,
    ROWS,
    atomic_min,
    extract,
    first_group,
    group_start,
    is_intact,
    num_groups,
    read_section,
    split_work,
)

IN_NEAR, IN_FAR, WAS_RELAXED = 1, 2, 4  # flags of a row
MIN_RELAXED = 1024  # work between two scans of the far queue, below which delta grows
MIN_MEASURED = 4096  # work after which the rate of repeated work is measured


@serial
def _add_delta(distance, delta):
    """Return `distance + delta`, or the next number if the sum rounds to `distance`."""
    return max(distance + delta, np.nextafter(distance, np.inf))


@serial
def _queue_active_rows(
    start, stop, table, last_update, last_relaxed, last_relaxed_partition, flags, flag, queue
):
    """Append the active rows to an empty queue, once each; return their number."""
    size, first = 0, table[start, FIRST]
    for partition in range(start, stop):
        rows = table[partition, ROWS]
        for position in range(table[partition, FIRST], table[partition, FIRST] + rows):
            relaxed_round = (
                last_relaxed_partition[partition]
                if rows == 1
                else last_relaxed[np.uint64(position)]
            )
            row = np.uint64(position - first)
            if last_update[np.uint64(position)] >= relaxed_round and not flags[row]:
                flags[row] = flag
                queue[np.uint64(size)] = row
                size += 1
    return size


@serial
def _first_partition_of(table, start, stop, position):
    """Return the first partition that has a row."""
    while start < stop:
        middle = (start + stop) // 2
        if table[middle, FIRST] + table[middle, ROWS] > position:
            stop = middle
        else:
            start = middle + 1
    return start


@serial
def _edges_of(words, starts, degrees, degree_bits, row):
    """Return the range of the edges of a row of a section."""
    group = row // GROUP_ROWS
    edge = group_start(words, starts, group)
    for previous in range(GROUP_ROWS * group, row):
        edge += extract(words, degrees, degree_bits, previous)
    return edge, edge + extract(words, degrees, degree_bits, row)


@serial
def _mark_relaxed(table, partition, position, last_relaxed, last_relaxed_partition, current_round):
    if table[partition, ROWS] == 1:
        last_relaxed_partition[partition] = current_round + 1
    else:
        last_relaxed[position] = current_round + 1


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
    current_round, first = state[0] + 1, table[start, FIRST]
    num_rows = table[stop - 1, FIRST] + table[stop - 1, ROWS] - first
    weights, weight_words = words.view(weight_type.dtype), weight_type.itemsize // words.itemsize
    flags = np.zeros(num_rows, np.uint8)
    near, far = np.empty(num_rows + 1, np.int32), np.empty(num_rows + 1, np.int32)
    head, tail = 0, 0  # near is a ring
    num_far = _queue_active_rows(
        start, stop, table, last_update, last_relaxed, last_relaxed_partition, flags, IN_FAR, far
    )
    # Rows with a distance in [near_start, near_stop) are near.
    near_start = near_stop = -1.0
    work, repeated_work = 0, 0
    while num_far:
        min_distance = np.inf
        for i in range(num_far):
            min_distance = min(min_distance, distances[np.uint64(first + far[np.uint64(i)])])
        # A scan of the far queue should cost less than the work between two scans.
        is_step_small = work < MIN_RELAXED or 4 * work < num_far
        if near_start >= 0 and is_step_small and delta * 2 < np.inf:
            delta *= 2
        work, repeated_work, num_kept = 0, 0, 0
        last_stop, near_start = near_stop, min_distance
        near_stop = _add_delta(min_distance, delta)
        for i in range(num_far):
            row = np.uint64(far[np.uint64(i)])
            distance = distances[np.uint64(first + row)]
            if distance >= near_stop:
                far[np.uint64(num_kept)] = row
                num_kept += 1
            else:
                flags[row] &= ~IN_FAR
                # A row nearer than last_stop was reached by a shorter path, and relaxed, before.
                if distance >= last_stop and not flags[row] & IN_NEAR:
                    flags[row] |= IN_NEAR
                    near[np.uint64(tail)] = row
                    tail = tail + 1 if tail < num_rows else 0
        num_far = num_kept
        while head != tail:
            row = np.uint64(near[np.uint64(head)])
            head = head + 1 if head < num_rows else 0
            position = np.uint64(first + row)
            distance = distances[position]
            flags[row] &= ~IN_NEAR
            if distance >= near_stop:  # delta has shrunk since the row was queued
                if not flags[row] & IN_FAR:
                    flags[row] |= IN_FAR
                    far[np.uint64(num_far)] = row
                    num_far += 1
                continue
            partition, row_work = _first_partition_of(table, start, stop, position), 1
            while partition < stop and table[partition, FIRST] <= position:
                _mark_relaxed(
                    table, partition, position, last_relaxed, last_relaxed_partition, current_round
                )
                for direction in range(2):
                    starts, degrees, neighbors, first_weight, _, edges, base, bits, degree_bits = (
                        read_section(table, partition, direction, origin, weight_words)
                    )
                    if not edges or not is_intact(table, checksums, partition, direction):
                        continue
                    edge_start, edge_stop = _edges_of(
                        words, starts, degrees, degree_bits, position - table[partition, FIRST]
                    )
                    row_work += edge_stop - edge_start
                    for edge in range(edge_start, edge_stop):
                        new_distance = distance + weights[np.uint64(first_weight + edge)]
                        neighbor = base + extract(words, neighbors, bits, edge)
                        if new_distance >= distances[np.uint64(neighbor)] or new_distance > cutoff:
                            continue
                        distances[np.uint64(neighbor)] = new_distance
                        last_update[np.uint64(neighbor)] = current_round
                        if not first <= neighbor < first + num_rows:
                            continue  # a row of other partitions stays active
                        other = np.uint64(neighbor - first)
                        if new_distance < near_stop:
                            if not flags[other] & IN_NEAR:
                                flags[other] |= IN_NEAR
                                near[np.uint64(tail)] = other
                                tail = tail + 1 if tail < num_rows else 0
                        elif not flags[other] & IN_FAR:
                            flags[other] |= IN_FAR
                            far[np.uint64(num_far)] = other
                            num_far += 1
                partition += 1
            work += row_work
            repeated_work += row_work if flags[row] & WAS_RELAXED else 0
            flags[row] |= WAS_RELAXED
            if work > MIN_MEASURED and 4 * repeated_work > 3 * work:
                # Most rows are relaxed repeatedly, because the near range is too wide.
                is_inside = distance > near_start
                delta = min(delta / 4, (distance - near_start) / 2 if is_inside else delta)
                near_stop = _add_delta(near_start, delta)
                work, repeated_work = 0, 0
    state[0] = current_round


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
    current_round, first = state[0] + 1, table[start, FIRST]
    num_rows = table[stop - 1, FIRST] + table[stop - 1, ROWS] - first
    weights, weight_words = words.view(weight_type.dtype), weight_type.itemsize // words.itemsize
    flags, queue = np.zeros(num_rows, np.uint8), np.empty(num_rows + 1, np.int32)  # a ring
    head = 0
    tail = _queue_active_rows(
        start, stop, table, last_update, last_relaxed, last_relaxed_partition, flags, IN_NEAR, queue
    )
    while head != tail:
        row = np.uint64(queue[np.uint64(head)])
        head = head + 1 if head < num_rows else 0
        flags[row] = 0
        position = np.uint64(first + row)
        distance, new_hops = distances[position], np.int32(hops[position] + 1)
        partition = _first_partition_of(table, start, stop, position)
        while partition < stop and table[partition, FIRST] <= position:
            _mark_relaxed(
                table, partition, position, last_relaxed, last_relaxed_partition, current_round
            )
            for direction in range(2):
                starts, degrees, neighbors, first_weight, _, edges, base, bits, degree_bits = (
                    read_section(table, partition, direction, origin, weight_words)
                )
                if not edges or not is_intact(table, checksums, partition, direction):
                    continue
                edge_start, edge_stop = _edges_of(
                    words, starts, degrees, degree_bits, position - table[partition, FIRST]
                )
                for edge in range(edge_start, edge_stop):
                    if distance + weights[np.uint64(first_weight + edge)] != distance:
                        continue
                    neighbor = base + extract(words, neighbors, bits, edge)
                    if distances[np.uint64(neighbor)] != distance:
                        continue
                    if new_hops >= hops[np.uint64(neighbor)]:
                        continue
                    hops[np.uint64(neighbor)] = new_hops
                    last_update[np.uint64(neighbor)] = current_round
                    other = neighbor - first
                    if 0 <= other < num_rows and not flags[np.uint64(other)]:
                        flags[np.uint64(other)] = IN_NEAR
                        queue[np.uint64(tail)] = other
                        tail = tail + 1 if tail < num_rows else 0
            partition += 1
    state[0] = current_round


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
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, first_weight, rows, edges, base, bits, degree_bits = (
                read_section(
                    table, partition, direction, origin, weight_type.itemsize // words.itemsize
                )
            )
            work, num_chunks = split_work(rows, edges)
            for chunk in prange(num_chunks):
                work_start, work_stop = chunk * work // num_chunks, (chunk + 1) * work // num_chunks
                group = first_group(words, starts, rows, work_start)
                while group < num_groups(rows):
                    edge, work_before = group_start(words, starts, group), GROUP_ROWS * (group + 1)
                    if edge + work_before - GROUP_ROWS >= work_stop:
                        break
                    group += 1
                    for row in range(work_before - GROUP_ROWS, min(work_before, rows)):
                        row_stop = edge + extract(words, degrees, degree_bits, row)
                        position = np.uint64(first + row)
                        distance, name = distances[position], names[position]
                        edge_start = max(edge, work_start - work_before)
                        if distance == np.inf:
                            edge_start = row_stop
                        for i in range(edge_start, min(row_stop, work_stop - work_before)):
                            path = distance + weights[np.uint64(first_weight + i)]
                            neighbor = np.uint64(base + extract(words, neighbors, bits, i))
                            is_shortest = distances[neighbor] == path and path != np.inf
                            if not is_shortest or predecessors[neighbor] <= name:
                                continue
                            if zero_weight:
                                is_predecessor = (
                                    path == distance and hops[position] + 1 == hops[neighbor]
                                )
                            else:
                                is_predecessor = distance < path
                            if is_predecessor:
                                atomic_min(predecessors, neighbor, name)
                        edge = row_stop


@parallel
def find_active(start, stop, table, last_update, last_relaxed, last_relaxed_partition, is_active):
    for partition in prange(start, stop):
        first, rows = table[partition, FIRST], table[partition, ROWS]
        for row in range(rows):
            relaxed_round = (
                last_relaxed_partition[partition] if rows == 1 else last_relaxed[first + row]
            )
            if last_update[first + row] >= relaxed_round:
                is_active[partition] = 1
                break
