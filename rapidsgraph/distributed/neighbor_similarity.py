"""Similarity of neighborhoods of the edges of a distributed graph."""

from __future__ import annotations

from ..algorithms.neighbor_similarity import compare
from ..algorithms.parameters import SimilarityParameters
from ..algorithms.run_memory import ALGORITHM_BYTES
from ..errors import GraphError
from ..frames import Frame
from ..graph.csr import count_upper, row_indices
from ..graph.local_graph import GraphLike
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .executor import release_on_error
from .graph import as_undirected
from .partition import Partition
from .scan import get_common_neighbors
from .storage import finish_frame


@release_on_error
def neighbor_similarity(graph: GraphLike, parameters: SimilarityParameters) -> Frame:
    """Compare the endpoints of every edge; see `rapidsgraph.neighbor_similarity`."""
    if parameters.pairs is not None:
        hint = "use method='frames', or call .compute() first"
        raise GraphError(
            f"{{parameter}} are not supported for distributed graphs; {hint}",
            parameter="pairs",
            hint=hint,
        )
    graph = as_undirected(graph)
    columns = [graph.endpoint_columns(each).values() for each in ("source", "destination")]
    graph.check_name_collisions(parameters.kind, *columns[0], *columns[1])
    frame, _ = graph.run_for_frame(
        _compute_similarities, graph.simple_partitions(), tuple(graph.bounds), parameters.kind,
        name="similarity",
    )  # fmt: skip
    return frame


def _compute_similarities(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    kind: str,
) -> tuple:
    """Return the frame of the edges from the partition's vertices to later ones."""
    common, sizes = get_common_neighbors(communicator, partition, bounds)
    _check_memory(partition)
    rows, neighbors = row_indices(partition.adjacency), partition.adjacency.neighbors
    is_upper = rows < neighbors
    sources, destinations = rows[is_upper], neighbors[is_upper]
    degrees = (sizes - 1).astype(partition.xp.int64)
    common = common[is_upper] - partition.xp.int32(2)  # without both endpoints
    values = compare(kind, common, degrees[sources], degrees[destinations])
    frame = partition.labeling.edge_frame(sources, destinations, {kind: values})
    return finish_frame(communicator, frame)


def _check_memory(partition: Partition) -> None:
    """Raise InsufficientMemoryError unless the rows of a partition's edges fit into free memory."""
    names, num_edges = partition.labeling.names, int(count_upper(partition.adjacency).sum())
    # The bytes per arc are those of edges with two arcs; a partition may have one of each.
    num_arcs = max(partition.num_arcs, 2 * num_edges)
    num_bytes = ALGORITHM_BYTES["neighbor_similarity"].total(
        partition.num_vertices, num_arcs, False
    )
    num_bytes += 2 * num_edges * -(-names.text_bytes // max(names.count, 1))  # of both endpoints
    check_free_memory(f"similarity of {num_edges:,} edges in a partition", num_bytes, partition.xp)
