"""Read Parquet and Arrow files with PyArrow."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import device
from ..errors import GraphError, InsufficientMemoryError
from .arrow_metadata import MAGIC, BatchSize, batch_sizes
from .inputs import InputFile, InputFiles, Name
from .tables import EdgeMetadata, damaged_error, is_plain_number, read_errors

BATCH_ROWS = 2**16  # of a Parquet file that is scanned
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # of Arrow's streaming format


def id_type_of(schema: Any, *names: str) -> str:
    """Return ``"integer"`` if all named columns of a schema are integers, else ``"string"``."""
    from pyarrow import types

    dtypes = [_plain_type(schema.field(name).type) for name in names]
    return "integer" if all(map(types.is_integer, dtypes)) else "string"


def _number_columns(schema: Any, names: Sequence[str]) -> list[str]:
    from pyarrow import types

    dtypes = {name: schema.field(name).type for name in names}
    return [
        name for name in names if is_plain_number(dtypes[name]) or types.is_decimal(dtypes[name])
    ]


@contextlib.contextmanager
def file_errors(file: InputFile) -> Iterator[None]:
    """Convert errors as `read_errors` does, with the name of a file in place of its local path."""
    import pyarrow as pa

    with read_errors(file.name):
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            path, reason = str(file.path), str(error)
            if path == str(file.name) or path not in reason:
                raise
            raise damaged_error(file.name, reason.replace(path, str(file.name))) from error


class Parquet:
    """One or several Parquet files with the same columns.

    Attributes
    ----------
    files : InputFiles
    paths : list of str
    names : list of str
        Names of the columns.
    has_one_schema : bool
        Whether the columns of all files have the same types and order.
    """

    has_one_schema = True

    def __init__(self, files: InputFiles) -> None:
        import pyarrow.dataset

        self.files, self.paths = files, [str(file.path) for file in files.files]
        with file_errors(files.files[0]):  # of which PyArrow reads the schema
            self.dataset = pyarrow.dataset.dataset(self.paths, format="parquet")
        if len(self.paths) > 1:
            schema = self._common_schema()
            if schema != self.dataset.schema:
                self.dataset = pyarrow.dataset.dataset(self.paths, schema, format="parquet")
        self.names = self.dataset.schema.names

    def _common_schema(self) -> Any:
        """Return the schema of all files; raise GraphError that names a file with other columns."""
        files, common = self.files.files, None
        for file, fragment in zip(files, self.dataset.get_fragments(), strict=True):
            with file_errors(file):
                schema = fragment.physical_schema.remove_metadata()
                self.has_one_schema &= common is None or schema.equals(common)
                common = merge_schemas(common, schema, file.name, files[0].name)
        return common

    def locate_row(self, row: int) -> tuple[Name, int]:
        """Return the name of the file that has a row, and the row's number there."""
        counts = (fragment.count_rows() for fragment in self.dataset.get_fragments())
        return self.files.locate_row(counts, row)

    @property
    def schema(self) -> Any:
        """The Arrow schema of all files."""
        return self.dataset.schema

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read columns of names and of numbers into an Arrow table."""
        columns = _columns(groups, numbers)
        try:
            table = self.dataset.to_table(columns=columns)
            table.validate(full=True)
        except Exception:
            for file, fragment in zip(self.files.files, self.dataset.get_fragments()):
                with file_errors(file):  # says which file is damaged
                    fragment.to_table(self.schema, columns=columns).validate(full=True)
            raise
        return table

    def read_first_row(self, columns: Sequence[str]) -> Any:
        """Return an Arrow table of the first row, or of none; reads little of the file."""
        return self.dataset.head(
            1, columns=list(columns), batch_size=1024, batch_readahead=0, fragment_readahead=0
        )

    def has_numbers(self, names: Iterable[str]) -> bool:
        """Return whether the columns hold integers or floating-point numbers."""
        return all(is_plain_number(self.schema.field(name).type) for name in names)

    def number_columns(self, names: Sequence[str]) -> list[str]:
        """Return which of some columns hold numbers, decimals included."""
        return _number_columns(self.schema, names)

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return the number of rows, the type of ids and their range if it is recorded."""
        import pyarrow.parquet

        num_rows = 0
        lows: list[Any] = []
        highs: list[Any] = []
        id_type = id_type_of(self.schema, source, destination)
        for path, name in ((file.path, file.name) for file in self.files.files):
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
                        raise damaged_error(name, f"column {declared.path!r} has two types")
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
    """One or several Arrow IPC files (also called Feather) or streams with the same columns.

    Attributes
    ----------
    files : InputFiles
    schema : pyarrow.Schema
    names : list of str
        Names of the columns.
    """

    def __init__(self, files: InputFiles) -> None:
        self.files = files
        self._readers = [ArrowReader(file) for file in files.files]
        self.schema: Any = None
        for reader in self._readers:
            self.schema = merge_schemas(
                self.schema, reader.schema, reader.name, files.files[0].name
            )
        self.names = self.schema.names

    def locate_row(self, row: int) -> tuple[Name, int]:
        """Return the name of the file that has a row, and the row's number there."""
        return self.files.locate_row(map(ArrowReader.count_rows, self._readers), row)

    def batch_sizes(self, columns: Sequence[str]) -> list[BatchSize]:
        """Return the sizes of all batches without decompressing them."""
        return [size for reader in self._readers for size in reader.batch_sizes(columns)]

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read columns of names and of numbers into an Arrow table.

        Raises
        ------
        InsufficientMemoryError
            The decompressed columns do not fit.
        """
        import pyarrow

        columns = _columns(groups, numbers)
        needed = sum(nbytes for _, _, nbytes in self.batch_sizes(columns))
        free = device.free_memory(np)
        if needed > free:
            raise InsufficientMemoryError(f"{self.files}: reading it", needed, free, "in memory")
        tables = [reader.read(columns) for reader in self._readers]
        if len(tables) == 1:
            return tables[0]
        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        return pyarrow.concat_tables(table.cast(schema) for table in tables)

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
            A decompressed batch and all dictionaries of its file take more than `limit` bytes.
        """
        import pyarrow

        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        for reader in self._readers:
            for batch in reader.record_batches(columns, limit):
                yield batch if batch.schema == schema else batch.cast(schema)

    def number_columns(self, names: Sequence[str]) -> list[str]:
        """Return which of some columns hold numbers, decimals included."""
        return _number_columns(self.schema, names)

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return the number of rows and the type of ids; the range of ids is not recorded."""
        num_rows = sum(map(ArrowReader.count_rows, self._readers))
        return EdgeMetadata(num_rows, id_type_of(self.schema, source, destination), None)

    def measure_text(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the size of the text in some columns; reads them batch by batch."""
        return _measure_text(self.record_batches(names, 2**63))


