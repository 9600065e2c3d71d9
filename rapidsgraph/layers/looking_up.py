"""Ids of integer names in batches.

Means: what VertexNames.ids says, with what it takes to look up made once and not for every batch.
Requires: names that are all there, because they were all collected before.
"""

import numpy as np

from ..errors import GraphError
from ..kernels import spill
from .spilling import run

BUCKETS = 2**16  # whose bounds are searched at once


def check_found(sound):
    """Raise GraphError where the second pass over a file differs from the first."""
    if not sound:
        raise GraphError("the file was changed while it was read; try again")


class IntegerIds:
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
            self.shift = np.uint64(shift)
            above = self.names - self.low
            self.starts = np.empty((span >> shift) + 2, np.int32)
            for start in range(0, self.starts.size, BUCKETS):
                stop = min(start + BUCKETS, self.starts.size)
                buckets = np.arange(start, stop, dtype=np.uint64) << self.shift
                self.starts[start:stop] = np.searchsorted(above, buckets)
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
