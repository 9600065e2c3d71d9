"""Find the files of an input: a path, a folder, a glob, a URL or an open file.

Readers get local files. A URL is downloaded, and the rest of an open file is copied, to a temporary
folder (``TMPDIR``) that is removed afterwards. Local files are read where they are.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, NamedTuple, get_args

from ..atomic import NO_SPACE, is_no_space
from ..errors import GraphError, format_bytes
from ..signals import cleanup_on_signal
from ..validation import check_path
from .formats import (
    FORMAT_HINT,
    FORMATS,
    START_BYTES,
    STORE_FILES,
    Format,
    check_compression,
    check_format,
    detect_compression,
    format_of,
    is_store_start,
    signature_of,
    split_endings,
)
from .remote import (
    BROKEN_URL,
    MAGIC,
    RemotePath,
    check_storage_options,
    display_url,
    is_url,
    strip_file_url,
)
from .tables import read_errors

COPY_BYTES = 2**20  # of an open file at once
SIGNATURE_BYTES = 16  # of a file, which may show its format

Name = Path | str  # of a file, in messages


class InputFile(NamedTuple):
    """A local file, which may be a copy of a remote one.

    Attributes
    ----------
    path : Path
    name : Path or str
        As messages name it.
    compression : {"gzip", "bz2", "zstd", "xz"} or None
    """

    path: Path
    name: Name
    compression: str | None


@dataclass(frozen=True)
class InputFiles:
    """The files of an input, which have one format and are read in this order.

    Attributes
    ----------
    name : Path or str
        As messages name the input.
    format : str
        One of `Format`.
    files : list of InputFile
    local_path : Path or None
        The file or folder that the caller has named, if it is local.
    """

    name: Name
    format: Format
    files: list[InputFile]
    local_path: Path | None = None

    def __str__(self) -> str:
        return str(self.name)

    @property
    def nbytes(self) -> int:
        """Size of all files, compressed."""
        return sum(os.stat(file.path).st_size for file in self.files)

    def locate_row(self, counts: Iterable[int], row: int) -> tuple[Name, int]:
        """Return the name of the file that has a row, and the row's number there.

        `counts` are the numbers of rows of the files, which are only used if there are several.
        """
        if len(self.files) > 1:
            for file, count in zip(self.files, counts):
                if row < count:
                    return file.name, row
                row -= count
        return self.name, row


Input = str | os.PathLike[str] | IO[bytes] | IO[str] | InputFiles


def is_local(source: Any) -> bool:
    """Return whether an input is the path of a file or folder on this machine, and not a glob."""
    if isinstance(source, InputFiles):
        return source.local_path is not None
    return not hasattr(source, "read") and not is_url(source) and not _is_glob(check_path(source))


@contextlib.contextmanager
def open_input(
    source: Input,
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Iterator[InputFiles]:
    """Yield the files of an input; copies of them exist until the end of the block.

    Parameters
    ----------
    source : str, path, file object or InputFiles
        Path, folder, glob, or URL; the content of an open file from its position; or files that are
        open already.
    format : str, optional
        By default the ending of the name determines it.
    storage_options : mapping, optional
        Options of the file system of a URL.

    Raises
    ------
    GraphError
        There is no such file, the files have different formats, or the format is not known.
    """
    if isinstance(source, InputFiles):
        yield source
        return
    check_format(format)
    source = strip_file_url(source)
    check_storage_options(source, storage_options)
    if hasattr(source, "read"):
        name = stream_name(source)
        with spool_folder() as folder:
            with read_errors(name):
                files = _copy_stream(source, folder, name, format)
            yield files
    elif is_url(source):
        remote = RemotePath(str(source), storage_options)
        with spool_folder() as folder:
            yield _download(remote, folder, format)
    elif _is_stream(path := check_path(source)):
        with spool_folder() as folder:
            with read_errors(path), open(path, "rb") as file:
                files = _copy_stream(file, folder, path, format)
            yield files
    else:
        with read_errors(path):
            files = _find_files(path, format)
        yield files


def _is_glob(path: Path) -> bool:
    return MAGIC.search(str(path)) is not None and not os.path.lexists(path)


def _is_stream(path: Path) -> bool:
    """Return whether a path is that of a FIFO or a device, such as ``/dev/stdin``."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _find_files(path: Path, format: Format | None) -> InputFiles:
    """Return the files of a local file, folder or glob."""
    if _is_glob(path):
        paths = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]
        paths = [file for file in paths if file.is_file()]
        if not paths:
            raise GraphError(f"{path}: no file matches", path=path)
        return _same_format(path, [(file, file) for file in paths], format, None)
    if not path.exists():
        _explain_broken_url(path)
    if not stat.S_ISDIR(os.stat(path).st_mode):  # a missing file is reported before its ending
        return _same_format(path, [(path, path)], format, path)
    files = [os.fspath(file) for file in path.rglob("*") if file.is_file()]

    def read_start(file: str) -> bytes:
        with open(file, "rb") as content:
            return content.read(START_BYTES)

    selected = _select_files(path, os.fspath(path), files, format, read_start)
    return _same_format(path, [(Path(file), Path(file)) for file in selected], format, path)


