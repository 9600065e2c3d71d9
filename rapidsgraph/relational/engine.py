"""The frame operations of relational algorithms, on eager frames and on Dask frames.

An algorithm is written once, as joins and groups. On a Dask frame both work partition by
partition: `partition` sends the rows of a key to one partition, and the operands of `join` and
`difference` must be partitioned by the columns they are joined on. `aggregate`, `smallest` and
`distinct` return frames that are partitioned by their key.

Operations on single rows (``assign``, filters, ``rename``) are methods of both kinds of frame.
"""

from __future__ import annotations

import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..frames import Frame, library_name

MAX_TASK_SHUFFLE = 32  # partitions up to which tasks shuffle faster than Dask's default
SAMPLE_ROWS = 256  # per partition, from which a sort takes the bounds of its ranges


class Engine(ABC):
    """Operations on frames; a frame of `EagerEngine` is a single partition.

    Attributes
    ----------
    num_partitions : int
    """

    num_partitions: int

    @abstractmethod
    def map(self, function: Callable[..., Frame], *frames: Frame, **options: Any) -> Frame:
        """Return ``function(*frames, **options)`` of each partition of the frames."""

    @abstractmethod
    def partition(self, frame: Frame, by: Sequence[str]) -> Frame:
        """Return a frame with all rows of a key in one partition, the same in every frame."""

    @abstractmethod
    def enumerate(self, frame: Frame, by: Sequence[str], column: str) -> Frame:
        """Return a frame sorted by columns, with the position of each row in a new column."""

    @abstractmethod
    def collect(self, frame: Frame) -> Frame:
        """Return a frame of few rows as an eager frame."""

    @abstractmethod
    def persist(self, frame: Frame) -> Frame:
        """Compute a frame that later steps use more than once, and forget its task graph."""

    def join(self, left: Frame, right: Frame, on: Sequence[str], how: str = "inner") -> Frame:
        """Return the join of two frames on columns that both have and are partitioned by."""
        return self.map(_join, left, right, on=[*on], how=how)

    def difference(self, left: Frame, right: Frame, on: Sequence[str]) -> Frame:
        """Return the rows of `left` whose key is not in `right`, which has a key at most once."""
        return self.map(_difference, left, right, on=[*on])

    def union(self, *frames: Frame) -> Frame:
        """Return the rows of frames that have the same columns and the same partitioning."""
        return self.map(_union, *frames)

    def aggregate(self, frame: Frame, by: Sequence[str], how: Mapping[str, str]) -> Frame:
        """Return a row per key with the "sum", "min" or "max" of each column in `how`."""
        return self._reduce(_aggregate, frame, by=[*by], how=dict(how))

    def smallest(self, frame: Frame, by: Sequence[str], order: Sequence[str]) -> Frame:
        """Return the first row of each key in the order of other columns."""
        return self._reduce(_smallest, frame, by=[*by], order=[*order])

    def distinct(self, frame: Frame, by: Sequence[str]) -> Frame:
        """Return the distinct keys."""
        return self._reduce(distinct, frame, by=[*by])

    def _reduce(
        self, function: Callable[..., Frame], frame: Frame, by: list[str], **options: Any
    ) -> Frame:
        """Apply a reduction by key to each partition, and to the results for each key."""
        frame = self.map(function, frame, by=by, **options)
        if self.num_partitions == 1:
            return frame
        return self.map(function, self.partition(frame, by), by=by, **options)

    def totals(self, frame: Frame, columns: Sequence[str]) -> list[Any]:
        """Return the sum of each column."""
        sums = self.collect(self.map(_sums, frame, columns=[*columns]))
        return [sums[column].sum().item() for column in columns]

    def count(self, frame: Frame) -> int:
        """Return the number of rows."""
        return len(frame)


class EagerEngine(Engine):
    """Operations on pandas or cuDF frames."""

    num_partitions = 1

    def map(self, function: Callable[..., Frame], *frames: Frame, **options: Any) -> Frame:
        """Call the function; see `Engine.map`."""
        return function(*frames, **options)

    def partition(self, frame: Frame, by: Sequence[str]) -> Frame:
        """Return the frame, which is one partition."""
        return frame

    def enumerate(self, frame: Frame, by: Sequence[str], column: str) -> Frame:
        """Sort the frame and number its rows; see `Engine.enumerate`."""
        return _number_rows(_sort(frame, by=[*by]), start=0, column=column)

    def collect(self, frame: Frame) -> Frame:
        """Return the frame."""
        return frame

    def persist(self, frame: Frame) -> Frame:
        """Return the frame."""
        return frame


