"""Structural clustering that counts common neighbors only where they decide, on a CPU.

The vertices are pruned as in pSCAN [1]_, by all threads [2]_. There is no CUDA twin: a GPU counts
all common neighbors, in an order without branches.

`common` has one entry per arc: `UNKNOWN`, `DISSIMILAR`, or a lower bound of the number of common
neighbors that makes the endpoints similar. Threads may evaluate the two arcs of an edge at the same
time; both write the same values.

References
----------
.. [1] L. Chang, W. Li, X. Lin, L. Qin and W. Zhang, "pSCAN: fast and exact structural graph
   clustering", ICDE 2016. https://doi.org/10.1109/ICDE.2016.7498245
.. [2] Y. Che, S. Sun and Q. Luo, "Parallelizing pruning-based graph structural clustering", ICPP
   2018. https://doi.org/10.1145/3225058.3225110
"""

import numpy as np
from numba import prange

from .disjoint_sets import join, root
from .edge_similarity import DISSIMILAR, ONE, UNKNOWN, evaluate, mark, unmark
from .intrinsics import add_at
from .jit import parallel, serial
from .searches import is_at_least

NUM_BLOCKS = 64
ROWS_PER_FETCH = 16  # rows that a thread fetches at a time


@parallel
def bound_similarities(
    num_vertices, mu, numerator, denominator, offsets, neighbors, common, is_core, is_open,
    min_degree_sum,
):  # fmt: skip
    """Decide the edges and cores that the sizes of neighborhoods decide.

    Parameters
    ----------
    common : int32 array, shape (arcs,)
        Written: 2, which is a lower bound, for similar endpoints, `DISSIMILAR`, or `UNKNOWN`.
    is_core : bool array, shape (vertices,)
        Written: whether a vertex is known to be a core.
    is_open : bool array, shape (vertices,)
        Written: whether a vertex may be a core or not.
    min_degree_sum : int64 array, shape (1,)
        The sum over all arcs of the smaller degree is added to it.
    """
    largest = np.uint64(num_vertices + 1)
    numerator_, denominator_ = np.uint64(numerator), np.uint64(denominator)
    for block_ in prange(NUM_BLOCKS):
        block, smaller_degrees = np.int64(block_), 0
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = offsets[np.uint64(row)], offsets[np.uint64(row + 1)]
            size = np.uint64(stop - start + 1)
            ratio = float(numerator) / float(denominator)
            # The smallest size whose vertices can be similar, if they share all neighbors ...
            low = max(np.uint64(min(ratio * float(size), float(largest))), ONE)
            while low > ONE and is_at_least(low - ONE, denominator_, numerator_, size):
                low -= ONE
            while not is_at_least(low, denominator_, numerator_, size):
                low += ONE
            # ... the largest such size ...
            high = np.uint64(min(float(size) / ratio, float(largest)))
            while high < largest and is_at_least(size, denominator_, numerator_, high + ONE):
                high += ONE
            while not is_at_least(size, denominator_, numerator_, high):
                high -= ONE
            # ... and the largest size whose vertices are similar in any case.
            certain = np.uint64(min(4.0 / (ratio * float(size)), float(largest)))
            while certain < largest and is_at_least(
                np.uint64(4), denominator_, numerator_, size * (certain + ONE)
            ):
                certain += ONE
            while certain > 0 and not is_at_least(
                np.uint64(4), denominator_, numerator_, size * certain
            ):
                certain -= ONE
            least, most, sure = np.int64(low), np.int64(high), np.int64(certain)
            num_similar, num_possible = 1, 1
            for arc_ in range(start, stop):
                arc = np.uint64(arc_)
                neighbor = np.uint64(neighbors[arc])
                other = offsets[neighbor + ONE] - offsets[neighbor] + 1
                is_possible, is_similar = (other >= least) & (other <= most), other <= sure
                num_possible += is_possible
                num_similar += is_similar
                smaller_degrees += min(other, stop - start + 1) - 1
                common[arc] = 2 if is_similar else (UNKNOWN if is_possible else DISSIMILAR)
            is_core[np.uint64(row)] = num_similar >= mu
            is_open[np.uint64(row)] = num_similar < mu and num_possible >= mu
        add_at(min_degree_sum, np.uint64(0), np.int64(smaller_degrees))


@serial
def _num_similar(start, stop, common):
    """Return how many vertices a vertex is known to be similar to, and may be similar to."""
    num_similar, num_possible = 1, 1
    for arc in range(start, stop):
        value = common[np.uint64(arc)]
        num_similar += value > 0
        num_possible += value != DISSIMILAR
    return num_similar, num_possible


@serial
def _decide(row, mu, numerator, denominator, offsets, neighbors, bits, common, is_core):
    """Evaluate edges of a vertex until it is certain whether it is a core; return the steps."""
    start, stop = offsets[row], offsets[row + ONE]
    num_similar, num_possible = _num_similar(start, stop, common)
    steps, is_marked = stop - start, False
    for arc_ in range(start, stop):
        if num_similar >= mu or num_possible < mu:
            break
        arc = np.uint64(arc_)
        if common[arc] == UNKNOWN:
            is_marked = mark(row, is_marked, offsets, neighbors, bits)
            steps += evaluate(
                row, arc, False, numerator, denominator, offsets, neighbors, bits, common
            )
            num_similar += common[arc] > 0
            num_possible -= common[arc] == DISSIMILAR
    if is_marked:
        unmark(row, offsets, neighbors, bits)
    if num_similar < mu <= num_possible:  # other threads have evaluated edges of this row
        num_similar, _ = _num_similar(start, stop, common)
    is_core[row] = num_similar >= mu
    return steps


