"""Components, core numbers, labels and triangles of a layered edge list on Dask workers.

Every rank has the values of all vertices, and each reads the partitions that it needs: for
components those of a range, about as many words as any other rank, and else those with neighbors of
a range of vertices, which have about as many neighbors as those of any other rank. Collectives
combine the results: the forests of weak components, the contracted graphs of strong ones, the
lowest bounds of core numbers, the new labels of an iteration, and the sums of triangles.

See the modules of these names in `layered` for the algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms.components import number_components
from ..algorithms.label_propagation import label_columns
from ..algorithms.parameters import ComponentParameters, LabelParameters, Parameters
from ..algorithms.run_memory import Algorithm
from ..algorithms.triangles import divide_by_pairs
from ..device.arrays import Array
from ..frames import Frame
from ..layered import components, triangles
from ..layered import core_number as layered_cores
from ..layered import label_propagation as layered_labels
from ..layered.packing import COLUMN
from ..layered.storage import LayeredStorage
from ..layered.strong_components import Condensation, open_condensation
from ..layered.sweeps import to_vertex_order
from ..layered.tiles import open_tiles
from ..progress import Report
from .communicator import Communicator
from .components import join_forests
from .executor import release_on_error
from .layered import choose_limit, finish_vertices, local_vertices
from .layered_storage import TITLES, DistributedLayeredStorage, balance_partitions
from .storage import finish_frame


@release_on_error
def connected_components(
    layered: DistributedLayeredStorage, parameters: ComponentParameters
) -> Frame:
    """Find components; see `rapidsgraph.connected_components`."""
    layered.local.labeling.check_name_collisions("component")
    is_strong = parameters.strong and layered.directed  # otherwise both are the same
    algorithm: Algorithm = "strong_components" if is_strong else "connected_components"
    return _run(layered, algorithm, _find_components, parameters)


@release_on_error
def core_number(layered: DistributedLayeredStorage, parameters: Parameters) -> Frame:
    """Find core numbers; see `rapidsgraph.core_number`."""
    layered.local.labeling.check_name_collisions("core")
    return _run(layered, "core_number", _find_core_numbers, parameters)


@release_on_error
def label_propagation(layered: DistributedLayeredStorage, parameters: LabelParameters) -> Frame:
    """Propagate labels; see `rapidsgraph.label_propagation`."""
    labeling = layered.local.labeling
    labeling.check_name_collisions(*labeling.endpoint_columns("label").values())
    return _run(layered, "label_propagation", _propagate_labels, parameters)


@release_on_error
def triangle_count(layered: DistributedLayeredStorage, parameters: Parameters) -> Frame:
    """Count triangles; see `rapidsgraph.triangle_count`."""
    layered.local.labeling.check_name_collisions("triangles")
    return _run(layered, "triangle_count", _count_triangles, parameters)


@release_on_error
def clustering_coefficient(layered: DistributedLayeredStorage, parameters: Parameters) -> Frame:
    """Compute coefficients; see `rapidsgraph.clustering_coefficient`."""
    layered.local.labeling.check_name_collisions("coefficient")
    return _run(layered, "clustering_coefficient", _count_triangles, parameters)


def _run(
    layered: DistributedLayeredStorage,
    algorithm: Algorithm,
    function: Callable[..., Any],
    parameters: Parameters,
) -> Frame:
    """Run a function on every rank, each with all partitions of the list."""
    frame, _ = layered.run_algorithm(
        algorithm, function, slice(None), None, algorithm, parameters,
        memory_limit=parameters.memory_limit, progress=None,
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _finish(
    communicator: Communicator, storage: LayeredStorage, columns: dict[str, Any]
) -> tuple[Frame, Any]:
    """Return the rows of a rank from the columns of all vertices, and the cost of the run."""
    empty = storage.xp.empty(0, np.int32)
    return finish_vertices(communicator, storage, columns, empty, (storage.last_run, None))


def _find_components(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    algorithm: Algorithm,
    parameters: ComponentParameters,
) -> tuple[Frame, Any]:
    """Return the rows of components."""
    limit = choose_limit(storage, algorithm, memory_limit)
    words = storage.table[:, COLUMN["words"]]
    partitions = range(*balance_partitions(words, communicator.size)[communicator.rank])
    if algorithm == "strong_components":
        with open_condensation(storage, limit) as condensation:
            _contract(communicator, condensation, partitions)
        roots = condensation.find_roots()
    else:
        roots = components.find_roots(storage, limit, partitions)
        join_forests(communicator, roots)
    return _finish(communicator, storage, {"component": number_components(roots)})


def _contract(communicator: Communicator, condensation: Condensation, partitions: range) -> None:
    """Contract the strong components of the whole list, of which each rank reads a range first.

    If the arcs that are left do not fit into the memory of a rank together, every rank reads the
    whole list.
    """

    def join(parents: Array) -> None:
        join_forests(communicator, parents)

    def gather(capacity: int, sources: Array, destinations: Array) -> tuple[Array, Array] | None:
        states = communicator.all_gather_object((capacity, sources.size))
        if min(limit for limit, _ in states) < sum(size for _, size in states):
            return None
        return communicator.all_gather(sources), communicator.all_gather(destinations)

    is_complete = condensation.contract(partitions)
    if not condensation.contract_ranks(is_complete, join, gather):
        condensation.complete()


def _open_tiles(
    communicator: Communicator,
    storage: LayeredStorage,
    algorithm: Algorithm,
    memory_limit: int | None,
) -> Any:
    """Return the tiles of a rank as a context manager."""
    limit = choose_limit(storage, algorithm, memory_limit)
    return open_tiles(
        storage, algorithm, TITLES[algorithm], limit,
        rank=communicator.rank, size=communicator.size,
    )  # fmt: skip


def _find_core_numbers(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    algorithm: Algorithm,
    parameters: Parameters,
) -> tuple[Frame, Any]:
    """Return the rows of core numbers."""

    def exchange(cores: Array, is_active: Array) -> tuple[Array, Array]:
        return communicator.all_reduce(cores, "min"), communicator.all_reduce(is_active, "max")

    with _open_tiles(communicator, storage, algorithm, memory_limit) as tiles:
        cores = layered_cores.find_core_numbers(tiles, exchange)
    return _finish(communicator, storage, {"core": to_vertex_order(storage, cores)})


def _propagate_labels(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    algorithm: Algorithm,
    parameters: LabelParameters,
) -> tuple[Frame, Any]:
    """Return the rows of labels."""
    with _open_tiles(communicator, storage, algorithm, memory_limit) as tiles:
        labels = layered_labels.propagate_labels(tiles, parameters, communicator.all_gather)
    labeling, rows = storage.labeling, local_vertices(communicator, storage)
    columns = label_columns(labeling, to_vertex_order(storage, labels)[rows])
    ids = storage.xp.arange(rows.start, rows.stop, dtype=np.int32)
    frame = labeling.vertex_frame(columns, ids)
    return finish_frame(communicator, frame, (storage.last_run, None))


def _count_triangles(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    algorithm: Algorithm,
    parameters: Parameters,
) -> tuple[Frame, Any]:
    """Return the rows of triangles or coefficients."""
    is_count = algorithm == "triangle_count"
    with _open_tiles(communicator, storage, algorithm, memory_limit) as tiles:
        has_flags = storage.directed and not is_count
        counts, degrees = (
            communicator.all_reduce(values)
            for values in triangles.count_by_vertex(tiles, has_flags=has_flags)
        )
    if is_count:
        return _finish(communicator, storage, {"triangles": to_vertex_order(storage, counts)})
    coefficients = divide_by_pairs(counts if has_flags else 2 * counts, degrees)
    columns = {"coefficient": to_vertex_order(storage, coefficients)}
    return _finish(communicator, storage, columns)