def _select_files(
    name: Name,
    folder: str,
    files: Iterable[str],
    format: Format | None,
    read_start: Callable[[str], bytes],
) -> list[str]:
    """Return the files of a folder that hold edges, sorted.

    Files and folders within it whose names begin with ``.`` or ``_`` are left out, which are those
    of editors and unfinished jobs, and the files of layered edge lists.

    Parameters
    ----------
    name : Path or str
        The folder, for messages.
    folder : str
        Its path, below which `files` are.
    files : iterable of str
    format : str or None
        Format of all files, whatever their endings are.
    read_start : callable
        Returns the first bytes of a file.
    """
    tables = []
    for file in sorted(files):
        parts = PurePath(os.path.relpath(file, folder)).parts
        is_hidden = any(part[0] in "._" for part in parts)
        if not is_hidden and (format or split_endings(file)[0] in FORMATS):
            tables.append(file)
    selected = [
        file
        for file in tables
        if PurePath(file).name not in STORE_FILES or not is_store_start(read_start(file))
    ]
    if tables and not selected:
        raise GraphError(
            f"{name}: the folder is a layered edge list; open it by rg.LayeredEdgeList.open",
            path=name,
        )
    if not selected:
        *endings, last = FORMATS
        raise GraphError(
            f"{name}: no file of the folder ends in {', '.join(endings)} or {last}", path=name
        )
    return selected


def _explain_broken_url(path: Path) -> None:
    if BROKEN_URL.match(str(path)):
        raise GraphError(
            f"{path}: there is no such file; pass a URL as text, since pathlib.Path removes a "
            "slash from it",
            path=path,
        )


def _same_format(
    name: Name, paths: Sequence[tuple[Path, Name]], format: Format | None, local_path: Path | None
) -> InputFiles:
    """Return files of one format; raise GraphError that names a file of another format."""
    formats = [format or format_of(file_name) for _, file_name in paths]
    for (_, file_name), other in zip(paths, formats, strict=True):
        if other != formats[0]:
            raise GraphError(
                f"{file_name}: it is {other}, and {paths[0][1]} is {formats[0]}; all files of an "
                "input must have one format; select them by a glob, such as 'folder/*.csv'",
                path=file_name,
                value=other,
                hint="select files by a glob",
            )
    if formats[0] == "mtx" and len(paths) > 1:
        raise GraphError(
            f"{name}: a Matrix Market file is one matrix, and these are {len(paths)} files; name "
            "one of them",
            path=name,
        )
    files = []
    for path, file_name in paths:
        if not os.stat(path).st_size:
            raise GraphError(f"{file_name}: the file is empty", path=file_name)
        ending = split_endings(file_name)[1]
        check_compression(file_name, formats[0], ending)
        with read_errors(file_name):
            start = _read_start(path)
        compression = detect_compression(file_name, formats[0], start) or ending
        files.append(InputFile(path, file_name, compression))
    return InputFiles(name, formats[0], files, local_path)


