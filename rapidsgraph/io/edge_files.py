"""Read edge lists, vertices and their values; the ending of a file determines its format.

======================================== ====================================================
``.csv`` ``.tsv``                        a header, or none if the first row starts with two integers
``.txt`` ``.edges`` ``.el``              SNAP text: fields between blanks, ``#`` and ``%`` comments
``.jsonl`` ``.ndjson``                   JSON Lines: one object per line
``.mtx``                                 Matrix Market coordinates; ids start at 1
``.parquet`` ``.pq``                     Parquet
``.feather`` ``.arrow`` ``.ipc``         Arrow's file format, or its stream format
======================================== ====================================================

Text may be compressed: ``.gz``, ``.bz2``, ``.zst`` or ``.xz`` follows the ending. Frame libraries
and PyArrow are imported on first use.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .. import device as devices
from ..device import Device
from ..errors import GraphError, InsufficientMemoryError, MissingColumnError
from ..frames import Frame
from ..validation import (
    DEFAULT_WEIGHT,
    as_list,
    choose_weight,
    is_default_weight,
    suggest_parameters,
)
from .columnar_files import Arrow, Parquet
from .formats import Format
from .inputs import Input, InputFiles, open_input
from .json_lines import JsonLines
from .matrix_market import Matrix
from .tables import (
    POSITIONAL,
    EdgeMetadata,
    check_table,
    find_weight_candidates,
    read_errors,
    select_columns,
    warn_about_candidates,
    weight_errors,
)
from .text_files import Text

logger = logging.getLogger(__name__)

Table = Parquet | Arrow | Text
CSV_CALLS = {  # options of other readers: here, formats are detected
    name: f"pandas.read_csv(path, {name}=...)" for name in ("sep", "header", "dtype", "comment")
}


@functools.partial(suggest_parameters, other_calls=CSV_CALLS)
def read_edges(
    path: Input,
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
    weight: str | None = DEFAULT_WEIGHT,
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
    device: Device = "auto",
) -> Frame:
    r"""Read an edge list into a frame.

    Parameters
    ----------
    path : str, path or file object
        A file, a folder, a glob such as ``"edges-*.parquet"``, a URL such as
        ``"s3://bucket/edges.parquet"`` or ``"https://..."``, or an open binary or text file, which
        is read from its position.
    source, destination : str or list of str, optional
        Columns of the vertex names of sources and destinations, by default ``"source"`` and
        ``"destination"``. Lists if several columns form a name. A file without a header has
        the columns ``source``, ``destination``, ``weight``, ``column4`` and so on.
    weight : str or None, default "weight"
        Column of weights. The column `weight` is read if it exists; any other one must exist. None
        reads no weights.
    format : {"csv", "tsv", "snap", "jsonl", "mtx", "parquet", "arrow"}, optional
        Format of the input. By default the ending of the name determines it; an open file without
        a name needs it, unless it is Parquet, Arrow or Matrix Market.
    storage_options : mapping, optional
        Options of the file system of a URL, such as credentials, as in pandas.
    device : {"auto", "cpu", "gpu"}
        Device of the frame. ``"auto"`` is the GPU if one works.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        One row per edge, columns ``source``, ``destination`` and, if there are weights, ``weight``.
        If `source` or `destination` is a list, all columns keep their names.

    Raises
    ------
    GraphError
        If the file is missing, empty, damaged or of an unknown ending; a column is missing, has
        missing values, or is a weight and not a number; the files of a folder or glob differ in
        format or columns; or a package for a URL is missing. The message gives the file, and the
        line of a text file, counted from 1, or the row, counted from 0.
    GpuUnavailableError
        If ``device="gpu"`` and no GPU works.

    Warns
    -----
    WeightWarning
        If there is no column `weight`, but others of numbers, and `weight` was not given. The
        first rows of text decide whether its columns are of numbers.

    Notes
    -----
    Only the required columns are read. In text, names are int64 if all of them are integers, quoted
    or not, and strings otherwise; weights are float64. The same holds for JSON Lines, whose columns
    are the keys of the first objects, and ``weight`` if any object has it. Ids of a Matrix Market
    file are unchanged and start at 1; `read_vertices` also returns those without edges:
    ``rg.Graph(rg.read_edges(path), vertices=rg.read_vertices(path))``.

    Files of a folder, below it, or of a glob are read in sorted order, as one table. In a folder,
    files and folders whose names begin with ``.`` or ``_`` are ignored, and unknown endings. A
    stream of Arrow must have its end-of-stream marker.

    Text may be compressed (``.gz``, ``.bz2``, ``.zst``, ``.xz``); the compression is detected from
    the first bytes, whatever the name. A URL is downloaded, and an open file copied, to a temporary
    folder (``TMPDIR``) first; URLs require fsspec and the package of their protocol, such as s3fs,
    gcsfs or aiohttp.

    Examples
    --------
    >>> import pathlib, tempfile, rapidsgraph as rg
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.csv")
    >>> _ = path.write_text("from,to,km\nUlm,Aalen,70\nAalen,Ulm,72\n")
    >>> print(rg.read_edges(path, source="from", destination="to", weight="km", device="cpu"))
      source destination  weight
    0    Ulm       Aalen    70.0
    1  Aalen         Ulm    72.0

    >>> import io
    >>> print(rg.read_edges(io.BytesIO(b"1,2\n2,3\n"), format="csv", device="cpu"))
       source  destination
    0       1            2
    1       2            3
    """
    device = devices.choose(device)
    with open_input(path, format, storage_options) as files, read_errors(files.name):
        file = open_table(files, POSITIONAL)
        columns = select_columns(file.names, files.name, source, destination, weight)
        with weight_errors(columns.weights):
            frame = _read_frame(
                file, columns.groups, columns.ids, columns.weights, device, columns.names
            )
        logger.info("read %d rows of %s for the %s", len(frame), files.name, device)
        if is_default_weight(weight):
            warn_about_candidates(str(files), find_weight_candidates(file, columns))
    return frame


def locate_error(
    error: GraphError, files: InputFiles, columns: Sequence[str] = POSITIONAL
) -> GraphError:
    """Return an error about a row with its file and, in text, its line.

    Parameters
    ----------
    error : GraphError
        About a row of the frame that `read_edges` or another function read.
    files : InputFiles
    columns : sequence of str
        Names of the columns of a file without a header.
    """
    return add_location(error, open_table(files, columns))


def add_location(error: GraphError, table: Table, first_row: int = 0) -> GraphError:
    """Return an error with the file of its row, the row's number there and, in text, the line.

    The row of `error` is counted from `first_row` of `table`.
    """
    assert error.row is not None
    row = first_row + error.row
    path, row_in_file = table.locate_row(row)
    line = table.locate_line(row) if isinstance(table, Text) else None
    return error.with_fields(row=row_in_file).with_path(path, line)


def read_vertex_values(
    path: Input,
    *,
    names: Sequence[str] = ("vertex",),
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
    device: Device = "auto",
) -> Frame:
    """Read a number for each of some vertices, such as start values or a personalization.

    Parameters
    ----------
    path : str, path or file object
        As in `read_edges`, except Matrix Market files. The columns are `names` and one of numbers,
        which may have any name. A file without a header has them in this order.
    names : sequence of str
        Columns that name a vertex.
    format : {"csv", "tsv", "snap", "jsonl", "parquet", "arrow"}, optional
        Format of the input, as in `read_edges`.
    storage_options : mapping, optional
        Options of the file system of a URL, as in `read_edges`.
    device : {"auto", "cpu", "gpu"}
        Device of the frame.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        Columns `names` and the column of numbers (``value`` without a header).

    Raises
    ------
    GraphError
        As in `read_edges`, or if the columns differ from these.
    """
    names, device = list(names), devices.choose(device)
    with open_input(path, format, storage_options) as files, read_errors(files.name):
        if files.format == "mtx":
            raise GraphError(
                f"{files}: a Matrix Market file holds edges, not values of vertices",
                path=files.name,
            )
        file = open_table(files, [*names, "value"])
        others = [name for name in file.names if name not in names]
        if len(file.names) != len(names) + 1 or len(others) != 1:
            raise GraphError(
                f"{files}: the columns must be {', '.join(names)} and one of numbers; they are "
                f"{', '.join(file.names)}",
                path=files.name,
            )
        return _read_frame(file, [[name] for name in names], names, others, device)


@functools.partial(suggest_parameters, other_calls=CSV_CALLS)
def read_vertices(
    path: Input,
    *,
    names: Sequence[str] = ("vertex",),
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
    device: Device = "auto",
    text_columns: Collection[str] = (),
) -> Frame:
    r"""Read the names of vertices, such as those without edges.

    Parameters
    ----------
    path : str, path or file object
        A table as in `read_edges` with the columns `names`, and others that are ignored; or a
        Matrix Market file, whose size line declares the vertices.
    names : sequence of str
        Columns that name a vertex. SNAP text has them in this order, unless a comment before the
        first row names its columns.
    format : {"csv", "tsv", "snap", "jsonl", "mtx", "parquet", "arrow"}, optional
        Format of the input, as in `read_edges`.
    storage_options : mapping, optional
        Options of the file system of a URL, as in `read_edges`.
    device : {"auto", "cpu", "gpu"}
        Device of the frame.
    text_columns : collection of str
        Columns of `names` that are read as text from a text file even if all values are integers.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        Columns `names`, one row per vertex in the order of the file, for ``vertices=`` of `Graph`.

    Raises
    ------
    GraphError
        As in `read_edges`, and if a column of `names` is missing.

    Examples
    --------
    >>> import pathlib, tempfile, rapidsgraph as rg
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.mtx")
    >>> _ = path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n2 1\n")
    >>> print(rg.read_vertices(path, device="cpu"))
       vertex
    0       1
    1       2
    2       3
    """
    names, device = list(names), devices.choose(device)
    with open_input(path, format, storage_options) as files, read_errors(files.name):
        file = open_table(files, names)
        if isinstance(file, Matrix):
            if len(names) > 1:
                raise GraphError(
                    f"{files}: a Matrix Market file names vertices by one integer, and "
                    f"{len(names)} columns name them here",
                    path=files.name,
                )
            return _vertex_frame(names[0], file.vertices, device)
        for name in names:
            if file.names.count(name) != 1:
                raise MissingColumnError(
                    f"{files}: there must be one column {name!r}; the columns are "
                    f"{', '.join(file.names)}",
                    path=files.name,
                    column=name,
                    columns=file.names,
                )
        if isinstance(file, Text):
            file.text_columns = frozenset(text_columns)
        return _read_frame(file, [[name] for name in names], names, [], device)


def open_table(files: InputFiles, positional: Sequence[str]) -> Table:
    """Open files with the reader of their format.

    Parameters
    ----------
    files : InputFiles
    positional : sequence of str
        Names of the first columns of text files without a header.

    Returns
    -------
    Parquet, Arrow, Text, JsonLines or Matrix
    """
    if files.format == "parquet":
        return Parquet(files)
    if files.format == "arrow":
        return Arrow(files)
    if files.format == "mtx":
        return Matrix(files)
    return (JsonLines if files.format == "jsonl" else Text)(files, positional)


def _vertex_frame(name: str, vertices: range, device: Device) -> Frame:
    needed, free = 16 * len(vertices), devices.free_memory(np)
    if needed > free:
        what = f"a frame of {len(vertices):,} vertices"
        raise InsufficientMemoryError(what, needed, free, "in memory")
    if device == "gpu":
        import cudf as library
    else:
        import pandas as library
    return library.DataFrame({name: np.arange(vertices.start, vertices.stop)})


def declared_vertices(path: Input) -> range | None:
    """Return all vertices that an edge file declares, with or without edges.

    Returns
    -------
    range or None
        The vertices of a Matrix Market file's size line; None for other formats.

    Raises
    ------
    GraphError
        As in `read_edges`, or more vertices than a graph can have.
    """
    with open_input(path) as files, read_errors(files.name):
        return Matrix(files).vertices if files.format == "mtx" else None


def column_names(path: Input) -> list[str]:
    """Return the names of the columns of an edge file."""
    with open_input(path) as files, read_errors(files.name):
        return open_table(files, POSITIONAL).names


def choose_weight_column(
    path: Input,
    weight: str | None,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
) -> str | None:
    """Return the column that `read_edges` reads weights from, or None.

    Only the default column is looked for in the file; parameters are those of `read_edges`.
    """
    if not is_default_weight(weight):
        return weight
    endpoints = [*as_list(source or "source"), *as_list(destination or "destination")]
    return choose_weight(weight, column_names(path), endpoints)


def list_weight_candidates(
    path: Input,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
) -> list[str]:
    """Return the columns of numbers that may be weights, if the file has no column of weights.

    Parameters are those of `read_edges`.
    """
    with open_input(path) as files, read_errors(files.name):
        file = open_table(files, POSITIONAL)
        columns = select_columns(file.names, files.name, source, destination, DEFAULT_WEIGHT)
        return find_weight_candidates(file, columns)


def read_edge_metadata(
    path: Input,
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
    weight: str | None = None,
) -> EdgeMetadata:
    """Return the number of edges of a file and the type and range of ids without reading it.

    Parameters and errors are those of `read_edges`.
    """
    with open_input(path) as files, read_errors(files.name):
        file = open_table(files, POSITIONAL)
        columns = select_columns(file.names, files.name, source, destination, weight)
        return file.edge_metadata(columns.sources[0], columns.destinations[0])


def measure_text(
    path: Input,
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
) -> tuple[int, int]:
    """Return the bytes of the text in the name columns of a file, and of the longest name.

    Both are upper bounds: the columns of Parquet and Arrow files are read batch by batch; of other
    text they are the bytes of the file, uncompressed, and of its longest line.
    """
    with open_input(path) as files, read_errors(files.name):
        file = open_table(files, POSITIONAL)
        return file.measure_text(select_columns(file.names, files.name, source, destination).ids)


def _read_frame(
    file: Table,
    groups: Sequence[Sequence[str]],
    ids: Sequence[str],
    numbers: Sequence[str],
    device: Device,
    names: Sequence[str] | None = None,
) -> Frame:
    """Read the columns `ids` and `numbers` into a frame, renamed to `names` if given."""
    import pyarrow as pa

    columns = [*ids, *numbers]
    if (
        device == "gpu"
        and isinstance(file, Parquet)
        and file.has_one_schema
        and file.has_numbers(numbers)
    ):
        import cudf

        try:
            frame = cudf.read_parquet(file.paths, columns=columns)[columns]
        except (RuntimeError, OverflowError) as error:
            raise GraphError(
                f"{file.files}: cuDF cannot read it; it may be damaged ({error})",
                path=file.files.name,
            ) from error
        frame.columns = names or columns
        return frame
    table = check_table(file.read(groups, numbers).select(columns), file, numbers)
    table = table.rename_columns(names or columns)
    pa.default_memory_pool().release_unused()  # buffers of the decoder
    if device == "gpu":
        import cudf

        return cudf.DataFrame.from_arrow(table)
    return table.to_pandas(ignore_metadata=True)
