"""Similarities of neighborhoods in a layered edge list on Dask workers.

Each rank counts the common neighbors of the edges of its own tiles, and sends every edge to the
rank that has the rows of its source, so that rows are in the same order as on one machine. Of pairs
that are given, each rank has consecutive ones, an equal number, and loads the tiles that it needs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import device
from ..algorithms.neighbor_similarity import find_pairs
from ..algorithms.parameters import Parameters, SimilarityParameters
from ..algorithms.run_memory import Algorithm
from ..device.arrays import Array
from ..frames import Frame, compute_if_dask
from ..graph.csr import offsets_from_sizes
from ..layered.neighbor_similarity import (
    ComparedPairs,
    compare_pairs,
    count_edges,
    create_pair_frame,
    sort_edges,
)
from ..layered.storage import LayeredStorage
from ..progress import Report
from .communicator import Communicator
from .executor import release_on_error
from .layered import choose_limit
from .layered_storage import TITLES, DistributedLayeredStorage
from .storage import finish_frame


@release_on_error
def neighbor_similarity(
    layered: DistributedLayeredStorage, parameters: SimilarityParameters
) -> Frame:
    """Compare neighborhoods; see `rapidsgraph.neighbor_similarity`."""
    kind, limit = parameters.kind, parameters.memory_limit
    if parameters.pairs is None:
        return _compare_all_edges(layered, "neighbor_similarity", kind, limit)
    layered.labeling.check_edge_collisions(kind)
    with layered.client.as_current():
        pairs = compute_if_dask(parameters.pairs)
    sources, destinations = find_pairs(layered.labeling, pairs)
    size = layered.num_partitions
    bounds = [sources.size * rank // size for rank in range(size + 1)]
    by_rank = [(sources[start:stop], destinations[start:stop]) for start, stop in pairwise(bounds)]
    frame, _ = layered.run_algorithm(
        "neighbor_similarity", _compare_pairs, slice(None), None, by_rank, kind,
        memory_limit=limit, progress=None,
    )  # fmt: skip
    return frame


@release_on_error
def structural_similarity(layered: DistributedLayeredStorage, parameters: Parameters) -> Frame:
    """Compare endpoints of edges; see `rapidsgraph.structural_similarity`."""
    limit = parameters.memory_limit
    return _compare_all_edges(layered, "structural_similarity", "similarity", limit)


def _compare_all_edges(
    layered: DistributedLayeredStorage, algorithm: Algorithm, column: str, memory_limit: Any
) -> Frame:
    layered.labeling.check_edge_collisions(column)
    frame, _ = layered.run_algorithm(
        algorithm, _compare_edges, slice(None), None, algorithm, column,
        memory_limit=memory_limit, progress=None,
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _compare_edges(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    algorithm: Algorithm,
    column: str,
) -> tuple[Frame, Any]:
    """Return the rows of the edges whose sources a rank has."""
    limit = choose_limit(storage, algorithm, memory_limit)
    ends, common, degrees = count_edges(
        storage, algorithm, TITLES[algorithm], limit, communicator.rank, communicator.size
    )
    degrees = communicator.all_reduce(degrees, "max")
    if communicator.size > 1:
        ends, common = _exchange_by_source(communicator, ends, common, storage.num_vertices)
    return _finish(communicator, storage, sort_edges(ends, common, degrees), column)


def _exchange_by_source(
    communicator: Communicator, ends: list[Array], common: Array, num_vertices: int
) -> tuple[list[Array], Array]:
    """Return the ends and counts of the edges of a range of sources.

    It has about as many edges as the range of any other rank. `ends` is emptied.
    """
    xp, size = device.array_module(common), communicator.size
    counts = communicator.all_reduce(xp.bincount(ends[0], minlength=num_vertices))
    totals = offsets_from_sizes(counts)
    shares = [int(totals[-1]) * rank // size for rank in range(1, size)]
    bounds = xp.searchsorted(totals, xp.asarray(shares, np.int64))
    owners = xp.searchsorted(bounds, ends[0], side="right")
    rows = xp.stack((*ends, common), axis=1)
    ends.clear()
    order = xp.argsort(owners)
    stops = xp.searchsorted(owners[order], xp.arange(1, size))
    received = communicator.all_to_all(xp.split(rows[order], device.to_host(stops).tolist()))
    del rows, owners, order
    sources, destinations, common = xp.concatenate(received).T.copy()
    return [sources, destinations], common


def _compare_pairs(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    pairs: tuple[Array, Array],
    kind: str,
) -> tuple[Frame, Any]:
    """Return the rows of the pairs of vertex ids that a rank has."""
    limit = choose_limit(storage, "neighbor_similarity", memory_limit)
    sources, destinations = (storage.xp.asarray(ids) for ids in pairs)
    compared = compare_pairs(storage, sources, destinations, limit)
    return _finish(communicator, storage, compared, kind)


def _finish(
    communicator: Communicator, storage: LayeredStorage, pairs: ComparedPairs, column: str
) -> tuple[Frame, Any]:
    frame = create_pair_frame(storage.labeling, pairs, column)
    return finish_frame(communicator, frame, (storage.last_run, None))
