"""The vertices that a traversal starts from: on the command line and in files."""

import csv
import io
import itertools
from pathlib import Path
from typing import Annotated

import typer

from ..errors import GraphError
from ..textfiles import INTEGER

MOST_DIGITS = 100  # more than 64 bits in any case; Python refuses to convert thousands
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


def written(given, path, columns):
    """The vertices to start from as they are written: (where that is, a field for each column)."""
    if not given and not path:
        raise typer.BadParameter("name a vertex, or give --from-file", param_hint="--from")
    starts = [(f"--from {text!r}", _fields(text, columns)) for text in given or ()]
    return starts + (_rows_of(path.expanduser(), columns) if path else [])


def _fields(text, columns):
    return [text] if len(columns) == 1 else next(csv.reader(io.StringIO(text, newline="")), [])


def _rows_of(path, columns):
    """Likewise for the rows of a table."""
    from .. import formats

    with formats.reading(path):
        file = formats.opened(path, columns)
        absent = [name for name in columns if file.names.count(name) != 1]
        if absent:
            raise GraphError(
                f"{path}: there must be one column {absent[0]!r}; the columns are "
                f"{', '.join(file.names)}"
            )
        if isinstance(file, formats.Text):  # as written: 007 may be the name of a vertex
            places = [file.names.index(name) for name in columns]
            rows = []
            for line, fields in itertools.islice(file.rows(), file.header_rows, None):
                where = f"{path}, line {line}"
                if len(fields) != len(file.names):
                    count = len(file.names)
                    raise GraphError(f"{where}: there are {len(fields)} fields, not {count}")
                rows.append((where, [fields[place] for place in places]))
        else:
            table = formats.checked(file.read([[name] for name in columns], []), path, [])
            values = zip(*(table[name].to_pylist() for name in columns))
            rows = [(f"{path}, row {row}", fields) for row, fields in enumerate(values)]
    if not rows:
        raise GraphError(f"{path}: there is no vertex in it")
    return rows


def named(starts, graph):
    """The vertices to start from, as `bfs` and `sssp` take them."""
    if not graph.num_vertices:
        raise GraphError("there are no edges, so there is no vertex to start from")
    parts = graph.names.parts
    are_integers = [part is None or isinstance(part, graph.xp.ndarray) for part in parts]
    return as_names(starts, graph.names.labels, are_integers)


def as_names(starts, labels, are_integers):
    """Likewise, where integers or texts name vertices in the columns `labels`."""
    names = []
    for where, fields in starts:
        if len(fields) != len(labels):
            raise GraphError(
                f"{where}: {len(labels)} columns name a vertex ({', '.join(labels)}); join their "
                "values by a comma"
            )
        names.append(tuple(_converted(*each, where) for each in zip(fields, are_integers)))
    return names if len(labels) > 1 else [name for (name,) in names]


def _converted(value, is_integer, where):
    """What a name is: an integer where integers name vertices, else text."""
    if not is_integer or not isinstance(value, str):
        return value if is_integer else str(value)
    if not INTEGER.fullmatch(value):
        raise GraphError(f"{where}: vertices are named by integers")
    if len(value) > MOST_DIGITS or not -(2**63) <= int(value) < 2**64:
        raise GraphError(f"{where}: integers that name vertices have at most 64 bits")
    return int(value)
