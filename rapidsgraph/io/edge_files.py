"""Read and write edge lists and results; the format follows from the ending of the file's name.

======================================== ====================================================
``.csv`` ``.tsv``                        a header, or none if the first row begins with two integers
``.txt`` ``.edges`` ``.el``              SNAP's text: fields between blanks, ``#`` or ``%`` comments
``.mtx``                                 Matrix Market coordinates; ids count from 1, as there
``.parquet`` ``.pq``                     one file, or a folder of them
``.feather`` ``.arrow`` ``.ipc``         Arrow's file format; its stream format is read, too
======================================== ====================================================

Text may be compressed: ``.gz`` behind the ending. Nothing is imported before it is needed.
"""

import os

from ..atomic import ByteCounter, check_regular_file, replacing, resolve_destination, write_error
from ..errors import GraphError
from ..validation import check_free_memory, check_path
from . import formats
from .text_files import Matrix, Text

POSITIONAL = ["source", "destination", "weight"]


def read_edges(path, *, source=None, destination=None, weight=None, device="auto"):
    """Read an edge list; only the columns that are needed are read.

    Parameters
    ----------
    path : str or path
        A file, or a folder of Parquet files.
    source, destination : str or list of str, optional
        Columns that hold where an edge begins and ends, by default ``"source"`` and
        ``"destination"``. Lists where several columns make up a name. A file without a header has
        the columns ``source``, ``destination``, ``weight``, ``column4`` and so on.
    weight : str, optional
        Column of weights. Without it weights are not read.
    device : {"auto", "cpu", "gpu"}
        Where the frame is to lie. ``"auto"`` takes the GPU where one works.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        One row an edge, columns ``source``, ``destination`` and, if asked for, ``weight``. Columns
        given as lists keep their names, and then so does the weight. In text, names are int64
        where all are integers, in quotes or not, and strings otherwise; weights are float64.
        Ids of a Matrix Market file are those of the file, from 1 on; its vertices without edges
        are in `read_vertices`: ``rg.Graph(rg.read_edges(path), vertices=rg.read_vertices(path))``.

    Raises
    ------
    GraphError
        The file is missing, empty, damaged or of an unknown ending; a column is missing, has
        missing values, or is a weight and no number; the message says where. Lines count from 1
        with everything in the file, rows from 0.
    GpuUnavailableError
        ``device="gpu"`` where none works.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.csv")
    >>> _ = path.write_text("from,to,km\\nUlm,Aalen,70\\nAalen,Ulm,72\\n")
    >>> print(read_edges(path, source="from", destination="to", weight="km", device="cpu"))
      source destination  weight
    0    Ulm       Aalen    70.0
    1  Aalen         Ulm    72.0
    """
    path, device = check_path(path), _chosen(device)
    with formats.reading(path):
        file = formats.opened(path, POSITIONAL)
        sources, destinations = _ends(file, path, source, destination)
        weights = [] if weight is None else [_checked(file, path, weight, "weight")]
        if sources == destinations or {*weights} & {*sources, *destinations}:
            raise GraphError(f"{path}: source, destination and weight must be different columns")
        is_renamed = not any(isinstance(given, list | tuple) for given in (source, destination))
        names = POSITIONAL[: 2 + len(weights)] if is_renamed else None
        groups = [list(group) for group in zip(sources, destinations)]
        ids = list(dict.fromkeys([*sources, *destinations]))  # both ends may share a column
        return _frame(file, path, groups, ids, weights, device, names)


def read_table(path, *, names=("vertex",), device="auto"):
    """Read values of vertices, such as ranks to start from or weights to prefer some vertices.

    Parameters
    ----------
    path : str or path
        As in `read_edges`, but no Matrix Market file. Columns `names` and one of numbers, whatever
        it is called. A file without a header has them in this order.
    names : sequence of str
        Columns that name a vertex.
    device : {"auto", "cpu", "gpu"}
        Where the frame is to lie.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        Columns `names` and the other one under its name (``value`` without a header).

    Raises
    ------
    GraphError
        As in `read_edges`, and where there are not exactly these columns.
    """
    path, names, device = check_path(path), list(names), _chosen(device)
    with formats.reading(path):
        if path.is_file() and formats.format_of(path) == "mtx":
            raise GraphError(f"{path}: a Matrix Market file holds edges, no values of vertices")
        file = formats.opened(path, [*names, "value"])
        others = [name for name in file.names if name not in names]
        if len(file.names) != len(names) + 1 or len(others) != 1:
            raise GraphError(
                f"{path}: the columns must be {', '.join(names)} and one of numbers; they are "
                f"{', '.join(file.names)}"
            )
        return _frame(file, path, [[name] for name in names], names, others, device)


