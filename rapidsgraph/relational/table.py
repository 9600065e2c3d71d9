"""Tables: the operations of relational algorithms, on one frame or on partitions of one.

An algorithm is written once, with joins and groups. In a `DaskTable` both work partition by
partition: `partition` sends the rows of a key to one partition, and the operands of `join` and
`difference` must be partitioned by the columns they are joined on. `aggregate`, `smallest` and
`distinct` return tables that are partitioned by their key. No process ever has all rows.
"""

from __future__ import annotations

import functools
import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Self

import numpy as np

from ..frames import Frame, library_name

MAX_TASK_SHUFFLE = 32  # partitions up to which a task per pair is faster than Dask's own shuffle
SAMPLE_ROWS = 256  # per partition, from which a sort takes the bounds of its ranges


class Table(ABC):
    """Rows in one or more partitions, each a pandas or cuDF frame."""

    @property
    @abstractmethod
    def num_partitions(self) -> int:
        """Number of partitions."""

    @abstractmethod
    def map(self, function: Callable[..., Frame], *others: Self, **options: Any) -> Self:
        """Return ``function(frame, *others, **options)`` of the frames of each partition."""

    @abstractmethod
    def partition(self, by: Sequence[str]) -> Self:
        """Send the rows of a key to one partition, which is the same in every table."""

    @abstractmethod
    def enumerate(self, by: Sequence[str], column: str) -> Self:
        """Sort the rows by a key, and add a column with their positions."""

    @abstractmethod
    def persist(self) -> Self:
        """Compute the rows now, because later steps use them more than once."""

    @abstractmethod
    def collect(self) -> Frame:
        """Return the rows, which must be few, as one frame."""

    @abstractmethod
    def to_frame(self) -> Frame:
        """Return a frame of the caller's kind: pandas, cuDF or Dask."""

    @abstractmethod
    def lookup(self, other: Self, on: Sequence[str]) -> Self:
        """Join with a table that is partitioned by a key; this one need not be.

        Where a key has very many rows, such as the root of a large component, `partition` would
        send them all to one partition. This sends the distinct keys of each partition only.
        """

    # Operations on single rows

    def select(self, columns: Sequence[str]) -> Self:
        """Return some of the columns."""
        return self.map(_select, columns=[*columns])

    def rename(self, old: Sequence[str], new: Sequence[str]) -> Self:
        """Rename columns."""
        return self.map(_rename, names=dict(zip(old, new, strict=True)))

    def assign(self, **columns: Any) -> Self:
        """Add columns: scalars, or functions of the frame, as in ``DataFrame.assign``."""
        return self.map(_assign, columns=columns)

    def filter(self, condition: Callable[[Frame], Any]) -> Self:
        """Return the rows that satisfy a condition, a function of the frame."""
        return self.map(_filter, condition=condition)

    def copy_columns(self, old: Sequence[str], new: Sequence[str]) -> Self:
        """Add copies of columns under other names."""
        return self.assign(**dict(zip(new, map(itemgetter, old), strict=True)))

    # Joins: both tables are partitioned by the key

    def join(self, other: Self, on: Sequence[str], how: str = "inner") -> Self:
        """Join with another table on columns that both have."""
        return self.map(_join, other, on=[*on], how=how)

    def difference(self, other: Self, on: Sequence[str]) -> Self:
        """Return the rows whose key is not in another table, which has a key at most once."""
        return self.map(_difference, other, on=[*on])

    def union(self, *others: Self) -> Self:
        """Return the rows of tables with the same columns, duplicates included."""
        return self.map(_union, *others)

    # Groups: the result is partitioned by the key

    def aggregate(self, by: Sequence[str], **how: str) -> Self:
        """Return a row per key, with the "sum", "min" or "max" of some columns."""
        return self._reduce(_aggregate, by=[*by], how=how)

    def smallest(self, by: Sequence[str], order: Sequence[str]) -> Self:
        """Return the first row per key in the order of other columns."""
        return self._reduce(_smallest, by=[*by], order=[*order])

    def distinct(self, by: Sequence[str], partition_by: Sequence[str] | None = None) -> Self:
        """Return the distinct keys, partitioned by some of their columns or by all."""
        return self._reduce(distinct, by=[*by], partition_by=partition_by)

    def _reduce(
        self,
        function: Callable[..., Frame],
        by: list[str],
        partition_by: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Reduce each partition by key, and then the results of all partitions."""
        partial = self.map(function, by=by, **options)
        if self.num_partitions == 1:
            return partial
        return partial.partition(partition_by or by).map(function, by=by, **options)

    # Numbers

    def totals(self, *columns: str) -> list[Any]:
        """Return the sum of each column."""
        sums = self.map(_sums, columns=columns).collect()
        return [sums[column].sum().item() for column in columns]

    def count(self) -> int:
        """Return the number of rows."""
        return self.map(_count).collect()["count"].sum().item()


class EagerTable(Table):
    """The rows of one pandas or cuDF frame."""

    num_partitions = 1

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def map(self, function: Callable[..., Frame], *others: Self, **options: Any) -> Self:
        """Call a function; see `Table.map`."""
        return type(self)(function(self.frame, *(each.frame for each in others), **options))

    def partition(self, by: Sequence[str]) -> Self:
        """Return the table: all rows are in one partition."""
        return self

    def enumerate(self, by: Sequence[str], column: str) -> Self:
        """Sort and number the rows; see `Table.enumerate`."""
        return type(self)(_number_rows(_sort(self.frame, [*by]), 0, column))

    def lookup(self, other: Self, on: Sequence[str]) -> Self:
        """Join the frames; see `Table.lookup`."""
        return self.join(other, on)

    def persist(self) -> Self:
        """Return the table, whose rows are there."""
        return self

    def collect(self) -> Frame:
        """Return the frame."""
        return self.frame

    def to_frame(self) -> Frame:
        """Return the frame."""
        return self.frame


class DaskTable(Table):
    """Rows in partitions that Dask computes, keeps, spills and recovers.

    The partitions are Dask's `Delayed` objects. Dask frames would optimize the query anew in each
    iteration, which takes longer than the iteration of a small graph, and ``merge`` would shuffle
    both sides, because they do not know how persisted frames are partitioned.

    Parameters
    ----------
    partitions : sequence of Delayed
    """

    def __init__(self, partitions: Sequence[Any]) -> None:
        self.partitions = list(partitions)

    @property
    def num_partitions(self) -> int:
        """Number of partitions."""
        return len(self.partitions)

    def map(self, function: Callable[..., Frame], *others: Self, **options: Any) -> Self:
        """Call a function with each partition; see `Table.map`."""
        from dask import delayed

        call = delayed(functools.partial(function, **options), pure=False)
        tables = zip(self.partitions, *(each.partitions for each in others), strict=True)
        return type(self)([call(*frames) for frames in tables])

    def partition(self, by: Sequence[str]) -> Self:
        """Shuffle the rows by the hash of their key; see `Table.partition`."""
        return self._shuffle(_hash, by=[*by], num_partitions=self.num_partitions)

    def _shuffle(self, assign: Callable[..., Any], **options: Any) -> Self:
        """Send each row to the partition whose number ``assign(frame, **options)`` has for it."""
        from dask import config, delayed

        if self.num_partitions == 1:
            return self
        numbers = range(self.num_partitions)
        if self.num_partitions <= MAX_TASK_SHUFFLE:
            split = delayed(_split, pure=False, nout=self.num_partitions)
            pieces = [split(each, assign, options, self.num_partitions) for each in self.partitions]
            join = delayed(_union, pure=False)
            return type(self)([join(*(each[number] for each in pieces)) for number in numbers])
        numbered = self.map(_assign_numbers, assign=assign, options=options)
        with config.set({"dataframe.convert-string": False}):  # keep the types of names
            frame = numbered.to_frame()
            frame = frame.set_index("partition", divisions=[*numbers, len(numbers)])
            return type(self)(frame.to_delayed())

    def enumerate(self, by: Sequence[str], column: str) -> Self:
        """Sort the rows by ranges of the key, and number them; see `Table.enumerate`."""
        from dask import compute, delayed

        by, table = [*by], self.persist()
        bounds = _choose_bounds(table.map(_sample, by=by).collect(), by, self.num_partitions)
        ranges = table._shuffle(_find_range, bounds=bounds, by=by).map(_sort, by=by).persist()
        counts = compute(*map(delayed(len), ranges.partitions))
        starts = itertools.accumulate(counts, initial=0)
        number = delayed(_number_rows, pure=False)
        return type(self)(
            [number(each, start, column) for each, start in zip(ranges.partitions, starts)]
        )

    def lookup(self, other: Self, on: Sequence[str]) -> Self:
        """Send the keys to the other table, and its rows back; see `Table.lookup`."""
        from dask import delayed

        request = delayed(_request, pure=False)
        keys = enumerate(self.partitions)
        requests = type(self)([request(frame, [*on], number) for number, frame in keys])
        answers = requests.partition(on).join(other, on)._shuffle(_get_requester)
        return self.map(_join, answers.map(_drop_requester), on=[*on], how="inner")

    def persist(self) -> Self:
        """Start to compute the partitions, and forget how; see `Table.persist`."""
        from dask import persist

        return type(self)(persist(*self.partitions))

    def collect(self) -> Frame:
        """Compute and concatenate the partitions."""
        from dask import compute

        return _union(*compute(*self.partitions))

    def to_frame(self) -> Frame:
        """Return a Dask frame of the partitions that have rows, with the divisions of its index."""
        from dask import compute, delayed
        from dask.dataframe import from_delayed

        table = self.persist()
        info = compute(*map(delayed(_describe_index), table.partitions))
        counts = [count for count, _ in info]
        _, nonempty, divisions = divide_rows(counts)
        return from_delayed(
            [table.partitions[number] for number in nonempty], meta=info[nonempty[0]][1],
            divisions=divisions, verify_meta=False,
        )  # fmt: skip


def divide_rows(counts: Sequence[int]) -> tuple[list[int], list[int], tuple[int | None, ...]]:
    """Return how a Dask frame with row numbers as index is divided into partitions.

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


# Functions of the frames of a partition


def _select(frame: Frame, columns: list[str]) -> Frame:
    return frame[columns]


def _rename(frame: Frame, names: dict[str, str]) -> Frame:
    return frame.rename(columns=names)


def _assign(frame: Frame, columns: dict[str, Any]) -> Frame:
    return frame.assign(**columns)


def _filter(frame: Frame, condition: Callable[[Frame], Any]) -> Frame:
    return frame[condition(frame)]


def _join(left: Frame, right: Frame, on: list[str], how: str) -> Frame:
    return left.merge(right, on=on, how=how)


def _difference(left: Frame, right: Frame, on: list[str]) -> Frame:
    joined = left.merge(right[on].assign(is_excluded=True), on=on, how="left")
    return joined[joined["is_excluded"].isna()][list(left.columns)]


def _union(*frames: Frame) -> Frame:
    return _library(frames[0]).concat(frames, ignore_index=True)


def _aggregate(frame: Frame, by: list[str], how: dict[str, str]) -> Frame:
    with np.errstate(over="ignore"):  # weights may sum to infinity, which is an error elsewhere
        return frame.groupby(by, as_index=False, sort=False).agg(how)


def _smallest(frame: Frame, by: list[str], order: list[str]) -> Frame:
    return _sort(frame, order).drop_duplicates(by, ignore_index=True)


def distinct(frame: Frame, by: list[str]) -> Frame:
    """Return the distinct keys of a partition."""
    return frame[by].drop_duplicates(ignore_index=True)


def get_first(frame: Frame, by: list[str]) -> Frame:
    """Return the first row of a partition in the order of some columns."""
    return _sort(frame, by)[:1]


def _sort(frame: Frame, by: list[str]) -> Frame:
    return frame.sort_values(by, ignore_index=True)


def _sums(frame: Frame, columns: Sequence[str]) -> Frame:
    with np.errstate(over="ignore"):
        return _library(frame).DataFrame({column: [frame[column].sum()] for column in columns})


def _count(frame: Frame) -> Frame:
    return _library(frame).DataFrame({"count": [len(frame)]})


def _number_rows(frame: Frame, start: int, column: str) -> Frame:
    index = _library(frame).RangeIndex(start, start + len(frame))
    return frame.set_index(index).assign(**{column: index.values})


def _library(frame: Frame) -> Any:
    return sys.modules[library_name(frame)]


# The partitions of rows


def _hash(frame: Frame, by: list[str], num_partitions: int) -> Any:
    from dask.dataframe.dispatch import hash_object_dispatch

    return (hash_object_dispatch(frame[by], index=False) % num_partitions).values


def _split(
    frame: Frame, assign: Callable[..., Any], options: dict[str, Any], num_partitions: int
) -> list[Frame]:
    """Return the rows for each partition."""
    from dask.dataframe.dispatch import group_split_dispatch

    numbers = assign(frame, **options).astype("int32")
    pieces = group_split_dispatch(frame, numbers, num_partitions, ignore_index=True)
    return [pieces[number] for number in range(num_partitions)]


def _assign_numbers(frame: Frame, assign: Callable[..., Any], options: dict[str, Any]) -> Frame:
    return frame.assign(partition=assign(frame, **options).astype("int32"))


def _request(frame: Frame, on: list[str], number: int) -> Frame:
    return distinct(frame, on).assign(requester=number)


def _get_requester(frame: Frame) -> Any:
    return frame["requester"].values


def _drop_requester(frame: Frame) -> Frame:
    return frame.drop(columns="requester")


def _sample(frame: Frame, by: list[str]) -> Frame:
    """Return keys at equal distances in their order, up to twice SAMPLE_ROWS."""
    return _sort(frame[by], by).iloc[:: max(len(frame) // SAMPLE_ROWS, 1)]


def _choose_bounds(sample: Frame, by: list[str], num_ranges: int) -> Frame:
    """Return the first keys of all ranges but the first, from a sample of the keys."""
    rows = [len(sample) * number // num_ranges for number in range(1, num_ranges)]
    return distinct(_sort(sample, by).iloc[rows if len(sample) else []], by)


def _find_range(frame: Frame, bounds: Frame, by: list[str]) -> Any:
    """Return the number of bounds up to each key, for names of any type."""
    frame = frame.reset_index(drop=True)
    rows = frame[by].assign(is_bound=0, row=frame.index)
    merged = _sort(_union(bounds.assign(is_bound=1, row=-1), rows), [*by, "row"])
    merged["range"] = merged["is_bound"].cumsum()
    return _sort(merged[merged["row"] >= 0], ["row"])["range"].values


def _describe_index(frame: Frame) -> tuple[int, Frame]:
    """Return the number of rows, and a frame without any."""
    return len(frame), frame.iloc[:0]
