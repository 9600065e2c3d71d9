"""Text that holds edges, once, into an Arrow file of the columns that are needed.

Means: the values and messages of textfiles.py, block by block. Whether names are integers shows
  only at the end of a file, and a symmetric matrix goes twice through its entries.
Requires: room on the disk for the columns; in memory some blocks.
"""

import contextlib
import itertools
import os

from ...errors import GraphError
from ...io.text_files import LineBreakInQuotes, to_integers


class Parsed:
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
        """Write the Arrow file; return the number of rows."""
        try:
            return self._write_blocks(id_type, report)
        except LineBreakInQuotes:
            self.file.check_quotes()
            return self._write_blocks(id_type, report)

    def _write_blocks(self, id_type, report):
        import pyarrow as pa

        schema = pa.schema(
            [(name, id_type) for name in self.ids]
            + [(name, getattr(pa, self.file.number_type)()) for name in self.numbers]
        )
        rows, nbytes, self.mirrored = 0, 0, 0
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(os.fsencode(self.path), "wb") as out, pa.ipc.new_file(
            out, schema, options=options
        ) as writer:  # fmt: skip
            for batch in self._parsed_batches(schema):
                if any(column.null_count for column in batch.columns):
                    self.file._blame(self.ids, self.numbers)
                if self.file.kind == "mtx":
                    self._check_entries(batch)
                self.integers = [g for g in self.integers if _are_integers(batch, g)]
                writer.write_batch(batch)
                rows, nbytes = rows + len(batch), nbytes + batch.nbytes
                report(f"{rows:,} rows read")
        self.row_bytes = 2 * nbytes // max(rows, 1)
        return rows

    def _parsed_batches(self, schema):
        """As Text._table reads, block by block."""
        from pyarrow import csv

        types = dict(zip(schema.names, schema.types, strict=True))
        if self.file.has_rows:
            with self.file.arrow_options(types) as options, csv.open_csv(*options) as batches:
                yield from batches

    def _check_entries(self, batch):
        """Check the ids of a matrix; count the entries that a symmetric one leaves out."""
        import pyarrow.compute as pc

        for name in self.ids if len(batch) else ():
            bounds = pc.min_max(batch[name]).as_py()
            if bounds["min"] < 1 or bounds["max"] > self.file.size:
                self.file._blame(self.ids, self.numbers)
        if self.file.is_symmetric:
            proper = pc.not_equal(batch[self.ids[0]], batch[self.ids[1]])
            self.mirrored += pc.sum(proper).as_py() or 0

    def tables(self, size):
        """Tables of at most so many rows; of a symmetric matrix the other half behind the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        integers = {name for group in self.integers for name in group}
        for half in range(1 + (self.file.kind == "mtx" and self.file.is_symmetric)):
            with pa.memory_map(os.fsencode(self.path)) as file, pa.ipc.open_file(file) as batches:
                fields = [
                    pa.field(f.name, pa.int64()) if f.name in integers else f
                    for f in batches.schema
                ]
                schema = pa.schema(fields)
                count = batches.num_record_batches
                for batch in _gathered(map(batches.get_batch, range(count)), size):
                    table = batch.cast(schema)
                    if half:
                        proper = pc.not_equal(table[self.ids[0]], table[self.ids[1]])
                        table = table.filter(proper)
                        swapped = [*reversed(self.ids), *self.numbers]
                        table = table.select(swapped).rename_columns(schema.names)
                    yield table
        yield schema.empty_table()


def _are_integers(batch, group):
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowInvalid):
        if pa.types.is_integer(batch[group[0]].type):
            return True
        return all(to_integers(batch[name]) is not None for name in group)
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
