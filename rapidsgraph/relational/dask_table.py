"""Tables whose partitions Dask computes, keeps, spills and recovers."""

from __future__ import annotations

import functools
import itertools
import operator
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from ..frames import Frame, divide_rows
from .table import (
    Table,
    concatenate,
    distinct,
    join_frames,
    number_rows,
    sort_rows,
    sum_columns,
)

MAX_TASK_SHUFFLE = 32  # partitions up to which a task per pair is faster than Dask's own shuffle
SAMPLE_ROWS = 256  # per partition, from which a sort takes the bounds of its ranges


class DaskTable(Table):
    """Rows in partitions that Dask computes, keeps, spills and recovers.

    The partitions are Dask's `Delayed` objects. Dask frames would optimize the query anew in each
    iteration, which takes longer than the iteration of a small graph, and ``merge`` would shuffle
    both sides, because they do not know how persisted frames are partitioned.

    `map` is lazy: a chain of calls becomes one task per partition, since a task costs more than
    most of the calls. A table that several tables are made from is computed once for each of
    them, unless it is persisted.

    Parameters
    ----------
    partitions : sequence of Delayed or object
        Without `function`.
    function, inputs : callable, sequence of DaskTable
        The partitions are ``function(*frames)``, of the partitions of `inputs`.
    """

    def __init__(
        self,
        partitions: Sequence[Any] | None = None,
        function: Callable[..., Any] | None = None,
        inputs: Sequence[DaskTable] = (),
    ) -> None:
        self._partitions = None if partitions is None else list(partitions)
        self._function, self._inputs = function, inputs

    @property
    def num_partitions(self) -> int:
        """Number of partitions."""
        return len(self.partitions) if self._function is None else self._inputs[0].num_partitions

    @property
    def partitions(self) -> list[Any]:
        """The partitions, each of which is one task."""
        if self._partitions is None:
            pipeline, tables = _compile(self)
            frames = zip(*(table.partitions for table in tables), strict=True)
            self._partitions = _make_tasks(pipeline, frames)
            self._function, self._inputs = None, ()
        return self._partitions

    def map(self, function: Callable[..., Frame], *others: Self, **options: Any) -> Self:
        """Call a function with each partition; see `Table.map`."""
        return type(self)(None, functools.partial(function, **options), [self, *others])

    def distribute(self, frame: Frame, by: Sequence[str]) -> Self:
        """Send the rows of a frame to the partitions of their keys; see `Table.distribute`."""
        from dask import delayed

        bounds = [
            len(frame) * number // self.num_partitions for number in range(self.num_partitions)
        ]
        slices = itertools.pairwise([*bounds, len(frame)])
        rows = [delayed(frame[start:stop], pure=False) for start, stop in slices]
        return type(self)(rows).partition(by)

    def partition(self, by: Sequence[str]) -> Self:
        """Shuffle the rows by the hash of their key; see `Table.partition`."""
        return self._shuffle(_hash, by=[*by], num_partitions=self.num_partitions)

    def _shuffle(self, assign: Callable[..., Any], *others: Self, **options: Any) -> Self:
        """Send rows to the partitions whose numbers ``assign(frame, *others, **options)`` has."""
        from dask import config

        if self.num_partitions == 1:
            return self
        numbers = range(self.num_partitions)
        assign = functools.partial(assign, **options)
        if self.num_partitions <= MAX_TASK_SHUFFLE:
            splits = self.map(
                _split, *others, assign=assign, num_partitions=self.num_partitions
            ).partitions
            tables = [
                type(self)(_make_tasks(operator.getitem, zip(itertools.repeat(split), numbers)))
                for split in splits
            ]
            return tables[0].map(concatenate, *tables[1:])
        rows = self.map(_assign_numbers, *others, assign=assign)
        with config.set({"dataframe.convert-string": False}):  # keep the types of names
            frame = rows.to_frame()
            frame = frame.set_index("partition", divisions=[*numbers, len(numbers)])
            return type(self)(frame.to_delayed())

    def enumerate(self, by: Sequence[str], column: str) -> Self:
        """Sort the rows by ranges of the key, and number them; see `Table.enumerate`."""
        from dask import compute, delayed

        by, table = [*by], self.persist()
        bounds = _choose_bounds(table.map(_sample, by=by).collect(), by, self.num_partitions)
        ranges = table._shuffle(_find_range, self._broadcast(bounds), by=by)
        ranges = ranges.map(sort_rows, by=by).persist()
        counts = compute(*map(delayed(len), ranges.partitions))
        starts = itertools.accumulate(counts[:-1], initial=0)
        return ranges.map(number_rows, type(self)([*starts]), column=column)

    def replicate(self) -> Self:
        """Concatenate all partitions, in one task; see `Table.replicate`."""
        return type(self)(_make_tasks(concatenate, [(*self.partitions,)]) * self.num_partitions)

    def gather(self) -> Self:
        """Concatenate all partitions in the first one; see `Table.gather`."""
        partitions = self.partitions
        rows = _make_tasks(concatenate, [(*partitions,)])
        return type(self)(rows + _make_tasks(_drop_rows, zip(partitions[1:])))

    def _broadcast(self, frame: Frame) -> Self:
        """Return a table whose partitions are all the same frame, which is sent once."""
        from dask import delayed

        return type(self)([delayed(frame, pure=False)] * self.num_partitions)

    def lookup(self, other: Self, on: Sequence[str]) -> Self:
        """Send the keys to the other table, and its rows back; see `Table.lookup`."""
        table = type(self)(self.partitions)
        requests = table.map(_request, type(self)(range(self.num_partitions)), on=[*on])
        answers = requests.partition(on).join(other, on)._shuffle(_get_requester)
        return table.map(join_frames, answers.map(_drop_requester), on=[*on], how="inner")

    def persist(self) -> Self:
        """Start computing the partitions, and drop their task graph; see `Table.persist`."""
        from dask import persist

        return type(self)(persist(*self.partitions))

    def persist_with_totals(self, *columns: str) -> tuple[Self, list[Any]]:
        """Compute the partitions and the sums together; see `Table.persist_with_totals`."""
        from dask import persist

        tasks = self.partitions
        results = persist(*tasks, *self.map(sum_columns, columns=columns).partitions)
        return type(self)(results[: len(tasks)]), _add_totals(results[len(tasks) :])

    def totals(self, *columns: str) -> list[Any]:
        """Return the number of rows and the sums; see `Table.totals`."""
        return _add_totals(self.map(sum_columns, columns=columns).partitions)

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
        nonempty, divisions = divide_rows(counts)
        return from_delayed(
            [table.partitions[number] for number in nonempty], meta=info[nonempty[0]][1],
            divisions=divisions, verify_meta=False,
        )  # fmt: skip


