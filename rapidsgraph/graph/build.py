"""Build a graph from an edge frame: name the vertices, apply the policies, sort the edges.

Memory is estimated before each phase from what is known by then. Arrays are freed as soon as the
next phase does not need them, which is why they are passed in lists that the callee empties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..device.arrays import Array, ArrayModule
from ..validation import MAX_VERTICES, check_free_memory, check_vertices
from . import weight_sums
from .build_memory import build_bytes, csr_build_bytes, merge_bytes, name_column_stats
from .csr import from_coo, symmetrize
from .edge_frame import EdgeColumns, check_policies, read_columns
from .labeling import Labeling
from .local_graph import LocalGraph
from .vertex_names import name_vertices


def build_graph(
    edges: Any,
    source: str | list[str] = "source",
    destination: str | list[str] = "destination",
    weight: str | None = None,
    *,
    directed: bool = True,
    multi_edges: str = "first",
    self_loops: str = "keep",
    vertices: Any = None,
    layout: str = "csr",
) -> LocalGraph:
    """Build a graph in the memory of this process.

    Parameters
    ----------
    edges, source, destination, weight, directed, multi_edges, self_loops, vertices
        As for `Graph`.
    layout : {"csr", "csc"}
        The adjacency to build from the frame; the other one is derived from it on first use.
    """
    check_policies(directed, multi_edges, self_loops)
    columns = read_columns(edges, source, destination, weight, multi_edges)
    num_rows, xp = columns.rows, columns.xp
    options = {
        "weighted": columns.weights is not None, "directed": directed, "multi_edges": multi_edges,
        "self_loops": self_loops, "xp": xp,
    }  # fmt: skip

    def check_memory(num_bytes: int) -> None:
        check_free_memory(f"building a graph of {num_rows:,} rows", num_bytes, xp)

    labeling, coo = _label_vertices(columns, vertices, options, check_memory)
    del columns
    check_memory(csr_build_bytes(num_rows, labeling.num_vertices, **options))
    if self_loops == "drop":
        _drop_self_loops(coo)
    num_kept, is_summed = coo[0].size, multi_edges == "sum"
    if is_summed:
        coo[2] = _summable_weights(coo[2], num_kept, xp)
    weighted = coo[2] is not None
    if not directed:
        coo[:2] = [xp.minimum(*coo[:2]), xp.maximum(*coo[:2])]
    elif layout == "csc":
        coo[:2] = coo[1::-1]
    adjacency = from_coo(coo, labeling.num_vertices, multi_edges)
    if is_summed:
        weight_sums.check_merged_weights(adjacency, labeling)
    num_edges = adjacency.neighbors.size
    return LocalGraph(
        labeling,
        adjacency if directed else symmetrize(adjacency),
        layout,
        directed=directed,
        weighted=weighted,
        multi_edges=multi_edges,
        self_loops=self_loops,
        num_rows=num_rows,
        num_loops_dropped=num_rows - num_kept,
        num_edges=num_edges,
    )


def _label_vertices(
    columns: EdgeColumns,
    vertices: Any,
    options: dict[str, Any],
    check_memory: Callable[[int], None],
) -> tuple[Labeling, list[Any]]:
    """Return the labeling, and [source ids, destination ids, weights or None]."""
    endpoints = columns.sources, columns.destinations

    def check_build(stats: Any, num_vertices: int) -> None:
        check_memory(build_bytes(columns.rows, num_vertices, columns=stats, **options))

    def check_table(count: int, nbytes: int) -> None:
        check_memory(merge_bytes("arrow" if nbytes else "hash", count, nbytes))

    is_range = isinstance(vertices, range)
    if is_range and 0 < vertices.start < vertices.stop <= vertices.start + MAX_VERTICES:
        check_build(name_column_stats(*endpoints), len(vertices))
    more = check_vertices(vertices, len(columns.sources), columns.labels, columns.xp)
    # The number of vertices is known once they are named; until then, this is a lower bound.
    check_build(name_column_stats(*endpoints, more), len(more) if isinstance(more, range) else 0)
    names, *ids = name_vertices(*endpoints, more, columns.labels, columns.xp, check_table)
    return columns.labeling(names, columns.xp), [*ids, columns.weights]


def _drop_self_loops(coo: list[Any]) -> None:
    """Remove the self-loops of [source ids, destination ids, weights or None] in place."""
    keep = coo[0] != coo[1]
    if not bool(keep.all()):
        coo[:] = [values if values is None else values[keep] for values in coo]


def _summable_weights(weights: Array | None, num_rows: int, xp: ArrayModule) -> Array:
    """Return weights of a type that holds the sums of parallel edges; 1 each without weights."""
    if weights is None:
        return xp.ones(num_rows)
    total = weight_sums.sum_exactly(weights) if weights.dtype.kind == "i" else None
    return weights.astype(weight_sums.sum_type(total), copy=False)
