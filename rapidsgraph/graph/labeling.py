"""Vertices that have names, and frames of what is found out about them.

Means: what Graph and ScanIndex share: names by id, and results in the caller's library.
"""

import numpy as np

from .. import device, frames
from ..errors import GraphError


class Labeling:
    """What is known by vertex id comes out by vertex name.

    Attributes
    ----------
    names : VertexNames
    xp : module
        NumPy or CuPy, whichever holds the arrays.
    """

    _attributes = ("names", "xp", "_kind", "_labels", "_own", "_text_types", "source_columns")

    def _name_as(self, columns):
        """Name vertices in the manner of EdgeColumns."""
        self._kind, self._labels, self._own = columns.kind, columns.labels, columns.own
        self.source_columns, self._text_types = columns.source_columns, columns.text_types

    def _take_names(self, other):
        """Name vertices as another does."""
        for name in self._attributes:
            setattr(self, name, getattr(other, name))

    @property
    def num_vertices(self):
        return self.names.count

    @property
    def device(self):
        return device.device_name(self.xp)

    def vertex_frame(self, columns, ids=None):
        """A frame of the caller's library: vertex names and `columns` ({name: values}).

        Values are an array, or a pair (values, whether there is one) where some are missing; one a
        vertex by id, or one for each of `ids`.
        """
        columns = {**self.names.columns(self.xp, ids), **columns}
        return frames.make(self._kind, columns, self._text_types)

    def edge_frame(self, sources, destinations, columns):
        """As `label`, a row an edge: names of both ends, of what they share once, and `columns`."""
        named = {}
        for end, ids in (("source", sources), ("destination", destinations)):
            own, values = self.endpoint_columns(end), self.names.columns(self.xp, ids)
            named |= {own.get(label, label): values[label] for label in self._labels}
        shared = {label: named[label] for label in self._labels if label in named}
        types = {
            name: self._text_types.get(label)
            for end in ("source", "destination")
            for label, name in self.endpoint_columns(end).items()
        }
        return frames.make(
            self._kind, {**shared, **named, **columns}, {**self._text_types, **types}
        )

    def text_column(self, codes, categories):
        """A column of text, `words` by their places; in arrays on a GPU the places themselves."""
        return frames.text_column(self._kind, codes, categories)

    def check_name_collisions(self, *columns):
        """Raise GraphError where a name column has the name of a result's column."""
        taken = next((label for label in self._labels if label in columns), None)
        if taken:
            raise GraphError(
                f"vertex name column {taken!r} collides with a result column; rename it"
            )

    def endpoint_columns(self, end):
        """{name column: what that of `end` of an edge, as "predecessor", is called}.

        Columns that both ends of an edge share are left out.
        """
        own = [label for label, is_own in zip(self._labels, self._own, strict=True) if is_own]
        return {label: end + label.removeprefix("vertex") for label in own}

    def name_columns(self, ids, known, end):
        """Columns of the names of `end`, as `label` takes them, of int32 ids where `known`."""
        if self.names.parts[0] is not None:  # else ids are names, also those of nobody
            ids = self.xp.where(known, ids, 0)
        columns = self.names.columns(self.xp, ids)
        return {name: (columns[label], known) for label, name in self.endpoint_columns(end).items()}

    def ids(self, named, what, labels=None):
        """int32 ids of the vertices that the name columns of an opened frame list."""
        labels = labels or self._labels
        columns = [frames.column(named, label, "vertex", what) for label in labels]
        return self.names.ids(columns, self.xp, what)

    def __getstate__(self):
        """For pickle and copy: everything but the array module, which the device names."""
        return {**self.__dict__, "xp": self.device}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.xp = np if state["xp"] == "cpu" else device.import_cupy()
