"""Read several text files as one stream."""

from __future__ import annotations

import contextlib
import io
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import IO

from .formats import open_compressed
from .inputs import InputFile, Name
from .tables import read_errors
from .text_stream import BLOCK_BYTES, BYTE_ORDER_MARK, read_blocks


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
