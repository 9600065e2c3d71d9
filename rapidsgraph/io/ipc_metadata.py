"""Sizes of record batches in Arrow IPC files and streams, before anything is decompressed.

PyArrow decompresses a batch as a whole and does not expose its uncompressed size, so the messages
are parsed here: a few fields of a FlatBuffers table each.

Reference: https://arrow.apache.org/docs/format/Columnar.html, Message.fbs and File.fbs.
"""

import struct
from typing import NamedTuple

from ..errors import GraphError

MAGIC = b"ARROW1"
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # MessageHeader
LZ4_FRAME, ZSTD = 0, 1  # CompressionType
# The most bytes that one compressed byte may become: https://github.com/lz4/lz4 (255 in a run),
# RFC 8878 (a block of 128 KiB in 4 bytes).
MAX_RATIO = {LZ4_FRAME: 255, ZSTD: 2**15}
MIN_BLOCK = 2**17  # bytes that even a tiny frame may become


class BatchSize(NamedTuple):
    """One record batch or dictionary batch.

    Attributes
    ----------
    is_dictionary : bool
    rows : int
    nbytes : int
        To be allocated for its compressed buffers.
    """

    is_dictionary: bool
    rows: int
    nbytes: int


def batch_sizes(data, schema, columns):
    """Yield the `BatchSize` of each batch, in the order of the file.

    Parameters
    ----------
    data : bytes-like
        The whole file or stream, memory-mapped.
    schema : pyarrow.Schema
    columns : sequence of str
        Those that are to be read.

    Raises
    ------
    GraphError
        A length that no buffer can have.
    struct.error
        An offset outside the file.
    """
    wanted = _wanted_buffers(schema, columns)
    for start in _message_offsets(data):
        metadata, body = _message(data, start)
        if metadata is None:
            raise GraphError("a message is missing")
        header_type = metadata.scalar(1, "B")
        if header_type not in (DICTIONARY_BATCH, RECORD_BATCH):
            continue
        is_dictionary = header_type == DICTIONARY_BATCH
        batch = metadata.required(2)
        if is_dictionary:
            batch = batch.required(1)
        rows = batch.scalar(0, "q")
        if rows < 0:
            raise GraphError(f"a batch of {rows} rows")
        yield BatchSize(is_dictionary, rows, _nbytes(data, body, batch, is_dictionary or wanted))


def _nbytes(data, body, batch, wanted):
    compression = batch.table(3)
    if compression is None:
        return 0
    total, ratio = 0, MAX_RATIO.get(compression.scalar(0, "b"), max(MAX_RATIO.values()))
    buffers = batch.structs(2, "qq")
    if wanted is True or len(wanted) != len(buffers):  # views have as many as they like
        wanted = [True] * len(buffers)
    for (offset, length), is_wanted in zip(buffers, wanted, strict=True):
        if not is_wanted or length <= 8:
            continue
        if offset < 0 or body + offset + length > len(data):
            raise GraphError("a buffer lies outside the file")
        [size] = struct.unpack_from("<q", data, body + offset)
        if size < -1 or size > (length - 8) * ratio + MIN_BLOCK:
            raise GraphError(f"{length - 8:,} bytes cannot be decompressed to {size:,}")
        total += max(size, 0)  # -1: not compressed
    return total


def _wanted_buffers(schema, columns):
    """Whether each buffer of a record batch belongs to one of the columns."""
    wanted = []
    for field in schema:
        wanted += [field.name in columns] * _num_buffers(field.type)
    return wanted


def _num_buffers(kind):
    from pyarrow import types

    if types.is_null(kind):
        return 0
    if types.is_dictionary(kind):
        return 2
    own = kind.num_buffers - (1 if types.is_union(kind) else 0)
    return own + sum(_num_buffers(kind.field(i).type) for i in range(kind.num_fields))


def _message_offsets(data):
    if bytes(data[:6]) == MAGIC:
        [size] = struct.unpack_from("<i", data, len(data) - 10)
        footer = _Table.root(data, len(data) - 10 - size)
        for field in (2, 3):  # dictionaries, then record batches
            for offset, _, _, _ in footer.structs(field, "qiiq"):
                yield offset
        return
    start = 0
    while start + 8 <= len(data):
        metadata, body = _message(data, start)
        if metadata is None:
            return
        yield start
        start = body + metadata.scalar(3, "q")
        if start < body:
            raise GraphError("a message ends before it begins")


def _message(data, start):
    """(the table Message, where its body begins) of a message; (None, 0) behind the last."""
    if start < 0:
        raise GraphError("a message begins before the file")
    [size] = struct.unpack_from("<i", data, start)
    start += 4
    if size == -1:  # since Arrow 0.15 the length comes behind a continuation marker
        [size] = struct.unpack_from("<i", data, start)
        start += 4
    if size == 0:
        return None, 0
    if size < 0:
        raise GraphError(f"a message of {size} bytes")
    return _Table.root(data, start), start + size


class _Table:
    """A table of a FlatBuffer: fields by their numbers in the schema."""

    def __init__(self, data, start):
        if start < 0:
            raise GraphError("a table begins before the file")
        self.data, self.start = data, start
        self.layout = start - self._unpack("<i", start)
        if self.layout < 0:
            raise GraphError("a table begins before the file")
        self.size = self._unpack("<H", self.layout)

    @classmethod
    def root(cls, data, start):
        if start < 0:
            raise GraphError("a table begins before the file")
        return cls(data, start + struct.unpack_from("<I", data, start)[0])

    def _unpack(self, kind, place):
        return struct.unpack_from(kind, self.data, place)[0]

    def _place(self, field):
        """Where the field is; None if it has its default."""
        entry = 4 + 2 * field
        if entry + 2 > self.size:
            return None
        offset = self._unpack("<H", self.layout + entry)
        return self.start + offset if offset else None

    def scalar(self, field, kind):
        place = self._place(field)
        return 0 if place is None else self._unpack(f"<{kind}", place)

    def table(self, field):
        place = self._place(field)
        return None if place is None else _Table(self.data, place + self._unpack("<I", place))

    def required(self, field):
        table = self.table(field)
        if table is None:
            raise GraphError(f"field {field} is missing in a message")
        return table

    def structs(self, field, kind):
        """A vector of structs, as a list of tuples."""
        place = self._place(field)
        if place is None:
            return []
        place += self._unpack("<I", place)
        count, size = self._unpack("<I", place), struct.calcsize(f"<{kind}")
        if place + 4 + count * size > len(self.data):
            raise GraphError("a list lies outside the file")
        values = struct.unpack_from("<" + kind * count, self.data, place + 4)
        width = len(kind)
        return [values[at : at + width] for at in range(0, len(values), width)]
