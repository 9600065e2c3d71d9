"""Read a file of edges batch by batch.

Columns, checks and messages are those of `read_edges` and `Graph`; rows are counted over the whole
file. Parquet files and their row groups may be of any size. A record batch of an Arrow file has to
fit in memory.

Text is parsed once, into an Arrow file of the needed columns. Whether names are integers is known
only at the end of the text. The entries of a symmetric matrix are read twice.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import frames
from ...errors import GraphError
from ...graph.vertex_arguments import check_vertex_range, check_vertices
from ...io.columnar_files import Arrow, Parquet
from ...io.edge_files import add_location, open_table, read_vertices
from ...io.inputs import InputFiles
from ...io.matrix_market import Matrix
from ...io.tables import POSITIONAL, check_table, read_errors, select_columns, weight_errors
from ...io.text_files import Text, to_integers
from ...io.text_stream import LineBreakInQuotes
from ...validation import check_weights

READ_BYTES = 2**20  # of a Parquet column at a time
MIN_BATCH_ROWS = 256
SAMPLE_ROWS = 1024  # by which the width of a row is estimated


class Batch(NamedTuple):
    """The columns of some rows, as returned by `frames.get_column`; weights as in `Graph`."""

    sources: list[Any]
    destinations: list[Any]
    weights: Any
    num_rows: int


class EdgeFile:
    """Files of edges and their columns of vertex names and weights.

    Parameters
    ----------
    files : InputFiles
    source, destination, weight
        As for `read_edges`.
    vertices : str, Path, or as for `Graph`
        Names of vertices to include even without edges; a path is that of a file.

    Attributes
    ----------
    ends : list of two lists of str
        The columns of sources and of destinations in a frame of `read_edges`.
    ids : list of str
        The columns of names in the file.
    groups : list of list of str
        The columns of sources and destinations that hold the same part of a name.
    rows : int or None
        Number of edges; None for text that `parse` has not read.
    largest_batch : int
        Bytes of the largest compressed batch of an Arrow file; 0 for other files.
    """

    def __init__(
        self,
        files: InputFiles,
        source: str | list[str] | None,
        destination: str | list[str] | None,
        weight: str | None,
        vertices: Any = None,
    ) -> None:
        self.path = files.name
        with read_errors(files.name):
            self.file = file = open_table(files, POSITIONAL)
            columns = select_columns(file.names, files.name, source, destination, weight)
            self.ids, self.weights, self.groups = columns.ids, columns.weights, columns.groups
            self.rows: int | None = None
            self.largest_batch = 0
            if isinstance(file, Parquet | Arrow | Matrix):
                metadata = file.edge_metadata(columns.sources[0], columns.destinations[0])
                self.rows = metadata.num_rows
            if isinstance(file, Arrow):
                sizes = file.batch_sizes([*self.ids, *self.weights])
                self.largest_batch = max((nbytes for _, _, nbytes in sizes), default=0)
        self._spool: ArrowSpool | None = None
        self.names = columns.names
        self.ends = [columns.sources, columns.destinations]
        if columns.is_renamed:
            self.ends = [["source"], ["destination"]]
        if not isinstance(vertices, (str, Path)):
            vertices = check_vertex_range(vertices, len(self.groups))
        self._vertices = vertices

    @property
    def weighted(self) -> bool:
        return bool(self.weights)

    def count_rows(self) -> int:
        """Return the number of rows; before `parse`, lines of comments in text count."""
        if self.rows is not None:
            return self.rows
        return self.file.edge_metadata(self.ids[0], self.ids[-1]).num_rows

    @property
    def vertex_ranges(self) -> list[range]:
        """The additional vertices that are ranges of integers."""
        vertices = getattr(self.file, "vertices", None), self._vertices
        return [names for names in vertices if isinstance(names, range)]

    def parse(self, folder: Path, report: Callable[[str], None]) -> None:
        """Convert text to an Arrow file in `folder`; other files are read as they are."""
        if isinstance(self.file, Text):
            path = folder / "parsed.arrow"
            self._spool = ArrowSpool(path, self.file, self.groups, self.weights)
            with read_errors(self.path), weight_errors(self.weights):
                self._spool.parse(report)
            self.rows = self._spool.num_rows

    def remove_parsed(self) -> None:
        """Remove the file that `parse` has written."""
        if self._spool is not None:
            self._spool.path.unlink(missing_ok=True)

    def vertex_batches(
        self, size: int, labels: list[str], text_labels: list[str]
    ) -> Iterator[list[Any]]:
        """Yield the names of additional vertices: those that the file declares, then `vertices`.

        Each batch has one column per label with at most `size` rows. A range from 0 yields ranges.
        Columns of `text_labels` are text in the file of edges.
        """
        names = self._vertices
        if isinstance(names, (str, Path)):
            names = read_vertices(names, names=labels, device="cpu", text_columns=text_labels)
        for declared in (getattr(self.file, "vertices", None), names):
            vertices = check_vertex_range(declared, len(labels))
            if isinstance(vertices, range):
                for start in range(vertices.start, vertices.stop, size):
                    stop = min(start + size, vertices.stop)
                    yield [np.arange(start, stop) if vertices.start else range(start, stop)]
            elif vertices is not None:
                columns = list(check_vertices(vertices, len(labels), labels, np) or ())
                for start in range(0, len(columns[0]), size):
                    yield [values[start : start + size] for values in columns]

    def batches(self, size: int, memory: int) -> Iterator[Batch]:
        """Yield batches of at most `size` rows in the order of the file; the last one is empty.

        Raises GraphError as `read_edges` and `Graph` do, and InsufficientMemoryError if a record
        batch of an Arrow file takes more than `memory` bytes.
        """
        first_row, columns = 0, [*self.ids, *self.weights]
        for unchecked in self._tables(columns, size, memory):
            with weight_errors(self.weights):
                table = unchecked.select(columns)
                table = check_table(table, self.file, self.weights, first_row)
            with self.located_rows(first_row), weight_errors(self.weights):
                frame = table.rename_columns(self.names).to_pandas(ignore_metadata=True)
                sources, destinations = (
                    [frames.get_column(frame, name, end) for name in names]
                    for end, names in zip(("source", "destination"), self.ends, strict=True)
                )
                weights = None
                if self.weights:
                    weights = frames.get_column(frame, self.names[-1], "weight")
                    weights = check_weights(weights, self.weights[0], np)
            yield Batch(sources, destinations, weights, len(table))
            first_row += len(table)

    @contextlib.contextmanager
    def located_rows(self, first_row: int) -> Iterator[None]:
        """Locate the row of an error in its file, not in a batch.

        Parameters
        ----------
        first_row : int
            First row of the batch, counted over all files.
        """
        try:
            yield
        except GraphError as error:
            if error.row is None:
                raise
            raise add_location(error, self.file, first_row) from error

    def _tables(self, columns: list[str], size: int, memory: int) -> Iterator[Any]:
        import pyarrow

        if self._spool is not None:
            tables = self._spool.tables(_max_rows(memory, self._spool.row_bytes, size))
        elif isinstance(self.file, Parquet):
            tables = _parquet_tables(self.file, columns, size, memory)
        else:
            assert not isinstance(self.file, Text)  # `parse` converts text to a spool
            batches = (
                batch.slice(start, size)
                for batch in self.file.record_batches(columns, memory)
                for start in range(0, len(batch), size)
            )
            schema = pyarrow.schema([self.file.schema.field(name) for name in columns])
            tables = itertools.chain(batches, [schema.empty_table()])
        while True:
            with read_errors(self.path):
                table = next(tables, None)
            if table is None:
                return
            if isinstance(table, pyarrow.RecordBatch):
                table = pyarrow.Table.from_batches([table])
            yield table


def _max_rows(memory: int, row_bytes: int, size: int) -> int:
    """Return how many rows, at most `size`, can be converted at once within `memory` bytes."""
    return int(min(size, max(memory // 8 // max(row_bytes, 1), MIN_BATCH_ROWS)))


def _parquet_tables(file: Any, columns: list[str], size: int, memory: int) -> Iterator[Any]:
    """Yield tables of Parquet files.

    Pages are decoded when they are needed, so that row groups may be of any size.
    """
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([file.dataset.schema.field(name) for name in columns])
    for path in file.paths:
        with pyarrow.parquet.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as parquet:
            names = set(parquet.schema_arrow.names)
            missing = [name for name in columns if name not in names]
            present = [name for name in columns if name in names]
            sample = next(parquet.iter_batches(SAMPLE_ROWS, columns=present), None)
            row_bytes = 2 * sample.nbytes // len(sample) if sample else 0
            batch_rows = _max_rows(memory, row_bytes, size)
            for batch in parquet.iter_batches(batch_rows, columns=present):
                table = pyarrow.Table.from_batches([batch])
                table.validate(full=True)
                for name in missing:
                    nulls = pyarrow.nulls(len(table), schema.field(name).type)
                    table = table.append_column(name, nulls)
                yield table.select(columns).cast(schema)
    yield schema.empty_table()


class ArrowSpool:
    """The columns of a text file in an Arrow file.

    Parameters
    ----------
    path : Path
        The Arrow file, which `parse` writes.
    file : Text
    groups, numbers : list
        `groups` and `weights` of the `EdgeFile`.

    Attributes
    ----------
    num_rows : int
        Number of edges, with the mirrored entries of a symmetric matrix.
    row_bytes : int
        Memory of a row while it is converted.
    """

    def __init__(self, path: Path, file: Text, groups: list[list[str]], numbers: list[str]) -> None:
        self._file, self._groups, self._numbers = file, groups, numbers
        self._matrix = file if isinstance(file, Matrix) else None
        self._ids = list(dict.fromkeys(name for group in groups for name in group))
        self._integer_groups: list[list[str]] = []  # text columns that hold only integers
        self._num_mirrored = 0
        self.path = path
        self.num_rows = self.row_bytes = 0

    def parse(self, report: Callable[[str], None]) -> None:
        """Write the Arrow file: in one pass, or in two if names are not integers."""
        import pyarrow as pa

        try:
            try:
                num_rows = self._write(pa.int64(), report)
            except pa.ArrowInvalid:
                if self._matrix is not None:
                    raise
                self._integer_groups = [group for group in self._groups if len(self._groups) > 1]
                num_rows = self._write(pa.string(), report)
        except pa.ArrowInvalid:
            self._file.raise_first_error(self._ids, self._numbers)
            raise
        if self._matrix is not None:
            self._matrix.check_num_entries(num_rows)
        self.num_rows = num_rows + self._num_mirrored

    def _write(self, id_type: Any, report: Callable[[str], None]) -> int:
        """Write the Arrow file; return the number of rows."""
        try:
            return self._write_blocks(id_type, report)
        except LineBreakInQuotes:
            self._file.check_quotes()
            return self._write_blocks(id_type, report)

    def _write_blocks(self, id_type: Any, report: Callable[[str], None]) -> int:
        import pyarrow as pa

        number_type = getattr(pa, self._file.number_type)()
        schema = pa.schema(
            [(name, id_type) for name in self._ids]
            + [(name, number_type) for name in self._numbers]
        )
        num_rows = nbytes = self._num_mirrored = 0
        types = dict(zip(schema.names, schema.types, strict=True))
        write_options = pa.ipc.IpcWriteOptions(compression="lz4")
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(pa.OSFile(os.fsencode(self.path), "wb"))
            writer = stack.enter_context(pa.ipc.new_file(out, schema, options=write_options))
            batches: Iterable[Any] = ()
            if self._file.has_rows:
                batches = stack.enter_context(self._file.open_batches(types))
            for batch in batches:
                if any(column.null_count for column in batch.columns):
                    self._file.raise_first_error(self._ids, self._numbers)
                if self._matrix is not None:
                    self._check_entries(batch, self._matrix)
                self._integer_groups = [
                    group for group in self._integer_groups if _are_integers(batch, group)
                ]
                writer.write_batch(batch)
                num_rows, nbytes = num_rows + len(batch), nbytes + batch.nbytes
                report(f"{num_rows:,} rows read")
        self.row_bytes = 2 * nbytes // max(num_rows, 1)
        return num_rows

    def _check_entries(self, batch: Any, matrix: Matrix) -> None:
        """Check the ids of a matrix; count the entries to mirror if it is symmetric."""
        import pyarrow.compute as pc

        for name in self._ids if len(batch) else ():
            bounds = pc.min_max(batch[name]).as_py()
            if bounds["min"] < 1 or bounds["max"] > matrix.size:
                self._file.raise_first_error(self._ids, self._numbers)
        if matrix.is_symmetric:
            is_off_diagonal = pc.not_equal(batch[self._ids[0]], batch[self._ids[1]])
            self._num_mirrored += pc.sum(is_off_diagonal).as_py() or 0

    def tables(self, size: int) -> Iterator[Any]:
        """Yield tables of at most `size` rows, and an empty one at the end.

        The mirrored entries of a symmetric matrix come after all others.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        integers = {name for group in self._integer_groups for name in group}
        is_symmetric = self._matrix is not None and self._matrix.is_symmetric
        for is_mirrored in (False, True) if is_symmetric else (False,):
            with pa.memory_map(os.fsencode(self.path)) as file, pa.ipc.open_file(file) as reader:
                fields = [
                    pa.field(field.name, pa.int64()) if field.name in integers else field
                    for field in reader.schema
                ]
                schema = pa.schema(fields)
                batches = map(reader.get_batch, range(reader.num_record_batches))
                for batch in _rebatch(batches, size):
                    table = batch.cast(schema)
                    if is_mirrored:
                        is_off_diagonal = pc.not_equal(table[self._ids[0]], table[self._ids[1]])
                        table = table.filter(is_off_diagonal)
                        swapped = [*reversed(self._ids), *self._numbers]
                        table = table.select(swapped).rename_columns(schema.names)
                    yield table
        yield schema.empty_table()


def _are_integers(batch: Any, group: Sequence[str]) -> bool:
    """Return whether all values of some columns of a batch are integers."""
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowInvalid):
        if pa.types.is_integer(batch[group[0]].type):
            return True
        return all(to_integers(batch[name]) is not None for name in group)
    return False


def _rebatch(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Join small record batches into tables of at most `size` rows, and cut large ones."""
    import pyarrow as pa

    pending: list[Any] = []
    num_rows = 0
    for batch in batches:
        for start in range(0, len(batch), size):
            chunk = batch.slice(start, size)
            if num_rows + len(chunk) > size:
                yield pa.Table.from_batches(pending)
                pending, num_rows = [], 0
            pending.append(chunk)
            num_rows += len(chunk)
    if pending:
        yield pa.Table.from_batches(pending)
