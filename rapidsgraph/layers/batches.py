"""Files of edges, batch by batch: what read_edges and Graph say about a file, without holding it.

Means: the same columns, checks and messages as there; rows count over the whole file.
Requires: Parquet of any size, in row groups of any size. Of an Arrow file a record batch must fit
  in memory. Text is read once, into an Arrow file of the columns that are needed, because whether
  its names are integers shows only at its end.
"""

import contextlib
import itertools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import formats, frames
from ..errors import GraphError, NotEnoughMemory
from ..files import POSITIONAL, _checked, _ends
from ..formats import checked, reading
from ..inputs import checked_weights
from ..textfiles import DELIMITERS, _Cleaner

READ_BYTES = 2**20  # of a Parquet column at a time


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
        None while it is not known.
    """

    def __init__(self, path, source, destination, weight):
        self.path = path = Path(path).expanduser()
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
            self.rows, self.parsed = None, None
            if not isinstance(file, formats.Text):
                self.rows = file.facts(ends[0][0], ends[1][0])[0]
        several = any(isinstance(given, list | tuple) for given in (source, destination))
        names = [*self.ids, *self.weights]
        self.names = names if several else POSITIONAL[: len(names)]
        self.ends = ends if several else [["source"], ["destination"]]

    @property
    def weighted(self):
        return bool(self.weights)

    @property
    def is_text(self):
        return isinstance(self.file, formats.Text)

    def parse(self, folder, report):
        """Text becomes an Arrow file in `folder`; what else there is stays as it is."""
        if self.is_text:
            with reading(self.path):
                self.parsed, self.rows = _Parsed(self.file, self.groups, self.weights).written(
                    folder / "parsed.arrow", report
                )

    def batches(self, size, room):
        """Each `Batch` of at most `size` rows, in the order of the file.

        Raises
        ------
        GraphError
            As from read_edges and Graph.
        NotEnoughMemory
            A record batch of an Arrow file takes more than `room` bytes.
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
                    weights = checked_weights(weights, self.names[-1], np)
            yield Batch(sources, destinations, weights, len(table))
            first += len(table)

    def _tables(self, columns, size, room):
        import pyarrow

        if self.is_text:
            found = self.parsed.tables(size)
        elif isinstance(self.file, formats.Parquet):
            found = _parquet(self.file, columns, size)
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


@contextlib.contextmanager
def _rows_from(first):
    """Have messages about a row count rows from those before the batch."""
    try:
        yield
    except GraphError as error:
        message = re.sub(r"\brow (\d+)\b", lambda row: f"row {int(row[1]) + first}", str(error))
        raise GraphError(message) from error


