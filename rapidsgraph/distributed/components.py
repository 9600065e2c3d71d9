"""Connected components of a distributed graph; `strong_components` has the strong ones.

Each rank links the vertices of its arcs to a forest over all vertices (kernels/union_find.cu), and
the ranks join their forests.
"""

from __future__ import annotations

from .. import device
from ..algorithms.components import compress, find_roots, number_components
from ..algorithms.parameters import ComponentParameters
from ..device.arrays import Array
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..progress import Report
from .communicator import Communicator
from .executor import release_on_error
from .graph import as_distributed, create_vertex_frame
from .partition import Partition
from .storage import finish_frame
from .strong_components import strong_components


@release_on_error
def connected_components(graph: GraphLike, parameters: ComponentParameters) -> Frame:
    """Find the components of a graph; see `rapidsgraph.connected_components`."""
    graph = as_distributed(graph)
    graph.check_name_collisions("component")
    if parameters.strong and graph.directed:  # otherwise both are the same
        return strong_components(graph)
    frame, _ = graph.run_for_frame(
        _find_components, graph.built_partitions(), graph.directed,
        name="components",
    )  # fmt: skip
    return frame


def _find_components(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    directed: bool,
) -> tuple:
    """Return the result frame of the partition's vertices; see `finish_frame`."""

    def join(parents: Array) -> None:
        join_forests(communicator, parents)

    roots = find_roots([partition.adjacency], not directed, join)
    numbers = number_components(roots)[partition.local_range]
    frame = create_vertex_frame(partition, {"component": numbers})
    return finish_frame(communicator, frame)


def join_forests(communicator: Communicator, parents: Array) -> None:
    """Join the forests of all ranks; every vertex becomes a root or the child of one.

    Rank r receives the forest of rank r - 1, then that of rank r - 2, which has been joined with
    that of r - 3, then that of r - 4, and so on: a forest is sent ceil(log2(size)) times, as in
    the dissemination barrier [1]_. A forest that is joined twice changes nothing.

    References
    ----------
    .. [1] D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization",
       International Journal of Parallel Programming 17(1), 1988.
    """
    xp, num_vertices = device.array_module(parents), parents.size
    offsets = xp.arange(num_vertices + 1, dtype=xp.int64)
    distance = 1
    while distance < communicator.size:
        forest = communicator.ring_shift(parents, distance)
        device.launch(
            "union_find", "link_neighbor", size=num_vertices,
            num_vertices=num_vertices, position=0, offsets=offsets, neighbors=forest,
            parents=parents,
        )  # fmt: skip
        compress(parents)
        distance *= 2
