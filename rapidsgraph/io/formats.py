"""One reader and one writer for each kind of file, to and from Arrow tables.

`opened(path)` gives a `Parquet`, an `Arrow`, a `Text` or a `Matrix`. They share `.names` (the
columns), `.read(groups, numbers)` and `.facts(source, destination)`; a group is a list of columns
that hold names of one kind. `files.py` is the public side.
"""

import contextlib
import csv
import io
import itertools
import os
import struct
import zlib
from pathlib import Path

from ..atomic import is_no_space
from ..errors import GraphError, InsufficientMemoryError
from .ipc_metadata import batch_sizes
from .text_files import DELIMITERS, Matrix, Text, is_number

ROWS = 2**16  # written at once as text
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # of Arrow's streaming format

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".edges": "text",
    ".el": "text",
    ".mtx": "mtx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
}


def format_of(path):
    """csv, tsv, text, mtx, parquet or arrow, by the ending of `path`.

    Raises
    ------
    GraphError
        An ending that is not known, or `.gz` behind one that is compressed inside.
    """
    is_packed = path.suffix.lower() == ".gz"
    ending = (Path(path.stem) if is_packed else path).suffix.lower()
    kind = ENDINGS.get(ending)
    if kind is None:
        text = [each for each in ENDINGS if ENDINGS[each] in DELIMITERS]
        raise GraphError(
            f"{path}: the ending {ending!r} is not known; known are {' '.join(ENDINGS)}, and .gz "
            f"behind {' '.join(text)}"
        )
    if is_packed and kind not in DELIMITERS:
        raise GraphError(f"{path}: {ending} is compressed inside and cannot be read from .gz")
    return kind


@contextlib.contextmanager
def reading(path):
    """Turn what readers raise about missing and damaged files into a GraphError."""
    try:
        yield
    except GraphError:
        raise
    except MemoryError as error:
        if type(error) is MemoryError:
            raise
        raise _damaged(path, error) from error  # ArrowMemoryError, of a length that is not sound
    except FileNotFoundError as error:
        raise GraphError(f"{path}: there is no such file") from error
    except PermissionError as error:
        raise GraphError(f"{path}: there is no permission to read it") from error
    except OSError as error:
        if is_no_space(error):  # of something that is written meanwhile, with its own path
            raise
        raise _damaged(path, error) from error
    except (EOFError, zlib.error) as error:
        raise GraphError(f"{path}: the gzip data are truncated or damaged ({error})") from error
    except UnicodeDecodeError as error:
        if _is_binary(path):
            raise _damaged(path, error) from error
        raise GraphError(f"{path}: the text is not UTF-8 ({error}); convert it first") from error
    except struct.error as error:
        raise _damaged(path, "an offset leads outside the file") from error
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{ascii(str(path))}: its path, or one beside it, is not valid Unicode, as this format "
            "needs it; rename it"
        ) from error
    except (ValueError, csv.Error, NotImplementedError, TypeError, KeyError) as error:
        raise _damaged(path, error) from error
    except Exception as error:
        import pyarrow

        if not isinstance(error, pyarrow.ArrowException):
            raise
        raise _damaged(path, error) from error


def _is_binary(path):
    return Path(path).is_dir() or ENDINGS.get(Path(path).suffix.lower()) in ("parquet", "arrow")


def _damaged(path, reason):
    reason = (str(reason) or type(reason).__name__).splitlines()[0]
    return GraphError(f"{path}: truncated, damaged or no such format ({reason})")


def opened(path, positional):
    """The file as `Parquet`, `Arrow`, `Text` or `Matrix`.

    Parameters
    ----------
    positional : list of str
        What the first columns of a text file without a header are called.
    """
    size = path.stat().st_size  # a missing file is told before an unknown ending
    kind = "parquet" if path.is_dir() else format_of(path)
    if size == 0:
        raise GraphError(f"{path}: the file is empty")
    if kind == "parquet":
        return Parquet(path)
    if kind == "arrow":
        return Arrow(path)
    return Matrix(path) if kind == "mtx" else Text(path, kind, positional)


def kind_of_id(schema, *names):
    """ "integer" or "string": what the named columns hold."""
    from pyarrow import types

    kinds = [schema.field(name).type for name in names]
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    return "integer" if all(map(types.is_integer, kinds)) else "string"


