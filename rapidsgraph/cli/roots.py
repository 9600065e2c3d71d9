"""The root of layers that are to be made of a file.

Means: what is written on the command line is an integer or a text as the vertices of the file are.
Requires: nothing is known of these yet. In text the first row shows what names are, and a later
  one can change that: then it is found while the layers are made, and they are begun again.
"""

import itertools

from ..errors import GraphError
from ..textfiles import INTEGER
from .graphs import vertex_columns
from .starts import MOST_DIGITS, as_names

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
        from ..layers.batches import EdgeFile

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
            from ..formats import kind_of_id

            schema = getattr(file.file, "schema", None) or file.file.dataset.schema
            return [kind_of_id(schema, *group) == "integer" for group in file.groups]
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
