"""Connected components of a distributed graph.

Each partition links the vertices of its arcs to a forest (kernels/union_find.cu); the forests of
all partitions are joined to one.
"""

from __future__ import annotations

from itertools import repeat

from .. import device
from ..algorithms.components import compress, find_roots, number_components
from ..device.arrays import Array
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..graph.vertex_names import Labeling
from .executor import release_on_error
from .graph import as_distributed, create_vertex_frame


@release_on_error
def connected_components(graph: GraphLike) -> Frame:
    """Find components of a DistributedGraph or Dask frame; see `connected_components`."""
    graph = as_distributed(graph)
    graph.check_name_collisions("component")
    executor = graph.executor
    forests = executor.map(find_roots, graph.built_partitions(), name="link")
    forest = executor.tree_reduce(join_forests, forests, "join")
    numbers = executor.submit(number_components, forest, name="number")
    frames = executor.map(
        _create_component_frame, repeat(graph.labeling), repeat(numbers), graph.starts, graph.stops,
        name="label",
    )  # fmt: skip
    return graph.to_dask(frames)


# Tasks


def join_forests(*forests: Array) -> Array:
    """Return the forest of the edges of several: int32 parents, all of them roots."""
    parents = forests[0].copy()
    xp, num_vertices = device.array_module(parents), parents.size
    offsets = xp.arange(num_vertices + 1, dtype=xp.int64)
    for forest in forests[1:]:
        device.launch(
            "union_find", "link_neighbor", size=num_vertices,
            num_vertices=num_vertices, position=0, offsets=offsets, neighbors=forest,
            parents=parents,
        )  # fmt: skip
        compress(parents)
    return parents


def _create_component_frame(labeling: Labeling, numbers: Array, start: int, stop: int) -> Frame:
    return create_vertex_frame(labeling, {"component": numbers[start:stop]}, start, stop)
