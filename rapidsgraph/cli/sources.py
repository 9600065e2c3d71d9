"""Parse the source vertices of a command, given by --from and --from-file.

A word on the command line is an integer or text, whichever names the vertices of the graph. Before
a layered edge list is built the type of its names is not known for certain; see `build_from_root`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from ..errors import GraphError, VertexNotFoundError, VertexTypeError
from ..graph.local_graph import storage_of
from ..graph.vertex_arguments import find_vertices
from ..io.columnar_files import id_type_of
from ..io.edge_files import Table, open_table
from ..io.inputs import Input, open_input
from ..io.tables import (
    POSITIONAL,
    ColumnSelection,
    check_table,
    read_errors,
    select_columns,
)
from ..io.text_files import Text
from ..validation import INTEGER, MAX_DIGITS, reads_as_int64
from .options import vertex_columns

Source = tuple[str, list]  # where a vertex is named, for messages; its value in each name column


def root_columns(options: dict[str, Any]) -> list[str]:
    """Return the columns that name a vertex, from the options of `LayeredEdgeList.build`."""
    endpoints = (options.get(end) for end in ("source", "destination"))
    return vertex_columns(*([end] if isinstance(end, str) else end for end in endpoints))


def convert_root(sources: list[Source] | None, options: dict[str, Any], root: Any) -> Any:
    """Return the root that `sources` name, as integers and text like `root`, that of a store.

    None for `sources` is any root.
    """
    if sources is None:
        return root
    columns, parts = root_columns(options), root if isinstance(root, tuple) else [root]
    if len(parts) != len(columns):
        raise GraphError("the roots have different numbers of columns", parameter="--from")
    return _root_name(sources, columns, [isinstance(part, int) for part in parts])


def build_from_root(
    path: Input,
    options: dict[str, Any],
    sources: list[Source] | None,
    build: Callable[[Any], Any],
) -> Any:
    """Return ``build(root)``, a layered edge list of the edges in `path`.

    The first row of a text file tells whether names are integers. If a later row has other text,
    the build fails and is repeated with text.

    Parameters
    ----------
    path : path or InputFiles
    options : dict
        Options of `LayeredEdgeList.build`.
    sources : list of Source, or None
        The root, as `parse_sources` returns it; None for the source of the first edge.
    build : callable
    """
    labels = root_columns(options)
    with open_input(path) as files, read_errors(files.name):
        file = open_table(files, POSITIONAL)
        names = (options.get(name) for name in ("source", "destination", "weight"))
        columns = select_columns(file.names, files.name, *names)
        if sources is None:
            sources = [(f"the first row of {path}", _first_source(file, columns))]
        are_integers = _are_integers(file, columns, sources)
    while True:
        try:
            return build(_root_name(sources, labels, are_integers))
        except VertexTypeError as error:
            if error.parameter != "root" or not isinstance(file, Text):
                raise
            index = labels.index(error.column) if error.column else 0
            if error.expected == "integer":
                raise _not_an_integer(*sources[0]) from None
            if not are_integers[index]:
                raise
            are_integers[index] = False


def _root_name(
    sources: Sequence[Source], columns: Sequence[str], are_integers: Sequence[bool]
) -> Any:
    names = list(dict.fromkeys(convert_names(sources, columns, are_integers)))
    if len(names) > 1:
        raise GraphError(
            f"a layered edge list has one root, but {len(names)} vertices are named; give one, or "
            "search without --layers and --memory-limit",
            parameter="--from",
            value=names,
        )
    return names[0]


def _are_integers(table: Table, columns: ColumnSelection, sources: Sequence[Source]) -> list[bool]:
    """Return for each name column whether its names are integers, as far as the file tells."""
    if not isinstance(table, Text):
        return [id_type_of(table.schema, *group) == "integer" for group in columns.groups]
    fields = table.read_first_row(columns.ids)
    if fields is None:
        raise _no_edges(table)
    row = dict(zip(columns.ids, fields))
    roots = [fields for _, fields in sources if len(fields) == len(columns.groups)]
    return [
        all(reads_as_int64(row[name]) for name in group)
        and all(reads_as_int64(fields[index]) for fields in roots)
        for index, group in enumerate(columns.groups)
    ]


def _first_source(table: Table, columns: ColumnSelection) -> list[Any]:
    """Return the names of the source of the first edge."""
    fields: list[Any] | None
    if isinstance(table, Text):
        fields = table.read_first_row(columns.sources)
    else:
        rows = check_table(table.read_first_row(columns.sources), table, [])
        fields = [rows[name][0].as_py() for name in columns.sources] if len(rows) else None
    if fields is None:
        raise _no_edges(table)
    return fields


def _no_edges(table: Table) -> GraphError:
    return GraphError(
        f"{table.files}: there are no edges, so there is no source vertex", path=table.files.name
    )


FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="VERTEX",
        help="Source vertex; repeat it for several. Write a,b,... for names of several columns.",
    ),
]
FromFileOption = Annotated[
    str | None,
    typer.Option(
        "--from-file", metavar="FILE", help="Source vertices: a table with a column vertex."
    ),
]


def parse_sources(
    words: Sequence[str] | None, path: str | None, columns: Sequence[str], option: str = "--from"
) -> list[Source]:
    """Return the vertices of the options --from and --from-file, or of another option."""
    if not words and not path:
        hint = ", or give --from-file" if option == "--from" else ""
        raise typer.BadParameter(f"name a vertex{hint}", param_hint=option)
    sources: list[Source] = []
    for word in words or ():
        fields = [word]
        if len(columns) > 1:
            fields = next(csv.reader(io.StringIO(word, newline="")), [])
        sources.append((f"{option} {word!r}", fields))
    return sources + (_read_sources(path, columns) if path else [])


def _read_sources(path: Input, columns: Sequence[str]) -> list[Source]:
    """Return the vertices in the rows of a table."""
    with open_input(path) as files, read_errors(files.name):
        table = open_table(files, columns)
        missing = [name for name in columns if table.names.count(name) != 1]
        if missing:
            raise GraphError(
                f"{files}: there must be one column {missing[0]!r}; the columns are "
                f"{', '.join(table.names)}",
                path=files.name,
                column=missing[0],
            )
        rows: list[Source] = []
        if isinstance(table, Text):  # unchanged: 007 may be the name of a vertex
            indices = [table.names.index(name) for name in columns]
            with contextlib.closing(table.rows()) as lines:
                for row, (line, fields) in enumerate(
                    itertools.islice(lines, table.header_rows, None)
                ):
                    name, line = table.locate(line)
                    if len(fields) != len(table.names):
                        raise GraphError(
                            f"{name}, line {line}: {table.describe_wrong_length(fields)}",
                            path=name,
                            row=row,
                        )
                    rows.append((f"{name}, line {line}", [fields[index] for index in indices]))
        else:
            names = check_table(table.read([[name] for name in columns], []), table, [])
            values = zip(*(names[name].to_pylist() for name in columns), strict=True)
            for number, row_values in enumerate(values):
                name, row = table.locate_row(number)
                rows.append((f"{name}, row {row}", list(row_values)))
    if not rows:
        raise GraphError(f"{path}: the table has no rows", path=path)
    return rows


def source_names(sources: Sequence[Source], graph: Any) -> list[Any]:
    """Return vertex names of the type that a graph has, for `bfs` and `sssp`."""
    if not graph.num_vertices:
        raise GraphError("there are no edges, so there is no source vertex", parameter="--from")
    storage = storage_of(graph)
    distinct = storage.names.distinct
    are_integers = [values is None or isinstance(values, storage.xp.ndarray) for values in distinct]
    names = convert_names(sources, storage.names.labels, are_integers)
    try:
        find_vertices(storage.labeling, names, "--from")
    except VertexNotFoundError as error:
        where, _ = sources[error.row or 0]
        if where.startswith("--"):  # the algorithm reports words of the command line
            return names
        raise error.with_fields(parameter=where) from None
    return names


def convert_names(
    sources: Sequence[Source], labels: Sequence[str], are_integers: Sequence[bool]
) -> list[Any]:
    """Return vertex names of integers or text, as `are_integers` says of each column."""
    names = []
    for where, fields in sources:
        if len(fields) != len(labels):
            raise GraphError(
                f"{where}: {len(labels)} columns name a vertex ({', '.join(labels)}); join their "
                "values by commas",
                parameter="--from",
                value=fields,
            )
        values = zip(fields, are_integers, strict=True)
        names.append(tuple(_convert(value, is_integer, where) for value, is_integer in values))
    return names if len(labels) > 1 else [name for (name,) in names]


def _convert(value: Any, is_integer: bool, where: str) -> int | str:
    """Return a name as an integer or as text."""
    if not is_integer or not isinstance(value, str):
        return value if is_integer else str(value)
    if not INTEGER.fullmatch(value):
        raise _not_an_integer(where, value)
    if len(value) > MAX_DIGITS or not -(2**63) <= int(value) < 2**64:
        raise GraphError(
            f"{where}: vertex names that are integers have at most 64 bits",
            parameter="--from",
            value=value,
        )
    return int(value)


def _not_an_integer(where: str, value: object) -> GraphError:
    return GraphError(
        f"{where}: vertices are named by integers",
        parameter="--from",
        value=value,
    )