def _parquet(file, columns, size):
    """Pages are decoded as they are needed, so that row groups may be of any size."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([file.dataset.schema.field(name) for name in columns])
    yield schema.empty_table()
    for path in file.paths:
        with pyarrow.parquet.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as parquet:
            there = set(parquet.schema_arrow.names)
            missing = [name for name in columns if name not in there]
            kept = [name for name in columns if name in there]
            for batch in parquet.iter_batches(size, columns=kept):
                table = pyarrow.Table.from_batches([batch])
                for name in missing:
                    none = pyarrow.nulls(len(table), schema.field(name).type)
                    table = table.append_column(name, none)
                yield table.select(columns).cast(schema)


def _arrow(file, columns, size, room):
    import pyarrow

    with file._batches(columns) as batches:
        yield batches.schema.empty_table().select(columns)
        if hasattr(batches, "num_record_batches"):
            batches = map(batches.get_batch, range(batches.num_record_batches))
        batches = iter(batches)
        while True:
            before = pyarrow.total_allocated_bytes()
            batch = next(batches, None)
            if batch is None:
                return
            taken = pyarrow.total_allocated_bytes() - before
            if taken > room:
                raise NotEnoughMemory(
                    f"{file.path}: a compressed batch of {len(batch):,} rows", taken, room,
                    "within the limit",
                )  # fmt: skip
            for start in range(0, len(batch), size):
                yield batch.slice(start, size).select(columns)


class _Parsed:
    """The columns of a text file in an Arrow file."""

    def __init__(self, file, groups, numbers):
        self.file, self.groups, self.numbers = file, groups, numbers
        self.ids = list(dict.fromkeys(itertools.chain(*groups)))
        self.integers = []

    def written(self, path, report):
        """(self, rows), after one pass over the text, or two where names are no integers."""
        import pyarrow as pa

        self.path = path
        try:
            self.rows = self._write(pa.int64(), report)
        except pa.ArrowInvalid:
            if self.file.kind == "mtx":
                self.file._blame(self.ids, self.numbers)
                raise
            self.integers = [group for group in self.groups if len(self.groups) > 1]
            try:
                self.rows = self._write(pa.string(), report)
            except pa.ArrowInvalid:
                self.file._blame(self.ids, self.numbers)
                raise
        rows, mirrored = self.rows, 0
        if self.file.kind == "mtx":
            if rows != self.file.entries:
                raise GraphError(
                    f"{self.file.path}: there are {rows} entries and the size line promises "
                    f"{self.file.entries}; the file is truncated or damaged"
                )
            mirrored = self.mirrored
        return self, rows + mirrored

    def _write(self, id_type, report):
        import pyarrow as pa

        schema = pa.schema(
            [(name, id_type) for name in self.ids]
            + [(name, getattr(pa, self.file.number_type)()) for name in self.numbers]
        )
        rows, self.mirrored = 0, 0
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(str(self.path), "wb") as out, pa.ipc.new_file(
            out, schema, options=options
        ) as writer:  # fmt: skip
            for batch in self._parsed_batches(schema):
                if any(column.null_count for column in batch.columns):
                    self.file._blame(self.ids, self.numbers)
                if self.file.kind == "mtx":
                    batch = self._from_zero(batch)
                self.integers = [g for g in self.integers if _are_integers(batch, g)]
                writer.write_batch(batch)
                rows += len(batch)
                report(f"{rows:,} rows read")
        return rows

    def _parsed_batches(self, schema):
        """As Text._table reads, block by block."""
        import pyarrow as pa
        from pyarrow import csv

        file = self.file
        if not file.has_rows:
            return
        quote = '"' if file.kind in ("csv", "tsv") else False
        with file._bytes() as text:
            stream = text if quote else pa.TransformInputStream(pa.input_stream(text), _Cleaner())
            with csv.open_csv(
                stream,
                csv.ReadOptions(column_names=file.names, skip_rows=file.header_lines),
                csv.ParseOptions(delimiter=DELIMITERS[file.kind], quote_char=quote),
                csv.ConvertOptions(
                    column_types=schema,
                    include_columns=schema.names,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            ) as batches:
                yield from batches

    def _from_zero(self, batch):
        """Entries of a matrix as edges."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in self.ids if len(batch) else ():
            bounds = pc.min_max(batch[name]).as_py()
            if bounds["min"] < 1 or bounds["max"] > self.file.size:
                self.file._blame(self.ids, self.numbers)
        columns = [*(pc.subtract(batch[n], 1) for n in self.ids), *(batch[n] for n in self.numbers)]
        if self.file.is_symmetric:
            self.mirrored += pc.sum(pc.not_equal(*columns[:2])).as_py() or 0
        return pa.record_batch(columns, schema=batch.schema)

    def tables(self, size):
        """Tables of at most so many rows; of a symmetric matrix the other half behind the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        integers = {name for group in self.integers for name in group}
        for half in range(1 + (self.file.kind == "mtx" and self.file.is_symmetric)):
            with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as batches:
                fields = [
                    pa.field(f.name, pa.int64()) if f.name in integers else f
                    for f in batches.schema
                ]
                schema = pa.schema(fields)
                yield schema.empty_table()
                count = batches.num_record_batches
                for batch in _gathered(map(batches.get_batch, range(count)), size):
                    table = batch.cast(schema)
                    if half:
                        proper = pc.not_equal(table[self.ids[0]], table[self.ids[1]])
                        table = table.filter(proper)
                        swapped = [*reversed(self.ids), *self.numbers]
                        table = table.select(swapped).rename_columns(schema.names)
                    yield table


def _are_integers(batch, group):
    import pyarrow as pa
    import pyarrow.compute as pc

    with contextlib.suppress(pa.ArrowInvalid):
        return all(pc.cast(batch[name], pa.int64()) is not None for name in group)
    return False


def _gathered(batches, size):
    """Tables of at most `size` rows of smaller batches, which are cut where they are larger."""
    import pyarrow as pa

    kept, rows = [], 0
    for batch in batches:
        for start in range(0, len(batch), size):
            piece = batch.slice(start, size)
            if rows + len(piece) > size:
                yield pa.Table.from_batches(kept)
                kept, rows = [], 0
            kept.append(piece)
            rows += len(piece)
    if kept:
        yield pa.Table.from_batches(kept)