class Parquet:
    """A Parquet file, or all Parquet files in and below a folder."""

    def __init__(self, path):
        import pyarrow.dataset

        self.paths = [str(path)]
        if path.is_dir():
            found = [each for each in path.rglob("*") if each.suffix in (".parquet", ".pq")]
            self.paths = sorted(str(each) for each in found if each.name[0] not in "._")
        if not self.paths:
            raise GraphError(f"{path}: the folder holds no .parquet or .pq file")
        self.dataset = pyarrow.dataset.dataset(self.paths, format="parquet")
        self.names = self.dataset.schema.names

    def read(self, groups, numbers):
        table = self.dataset.to_table(columns=_columns(groups, numbers))
        table.validate(full=True)
        return table

    def has_numbers(self, names):
        return all(is_plain_number(self.dataset.schema.field(name).type) for name in names)

    def facts(self, source, destination):
        """(rows, kind of id, smallest and largest id if they are recorded), from metadata."""
        import pyarrow.parquet

        rows, low, high = 0, [], []
        kind = kind_of_id(self.dataset.schema, source, destination)
        for path in self.paths:
            metadata = pyarrow.parquet.read_metadata(path)
            rows += metadata.num_rows
            for place in range(metadata.num_columns if kind == "integer" else 0):
                declared = metadata.schema.column(place)
                if declared.path not in (source, destination):
                    continue
                for group in map(metadata.row_group, range(metadata.num_row_groups)):
                    column = group.column(place)
                    if column.physical_type != declared.physical_type:
                        # PyArrow ends the process when it is asked for statistics of such a column.
                        raise _damaged(path, f"column {declared.path!r} has two types")
                    if column.num_values:
                        recorded = column.is_stats_set and column.statistics.has_min_max
                        low.append(column.statistics.min if recorded else None)
                        high.append(column.statistics.max if recorded else None)
        is_known = low and None not in low
        return rows, kind, (min(low), max(high)) if is_known else None

    def text_facts(self, names):
        """(bytes, longest) of the text in some columns."""
        return _text_facts(self.dataset.to_batches(columns=names, batch_size=ROWS))


class Arrow:
    """An Arrow IPC file (which is what Feather is) or stream."""

    def __init__(self, path):
        self.path = path
        with self._batches() as batches:
            self.schema = batches.schema
        self.names = self.schema.names

    @contextlib.contextmanager
    def _batches(self, columns=()):
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file:
            is_file = file.read(6) == b"ARROW1"
            if not is_file and file.size() > 8:
                file.seek(file.size() - 8)
                if file.read(8) != END_OF_STREAM:  # a stream cut between messages reads as shorter
                    raise GraphError(
                        f"{self.path}: truncated, damaged or no such format (its end is missing)"
                    )
            file.seek(0)
            kept = [self.names.index(name) for name in columns] or None
            options = pyarrow.ipc.IpcReadOptions(included_fields=kept)
            start = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
            with start(file, options=options) as batches:
                yield batches

    def sizes(self, columns):
        """A list of `ipc_metadata.BatchSize`; nothing is decompressed."""
        import pyarrow

        with pyarrow.memory_map(os.fsencode(self.path)) as file, reading(self.path):
            try:
                return [*batch_sizes(memoryview(file.read_buffer()), self.schema, columns)]
            except (GraphError, struct.error) as error:
                raise _damaged(self.path, error) from error

    def read(self, groups, numbers):
        import numpy as np

        from .. import device

        columns = _columns(groups, numbers)
        needed, free = sum(size.nbytes for size in self.sizes(columns)), device.free_memory(np)
        if needed > free:
            raise InsufficientMemoryError(f"{self.path}: reading it", needed, free, "in memory")
        with self._batches(columns) as batches:
            table = batches.read_all().select(columns)
        table.validate(full=True)  # or a damaged offset is followed wherever it leads
        return table

    def record_batches(self, columns, limit):
        """Yield the record batches, checked and with these columns alone.

        Raises
        ------
        GraphError
            Damaged contents.
        InsufficientMemoryError
            A compressed batch, with all dictionaries, takes more than `limit` bytes.
        """
        sizes = self.sizes(columns)
        dictionaries = sum(size.nbytes for size in sizes if size.is_dictionary)
        for size in sizes:
            needed = dictionaries + (0 if size.is_dictionary else size.nbytes)
            if needed > limit:
                raise InsufficientMemoryError(
                    f"{self.path}: reading a compressed batch of {size.rows:,} rows",
                    2 * needed, 2 * limit, "memory_limit",
                )  # fmt: skip
        with self._batches(columns) as batches:
            if hasattr(batches, "num_record_batches"):
                batches = map(batches.get_batch, range(batches.num_record_batches))
            for batch in batches:
                batch = batch.select(columns)
                batch.validate(full=True)
                yield batch

    def facts(self, source, destination):
        """(rows, kind of id, None), from metadata."""
        rows = sum(size.rows for size in self.sizes([]) if not size.is_dictionary)
        return rows, kind_of_id(self.schema, source, destination), None

    def text_facts(self, names):
        """(bytes, longest) of the text in some columns."""
        with self._batches(names) as batches:
            if hasattr(batches, "num_record_batches"):
                batches = map(batches.get_batch, range(batches.num_record_batches))
            return _text_facts(batches)


