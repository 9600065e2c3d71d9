"""Write result and edge files atomically.

No file is written into the folder of a stored layered edge list, which it would damage. A file
behind a URL is written to a temporary folder first.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..atomic import (
    atomic_write,
    check_regular_file,
    resolve_links,
    write_error,
)
from ..errors import GraphError
from ..frames import Frame
from ..validation import check_path
from .formats import (
    DELIMITERS,
    Format,
    check_format,
    enclosing_store,
    format_of,
    open_compressor,
    split_endings,
)
from .inputs import Name, spool_errors, spool_folder, stream_name
from .remote import RemotePath, check_storage_options, display_url, is_url, strip_file_url

BATCH_ROWS = 2**16  # converted to text at once


def write_frame(
    frame: Frame,
    path: str | os.PathLike[str] | IO[bytes],
    format: Format | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Write a frame to a file; an existing file is replaced after the last byte is written.

    The mode and, where permitted, the owner of a replaced file are preserved. If writing fails, the
    existing file is unchanged and no other file is left behind.

    Parameters
    ----------
    frame : pandas.DataFrame, cudf.DataFrame or pyarrow.Table
        Results or edges. A frame of another library works if it has ``to_arrow()``.
    path : str, path or binary file object
        A file, a URL, or an open file. The ending determines the format. In CSV and TSV, missing
        values are empty and empty text is ``""``, which `read_edges` reads as missing; if any text
        needs quotes, all text is quoted. In JSON Lines, missing values, NaN and infinity are null.
        SNAP text has the column names in a comment. A Matrix Market file can only have edges
        between integers >= 1, which are not changed.
    format : str, optional
        Format instead of that of the ending; an open file needs it.
    storage_options : mapping, optional
        Options of the file system of a URL, as in `read_edges`.

    Raises
    ------
    GraphError
        As in `check_writable`; the format cannot hold a value; or the disk is full, with the number
        of bytes needed.
    """
    path = strip_file_url(path)
    name: Name
    check_storage_options(path, storage_options)
    if hasattr(path, "write"):
        name, compression = stream_name(path), None
        format = _check_stream(path, name, format)
    else:
        name = display_url(path) if is_url(path) else check_path(path)
        format = check_writable(path, format=format, storage_options=storage_options)
        compression = split_endings(name)[1]
    import pyarrow as pa

    def write(file: Any) -> None:
        _write(table, file, name, format, compression)

    try:
        table = _to_arrow(frame)
        if hasattr(path, "write"):
            write(path)
        elif is_url(path):
            remote = RemotePath(str(path), storage_options)
            with spool_folder() as folder:
                with spool_errors(name, folder), open(folder / "result", "wb") as file:
                    write(file)
                remote.upload(folder / "result")
        else:
            save_atomically(check_path(path), write)
    except pa.ArrowException as error:
        raise write_error(name, error) from error
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{name}: {error.object!a} is not valid Unicode; replace it",
            path=name,
            value=error.object,
        ) from error


def _check_stream(file: Any, name: Name, format: Format | None) -> Format:
    """Return `format`; check that it is given, and that a file is binary and open for writing."""
    if hasattr(file, "writable") and not file.writable():
        raise GraphError(f"{name}: the file is not open for writing", parameter="path", path=name)
    if hasattr(file, "encoding"):
        raise GraphError(
            f"{name}: it is a text file; open it in binary mode, as by open(path, 'wb') or "
            "io.BytesIO()",
            parameter="path",
            path=name,
            hint="open it in binary mode",
        )
    check_format(format)
    if format is None:
        raise GraphError(
            f"{name}: pass the {{parameter}} of an open file, such as format='csv'",
            parameter="format",
            path=name,
            hint="pass format='csv'",
        )
    return format


