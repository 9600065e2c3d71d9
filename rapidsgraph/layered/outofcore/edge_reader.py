"""Files of edges, batch by batch: what read_edges and Graph say about a file, without holding it.

Means: the same columns, checks and messages as there; rows count over the whole file.
Requires: Parquet of any size, in row groups of any size. Of an Arrow file a record batch must fit
  in memory. Text becomes an Arrow file first (parsing.py).
"""

import contextlib
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import frames
from ...errors import GraphError
from ...graph.vertex_names import check_names
from ...io import formats
from ...io.edge_files import POSITIONAL, _checked, _ends, read_vertices_as
from ...io.formats import checked, reading
from ...io.text_files import Matrix
from ...validation import check_path, check_vertex_range, check_vertices, check_weights
from .text_to_arrow import Parsed

READ_BYTES = 2**20  # of a Parquet column at a time
MIN_ROWS, SAMPLED_ROWS = 256, 1024  # read at once; measured for how wide text is


class Batch(NamedTuple):
    """Columns of some rows, as `frames.column` gives them; the weights as Graph takes them."""

    sources: list
    destinations: list
    weights: object
    rows: int


class EdgeFile:
    """A file of edges and the columns that are wanted of it.

    Attributes
    ----------
    ends : list of two lists of str
        What the columns of sources and of destinations are called in a frame of `read_edges`.
    rows : int or None
        None while it is not known, which is of text that `parse` has not read.
    largest_batch : int
        Bytes that the largest compressed batch of an Arrow file takes; 0 of other files.
    """

    def __init__(self, path, source, destination, weight, vertices=None):
        self.path = path = check_path(path)
        with reading(path):
            self.file = file = formats.opened(path, POSITIONAL)
            ends = _ends(file, path, source, destination)
            self.weights = [] if weight is None else [_checked(file, path, weight, "weight")]
            if ends[0] == ends[1] or {*self.weights} & {*ends[0], *ends[1]}:
                raise GraphError(
                    f"{path}: source, destination and weight must be different columns"
                )
            self.ids = list(dict.fromkeys([*ends[0], *ends[1]]))
            self.groups = [list(group) for group in zip(*ends, strict=True)]
            self.rows, self.parsed, self.largest_batch = None, None, 0
            if isinstance(file, formats.Parquet | formats.Arrow | Matrix):
                self.rows = file.facts(ends[0][0], ends[1][0])[0]
            if isinstance(file, formats.Arrow):
                sizes = file.sizes([*self.ids, *self.weights])
                self.largest_batch = max((size.nbytes for size in sizes), default=0)
        several = any(isinstance(given, list | tuple) for given in (source, destination))
        names = [*self.ids, *self.weights]
        self.names = names if several else POSITIONAL[: len(names)]
        self.ends = ends if several else [["source"], ["destination"]]
        if not isinstance(vertices, (str, Path)):
            vertices = check_vertex_range(vertices, len(self.groups))
        self.given_vertices = vertices

    @property
    def weighted(self):
        return bool(self.weights)

    @property
    def is_text(self):
        return isinstance(self.file, formats.Text)

    def count_rows(self):
        """Return the number of rows; of text that was not read yet, lines of comments count."""
        if self.rows is not None:
            return self.rows
        return self.file.facts(self.ids[0], self.ids[-1])[0]

    @property
    def vertex_ranges(self):
        """The ranges of integers among the further names of vertices, as a list."""
        several = getattr(self.file, "vertices", None), self.given_vertices
        return [vertices for vertices in several if isinstance(vertices, range)]

    def parse(self, folder, report):
        """Text becomes an Arrow file in `folder`; what else there is stays as it is."""
        if self.is_text:
            with reading(self.path):
                self.parsed, self.rows = Parsed(self.file, self.groups, self.weights).written(
                    folder / "parsed.arrow", report
                )

    def forget(self):
        """Remove what `parse` has written."""
        if self.parsed:
            self.parsed.path.unlink(missing_ok=True)

    def vertex_batches(self, size, labels, text_labels):
        """Yield further names of vertices: at most `size` rows of columns, one a label.

        A range from 0 is given as ranges.

        Those that the file declares, and those of `given_vertices`: a path, or what Graph takes.

        Parameters
        ----------
        size : int
        labels : list of str
            What the columns are called.
        text_labels : list of str
            Labels whose names in the file of edges are text.
        """
        given = self.given_vertices
        if isinstance(given, (str, Path)):
            given = read_vertices_as(given, labels, "cpu", text_labels)
        for vertices in (getattr(self.file, "vertices", None), given):
            vertices = check_vertex_range(vertices, len(labels))
            if isinstance(vertices, range):
                for start in range(vertices.start, vertices.stop, size):
                    stop = min(start + size, vertices.stop)
                    yield [np.arange(start, stop) if vertices.start else range(start, stop)]
            elif vertices is not None:
                columns = check_vertices(vertices, len(labels), labels, np)
                for start in range(0, len(columns[0]), size):
                    yield [values[start : start + size] for values in columns]

    def batches(self, size, room):
        """Each `Batch` of at most `size` rows, in the order of the file; the last has none.

        Raises
        ------
        GraphError
            As from read_edges and Graph.
        InsufficientMemoryError
            A record batch of an Arrow file takes more than `room` bytes, half of the limit.
        """
        first, columns = 0, [*self.ids, *self.weights]
        for table in self._tables(columns, size, room):
            with _rows_from(first):
                table = checked(table.select(columns), self.path, self.weights)
                frame = table.rename_columns(self.names).to_pandas(ignore_metadata=True)
                sources, destinations = (
                    [frames.column(frame, name, what) for name in names]
                    for what, names in zip(("source", "destination"), self.ends, strict=True)
                )
                weights = None
                if self.weights:
                    weights = frames.column(frame, self.names[-1], "weight")
                    weights = check_weights(weights, self.names[-1], np)
            yield Batch(sources, destinations, weights, len(table))
            first += len(table)

    def _tables(self, columns, size, room):
        import pyarrow

        if self.is_text:
            found = self.parsed.tables(rows_within(room, self.parsed.row_bytes, size))
        elif isinstance(self.file, formats.Parquet):
            found = _parquet(self.file, columns, size, room)
        else:
            found = _arrow(self.file, columns, size, room)
        while True:
            with reading(self.path):
                table = next(found, None)
            if table is None:
                return
            if isinstance(table, pyarrow.RecordBatch):
                table = pyarrow.Table.from_batches([table])
            yield table

    def check_names(self, labels, batch, batches):
        """Raise GraphError as Graph does where a column of names holds floats.

        Parameters
        ----------
        labels : list of str
        batch : Batch
            The first with rows, which shows the types.
        batches : iterator of Batch
            The others; read to the end where the error depends on them.
        """
        columns = list(zip([*labels, *labels], [*self.ends[0], *self.ends[1]], _ends_of(batch)))
        kinds = [getattr(values.dtype, "kind", "O") for *_, values in columns]
        if "f" not in kinds:
            return
        place = kinds.index("f")
        first, rank, row, value = 0, 3, None, None
        for each in itertools.chain([batch], batches):
            values = _ends_of(each)[place]
            missing = np.isnan(values)
            fractions = (values != np.round(values)) | np.isinf(values)
            for order, wrong in enumerate((missing, fractions, np.ones(each.rows, bool))):
                if order < rank and wrong.any():
                    rank, row = order, int(wrong.argmax())
                    value, row = values[row : row + 1], row + first
            first += each.rows
        with _rows_from(row):
            check_names(value, *columns[place][:2])


