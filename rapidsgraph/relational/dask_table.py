"""Tables whose partitions Dask computes, keeps, spills and recovers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Self

from ..frames import Frame
from .table import Table, concatenate, distinct, join_frames, number_rows, sort_rows

MAX_TASK_SHUFFLE = 32  # partitions up to which a task per pair is faster than Dask's own shuffle
SAMPLE_ROWS = 256  # per partition, from which a sort takes the bounds of its ranges


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
            splits = [split(each, assign, options, self.num_partitions) for each in self.partitions]
            join = delayed(concatenate, pure=False)
            return type(self)([join(*(each[number] for each in splits)) for number in numbers])
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
        ranges = table._shuffle(_find_range, bounds=bounds, by=by).map(sort_rows, by=by).persist()
        counts = compute(*map(delayed(len), ranges.partitions))
        starts = itertools.accumulate(counts, initial=0)
        number = delayed(number_rows, pure=False)
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
        return self.map(join_frames, answers.map(_drop_requester), on=[*on], how="inner")

    def persist(self) -> Self:
        """Start computing the partitions, and drop their task graph; see `Table.persist`."""
        from dask import persist

        return type(self)(persist(*self.partitions))

    def collect(self) -> Frame:
        """Compute and concatenate the partitions."""
        from dask import compute

        return concatenate(*compute(*self.partitions))

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
    splits = group_split_dispatch(frame, numbers, num_partitions, ignore_index=True)
    return [splits[number] for number in range(num_partitions)]


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
    return sort_rows(frame[by], by).iloc[:: max(len(frame) // SAMPLE_ROWS, 1)]


def _choose_bounds(sample: Frame, by: list[str], num_ranges: int) -> Frame:
    """Return the first keys of all ranges but the first, from a sample of the keys."""
    rows = [len(sample) * number // num_ranges for number in range(1, num_ranges)]
    return distinct(sort_rows(sample, by).iloc[rows if len(sample) else []], by)


def _find_range(frame: Frame, bounds: Frame, by: list[str]) -> Any:
    """Return the number of bounds up to each key, for names of any type."""
    frame = frame.reset_index(drop=True)
    rows = frame[by].assign(is_bound=0, row=frame.index.values)
    merged = sort_rows(concatenate(bounds.assign(is_bound=1, row=-1), rows), [*by, "row"])
    merged["range"] = merged["is_bound"].cumsum()
    return sort_rows(merged[merged["row"] >= 0], ["row"])["range"].values


def _describe_index(frame: Frame) -> tuple[int, Frame]:
    """Return the number of rows, and a frame without any."""
    return len(frame), frame.iloc[:0]
