"""Columns of Dask frames in files: each task writes its rows at their position.

A client creates the files with their final sizes. On a failure it removes them, and tasks that are
still running fail, as they do not create files.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..device import to_host
from ..frames import Frame
from ..io.arrow_arrays import to_arrow
from ..layered.outofcore.file_array import FileArray
from .frame_graph import get_values


def resize(array: FileArray, size: int) -> None:
    """Set the size of an array whose values tasks will write."""
    os.truncate(array.path, size * array.dtype.itemsize)
    array.size = size


def write_at(path: str, position: int, values: np.ndarray) -> None:
    """Write an array at a position, in bytes, of an existing file."""
    if not values.size:
        return
    handle = os.open(path, os.O_WRONLY)
    try:
        data = np.ascontiguousarray(values).data.cast("B")
        while len(data):
            written = os.pwrite(handle, data, position)
            data, position = data[written:], position + written
        os.fsync(handle)  # another host may read it
    finally:
        os.close(handle)


def _read_column(frame: Frame, name: str) -> Any:
    return to_arrow(get_values(frame, name))


def describe_column(frame: Frame, name: str) -> tuple[np.dtype | None, int, int]:
    """Return the type of a column, None for text; its number of rows, and the bytes of its text."""
    values = _read_column(frame, name)
    if str(values.type) != "large_string":
        return np.dtype(values.type.to_pandas_dtype()), len(values), 0
    offsets = _text_offsets(values)
    return None, len(values), int(offsets[-1] - offsets[0])


def _text_offsets(values: Any) -> np.ndarray:
    if not len(values):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return offsets[values.offset : values.offset + len(values) + 1]


def write_column(
    frame: Frame, name: str, paths: list[str], row_start: int, byte_start: int
) -> None:
    """Write a column of integers, or of text with the offsets of its rows.

    Parameters
    ----------
    frame : frame
    name : str
    paths : list of str
        Files of the values and, for text, of the offsets, which begin with 0.
    row_start, byte_start : int
        Number of rows, and of bytes of text, before those of this frame.
    """
    values = _read_column(frame, name)
    if len(paths) == 1:
        array = values.to_numpy()
        write_at(paths[0], row_start * array.itemsize, array)
        return
    offsets = _text_offsets(values)
    if offsets[-1] > offsets[0]:
        text = np.frombuffer(values.buffers()[2], np.uint8)
        write_at(paths[0], byte_start, text[offsets[0] : offsets[-1]])
    write_at(paths[1], 8 * (row_start + 1), offsets[1:] - offsets[0] + byte_start)


def write_ids(frame: Frame, path: str) -> None:
    """Write the column `id` as int32 at the rows' `position`, which ascends by 1."""
    ids = to_host(frame["id"].values).astype(np.int32)
    if ids.size:
        write_at(path, ids.itemsize * int(frame["position"].iloc[0]), ids)
