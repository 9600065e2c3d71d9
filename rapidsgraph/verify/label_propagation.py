"""Verify label propagation by sorting the labels of neighbors."""

from __future__ import annotations

from .. import frames
from ..algorithms.label_propagation import LabelOrder, list_adjacencies
from ..device import Array, count_nonzero
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..validation import check_count, check_seed, suggest_parameters
from .result_reader import Result, verification_errors, vertex_name


@suggest_parameters
def label_propagation(
    graph: GraphLike, result: Frame, *, iterations: int = 10, seed: int | None = None
) -> int:
    """Verify a result of `label_propagation`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and labels, one row per vertex, in any order.
    iterations, seed
        As in `rapidsgraph.label_propagation`.

    Returns
    -------
    int
        Number of distinct labels.

    Raises
    ------
    VerificationError
        If a label is wrong, or a vertex is unknown, missing or repeated; the message names the
        first such vertex.
    GraphError
        If the result has no column `label`, `iterations` is not a positive integer, or `seed` is
        not an integer of 0 or more.

    See Also
    --------
    label_propagation : Propagate labels.

    Notes
    -----
    All iterations are computed again, without the kernels of `rapidsgraph.label_propagation`: the
    pairs of a vertex and the label of a neighbor are sorted, and equal pairs counted. This takes 40
    bytes per arc.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.label_propagation(edges, rg.label_propagation(edges))
    1
    """
    check_count("iterations", iterations)
    check_seed(seed)
    graph = as_local_graph(in_memory(graph))
    xp = graph.xp
    labels = _read_labels(graph, result)
    expected = compute_labels(graph, int(iterations), seed)
    is_wrong = labels != expected
    if count_nonzero(is_wrong):
        vertex = int(is_wrong.argmax())
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has the label "
            f"{graph.labeling.name_of(int(labels[vertex]))}; after {iterations:,} iterations it "
            f"must be {graph.labeling.name_of(int(expected[vertex]))}",
            column="label",
            value=graph.labeling.name_of(int(labels[vertex])),
        )
    return int(xp.unique(labels).size)


def compute_labels(graph: LocalGraph, iterations: int, seed: int | None = None) -> Array:
    """Return the label of every vertex by sorting: vertex ids, int64."""
    xp, num_vertices = graph.xp, graph.num_vertices
    adjacencies = list_adjacencies(graph)
    rows = xp.concatenate([row_indices(adjacency) for adjacency in adjacencies]).astype(xp.int64)
    neighbors = xp.concatenate([adjacency.neighbors for adjacency in adjacencies])
    labels = xp.arange(num_vertices)
    if not rows.size:
        return labels
    for iteration in range(iterations):
        if seed is not None:  # numbers in the order that breaks ties
            label_order = LabelOrder(seed, iteration)
            labels = label_order.apply(labels).astype(xp.int64)
        pairs = xp.sort((rows << 32) | labels[neighbors])
        is_first = xp.ones(pairs.size, bool)
        is_first[1:] = pairs[1:] != pairs[:-1]
        starts = xp.flatnonzero(is_first)
        counts = xp.diff(xp.append(starts, pairs.size))
        owners, candidates = pairs[starts] >> 32, pairs[starts] & 0xFFFFFFFF
        # Of each vertex the largest count, and among equal ones the smallest label.
        order = xp.lexsort(xp.stack([candidates, -counts, owners]))
        owners, candidates = owners[order], candidates[order]
        is_best = xp.ones(owners.size, bool)
        is_best[1:] = owners[1:] != owners[:-1]
        new_labels = labels.copy()
        new_labels[owners[is_best]] = candidates[is_best]
        if seed is not None:
            labels = label_order.invert(new_labels).astype(xp.int64)
            continue
        if not count_nonzero(new_labels != labels):
            break
        labels = new_labels
    return labels


def _read_labels(graph: LocalGraph, result: Frame) -> Array:
    """Return the ids of labels by vertex id."""
    reader = Result(graph, result)
    labeling, names = graph.labeling, graph.labeling.endpoint_columns("label")
    columns = []
    for label in labeling.names.labels:
        name = names.get(label, label)  # both endpoints share some name columns
        if name not in frames.column_names(reader.table):
            raise frames.missing_column_error(name, frames.column_names(reader.table), name)
        with verification_errors():
            columns.append(frames.get_column(reader.table, name, "vertex", "the result"))
    with verification_errors():
        ids = labeling.names.ids(columns, graph.xp, "a label")
    labels = graph.xp.empty(graph.num_vertices, graph.xp.int64)
    labels[reader.ids] = ids
    return labels
