"""Read edge lists, vertices and their values; the ending of a file determines its format.

======================================== ====================================================
``.csv`` ``.tsv``                        a header, or none if the first row starts with two integers
``.txt`` ``.edges`` ``.el``              SNAP text: fields between blanks, ``#`` and ``%`` comments
``.mtx``                                 Matrix Market coordinates; ids start at 1
``.parquet`` ``.pq``                     one file, or a folder of them
``.feather`` ``.arrow`` ``.ipc``         Arrow's file format, or its stream format
======================================== ====================================================

Text may be compressed: ``.gz`` follows the ending. Frame libraries and PyArrow are imported on
first use.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from .. import device as devices
from ..device import Device
from ..errors import GraphError, InsufficientMemoryError, MissingColumnError
from ..frames import Frame
from ..validation import (
    DEFAULT_WEIGHT,
    as_list,
    check_path,
    choose_weight,
    is_default_weight,
    suggest_parameters,
)
from .columnar_files import Arrow, Parquet
from .matrix_market import Matrix
from .tables import (
    POSITIONAL,
    EdgeMetadata,
    check_table,
    format_of,
    read_errors,
    select_columns,
    weight_errors,
)
from .text_files import Text

Table = Parquet | Arrow | Text
CSV_CALLS = {  # options of other readers: here, formats are detected
    name: f"pandas.read_csv(path, {name}=...)" for name in ("sep", "header", "dtype", "comment")
}


@functools.partial(suggest_parameters, other_calls=CSV_CALLS)
def read_edges(
    path: str | os.PathLike[str],
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
    weight: str | None = DEFAULT_WEIGHT,
    device: Device = "auto",
) -> Frame:
    r"""Read an edge list into a frame.

    Parameters
    ----------
    path : str or path
        A file, or a folder of Parquet files.
    source, destination : str or list of str, optional
        Columns of the vertex names of sources and destinations, by default ``"source"`` and
        ``"destination"``. Lists if several columns form a name. A file without a header has
        the columns ``source``, ``destination``, ``weight``, ``column4`` and so on.
    weight : str or None, default "weight"
        Column of weights. The column `weight` is read if it exists; any other one must exist. None
        reads no weights.
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
        missing values, or is a weight and not a number. The message gives the line of a text file,
        counted from 1, or the row, counted from 0.
    GpuUnavailableError
        If ``device="gpu"`` and no GPU works.

    Notes
    -----
    Only the required columns are read. In text, names are int64 if all of them are integers, quoted
    or not, and strings otherwise; weights are float64. Ids of a Matrix Market file are unchanged
    and start at 1; `read_vertices` also returns those without edges:
    ``rg.Graph(rg.read_edges(path), vertices=rg.read_vertices(path))``.

    Examples
    --------
    >>> import pathlib, tempfile, rapidsgraph as rg
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.csv")
    >>> _ = path.write_text("from,to,km\nUlm,Aalen,70\nAalen,Ulm,72\n")
    >>> print(rg.read_edges(path, source="from", destination="to", weight="km", device="cpu"))
      source destination  weight
    0    Ulm       Aalen    70.0
    1  Aalen         Ulm    72.0
    """
    file_path, device = check_path(path), devices.choose(device)
    with read_errors(file_path):
        file = open_table(file_path, POSITIONAL)
        columns = select_columns(file.names, file_path, source, destination, weight)
        with weight_errors(columns.weights):
            return _read_frame(
                file, file_path, columns.groups, columns.ids, columns.weights, device, columns.names
            )


def read_vertex_values(
    path: str | os.PathLike[str], *, names: Sequence[str] = ("vertex",), device: Device = "auto"
) -> Frame:
    """Read a number for each of some vertices, such as start values or a personalization.

    Parameters
    ----------
    path : str or path
        As in `read_edges`, except Matrix Market files. The columns are `names` and one of numbers,
        which may have any name. A file without a header has them in this order.
    names : sequence of str
        Columns that name a vertex.
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
    file_path, names, device = check_path(path), list(names), devices.choose(device)
    with read_errors(file_path):
        if file_path.is_file() and format_of(file_path) == "mtx":
            raise GraphError(
                f"{file_path}: a Matrix Market file holds edges, not values of vertices",
                path=file_path,
            )
        file = open_table(file_path, [*names, "value"])
        others = [name for name in file.names if name not in names]
        if len(file.names) != len(names) + 1 or len(others) != 1:
            raise GraphError(
                f"{file_path}: the columns must be {', '.join(names)} and one of numbers; they are "
                f"{', '.join(file.names)}",
                path=file_path,
            )
        return _read_frame(file, file_path, [[name] for name in names], names, others, device)


