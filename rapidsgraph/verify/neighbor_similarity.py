"""Verify similarities of neighborhoods: count the common neighbors of every pair again."""

from __future__ import annotations

from ..algorithms.neighbor_similarity import KINDS, Kind, find_pairs
from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import Array, array_module, count_nonzero
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame, normalize_frame
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..validation import check_choice, suggest_parameters
from .result_reader import read_numbers, verification_errors, vertex_name
from .triangles import find_common_neighbors, pack_arcs

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
        Names of sources and destinations and the column of the kind, one row per edge or pair, in
        any order.
    pairs, kind
        As in `rapidsgraph.neighbor_similarity`.

    Returns
    -------
    int
        Number of pairs.

    Raises
    ------
    VerificationError
        If an edge or pair has no row or too many, or a value is wrong; the message names the first
        such pair.
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
        expected, noun = (rows[is_upper], adjacency.neighbors[is_upper]), "edge"
    else:
        expected, noun = find_pairs(graph.labeling, pairs), "pair"
    _, table = normalize_frame(in_memory(result), "result")
    with verification_errors():
        ends = find_pairs(graph.labeling, table, "the result")
    rule = f"column {kind!r} must hold numbers"
    by_row, _ = read_numbers(table, kind, rule, "pairs", ends[0].size, xp)
    _check_rows(graph, ends, expected, noun)
    degrees = xp.diff(adjacency.offsets)
    common = xp.zeros(ends[0].size, xp.int64)
    with_neighbors = xp.flatnonzero((degrees[ends[0]] > 0) & (degrees[ends[1]] > 0))
    sources, destinations = (end[with_neighbors] for end in ends)
    for index, _ in find_common_neighbors(sources, destinations, adjacency, pack_arcs(adjacency)):
        common += xp.bincount(with_neighbors[index], minlength=common.size)
    right = _compute_similarity(kind, common, degrees[ends[0]], degrees[ends[1]])
    is_wrong = ~(abs(by_row - right) <= TOLERANCE)
    if count_nonzero(is_wrong):
        row = int(is_wrong.argmax())
        source, destination = (vertex_name(graph, int(end[row])) for end in ends)
        raise VerificationError(
            f"{source} and {destination} have {kind} {float(by_row[row]):.12g}; their neighbors "
            f"make it {float(right[row]):.12g}",
            column=kind,
            row=row,
            value=float(by_row[row]),
        )
    return common.size


def _check_rows(
    graph: LocalGraph, ends: tuple[Array, Array], expected: tuple[Array, Array], noun: str
) -> None:
    """Raise VerificationError unless the rows are the expected pairs, in any order."""
    num_rows, num_expected = ends[0].size, expected[0].size
    if num_rows != num_expected:
        raise VerificationError(f"the result has {num_rows:,} rows; {num_expected:,} are expected")
    xp = graph.xp
    keys, expected_keys = (
        xp.sort(sources.astype(xp.int64) << 32 | destinations)
        for sources, destinations in (ends, expected)
    )
    is_wrong = keys != expected_keys
    if count_nonzero(is_wrong):
        index = int(is_wrong.argmax())
        # The lesser of two keys is missing in the other list.
        key, expected_key = int(keys[index]), int(expected_keys[index])
        pair = min(key, expected_key)
        source, destination = (vertex_name(graph, id) for id in (pair >> 32, pair & 0xFFFFFFFF))
        problem = "rows are missing" if expected_key < key else "there are too many rows"
        raise VerificationError(f"{problem} for the {noun} from {source} to {destination}")


def _compute_similarity(kind: Kind, common: Array, degrees: Array, other_degrees: Array) -> Array:
    """Return the similarity of pairs by its definition; 0 where a neighborhood is empty."""
    xp = array_module(common)
    if kind == "common":
        return common
    sizes = {
        "jaccard": degrees + other_degrees - common,  # of the union
        "overlap": xp.minimum(degrees, other_degrees),
        "cosine": xp.sqrt(degrees.astype(xp.float64)) * xp.sqrt(other_degrees.astype(xp.float64)),
    }[kind]
    return xp.where(common > 0, common / xp.maximum(sizes, 1), 0.0)
