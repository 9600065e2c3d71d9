"""Map vertex ids to the caller's names and back, and build result frames in the caller's library.

A `Labeling` is part of everything that knows vertices by id: graphs, layered edge lists and
indexes. Results are frames of the library that the edges came in, with the same name columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from .. import device, frames
from ..device.arrays import Array
from ..errors import GraphError
from .vertex_names import VertexNames


@dataclass
class Labeling:
    """The names of vertices, and the form of the frames that show them.

    Parameters
    ----------
    names : VertexNames
    xp : module
        NumPy or CuPy, whichever holds the arrays.
    library : str
        Library of the frames, as `frames.normalize_frame` returns it.
    is_endpoint_specific : sequence of bool
        For each name column, whether source and destination of an edge have one each. An edge has
        the other columns once.
    source_columns : sequence of str
        Name columns of the sources in the edge frame.
    text_types : dict from str to Arrow type or None
        Types of the text columns of results.
    """

    names: VertexNames
    xp: ModuleType
    library: str
    is_endpoint_specific: Sequence[bool]
    source_columns: Sequence[str]
    text_types: dict[str, Any] = field(default_factory=dict)

    @property
    def num_vertices(self) -> int:
        return self.names.count

    @property
    def device(self) -> str:
        return device.device_name(self.xp)

    def vertex_frame(self, columns: Mapping[str, Any], ids: Array | None = None) -> Any:
        """Return a frame of vertex names and other columns, one row per vertex.

        Parameters
        ----------
        columns : dict from str to array, or to a pair of arrays
            Values by vertex id; or values, and a mask of those that are not null.
        ids : integer array, optional
            The vertices of the rows; by default all, in ascending order.
        """
        return frames.make_frame(
            self.library, {**self.names.columns(self.xp, ids), **columns}, self.text_types
        )

    def edge_frame(self, sources: Array, destinations: Array, columns: Mapping[str, Any]) -> Any:
        """Return a frame of the names of sources and destinations, and other columns.

        Name columns that both endpoints share come first, once.
        """
        endpoints: dict[str, Any] = {}
        types = dict(self.text_types)
        for endpoint, ids in (("source", sources), ("destination", destinations)):
            specific, values = self.endpoint_columns(endpoint), self.names.columns(self.xp, ids)
            endpoints |= {specific.get(label, label): values[label] for label in values}
            types |= {name: self.text_types.get(label) for label, name in specific.items()}
        shared = {label: endpoints[label] for label in self.names.labels if label in endpoints}
        return frames.make_frame(self.library, {**shared, **endpoints, **columns}, types)

    def text_column(self, codes: Array, categories: Sequence[str]) -> Any:
        """Return a text column of categories by their codes; for arrays on a GPU the codes."""
        return frames.decode_text(self.library, codes, categories)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the names of an endpoint's columns; see `endpoint_columns`."""
        return endpoint_columns(self.names.labels, self.is_endpoint_specific, endpoint)

    def name_columns(self, ids: Array, valid: Array, endpoint: str) -> dict[str, tuple[Any, Array]]:
        """Return the name columns of an endpoint, null where not `valid`, for `vertex_frame`."""
        if self.names.distinct[0] is not None:  # otherwise ids are names, and need no valid place
            ids = self.xp.where(valid, ids, 0)
        columns = self.names.columns(self.xp, ids)
        return {
            name: (columns[label], valid) for label, name in self.endpoint_columns(endpoint).items()
        }

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a name column has the name of a result column."""
        check_name_collisions(self.names.labels, columns)

    def ids(self, table: Any, parameter: str, labels: Sequence[str] | None = None) -> Array:
        """Return the int32 ids of the vertices that the name columns of an opened frame list."""
        labels = labels or self.names.labels
        columns = [frames.get_column(table, label, "vertex", parameter) for label in labels]
        return self.names.ids(columns, self.xp, parameter)

    def name_of(self, vertex: int) -> Any:
        """Return the name of a vertex: an int, a str, or a tuple for names of several columns."""
        return self.names.name_of(vertex, self.xp)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copy, which cannot hold the array module."""
        return {**self.__dict__, "xp": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.xp = np if state["xp"] == "cpu" else device.import_cupy()


def endpoint_columns(
    labels: Sequence[str], is_endpoint_specific: Sequence[bool], endpoint: str
) -> dict[str, str]:
    """Return {name column: its name for an endpoint}, without columns that both endpoints share.

    Parameters
    ----------
    labels, is_endpoint_specific
        Name columns of vertices, as in `Labeling`.
    endpoint : str
        Prefix such as "source" or "predecessor".
    """
    return {
        label: endpoint + label.removeprefix("vertex")
        for label, is_specific in zip(labels, is_endpoint_specific, strict=True)
        if is_specific
    }


def check_name_collisions(labels: Iterable[str], columns: Iterable[str]) -> None:
    """Raise GraphError if a name column in `labels` is also a result column in `columns`."""
    result_columns = set(columns)
    label = next((label for label in labels if label in result_columns), None)
    if label is not None:
        raise GraphError(
            f"vertex name column {label!r} collides with a result column; rename it", column=label
        )