def read_vertices(path, *, names=("vertex",), device="auto"):
    """Read the names of vertices, such as those that have no edge.

    Parameters
    ----------
    path : str or path
        A table as in `read_edges` with the columns `names`, others are not read; or a Matrix
        Market file, whose size line says which vertices there are.
    names : sequence of str
        Columns that name a vertex. SNAP text without a comment that says otherwise has them in
        this order.
    device : {"auto", "cpu", "gpu"}
        Where the frame is to lie.

    Returns
    -------
    pandas.DataFrame or cudf.DataFrame
        Columns `names`, one row a vertex in the order of the file, for ``vertices=`` of `Graph`.

    Raises
    ------
    GraphError
        As in `read_edges`, and where a column of `names` is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.mtx")
    >>> _ = path.write_text("%%MatrixMarket matrix coordinate pattern general\\n3 3 1\\n2 1\\n")
    >>> print(read_vertices(path, device="cpu"))
       vertex
    0       1
    1       2
    2       3
    """
    return read_vertices_as(path, names, device)


def read_vertices_as(path, names, device, text_columns=()):
    """As `read_vertices`; names in `text_columns` stay text where a text file has integers."""
    path, names, device = check_path(path), list(names), _chosen(device)
    with formats.reading(path):
        file = formats.opened(path, names)
        if isinstance(file, Matrix):
            if len(names) > 1:
                raise GraphError(
                    f"{path}: a Matrix Market file names vertices by one integer, and "
                    f"{len(names)} columns name them here"
                )
            return _vertex_frame(names[0], file.vertices, device)
        for name in names:
            if file.names.count(name) != 1:
                raise GraphError(
                    f"{path}: there must be one column {name!r}; the columns are "
                    f"{', '.join(file.names)}"
                )
        if isinstance(file, Text):
            file.text_columns = frozenset(text_columns)
        return _frame(file, path, [[name] for name in names], names, [], device)


def _vertex_frame(name, vertices, device):
    import numpy as np

    check_free_memory(f"a frame of {len(vertices):,} vertices", 16 * len(vertices), np)
    if device == "gpu":
        import cudf as library
    else:
        import pandas as library
    return library.DataFrame({name: np.arange(vertices.start, vertices.stop)})


def declared_vertices(path):
    """All vertices that a file of edges declares, with or without edges.

    Returns
    -------
    range or None
        Of a Matrix Market file those of its size line; None of others, which declare none.

    Raises
    ------
    GraphError
        As in `read_edges`, or more vertices than a graph can have.
    """
    path = check_path(path)
    with formats.reading(path):
        if path.is_dir() or formats.format_of(path) != "mtx":
            return None
        return formats.opened(path, POSITIONAL).vertices


def edge_facts(path, *, source=None, destination=None):
    """How many edges a file holds and what its ids are, without loading it.

    Parameters
    ----------
    path, source, destination
        As in `read_edges`.

    Returns
    -------
    rows : int
        Edges. Exact for Parquet and Arrow. For Matrix Market the most there can be (a symmetric one
        has each entry twice); for other text the lines without the header, so comments count.
    kind : {"integer", "string"}
        What the ids are. For text what those of the first row are.
    bounds : tuple of int, or None
        Smallest and largest id, from Parquet's statistics or the size in a Matrix Market file;
        None where the ids are no integers or it is not recorded.

    Raises
    ------
    GraphError
        As in `read_edges`.
    """
    path = check_path(path)
    with formats.reading(path):
        file = formats.opened(path, POSITIONAL)
        sources, destinations = _ends(file, path, source, destination)
        return file.facts(sources[0], destinations[0])


def text_facts(path, *, source=None, destination=None):
    """Bytes of the text in the name columns of a file, and of the longest name.

    Upper bounds: of Parquet and Arrow files the columns are read batch by batch; of other text they
    are the bytes of the file, uncompressed, and of its longest line.
    """
    path = check_path(path)
    with formats.reading(path):
        file = formats.opened(path, POSITIONAL)
        sources, destinations = _ends(file, path, source, destination)
        return file.text_facts(list(dict.fromkeys([*sources, *destinations])))


