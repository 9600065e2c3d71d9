"""The edge frame of a distributed graph."""

from __future__ import annotations

from ..frames import Frame
from ..graph.export import check_edge_columns, edge_frame
from ..progress import Report
from .communicator import Communicator
from .executor import release_on_error
from .graph import DistributedGraph, finish_frame
from .partition import Partition


@release_on_error
def to_edges(graph: DistributedGraph) -> Frame:
    """Return the Dask frame of the edges of a graph; see `Graph.to_edges`."""
    schema = graph.schema
    check_edge_columns(schema.labels, schema.is_endpoint_specific, graph.weighted)
    frame, _ = graph.run_for_frame(_list_edges, graph.partitions(), graph.directed, name="edges")
    return frame


def _list_edges(
    communicator: Communicator, report: Report, partition: Partition, directed: bool
) -> tuple:
    """Return the frame of the edges that leave the partition's vertices; see `finish_frame`."""
    frame = edge_frame(partition.labeling, partition.adjacency, directed, partition.weighted)
    return finish_frame(communicator, frame)
