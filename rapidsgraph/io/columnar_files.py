"""Read Parquet and Arrow files with PyArrow."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import device
from ..errors import GraphError, InsufficientMemoryError
from .tables import EdgeMetadata, damaged_error, is_plain_number, read_errors

BATCH_ROWS = 2**16  # of a Parquet file that is scanned
MAGIC = b"ARROW1"  # of Arrow files
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # MessageHeader
LZ4_FRAME, ZSTD = 0, 1  # CompressionType
# Maximum bytes per compressed byte: https://github.com/lz4/lz4 (255 in a run), RFC 8878 (a block of
# 128 KiB in 4 bytes).
MAX_RATIO = {LZ4_FRAME: 255, ZSTD: 2**15}
MIN_BLOCK = 2**17  # bytes to which even a tiny frame may be decompressed
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # of Arrow's streaming format

# Whether a batch is a dictionary, its rows, and the bytes that decompression allocates for it: 0 if
# it is not compressed.
BatchSize = tuple[bool, int, int]


def id_type_of(schema: Any, *names: str) -> str:
    """Return ``"integer"`` if all named columns of a schema are integers, else ``"string"``."""
    from pyarrow import types

    dtypes = [schema.field(name).type for name in names]
    dtypes = [each.value_type if types.is_dictionary(each) else each for each in dtypes]
    return "integer" if all(map(types.is_integer, dtypes)) else "string"


class Parquet:
    """A Parquet file, or all Parquet files in and below a folder.

    Attributes
    ----------
    paths : list of str
    names : list of str
        Names of the columns.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow.dataset

        self.paths = [str(path)]
        if path.is_dir():
            files = [each for each in path.rglob("*") if each.suffix in (".parquet", ".pq")]
            self.paths = sorted(str(each) for each in files if each.name[0] not in "._")
        if not self.paths:
            raise GraphError(f"{path}: the folder holds no .parquet or .pq file", path=path)
        self.dataset = pyarrow.dataset.dataset(self.paths, format="parquet")
        self.names = self.dataset.schema.names

    @property
    def schema(self) -> Any:
        """The Arrow schema of all files."""
        return self.dataset.schema

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read columns of names and of numbers into an Arrow table."""
        table = self.dataset.to_table(columns=_columns(groups, numbers))
        table.validate(full=True)
        return table

    def read_first_row(self, columns: Sequence[str]) -> Any:
        """Return an Arrow table of the first row, or of none; reads little of the file."""
        return self.dataset.head(
            1, columns=list(columns), batch_size=1024, batch_readahead=0, fragment_readahead=0
        )

    def has_numbers(self, names: Iterable[str]) -> bool:
        """Return whether the columns hold integers or floating-point numbers."""
        return all(is_plain_number(self.schema.field(name).type) for name in names)

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return the number of rows, the type of ids and their range if it is recorded."""
        import pyarrow.parquet

        num_rows = 0
        lows: list[Any] = []
        highs: list[Any] = []
        id_type = id_type_of(self.schema, source, destination)
        for path in self.paths:
            metadata = pyarrow.parquet.read_metadata(path)
            num_rows += metadata.num_rows
            for index in range(metadata.num_columns if id_type == "integer" else 0):
                declared = metadata.schema.column(index)
                if declared.path not in (source, destination):
                    continue
                for group in map(metadata.row_group, range(metadata.num_row_groups)):
                    column = group.column(index)
                    if column.physical_type != declared.physical_type:
                        # PyArrow aborts the process on the statistics of such a column.
                        raise damaged_error(path, f"column {declared.path!r} has two types")
                    if column.num_values:
                        is_recorded = column.is_stats_set and column.statistics.has_min_max
                        lows.append(column.statistics.min if is_recorded else None)
                        highs.append(column.statistics.max if is_recorded else None)
        is_known = lows and None not in lows
        return EdgeMetadata(num_rows, id_type, (min(lows), max(highs)) if is_known else None)

    def measure_text(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the size of the text in some columns; reads them batch by batch."""
        return _measure_text(self.dataset.to_batches(columns=names, batch_size=BATCH_ROWS))


class Arrow:
    """An Arrow IPC file (also called Feather) or stream.

    Attributes
    ----------
    path : Path
    schema : pyarrow.Schema
    names : list of str
        Names of the columns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        with self._open() as batches:
            self.schema = batches.schema
        self.names = self.schema.names

    @contextlib.contextmanager
    def _open(self, columns: Sequence[str] = ()) -> Iterator[Any]:
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file:
            is_file = file.read(6) == MAGIC
            if not is_file and file.size() > 8:
                file.seek(file.size() - 8)
                if file.read(8) != END_OF_STREAM:  # a truncated stream
                    raise damaged_error(self.path, "its end is missing")
            file.seek(0)
            fields = [self.names.index(name) for name in columns] or None
            options = pyarrow.ipc.IpcReadOptions(included_fields=fields)
            open_batches = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
            with open_batches(file, options=options) as batches:
                yield batches

    def batch_sizes(self, columns: Sequence[str]) -> list[BatchSize]:
        """Return the sizes of all batches without decompressing them."""
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file, read_errors(self.path):
            try:
                return [*_batch_sizes(memoryview(file.read_buffer()), self.schema, columns)]
            except (ValueError, struct.error) as error:
                raise damaged_error(self.path, error) from error

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read columns of names and of numbers into an Arrow table.

        Raises
        ------
        InsufficientMemoryError
            The decompressed columns do not fit.
        """
        columns = _columns(groups, numbers)
        needed = sum(nbytes for _, _, nbytes in self.batch_sizes(columns))
        free = device.free_memory(np)
        if needed > free:
            raise InsufficientMemoryError(f"{self.path}: reading it", needed, free, "in memory")
        with self._open(columns) as batches:
            table = batches.read_all().select(columns)
        table.validate(full=True)  # or a damaged offset would be followed
        return table

    def read_first_row(self, columns: Sequence[str]) -> Any:
        """Return an Arrow table of the first row, or of none."""
        import pyarrow

        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        batches = (batch.slice(0, 1) for batch in self.record_batches(columns, 2**63) if len(batch))
        return pyarrow.Table.from_batches(itertools.islice(batches, 1), schema)

    def record_batches(self, columns: Sequence[str], limit: int) -> Iterator[Any]:
        """Yield the record batches with these columns only, validated.

        Raises
        ------
        GraphError
            The contents are damaged.
        InsufficientMemoryError
            A decompressed batch and all dictionaries take more than `limit` bytes.
        """
        sizes = self.batch_sizes(columns)
        dictionaries = sum(nbytes for is_dictionary, _, nbytes in sizes if is_dictionary)
        for is_dictionary, num_rows, nbytes in sizes:
            needed = dictionaries + (0 if is_dictionary else nbytes)
            if needed > limit:
                raise InsufficientMemoryError(
                    f"{self.path}: reading a compressed batch of {num_rows:,} rows",
                    2 * needed,
                    2 * limit,
                    "memory_limit",
                )
        with self._open(columns) as reader:
            for batch in _iterate(reader):
                batch = batch.select(columns)
                batch.validate(full=True)
                yield batch

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return the number of rows and the type of ids; the range of ids is not recorded."""
        num_rows = sum(rows for is_dictionary, rows, _ in self.batch_sizes([]) if not is_dictionary)
        return EdgeMetadata(num_rows, id_type_of(self.schema, source, destination), None)

    def measure_text(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the size of the text in some columns; reads them batch by batch."""
        with self._open(names) as reader:
            return _measure_text(_iterate(reader))


def _iterate(reader: Any) -> Iterator[Any]:
    """Iterate over the batches of a reader of a file or of a stream."""
    if hasattr(reader, "num_record_batches"):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)


def _measure_text(batches: Iterable[Any]) -> tuple[int, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    nbytes = max_nbytes = 0
    for batch in batches:
        for column in batch.columns:
            lengths = pc.binary_length(column.cast(pa.large_string()))
            nbytes += pc.sum(lengths).as_py() or 0
            max_nbytes = max(max_nbytes, pc.max(lengths).as_py() or 0)
    return nbytes, max_nbytes


def _columns(groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*itertools.chain(*groups), *numbers]))


def _batch_sizes(data: memoryview, schema: Any, columns: Sequence[str]) -> Iterator[BatchSize]:
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
    own = dtype.num_buffers - (1 if types.is_union(dtype) else 0)
    return own + sum(_num_buffers(dtype.field(index).type) for index in range(dtype.num_fields))


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