def check_writable(
    path: str | os.PathLike[str],
    endings: Sequence[str] | None = None,
    *,
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """Check that a file can be written, before its contents are computed.

    Parameters
    ----------
    path : str or path
        A file; or a URL, of which only the ending and the packages for it are checked.
    endings : sequence of str, optional
        Allowed endings; by default those of `write_frame`.
    format : str, optional
        Format, whatever the ending is.
    storage_options : mapping, optional
        Options of the file system of a URL.

    Returns
    -------
    str
        The format, or the ending if `endings` were given.

    Raises
    ------
    GraphError
        If the ending is unknown, the folder does not exist or is not writable, or `path` is inside
        a stored layered edge list or not a regular file: a folder, a device such as
        ``/dev/stdout``, a FIFO, a socket.
    """
    check_format(format)
    if endings is None:
        path = strip_file_url(path)
        check_storage_options(path, storage_options)
        if is_url(path):
            RemotePath(str(path), storage_options)
            return format or format_of(display_url(path))
    file_path = check_path(path)
    folder = resolve_destination(file_path).parent
    check_regular_file(file_path)
    ending = file_path.suffix.lower()
    if endings is not None and ending not in endings:
        raise GraphError(
            f"{file_path}: the ending {ending!r} is not known; try {' '.join(endings)}",
            path=file_path,
            value=ending,
        )
    name = (format or format_of(file_path)) if endings is None else ending
    if not folder.is_dir():
        raise GraphError(
            f"{file_path}: the folder {folder} does not exist; create it first", path=file_path
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GraphError(
            f"{file_path}: there is no permission to write into the folder {folder}", path=file_path
        )
    return name


def resolve_destination(path: str | os.PathLike[str]) -> Path:
    """Return the path that a write to `path` creates or replaces, with all links followed.

    Raises
    ------
    GraphError
        If it is inside a stored layered edge list, or a loop of links.
    """
    final = resolve_links(path)
    store = enclosing_store(final)
    if store:
        raise GraphError(
            f"{path}: the folder {store} is a layered edge list, which another file would damage; "
            "choose another folder",
            path=path,
        )
    return final


def save_atomically(path: Path, save: Callable[[Any], object]) -> None:
    """Replace a file by the output of `save`, which is called with a binary file.

    If space is missing, `save` is called again, to count the bytes for the message.
    """

    def count_bytes() -> int:
        counter = ByteCounter()
        save(counter)
        return counter.size

    try:
        with atomic_write(path) as file:
            save(file)
    except OSError as error:
        raise write_error(path, error, count_bytes) from error


class ByteCounter(io.RawIOBase):
    """A binary file that discards its contents and counts their bytes."""

    def __init__(self) -> None:
        self.position = self.size = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Count the bytes of a buffer."""
        count = memoryview(data).nbytes
        self.position += count
        self.size = max(self.size, self.position)
        return count

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Change the position."""
        self.position = position + (0, self.position, self.size)[whence]
        return self.position


def _to_arrow(frame: Frame) -> Any:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    library = type(frame).__module__.split(".")[0]
    if library == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame.to_arrow(preserve_index=False) if library == "cudf" else frame.to_arrow()


def _write(table: Any, file: Any, path: Name, format: Format, compression: str | None) -> None:
    """Write an Arrow table into a binary file; `path` is the name for messages."""
    with open_compressor(file, compression) as content:
        WRITERS[format](table, content, path, format)


def _write_parquet(table: Any, file: Any, path: Name, format: Format) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, file, compression="zstd")


def _write_arrow(table: Any, file: Any, path: Name, format: Format) -> None:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table)