@serial
def _fetch_rows(rows, budget, steps, next_row):
    """Return a thread's next range of rows: empty after the last row or beyond the budget."""
    if steps[0] > budget:
        return 0, 0
    start = add_at(next_row, np.uint64(0), np.int64(ROWS_PER_FETCH))
    return start, min(start + ROWS_PER_FETCH, len(rows))


@parallel
def decide_cores(
    rows, mu, numerator, denominator, offsets, neighbors, budget, steps, next_row, common, is_core
):
    """Decide whether each of `rows` is a core, unless that takes more than `budget` steps.

    Parameters
    ----------
    rows : int32 array
    budget : int
    steps : int64 array, shape (1,)
        The number of steps of merges is added to it.
    next_row : int64 array, shape (1,)
        0.
    common, is_core : array
        As for `bound_similarities`.
    """
    for _ in prange(NUM_BLOCKS):
        if next_row[0] >= len(rows):
            continue
        bits = np.zeros(len(offsets) // 64 + 1, np.uint64)
        start, stop = _fetch_rows(rows, budget, steps, next_row)
        while start < stop:
            own_steps = 0
            for i in range(start, stop):
                own_steps += _decide(
                    np.uint64(rows[np.uint64(i)]), mu, np.uint64(numerator),
                    np.uint64(denominator), offsets, neighbors, bits, common, is_core,
                )  # fmt: skip
            add_at(steps, np.uint64(0), np.int64(own_steps))
            start, stop = _fetch_rows(rows, budget, steps, next_row)


@parallel
def join_cores(
    rows, evaluates, numerator, denominator, offsets, neighbors, budget, steps, next_row, common,
    is_core, parents,
):  # fmt: skip
    """Join the trees of similar cores.

    Parameters
    ----------
    rows : int32 array
        Cores.
    evaluates : bool
        Whether to evaluate edges between trees, instead of using those known to be similar.
    budget, steps, next_row, common, is_core
        As for `decide_cores`.
    parents : int32 array, shape (vertices,)
        Parent of every vertex in its tree.
    """
    for _ in prange(NUM_BLOCKS):
        if next_row[0] >= len(rows):
            continue
        bits = np.zeros(len(offsets) // 64 + 1 if evaluates else 0, np.uint64)
        start, stop = _fetch_rows(rows, budget, steps, next_row)
        while start < stop:
            own_steps = 0
            for i in range(start, stop):
                row, is_marked = np.uint64(rows[np.uint64(i)]), False
                for arc_ in range(offsets[row], offsets[row + ONE]):
                    arc = np.uint64(arc_)
                    neighbor = np.uint64(neighbors[arc])
                    if neighbor >= row:
                        break
                    if common[arc] == DISSIMILAR or not is_core[neighbor]:
                        continue
                    if evaluates and common[arc] == UNKNOWN:
                        if root(parents, row) == root(parents, neighbor):
                            continue
                        is_marked = mark(row, is_marked, offsets, neighbors, bits)
                        own_steps += evaluate(
                            row, arc, False, np.uint64(numerator), np.uint64(denominator),
                            offsets, neighbors, bits, common,
                        )  # fmt: skip
                    if common[arc] > 0:
                        join(parents, row, neighbor)
                if is_marked:
                    unmark(row, offsets, neighbors, bits)
            add_at(steps, np.uint64(0), np.int64(own_steps))
            start, stop = _fetch_rows(rows, budget, steps, next_row)


@parallel
def count_at_borders(
    rows, numerator, denominator, offsets, neighbors, budget, steps, next_row, common, is_core,
    is_border,
):  # fmt: skip
    """Count the common neighbors of vertices that are no cores with cores that may be similar.

    Parameters
    ----------
    rows : int32 array
        Vertices that are no cores.
    common : int32 array, shape (arcs,)
        Exact for arcs from these to cores afterwards, or `DISSIMILAR`.
    is_border : bool array, shape (vertices,)
        Set for rows that are similar to a core.
    """
    for _ in prange(NUM_BLOCKS):
        if next_row[0] >= len(rows):
            continue
        bits = np.zeros(len(offsets) // 64 + 1, np.uint64)
        start, stop = _fetch_rows(rows, budget, steps, next_row)
        while start < stop:
            own_steps = 0
            for i in range(start, stop):
                row, is_marked = np.uint64(rows[np.uint64(i)]), False
                for arc_ in range(offsets[row], offsets[row + ONE]):
                    arc = np.uint64(arc_)
                    if is_core[np.uint64(neighbors[arc])] and common[arc] != DISSIMILAR:
                        is_marked = mark(row, is_marked, offsets, neighbors, bits)
                        own_steps += evaluate(
                            row, arc, True, np.uint64(numerator), np.uint64(denominator),
                            offsets, neighbors, bits, common,
                        )  # fmt: skip
                        if common[arc] > 0:
                            is_border[row] = True
                if is_marked:
                    unmark(row, offsets, neighbors, bits)
            add_at(steps, np.uint64(0), np.int64(own_steps))
            start, stop = _fetch_rows(rows, budget, steps, next_row)
