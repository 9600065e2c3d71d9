"""Text that holds edges, into Arrow tables: CSV, TSV, SNAP's edge lists, Matrix Market.

Lines of SNAP and Matrix Market files reach Arrow's CSV reader without comments and with one space
between fields. pandas reads such files too, but cuts a name like ``C#`` at the comment sign.

Reference: the coordinate format of https://math.nist.gov/MatrixMarket/formats.html.
"""

import contextlib
import csv
import gzip
import io
import itertools
import re

from ..errors import GraphError

DELIMITERS = {"csv": ",", "tsv": "\t", "text": " ", "mtx": " "}
INTEGER = re.compile(r"\s*-?[0-9]+\s*")
SIZE = re.compile(r"[0-9]{1,18}")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEXADECIMAL = re.compile(rb"0[xX]|\A[xX]")  # whose 0 may end the block before
BLOCK_BYTES = 2**20  # read, counted or parsed by Arrow at once
MAX_RECORD = BLOCK_BYTES  # bytes of a line, or of a record with quoted line breaks


class LineBreakInQuotes(Exception):
    """A quoted field spans lines: the file has to be read again, in blocks cut outside quotes."""


class Text:
    """A CSV, TSV or SNAP file: its columns, and how they are read.

    Attributes
    ----------
    names : list of str
        The columns: from the header, or `positional` where there is none.
    text_columns : set of str
        Columns of names that stay text, as they are written, even if all are integers.
    """

    text_columns = frozenset()  # of names, which are not to become integers
    number_type = "float64"
    has_quoted_line_breaks = False  # is set when the first one is met

    def __init__(self, path, kind, positional):
        self.path, self.kind = path, kind
        written = self._last_comment() if kind == "text" else []
        line, first = next(self.rows(), (0, None))
        if first is None and not written:
            raise GraphError(f"{path}: the file is empty")
        self.has_rows, self.header_rows, self.header_lines = first is not None, 0, 0
        ours = written[:1] == ["vertex"] or {"source", "destination"} <= set(written)
        if ours and (first is None or len(first) == len(written)):
            self.names = written  # the comment that `formats.write` begins with
        elif kind == "text" or (len(first) > 1 and all(map(INTEGER.fullmatch, first[:2]))):
            further = [f"column{place + 1}" for place in range(len(first or ()))]
            self.names = [*positional, *further[len(positional) :]][: len(first or positional)]
        else:
            self.names = [name.strip() for name in first]
            self.header_rows, self.header_lines = 1, line

    def _bytes(self):
        return gzip.open(self.path) if self.path.suffix.lower() == ".gz" else open(self.path, "rb")

    def _last_comment(self):
        """The words of the last comment line before the first row."""
        last = b""
        with self._bytes() as file:
            for line in map(_stripped, self._lines(file)):
                if line and line[:1] not in b"#%":
                    break
                last = line or last
        return last.decode(errors="replace").lstrip("#% ").split()

    @property
    def has_quotes(self):
        """Whether fields may be in quotes."""
        return self.kind in ("csv", "tsv")

    def _lines(self, file):
        """Lines of an open file; a line is refused before more than `MAX_RECORD` bytes are read."""
        number, rest = 1, b""
        for block in itertools.chain(_blocks(file), [b""]):
            lines = (rest + block).splitlines(keepends=True)  # CR, LF and CRLF, as in Arrow
            # The last line may go on in the next block, and a CR be half of a CRLF.
            rest = lines.pop() if block and lines else b""
            for line in [*lines, rest]:
                if len(line) > MAX_RECORD:
                    raise GraphError(
                        f"{self.path}, line {number}: it is longer than {MAX_RECORD:,} bytes, the "
                        "most for an edge; put each edge on a line of its own"
                    )
                if line is not rest:
                    yield line
                    number += 1

    def rows(self):
        """(line number, fields) of each line that has any; slow, for headers and for errors."""
        with self._bytes() as file:
            if self.has_quotes:
                yield from self._quoted_rows(self._lines(file))
                return
            for number, line in enumerate(map(_stripped, self._lines(file)), 1):
                if line and line[:1] not in b"#%":
                    yield number, [field.decode() for field in line.split()]

    def _quoted_rows(self, lines):
        last = ""

        def decoded():
            nonlocal last
            for line in lines:
                last = line.removeprefix(BYTE_ORDER_MARK).decode()
                yield last

        reader, is_checked = csv.reader(decoded(), delimiter=DELIMITERS[self.kind]), False
        while True:
            try:
                fields = next(reader, None)
            except csv.Error:  # the most characters of a field
                self.check_quotes()
                raise
            if fields is None:
                if '"' in last and not is_checked:  # csv.reader closes what the file leaves open
                    self.check_quotes()
                return
            if not is_checked and any("\n" in field or "\r" in field for field in fields):
                self.check_quotes()
                is_checked = True
            if fields:
                yield reader.line_num, fields

    def check_quotes(self):
        """Follow the quotes of the whole file.

        Raises
        ------
        GraphError
            A quote that is never closed, text behind the closing quote of a field that spans
            lines, or such a field longer than `MAX_RECORD`; names the line.
        """
        from ..kernels import quotes

        with self._bytes() as file:
            tracker = _QuoteTracker(self, stops_at_line_break=False)
            for block in _blocks(file):
                tracker(block)
            tracker(b"")
        state = tracker.state
        if state[quotes.LENGTH] > MAX_RECORD:
            raise GraphError(
                f"{self.path}, line {self._line_at(state[quotes.LONGEST])}: the quoted field that "
                f"begins here has {state[quotes.LENGTH]:,} bytes, and {MAX_RECORD:,} is the most "
                "for an edge; its closing quote may be missing"
            )
        self.has_quoted_line_breaks = bool(state[quotes.ANY_SPANS])

    def raise_stray_quote(self, offset, problem):
        """Raise GraphError for the quoted field that begins `offset` bytes into the text."""
        raise GraphError(
            f"{self.path}, line {self._line_at(offset)}: the quoted field that begins here "
            f"{problem}; remove the stray quote, or double it and put the whole field in quotes"
        )

    def _line_at(self, offset):
        """Return the number of the line with the byte at `offset`; CR, LF and CRLF end lines."""
        line, left, ends_cr = 1, int(offset), False
        with self._bytes() as file:
            while left and (block := file.read(min(left, BLOCK_BYTES))):
                line += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
                line -= ends_cr and block.startswith(b"\n")
                ends_cr, left = block.endswith(b"\r"), left - len(block)
        return line

    def facts(self, source, destination):
        """(rows, kind of id, None); rows by counting lines, so comments are counted too."""
        _, fields = next(itertools.islice(self.rows(), self.header_rows, None), (0, ["0"] * 99))
        ids = [fields[self.names.index(name)] for name in (source, destination)]
        with self._bytes() as file:
            lines = sum(block.count(b"\n") for block in _blocks(file))
        kind = "integer" if all(map(INTEGER.fullmatch, ids)) else "string"
        return max(lines - self.header_lines, 0), kind, None

    def text_facts(self, names):
        """(bytes, longest) of the text in some columns: at most those of the file and of a line."""
        with self._bytes() as file:
            total = longest = 0
            for block in _blocks(file):  # a line may lie in two
                total += len(block)
                longest = max(longest, 2 * max(map(len, block.split(b"\n"))))
        return total, total if longest >= BLOCK_BYTES else min(longest, total)

    def read(self, groups, numbers):
        """The columns of `groups` as int64 where a whole group is, else text; `numbers` as floats.

        A group is a list of columns that hold names of the same kind.
        """
        import pyarrow as pa

        ids = list(dict.fromkeys(itertools.chain(*groups)))
        try:
            return self._table(ids, pa.int64(), numbers)
        except pa.ArrowInvalid:
            table = self._table(ids, pa.string(), numbers, blame=True)
        for group in groups if len(groups) > 1 else ():
            if not self.text_columns.isdisjoint(group):
                continue
            with contextlib.suppress(pa.ArrowInvalid):
                for name, values in [(name, to_integers(table[name])) for name in group]:
                    table = table.set_column(table.column_names.index(name), name, values)
        return table

    def _table(self, ids, id_type, numbers, blame=False):
        """Read by Arrow; with `blame`, what fails is looked for and its line named."""
        import pyarrow as pa
        from pyarrow import csv as reader

        types = dict.fromkeys(ids, id_type) | dict.fromkeys(numbers, self.number_type)
        types |= dict.fromkeys(self.text_columns & types.keys(), pa.string())
        if not self.has_rows:
            return pa.schema(types.items()).empty_table()
        try:
            with self.arrow_options(types) as options:
                table = reader.read_csv(*options)
        except LineBreakInQuotes:
            self.check_quotes()
            return self._table(ids, id_type, numbers, blame)
        except pa.ArrowInvalid:
            if blame:
                self._blame(ids, numbers)
            raise
        if any(column.null_count for column in table.columns):
            self._blame(ids, numbers)
        return table

    @contextlib.contextmanager
    def arrow_options(self, types):
        """What pyarrow.csv.read_csv and open_csv take: the text, and how it is parsed.

        Reading raises `LineBreakInQuotes` at the first quoted line break; after `check_quotes` the
        options allow for them. Without them blocks are cut at any line break, which is faster.

        Parameters
        ----------
        types : dict from str to pyarrow.DataType
            Of the columns to read.
        """
        import pyarrow as pa
        from pyarrow import csv as reader

        with self._bytes() as file:
            steps = [check_decimal] if pa.int64() in types.values() else []
            if not self.has_quotes:
                steps.insert(0, _Cleaner())
            elif not self.has_quoted_line_breaks:
                steps.insert(0, _QuoteTracker(self))

            def transform(block):
                for step in steps:
                    block = step(block)
                return block

            if self.has_quotes:
                text = _TrackedFile(file, transform)
            else:
                text = pa.TransformInputStream(pa.input_stream(file), transform)
            yield (
                text,
                reader.ReadOptions(
                    column_names=self.names, skip_rows=self.header_lines, block_size=BLOCK_BYTES
                ),
                reader.ParseOptions(
                    delimiter=DELIMITERS[self.kind],
                    quote_char='"' if self.has_quotes else False,
                    newlines_in_values=self.has_quoted_line_breaks,
                ),
                reader.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=[""],  # a vertex may well be called NA or null
                    strings_can_be_null=True,
                ),
            )

    def _blame(self, ids, numbers):
        """Raise for the first row that is wrong; return if none is."""
        for line, fields in itertools.islice(self.rows(), self.header_rows, None):
            problem = self._problem(dict(zip(self.names, fields)), ids, numbers)
            if len(fields) != len(self.names):
                problem = f"there are {len(fields)} fields, not {len(self.names)}"
            if problem:
                raise GraphError(f"{self.path}, line {line}: {problem}")

    def _problem(self, row, ids, numbers):
        for name in (*ids, *numbers):
            if not row.get(name):
                return f"there is no value in column {name!r}"
        for name in numbers:
            if not is_number(row[name]):
                return f"{row[name]!r} in column {name!r} is no number"
        return None


