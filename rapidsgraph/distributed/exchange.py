"""Exchange of the values of vertices between ranks, each of which owns those of its partition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array
from .communicator import Communicator
from .partition import Partition


def list_ghosts(partition: Partition, bounds: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the neighbors in other partitions, ascending, and the index of each rank's first."""
    xp = partition.xp
    is_ghost = xp.zeros(partition.num_vertices, bool)
    is_ghost[partition.adjacency.neighbors] = True
    is_ghost[partition.local_range] = False
    ghosts = xp.flatnonzero(is_ghost).astype(xp.int32)
    return ghosts, xp.searchsorted(ghosts, xp.asarray(bounds, dtype=xp.int32))


def exchange_lowered(
    communicator: Communicator, values: Array, ghosts: Array, splits: Array, sent: Array, dtype: Any
) -> tuple[Array, Array]:
    """Send the values of ghosts that were lowered to their owners, and lower those of this rank.

    Parameters
    ----------
    communicator : Communicator
    values : array, shape (vertices,)
        Those of vertices of this rank are lowered in place.
    ghosts, splits : arrays
        From `list_ghosts`.
    sent : array
        The values of the ghosts after the last exchange.
    dtype : dtype
        In which ids and values are sent.

    Returns
    -------
    ids : int32 array
        Vertices of this rank whose values other ranks have lowered, each once.
    sent : array
        The values of the ghosts.
    """
    xp, new_values = device.array_module(values), values[ghosts]
    positions = xp.flatnonzero(new_values < sent)
    columns = ghosts[positions].astype(dtype), new_values[positions].astype(dtype)
    updates = xp.stack(columns, axis=1)
    limits = device.to_host(xp.searchsorted(positions, splits)).tolist()
    messages = communicator.all_to_all([updates[start:stop] for start, stop in pairwise(limits)])
    lowered = []
    for message in messages:
        if message.size:
            ids, received = message[:, 0].astype(np.int32), message[:, 1].astype(values.dtype)
            is_lower = received < values[ids]
            ids = ids[is_lower]
            values[ids] = received[is_lower]
            lowered.append(ids)
    if not lowered:
        return xp.empty(0, xp.int32), new_values
    return lowered[0] if len(lowered) == 1 else xp.unique(xp.concatenate(lowered)), new_values


def gather_values(communicator: Communicator, values: Array, bounds: tuple[int, ...]) -> Array:
    """Return the values of all vertices from those of each rank's range."""
    xp = device.array_module(values)
    buffer = communicator.allocate((1, bounds[-1]), bounds, values.dtype, xp)
    buffer.array[0, bounds[communicator.rank] : bounds[communicator.rank + 1]] = values
    buffer.all_gather()
    return buffer.array[0]