class DaskEngine(Engine):
    """Operations on Dask frames, whose rows are partitioned by the hash of their key.

    Dask's own ``merge`` would shuffle both operands in every iteration, because it does not know
    how persisted frames are partitioned.
    """

    def __init__(self, num_partitions: int) -> None:
        self.num_partitions = num_partitions

    def map(self, function: Callable[..., Frame], *frames: Frame, **options: Any) -> Frame:
        """Call the function on each partition; see `Engine.map`."""
        meta = function(*(frame._meta for frame in frames), **options)
        first, *others = frames
        return first.map_partitions(
            function, *others, meta=meta, enforce_metadata=False, clear_divisions=True,
            align_dataframes=False, **options,
        )  # fmt: skip

    def partition(self, frame: Frame, by: Sequence[str]) -> Frame:
        """Shuffle the rows by the hash of their key; see `Engine.partition`."""
        return frame.shuffle(
            [*by], npartitions=self.num_partitions, ignore_index=True,
            shuffle_method=self._shuffle_method,
        )  # fmt: skip

    @property
    def _shuffle_method(self) -> str | None:
        return "tasks" if self.num_partitions <= MAX_TASK_SHUFFLE else None

    def enumerate(self, frame: Frame, by: Sequence[str], column: str) -> Frame:
        """Sort by ranges of the key and number the rows; see `Engine.enumerate`.

        Dask's ``sort_values`` takes ranges of the first column only, and interpolates them.
        """
        from dask import compute, delayed
        from dask.dataframe import from_delayed

        by, frame = [*by], self.persist(frame)
        bounds = _split_sample(
            self.collect(self.map(_sample, frame, by=by)), by, self.num_partitions
        )
        keyed = self.map(_assign_range, frame, bounds=bounds, by=by, column=column)
        ranges = keyed.set_index(
            column, divisions=range(self.num_partitions + 1), shuffle_method=self._shuffle_method
        )
        ranges = self.persist(self.map(_sort, ranges, by=by))
        partitions = ranges.to_delayed()
        counts = compute(*(delayed(len)(each) for each in partitions))
        starts, nonempty, divisions = divide_rows(counts)
        number_rows = delayed(_number_rows)
        return from_delayed(
            [number_rows(partitions[each], starts[each], column) for each in nonempty],
            meta=_number_rows(ranges._meta, 0, column), divisions=divisions, verify_meta=False,
        )  # fmt: skip

    def collect(self, frame: Frame) -> Frame:
        """Compute the frame."""
        return frame.compute()

    def persist(self, frame: Frame) -> Frame:
        """Start to compute the partitions, where Dask keeps, spills and recovers them."""
        return frame.persist()


def divide_rows(counts: Sequence[int]) -> tuple[list[int], list[int], tuple[int | None, ...]]:
    """Return how a Dask frame with a row number as index is divided into partitions.

    Parameters
    ----------
    counts : sequence of int
        Rows of each partition.

    Returns
    -------
    starts : list of int
        The first row number of each partition.
    nonempty : list of int
        The partitions with rows; the first one if none has any.
    divisions : tuple
        Divisions of a frame of the nonempty partitions.
    """
    starts = [0, *itertools.accumulate(counts)]
    nonempty = [number for number, count in enumerate(counts) if count] or [0]
    if not starts[-1]:
        return starts, nonempty, (None, None)
    return starts, nonempty, (*(starts[number] for number in nonempty), starts[-1] - 1)


# Operations on a partition


def _join(left: Frame, right: Frame, on: list[str], how: str) -> Frame:
    return left.merge(right, on=on, how=how)


def _difference(left: Frame, right: Frame, on: list[str]) -> Frame:
    joined = left.merge(right[on].assign(is_excluded=True), on=on, how="left")
    return joined[joined["is_excluded"].isna()][list(left.columns)]


def _union(*frames: Frame) -> Frame:
    return _library(frames[0]).concat(frames, ignore_index=True)


def _aggregate(frame: Frame, by: list[str], how: dict[str, str]) -> Frame:
    return frame.groupby(by, as_index=False, sort=False).agg(how)


def _smallest(frame: Frame, by: list[str], order: list[str]) -> Frame:
    return _sort(frame, by=order).drop_duplicates(by, ignore_index=True)


def distinct(frame: Frame, by: list[str]) -> Frame:
    """Return the distinct keys of a partition."""
    return frame[by].drop_duplicates(ignore_index=True)


def _sort(frame: Frame, by: list[str]) -> Frame:
    return frame.sort_values(by, ignore_index=True)


def _sums(frame: Frame, columns: list[str]) -> Frame:
    return _library(frame).DataFrame({column: [frame[column].sum()] for column in columns})


def _number_rows(frame: Frame, start: int, column: str) -> Frame:
    frame = frame.copy(deep=False)
    frame.index = _library(frame).RangeIndex(start, start + len(frame))
    frame[column] = frame.index
    return frame


def _library(frame: Frame) -> Any:
    return sys.modules[library_name(frame)]


def _sample(frame: Frame, by: list[str]) -> Frame:
    """Return up to twice SAMPLE_ROWS keys at equal distances in the order of keys."""
    return _sort(frame[by], by).iloc[:: max(len(frame) // SAMPLE_ROWS, 1)]


def _split_sample(sample: Frame, by: list[str], num_ranges: int) -> Frame:
    """Return the first keys of all ranges but the first, from a sample of the keys."""
    rows = [len(sample) * number // num_ranges for number in range(1, num_ranges)]
    return distinct(_sort(sample, by).iloc[rows if len(sample) else []], by)


def _assign_range(frame: Frame, bounds: Frame, by: list[str], column: str) -> Frame:
    """Return a frame with the number of bounds up to each key, whatever the type of names."""
    frame = frame.reset_index(drop=True)
    rows = frame[by].assign(is_bound=0, row=frame.index)
    bounds = bounds.assign(is_bound=1, row=-1)  # before equal keys
    merged = _sort(_union(bounds, rows), [*by, "row"])
    merged[column] = merged["is_bound"].cumsum()
    ranges = _sort(merged[merged["row"] >= 0], ["row"])
    return frame.assign(**{column: ranges[column]})
