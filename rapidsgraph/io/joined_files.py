"""Read several text files as one stream."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Generator, Iterable, Sequence
from typing import IO

from .formats import open_compressed
from .inputs import InputFile, Name
from .tables import read_errors
from .text_stream import BLOCK_BYTES, BYTE_ORDER_MARK, read_blocks

Blocks = Generator[bytes, None, None]


class JoinedFiles(io.RawIOBase):
    """The decompressed contents of text files, one after another.

    The headers of all files but the first are left out, and each file ends with a line break.

    Parameters
    ----------
    files : sequence of InputFile
    header_lines : sequence of int
        Number of lines of each file up to the end of its header.
    """

    def __init__(self, files: Sequence[InputFile], header_lines: Sequence[int]) -> None:
        self._blocks = _read_files(files, header_lines)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, fewer only at the end; all that is left if `size` is negative."""
        parts: list[bytes | memoryview] = []
        num_left = size
        while num_left:
            if not self._rest:
                self._rest = memoryview(next(self._blocks, b""))
                if not self._rest:
                    break
            part = self._rest if size < 0 else self._rest[:num_left]
            parts.append(part)
            self._rest = self._rest[len(part) :]
            num_left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._blocks.close()
        super().close()


def locate_line(
    files: Sequence[InputFile], header_lines: Sequence[int], line: int
) -> tuple[Name, int]:
    """Return the name of the file that has a line of `JoinedFiles`, and its number there."""
    for file, skipped in zip(files, [0, *header_lines[1:]], strict=True):
        with contextlib.closing(_read_file(file, skipped)) as blocks:
            num_lines = _count_lines(blocks)
        if line <= num_lines or file is files[-1]:
            return file.name, line + skipped
        line -= num_lines
    raise LookupError(line)


def _read_files(files: Sequence[InputFile], header_lines: Sequence[int]) -> Blocks:
    for file, skipped in zip(files, [0, *header_lines[1:]], strict=True):
        yield from _read_file(file, skipped)


def _read_file(file: InputFile, skipped: int) -> Blocks:
    """Yield the contents of a file after the first `skipped` lines, which end in a line break."""
    with read_errors(file.name), open_compressed(file.path, file.compression) as stream:
        block = _skip_lines(stream, skipped)
        if not skipped:
            block = block.removeprefix(BYTE_ORDER_MARK)
        last = b"\n"
        while block:
            yield block
            last, block = block[-1:], stream.read(BLOCK_BYTES)
        if last not in (b"\n", b"\r"):
            yield b"\n"


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
