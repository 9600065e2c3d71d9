"""Power iteration for PageRank on a CPU: the twins of pagerank.cu, which documents them.

The work is divided into as many blocks as there are partial sums, so that sums do not depend on the
number of threads. Numba counts prange in uint64, and uint64 combined with int64 becomes float64;
hence the casts.
"""

import numpy as np
from numba import njit, prange

from .constants import WARP
from .jit import parallel, serial

BLOCK_TERMS = 4096  # terms that are added to one partial sum

inline = njit(inline="always")


@inline
def _finish(
    sum,
    damping,
    teleport,
    num_teleports,
    dangling_mass,
    dangling_weights,
    num_dangling_weights,
    vertex,
):
    """Return the PageRank of a vertex from the sum over its in-arcs."""
    vertex_teleport = teleport[vertex if num_teleports > 1 else 0]
    dangling_weight = dangling_weights[vertex if num_dangling_weights > 1 else 0]
    return damping * sum + vertex_teleport + dangling_mass * dangling_weight


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


@serial  # two threads could add to one vertex at the same time
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
def _at(values, index):
    """Return values[index]; the unsigned index spares the compiler a test for negative ones."""
    return np.float64(values[np.uint32(index)])


@inline
def _sum_list(start, stop, neighbors, weights, weighted, contributions):
    """Sum in blocks, because the rounding error grows with the number of terms."""
    total = 0.0
    while stop - start > BLOCK_TERMS:
        total += _sum_block(start, start + BLOCK_TERMS, neighbors, weights, weighted, contributions)
        start += BLOCK_TERMS
    return total + _sum_block(start, stop, neighbors, weights, weighted, contributions)


