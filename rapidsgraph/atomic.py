"""Atomic writes: files and folders appear whole or not at all, even if their process is killed.

The content is written under a hidden name beside the destination and renamed at the end. A folder
exchanges its name with the one that it replaces; where the file system cannot exchange names, the
old folder is moved aside between two renames.

The process that writes a temporary file or folder holds a lock on it (flock). The lock ends with
the process, even with SIGKILL, and the next write to the same destination deletes what is not
locked.

References
----------
flock(2), rename(2), renameat2(2). Over NFS, Linux implements flock by byte-range locks on the
server. Where a file system has no locks at all, leftovers of killed processes stay.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import resource
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from .errors import GraphError, format_bytes
from .signals import cleanup_on_signal

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux
DESCRIPTORS = re.compile(r"/proc/\d+(/task/\d+)?/fd")
MAX_LINKS = 40  # as in Linux
KINDS = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}
NO_SPACE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the limit of file sizes (ulimit -f) is reached",
}


def resolve_links(path: str | os.PathLike[str]) -> Path:
    """Return the path that `path` leads to; GraphError if that is a loop of links."""
    final = Path(os.path.realpath(path))
    if os.path.islink(final):
        raise GraphError(f"{path}: it is a link that leads to itself; name another file", path=path)
    return final


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise GraphError if `path` exists and is not a regular file.

    Replacing a device, a FIFO or a socket would remove it. ``/dev/stdout`` and its like are refused
    even where they lead to a regular file: others write to that file, and replacing it would lose
    what they write.
    """
    if _is_descriptor(path):
        raise GraphError(f"{path}: it is a file that is already open; name another one", path=path)
    try:
        mode = os.stat(path).st_mode
    except OSError:  # it does not exist, or cannot be examined
        return
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise GraphError(f"{path}: it is {kind}; give the name of a file", path=path)


