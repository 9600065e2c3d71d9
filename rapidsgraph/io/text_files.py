"""Read edges from text: CSV, TSV and SNAP edge lists.

Arrow's CSV reader parses the text. If it fails, the file is read again row by row to find the first
invalid line for the error message.

References
----------
RFC 4180 (CSV); https://snap.stanford.edu/data (SNAP edge lists).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ..errors import GraphError
from ..validation import INTEGER
from .formats import DELIMITERS
from .inputs import InputFile, InputFiles, Name
from .tables import EdgeMetadata, is_number, read_errors
from .text_lines import TextLines
from .text_stream import (
    BLOCK_BYTES,
    LineBreakInQuotes,
    LineCleaner,
    QuoteTracker,
    TransformedFile,
    check_decimal,
    read_blocks,
    strip_line,
)

CHECKED_ROWS = 100  # whose fields show whether a column holds numbers


class Text(TextLines):
    """One or several CSV, TSV or SNAP files with the same columns.

    Parameters
    ----------
    files : InputFiles
    positional : sequence of str
        Names of the first columns of a file without a header.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    header_rows : int
        Number of rows before the first edge, 0 or 1.
    text_columns : set of str
        Name columns that stay text as it is written, even if all values are integers.
    number_type : str
        Arrow type of weights and other values.
    """

    text_columns: frozenset[str] = frozenset()
    _texts: Sequence[Text] = ()  # the single files, if there are several
    number_type = "float64"
    names: list[str]
    has_rows: bool
    header_rows: int
    _header_lines: int

    def __init__(self, files: InputFiles, positional: Sequence[str]) -> None:
        super().__init__(files)
        if len(files.files) > 1:
            self._texts = [self._open_file(file, positional) for file in files.files]
            self._join(self._texts)
        else:
            self._read_header(positional)

    def _open_file(self, file: InputFile, positional: Sequence[str]) -> Self:
        with read_errors(file.name):
            return type(self)(replace(self.files, name=file.name, files=[file]), positional)

    def _read_header(self, positional: Sequence[str]) -> None:
        """Find the names of the columns, and the lines before the first edge, of one file."""
        comment = self._last_comment() if self.kind == "snap" else []
        line, first = next(self.rows(), (0, None))
        if first is None and not comment:
            raise GraphError(f"{self.files}: the file is empty", path=self.files.name)
        self.has_rows, self.header_rows, self._header_lines = first is not None, 0, 0
        is_header = comment[:1] == ["vertex"] or {"source", "destination"} <= set(comment)
        if is_header and (first is None or len(first) == len(comment)):
            self.names = comment  # written by `write_frame`
        elif self.kind == "snap" or (
            first is not None and len(first) > 1 and all(map(INTEGER.fullmatch, first[:2]))
        ):
            others = [f"column{index + 1}" for index in range(len(first or ()))]
            self.names = [*positional, *others[len(positional) :]][: len(first or positional)]
        else:
            self.names = [name.strip() for name in first or ()]
            self.header_rows, self._header_lines = 1, line

    def _join(self, texts: Sequence[Self]) -> None:
        """Read several opened files as one text."""
        first = next((text for text in texts if text.has_rows), texts[0])
        for text in texts:
            if text.has_rows and text.names != first.names:
                raise GraphError(
                    f"{text.files}: its columns are {', '.join(text.names)}, and those of "
                    f"{first.files} are {', '.join(first.names)}; all files of an input must have "
                    "the same columns in the same order",
                    path=text.files.name,
                )
        self.names, self.has_rows = first.names, any(text.has_rows for text in texts)
        self.header_rows, self._header_lines = texts[0].header_rows, texts[0]._header_lines
        self._all_header_lines = [text._header_lines for text in texts]

    def locate_row(self, row: int) -> tuple[Name, int]:
        """Return the name of the file that has a row, and the row's number there."""
        return self.files.locate_row((text._count_rows() for text in self._texts), row)

    def locate_line(self, row: int) -> int:
        """Return the number of a row's line in its file; this is as slow as `rows`."""
        with contextlib.closing(self.rows()) as rows:
            line, _ = next(itertools.islice(rows, self.header_rows + row, None))
        return self.locate(line)[1]

    def _count_rows(self) -> int:
        """Return the number of edges, row by row as `rows` does."""
        return sum(1 for _ in itertools.islice(self.rows(), self.header_rows, None))

    def _last_comment(self) -> list[str]:
        """Return the words of the last comment line before the first row."""
        comment = b""
        with self._open() as file:
            for line in map(strip_line, self._lines(file)):
                if line and line[:1] not in b"#%":
                    break
                comment = line or comment
        return comment.decode(errors="replace").lstrip("#% ").split()

    def read_first_row(self, columns: Sequence[str]) -> list[str] | None:
        """Return the fields of some columns in the first edge, or None if there is none."""
        for _, fields in itertools.islice(self.rows(), self.header_rows, None):
            return [fields[self.names.index(name)] for name in columns]
        return None

    def number_columns(self, names: Sequence[str]) -> list[str]:
        """Return which of some columns hold numbers in all of the first rows."""
        places = {name: self.names.index(name) for name in names}
        rows = itertools.islice(self.rows(), self.header_rows, self.header_rows + CHECKED_ROWS)
        first = [fields for _, fields in rows]
        return [
            name
            for name, place in places.items()
            if first and all(len(row) > place and is_number(row[place]) for row in first)
        ]

    def edge_metadata(self, source: str, destination: str) -> EdgeMetadata:
        """Return the number of lines and the type of the first ids."""
        ids = self.read_first_row([source, destination]) or ["0", "0"]
        with self._open() as file:
            num_lines = sum(block.count(b"\n") for block in read_blocks(file))
        id_type = "integer" if all(map(INTEGER.fullmatch, ids)) else "string"
        return EdgeMetadata(max(num_lines - self._header_lines, 0), id_type, None)

    def measure_text(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the bytes of the file and of its longest line, which bound those of names."""
        with self._open() as file:
            total = longest = 0
            for block in read_blocks(file):  # a line may lie in two blocks
                total += len(block)
                longest = max(longest, 2 * max(map(len, block.split(b"\n"))))
        return total, total if longest >= BLOCK_BYTES else min(longest, total)

    def read(self, groups: Iterable[Sequence[str]], numbers: Sequence[str]) -> Any:
        """Read columns into an Arrow table.

        Parameters
        ----------
        groups : iterable of sequences of str
            Columns that hold vertex names; those of one group become int64 if all of their values
            are integers, or text.
        numbers : sequence of str
            Columns that are read as `number_type`.
        """
        import pyarrow as pa

        groups = list(groups)
        ids = list(dict.fromkeys(itertools.chain(*groups)))
        try:
            return self._read_as(pa.int64(), ids, numbers)
        except pa.ArrowInvalid:
            table = self._read_as(pa.string(), ids, numbers, names_error=True)
        for group in groups if len(groups) > 1 else ():
            if not self.text_columns.isdisjoint(group):
                continue
            with contextlib.suppress(pa.ArrowInvalid):
                for name, values in [(name, to_integers(table[name])) for name in group]:
                    table = table.set_column(table.column_names.index(name), name, values)
        return table

    def _read_as(
        self, id_type: Any, ids: Sequence[str], numbers: Sequence[str], *, names_error: bool = False
    ) -> Any:
        """Read the columns `ids` as `id_type`; with `names_error` an error names the line."""
        import pyarrow as pa

        number_type = getattr(pa, self.number_type)()
        types = dict.fromkeys(ids, id_type) | dict.fromkeys(numbers, number_type)
        types |= dict.fromkeys(self.text_columns & types.keys(), pa.string())
        if not self.has_rows:
            return pa.schema(types.items()).empty_table()
        try:
            table = self._read_table(types)
        except LineBreakInQuotes:
            self.check_quotes()
            return self._read_as(id_type, ids, numbers, names_error=names_error)
        except pa.ArrowInvalid:
            if names_error:
                self.raise_first_error(ids, numbers)
            raise
        if any(column.null_count for column in table.columns):
            self.raise_first_error(ids, numbers)
        return table

    def _read_table(self, types: Mapping[str, Any]) -> Any:
        """Read columns into an Arrow table; see `open_batches`."""
        from pyarrow import csv as arrow_csv

        with self._arrow_options(types) as options:
            return arrow_csv.read_csv(*options)

    @contextlib.contextmanager
    def open_batches(self, types: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
        """Yield an iterable of record batches of some columns.

        Reading raises `LineBreakInQuotes` at the first quoted line break; after `check_quotes` they
        are allowed. Otherwise blocks end at any line break, which is faster.

        Parameters
        ----------
        types : mapping from str to pyarrow.DataType
            Types of the columns to read.
        """
        from pyarrow import csv as arrow_csv

        with self._arrow_options(types) as options, arrow_csv.open_csv(*options) as batches:
            yield batches

    @contextlib.contextmanager
    def _arrow_options(self, types: Mapping[str, Any]) -> Iterator[tuple]:
        """Yield the arguments of pyarrow.csv.read_csv and open_csv: the text and the options."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        with self._open() as file:
            steps: list[Callable[[bytes], bytes]] = []
            if not self.has_quotes:
                steps.append(LineCleaner())
            elif not self._has_quoted_line_breaks:
                steps.append(QuoteTracker(DELIMITERS[self.kind], self._raise_stray_quote))
            if pa.int64() in types.values():
                steps.append(check_decimal)

            def transform(block: bytes) -> bytes:
                for step in steps:
                    block = step(block)
                return block

            if self.has_quotes:
                text = TransformedFile(file, transform)
            else:
                text = pa.TransformInputStream(pa.input_stream(file), transform)
            yield (
                text,
                arrow_csv.ReadOptions(
                    column_names=self.names, skip_rows=self._header_lines, block_size=BLOCK_BYTES
                ),
                arrow_csv.ParseOptions(
                    delimiter=DELIMITERS[self.kind],
                    quote_char='"' if self.has_quotes else False,
                    newlines_in_values=self._has_quoted_line_breaks,
                ),
                arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[""],  # NA and null are valid names
                    strings_can_be_null=True,
                ),
            )

    def raise_first_error(self, ids: Sequence[str], numbers: Sequence[str]) -> None:
        """Raise GraphError for the first invalid row; return if there is none."""
        with contextlib.closing(self.rows()) as rows:  # an error keeps the loop, with an open file
            for row, (line, fields) in enumerate(itertools.islice(rows, self.header_rows, None)):
                if len(fields) != len(self.names):
                    raise self._error(line, self.describe_wrong_length(fields), row=row)
                values = dict(zip(self.names, fields, strict=True))
                for name in (*ids, *numbers):
                    value = values[name]
                    value_problem = self._find_problem(name, value, name in numbers)
                    if value_problem:
                        raise self._error(line, value_problem, row=row, column=name, value=value)

    def describe_wrong_length(self, fields: Sequence[str]) -> str:
        """Return the problem of a row of too few or too many fields."""
        problem = f"the number of fields is {len(fields)}, not {len(self.names)}"
        if self.kind in ("csv", "tsv") and fields and fields[0].startswith("#"):
            problem += "; this format has no comments, so remove lines that begin with #"
        return problem

    def _find_problem(self, name: str, value: str, must_be_number: bool) -> str | None:
        """Return the problem of a value of column `name`, or None."""
        if not value:
            return f"there is no value in column {name!r}"
        if must_be_number and not is_number(value):
            return f"{value!r} in column {name!r} is not a number"
        return None


def to_integers(column: Any) -> Any:
    """Cast a string column to int64; raise ArrowInvalid unless all of it is decimal integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(column, pa.int64())
    if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal digits")
    return values