class ArrowReader:
    """Read one Arrow IPC file or stream."""

    def __init__(self, file: InputFile) -> None:
        self.path, self.name = file.path, file.name
        with read_errors(self.name), self._open() as batches:
            self.schema = batches.schema

    @contextlib.contextmanager
    def _open(self, columns: Sequence[str] = ()) -> Iterator[Any]:
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file:
            is_file = file.read(6) == MAGIC
            if not is_file and file.size() > 8:
                file.seek(file.size() - 8)
                if file.read(8) != END_OF_STREAM:  # a truncated stream
                    raise damaged_error(
                        self.name,
                        "a stream needs an end-of-stream marker, which its writer adds when it is "
                        "closed; close it, or write the file format",
                    )
            file.seek(0)
            fields = [self.schema.names.index(name) for name in columns] or None
            options = pyarrow.ipc.IpcReadOptions(included_fields=fields)
            open_batches = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
            with open_batches(file, options=options) as batches:
                yield batches

    def batch_sizes(self, columns: Sequence[str]) -> list[BatchSize]:
        """Return the sizes of all batches without decompressing them."""
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file, read_errors(self.name):
            try:
                return [*batch_sizes(memoryview(file.read_buffer()), self.schema, columns)]
            except (ValueError, struct.error) as error:
                raise damaged_error(self.name, error) from error

    def count_rows(self) -> int:
        """Return the number of rows."""
        return sum(rows for is_dictionary, rows, _ in self.batch_sizes([]) if not is_dictionary)

    def read(self, columns: Sequence[str]) -> Any:
        """Read columns into an Arrow table."""
        with read_errors(self.name), self._open(columns) as batches:
            table = batches.read_all().select(columns)
            table.validate(full=True)  # before a damaged offset is followed
        return table

    def record_batches(self, columns: Sequence[str], limit: int) -> Iterator[Any]:
        """Yield the record batches with these columns only; see `Arrow.record_batches`."""
        sizes = self.batch_sizes(columns)
        dictionaries = sum(nbytes for is_dictionary, _, nbytes in sizes if is_dictionary)
        for is_dictionary, num_rows, nbytes in sizes:
            needed = dictionaries + (0 if is_dictionary else nbytes)
            if needed > limit:
                raise InsufficientMemoryError(
                    f"{self.name}: reading a compressed batch of {num_rows:,} rows",
                    2 * needed,
                    2 * limit,
                    "memory_limit",
                )
        with read_errors(self.name), self._open(columns) as reader:
            for batch in _iterate(reader):
                batch = batch.select(columns)
                batch.validate(full=True)
                yield batch


def merge_schemas(common: Any, schema: Any, name: Name, first_name: Name) -> Any:
    """Return a schema for a file of `schema` and the files before it, whose schema is `common`.

    Integers of different sizes, and numbers, have a common type; categories have that of their
    values.

    Raises
    ------
    GraphError
        The file has other columns than the first, or a column of another type.
    """
    import pyarrow as pa

    if common is None or schema.equals(common):
        return schema
    if sorted(schema.names) != sorted(common.names):
        raise GraphError(
            f"{name}: its columns are {', '.join(schema.names)}, and those of {first_name} are "
            f"{', '.join(common.names)}; all files of an input must have the same columns",
            path=name,
        )
    schemas = [
        pa.schema([(field.name, _plain_type(field.type)) for field in fields])
        for fields in (common, schema)
    ]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error).splitlines()[0]
        raise GraphError(
            f"{name}: a column has another type than in {first_name} ({reason}); write all files "
            "with the same types",
            path=name,
        ) from error


def _plain_type(dtype: Any) -> Any:
    """Return the value type of a dictionary type, and any other type unchanged."""
    from pyarrow import types

    return dtype.value_type if types.is_dictionary(dtype) else dtype


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
