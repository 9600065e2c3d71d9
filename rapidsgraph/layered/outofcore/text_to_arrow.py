"""Parse a text file of edges once, into an Arrow file of the needed columns.

Values and errors are those of `io.text_files`, block by block. Whether names are integers is known
only at the end of the file. The entries of a symmetric matrix are read twice.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...io.matrix_market import Matrix
from ...io.text_files import Text, to_integers
from ...io.text_stream import LineBreakInQuotes


class ArrowSpool:
    """The columns of a text file in an Arrow file.

    Parameters
    ----------
    path : Path
        The Arrow file, which `parse` writes.
    file : Text
    groups : list of list of str
        The columns of sources and destinations that hold the same part of a name.
    numbers : list of str
        Columns of weights.

    Attributes
    ----------
    path : Path
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
            num_rows = self._write(pa.int64(), report)
        except pa.ArrowInvalid:
            if self._matrix is not None:
                self._file.raise_first_error(self._ids, self._numbers)
                raise
            self._integer_groups = [group for group in self._groups if len(self._groups) > 1]
            try:
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
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            pa.OSFile(os.fsencode(self.path), "wb") as out,
            pa.ipc.new_file(out, schema, options=options) as writer,
        ):
            for batch in self._parse_blocks(schema):
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

    def _parse_blocks(self, schema: Any) -> Iterator[Any]:
        """Yield record batches of the text."""
        from pyarrow import csv

        types = dict(zip(schema.names, schema.types, strict=True))
        if self._file.has_rows:
            with self._file.arrow_options(types) as options, csv.open_csv(*options) as batches:
                yield from batches

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

    def remove(self) -> None:
        """Remove the Arrow file."""
        self.path.unlink(missing_ok=True)


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