def _text_facts(batches):
    import pyarrow as pa
    import pyarrow.compute as pc

    total = longest = 0
    for batch in batches:
        for column in batch.columns:
            lengths = pc.binary_length(column.cast(pa.large_string()))
            total += pc.sum(lengths).as_py() or 0
            longest = max(longest, pc.max(lengths).as_py() or 0)
    return total, longest


def _columns(groups, numbers):
    return list(dict.fromkeys([*itertools.chain(*groups), *numbers]))


def is_plain_number(kind):
    """Whether an Arrow type is of integers or floating-point numbers."""
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind)


def checked(table, path, numbers):
    """The table without dictionaries and decimals.

    Raises
    ------
    GraphError
        A missing value, or something else than numbers in the columns `numbers`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise GraphError(f"{path}: column {name!r} has no value in row {row}")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in numbers and pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if name in numbers and not is_plain_number(column.type):
            values = column.to_pylist()
            no_number = (row for row, value in enumerate(values) if not is_number(str(value)))
            row = next(no_number, 0)
            example = f", such as {str(values[row])!r} in row {row}" if values else ""
            raise GraphError(
                f"{path}: column {name!r} holds {column.type} where numbers are needed{example}"
            )
        table = table.set_column(place, name, column)
    return table


def write(table, file, kind):
    """Write an Arrow table into a binary file.

    Raises
    ------
    GraphError
        What the format cannot express; the message names one that can.
    """
    import pyarrow as pa

    if kind == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, file, compression="zstd")
    elif kind == "arrow":
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
    elif kind == "mtx":
        _write_matrix(table, file)
    else:
        _write_text(table, file, kind)


def _write_text(table, file, kind):
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "text":
        for name, column in zip(table.column_names, table.columns):
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            spaced = is_text and pc.match_substring_regex(column, r"^[#%\x{FEFF}]|[\s\v]|^$")
            if column.null_count or (is_text and pc.any(spaced).as_py()):
                raise GraphError(
                    f"column {name!r} has missing values, or names with spaces or a leading "
                    "comment sign or byte order mark, which SNAP text cannot hold; write .csv, "
                    ".tsv or .parquet"
                )
    head = io.StringIO()
    separator = "\t" if kind == "text" else DELIMITERS[kind]
    csv.writer(head, delimiter=separator, lineterminator="\n").writerow(table.column_names)
    file.write((("# " if kind == "text" else "") + head.getvalue()).encode())
    _write_rows(table, file, separator, is_quoted=kind != "text")


def _write_rows(table, file, separator, *, is_quoted=False):
    """Lines of fields; with `is_quoted` text in quotes where it needs them.

    Arrow's own writer puts either all text in quotes or none.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in table.to_batches(ROWS) if len(table) else ():
        fields = [_fields(column, separator, is_quoted) for column in batch.columns]
        rows = pc.binary_join_element_wise(*fields, _text(separator), null_handling="replace")
        rows = pc.binary_join(pa.LargeListArray.from_arrays([0, len(rows)], rows), _text("\n"))
        file.write(rows[0].as_buffer())
        file.write(b"\n")


def _fields(column, separator, is_quoted):
    """A column as text; what is missing stays so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = pc.cast(column, pa.large_string())
    if not is_quoted or is_plain_number(column.type):
        return fields
    special = pc.match_substring_regex(fields, rf'["\r\n{separator}]|^$')
    quoted = pc.replace_substring(fields, '"', '""')
    quoted = pc.binary_join_element_wise(_text('"'), quoted, _text('"'), _text(""))
    return pc.if_else(special, quoted, fields)


def _text(value):
    import pyarrow as pa

    return pa.scalar(value, pa.large_string())


def _write_matrix(table, file):
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = [name for name in ("source", "destination") if name in table.column_names]
    columns = [table[name] for name in ids]
    if len(ids) < 2 or not all(pa.types.is_integer(column.type) for column in columns):
        raise GraphError(
            "a Matrix Market file holds edges between integers from 1: columns 'source' and "
            f"'destination', and 'weight' if there is one; these are {table.schema.names}"
        )
    bounds = [pc.min_max(column).as_py() for column in columns]
    if len(table) and (
        any(c.null_count for c in columns) or min(each["min"] for each in bounds) < 1
    ):
        raise GraphError(
            "a Matrix Market file holds ids from 1 on, and some are 0, negative or missing; add 1 "
            "to all if they count from 0, or write .csv or .parquet"
        )
    size, field = max((each["max"] for each in bounds), default=0) if len(table) else 0, "pattern"
    if "weight" in table.column_names:
        columns.append(table["weight"])
        field = "integer" if pa.types.is_integer(table["weight"].type) else "real"
    banner = f"%%MatrixMarket matrix coordinate {field} general\n{size} {size} {len(table)}\n"
    file.write(banner.encode())
    names = ["source", "destination", "weight"][: len(columns)]
    _write_rows(pa.table(columns, names), file, " ")