def _ends_of(batch):
    return [*batch.sources, *batch.destinations]


def rows_within(room, row_bytes, size):
    """How many rows, at most `size`, to read at once where they are converted within `room`."""
    return int(min(size, max(room // 8 // max(row_bytes, 1), MIN_ROWS)))


@contextlib.contextmanager
def _rows_from(first):
    """Count the row of an error from the first row of the file, not of the batch."""
    try:
        yield
    except GraphError as error:
        if error.row is None:
            raise
        raise error.with_fields(row=error.row + first) from error


def _parquet(file, columns, size, room):
    """Pages are decoded as they are needed, so that row groups may be of any size."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([file.dataset.schema.field(name) for name in columns])
    for path in file.paths:
        with pyarrow.parquet.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as parquet:
            there = set(parquet.schema_arrow.names)
            missing = [name for name in columns if name not in there]
            kept = [name for name in columns if name in there]
            sample = next(parquet.iter_batches(SAMPLED_ROWS, columns=kept), ())
            row_bytes = 2 * sample.nbytes // len(sample) if len(sample) else 0
            for batch in parquet.iter_batches(rows_within(room, row_bytes, size), columns=kept):
                table = pyarrow.Table.from_batches([batch])
                table.validate(full=True)
                for name in missing:
                    none = pyarrow.nulls(len(table), schema.field(name).type)
                    table = table.append_column(name, none)
                yield table.select(columns).cast(schema)
    yield schema.empty_table()


def _arrow(file, columns, size, room):
    import pyarrow

    none = pyarrow.schema([file.schema.field(name) for name in columns]).empty_table()
    for batch in file.record_batches(columns, room):
        for start in range(0, len(batch), size):
            yield batch.slice(start, size)
    yield none
