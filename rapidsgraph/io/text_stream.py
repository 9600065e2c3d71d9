"""Streams of text that Arrow's CSV reader parses: several files as one, and transformed blocks.

SNAP and Matrix Market files are stripped of comments, with one space between fields. (pandas would
read such files, but cut a name like ``C#`` at the comment sign.) In CSV files quotes are tracked,
because Arrow by default cuts blocks at any line break, even within quotes.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NoReturn

import numpy as np

from .. import kernels
from .formats import open_compressed
from .inputs import InputFile, Name
from .tables import read_errors

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


class JoinedFiles(io.RawIOBase):
    """The decompressed contents of text files, one after another.

    The headers of all files but the first are left out, and each file ends with a line break.

    Several threads may read and close it: PyArrow reads ahead in a thread of its own, which may
    still do so when an error ends the block that opened the files.

    Parameters
    ----------
    files : sequence of InputFile
    header_lines : sequence of int
        Number of lines of each file up to the end of its header.
    """

    def __init__(self, files: Sequence[InputFile], header_lines: Sequence[int]) -> None:
        self._lock = threading.Lock()
        self._pending = deque(zip(files, [0, *header_lines[1:]], strict=True))
        self._current: _OpenFile | None = None
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, fewer only at the end; all that is left if `size` is negative.

        Nothing is left after `close`.
        """
        blocks: list[memoryview] = []
        num_left = size
        with self._lock:
            while num_left:
                if not self._rest:
                    self._rest = memoryview(self._read_block())
                    if not self._rest:
                        break
                block = self._rest if size < 0 else self._rest[:num_left]
                blocks.append(block)
                self._rest = self._rest[len(block) :]
                num_left -= len(block)
        return b"".join(blocks)

    def _read_block(self) -> bytes:
        """Return the next block of the current or a later file, or nothing at the end."""
        while True:
            if self._current is None:
                if not self._pending:
                    return b""
                self._current = _OpenFile(*self._pending.popleft())
            block = self._current.read_block()
            if block:
                return block
            self._current.close()
            self._current = None

    def close(self) -> None:
        """Close the current file; wait for a thread that reads from it."""
        with self._lock:
            self._pending.clear()
            self._rest = memoryview(b"")
            if self._current is not None:
                self._current.close()
                self._current = None
        super().close()


def locate_line(
    files: Sequence[InputFile], header_lines: Sequence[int], line: int
) -> tuple[Name, int]:
    """Return the name of the file that has a line of `JoinedFiles`, and its number there."""
    for file, skipped in zip(files, [0, *header_lines[1:]], strict=True):
        with contextlib.closing(_OpenFile(file, skipped)) as opened:
            num_lines = _count_lines(iter(opened.read_block, b""))
        if line <= num_lines or file is files[-1]:
            return file.name, line + skipped
        line -= num_lines
    raise LookupError(line)


class _OpenFile:
    """The decompressed contents of a file after its first `num_skipped` lines.

    They end with a line break. Errors name the file.
    """

    def __init__(self, file: InputFile, num_skipped: int) -> None:
        self._name, self._last = file.name, b"\n"
        with contextlib.ExitStack() as stack:
            stack.enter_context(read_errors(file.name))
            self._stream = open_compressed(file.path, file.compression)
            stack.callback(self._stream.close)
            self._first = _skip_lines(self._stream, num_skipped)
            stack.pop_all()
        if not num_skipped:
            self._first = self._first.removeprefix(BYTE_ORDER_MARK)

    def read_block(self) -> bytes:
        """Return the next block, or nothing at the end."""
        block, self._first = self._first, b""
        if not block:
            with read_errors(self._name):
                block = self._stream.read(BLOCK_BYTES)
        if not block and self._last not in (b"\n", b"\r"):
            block = b"\n"
        self._last = block[-1:] or b"\n"
        return block

    def close(self) -> None:
        self._stream.close()


def _skip_lines(stream: IO[bytes], count: int) -> bytes:
    """Read past `count` lines; return what was read after them."""
    start = b""
    for block in read_blocks(stream):
        start += block
        lines = start.splitlines(keepends=True)
        if len(lines) > count:  # so that the last break is not half of a CRLF
            return b"".join(lines[count:])
    return b""


def _count_lines(blocks: Iterable[bytes]) -> int:
    """Return the number of line breaks; CR, LF and CRLF are one."""
    count, ends_with_cr = 0, False
    for block in blocks:
        count += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
        count -= ends_with_cr and block.startswith(b"\n")
        ends_with_cr = block.endswith(b"\r")
    return count
