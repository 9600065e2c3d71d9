"""Verify shortest paths between vertices.

A path is right if it leads along edges from a source to the target, visits no vertex twice, and has
the distances of shortest paths. These come from a search whose result is verified itself, as in
`traversal`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.shortest_path import Targets, resolve_targets
from ..algorithms.traversal import float_distances, run_bfs, run_sssp, weighted_graph
from ..device import Array, count_nonzero
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame, Vertices, normalize_frame
from ..graph.build import as_local_graph
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_arguments import resolve_vertices
from ..validation import check_flag, suggest_parameters
from .result_reader import read_column, read_numbers, verification_errors, vertex_name
from .traversal import CHUNK_ARCS, describe_distance, verify_distances


@suggest_parameters
def shortest_path(
    graph: GraphLike, result: Frame, source: Vertices, target: Vertices, *, weighted: bool = True
) -> int:
    """Verify a result of `shortest_path`.

    Parameters
    ----------
    graph : Graph or edge frame
        As for `verify.sssp`, and as for `verify.bfs` with ``weighted=False``.
    result : frame
        The vertices of the paths and their `distance`, in the order of `shortest_path`.
    source, target, weighted
        As in `rapidsgraph.shortest_path`.

    Returns
    -------
    int
        Number of paths.

    Raises
    ------
    VerificationError
        If a check fails, a vertex is unknown, or a value is not a distance. The message names the
        vertex.
    GraphError
        If a parameter is invalid, or a column is missing in the result.

    See Also
    --------
    shortest_path : Find a shortest path from a source to each target.

    Notes
    -----
    The result must have one path to each reachable target and none to others. A path must start at
    a source, end at its target and visit no vertex twice, and an edge must lead from each of its
    vertices to the next, whose weight is the difference of their distances. Distances must equal
    those of shortest paths bit for bit, which are computed and verified as by `verify.sssp` or
    `verify.bfs`.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.shortest_path(edges, rg.shortest_path(edges, 1, [0, 2]), 1, [0, 2])
    2
    """
    check_flag("weighted", weighted)
    graph = in_memory(graph)
    graph = weighted_graph(graph) if weighted else as_local_graph(graph)
    xp, is_weighted = graph.xp, bool(weighted) and graph.weighted
    sources = resolve_vertices(graph.labeling, source)
    targets = resolve_targets(graph.labeling, target)
    distances = _search(graph, sources, is_weighted)
    vertices, ends, row_distances = _read_rows(graph, result, targets)
    is_first = xp.ones(vertices.size, bool)
    is_first[1:] = ends[1:] != ends[:-1]
    starts = xp.flatnonzero(is_first)
    last = xp.append(starts, vertices.size)[1:] - 1
    _check_targets(graph, targets, ends[starts], distances)
    is_source = xp.zeros(graph.num_vertices, bool)
    is_source[sources] = True
    for is_wrong, rows, predicate in (
        (~is_source[vertices[starts]], starts, "starts at {}, which is not a source"),
        (vertices[last] != ends[last], last, "ends at {}"),
    ):
        if count_nonzero(is_wrong):
            row = int(rows[int(is_wrong.argmax())])
            raise VerificationError(
                f"the path to {vertex_name(graph, int(ends[row]))} "
                f"{predicate.format(vertex_name(graph, int(vertices[row])))}",
                row=row,
            )
    is_wrong = row_distances != distances[vertices]
    if count_nonzero(is_wrong):
        row = int(is_wrong.argmax())
        vertex = int(vertices[row])
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has {describe_distance(row_distances, row)} in the path "
            f"to {vertex_name(graph, int(ends[row]))}; it must have "
            f"{describe_distance(distances, vertex)}",
            column="distance",
            row=row,
            value=float(row_distances[row]),
        )
    _check_repeats(graph, vertices, ends, is_first)
    steps = xp.flatnonzero(~is_first)
    _check_steps(graph, vertices[steps - 1], vertices[steps], distances, is_weighted)
    return int(starts.size)


def _search(graph: LocalGraph, sources: Array, weighted: bool) -> Array:
    """Return the verified distances of all vertices from the sources, float64."""
    if weighted:
        distances = run_sssp(graph, sources, predecessors=False, bottom_up=False).distances
    else:
        result = run_bfs(graph, sources, predecessors=False, bottom_up=False)
        distances = float_distances(result.distances)
    verify_distances(graph, distances, sources, np.inf, weighted)
    return distances


def _read_rows(graph: LocalGraph, result: Frame, targets: Targets) -> tuple[Array, Array, Array]:
    """Return the ids of the vertices and of the targets, and the distances, by row."""
    xp, labeling = graph.xp, graph.labeling
    _, table = normalize_frame(in_memory(result), "result")
    with verification_errors():
        vertices = labeling.ids(table, "the result")
    num_rows = vertices.size
    rule = "column 'distance' must hold numbers"
    row_distances, _ = read_numbers(table, "distance", rule, "vertices", num_rows, xp)
    if not targets.are_several:
        return vertices, xp.broadcast_to(targets.ids, num_rows), row_distances
    specific = labeling.endpoint_columns("target")
    columns: list[Any] = []
    for label in labeling.names.labels:
        name = specific.get(label, label)
        values, valid = read_column(table, name, "target", "vertices", num_rows, xp)
        if count_nonzero(~valid):
            row = int((~valid).argmax())
            raise VerificationError(f"row {row} has no target", column=name, row=row)
        columns.append(values)
    with verification_errors():
        return vertices, labeling.names.ids(columns, xp, "a target"), row_distances


def _check_targets(graph: LocalGraph, targets: Targets, ends: Array, distances: Array) -> None:
    """Check that there is one path to each reached target, in the order of the targets."""
    expected = targets.ids[graph.xp.isfinite(distances[targets.ids])].tolist()
    actual = ends.tolist()
    if actual == expected:
        return
    for target in sorted({*actual, *expected}):
        count, num_expected = actual.count(target), expected.count(target)
        if count != num_expected:
            raise VerificationError(
                f"the result has {count} paths to {vertex_name(graph, target)}; it must have "
                f"{num_expected}",
                value=graph.labeling.name_of(target),
            )
    raise VerificationError("the paths are not in the order of the targets", column="target")


def _check_repeats(graph: LocalGraph, vertices: Array, ends: Array, is_first: Array) -> None:
    """Check that no path visits a vertex twice, as one may along edges of weight zero."""
    xp = graph.xp
    keys = xp.cumsum(is_first, dtype=xp.int64) << 32 | vertices
    _, first_rows = xp.unique(keys, return_index=True)
    if first_rows.size == keys.size:
        return
    is_repeated = xp.ones(keys.size, bool)
    is_repeated[first_rows] = False
    row = int(is_repeated.argmax())
    raise VerificationError(
        f"the path to {vertex_name(graph, int(ends[row]))} visits "
        f"{vertex_name(graph, int(vertices[row]))} twice",
        row=row,
    )


def _check_steps(
    graph: LocalGraph, before: Array, after: Array, distances: Array, weighted: bool
) -> None:
    """Check that an edge leads from each vertex to the next and attains the distance of that."""
    xp, adjacency = graph.xp, graph.csr
    keys = before.astype(xp.int64) << 32 | after
    pairs = xp.unique(keys)
    if not pairs.size:
        return
    is_edge, is_tight = xp.zeros(pairs.size, bool), xp.zeros(pairs.size, bool)
    all_sources = row_indices(adjacency)
    for start in range(0, all_sources.size, CHUNK_ARCS):
        chunk = slice(start, start + CHUNK_ARCS)
        arcs = all_sources[chunk].astype(xp.int64) << 32 | adjacency.neighbors[chunk]
        positions = xp.minimum(xp.searchsorted(pairs, arcs), pairs.size - 1)
        matches = xp.flatnonzero(pairs[positions] == arcs)
        positions, arcs = positions[matches], matches + start
        is_edge[positions] = True
        weights = adjacency.weights[arcs].astype(xp.float64) if weighted else 1.0
        sums = distances[all_sources[arcs]] + weights
        is_tight[positions[sums == distances[adjacency.neighbors[arcs]]]] = True
    for is_right, predicate in (
        (is_edge, "no edge leads"),
        (is_tight, "no edge whose weight is the difference of their distances leads"),
    ):
        is_wrong = ~is_right[xp.searchsorted(pairs, keys)]
        if count_nonzero(is_wrong):
            step = int(is_wrong.argmax())
            ends = (vertex_name(graph, int(vertices[step])) for vertices in (before, after))
            raise VerificationError(f"{predicate} from {' to '.join(ends)}")
