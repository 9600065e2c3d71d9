"""Neighbors of ranges of vertices of a layered edge list on a CPU: twins of layered_tiles.cu."""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS
from .disjoint_sets import join
from .intrinsics import add_at
from .jit import parallel
from .sections import (
    FIRST,
    ONE,
    extract,
    first_group,
    group_start,
    is_intact,
    num_groups,
    read_section,
    split_work,
)


@parallel
def count_arcs(
    start, stop, origin, table, words, checksums, is_directed, out_counts, in_counts
):  # fmt: skip
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = read_section(
                table, partition, direction, origin, 1
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
                        edge_start = max(edge, work_start - work_before)
                        edge_stop = min(row_stop, work_stop - work_before)
                        if edge_stop > edge_start:
                            add_at(out_counts, np.uint64(first + row), edge_stop - edge_start)
                            if is_directed:
                                for i in range(edge_start, edge_stop):
                                    neighbor = base + extract(words, neighbors, bits, i)
                                    add_at(in_counts, np.uint64(neighbor), 1)
                        edge = row_stop


@parallel
def list_neighbors(
    start, stop, origin, table, words, checksums, tile_start, tile_stop, is_directed, out_cursors,
    out_neighbors, in_cursors, in_neighbors,
):  # fmt: skip
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = read_section(
                table, partition, direction, origin, 1
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
                        edge_start = max(edge, work_start - work_before)
                        edge_stop = min(row_stop, work_stop - work_before)
                        edge, position = row_stop, first + row
                        if edge_stop <= edge_start:
                            continue
                        source = np.uint64(position - tile_start)
                        if tile_start <= position < tile_stop and out_cursors[source] >= 0:
                            index = add_at(out_cursors, source, edge_stop - edge_start)
                            for i in range(edge_start, edge_stop):
                                neighbor = base + extract(words, neighbors, bits, i)
                                out_neighbors[np.uint64(index + i - edge_start)] = neighbor
                        if is_directed:
                            for i in range(edge_start, edge_stop):
                                neighbor = base + extract(words, neighbors, bits, i)
                                destination = np.uint64(neighbor - tile_start)
                                if not tile_start <= neighbor < tile_stop:
                                    continue
                                if in_cursors[destination] >= 0:
                                    index = add_at(in_cursors, destination, 1)
                                    in_neighbors[np.uint64(index)] = position


@parallel
def link_arcs(start, stop, origin, table, words, checksums, names, parents):
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = read_section(
                table, partition, direction, origin, 1
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
                        name = names[np.uint64(first + row)]
                        edge_start = max(edge, work_start - work_before)
                        for i in range(edge_start, min(row_stop, work_stop - work_before)):
                            neighbor = base + extract(words, neighbors, bits, i)
                            join(parents, name, names[np.uint64(neighbor)])
                        edge = row_stop


@parallel
def list_arcs(
    start, stop, origin, table, words, checksums, num_active, nodes, num_arcs, sources,
    destinations,
):  # fmt: skip
    for partition in range(start, stop):
        first = table[partition, FIRST]
        for direction in range(2):
            if not is_intact(table, checksums, partition, direction):
                continue
            starts, degrees, neighbors, _, rows, edges, base, bits, degree_bits = read_section(
                table, partition, direction, origin, 1
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
                        edge_start = max(edge, work_start - work_before)
                        edge_stop = min(row_stop, work_stop - work_before)
                        edge, source = row_stop, nodes[np.uint64(first + row)]
                        if source >= num_active:
                            continue
                        count = 0
                        for i in range(edge_start, edge_stop):
                            neighbor = base + extract(words, neighbors, bits, i)
                            other = nodes[np.uint64(neighbor)]
                            count += other < num_active and other != source
                        if not count:
                            continue
                        index = np.uint64(add_at(num_arcs, np.uint64(0), count))
                        for i in range(edge_start, edge_stop):
                            neighbor = base + extract(words, neighbors, bits, i)
                            other = nodes[np.uint64(neighbor)]
                            if other < num_active and other != source:
                                sources[index] = source
                                destinations[index] = other
                                index += ONE
