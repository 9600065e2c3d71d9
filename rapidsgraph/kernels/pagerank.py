"""Power iteration for PageRank on a CPU: the twins of pagerank.cu, which documents them.

The work is cut into as many parts as there are partial sums, whatever the number of threads, so
that sums do not depend on it. Numba counts prange in uint64, which combined with int64 gives
float64, hence the casts.
"""

import numpy as np
from numba import njit, prange

from .constants import WARP
from .jit import parallel, serial

BLOCK = 4096  # terms of a sum that are added one after another

inline = njit(inline="always")


@inline
def _finish(sum, damping, restart, restarts, mass, share, shares, vertex):
    teleport = restart[vertex if restarts > 1 else 0]
    return damping * sum + teleport + mass * share[vertex if shares > 1 else 0]


@parallel
def initialize_sums(
    num_vertices, teleport, num_teleports, dangling_weights, num_dangling_weights, state, sums
):
    if state[3] != 0.0:
        return
    for vertex_ in prange(num_vertices):
        vertex = np.int64(vertex_)
        sums[vertex] = _finish(
            0.0,
            0.0,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )


@serial  # additions to one vertex from two threads would get lost
def scatter_edges(
    num_edges,
    symmetrize,
    damping,
    sources,
    destinations,
    weights,
    weighted,
    out_weights,
    pagerank,
    state,
    sums,
):
    if state[3] != 0.0:
        return
    for edge in range(num_edges):
        source, destination = sources[edge], destinations[edge]
        weight = damping * weights[edge] if weighted else damping
        sums[destination] += weight * pagerank[source] / out_weights[source]
        if symmetrize and source != destination:
            sums[source] += weight * pagerank[destination] / out_weights[destination]


@parallel
def gather_nodes(
    num_vertices,
    offsets,
    neighbors,
    weights,
    weighted,
    out_weights,
    damping,
    teleport,
    num_teleports,
    dangling_weights,
    num_dangling_weights,
    state,
    pagerank,
    new_pagerank,
):
    if state[3] != 0.0:
        return
    for vertex_ in prange(num_vertices):
        vertex = np.int64(vertex_)
        sum = 0.0
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[edge]
            weight = np.float64(weights[edge]) if weighted else 1.0
            sum += weight * pagerank[neighbor] / out_weights[neighbor]
        new_pagerank[vertex] = _finish(
            sum,
            damping,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )


@inline
def _at(values, place):
    """values[place], where the compiler need not ask whether to count from the end."""
    return np.float64(values[np.uint32(place)])


@inline
def _sum_list(begin, end, neighbors, weights, weighted, contributions):
    """In blocks, since the error of a sum grows with the number of its terms."""
    total = 0.0
    while end - begin > BLOCK:
        total += _sum_block(begin, begin + BLOCK, neighbors, weights, weighted, contributions)
        begin += BLOCK
    return total + _sum_block(begin, end, neighbors, weights, weighted, contributions)


