"""The root of layers that are to be made of a file.

Means: what is written on the command line is an integer or a text as the vertices of the file are.
Requires: nothing is known of these yet. In text the first row shows what names are, and a later
  one can change that: then it is found while the layers are made, and they are begun again.
"""
# The vertices that a traversal starts from: on the command line and in files.

import csv
import io
import itertools
from pathlib import Path
from typing import Annotated

import typer

from ..errors import GraphError
from ..io.text_files import INTEGER
from .options import vertex_columns

IS_TEXT, IS_NUMBER = "vertices are named by text", " names of type "  # so says names.py
WIDEST = 2**63


class Root:
    """One vertex as it is written; with `starts` None that of the first row will do.

    Parameters
    ----------
    options : dict
        As `LayeredEdgeList.build` takes them.
    starts : list of (where, fields)
        As `written` gives it.
    """

    def __init__(self, options, starts):
        self.options, self.starts = options, starts
        self.columns = self.labels(options)

    @staticmethod
    def labels(options):
        """The columns that name a vertex."""
        ends = (options.get(end) for end in ("source", "destination"))
        return vertex_columns(*([end] if isinstance(end, str) else end for end in ends))

    def like(self, name):
        """The root, integers and text as in `name`, the root of a store."""
        if self.starts is None:
            return name
        parts = name if isinstance(name, tuple) else [name]
        if len(parts) != len(self.columns):
            raise GraphError("this is another root")
        return self._named([isinstance(part, int) for part in parts])

    def building(self, path, make):
        """What `make(root)` returns that reads the file."""
        from ..layered.outofcore.edge_reader import EdgeFile

        file = EdgeFile(path, *map(self.options.get, ("source", "destination", "weight")))
        if self.starts is None:
            self.starts = [(f"the first row of {path}", _first_vertex(file))]
        are_integers = self._kinds(file)
        while True:
            try:
                return make(self._named(are_integers))
            except GraphError as error:
                place = self._column_of_text(str(error))
                if file.is_text and place is not None and are_integers[place]:
                    are_integers[place] = False
                elif file.is_text and str(error).startswith("root") and IS_NUMBER in str(error):
                    where = self.starts[0][0]
                    raise GraphError(f"{where}: vertices are named by integers") from None
                else:
                    raise

    def _named(self, are_integers):
        names = list(dict.fromkeys(as_names(self.starts, self.columns, are_integers)))
        if len(names) > 1:
            raise GraphError(
                f"layers begin at one vertex, and {len(names)} are named; give one, or search "
                "without --layers and --memory-limit"
            )
        return names[0]

    def _kinds(self, file):
        """Whether integers name vertices, for each column that names one, as far as is known."""
        if not file.is_text:
            from ..io.columnar_files import id_type_of

            schema = getattr(file.file, "schema", None) or file.file.dataset.schema
            return [id_type_of(schema, *group) == "integer" for group in file.groups]
        given = [fields for _, fields in self.starts if len(fields) == len(self.columns)]
        row = _first_row(file)
        return [
            all(_is_integer(row[file.file.names.index(name)]) for name in group)
            and all(_is_integer(fields[place]) for fields in given)
            for place, group in enumerate(file.groups)
        ]

    def _column_of_text(self, message):
        """Which column of names holds text after all, if that is what a message says."""
        for place, label in enumerate(self.columns):
            where = f"root: {label}" if len(self.columns) > 1 else "root"
            if message.startswith(f"{where}: {IS_TEXT}"):
                return place
        return None


def _first_row(file):
    """The fields of the first edge in a text file."""
    rows = file.file.rows()
    _, fields = next(itertools.islice(rows, file.file.header_rows, None), (0, None))
    if fields is None:
        raise _no_edges(file)
    return fields


def _first_vertex(file):
    """Where the first edge begins: a value for each column that names a vertex."""
    if not file.is_text:
        for batch in file.batches(1, WIDEST):
            if batch.rows:
                return [column.tolist()[0] for column in batch.sources]
        raise _no_edges(file)
    row = _first_row(file)
    return [row[file.file.names.index(name)] for name, _ in file.groups]


def _no_edges(file):
    return GraphError(f"{file.path}: there are no edges, so there is no vertex to start from")


def _is_integer(text):
    """Whether pyarrow would read an int64."""
    if isinstance(text, str) and (not INTEGER.fullmatch(text) or len(text) > MOST_DIGITS):
        return False
    return isinstance(text, (int, str)) and -WIDEST <= int(text) < WIDEST


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
    from ..io import formats, tables, text_files

    with formats.read_errors(path):
        file = tables.open_table(path, columns)
        absent = [name for name in columns if file.names.count(name) != 1]
        if absent:
            raise GraphError(
                f"{path}: there must be one column {absent[0]!r}; the columns are "
                f"{', '.join(file.names)}"
            )
        if isinstance(file, text_files.Text):  # as written: 007 may be the name of a vertex
            places = [file.names.index(name) for name in columns]
            rows = []
            for line, fields in itertools.islice(file.rows(), file.header_rows, None):
                where = f"{path}, line {line}"
                if len(fields) != len(file.names):
                    count = len(file.names)
                    raise GraphError(f"{where}: there are {len(fields)} fields, not {count}")
                rows.append((where, [fields[place] for place in places]))
        else:
            table = tables.check_table(file.read([[name] for name in columns], []), path, [])
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
