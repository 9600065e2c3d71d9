"""Nullable columns of integers, such as the predecessors of a search, in each library's form."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import device
from ..device import Array

MASK_WORDS = 16  # a mask of cuDF has a multiple of 64 bytes


@dataclass(frozen=True)
class NullMask:
    """Which rows of a column on a GPU are not null.

    Attributes
    ----------
    words : uint32 array, shape (`mask_size(rows)`,)
        Bit i % 32 of word i / 32 is set if row i is valid.
    count_valid : callable
        Returns the number of valid rows, and may wait for the GPU.
    expected_valid : int, optional
        Probable result of `count_valid`.
    """

    words: Array
    count_valid: Callable[[], int]
    expected_valid: int | None = None


def mask_size(num_rows: int) -> int:
    """Return the number of words of a mask."""
    return -(-num_rows // (32 * MASK_WORDS)) * MASK_WORDS


@dataclass(frozen=True)
class NullableIntegers:
    """A nullable column, stored as integers of which one value means null.

    With `names`, the column holds the name at each position. The column is built when the library
    of the result is known: arrays have -1 for null, other libraries a mask.

    Attributes
    ----------
    integers : integer array, C-contiguous
    null : int
        The integer that means null.
    names : integer array, optional
        The names of which other integers are positions.
    dtype : numpy.dtype, optional
        Type of the column without names, by default that of the integers.
    mask : NullMask, optional
        The mask, if it is known.
    """

    integers: Array
    null: int
    names: Array | None = None
    dtype: Any = None
    mask: NullMask | None = None

    def __len__(self) -> int:
        return len(self.integers)

    def __getitem__(self, rows: slice) -> NullableIntegers:
        return replace(self, integers=self.integers[rows], mask=None)

    @property
    def column_type(self) -> Any:
        """The type of the column."""
        if self.names is not None:
            return self.names.dtype
        return np.dtype(self.integers.dtype if self.dtype is None else self.dtype)

    def fill(self, value: int) -> Array:
        """Return the column as an array with `value` for null.

        The array may be `integers` itself.
        """
        if self.names is None and self.integers.dtype == self.column_type and value == self.null:
            return self.integers
        if device.is_on_gpu(self.integers):
            return self._fill_nulls(value)
        values, valid = self.split()
        return np.where(valid, values, np.array(value).astype(values.dtype))

    def split(self) -> tuple[Array, Array]:
        """Return the column as an array on a CPU, and its valid rows; other rows are arbitrary."""
        valid = self.integers != self.null
        if self.names is None:
            is_cast = self.dtype is not None
            return self.integers.astype(self.dtype, copy=False) if is_cast else self.integers, valid
        return self.names[np.where(valid, self.integers, 0)], valid

    def values(self) -> Array:
        """Return the column on a GPU with arbitrary values in null rows."""
        is_shared = self.names is None and self.integers.dtype == self.column_type
        return self.integers if is_shared else self._fill_nulls(0)

    def write_mask(self, words: Array, count: Array) -> Array:
        """Write the words of a `NullMask`, and return what `values` does.

        `count`, an int64 array of shape (1,), grows by the number of valid rows.
        """
        return self._fill_nulls(0, words, count)

    def _fill_nulls(
        self, value: int, words: Array | None = None, count: Array | None = None
    ) -> Array:
        integers, xp, dtype = self.integers, device.array_module(self.integers), self.column_type
        with_words = words is not None
        # A mask leaves the values as they are.
        is_shared = with_words and self.names is None and dtype == integers.dtype
        column = device.no_values(dtype, xp) if is_shared else xp.empty(integers.size, dtype)
        device.launch(
            "arrays", "fill_nulls", size=integers.size, num_values=integers.size,
            integers=integers, null=self.null, with_names=self.names is not None,
            names=column if self.names is None else self.names, other=value,
            with_column=not is_shared, column=column, with_words=with_words,
            words=words if with_words else device.no_values(np.uint32, xp),
            count=count if with_words else device.no_values(np.int64, xp),
        )  # fmt: skip
        return integers if is_shared else column


def mask_columns(columns: Sequence[Any]) -> list[tuple[Array, NullMask]]:
    """Return the values and the null mask of each nullable column of a cuDF frame.

    Values in null rows are arbitrary. The first call of `count_valid` of a new mask counts for all
    of them, and waits for the GPU once; `bools_to_mask` of pylibcudf waits for each column.

    Parameters
    ----------
    columns : sequence of NullableIntegers or (array, array of bool)
    """
    without_mask = [
        number
        for number, column in enumerate(columns)
        if isinstance(column, tuple) or column.mask is None
    ]
    new = _create_masks([columns[number] for number in without_mask]) if without_mask else []
    masked = dict(zip(without_mask, new, strict=True))
    return [
        masked[number] if number in masked else (column.values(), column.mask)
        for number, column in enumerate(columns)
    ]


def _create_masks(columns: Sequence[Any]) -> list[tuple[Array, NullMask]]:
    """Return what `mask_columns` does for columns without masks, which share an allocation."""
    masks = device.allocate(
        device.import_cupy(), zeroed=("counts",), counts=(len(columns), np.int64),
        **{str(number): (mask_size(_count_rows(column)), np.uint32)
           for number, column in enumerate(columns)},
    )  # fmt: skip
    counts = masks.pop("counts")
    read_counts = functools.cache(counts.tolist)

    def count_valid(position: int) -> int:
        return read_counts()[position]

    result = []
    for position, (column, words) in enumerate(zip(columns, masks.values(), strict=True)):
        values = _write_mask(column, words, counts[position:])
        result.append((values, NullMask(words, functools.partial(count_valid, position))))
    return result


def _count_rows(column: Any) -> int:
    return len(column[0] if isinstance(column, tuple) else column)


def _write_mask(column: Any, words: Array, count: Array) -> Array:
    """Write the mask of a column, and return its values; see `NullableIntegers.write_mask`."""
    if isinstance(column, NullableIntegers):
        return column.write_mask(words, count)
    values, valid = column
    device.launch(
        "arrays", "pack_flags", size=len(values),
        num_flags=len(values), flags=valid, words=words, count=count,
    )  # fmt: skip
    return values