class Matrix(Text):
    """A Matrix Market file: entry (i, j) is an edge from vertex i to vertex j, counted from 1."""

    def __init__(self, path):
        self.path, self.kind = path, "mtx"
        with self._bytes() as file:
            banner = next(self._lines(file), b"").decode(errors="replace").lower().split()
        if banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) != 5:
            raise GraphError(f"{path}, line 1: it must begin with '%%MatrixMarket matrix'")
        _, _, layout, field, symmetry = banner
        for what, word, known in (
            ("layout", layout, ("coordinate",)),
            ("field", field, ("pattern", "integer", "real")),
            ("symmetry", symmetry, ("general", "symmetric")),
        ):
            if word not in known:
                raise GraphError(f"{path}, line 1: {what} is {word!r}, not {' or '.join(known)}")
        line, size = next(self.rows(), (2, []))
        if len(size) != 3 or not all(map(SIZE.fullmatch, size)):
            raise GraphError(
                f"{path}, line {line}: it must hold rows, columns and entries, integers from 0 to "
                f"18 digits, not {' '.join(size)[:80]!r}"
            )
        self.size, columns, self.entries = map(int, size)
        if self.size != columns:
            raise GraphError(
                f"{path}, line {line}: a graph's matrix is square, not {self.size} by {columns}"
            )
        self.number_type = "int64" if field == "integer" else "float64"
        self.is_symmetric = symmetry == "symmetric"
        self.size_line, self.header_rows, self.header_lines = line, 1, 1
        self.has_rows = next(itertools.islice(self.rows(), 1, None), None) is not None
        self.names = ["source", "destination", "weight"][: 2 if field == "pattern" else 3]

    @property
    def vertices(self):
        """All vertices, with or without edges, as a range.

        Raises
        ------
        GraphError
            More than a graph can have.
        """
        from ..validation import check_vertex_count

        check_vertex_count(self.size, f"{self.path}, line {self.size_line}: ")
        return range(1, self.size + 1)

    def facts(self, source, destination):
        """(rows, "integer", smallest and largest id), the most there can be by the size line."""
        bounds = (1, self.size) if self.size else None
        return self.entries * (1 + self.is_symmetric), "integer", bounds

    def read(self, groups, numbers):
        """Edges; of a symmetric matrix also those that the file leaves out."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = [*itertools.chain(*groups)]
        table = self._table(ids, pa.int64(), numbers, blame=True)
        for name in ids if len(table) else ():
            bounds = pc.min_max(table[name]).as_py()
            if bounds["min"] < 1 or bounds["max"] > self.size:
                self._blame(ids, numbers)
        if len(table) != self.entries:
            raise GraphError(
                f"{self.path}: there are {len(table)} entries and the size line promises "
                f"{self.entries}; the file is truncated or damaged"
            )
        table = table.select([*ids, *numbers])
        if not self.is_symmetric:
            return table
        mirrored = table.filter(pc.not_equal(table[ids[0]], table[ids[1]]))
        mirrored = mirrored.select([*reversed(ids), *numbers]).rename_columns([*ids, *numbers])
        return pa.concat_tables([table, mirrored])

    def _problem(self, row, ids, numbers):
        for name in ids:
            value = row.get(name, "")
            if not INTEGER.fullmatch(value) or not 1 <= int(value) <= self.size:
                return f"{value!r} in column {name!r} is no integer from 1 to {self.size}"
        return super()._problem(row, ids, numbers)


class _QuoteTracker:
    """Called with block after block, which it returns: the quotes in them are followed.

    Blocks without a quote cost a search for one.

    Parameters
    ----------
    file : Text
    stops_at_line_break : bool
        Whether to raise `LineBreakInQuotes` at the first one.
    """

    def __init__(self, file, *, stops_at_line_break=True):
        self.file, self.delimiter = file, ord(DELIMITERS[file.kind])
        self.stops_at_line_break, self.state = stops_at_line_break, None
        self.seen, self.last = 0, ord("\n")  # of blocks before the first quote

    def __call__(self, block):
        block = bytes(block)
        if not block:
            self._end()
        elif self.state is not None or b'"' in block or not self.stops_at_line_break:
            self._follow(block)
        else:
            self.seen += len(block)
            self.last = block[-1]
        return block

    def _follow(self, block):
        import numpy as np

        from ..kernels import quotes

        if self.state is None:
            self.state = quotes.new_state()
            self.state[[quotes.SEEN, quotes.LAST]] = self.seen, self.last
            if not self.seen and block.startswith(BYTE_ORDER_MARK):
                self.state[quotes.SEEN], block = 3, block[3:]
        quotes.follow(np.frombuffer(block, np.uint8), self.delimiter, self.state)
        if self.stops_at_line_break and self.state[quotes.ANY_SPANS]:
            raise LineBreakInQuotes
        if self.state[quotes.TRAILING] >= 0:
            problem = "spans lines, and text follows its closing quote"
            self.file.raise_stray_quote(self.state[quotes.TRAILING], problem)

    def _end(self):
        from ..kernels import quotes

        if self.state is not None and self.state[quotes.INSIDE]:
            self.file.raise_stray_quote(self.state[quotes.OPENED_AT], "has no closing quote")


class _TrackedFile(io.RawIOBase):
    """A file whose blocks go through a function as they are read; nothing is copied."""

    def __init__(self, file, tracker):
        self.file, self.tracker = file, tracker

    def readable(self):
        return True

    def read(self, size=-1):
        return self.tracker(self.file.read(size))


class _Cleaner:
    """Called with block after block: whole lines, without comments, one space between fields."""

    blanks = bytes.maketrans(b"\t\v\f", b"   ")
    comments = re.compile(rb"(?m)^ *[#%][^\n]*\n?")
    rest = b""

    def __init__(self):
        self.is_first = True

    def __call__(self, block):
        text = self.rest + bytes(block)
        end = len(text)
        if len(block):  # a CR at the end may be half of a CRLF
            end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        self.rest, text = text[end:], text[:end].translate(self.blanks)
        if len(self.rest) > MAX_RECORD:
            import pyarrow as pa

            raise pa.ArrowInvalid("a line is too long")
        if self.is_first:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"#" in text or b"%" in text:
            text = self.comments.sub(b"", text)
        while b"  " in text:  # several times as fast as a regular expression
            text = text.replace(b"  ", b" ")
        text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
        if self.is_first and text:  # the size line of a matrix is to be the first one
            text = text.lstrip(b"\n ")
            self.is_first = not text
        return text


def check_decimal(block):
    """Return a block of text; raise ArrowInvalid if it may hold hexadecimal numbers.

    Arrow reads ``0x10`` as the integer 16. Text that is refused here is read as strings.
    """
    if (b"x" in block or b"X" in block) and HEXADECIMAL.search(block):
        import pyarrow as pa

        raise pa.ArrowInvalid("hexadecimal digits")
    return block


def to_integers(column):
    """Cast a string column to int64; raise ArrowInvalid unless all of it is decimal integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(column, pa.int64())
    if pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal digits")
    return values


def _blocks(file):
    return iter(lambda: file.read(BLOCK_BYTES), b"")


def _stripped(line):
    return line.removeprefix(BYTE_ORDER_MARK).strip()


def is_number(value):
    try:
        return "_" not in value and float(value) is not None
    except ValueError:
        return False
