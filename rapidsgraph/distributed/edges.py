"""The edge frame and the degrees of a distributed graph."""

from __future__ import annotations

from ..frames import Frame
from ..graph.export import (
    check_degree_memory,
    count_neighbors,
    degree_columns,
    edge_columns,
    edge_frame,
    sum_neighbors,
    sum_rows,
    undirected_degrees,
)
from ..progress import Report
from .communicator import Communicator
from .executor import release_on_error
from .graph import DistributedGraph, create_vertex_frame
from .partition import Partition
from .storage import finish_frame


@release_on_error
def edges(graph: DistributedGraph) -> Frame:
    """Return the Dask frame of the edges of a graph; see `Graph.edges`."""
    graph.check_edge_collisions(*edge_columns(graph.weighted))
    frame, _ = graph.run_for_frame(_list_edges, graph.partitions(), graph.directed, name="edges")
    return frame


@release_on_error
def degrees(graph: DistributedGraph) -> Frame:
    """Return the Dask frame of the degrees of a graph; see `Graph.degrees`."""
    names = degree_columns(graph.directed, graph.weighted)
    graph.check_name_collisions(*names)
    frame, _ = graph.run_for_frame(
        _compute_degrees, graph.partitions(), tuple(names), graph.directed, name="degrees"
    )
    return frame


def _compute_degrees(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    names: tuple[str, ...],
    directed: bool,
) -> tuple:
    """Return the frame of the degrees of the partition's vertices; see `finish_frame`.

    The rows of a partition have all arcs that leave its vertices. Those that enter them may be on
    any rank.
    """
    adjacency, weighted, local = partition.adjacency, partition.weighted, partition.local_range
    check_degree_memory(adjacency, partition.xp)
    if directed:
        columns = {"out_degree": partition.xp.diff(adjacency.offsets)}
        columns["in_degree"] = communicator.all_reduce(count_neighbors(adjacency))
        if weighted:
            columns["weighted_out_degree"] = sum_rows(adjacency)
            columns["weighted_in_degree"] = communicator.all_reduce(sum_neighbors(adjacency))
    else:
        columns = undirected_degrees(adjacency, weighted)
    frame = create_vertex_frame(partition, {name: columns[name][local] for name in names})
    return finish_frame(communicator, frame)


def _list_edges(
    communicator: Communicator, report: Report, partition: Partition, directed: bool
) -> tuple:
    """Return the frame of the edges that leave the partition's vertices; see `finish_frame`."""
    frame = edge_frame(partition.labeling, partition.adjacency, directed, partition.weighted)
    return finish_frame(communicator, frame)
