"""Connected components of a graph in several parts.

Means: what `rg.connected_components` gives.
Requires: lists of one direction.
Reference: a part's forest of trees is its word on components (kernels/union_find.cu); forests are
  joined two by two.
"""

from .. import device
from ..algorithms.components import find_roots, number_components
from .executor import release_on_error, tree
from .graph import as_partitioned, label


@release_on_error
def connected_components(graph):
    """As `rapidsgraph.connected_components`, of a Dask frame or DistributedGraph."""
    graph = as_partitioned(graph)
    graph.check_name_collisions("component")
    engine = graph.engine
    given = next(iter(graph.built.values()))
    forests = [engine.submit(_forest, part, name="link", at=at) for at, part in enumerate(given)]
    numbers = engine.submit(_numbers, tree(engine, join_forests, forests, "join"), name="number")
    return graph.result(
        [
            engine.submit(_component, graph.named, numbers, *bounds, name="label", at=at)
            for at, bounds in enumerate(graph.ranges)
        ]
    )


# Tasks


def _forest(part):
    """The root of every vertex's tree along a part's arcs: int32, shape (vertices,)."""
    return find_roots(part)


def join_forests(*forests):
    """The forest of all their trees: int32 parents, shape (vertices,), all of them roots."""
    parents = forests[0].copy()
    xp, vertices = device.array_module(parents), parents.size
    offsets = xp.arange(vertices + 1, dtype=xp.int64)
    for other in forests[1:]:
        device.launch(
            "union_find", "link_neighbor", size=vertices,
            num_vertices=vertices, position=0, offsets=offsets, neighbors=other, parents=parents,
        )  # fmt: skip
        device.launch(
            "union_find", "compress", size=vertices,
            num_vertices=vertices, parents=parents,
        )  # fmt: skip
    return parents


def _numbers(parents):
    return number_components(parents, device.array_module(parents))


def _component(named, numbers, first, stop):
    return label(named, {"component": numbers[first:stop]}, first, stop)