@serial
def _sum_block(begin, end, neighbors, weights, weighted, contributions):
    """Four sums at once: additions to one would wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    near = neighbors[begin:end]
    length = np.uint64(len(near))
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    edge = np.uint64(0)
    if weighted:
        heavy = weights[begin:end]
        while edge + three < length:
            a += heavy[edge] * _at(contributions, near[edge])
            b += heavy[edge + one] * _at(contributions, near[edge + one])
            c += heavy[edge + two] * _at(contributions, near[edge + two])
            d += heavy[edge + three] * _at(contributions, near[edge + three])
            edge += four
        while edge < length:
            a += heavy[edge] * _at(contributions, near[edge])
            edge += one
    else:
        while edge + three < length:
            a += _at(contributions, near[edge])
            b += _at(contributions, near[edge + one])
            c += _at(contributions, near[edge + two])
            d += _at(contributions, near[edge + three])
            edge += four
        while edge < length:
            a += _at(contributions, near[edge])
            edge += one
    return (a + b) + (c + d)


@parallel
def gather_contributions(
    num_vertices,
    offsets,
    neighbors,
    weights,
    weighted,
    out_weights,
    damping,
    teleport,
    num_teleports,
    dangling_weights,
    num_dangling_weights,
    state,
    contributions,
    new_contributions,
    new_pagerank,
):
    if state[3] != 0.0:
        return
    for vertex_ in prange(num_vertices):
        vertex = np.int64(vertex_)
        sum = _sum_list(
            offsets[vertex], offsets[vertex + 1], neighbors, weights, weighted, contributions
        )
        rank = _finish(
            sum,
            damping,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )
        new_pagerank[vertex] = rank
        new_contributions[vertex] = rank / out_weights[vertex]


@parallel
def gather_groups(
    num_rows,
    rows,
    group_size,
    offsets,
    neighbors,
    weights,
    weighted,
    out_weights,
    damping,
    teleport,
    num_teleports,
    dangling_weights,
    num_dangling_weights,
    state,
    contributions,
    new_contributions,
    new_pagerank,
):
    if state[3] != 0.0:
        return
    for row_ in prange(num_rows):  # a thread is group enough here
        row = np.int64(row_)
        vertex = rows[row]
        sum = _sum_list(
            offsets[vertex], offsets[vertex + 1], neighbors, weights, weighted, contributions
        )
        rank = _finish(
            sum,
            damping,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )
        new_pagerank[vertex] = rank
        new_contributions[vertex] = rank / out_weights[vertex]


@parallel
def measure_change(num_vertices, copy, new_pagerank, is_dangling, state, pagerank, partials):
    if state[3] != 0.0:
        return
    parts = len(partials) // 2
    for part_ in prange(parts):
        part = np.int64(part_)
        residual, mass = 0.0, 0.0
        for vertex in range(num_vertices * part // parts, num_vertices * (part + 1) // parts):
            rank = np.float64(new_pagerank[vertex])
            residual += abs(rank - pagerank[vertex])
            if is_dangling[vertex]:
                mass += rank
            if copy:
                pagerank[vertex] = rank
        partials[2 * part] = residual
        partials[2 * part + 1] = mass


@serial
def check_convergence(num_blocks, tolerance, partials, state):
    if state[3] != 0.0:
        return
    residual, mass = 0.0, 0.0
    for part in range(num_blocks):
        residual += partials[2 * part]
        mass += partials[2 * part + 1]
    state[0] += 1.0
    state[1] = residual
    state[2] = mass
    state[3] = 1.0 if residual < tolerance else 0.0


@parallel
def propagate_labels(num_vertices, offsets, neighbors, labels, new_labels):
    for vertex_ in prange(num_vertices):
        vertex = np.int64(vertex_)
        label = labels[vertex]
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            label = min(label, labels[np.uint32(neighbors[edge])])
        new_labels[vertex] = label


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
        begin = offsets[order[row]]
        length = offsets[order[row] + 1] - begin
        if row < num_whole_rows:
            to, step, width = row_offsets[row], 1, length
        else:
            cut = (row - num_whole_rows) // WARP
            to = slice_offsets[cut] + (row - num_whole_rows) % WARP
            step = WARP
            width = (slice_offsets[cut + 1] - slice_offsets[cut]) // WARP
        for k in range(length):
            new_neighbors[to + k * step] = contribution_index[neighbors[begin + k]]
            if weighted:
                new_weights[to + k * step] = weights[begin + k]
        for k in range(length, width):
            new_neighbors[to + k * step] = num_contributions
            if weighted:
                new_weights[to + k * step] = 0
    for row in range(
        num_vertices, num_whole_rows + (num_vertices - num_whole_rows + WARP - 1) // WARP * WARP
    ):
        cut = (row - num_whole_rows) // WARP  # the last slice's lanes without a row
        for place in range(
            slice_offsets[cut] + (row - num_whole_rows) % WARP, slice_offsets[cut + 1], WARP
        ):
            new_neighbors[place] = num_contributions
            if weighted:
                new_weights[place] = 0


@inline
def _unit_at(cost, whole_rows, slices, row_offsets, slice_offsets):
    """The first unit (row, then slices) before which there is work of at least `cost`."""
    low, high = 0, whole_rows + slices
    while low < high:
        middle = (low + high) // 2
        if middle < whole_rows:
            before = row_offsets[middle] + 4 * middle
        else:
            cut = middle - whole_rows
            before = slice_offsets[cut] + 4 * (whole_rows + cut * WARP)
        if before < cost:
            low = middle + 1
        else:
            high = middle
    return low


@parallel
def iterate(
    num_iterations,
    tolerance,
    damping,
    num_vertices,
    num_contributions,
    num_isolated,
    num_long_rows,
    num_whole_rows,
    num_narrow_slices,
    num_chunks,
    num_cached,
    chunk_rows,
    chunk_offsets,
    row_offsets,
    slice_offsets,
    neighbors,
    weights,
    weighted,
    contribution_index,
    has_contribution_index,
    inverse_weights,
    teleport,
    num_teleports,
    dangling_weights,
    num_dangling_weights,
    contributions,
    pagerank,
    chunk_sums,
    arrived_chunks,
    partials,
    arrived_blocks,
    state,
):
    active = num_vertices - num_isolated
    slices = (active - num_whole_rows + WARP - 1) // WARP
    parts = len(partials) // 2
    work = slice_offsets[slices] + 4 * (num_whole_rows + slices * WARP)
    for _ in range(num_iterations):
        if state[3] != 0.0:
            return
        parity = int(state[0]) % 2
        mass = state[2]
        old_contributions = contributions[
            parity * (num_contributions + 1) : (parity + 1) * (num_contributions + 1)
        ]
        new_contributions = contributions[
            (1 - parity) * (num_contributions + 1) : (2 - parity) * (num_contributions + 1)
        ]
        for part_ in prange(parts):
            part = np.int64(part_)
            first = _unit_at(
                work * part // parts, num_whole_rows, slices, row_offsets, slice_offsets
            )
            last = _unit_at(
                work * (part + 1) // parts, num_whole_rows, slices, row_offsets, slice_offsets
            )
            if part == parts - 1:
                last = num_whole_rows + slices
            residual, held = 0.0, 0.0
            sums = np.empty(WARP)
            for unit in range(first, last):
                if unit < num_whole_rows:
                    row, rows = unit, 1
                    sums[0] = _sum_list(
                        row_offsets[row],
                        row_offsets[row + 1],
                        neighbors,
                        weights,
                        weighted,
                        old_contributions,
                    )
                else:
                    cut = unit - num_whole_rows
                    row = num_whole_rows + cut * WARP
                    rows = min(WARP, active - row)
                    sums[:] = 0.0
                    for begin in range(slice_offsets[cut], slice_offsets[cut + 1], WARP):
                        near = neighbors[begin : begin + WARP]
                        if weighted:
                            heavy = weights[begin : begin + WARP]
                            for lane in range(WARP):
                                sums[lane] += heavy[lane] * _at(old_contributions, near[lane])
                        else:
                            for lane in range(WARP):
                                sums[lane] += _at(old_contributions, near[lane])
                for lane in range(rows):
                    rank = _finish(
                        sums[lane],
                        damping,
                        teleport,
                        num_teleports,
                        mass,
                        dangling_weights,
                        num_dangling_weights,
                        row,
                    )
                    inverse = inverse_weights[row]
                    if inverse == 0:
                        residual += abs(rank - pagerank[row])
                        held += rank
                        pagerank[row] = rank
                    else:
                        slot = contribution_index[row] if has_contribution_index else row
                        contribution = contributions.dtype.type(rank * inverse)
                        residual += abs(
                            np.float64(contribution) - np.float64(old_contributions[slot])
                        ) * (1.0 / inverse)
                        new_contributions[slot] = contribution
                    row += 1
            partials[2 * part] = residual
            partials[2 * part + 1] = held
        residual, held = 0.0, 0.0
        for part in range(parts):
            residual += partials[2 * part]
            held += partials[2 * part + 1]
        base = teleport[0] + mass * dangling_weights[0]
        residual += num_isolated * abs(base - state[4])
        held += num_isolated * base
        state[4] = base
        state[0] += 1.0
        state[1] = residual
        state[2] = held
        state[3] = 1.0 if residual < tolerance else 0.0
