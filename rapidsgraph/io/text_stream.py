"""Transform blocks of text before Arrow's CSV reader parses them.

SNAP and Matrix Market files are stripped of comments, with one space between fields. (pandas would
read such files, but cut a name like ``C#`` at the comment sign.) In CSV files quotes are tracked,
because Arrow by default cuts blocks at any line break, even within quotes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import IO, Any, NoReturn

import numpy as np

from .. import kernels

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEXADECIMAL = re.compile(rb"0[xX]|\A[xX]")  # the 0 may end the previous block
BLOCK_BYTES = 2**20  # read, counted or parsed by Arrow at once
MAX_RECORD_BYTES = BLOCK_BYTES  # of a line, or of a record with quoted line breaks


class LineBreakInQuotes(Exception):  # noqa: N818 - a control signal, not an error
    """A quoted field spans lines: read the file again, in blocks that end outside quotes."""


class QuoteTracker:
    """Track the quotes in successive blocks, which are returned unchanged.

    Before the first quote a block costs one search. An empty block ends the text.

    Parameters
    ----------
    delimiter : str
    raise_stray_quote : callable
        Called with the offset and the problem of a quoted field; raises.
    stops_at_line_break : bool
        Whether to raise `LineBreakInQuotes` at the first quoted line break.

    Attributes
    ----------
    state : int64 array
        State of `rapidsgraph.kernels.quotes`, set at the first quote.
    """

    def __init__(
        self,
        delimiter: str,
        raise_stray_quote: Callable[[int, str], NoReturn],
        *,
        stops_at_line_break: bool = True,
    ) -> None:
        self.delimiter, self.raise_stray_quote = ord(delimiter), raise_stray_quote
        self.stops_at_line_break = stops_at_line_break
        self.state: Any = None
        self._num_bytes, self._last_byte = 0, ord("\n")  # of the blocks before the first quote

    def __call__(self, block: Any) -> bytes:
        block = bytes(block)
        if not block:
            self._end()
        elif self.state is not None or b'"' in block or not self.stops_at_line_break:
            self._follow(block)
        else:
            self._num_bytes += len(block)
            self._last_byte = block[-1]
        return block

    def _follow(self, block: bytes) -> None:
        quotes = kernels.quotes
        if self.state is None:
            self.state = quotes.new_state()
            self.state[[quotes.SEEN, quotes.LAST]] = self._num_bytes, self._last_byte
            if not self._num_bytes and block.startswith(BYTE_ORDER_MARK):
                self.state[quotes.SEEN], block = 3, block[3:]
        state = self.state
        quotes.follow(np.frombuffer(block, np.uint8), self.delimiter, state)
        if self.stops_at_line_break and state[quotes.ANY_SPANS]:
            raise LineBreakInQuotes
        if state[quotes.TRAILING] >= 0:
            problem = "spans lines and has text after its closing quote"
            self.raise_stray_quote(int(state[quotes.TRAILING]), problem)

    def _end(self) -> None:
        if self.state is not None and self.state[kernels.quotes.INSIDE]:
            offset = int(self.state[kernels.quotes.OPENED_AT])
            self.raise_stray_quote(offset, "has no closing quote")


class TransformedFile(io.RawIOBase):
    """A file whose blocks go through a function as they are read; nothing is copied.

    `pyarrow.TransformInputStream` does the same with a copy of each block.
    """

    def __init__(self, file: IO[bytes], transform: Callable[[bytes], bytes]) -> None:
        self.file, self.transform = file, transform

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read and transform a block."""
        return self.transform(self.file.read(size))


class LineCleaner:
    """Convert successive blocks to whole lines without comments and repeated white space."""

    whitespace = bytes.maketrans(b"\t\v\f", b"   ")
    comments = re.compile(rb"(?m)^ *[#%][^\n]*\n?")

    def __init__(self) -> None:
        self._is_first = True
        self._incomplete = b""  # line that the next block continues

    def __call__(self, block: Any) -> bytes:
        text = self._incomplete + bytes(block)
        end = len(text)
        if len(block):  # a CR at the end may be half of a CRLF
            end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        self._incomplete, text = text[end:], text[:end].translate(self.whitespace)
        if len(self._incomplete) > MAX_RECORD_BYTES:
            import pyarrow as pa

            raise pa.ArrowInvalid("a line is too long")
        if self._is_first:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"#" in text or b"%" in text:
            text = self.comments.sub(b"", text)
        while b"  " in text:  # several times as fast as a regular expression
            text = text.replace(b"  ", b" ")
        text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
        if self._is_first and text:  # the size line of a matrix must be the first line
            text = text.lstrip(b"\n ")
            self._is_first = not text
        return text


def check_decimal(block: bytes) -> bytes:
    """Return a block of text; raise ArrowInvalid if it may hold hexadecimal numbers.

    Arrow reads ``0x10`` as the integer 16; such a column is text instead.
    """
    if (b"x" in block or b"X" in block) and HEXADECIMAL.search(block):
        import pyarrow as pa

        raise pa.ArrowInvalid("hexadecimal digits")
    return block


def read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Iterate over the blocks of an open file."""
    return iter(lambda: file.read(BLOCK_BYTES), b"")


def strip_line(line: bytes) -> bytes:
    """Return a line without byte order mark and surrounding white space."""
    return line.removeprefix(BYTE_ORDER_MARK).strip()
