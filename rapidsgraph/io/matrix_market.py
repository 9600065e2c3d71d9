"""Read Matrix Market files.

References
----------
The coordinate format of https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import GraphError
from ..validation import INTEGER, check_vertex_count
from .inputs import InputFiles
from .tables import EdgeMetadata
from .text_files import Text

SIZE = re.compile(r"[0-9]{1,18}")


class Matrix(Text):
    """A Matrix Market file: entry (i, j) is an edge from vertex i to vertex j, counted from 1.

    Attributes
    ----------
    size : int
        Number of rows and columns.
    num_entries : int
        Number of entries that the size line declares.
    is_symmetric : bool
        Whether an entry (i, j) also represents (j, i).
    """

    def __init__(self, files: InputFiles) -> None:
        self.files, self.kind = files, files.format
        with self._open() as file:
            banner = next(self._lines(file), b"").decode(errors="replace").lower().split()
        if banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) != 5:
            raise self._error(1, "it must start with '%%MatrixMarket matrix'")
        _, _, layout, field, symmetry = banner
        for keyword, value, choices in (
            ("layout", layout, ("coordinate",)),
            ("field", field, ("pattern", "integer", "real")),
            ("symmetry", symmetry, ("general", "symmetric")),
        ):
            if value not in choices:
                raise self._error(1, f"{keyword} is {value!r}, not {' or '.join(choices)}")
        line, size = next(self.rows(), (2, []))
        if len(size) != 3 or not all(map(SIZE.fullmatch, size)):
            raise self._error(
                line,
                "it must have the numbers of rows, columns and entries, of up to 18 digits, not "
                f"{' '.join(size)[:80]!r}",
            )
        self.size, num_columns, self.num_entries = map(int, size)
        if self.size != num_columns:
            raise self._error(
                line, f"the matrix of a graph must be square, not {self.size} by {num_columns}"
            )
        self.number_type = "int64" if field == "integer" else "float64"
        self.is_symmetric = symmetry == "symmetric"
        self._size_line, self.header_rows, self._header_lines = line, 1, 1
        self.has_rows = next(itertools.islice(self.rows(), 1, None), None) is not None
        self.names = ["source", "destination", "weight"][: 2 if field == "pattern" else 3]

    @property
    def vertices(self) -> range:
        """Return all vertices, with or without edges; raise GraphError if there are too many."""
        check_vertex_count(self.size, f"{self.files}, line {self._size_line}: ")
        return range(1, self.size + 1)

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return upper bounds from the size line."""
        id_range = (1, self.size) if self.size else None
        return EdgeMetadata(self.num_entries * (1 + self.is_symmetric), "integer", id_range)

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read the edges; those mirrored in a symmetric matrix follow its entries."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = [*itertools.chain(*groups)]
        table = self._read_as(pa.int64(), ids, numbers, names_error=True)
        for name in ids if len(table) else ():
            bounds = pc.min_max(table[name]).as_py()
            if bounds["min"] < 1 or bounds["max"] > self.size:
                self.raise_first_error(ids, numbers)
        self.check_num_entries(len(table))
        table = table.select([*ids, *numbers])
        if not self.is_symmetric:
            return table
        mirrored = table.filter(pc.not_equal(table[ids[0]], table[ids[1]]))
        mirrored = mirrored.select([*reversed(ids), *numbers]).rename_columns([*ids, *numbers])
        return pa.concat_tables([table, mirrored])

    def check_num_entries(self, num_entries: int) -> None:
        """Raise GraphError unless there are as many entries as the size line declares."""
        if num_entries != self.num_entries:
            raise GraphError(
                f"{self.files}: there are {num_entries} entries, but the size line declares "
                f"{self.num_entries}; the file is truncated or damaged",
                path=self.files.name,
            )

    def _find_problem(self, name: str, value: str, must_be_number: bool) -> str | None:
        is_id = INTEGER.fullmatch(value) and 1 <= int(value) <= self.size
        if not must_be_number and not is_id:
            return f"{value!r} in column {name!r} is not an integer from 1 to {self.size}"
        return super()._find_problem(name, value, must_be_number)
