"""The lines and rows of text files with their numbers, for headers and error messages."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import IO, Any, NoReturn

from .. import kernels
from ..errors import GraphError
from .formats import DELIMITERS, open_compressed
from .inputs import InputFiles, Name
from .text_stream import (
    BLOCK_BYTES,
    BYTE_ORDER_MARK,
    MAX_RECORD_BYTES,
    JoinedFiles,
    QuoteTracker,
    locate_line,
    read_blocks,
    strip_line,
)


class TextLines:
    """The lines of one or several CSV, TSV or SNAP files.

    Parameters
    ----------
    files : InputFiles

    Attributes
    ----------
    kind : {"csv", "tsv", "snap"}
    """

    _all_header_lines: Sequence[int]  # before the first edge of each file, if there are several
    _has_quoted_line_breaks = False  # until the first one is found

    def __init__(self, files: InputFiles) -> None:
        self.files, self.kind = files, files.format

    def _open(self) -> IO[bytes]:
        files = self.files.files
        if len(files) == 1:
            return open_compressed(files[0].path, files[0].compression)
        return JoinedFiles(files, self._all_header_lines)  # type: ignore[return-value]

    def locate(self, line: int) -> tuple[Name, int]:
        """Return the name of the file that has a line of the text, and the line's number there."""
        files = self.files.files
        if len(files) == 1:
            return files[0].name, line
        return locate_line(files, self._all_header_lines, line)

    @property
    def has_quotes(self) -> bool:
        """Whether fields may be in quotes."""
        return self.kind in ("csv", "tsv")

    def _error(self, line: int, problem: str, **fields: Any) -> GraphError:
        name, line = self.locate(line)
        return GraphError(f"{name}, line {line}: {problem}", path=name, **fields)

    def _decode(self, line: bytes, number: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise self._error(
                number, f"the text is not UTF-8 ({error}); convert it first"
            ) from error

    def _lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield lines; an overlong one raises GraphError before it is read completely."""
        number, incomplete = 1, b""
        for block in itertools.chain(read_blocks(file), [b""]):
            lines = (incomplete + block).splitlines(keepends=True)  # CR, LF and CRLF, as in Arrow
            # The next block may continue the last line, or complete a CRLF.
            incomplete = lines.pop() if block and lines else b""
            for index, line in enumerate([*lines, incomplete]):
                if len(line) > MAX_RECORD_BYTES:
                    raise self._error(
                        number,
                        f"it is longer than the maximum of {MAX_RECORD_BYTES:,} bytes; put each "
                        "edge on its own line",
                    )
                if index < len(lines):
                    yield line
                    number += 1

    def rows(self) -> Generator[tuple[int, list[str]]]:
        """Yield (line number, fields) of each row, the header included.

        This is slow, and meant for headers and error messages.
        """
        with self._open() as file:
            if self.has_quotes:
                yield from self._quoted_rows(self._lines(file))
                return
            for number, line in enumerate(map(strip_line, self._lines(file)), 1):
                if line and line[:1] not in b"#%":
                    yield number, [self._decode(field, number) for field in line.split()]

    def _quoted_rows(self, lines: Iterable[bytes]) -> Iterator[tuple[int, list[str]]]:
        last = ""

        def decode_lines() -> Iterator[str]:
            nonlocal last
            for number, line in enumerate(lines, 1):
                last = self._decode(line.removeprefix(BYTE_ORDER_MARK), number)
                yield last

        reader, is_checked = csv.reader(decode_lines(), delimiter=DELIMITERS[self.kind]), False
        while True:
            try:
                fields = next(reader, None)
            except csv.Error:  # the longest field that the csv module reads
                self.check_quotes()
                raise
            if fields is None:
                if '"' in last and not is_checked:  # csv.reader accepts a missing closing quote
                    self.check_quotes()
                return
            if not is_checked and any("\n" in field or "\r" in field for field in fields):
                self.check_quotes()
                is_checked = True
            if fields:
                yield reader.line_num, fields

    def check_quotes(self) -> None:
        """Check the quotes of the whole file.

        Raises
        ------
        GraphError
            A quote is never closed, text follows the closing quote of a field that spans lines, or
            such a field is longer than `MAX_RECORD_BYTES`; names the line.
        """
        with self._open() as file:
            tracker = QuoteTracker(
                DELIMITERS[self.kind], self._raise_stray_quote, stops_at_line_break=False
            )
            for block in read_blocks(file):
                tracker(block)
            tracker(b"")
        quotes, state = kernels.quotes, tracker.state
        if state[quotes.LENGTH] > MAX_RECORD_BYTES:
            raise self._error(
                self._line_at(state[quotes.LONGEST]),
                f"the quoted field that starts here has {state[quotes.LENGTH]:,} bytes, more than "
                f"the maximum of {MAX_RECORD_BYTES:,}; its closing quote may be missing",
            )
        self._has_quoted_line_breaks = bool(state[quotes.ANY_SPANS])

    def _raise_stray_quote(self, offset: int, problem: str) -> NoReturn:
        """Raise GraphError for the quoted field that starts at byte `offset`."""
        raise self._error(
            self._line_at(offset),
            f"the quoted field that starts here {problem}; remove the stray quote, or double it "
            "and put the whole field in quotes",
        )

    def _line_at(self, offset: int) -> int:
        """Return the number of the line with the byte at `offset`; CR, LF and CRLF end lines."""
        line, num_left, ends_with_cr = 1, int(offset), False
        with self._open() as file:
            while num_left and (block := file.read(min(num_left, BLOCK_BYTES))):
                line += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
                line -= ends_with_cr and block.startswith(b"\n")
                ends_with_cr, num_left = block.endswith(b"\r"), num_left - len(block)
        return line
