"""Label propagation in a layered edge list whose edges may exceed memory."""

from __future__ import annotations

from collections.abc import Callable

from ..algorithms.label_propagation import LabelOrder, LabelRows, label_columns
from ..algorithms.parameters import LabelParameters
from ..device import Array, count_nonzero
from ..frames import Frame
from .storage import LayeredStorage
from .sweeps import to_vertex_order
from .tiles import Tiles, open_tiles


def label_propagation(storage: LayeredStorage, parameters: LabelParameters) -> Frame:
    """Propagate labels in a layered edge list; see `rapidsgraph.label_propagation`.

    An iteration loads all tiles, unless a single one has the whole graph.
    """
    labeling, limit = storage.labeling, parameters.memory_limit
    labeling.check_name_collisions(*labeling.endpoint_columns("label").values())
    with open_tiles(storage, "label_propagation", "label propagation", limit) as tiles:
        labels = propagate_labels(tiles, parameters)
    labels = to_vertex_order(storage, labels)
    return labeling.vertex_frame(label_columns(labeling, labels))


def propagate_labels(
    tiles: Tiles, parameters: LabelParameters, exchange: Callable[[Array], Array] | None = None
) -> Array:
    """Return the label of every position, which is a vertex id: int32.

    ``exchange(labels)`` returns the labels of the positions of all ranks from those of each.
    """
    labels, seed, rows = tiles.storage.order.copy(), parameters.seed, None
    for iteration in range(parameters.iterations):
        if seed is not None:
            order = LabelOrder(seed, iteration)
            labels = order.apply(labels)
        new_labels = labels.copy()
        for tile in tiles.local_tiles:
            if rows is None or len(tiles.local_tiles) > 1:
                rows = None  # frees the last tile before the next one is loaded
                rows = LabelRows(tiles.load(tile), *tiles.bounds[tile : tile + 2])
            rows.propagate(labels, new_labels)
        if exchange is not None:
            new_labels = exchange(new_labels[tiles.local_range])
        if seed is not None:
            labels = order.invert(new_labels)
            continue
        is_final = not count_nonzero(new_labels != labels)
        labels = new_labels
        if is_final:
            break
    return labels
