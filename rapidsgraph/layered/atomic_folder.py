"""Folders that appear complete or not at all.

A folder is written under a hidden name beside its destination, and both names are exchanged at the
end by renameat2(2). Where the file system cannot exchange names, the old folder is moved aside
between two renames. `atomic` distinguishes the leftovers of killed processes from folders in use.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ..atomic import (
    copy_ownership,
    delete,
    hidden_path,
    remove_leftovers,
    temporary_path,
)
from ..io.writers import resolve_destination
from ..signals import cleanup_on_signal

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux


@contextlib.contextmanager
def replacing_folder(folder: Path, check: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` at the end, or is removed on an error.

    The new folder gets the mode and, where permitted, the owner and group of the one it replaces.

    Parameters
    ----------
    folder : Path
    check : callable
        Raises if what exists at the final path must not be replaced.

    Raises
    ------
    GraphError
        `check` raises it, or the path is inside a stored layered edge list.
    """
    final = resolve_destination(folder)
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