def _add_totals(tasks: Sequence[Any]) -> list[Any]:
    """Return the sums over all partitions of the results of `sum_columns`."""
    from dask import compute

    return [*map(sum, zip(*compute(*tasks), strict=True))]


def _make_tasks(function: Callable[..., Any], arguments: Iterable[tuple]) -> list[Any]:
    """Return a task for each tuple of arguments. Dask takes longer to make up the names."""
    from dask import delayed

    name, call = f"{function.__name__}-{uuid.uuid4().hex}", delayed(function, pure=False)
    return [
        call(*values, dask_key_name=f"{name}-{number}") for number, values in enumerate(arguments)
    ]


class _Pipeline:
    """The calls that make a partition of a table, as one function of the partitions it is made of.

    Attributes
    ----------
    steps : list of tuple
        For each call its function, the slots of its arguments, and the slots that no later call
        reads. The result of a call has the next slot after those of the arguments.
    """

    def __init__(self, steps: list[tuple[Callable[..., Any], list[int], list[int]]]) -> None:
        self.steps = steps
        function = steps[-1][0]
        self.__name__ = getattr(function, "func", function).__name__.strip("_")

    def __call__(self, *frames: Any) -> Any:
        """Return the partition."""
        values = list(frames)
        for function, slots, unused in self.steps:
            values.append(function(*(values[slot] for slot in slots)))
            for slot in unused:
                values[slot] = None
        return values[-1]


def _compile(table: DaskTable) -> tuple[_Pipeline, list[DaskTable]]:
    """Return the pipeline of a table without partitions, and the tables of its arguments."""
    order: dict[int, DaskTable] = {}

    def visit(node: DaskTable) -> None:
        if id(node) not in order:
            for argument in node._inputs:
                visit(argument)
            order[id(node)] = node

    visit(table)
    leaves = [node for node in order.values() if node._function is None]
    calls = [node for node in order.values() if node._function is not None]
    slots = {id(node): slot for slot, node in enumerate([*leaves, *calls])}
    last_use = {id(argument): node for node in calls for argument in node._inputs}
    steps: Any = [
        (
            node._function,
            [slots[id(argument)] for argument in node._inputs],
            [slots[id(argument)] for argument in node._inputs if last_use[id(argument)] is node],
        )
        for node in calls
    ]
    return _Pipeline(steps), leaves


# The partitions of rows


def _hash(frame: Frame, by: list[str], num_partitions: int) -> Any:
    from dask.dataframe.dispatch import hash_object_dispatch

    return (hash_object_dispatch(frame[by], index=False) % num_partitions).values


def _split(
    frame: Frame, *others: Frame, assign: Callable[..., Any], num_partitions: int
) -> list[Frame]:
    """Return the rows for each partition."""
    from dask.dataframe.dispatch import group_split_dispatch

    numbers = assign(frame, *others).astype("int32")
    splits = group_split_dispatch(frame, numbers, num_partitions, ignore_index=True)
    return [splits[number] for number in range(num_partitions)]


def _assign_numbers(frame: Frame, *others: Frame, assign: Callable[..., Any]) -> Frame:
    frame = frame.reset_index(drop=True)  # of an earlier shuffle, which Dask would not repeat
    return frame.assign(partition=assign(frame, *others).astype("int32"))


def _drop_rows(frame: Frame) -> Frame:
    return frame[:0]


def _request(frame: Frame, number: int, on: list[str]) -> Frame:
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
    keys = sort_rows(concatenate(bounds.assign(is_bound=1, row=-1), rows), [*by, "row"])
    keys["range"] = keys["is_bound"].cumsum()
    return sort_rows(keys[keys["row"] >= 0], ["row"])["range"].values


def _describe_index(frame: Frame) -> tuple[int, Frame]:
    """Return the number of rows, and a frame without any."""
    return len(frame), frame.iloc[:0]
