"""Read the metadata of Arrow files and streams that PyArrow does not expose."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

MAGIC = b"ARROW1"  # of Arrow files
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # MessageHeader
LZ4_FRAME, ZSTD = 0, 1  # CompressionType
# Maximum bytes per compressed byte: https://github.com/lz4/lz4 (255 in a run), RFC 8878 (a block of
# 128 KiB in 4 bytes).
MAX_RATIO = {LZ4_FRAME: 255, ZSTD: 2**15}
MIN_BLOCK = 2**17  # bytes to which even a tiny frame may be decompressed

# Whether a batch is a dictionary, its rows, and the bytes that decompression allocates for it: 0 if
# it is not compressed.
BatchSize = tuple[bool, int, int]


def batch_sizes(data: memoryview, schema: Any, columns: Sequence[str]) -> Iterator[BatchSize]:
    """Yield the size of each batch, in the order of the file.

    PyArrow decompresses a batch as a whole and does not expose its uncompressed size, so this
    function parses the messages: a few fields of a FlatBuffers table each [1]_, [2]_.

    Parameters
    ----------
    data : memoryview
        The whole file or stream, memory-mapped.
    schema : pyarrow.Schema
    columns : sequence of str
        Columns that are to be read.

    Raises
    ------
    ValueError
        A length is invalid.
    struct.error
        An offset is outside the file.

    References
    ----------
    .. [1] https://arrow.apache.org/docs/format/Columnar.html, Message.fbs and File.fbs
    .. [2] https://flatbuffers.dev/internals
    """
    is_selected = [
        field.name in columns for field in schema for _ in range(_num_buffers(field.type))
    ]
    for start in _message_starts(data):
        message, body = _parse_message(data, start)
        if message is None:
            raise ValueError("a message is missing")
        header_type = message.scalar(1, "B")
        if header_type not in (DICTIONARY_BATCH, RECORD_BATCH):
            continue
        is_dictionary = header_type == DICTIONARY_BATCH
        batch = message.required_table(2)
        if is_dictionary:
            batch = batch.required_table(1)
        rows = batch.scalar(0, "q")
        if rows < 0:
            raise ValueError(f"a batch of {rows} rows")
        nbytes = _decompressed_bytes(data, body, batch, None if is_dictionary else is_selected)
        yield is_dictionary, rows, nbytes


def _decompressed_bytes(
    data: memoryview, body: int, batch: _Table, is_selected: Sequence[bool] | None
) -> int:
    """Return the uncompressed bytes of the selected buffers of a batch, or of all buffers."""
    compression = batch.table(3)
    if compression is None:
        return 0
    total, ratio = 0, MAX_RATIO.get(compression.scalar(0, "b"), max(MAX_RATIO.values()))
    buffers = batch.structs(2, "qq")
    if is_selected is None or len(is_selected) != len(buffers):  # views have any number of buffers
        is_selected = [True] * len(buffers)
    for (offset, length), is_counted in zip(buffers, is_selected, strict=True):
        if not is_counted or length <= 8:
            continue
        if offset < 0 or body + offset + length > len(data):
            raise ValueError("a buffer is outside the file")
        size = _unpack("<q", data, body + offset)
        if size < -1 or size > (length - 8) * ratio + MIN_BLOCK:
            raise ValueError(f"{length - 8:,} bytes cannot be decompressed to {size:,}")
        total += max(size, 0)  # -1: not compressed
    return total


def _num_buffers(dtype: Any) -> int:
    """Return the number of buffers of an Arrow type in a record batch."""
    from pyarrow import types

    if types.is_null(dtype):
        return 0
    if types.is_dictionary(dtype):
        return 2
    num_buffers = dtype.num_buffers - (1 if types.is_union(dtype) else 0)
    return num_buffers + sum(
        _num_buffers(dtype.field(index).type) for index in range(dtype.num_fields)
    )


def _message_starts(data: memoryview) -> Iterator[int]:
    """Yield the offsets of messages: those in the footer of a file, or all of a stream."""
    if bytes(data[:6]) == MAGIC:
        size = _unpack("<i", data, len(data) - 10)
        footer = _Table.root(data, len(data) - 10 - size)
        for field in (2, 3):  # dictionaries, then record batches
            for offset, _, _, _ in footer.structs(field, "qiiq"):
                yield offset
        return
    start = 0
    while start + 8 <= len(data):
        message, body = _parse_message(data, start)
        if message is None:
            return
        yield start
        start = body + message.scalar(3, "q")
        if start < body:
            raise ValueError("a message has a negative length")


def _parse_message(data: memoryview, start: int) -> tuple[_Table | None, int]:
    """Return the table Message and the start of its body, or (None, 0) at the end of a stream."""
    size = _unpack("<i", data, start)
    start += 4
    if size == -1:  # a continuation marker, which precedes the length since Arrow 0.15
        size = _unpack("<i", data, start)
        start += 4
    if size == 0:
        return None, 0
    if size < 0:
        raise ValueError(f"a message of {size} bytes")
    return _Table.root(data, start), start + size


def _unpack(kind: str, data: memoryview, offset: int) -> int:
    """Return a number at an offset, which struct would count from the end if it is negative."""
    if offset < 0:
        raise ValueError("an offset is before the file")
    return struct.unpack_from(kind, data, offset)[0]


class _Table:
    """A table of a FlatBuffer, whose fields are numbered as in the schema."""

    def __init__(self, data: memoryview, start: int) -> None:
        self.data, self.start = data, start
        self.vtable = start - _unpack("<i", data, start)
        self.vtable_size = _unpack("<H", data, self.vtable)

    @classmethod
    def root(cls, data: memoryview, start: int) -> _Table:
        return cls(data, start + _unpack("<I", data, start))

    def _offset(self, field: int) -> int | None:
        """Return the offset of a field, or None if it has its default."""
        entry = 4 + 2 * field
        if entry + 2 > self.vtable_size:
            return None
        offset = _unpack("<H", self.data, self.vtable + entry)
        return self.start + offset if offset else None

    def scalar(self, field: int, kind: str) -> int:
        offset = self._offset(field)
        return 0 if offset is None else _unpack(f"<{kind}", self.data, offset)

    def table(self, field: int) -> _Table | None:
        offset = self._offset(field)
        return None if offset is None else _Table.root(self.data, offset)

    def required_table(self, field: int) -> _Table:
        table = self.table(field)
        if table is None:
            raise ValueError(f"field {field} is missing in a message")
        return table

    def structs(self, field: int, kind: str) -> list[tuple]:
        """Return a vector of structs as a list of tuples."""
        offset = self._offset(field)
        if offset is None:
            return []
        offset += _unpack("<I", self.data, offset)
        count, size = _unpack("<I", self.data, offset), struct.calcsize(f"<{kind}")
        if offset + 4 + count * size > len(self.data):
            raise ValueError("a vector is outside the file")
        values = struct.unpack_from("<" + kind * count, self.data, offset + 4)
        width = len(kind)
        return [values[start : start + width] for start in range(0, len(values), width)]