@functools.partial(suggest_parameters, other_calls=CSV_CALLS)
def read_vertices(
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] = ("vertex",),
    device: Device = "auto",
    text_columns: Collection[str] = (),
) -> Frame:
    r"""Read the names of vertices, such as those without edges.

    Parameters
    ----------
    path : str or path
        A table as in `read_edges` with the columns `names`, and others that are ignored; or a
        Matrix Market file, whose size line declares the vertices.
    names : sequence of str
        Columns that name a vertex. SNAP text has them in this order, unless a comment before the
        first row names its columns.
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
    file_path, names, device = check_path(path), list(names), devices.choose(device)
    with read_errors(file_path):
        file = open_table(file_path, names)
        if isinstance(file, Matrix):
            if len(names) > 1:
                raise GraphError(
                    f"{file_path}: a Matrix Market file names vertices by one integer, and "
                    f"{len(names)} columns name them here",
                    path=file_path,
                )
            return _vertex_frame(names[0], file.vertices, device)
        for name in names:
            if file.names.count(name) != 1:
                raise MissingColumnError(
                    f"{file_path}: there must be one column {name!r}; the columns are "
                    f"{', '.join(file.names)}",
                    path=file_path,
                    column=name,
                    columns=file.names,
                )
        if isinstance(file, Text):
            file.text_columns = frozenset(text_columns)
        return _read_frame(file, file_path, [[name] for name in names], names, [], device)


def open_table(path: Path, positional: Sequence[str]) -> Table:
    """Open a file, or a folder of Parquet files, with the reader of its format.

    Parameters
    ----------
    path : Path
    positional : sequence of str
        Names of the first columns of a text file without a header.

    Returns
    -------
    Parquet, Arrow, Text or Matrix
    """
    size = path.stat().st_size  # a missing file is reported before an unknown ending
    name = "parquet" if path.is_dir() else format_of(path)
    if size == 0:
        raise GraphError(f"{path}: the file is empty", path=path)
    if name == "parquet":
        return Parquet(path)
    if name == "arrow":
        return Arrow(path)
    return Matrix(path) if name == "mtx" else Text(path, name, positional)


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


def declared_vertices(path: str | os.PathLike[str]) -> range | None:
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
    file_path = check_path(path)
    with read_errors(file_path):
        if file_path.is_dir() or format_of(file_path) != "mtx":
            return None
        file = open_table(file_path, POSITIONAL)
        return file.vertices if isinstance(file, Matrix) else None


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of an edge file."""
    file_path = check_path(path)
    with read_errors(file_path):
        return open_table(file_path, POSITIONAL).names


def choose_weight_column(
    path: str | os.PathLike[str],
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


def read_edge_metadata(
    path: str | os.PathLike[str],
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
) -> EdgeMetadata:
    """Return the number of edges of a file and the type and range of ids without reading it.

    Parameters and errors are those of `read_edges`.
    """
    file_path = check_path(path)
    with read_errors(file_path):
        file = open_table(file_path, POSITIONAL)
        columns = select_columns(file.names, file_path, source, destination)
        return file.edge_metadata(columns.sources[0], columns.destinations[0])


def measure_text(
    path: str | os.PathLike[str],
    *,
    source: str | Sequence[str] | None = None,
    destination: str | Sequence[str] | None = None,
) -> tuple[int, int]:
    """Return the bytes of the text in the name columns of a file, and of the longest name.

    Both are upper bounds: the columns of Parquet and Arrow files are read batch by batch; of other
    text they are the bytes of the file, uncompressed, and of its longest line.
    """
    file_path = check_path(path)
    with read_errors(file_path):
        file = open_table(file_path, POSITIONAL)
        return file.measure_text(select_columns(file.names, file_path, source, destination).ids)


def _read_frame(
    file: Table,
    path: Path,
    groups: Sequence[Sequence[str]],
    ids: Sequence[str],
    numbers: Sequence[str],
    device: Device,
    names: Sequence[str] | None = None,
) -> Frame:
    """Read the columns `ids` and `numbers` into a frame, renamed to `names` if given."""
    import pyarrow as pa

    columns = [*ids, *numbers]
    if device == "gpu" and isinstance(file, Parquet) and file.has_numbers(numbers):
        import cudf

        try:
            frame = cudf.read_parquet(file.paths, columns=columns)[columns]
        except (RuntimeError, OverflowError) as error:
            raise GraphError(
                f"{path}: cuDF cannot read it; it may be damaged ({error})", path=path
            ) from error
        frame.columns = names or columns
        return frame
    table = check_table(file.read(groups, numbers).select(columns), path, numbers)
    table = table.rename_columns(names or columns)
    pa.default_memory_pool().release_unused()  # buffers of the decoder
    if device == "gpu":
        import cudf

        return cudf.DataFrame.from_arrow(table)
    return table.to_pandas(ignore_metadata=True)