def _write_csv(table: Any, file: Any, path: Name, format: Format) -> None:
    """Write CSV or TSV by PyArrow, which puts all text of a file in quotes or none."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    delimiter = DELIMITERS[format]
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
    file.write(header.getvalue().encode())
    needs_quotes = False
    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_primitive(column.type):  # dictionaries, views of strings
            column = column.cast(pa.large_string())
            table = table.set_column(index, name, column)
            is_special = pc.match_substring_regex(column, rf'["\r\n{delimiter}]|^$')
            needs_quotes = needs_quotes or bool(pc.any(is_special).as_py())
    options = arrow_csv.WriteOptions(
        include_header=False,
        batch_size=BATCH_ROWS,
        delimiter=delimiter,
        quoting_style="needed" if needs_quotes else "none",
    )
    arrow_csv.write_csv(table, file, options)


def _write_snap(table: Any, file: Any, path: Name, format: Format) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        has_spaces = is_text and pc.match_substring_regex(column, r"^[#%\x{FEFF}]|[\s\v]|^$")
        if column.null_count or (is_text and pc.any(has_spaces).as_py()):
            raise GraphError(
                f"{path}: {{column}} has missing values, or names with spaces or a leading comment "
                "sign or byte order mark, which SNAP text cannot hold; write .csv, .tsv or "
                ".parquet",
                path=path,
                column=name,
            )
    header = io.StringIO()
    csv.writer(header, delimiter="\t", lineterminator="\n").writerow(table.column_names)
    file.write(f"# {header.getvalue()}".encode())
    _write_rows(table, file, "\t")


def _write_rows(table: Any, file: Any, separator: str) -> None:
    """Write lines of fields without quotes; PyArrow's CSV writer refuses quotes in text then."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    separator, line_end = pa.scalar(separator, text), pa.scalar("\n", text)
    for batch in table.to_batches(BATCH_ROWS) if len(table) else ():
        fields = [pc.cast(column, text) for column in batch.columns]
        rows = pc.binary_join_element_wise(*fields, separator, null_handling="replace")
        rows = pc.binary_join(pa.LargeListArray.from_arrays([0, len(rows)], rows), line_end)
        file.write(rows[0].as_buffer())
        file.write(b"\n")


def _write_json(table: Any, file: Any, path: Name, format: Format) -> None:
    """Write JSON Lines; null stands for missing values, NaN and infinity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    keys = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for batch in table.to_batches(BATCH_ROWS):
        fields = []
        for position, (key, column) in enumerate(zip(keys, batch.columns, strict=True)):
            if pa.types.is_floating(column.type):
                column = pc.if_else(pc.is_finite(column), column, None)
            elif not pa.types.is_boolean(column.type) and not pa.types.is_integer(column.type):
                values = column.cast(text).to_pylist()
                quoted = [
                    None if value is None else json.dumps(value, ensure_ascii=False)
                    for value in values
                ]
                column = pa.array(quoted, text)
            values = pc.fill_null(column.cast(text), "null")
            prefix = pa.scalar(f"{', ' if position else '{'}{key}: ", text)
            fields += [pa.repeat(prefix, len(values)), values]
        rows = pc.binary_join_element_wise(*fields, pa.scalar("}\n", text), pa.scalar("", text))
        file.write("".join(rows.to_pylist()).encode())


def _write_matrix(table: Any, file: Any, path: Name, format: Format) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = [name for name in ("source", "destination") if name in table.column_names]
    columns = [table[name] for name in ids]
    if len(ids) < 2 or not all(pa.types.is_integer(column.type) for column in columns):
        raise GraphError(
            f"{path}: a Matrix Market file holds edges between integers >= 1 in columns 'source' "
            f"and 'destination', and optionally 'weight'; the columns are {table.schema.names}",
            path=path,
        )
    bounds = [pc.min_max(column).as_py() for column in columns]
    has_nulls = any(column.null_count for column in columns)
    if len(table) and (has_nulls or min(limits["min"] for limits in bounds) < 1):
        raise GraphError(
            f"{path}: a Matrix Market file holds ids >= 1, and some are 0, negative or missing; "
            "add 1 to all ids if they start at 0, or write .csv or .parquet",
            path=path,
        )
    size = max((limits["max"] for limits in bounds), default=0) if len(table) else 0
    field = "pattern"
    if "weight" in table.column_names:
        columns.append(table["weight"])
        field = "integer" if pa.types.is_integer(table["weight"].type) else "real"
    banner = f"%%MatrixMarket matrix coordinate {field} general\n{size} {size} {len(table)}\n"
    file.write(banner.encode())
    names = ["source", "destination", "weight"][: len(columns)]
    _write_rows(pa.table(columns, names), file, " ")


WRITERS: dict[str, Callable[[Any, Any, Name, Any], None]] = {
    "csv": _write_csv,
    "tsv": _write_csv,
    "snap": _write_snap,
    "jsonl": _write_json,
    "mtx": _write_matrix,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
}
