"""Components of a layered edge list whose edges may exceed memory."""

from __future__ import annotations

from ..algorithms.components import compress, number_components
from ..algorithms.parameters import ComponentParameters
from ..device import Array
from ..frames import Frame
from .storage import LayeredStorage
from .strong_components import find_strong_roots
from .sweeps import algorithm_stream, finish_run, launch_sweep


def connected_components(storage: LayeredStorage, parameters: ComponentParameters) -> Frame:
    """Find the components of a layered edge list; see `rapidsgraph.connected_components`.

    Union-find links the endpoints of all edges in one pass; `strong_components` describes those of
    a directed list.
    """
    storage.labeling.check_name_collisions("component")
    is_strong = parameters.strong and storage.directed  # otherwise both are the same
    find = find_strong_roots if is_strong else find_roots
    roots = find(storage, parameters.memory_limit)
    return storage.labeling.vertex_frame({"component": number_components(roots)})


def find_roots(
    storage: LayeredStorage, memory_limit: int | str | None, partitions: range | None = None
) -> Array:
    """Return the smallest vertex of every vertex's component, by vertex id: int32.

    The edges are those of some `partitions`, by default of all.
    """
    partitions = range(len(storage.table)) if partitions is None else partitions
    xp, num_vertices = storage.xp, storage.num_vertices
    parents = xp.arange(num_vertices, dtype=xp.int32)
    with algorithm_stream(
        storage, "connected_components", "components", memory_limit, is_repeated=False
    ) as stream:
        for start, stop, origin, words in stream.sweep(partitions):
            launch_sweep(
                storage, "layered_tiles", "link_arcs", start, stop,
                origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                names=storage.order, parents=parents,
            )  # fmt: skip
        finish_run(storage, stream, 1)
    compress(parents)
    return parents
