"""Label propagation in a distributed graph.

Each rank computes the new labels of the vertices of its partition, and an all-gather sends them to
the other ranks after each iteration.
"""

from __future__ import annotations

from ..algorithms.label_propagation import label_columns, propagate_labels
from ..algorithms.parameters import LabelParameters
from ..algorithms.run_memory import ALGORITHM_BYTES
from ..device.arrays import Array
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .executor import release_on_error
from .graph import as_distributed, create_vertex_frame
from .partition import Partition
from .storage import finish_frame


@release_on_error
def label_propagation(graph: GraphLike, parameters: LabelParameters) -> Frame:
    """Propagate labels in a graph; see `rapidsgraph.label_propagation`."""
    graph = as_distributed(graph)
    graph.check_name_collisions(*graph.endpoint_columns("label").values())
    frame, _ = graph.run_for_frame(
        _propagate_labels, graph.partitions("csr"),
        graph.partitions("csc") if graph.directed else None, tuple(graph.bounds),
        parameters, graph.is_merged, name="labels",
    )  # fmt: skip
    return frame


def _propagate_labels(
    communicator: Communicator,
    report: Report,
    by_source: Partition,
    by_destination: Partition | None,
    bounds: tuple[int, ...],
    parameters: LabelParameters,
    is_merged: bool,
) -> tuple:
    """Return the result frame of the partition's vertices; see `finish_frame`."""
    partitions = [by_source] if by_destination is None else [by_source, by_destination]
    num_arcs = sum(partition.num_arcs for partition in partitions)
    num_bytes = ALGORITHM_BYTES["label_propagation"].total(bounds[-1], num_arcs, False)
    check_free_memory(f"labels in a partition of {num_arcs:,} arcs", num_bytes, by_source.xp)
    local, xp = by_source.local_range, by_source.xp
    buffer = communicator.allocate((2, bounds[-1]), bounds, xp.int32, xp)

    def exchange(labels: Array, iteration: int) -> Array:
        # A rank that is ahead may write the row of iteration t in iteration t + 2, when every rank
        # has copied it.
        row = buffer.array[iteration % 2]
        row[local] = labels[local]
        buffer.all_gather(iteration % 2)
        return row.copy()

    adjacencies = [partition.adjacency for partition in partitions]
    labels = propagate_labels(adjacencies, parameters, is_merged, exchange)[local]
    frame = create_vertex_frame(by_source, label_columns(by_source.labeling, labels))
    return finish_frame(communicator, frame)
