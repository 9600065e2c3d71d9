"""Tables: the operations of relational algorithms, on one frame or on partitions of one.

An algorithm is written once, with joins and groups. In a `DaskTable` both work partition by
partition: `partition` sends the rows of a key to one partition, and the operands of `join` and
`difference` must be partitioned by the columns they are joined on. `aggregate`, `smallest` and
`distinct` return tables that are partitioned by their key. No process ever has all rows.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Self

import numpy as np

from ..device import Array
from ..frames import Frame, library_name


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
    def persist_with_totals(self, *columns: str) -> tuple[Self, list[Any]]:
        """Compute the rows now; also return their `totals`."""

    @abstractmethod
    def replicate(self) -> Self:
        """Send the rows, which must be few, to every partition."""

    @abstractmethod
    def gather(self) -> Self:
        """Send the rows, which must be few, to one partition; the others have none."""

    @abstractmethod
    def distribute(self, frame: Frame, by: Sequence[str]) -> Self:
        """Return a table of a frame's rows, partitioned by a key into as many partitions."""

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
        return self.map(join_frames, other, on=[*on], how=how)

    def difference(self, other: Self, on: Sequence[str]) -> Self:
        """Return the rows whose key is not in another table, which has a key at most once."""
        return self.map(_difference, other, on=[*on])

    def union(self, *others: Self) -> Self:
        """Return the rows of tables with the same columns, duplicates included."""
        return self.map(concatenate, *others)

    # Groups: the result is partitioned by the key

    def aggregate(self, by: Sequence[str], **how: str) -> Self:
        """Return a row per key, with the "sum", "min" or "max" of some columns."""
        return self._reduce(aggregate, by=[*by], how=how)

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

    @abstractmethod
    def totals(self, *columns: str) -> list[Any]:
        """Return the number of rows and the sum of each column."""

    def count(self) -> int:
        """Return the number of rows."""
        return self.totals()[0]


class EagerTable(Table):
    """The rows of one pandas or cuDF frame."""

    num_partitions = 1

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def map(self, function: Callable[..., Frame], *others: Self, **options: Any) -> Self:
        """Call a function; see `Table.map`."""
        return type(self)(function(self.frame, *(table.frame for table in others), **options))

    def partition(self, by: Sequence[str]) -> Self:
        """Return the table: all rows are in one partition."""
        return self

    def enumerate(self, by: Sequence[str], column: str) -> Self:
        """Sort and number the rows; see `Table.enumerate`."""
        return type(self)(number_rows(sort_rows(self.frame, [*by]), 0, column))

    def lookup(self, other: Self, on: Sequence[str]) -> Self:
        """Join the frames; see `Table.lookup`."""
        return self.join(other, on)

    def persist(self) -> Self:
        """Return the table, whose rows are in memory."""
        return self

    def persist_with_totals(self, *columns: str) -> tuple[Self, list[Any]]:
        """Return the table and its totals; see `Table.persist_with_totals`."""
        return self, self.totals(*columns)

    def totals(self, *columns: str) -> list[Any]:
        """Return the number of rows and the sums; see `Table.totals`."""
        return sum_columns(self.frame, columns)

    def replicate(self) -> Self:
        """Return the table, which has one partition."""
        return self

    def gather(self) -> Self:
        """Return the table, which has one partition."""
        return self

    def distribute(self, frame: Frame, by: Sequence[str]) -> Self:
        """Return the table of a frame, which is the only partition."""
        return type(self)(frame)

    def collect(self) -> Frame:
        """Return the frame."""
        return self.frame

    def to_frame(self) -> Frame:
        """Return the frame."""
        return self.frame


# Functions of the frames of a partition


def _select(frame: Frame, columns: list[str]) -> Frame:
    return frame[columns]


def _rename(frame: Frame, names: dict[str, str]) -> Frame:
    return frame.rename(columns=names)


def _assign(frame: Frame, columns: dict[str, Any]) -> Frame:
    return frame.assign(**columns)


def _filter(frame: Frame, condition: Callable[[Frame], Any]) -> Frame:
    return frame[condition(frame)]


def join_frames(left: Frame, right: Frame, on: list[str], how: str) -> Frame:
    """Return the join of two frames on columns that both have."""
    return left.merge(right, on=on, how=how)


def _difference(left: Frame, right: Frame, on: list[str]) -> Frame:
    rows = left.merge(right[on].assign(is_excluded=True), on=on, how="left")
    return rows[rows["is_excluded"].isna()][list(left.columns)]


def concatenate(*frames: Frame) -> Frame:
    """Return the rows of frames with the same columns."""
    return _library(frames[0]).concat(list(frames), ignore_index=True)


def aggregate(frame: Frame, by: list[str], how: dict[str, str]) -> Frame:
    """Return a row per key of a partition, with the sum, minimum or maximum of columns."""
    with np.errstate(over="ignore"):  # weights may sum to infinity, which is an error elsewhere
        if len(how) > 1:
            return frame.groupby(by, as_index=False, sort=False).agg(how)
        [(column, function)] = how.items()  # `agg` takes twice as long for few rows
        return getattr(frame.groupby(by, sort=False)[column], function)().reset_index()


def _smallest(frame: Frame, by: list[str], order: list[str]) -> Frame:
    return sort_rows(frame, order).drop_duplicates(by, ignore_index=True)


def distinct(frame: Frame, by: list[str]) -> Frame:
    """Return the distinct keys of a partition."""
    return frame[by].drop_duplicates(ignore_index=True)


def get_first(frame: Frame, by: list[str]) -> Frame:
    """Return the first row of a partition in the order of some columns."""
    return sort_rows(frame, by)[:1]


def sort_rows(frame: Frame, by: list[str]) -> Frame:
    """Return a frame sorted by columns."""
    return frame.sort_values(by, ignore_index=True)


def sum_columns(frame: Frame, columns: Sequence[str]) -> list[Any]:
    """Return the number of rows and the sum of each column."""
    with np.errstate(over="ignore"):
        return [len(frame), *(frame[column].sum().item() for column in columns)]


def number_rows(frame: Frame, start: int, column: str) -> Frame:
    """Return a frame with row numbers from `start` on as its index and in a column."""
    index = _library(frame).RangeIndex(start, start + len(frame))
    frame = frame.assign(**{column: index.values})
    frame.index = index  # cuDF's set_index would make it an index of integers
    return frame


def index_rows(frame: Frame, by: list[str]) -> Frame:
    """Return a frame with its key, which is unique, as index.

    The rows are sorted, so that a partition that Dask computes again has them in the same order.
    """
    return sort_rows(frame, by).set_index(by, drop=False)  # the index may have other types


def drop_index(frame: Frame, columns: list[str]) -> Frame:
    """Return some columns of a frame of `index_rows`."""
    return frame[columns].reset_index(drop=True)


def find_rows(frame: Frame, keys: Frame) -> Array:
    """Return the row of each key in a frame of `index_rows`, or -1.

    pandas builds the hash table of an index once, where ``merge`` builds one in every call.
    """
    return frame.index.get_indexer(keys.set_index(list(keys)).index)


def _library(frame: Frame) -> Any:
    return sys.modules[library_name(frame)]
