"""Vertices that a command starts from, as options and files name them.

Text on the command line stands for an integer or for text, whichever names the vertices of the
graph. A layered edge list that is still to be built has no names yet; see `Root`.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import GraphError, VertexTypeError
from ..graph.graph import storage_of
from ..io.columnar_files import id_type_of
from ..io.formats import read_errors
from ..io.tables import (
    POSITIONAL,
    EdgeColumns,
    Table,
    check_table,
    open_table,
    select_columns,
)
from ..io.text_files import INTEGER, Text
from ..validation import check_path
from .options import vertex_columns

MAX_DIGITS = 100  # more than 64 bits in any case; Python refuses to convert thousands
Start = tuple[str, list]  # where a vertex is named, and a value for each name column


class Root:
    """The root of a layered edge list, as the command line names it.

    Parameters
    ----------
    options : dict
        Options of `LayeredEdgeList.build`.
    starts : list of Start, or None
        As `parse_starts` returns them; None for the source of the first edge.
    """

    def __init__(self, options: dict[str, Any], starts: list[Start] | None) -> None:
        self.options, self.starts = options, starts
        self.columns = self.labels(options)

    @staticmethod
    def labels(options: dict[str, Any]) -> list[str]:
        """Return the columns that name a vertex."""
        ends = (options.get(end) for end in ("source", "destination"))
        return vertex_columns(*([end] if isinstance(end, str) else end for end in ends))

    def like(self, name: Any) -> Any:
        """Return the root with integers and text as in `name`, the root of a stored list."""
        if self.starts is None:
            return name
        parts = name if isinstance(name, tuple) else [name]
        if len(parts) != len(self.columns):
            raise GraphError("this is another root")
        return self._name([isinstance(part, int) for part in parts])

    def build(self, path: Path, make: Callable[[Any], Any]) -> Any:
        """Return ``make(root)``, a layered edge list of the file `path`.

        The first row of a text file shows whether names are integers. If a later one shows that
        they are text, building fails and begins again.
        """
        path = check_path(path)
        with read_errors(path):
            file = open_table(path, POSITIONAL)
            given = (self.options.get(each) for each in ("source", "destination", "weight"))
            columns = select_columns(file, path, *given)
            if self.starts is None:
                self.starts = [(f"the first row of {path}", _first_vertex(file, columns, path))]
            are_integers = self._are_integers(file, columns, path)
        while True:
            try:
                return make(self._name(are_integers))
            except VertexTypeError as error:
                if error.parameter != "root" or not isinstance(file, Text):
                    raise
                index = self.columns.index(error.column) if error.column else 0
                if error.expected == "integer":
                    where = self.starts[0][0]
                    raise GraphError(f"{where}: vertices are named by integers") from None
                if not are_integers[index]:
                    raise
                are_integers[index] = False

    def _name(self, are_integers: Sequence[bool]) -> Any:
        assert self.starts is not None  # `build` sets them
        names = list(dict.fromkeys(convert_starts(self.starts, self.columns, are_integers)))
        if len(names) > 1:
            raise GraphError(
                f"layers begin at one vertex, and {len(names)} are named; give one, or search "
                "without --layers and --memory-limit"
            )
        return names[0]

    def _are_integers(self, table: Table, columns: EdgeColumns, path: Path) -> list[bool]:
        """Return for each name column whether its names are integers, as far as is known."""
        if not isinstance(table, Text):
            return [id_type_of(table.schema, *group) == "integer" for group in columns.groups]
        starts = [fields for _, fields in self.starts or () if len(fields) == len(self.columns)]
        fields = table.read_first_row(columns.ids)
        if fields is None:
            raise _no_edges(path)
        row = dict(zip(columns.ids, fields))
        return [
            all(_is_integer(row[name]) for name in group)
            and all(_is_integer(fields[index]) for fields in starts)
            for index, group in enumerate(columns.groups)
        ]


def _first_vertex(table: Table, columns: EdgeColumns, path: Path) -> list[Any]:
    """Return the names of the source of the first edge."""
    fields: list[Any] | None
    if isinstance(table, Text):
        fields = table.read_first_row(columns.sources)
    else:
        rows = check_table(table.read_first_row(columns.sources), path, [])
        fields = [rows[name][0].as_py() for name in columns.sources] if len(rows) else None
    if fields is None:
        raise _no_edges(path)
    return fields


def _no_edges(path: Path) -> GraphError:
    return GraphError(f"{path}: there are no edges, so there is no vertex to start from", path=path)


def _is_integer(text: object) -> bool:
    """Return whether PyArrow would read an int64."""
    if isinstance(text, str) and (not INTEGER.fullmatch(text) or len(text) > MAX_DIGITS):
        return False
    return isinstance(text, (int, str)) and -(2**63) <= int(text) < 2**63


FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="VERTEX",
        help="Where to start. Again for several; a,b,... where columns a, b, ... name one.",
    ),
]
FromFileOption = Annotated[
    Path | None,
    typer.Option("--from-file", metavar="FILE", help="Likewise; a table with a column vertex."),
]


def parse_starts(
    given: Sequence[str] | None, path: Path | None, columns: Sequence[str]
) -> list[Start]:
    """Return the vertices that --from and --from-file name."""
    if not given and not path:
        raise typer.BadParameter("name a vertex, or give --from-file", param_hint="--from")
    starts = [(f"--from {text!r}", _fields(text, columns)) for text in given or ()]
    return starts + (_read_rows(path.expanduser(), columns) if path else [])


def _fields(text: str, columns: Sequence[str]) -> list[str]:
    return [text] if len(columns) == 1 else next(csv.reader(io.StringIO(text, newline="")), [])


def _read_rows(path: Path, columns: Sequence[str]) -> list[Start]:
    """Return the vertices in the rows of a table."""
    with read_errors(path):
        table = open_table(path, columns)
        missing = [name for name in columns if table.names.count(name) != 1]
        if missing:
            raise GraphError(
                f"{path}: there must be one column {missing[0]!r}; the columns are "
                f"{', '.join(table.names)}",
                path=path,
                column=missing[0],
            )
        rows: list[Start] = []
        if isinstance(table, Text):  # as written: 007 may be the name of a vertex
            indices = [table.names.index(name) for name in columns]
            for line, fields in itertools.islice(table.rows(), table.header_rows, None):
                where = f"{path}, line {line}"
                if len(fields) != len(table.names):
                    raise GraphError(
                        f"{where}: there are {len(fields)} fields, not {len(table.names)}",
                        path=path,
                        row=line,
                    )
                rows.append((where, [fields[index] for index in indices]))
        else:
            names = check_table(table.read([[name] for name in columns], []), path, [])
            values = zip(*(names[name].to_pylist() for name in columns), strict=True)
            rows = [(f"{path}, row {row}", list(fields)) for row, fields in enumerate(values)]
    if not rows:
        raise GraphError(f"{path}: there is no vertex in it", path=path)
    return rows


def name_starts(starts: Sequence[Start], graph: Any) -> list[Any]:
    """Return the names of the vertices in a graph, as `bfs` and `sssp` take them."""
    if not graph.num_vertices:
        raise GraphError("there are no edges, so there is no vertex to start from")
    storage = storage_of(graph)
    parts = storage.names.parts
    are_integers = [part is None or isinstance(part, storage.xp.ndarray) for part in parts]
    return convert_starts(starts, storage.names.labels, are_integers)


def convert_starts(
    starts: Sequence[Start], labels: Sequence[str], are_integers: Sequence[bool]
) -> list[Any]:
    """Return the names of vertices, whose columns `labels` hold integers or text."""
    names = []
    for where, fields in starts:
        if len(fields) != len(labels):
            raise GraphError(
                f"{where}: {len(labels)} columns name a vertex ({', '.join(labels)}); join their "
                "values by a comma"
            )
        values = zip(fields, are_integers, strict=True)
        names.append(tuple(_convert(value, is_integer, where) for value, is_integer in values))
    return names if len(labels) > 1 else [name for (name,) in names]


def _convert(value: Any, is_integer: bool, where: str) -> int | str:
    """Return a name as an integer or as text."""
    if not is_integer or not isinstance(value, str):
        return value if is_integer else str(value)
    if not INTEGER.fullmatch(value):
        raise GraphError(f"{where}: vertices are named by integers")
    if len(value) > MAX_DIGITS or not -(2**63) <= int(value) < 2**64:
        raise GraphError(f"{where}: integers that name vertices have at most 64 bits")
    return int(value)
