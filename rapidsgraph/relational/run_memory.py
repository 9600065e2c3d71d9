"""Check the memory of a frame form on one pandas or cuDF frame before it is allocated.

The figures are measured peaks of pandas per arc and vertex, for integer and for text names of 5 to
11 characters, rounded up. Dask's workers spill what does not fit, and are not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import frames
from ..algorithms.run_memory import UNDIRECTED_ALGORITHMS
from ..frames import Column
from ..graph.local_graph import LocalGraph
from ..validation import check_free_memory

SAMPLE_ROWS = 2**16  # whose text gives the mean length of names
NAME_BYTES = 8  # of an integer, which the figures per arc and vertex include
TEXT_BYTES, TEXT_OBJECT_BYTES = 16, 64  # of a name besides its characters: of an arc, of a vertex
MIN_WEDGES = 2**22  # pairs of edges that a partition joins at once


class FrameBytes(NamedTuple):
    """The bytes of an algorithm: fixed ones per item, and copies of the names per item."""

    per_arc: int
    per_vertex: int
    names_per_arc: int
    names_per_vertex: int
    per_wedge: int = 0


FRAME_BYTES = {
    "bfs": FrameBytes(120, 60, 5, 7),
    "clustering_coefficient": FrameBytes(510, 60, 10, 4, 110),
    "connected_components": FrameBytes(240, 40, 14, 4),
    "core_number": FrameBytes(510, 60, 10, 4),
    "label_propagation": FrameBytes(300, 60, 12, 6),
    "neighbor_similarity": FrameBytes(510, 60, 10, 4, 55),
    "pagerank": FrameBytes(115, 105, 5, 5),
    "scan": FrameBytes(510, 60, 10, 4, 55),
    "shortest_path": FrameBytes(130, 60, 5, 9),  # its search
    "sssp": FrameBytes(130, 60, 5, 9),
    "structural_similarity": FrameBytes(510, 60, 10, 4, 55),
    "triangle_count": FrameBytes(510, 60, 10, 4, 110),
}


def estimate_bytes(
    algorithm: str, num_arcs: int, num_vertices: int, name_lengths: Sequence[int | None]
) -> int:
    """Estimate the peak memory of a frame form beyond the edges.

    Parameters
    ----------
    algorithm : str
    num_arcs, num_vertices : int
    name_lengths : sequence of int or None
        For each name column the mean length of its text in bytes; None for integers.
    """
    per = FRAME_BYTES[algorithm]
    arc_name, vertex_name = -NAME_BYTES, -NAME_BYTES
    for length in name_lengths:
        arc_name += NAME_BYTES if length is None else TEXT_BYTES + length
        vertex_name += NAME_BYTES if length is None else TEXT_OBJECT_BYTES + length
    # A vertex has at most sqrt(2 m) upward arcs; see `scan.count_common_neighbors`.
    num_wedges = min(num_arcs * int((2 * num_arcs) ** 0.5), max(MIN_WEDGES, num_arcs) + num_arcs)
    wedge_bytes = num_wedges * (per.per_wedge + 6 * arc_name) if per.per_wedge else 0
    return (
        num_arcs * (per.per_arc + per.names_per_arc * arc_name)
        + num_vertices * (per.per_vertex + per.names_per_vertex * vertex_name)
        + wedge_bytes
    )


def estimate_graph_bytes(algorithm: str, graph: LocalGraph) -> int:
    """Estimate the peak memory of a frame form on a graph, beyond the graph."""
    num_arcs = graph.num_edges if algorithm in UNDIRECTED_ALGORITHMS else graph.num_arcs
    ids = graph.xp.arange(min(graph.num_vertices, SAMPLE_ROWS))
    names = graph.labeling.names.columns(graph.xp, ids).values()
    lengths = [*map(_measure_length, names)]
    return estimate_bytes(algorithm, num_arcs, graph.num_vertices, lengths)


def check_memory(
    algorithm: str, num_arcs: int, num_vertices: int, names: Sequence[Column], xp: Any
) -> None:
    """Raise InsufficientMemoryError unless a frame form fits into free memory."""
    lengths = [*map(_measure_length, names)]
    needed = estimate_bytes(algorithm, num_arcs, num_vertices, lengths)
    check_free_memory(f"{algorithm} by frames of {num_arcs:,} arcs", needed, xp)


def _measure_length(values: Column) -> int | None:
    """Return the mean length of text in bytes; None for numbers."""
    if not hasattr(values, "iloc"):
        return None
    sample = values.iloc[:SAMPLE_ROWS]
    return -(-frames.text_sizes(sample)[0] // max(len(sample), 1))
