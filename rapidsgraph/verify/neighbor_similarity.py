"""Verify similarities of neighborhoods: count the common neighbors of every pair again."""

from __future__ import annotations

from ..algorithms.neighbor_similarity import KINDS, Kind, compare, find_pairs
from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import Array
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame, get_nullable_column, normalize_frame, to_device
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..validation import check_choice, suggest_parameters
from .common_neighbors import find_common_neighbors, pack_arcs
from .result_reader import verification_errors, vertex_name

TOLERANCE = 1e-12  # by which values may differ: rounding


@suggest_parameters
def neighbor_similarity(
    graph: GraphLike, result: Frame, pairs: Frame | None = None, *, kind: Kind = "jaccard"
) -> int:
    """Verify a result of `neighbor_similarity`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Names of sources and destinations and the column of the kind.
    pairs, kind
        As of `rapidsgraph.neighbor_similarity`.

    Returns
    -------
    int
        Number of pairs.

    Raises
    ------
    VerificationError
        If the rows are not those of the edges or pairs, or a value is wrong; the message names the
        first such pair.
    GraphError
        If `kind` is unknown, or the result lacks a column.

    See Also
    --------
    neighbor_similarity : Compute the values.

    Notes
    -----
    Common neighbors are found by binary search, without the kernels of
    `rapidsgraph.neighbor_similarity`. Values may differ by 1e-12.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.verify.neighbor_similarity(edges, rg.neighbor_similarity(edges))
    4
    """
    check_choice("kind", kind, KINDS)
    graph = undirected_graph(in_memory(graph))
    xp, adjacency = graph.xp, neighborhoods(graph)
    if pairs is None:
        rows = row_indices(adjacency)
        is_upper = rows < adjacency.neighbors
        expected = rows[is_upper], adjacency.neighbors[is_upper]
    else:
        expected = find_pairs(graph.labeling, pairs)
    _, table = normalize_frame(in_memory(result), "result")
    with verification_errors():
        ends = find_pairs(graph.labeling, table)
        values, valid = get_nullable_column(table, kind, "result")
    _check_rows(graph, ends, expected, "an edge" if pairs is None else "a pair")
    degrees = xp.diff(adjacency.offsets)
    common = xp.zeros(ends[0].size, xp.int64)
    with_neighbors = xp.flatnonzero((degrees[ends[0]] > 0) & (degrees[ends[1]] > 0))
    first, second = (end[with_neighbors] for end in ends)
    for index, _ in find_common_neighbors(first, second, adjacency, pack_arcs(adjacency)):
        common += xp.bincount(with_neighbors[index], minlength=common.size)
    right = compare(kind, common, degrees[ends[0]], degrees[ends[1]])
    by_row = xp.full(common.size, xp.nan)
    by_row[to_device(valid, xp)] = to_device(values, xp)
    is_wrong = ~(abs(by_row - right) <= TOLERANCE)
    if bool(is_wrong.any()):
        row = int(is_wrong.argmax())
        one, other = (vertex_name(graph, int(end[row])) for end in ends)
        raise VerificationError(
            f"{one} and {other} have {kind} {float(by_row[row]):.12g}; their neighbors make it "
            f"{float(right[row]):.12g}",
            column=kind,
            row=row,
            value=float(by_row[row]),
        )
    return common.size


def _check_rows(
    graph: LocalGraph, ends: tuple[Array, Array], expected: tuple[Array, Array], noun: str
) -> None:
    """Raise VerificationError unless the rows are the expected pairs, in this order."""
    num_rows, num_expected = ends[0].size, expected[0].size
    if num_rows != num_expected:
        raise VerificationError(f"the result has {num_rows:,} rows; {num_expected:,} are expected")
    is_wrong = (ends[0] != expected[0]) | (ends[1] != expected[1])
    if bool(is_wrong.any()):
        row = int(is_wrong.argmax())
        one, other = (vertex_name(graph, int(end[row])) for end in expected)
        raise VerificationError(
            f"row {row} of the result is not {noun} from {one} to {other}, which is expected there",
            row=row,
        )
