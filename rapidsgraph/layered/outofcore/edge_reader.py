"""Read a file of edges batch by batch.

Columns, checks and messages are those of `read_edges` and `Graph`; rows are counted over the whole
file. Parquet files and their row groups may be of any size. A record batch of an Arrow file has to
fit in memory. Text becomes an Arrow file first.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import frames
from ...errors import GraphError
from ...graph.vertex_names import check_names
from ...io.columnar_files import Arrow, Parquet
from ...io.edge_files import open_table, read_vertices
from ...io.matrix_market import Matrix
from ...io.tables import POSITIONAL, check_table, read_errors, select_columns
from ...io.text_files import Text
from ...validation import check_path, check_vertex_range, check_vertices, check_weights
from .text_to_arrow import ArrowSpool

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
    """A file of edges and its columns of vertex names and weights.

    Parameters
    ----------
    path, source, destination, weight
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
        path: str | Path,
        source: str | list[str] | None,
        destination: str | list[str] | None,
        weight: str | None,
        vertices: Any = None,
    ) -> None:
        self.path = path = check_path(path)
        with read_errors(path):
            self.file = file = open_table(path, POSITIONAL)
            columns = select_columns(file.names, path, source, destination, weight)
            self.ids, self.weights, self.groups = columns.ids, columns.weights, columns.groups
            self.rows: int | None = None
            self.largest_batch = 0
            if isinstance(file, Parquet | Arrow | Matrix):
                metadata = file.edge_metadata(columns.sources[0], columns.destinations[0])
                self.rows = metadata.num_rows
            if isinstance(file, Arrow):
                sizes = file.batch_sizes([*self.ids, *self.weights])
                self.largest_batch = max((size.nbytes for size in sizes), default=0)
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

    @property
    def is_text(self) -> bool:
        return isinstance(self.file, Text)

    def count_rows(self) -> int:
        """Return the number of rows; before `parse`, lines of comments in text count."""
        if self.rows is not None:
            return self.rows
        return self.file.edge_metadata(self.ids[0], self.ids[-1]).num_rows

    @property
    def vertex_ranges(self) -> list[range]:
        """The additional vertices that are ranges of integers."""
        vertices = getattr(self.file, "vertices", None), self._vertices
        return [each for each in vertices if isinstance(each, range)]

    def parse(self, folder: Path, report: Callable[[str], None]) -> None:
        """Convert text to an Arrow file in `folder`; other files are read as they are."""
        if isinstance(self.file, Text):
            path = folder / "parsed.arrow"
            self._spool = ArrowSpool(path, self.file, self.groups, self.weights)
            with read_errors(self.path):
                self._spool.parse(report)
            self.rows = self._spool.num_rows

    def remove_parsed(self) -> None:
        """Remove the file that `parse` has written."""
        if self._spool is not None:
            self._spool.remove()

    def vertex_batches(
        self, size: int, labels: list[str], text_labels: list[str]
    ) -> Iterator[list[Any]]:
        """Yield the names of additional vertices: those that the file declares, then `vertices`.

        Each batch has one column per label with at most `size` rows. A range from 0 yields ranges.

        Parameters
        ----------
        size : int
        labels : list of str
            The names of the columns.
        text_labels : list of str
            The labels of the columns that are text in the file of edges.
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

        Raises
        ------
        GraphError
            As for `read_edges` and `Graph`.
        InsufficientMemoryError
            If a record batch of an Arrow file takes more than `memory` bytes.
        """
        first_row, columns = 0, [*self.ids, *self.weights]
        for unchecked in self._tables(columns, size, memory):
            with _offset_rows(first_row):
                table = check_table(unchecked.select(columns), self.path, self.weights)
                frame = table.rename_columns(self.names).to_pandas(ignore_metadata=True)
                sources, destinations = (
                    [frames.get_column(frame, name, end) for name in names]
                    for end, names in zip(("source", "destination"), self.ends, strict=True)
                )
                weights = None
                if self.weights:
                    weights = frames.get_column(frame, self.names[-1], "weight")
                    weights = check_weights(weights, self.names[-1], np)
            yield Batch(sources, destinations, weights, len(table))
            first_row += len(table)

    def _tables(self, columns: list[str], size: int, memory: int) -> Iterator[Any]:
        import pyarrow

        if self._spool is not None:
            tables = self._spool.tables(_max_rows(memory, self._spool.row_bytes, size))
        elif isinstance(self.file, Parquet):
            tables = _parquet_tables(self.file, columns, size, memory)
        else:
            tables = _arrow_batches(self.file, columns, size, memory)
        while True:
            with read_errors(self.path):
                table = next(tables, None)
            if table is None:
                return
            if isinstance(table, pyarrow.RecordBatch):
                table = pyarrow.Table.from_batches([table])
            yield table

    def check_names(self, labels: list[str], batch: Batch, batches: Iterable[Batch]) -> None:
        """Raise GraphError, as `Graph` does, if a column of names holds floats.

        Parameters
        ----------
        labels : list of str
        batch : Batch
            The first batch with rows, which has the types.
        batches : iterator of Batch
            The other batches, which are read to the end if the error depends on them.
        """
        columns = [*self.ends[0], *self.ends[1]]
        kinds = [getattr(values.dtype, "kind", "O") for values in _name_columns(batch)]
        if "f" not in kinds:
            return
        index = kinds.index("f")
        # A missing name is reported before a fraction, a fraction before any other float.
        first_row, priority, row, value = 0, 3, 0, None
        for each in itertools.chain([batch], batches):
            values = _name_columns(each)[index]
            is_missing = np.isnan(values)
            is_fraction = (values != np.round(values)) | np.isinf(values)
            problems = is_missing, is_fraction, np.ones(each.num_rows, bool)
            for order, problem in enumerate(problems):
                if order < priority and problem.any():
                    priority, row = order, int(problem.argmax())
                    value, row = values[row : row + 1], row + first_row
            first_row += each.num_rows
        with _offset_rows(row):
            check_names(value, [*labels, *labels][index], columns[index])


def _name_columns(batch: Batch) -> list[Any]:
    return [*batch.sources, *batch.destinations]


def _max_rows(memory: int, row_bytes: int, size: int) -> int:
    """Return how many rows, at most `size`, can be converted at once within `memory` bytes."""
    return int(min(size, max(memory // 8 // max(row_bytes, 1), MIN_BATCH_ROWS)))


@contextlib.contextmanager
def _offset_rows(first_row: int) -> Iterator[None]:
    """Count the row of an error from the first row of the file, not of the batch."""
    try:
        yield
    except GraphError as error:
        if error.row is None:
            raise
        raise error.with_fields(row=error.row + first_row) from error


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


def _arrow_batches(file: Any, columns: list[str], size: int, memory: int) -> Iterator[Any]:
    """Yield record batches of an Arrow file, and an empty table."""
    import pyarrow

    schema = pyarrow.schema([file.schema.field(name) for name in columns])
    for batch in file.record_batches(columns, memory):
        for start in range(0, len(batch), size):
            yield batch.slice(start, size)
    yield schema.empty_table()