@serial
def _sum_block(start, stop, neighbors, weights, weighted, contributions):
    """Add to four sums in turn, because additions to one sum depend on each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    chunk_neighbors = neighbors[start:stop]
    length = np.uint64(len(chunk_neighbors))
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    edge = np.uint64(0)
    if weighted:
        chunk_weights = weights[start:stop]
        while edge + three < length:
            a += chunk_weights[edge] * _at(contributions, chunk_neighbors[edge])
            b += chunk_weights[edge + one] * _at(contributions, chunk_neighbors[edge + one])
            c += chunk_weights[edge + two] * _at(contributions, chunk_neighbors[edge + two])
            d += chunk_weights[edge + three] * _at(contributions, chunk_neighbors[edge + three])
            edge += four
        while edge < length:
            a += chunk_weights[edge] * _at(contributions, chunk_neighbors[edge])
            edge += one
    else:
        while edge + three < length:
            a += _at(contributions, chunk_neighbors[edge])
            b += _at(contributions, chunk_neighbors[edge + one])
            c += _at(contributions, chunk_neighbors[edge + two])
            d += _at(contributions, chunk_neighbors[edge + three])
            edge += four
        while edge < length:
            a += _at(contributions, chunk_neighbors[edge])
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
        new_value = _finish(
            sum,
            damping,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )
        new_pagerank[vertex] = new_value
        new_contributions[vertex] = new_value / out_weights[vertex]


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
    for row_ in prange(num_rows):  # one thread replaces a group of the CUDA twin
        row = np.int64(row_)
        vertex = rows[row]
        sum = _sum_list(
            offsets[vertex], offsets[vertex + 1], neighbors, weights, weighted, contributions
        )
        new_value = _finish(
            sum,
            damping,
            teleport,
            num_teleports,
            state[2],
            dangling_weights,
            num_dangling_weights,
            vertex,
        )
        new_pagerank[vertex] = new_value
        new_contributions[vertex] = new_value / out_weights[vertex]


@parallel
def measure_change(num_vertices, copy, new_pagerank, is_dangling, state, pagerank, partials):
    if state[3] != 0.0:
        return
    num_blocks = len(partials) // 2
    for block_ in prange(num_blocks):
        block = np.int64(block_)
        residual, dangling_mass = 0.0, 0.0
        for vertex in range(
            num_vertices * block // num_blocks, num_vertices * (block + 1) // num_blocks
        ):
            new_value = np.float64(new_pagerank[vertex])
            residual += abs(new_value - pagerank[vertex])
            if is_dangling[vertex]:
                dangling_mass += new_value
            if copy:
                pagerank[vertex] = new_value
        partials[2 * block] = residual
        partials[2 * block + 1] = dangling_mass


@serial
def check_convergence(num_blocks, tolerance, partials, state):
    if state[3] != 0.0:
        return
    residual, dangling_mass = 0.0, 0.0
    for block in range(num_blocks):
        residual += partials[2 * block]
        dangling_mass += partials[2 * block + 1]
    state[0] += 1.0
    state[1] = residual
    state[2] = dangling_mass
    state[3] = 1.0 if residual < tolerance else 0.0


def initialize_rows(
    num_vertices,
    num_contributions,
    start,
    num_starts,
    uniform_start,
    uniform_teleport,
    uniform_dangling_weight,
    dangling_mass,
    inverse_weights,
    contribution_index,
    has_contribution_index,
    contributions,
    pagerank,
    teleport,
    dangling_weights,
    state,
):
    if num_starts == 0:
        teleport[0], dangling_weights[0] = uniform_teleport, uniform_dangling_weight
    state[:] = 0, np.inf, dangling_mass, 0, uniform_start
    contributions[:] = 0
    pagerank[:] = start if num_starts else uniform_start
    index = contribution_index if has_contribution_index else slice(num_vertices)
    contributions[index] = pagerank * inverse_weights


def order_by_vertex(
    num_vertices,
    num_contributions,
    num_isolated,
    order,
    inverse_weights,
    contribution_index,
    has_contribution_index,
    state,
    contributions,
    pagerank,
    result,
):
    last = contributions.reshape(2, num_contributions + 1)[int(state[0]) % 2]
    last = last[contribution_index if has_contribution_index else slice(num_vertices)]
    values = pagerank.copy()
    np.divide(last, inverse_weights, out=values, where=inverse_weights != 0)
    if num_isolated:
        values[num_vertices - num_isolated :] = state[4]
    result[order] = values


@inline
def _unit_at(cost, whole_rows, slices, row_offsets, slice_offsets):
    """Return the first unit (rows, then slices) that work of at least `cost` precedes."""
    low, high = 0, whole_rows + slices
    while low < high:
        middle = (low + high) // 2
        if middle < whole_rows:
            before = row_offsets[middle] + 4 * middle
        else:
            slice_index = middle - whole_rows
            before = slice_offsets[slice_index] + 4 * (whole_rows + slice_index * WARP)
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
    active, weighted = num_vertices - num_isolated, weights.size > 0
    slices = (active - num_whole_rows + WARP - 1) // WARP
    num_blocks = len(partials) // 2
    work = slice_offsets[slices] + 4 * (num_whole_rows + slices * WARP)
    for _ in range(num_iterations):
        if state[3] != 0.0:
            return
        parity = np.int64(state[0]) % 2
        dangling_mass = state[2]
        old_contributions = contributions[
            parity * (num_contributions + 1) : (parity + 1) * (num_contributions + 1)
        ]
        new_contributions = contributions[
            (1 - parity) * (num_contributions + 1) : (2 - parity) * (num_contributions + 1)
        ]
        for block_ in prange(num_blocks):
            block = np.int64(block_)
            first = _unit_at(
                work * block // num_blocks, num_whole_rows, slices, row_offsets, slice_offsets
            )
            last = _unit_at(
                work * (block + 1) // num_blocks, num_whole_rows, slices, row_offsets, slice_offsets
            )
            if block == num_blocks - 1:
                last = num_whole_rows + slices
            residual, new_dangling_mass = 0.0, 0.0
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
                    slice_index = unit - num_whole_rows
                    row = num_whole_rows + slice_index * WARP
                    rows = min(WARP, active - row)
                    sums[:] = 0.0
                    for start in range(
                        slice_offsets[slice_index], slice_offsets[slice_index + 1], WARP
                    ):
                        chunk_neighbors = neighbors[start : start + WARP]
                        if weighted:
                            chunk_weights = weights[start : start + WARP]
                            for lane in range(WARP):
                                sums[lane] += chunk_weights[lane] * _at(
                                    old_contributions, chunk_neighbors[lane]
                                )
                        else:
                            for lane in range(WARP):
                                sums[lane] += _at(old_contributions, chunk_neighbors[lane])
                for lane in range(rows):
                    new_value = _finish(
                        sums[lane],
                        damping,
                        teleport,
                        num_teleports,
                        dangling_mass,
                        dangling_weights,
                        num_dangling_weights,
                        row,
                    )
                    inverse = inverse_weights[row]
                    if inverse == 0:
                        residual += abs(new_value - pagerank[row])
                        new_dangling_mass += new_value
                        pagerank[row] = new_value
                    else:
                        index = contribution_index[row] if has_contribution_index else row
                        contribution = contributions.dtype.type(new_value * inverse)
                        residual += abs(
                            np.float64(contribution) - np.float64(old_contributions[index])
                        ) * (1.0 / inverse)
                        new_contributions[index] = contribution
                    row += 1
            partials[2 * block] = residual
            partials[2 * block + 1] = new_dangling_mass
        residual, new_dangling_mass = 0.0, 0.0
        for block in range(num_blocks):
            residual += partials[2 * block]
            new_dangling_mass += partials[2 * block + 1]
        base = teleport[0] + dangling_mass * dangling_weights[0]
        residual += num_isolated * abs(base - state[4])
        new_dangling_mass += num_isolated * base
        state[4] = base
        state[0] += 1.0
        state[1] = residual
        state[2] = new_dangling_mass
        state[3] = 1.0 if residual < tolerance else 0.0


@serial
def iterate_in_block(
    num_iterations,
    tolerance,
    damping,
    num_vertices,
    start,
    teleport,
    dangling_weight,
    offsets,
    neighbors,
    out_degrees,
    result,
    state,
):
    pagerank, contributions = np.full(num_vertices, start), np.zeros(num_vertices)
    iterations, residual, dangling_mass = 0, np.inf, 0.0
    for vertex in range(num_vertices):
        if out_degrees[vertex] == 0:
            dangling_mass += start
        else:
            contributions[vertex] = start / out_degrees[vertex]
    while iterations < num_iterations and residual >= tolerance:
        base = teleport + dangling_mass * dangling_weight
        residual = dangling_mass = 0.0
        for vertex in range(num_vertices):
            sum = 0.0
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                sum += contributions[neighbors[arc]]
            value = damping * sum + base
            residual += abs(value - pagerank[vertex])
            pagerank[vertex] = value
        for vertex in range(num_vertices):
            if out_degrees[vertex] == 0:
                dangling_mass += pagerank[vertex]
            else:
                contributions[vertex] = pagerank[vertex] / out_degrees[vertex]
        iterations += 1
    for vertex in range(num_vertices):
        result[vertex] = pagerank[vertex]
    state[0], state[1], state[2] = iterations, residual, dangling_mass
    state[3] = 1.0 if residual < tolerance else 0.0
