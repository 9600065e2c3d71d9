"""Read JSON Lines: one object per line.

Arrow parses blocks of lines. A block that it cannot read as the requested types, such as one with
text and integers in one column, is parsed by Python.

References
----------
https://jsonlines.org
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Self

from ..errors import GraphError
from ..validation import DEFAULT_WEIGHT
from .text_files import Text, to_integers
from .text_stream import BLOCK_BYTES, BYTE_ORDER_MARK, MAX_RECORD_BYTES, strip_line

TYPE_NAMES = {bool: "a boolean", dict: "an object", list: "an array"}
WEIGHT_KEY = re.compile(rb'"%b"\s*:' % DEFAULT_WEIGHT.encode())
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # the json module joins pairs
CHUNK_BYTES = 16 * BLOCK_BYTES  # parsed at once, in blocks by several threads


class JsonLines(Text):
    """One or several files of JSON objects, one per line.

    The columns are the keys of the objects in the first block of each file, and the default column
    of weights wherever it first appears, so that no weight is dropped silently. Types of columns
    follow the rules of CSV: numbers and strings with the same text are the same name.
    """

    header_rows = _header_lines = 0

    def _read_header(self, positional: Sequence[str]) -> None:
        names: dict[str, None] = {}
        num_bytes = 0
        for _, size, values in self._objects():
            names |= dict.fromkeys(values)
            num_bytes += size
            if num_bytes > BLOCK_BYTES:
                if DEFAULT_WEIGHT not in names and self._has_weight():
                    names[DEFAULT_WEIGHT] = None
                break
        if not num_bytes:
            raise GraphError(f"{self.files}: the file is empty", path=self.files.name)
        self.names, self.has_rows = list(names), True

    def _has_weight(self) -> bool:
        """Return whether an object has the key of the default column of weights."""
        import pyarrow as pa

        # Only lines that may have the key are parsed. Reading the rows reports invalid lines.
        with self._open() as file, contextlib.suppress(pa.ArrowInvalid):
            for lines in _whole_lines(file):
                for line in lines.splitlines() if WEIGHT_KEY.search(lines) else ():
                    with contextlib.suppress(ValueError):
                        if WEIGHT_KEY.search(line) and DEFAULT_WEIGHT in parse_line(line):
                            return True
        return False

    def _join(self, texts: Sequence[Self]) -> None:
        self.names = list(dict.fromkeys(name for text in texts for name in text.names))
        self.has_rows, self._all_header_lines = True, [0] * len(texts)

    def _objects(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (line number, bytes, object) of each line; numbers are text as they are written."""
        with self._open() as file:
            for number, line in enumerate(self._lines(file), 1):
                text = strip_line(line)
                if not text:
                    continue
                try:
                    values = parse_line(text)
                except UnicodeDecodeError:
                    self._decode(text, number)
                    raise
                except ValueError as error:
                    raise self._error(number, f"it is not a JSON object ({error})") from error
                yield number, len(line), values

    def rows(self) -> Generator[tuple[int, list[str]]]:
        """Yield (line number, fields) of each object, with empty text for missing values."""
        for number, _, values in self._objects():
            fields = (values.get(name) for name in self.names)
            yield number, [value if isinstance(value, str) else _to_text(value) for value in fields]

    def _read_table(self, types: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        with self.open_batches(types) as batches:
            return pa.Table.from_batches(batches, pa.schema(types.items()))

    @contextlib.contextmanager
    def open_batches(self, types: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
        """Yield an iterable of record batches of some columns."""
        with self._open() as file:
            yield (
                batch
                for lines in _whole_lines(file)
                for batch in _parse_lines(lines, types).to_batches()
            )

    def raise_first_error(self, ids: Sequence[str], numbers: Sequence[str]) -> None:
        """Raise GraphError for the first invalid object; return if there is none."""
        for row, (line, _, values) in enumerate(self._objects()):
            for name in (*ids, *numbers):
                value = values.get(name)
                problem = self._find_problem(name, _to_text(value), name in numbers)
                if isinstance(value, (bool, dict, list)):
                    must = "a number" if name in numbers else "text or a number"
                    problem = f"{TYPE_NAMES[type(value)]} in column {name!r} is not {must}"
                elif isinstance(value, str) and LONE_SURROGATE.search(value):
                    problem = (
                        f"{value!a} in column {name!r} is not valid Unicode (a lone surrogate)"
                    )
                if problem:
                    raise self._error(line, problem, row=row, column=name, value=value)


def parse_line(text: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; numbers are text as they are written.

    Raises ValueError if it is not valid, or no object.
    """
    try:
        values = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(values, dict):
        raise ValueError(f"it is {text.decode():.80}")
    return values


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield chunks of whole lines."""
    incomplete: list[bytes] = []
    is_first = True
    for block in iter(lambda: file.read(CHUNK_BYTES), b""):
        if is_first:
            block, is_first = block.removeprefix(BYTE_ORDER_MARK), False
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*incomplete, block[:end]])
            incomplete = []
        incomplete.append(block[end:])
        if sum(map(len, incomplete)) > MAX_RECORD_BYTES:
            import pyarrow as pa

            raise pa.ArrowInvalid("a line is too long")
    yield b"".join(incomplete)


def _parse_lines(lines: bytes, types: Mapping[str, Any]) -> Any:
    """Return an Arrow table of some values of objects; raise ArrowInvalid if one is invalid."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import json as arrow_json

    if not lines.strip():
        return pa.schema(types.items()).empty_table()
    try:
        written = _written_types(lines, types)
        table = arrow_json.read_json(
            pa.BufferReader(lines),
            arrow_json.ReadOptions(block_size=BLOCK_BYTES),
            arrow_json.ParseOptions(
                explicit_schema=pa.schema(written.items()), unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        table = _parse_by_python(lines, types)
    for index, (name, dtype) in enumerate(types.items()):
        column = table[name]
        if pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
            raise pa.ArrowInvalid("an empty name")
        if column.type != dtype:
            column = to_integers(column) if dtype == pa.int64() else column.cast(dtype)
            table = table.set_column(index, name, column)
    return table.select(list(types))


def _written_types(lines: bytes, types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types by which Arrow reads columns: names as the first object has them."""
    import pyarrow as pa

    start = lines.lstrip()
    try:
        first = json.loads(start[: (start.find(b"\n") + 1) or len(start)])
    except (ValueError, RecursionError):
        return dict(types)
    if not isinstance(first, dict):  # which the reader reports, with the number of the line
        return dict(types)
    id_types = {str: pa.string(), int: pa.int64()}
    return {
        name: dtype if pa.types.is_floating(dtype) else id_types.get(type(first.get(name)), dtype)
        for name, dtype in types.items()
    }


def _parse_by_python(lines: bytes, types: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    columns: dict[str, list[str | None]] = {name: [] for name in types}
    for line in filter(None, map(bytes.strip, lines.splitlines())):
        try:
            values = parse_line(line)
        except ValueError as error:
            raise pa.ArrowInvalid(str(error)) from error
        for name, column in columns.items():
            value = values.get(name) or None
            if not isinstance(value, (str, type(None))):
                raise pa.ArrowInvalid(f"column {name} holds {type(value).__name__}")
            column.append(value)
    try:
        return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
    except UnicodeEncodeError as error:  # an escape such as \ud800
        raise pa.ArrowInvalid("a lone surrogate") from error