@contextlib.contextmanager
def spool_folder() -> Iterator[Path]:
    """Yield a folder that is removed at the end, or by a signal that ends the process."""
    folder = Path(tempfile.mkdtemp(prefix="rapidsgraph-"))

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    with cleanup_on_signal(remove):
        try:
            yield folder
        finally:
            remove()


def _download(remote: RemotePath, folder: Path, format: Format | None) -> InputFiles:
    """Download the files that a URL names: one, all of a folder, or those that match a glob."""
    paths, is_folder = remote.list_files()
    if is_folder:

        def read_start(path: str) -> bytes:
            return remote.read_start(path, START_BYTES)

        paths = _select_files(remote.name, remote.path, paths, format, read_start)
    if not paths:
        raise GraphError(f"{remote.name}: no file matches", path=remote.name)
    names = [remote.display(path) for path in paths]
    for name in names if format is None else ():
        format_of(name)  # an unknown ending is reported before the download
    files: list[tuple[Path, Name]] = []
    with spool_errors(remote.name, folder):
        for number, (path, name) in enumerate(zip(paths, names, strict=True)):
            target = folder / f"{number:06}"
            remote.download(path, target)
            files.append((target, name))
    return _same_format(remote.name, files, format, None)


def display_name(source: Any) -> Name:
    """Return the name of an input for messages."""
    if isinstance(source, InputFiles):
        return source.name
    return stream_name(source) if hasattr(source, "read") else display_url(source)


def stream_name(source: Any) -> Name:
    """Return the name of an open file for messages: that of its path if it has one."""
    name = getattr(source, "name", None)
    if isinstance(name, (str, Path)):
        return name
    return f"<{type(source).__name__}>"


def _copy_stream(source: Any, folder: Path, name: Name, format: Format | None) -> InputFiles:
    """Copy the rest of a binary or text file; its first bytes show whether it is compressed."""
    if getattr(source, "closed", False):
        raise GraphError(f"{name}: the file is closed; open it again", path=name)
    path = folder / "stream"
    try:
        with spool_errors(name, folder), open(path, "wb") as file:
            while block := source.read(COPY_BYTES):
                file.write(block.encode() if isinstance(block, str) else block)
    except io.UnsupportedOperation as error:
        raise GraphError(f"{name}: the file is not open for reading", path=name) from error
    start = _read_start(path)
    if not os.stat(path).st_size:
        raise GraphError(f"{name}: it is empty, or was read to its end before", path=name)
    if format is None:
        format = FORMATS.get(split_endings(name)[0])
    if format is None and (signature := signature_of(start)) in get_args(Format):
        format = signature  # type: ignore[assignment]
    if format is None:
        raise GraphError(
            f"{name}: the format of an open file cannot be recognized; {{hint}}",
            parameter="format",
            path=name,
            hint=FORMAT_HINT,
        )
    compression = detect_compression(name, format, start)
    return InputFiles(name, format, [InputFile(path, name, compression)])


def _read_start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(SIGNATURE_BYTES)


@contextlib.contextmanager
def spool_errors(name: Name, folder: Path) -> Iterator[None]:
    """Report a full disk while a copy of an input or output is written into a `spool_folder`."""
    try:
        yield
    except OSError as error:
        if not is_no_space(error):
            raise
        facts, hint = "", "raise the limit"
        if error.errno != errno.EFBIG:
            facts = f", where {format_bytes(shutil.disk_usage(folder).free)} are free"
            hint = "set TMPDIR to a folder on another disk"
        raise GraphError(
            f"{name}: {NO_SPACE[error.errno or 0]} while its copy is written to {folder.parent}"
            f"{facts}; {hint}",
            path=name,
            hint=hint,
        ) from error