def _is_descriptor(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` leads through the descriptors of a process, like ``/dev/stdout``."""
    current = os.fspath(path)
    for _ in range(MAX_LINKS):
        folder = os.path.realpath(os.path.dirname(current) or os.curdir)
        if DESCRIPTORS.fullmatch(folder):
            return True
        try:
            current = os.path.join(folder, os.readlink(current))
        except OSError:  # it is no link
            return False
    return False


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a binary file that replaces `path` at the end of the block.

    A file that is replaced passes on its mode and, where permitted, its owner and group. A new one
    follows the umask. If the block raises, nothing is left and the old file stays.

    Parameters
    ----------
    path : str or path
        A link is followed, and the file that it leads to is replaced.

    Yields
    ------
    file object
        Binary, for writing.

    Raises
    ------
    GraphError
        `path` is a loop of links, or not a regular file.
    """
    final = resolve_links(path)
    check_regular_file(path)
    remove_leftovers(final)
    try:
        replaced = os.stat(final)
    except FileNotFoundError:
        replaced = None
    with temporary_path(final, 0o666 if replaced is None else 0o600) as (temporary, handle):
        with open(handle, "wb", closefd=False) as file:
            yield file
        if replaced is not None:
            copy_ownership(handle, replaced)
        os.fsync(handle)
        os.replace(temporary, final)


@contextlib.contextmanager
def temporary_path(
    final: Path, mode: int, *, is_folder: bool = False
) -> Iterator[tuple[Path, int]]:
    """Create a hidden file or folder beside `final`, and delete it at the end of the block.

    A file that was renamed within the block stays.

    Parameters
    ----------
    final : Path
        Resolved.
    mode : int
        Permissions, of which the umask is subtracted.
    is_folder : bool

    Yields
    ------
    (Path, int)
        The path, and a file descriptor that holds the lock; of a file it is open for reading and
        writing.
    """
    while True:
        path = hidden_path(final)
        with contextlib.ExitStack() as stack:
            # Registered before the path exists, so that a signal at any time removes it.
            pending = stack.enter_context(_removal(path))
            try:
                if is_folder:
                    os.mkdir(path, mode)
                else:
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode | 0o600))
            except OSError:
                pending.clear()  # the path belongs to another process, or to nobody
                raise
            try:
                handle = _open(path, is_folder)
                stack.callback(os.close, handle)
                _lock(handle, path)
            except (BlockingIOError, FileNotFoundError):
                continue  # another process took the path for a leftover before it was locked
            yield path, handle
            return


@contextlib.contextmanager
def _removal(path: Path) -> Iterator[list[Path]]:
    """Delete `path` at the end of the block, or on a signal, unless the yielded list is cleared."""
    paths = [path]

    def remove() -> None:
        for entry in paths:
            delete(entry)

    with cleanup_on_signal(remove):
        try:
            yield paths
        finally:
            remove()


def remove_leftovers(final: Path) -> None:
    """Delete temporary files and folders of `final` that no process has locked."""
    pattern = re.compile(re.escape(f".{final.name}.") + r"[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        names = [name for name in os.listdir(final.parent) if pattern.fullmatch(name)]
        for path in map(final.with_name, names):
            with contextlib.suppress(OSError):  # locked, or just deleted by another process
                mode = os.lstat(path).st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    continue
                handle = _open(path, stat.S_ISDIR(mode))
                try:
                    if _lock(handle, path):
                        delete(path)
                finally:
                    os.close(handle)


def hidden_path(final: Path) -> Path:
    """Return a new name for a temporary file or folder of `final`."""
    return final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")


def delete(path: Path) -> None:
    """Delete a file or folder, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        try:
            os.unlink(path)
        except (IsADirectoryError, PermissionError):
            for _ in range(3):  # a thread may add files meanwhile
                shutil.rmtree(path, ignore_errors=True)


def _open(path: Path, is_folder: bool) -> int:
    access = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR
    return os.open(path, access | os.O_NOFOLLOW)


def _lock(handle: int, path: Path) -> bool:
    """Lock an open temporary file until it is closed; return whether the file system has locks.

    Raises
    ------
    BlockingIOError
        Another process holds the lock.
    FileNotFoundError
        Another process deleted it before it was locked.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    if not os.path.samestat(os.fstat(handle), os.stat(path)):
        raise FileNotFoundError(errno.ENOENT, "replaced", str(path))
    return True


def copy_ownership(handle: int, replaced: os.stat_result) -> None:
    """Give a new file or folder the mode, owner and group of the one that it replaces.

    Only root can change the owner. If the group cannot be preserved, the new group gets the
    permissions of others, so that nobody gains access.
    """
    mode = stat.S_IMODE(replaced.st_mode)
    current = os.fstat(handle)
    if (current.st_uid, current.st_gid) != (replaced.st_uid, replaced.st_gid):
        for owner in (replaced.st_uid, -1):
            with contextlib.suppress(OSError):
                os.fchown(handle, owner, replaced.st_gid)
                break
        if os.fstat(handle).st_gid != replaced.st_gid:
            mode = mode & ~0o070 | (mode & 0o007) << 3
    with contextlib.suppress(PermissionError):  # a file system without modes
        os.fchmod(handle, mode)


@contextlib.contextmanager
def replacing_folder(final: Path, check: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `final` at the end, or is removed on an error.

    The new folder gets the mode and, where permitted, the owner and group of the one it replaces.

    Parameters
    ----------
    final : Path
        Resolved.
    check : callable
        Raises if what exists at `final` must not be replaced.
    """
    check(final)
    remove_leftovers(final)
    with temporary_folder(final) as temporary:
        yield temporary
        _sync_folder(temporary)
        _replace(temporary, final, check)
        _sync_folder(final.parent)


@contextlib.contextmanager
def temporary_folder(final: Path) -> Iterator[Path]:
    """Yield a locked hidden folder beside `final`; whatever has its name at the end is removed."""
    try:
        status = os.stat(final)
    except FileNotFoundError:
        status = None
    mode = 0o777 if status is None else stat.S_IMODE(status.st_mode) & 0o700
    with temporary_path(final, mode, is_folder=True) as (temporary, handle):
        if status is not None:
            copy_ownership(handle, status)
        yield temporary


def _replace(temporary: Path, final: Path, check: Callable[[Path], object]) -> None:
    try:
        os.rename(temporary, final)  # if there is nothing, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    check(final)  # it may have changed since the first check
    if _exchange(temporary, final):
        return
    aside = hidden_path(final)

    def restore() -> None:
        try:
            os.rename(aside, final)
        except OSError:
            if final.exists():  # the new folder is in place
                delete(aside)

    with cleanup_on_signal(restore):
        try:
            os.rename(final, aside)
            os.rename(temporary, final)
        except BaseException:
            restore()
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two paths atomically; return False where the system cannot."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        return False
    paths = AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second)
    return libc.renameat2(*paths, RENAME_EXCHANGE) == 0


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # not supported by every file system
            os.fsync(handle)
    finally:
        os.close(handle)


def is_no_space(error: BaseException) -> bool:
    """Return whether a disk, a quota or a limit of file sizes is exhausted."""
    return isinstance(error, OSError) and error.errno in NO_SPACE


def write_error(
    path: str | os.PathLike[str],
    error: Exception,
    needed: Callable[[], int] | None = None,
    partial: Path | None = None,
) -> GraphError:
    """Return the GraphError for an exception that was raised while `path` was written.

    Parameters
    ----------
    path : str or path
    error : Exception
    needed : callable, optional
        Returns the number of bytes to write. It is only called if space is missing.
    partial : Path, optional
        A temporary folder that will be deleted, so that its space counts as free.
    """
    if not isinstance(error, OSError) or not is_no_space(error):
        return GraphError(f"{path}: it could not be written ({error})", path=path)
    reason = NO_SPACE[error.errno or 0]
    folder = Path(os.path.realpath(path)).parent
    facts = []
    if needed is not None:
        facts.append(f"about {format_bytes(needed())} are needed")
    if error.errno == errno.EFBIG:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY:
            facts.append(f"{format_bytes(limit)} are allowed")
        remedy = "raise the limit"
    else:
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free + (_disk_usage(partial) if partial else 0)
            facts.append(f"{format_bytes(free)} are free in {folder}")
        remedy = "free some space, or write to another disk"
    parts = [f"{path}: {reason}", *([" and ".join(facts)] if facts else []), remedy]
    return GraphError("; ".join(parts), path=path, hint=remedy)


def _disk_usage(folder: Path) -> int:
    """Return the bytes of disk space of the files directly in a folder."""
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_blocks * 512 for entry in entries)
