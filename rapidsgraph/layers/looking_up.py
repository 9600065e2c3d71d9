"""Ids of the names in batches.

Means: what VertexNames.ids says, with what it takes to look up made once and not for every batch.
Requires: names that are all there, because they were all collected before.
"""

import numpy as np

from .. import frames
from ..errors import GraphError
from ..kernels import spill
from .spilling import run


def look_up_by(names):
    """A function from the columns that name one end of edges to int32 ids."""
    if len(names.parts) > 1:
        return lambda columns: _of_several(columns, names)
    is_text = not (names.parts[0] is None or isinstance(names.parts[0], np.ndarray))
    one = (_TextPlaces if is_text else _IntegerPlaces)(names)
    return lambda columns: one(*columns)


def check_found(sound):
    """Raise GraphError where the second pass over a file differs from the first."""
    if not sound:
        raise GraphError("the file was changed while it was read; try again")


class _IntegerPlaces:
    """Integer names to ids, by a table over the highest bits of what they are above the least."""

    def __init__(self, names):
        self.count, (part,) = names.count, names.parts
        self.names = None
        if part is not None:
            wide = np.uint64 if part.dtype == np.uint64 else np.int64
            self.names = part.astype(wide, copy=False).view(np.uint64)
            self.low = self.names[0]
            span = (int(self.names[-1]) - int(self.low)) % 2**64
            shift = max((span // max(2 * self.count, 1024)).bit_length(), 0)
            buckets = np.arange((span >> shift) + 2, dtype=np.uint64) << np.uint64(shift)
            self.shift = np.uint64(shift)
            above = self.names - self.low
            self.starts = np.searchsorted(above, buckets).astype(np.int32)
            self.starts[-1] = self.count  # of the last bucket, whose end may be beyond 64 bits

    def __call__(self, values):
        if self.names is None:
            ids = values.astype(np.int32, copy=False)
            sound = not values.size or (values.min() >= 0 and values.max() < self.count)
        else:
            wide = np.uint64 if values.dtype == np.uint64 else np.int64
            values = values.astype(wide, copy=False).view(np.uint64)
            ids = np.empty(values.size, np.int32)
            run(spill.look_up, values, self.low, self.shift, self.starts, self.names, ids)
            sound = not ids.size or ids.min() >= 0
        check_found(sound)
        return ids


class _TextPlaces:
    """Text to ids: of the distinct ones of a batch, spread again."""

    def __init__(self, names):
        self.names = as_text(names.parts[0])

    def __call__(self, values):
        import pyarrow.compute as pc

        coded = as_text(values).dictionary_encode()
        ids = pc.index_in(coded.dictionary, value_set=self.names)
        check_found(not ids.null_count)
        return ids.to_numpy()[coded.indices.to_numpy()]


def as_text(values):
    """Text as an Arrow array."""
    import pyarrow

    values = pyarrow.array(values, from_pandas=True) if len(values) else pyarrow.array([], "string")
    return values.cast(pyarrow.large_string())


def _of_several(columns, names):
    """Those of the distinct ones, spread again."""
    import pandas

    frame = pandas.DataFrame(dict(enumerate(columns)), copy=False)
    if not len(frame):
        return np.empty(0, np.int32)
    codes = frame.groupby(list(frame), sort=False).ngroup().to_numpy()
    distinct = frame.drop_duplicates(ignore_index=True)
    distinct = [frames.column(distinct, place, "vertex") for place in distinct]
    return names.ids(distinct, np, "edges")[codes]
