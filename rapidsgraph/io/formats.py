"""Formats and compressions of files, by the endings of their names or their first bytes."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
from pathlib import Path, PurePath
from typing import IO, Any, Literal, get_args

from ..errors import GraphError, format_value

Format = Literal["csv", "tsv", "snap", "jsonl", "mtx", "parquet", "arrow"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "snap",
    ".edges": "snap",
    ".el": "snap",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".mtx": "mtx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
}
DELIMITERS = {"csv": ",", "tsv": "\t", "snap": " ", "mtx": " "}
TEXT_FORMATS = {*DELIMITERS, "jsonl"}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}  # of text
SIGNATURES = {  # the first bytes of a file
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"%%MatrixMarket": "mtx",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"PK\3\4": "zip",
}
NON_TEXT = re.compile(rb"[\0-\x08\x0e-\x1f\xc0\xc1\xf5-\xff]")  # bytes that UTF-8 text lacks
# The folder of a layered edge list has these files, with STORE_FORMAT in their first bytes.
STORE_FORMAT = "rapidsgraph.LayeredEdgeList"
START_BYTES = 2**16
STORE_FILES = "manifest.json", "vertices.arrow", "layers.arrow", "partitions.arrow", "edges.npy"
# What to do about an open file whose format is not recognized.
FORMAT_HINT = f"pass format='csv', or another of {', '.join(get_args(Format))}"


def check_format(value: Any) -> None:
    """Raise GraphError unless the parameter `format` is None or a format."""
    if value is not None and value not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise GraphError(
            f"{{parameter}} is {format_value(value)}; it must be one of {known}",
            parameter="format",
            value=value,
            hint=f"use one of {known}",
        )


def split_endings(name: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the ending of a file name in lower case, and the compression that follows it."""
    path = PurePath(name)
    compression = COMPRESSIONS.get(path.suffix.lower())
    return (PurePath(path.stem) if compression else path).suffix.lower(), compression


def format_of(name: str | os.PathLike[str]) -> Format:
    """Return the format of a file by the ending of its name.

    Raises
    ------
    GraphError
        If the ending is unknown, or a compression follows that of a format that has its own.
    """
    ending, compression = split_endings(name)
    file_format = FORMATS.get(ending)
    if file_format is None:
        text = [name for name in FORMATS if FORMATS[name] in TEXT_FORMATS]
        raise GraphError(
            f"{name}: the ending {ending!r} is not known; try {' '.join(FORMATS)}, and "
            f"{' '.join(COMPRESSIONS)} after {' '.join(text)}",
            path=name,
            value=ending,
        )
    check_compression(name, file_format, compression)
    return file_format


def check_compression(
    name: str | os.PathLike[str], file_format: Format, compression: str | None
) -> None:
    """Raise GraphError if a format with its own compression is compressed once more."""
    if compression and file_format not in TEXT_FORMATS:
        raise GraphError(
            f"{name}: {file_format} has its own compression and cannot be in {compression}; "
            f"{{hint}}",
            path=name,
            value=compression,
            hint=f"use a {file_format} file that is not in {compression}",
        )


def detect_compression(
    name: str | os.PathLike[str], file_format: Format, start: bytes
) -> str | None:
    """Return the compression that the first bytes of a file show, or None.

    Raises
    ------
    GraphError
        The first bytes are those of another format, or of a compression that cannot be read.
    """
    signature = signature_of(start)
    if signature == "zip":
        problem, hint = "it is a zip archive", "extract its files, or compress them by gzip"
    elif signature in ("parquet", "arrow") and signature != file_format:
        problem = f"it is {signature}, not {file_format}"
        hint = f"give it the ending .{signature}, or name this format"
    elif file_format in ("parquet", "arrow") and not signature and not NON_TEXT.search(start):
        problem = f"it is text, not {file_format}"
        hint = "give it the ending of its format, such as .csv, or name the format"
    else:
        compression = signature if signature in COMPRESSIONS.values() else None
        check_compression(name, file_format, compression)
        return compression
    raise GraphError(f"{name}: {problem}; {hint}", path=name, value=signature, hint=hint)


def signature_of(start: bytes) -> str | None:
    """Return the format or the compression that the first bytes of a file show, or None.

    Text may begin with the letters of a binary format: ``PAR1`` is also the name of a gene.
    """
    for signature, name in SIGNATURES.items():
        if start.startswith(signature) and (name == "mtx" or NON_TEXT.search(start)):
            return name
    return None


def enclosing_store(path: Path) -> Path | None:
    """Return the innermost folder above a resolved path that is a layered edge list, or None."""
    for folder in path.parents:
        for name in STORE_FILES:
            with contextlib.suppress(OSError):
                if (folder / name).is_file() and is_store_file(folder / name):
                    return folder
    return None


def is_store_file(path: Path) -> bool:
    """Return whether a file says that it belongs to a layered edge list, even a damaged one."""
    with open(path, "rb") as file:
        return is_store_start(file.read(START_BYTES))


def is_store_start(start: bytes) -> bool:
    """Return whether the first `START_BYTES` of a file say that it is of a layered edge list."""
    return STORE_FORMAT.encode() in start


def open_compressed(path: str | os.PathLike[str], compression: str | None) -> IO[bytes]:
    """Open a file for reading, and decompress it."""
    if compression == "gzip":
        return gzip.open(path)  # type: ignore[return-value]
    if compression == "bz2":
        import bz2

        return bz2.open(path)
    if compression == "xz":
        import lzma

        return lzma.open(path)
    if compression == "zstd":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(os.fsencode(path)), "zstd")
    return open(path, "rb")


def open_compressor(file: Any, compression: str | None) -> Any:
    """Return a context manager that yields a binary file, whose content is compressed into `file`.

    The same content gives the same bytes. `file` stays open.
    """
    if compression == "gzip":
        return gzip.GzipFile("", "wb", 6, file, mtime=0)
    if compression == "bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if compression == "xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if compression == "zstd":
        import pyarrow as pa

        return pa.CompressedOutputStream(_Unclosed(file), "zstd")
    return contextlib.nullcontext(file)


class _Unclosed(io.RawIOBase):
    """A file that stays open when this view of it is closed, as Arrow's streams do with theirs."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self.file.write(data)
