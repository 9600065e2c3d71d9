"""Nullable columns of integers, such as the predecessors of a search, in each library's form."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import device
from ..device import Array


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
    """

    integers: Array
    null: int
    names: Array | None = None
    dtype: Any = None

    def __len__(self) -> int:
        return len(self.integers)

    def __getitem__(self, rows: slice) -> NullableIntegers:
        return replace(self, integers=self.integers[rows])

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
            return self.integers.astype(self.column_type, copy=False), valid
        return self.names[np.where(valid, self.integers, 0)], valid

    def write_mask(self, words: Array, count: Array) -> Array:
        """Write the null mask, and return the column on a GPU; its null rows are arbitrary.

        Parameters
        ----------
        words : uint32 array
            Becomes the mask: bit i % 32 of word i / 32 is set if row i is valid.
        count : int64 array, shape (1,)
            Grows by the number of valid rows.
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


def mask_columns(columns: Sequence[Any]) -> list[Any]:
    """Return nullable columns as columns of pylibcudf, with a mask only if a column has nulls.

    This waits for the GPU once; `bools_to_mask` of pylibcudf does for each column.

    Parameters
    ----------
    columns : sequence of NullableIntegers or (array, array of bool)
    """
    if not columns:
        return []
    cupy, plc = device.import_cupy(), importlib.import_module("pylibcudf")
    sizes = [len(column[0]) if isinstance(column, tuple) else len(column) for column in columns]
    num_words = [plc.null_mask.bitmask_allocation_size_bytes(size) // 4 for size in sizes]
    masks = device.allocate(
        cupy, zeroed=True, counts=(len(columns), np.int64),
        **{str(number): (size, np.uint32) for number, size in enumerate(num_words)},
    )  # fmt: skip
    counts, *all_words = masks.values()
    filled = []
    for number, (column, size, words) in enumerate(zip(columns, sizes, all_words, strict=True)):
        count = counts[number:]
        if isinstance(column, NullableIntegers):
            values = column.write_mask(words, count)
        else:
            values, valid = column
            device.launch(
                "arrays", "pack_flags", size=size,
                num_flags=size, flags=valid, words=words, count=count,
            )  # fmt: skip
        filled.append(plc.Column.from_cuda_array_interface(values))
    return [
        column.with_mask(plc.gpumemoryview(words), size - num_valid) if num_valid < size else column
        for column, words, size, num_valid in zip(
            filled, all_words, sizes, counts.tolist(), strict=True
        )
    ]