def write_frame(frame, path):
    """Write a frame; another file of this name is replaced at the end, and only if all went well.

    A file that is replaced keeps its mode and, where permitted, its owner.

    Parameters
    ----------
    frame : pandas.DataFrame, cudf.DataFrame or pyarrow.Table
        Results or edges. A frame of another library works if it has ``to_arrow()``.
    path : str or path
        In CSV and TSV a text is in quotes where it needs them, missing values are empty, and empty
        text is ``""``, which `read_edges` takes for missing. SNAP text gets the column names as a
        comment. A Matrix Market file takes only edges between integers from 1 on, which it has
        unchanged.

    Raises
    ------
    GraphError
        What `check_writable` finds, what the format cannot hold, or a full disk; the message says
        how many bytes are needed. Nothing is left behind then, and an old file stays.
    """
    path = check_path(path)
    kind = check_writable(path)
    import pyarrow as pa

    try:
        table = _to_arrow(frame)
        with replacing(path) as file:
            _write(table, file, path, kind)
    except (OSError, pa.ArrowException) as error:
        raise write_error(path, error, lambda: _size_of(table, path, kind)) from error
    except UnicodeEncodeError as error:
        raise GraphError(f"{path}: {error.object!a} is not valid Unicode; replace it") from error


def _write(table, file, path, kind):
    try:
        if path.suffix.lower() != ".gz":
            formats.write(table, file, kind)
            return
        import gzip

        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            formats.write(table, packed, kind)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from error


def _size_of(table, path, kind):
    """Return how many bytes a table takes in a file."""
    counter = ByteCounter()
    _write(table, counter, path, kind)
    return counter.size


def check_writable(path, endings=None):
    """Check before long work that its result can be written.

    Parameters
    ----------
    path : str or path
    endings : sequence of str, optional
        Endings that will do, instead of those that `write_frame` knows.

    Returns
    -------
    str
        The format, or the ending if `endings` were given.

    Raises
    ------
    GraphError
        Unknown ending, no such folder, no permission, a place inside a stored layered edge list, or
        something of this name that is no regular file: a folder, a device (as ``/dev/stdout``), a
        FIFO, a socket.
    """
    path = check_path(path)
    folder = resolve_destination(path).parent
    check_regular_file(path)
    ending = path.suffix.lower()
    if endings is not None and ending not in endings:
        raise GraphError(f"{path}: the ending {ending!r} is not known; try {' '.join(endings)}")
    kind = formats.format_of(path) if endings is None else ending
    if not folder.is_dir():
        raise GraphError(f"{path}: the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GraphError(f"{path}: there is no permission to write into the folder {folder}")
    return kind


def _chosen(device):
    from ..device import choose

    return choose(device)


def _checked(file, path, name, what):
    """`name`, if there is exactly one such column in the file."""
    if file.names.count(name) == 1:
        return name
    from ..frames import missing_column

    if name in file.names:
        raise GraphError(f"{path}: several columns are called {name!r}; rename all but one")
    error = str(missing_column(name, file.names, what))
    hint = "" if "; give" in error else f"; name the one to take with {what}="
    raise GraphError(f"{path}: {error}{hint}")


def _ends(file, path, source, destination):
    """The columns of sources and those of destinations, as lists of one length."""
    ends = []
    for what, given in (("source", source), ("destination", destination)):
        names = [what if given is None else given] if not isinstance(given, list | tuple) else given
        ends.append([_checked(file, path, name, what) for name in names])
    if len(ends[0]) != len(ends[1]) or not ends[0]:
        raise GraphError(
            f"{path}: {len(ends[0])} columns for source and {len(ends[1])} for destination; give "
            "the same number of both"
        )
    return ends


def _frame(file, path, groups, ids, numbers, device, names=None):
    """The columns `ids` and `numbers` of the file as a frame, under new names if there are any."""
    import pyarrow as pa

    columns = [*ids, *numbers]
    if device == "gpu" and isinstance(file, formats.Parquet) and file.has_numbers(numbers):
        import cudf

        try:
            frame = cudf.read_parquet(file.paths, columns=columns)[columns]
        except (RuntimeError, OverflowError) as error:
            raise GraphError(f"{path}: cuDF cannot read it, it may be damaged ({error})") from error
        frame.columns = names or columns
        return frame
    table = formats.checked(file.read(groups, numbers).select(columns), path, numbers)
    table = table.rename_columns(names or columns)
    pa.default_memory_pool().release_unused()  # the buffers that decoding took
    if device == "gpu":
        import cudf

        return cudf.DataFrame.from_arrow(table)
    return table.to_pandas(ignore_metadata=True)


def _to_arrow(frame):
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    library = type(frame).__module__.split(".")[0]
    if library == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame.to_arrow(preserve_index=False) if library == "cudf" else frame.to_arrow()
