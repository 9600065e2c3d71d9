"""A folder that appears whole or not at all.

Means: it is written under a hidden name beside its place, and both names are exchanged at the end.
Requires: a file system that can rename folders. Where it cannot exchange two of them at once, the
  old folder is put aside for the moment between two renames.
Reference: renameat2(2). `atomic` tells leftovers of killed processes from folders of living ones.
"""

import contextlib
import ctypes
import errno
import os
import shutil
import stat

from ..atomic import (
    copy_ownership,
    delete,
    hidden_path,
    remove_leftovers,
    resolve_destination,
    temporary_path,
)
from ..signals import cleanup_on_signal

CURRENT_FOLDER, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def replacing_folder(folder, check):
    """A new folder that takes the place of `folder` at the end, and vanishes if the block fails.

    A folder that is replaced passes on its mode and, where permitted, its owner and group.

    Parameters
    ----------
    folder : path
    check : callable
        Of the final path: raises where what is there now may not go.

    Raises
    ------
    GraphError
        What `check` raises, or a place inside a stored layered edge list.
    """
    final = resolve_destination(folder)
    check(final)
    remove_leftovers(final)
    with temporary_folder(final) as temporary:
        yield temporary
        _sync(temporary)
        _take_place(temporary, final, check)
        _sync(final.parent)


@contextlib.contextmanager
def temporary_folder(final):
    """A hidden folder beside `final`, locked; what has its name at the end is removed."""
    try:
        replaced = os.stat(final)
    except FileNotFoundError:
        replaced = None
    mode = 0o777 if replaced is None else stat.S_IMODE(replaced.st_mode) & 0o700
    with temporary_path(final, mode, is_folder=True) as (temporary, handle):
        if replaced is not None:
            copy_ownership(handle, replaced)
        yield temporary


def _take_place(temporary, final, check):
    try:
        os.rename(temporary, final)  # where there is nothing, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    check(final)  # it may have changed since
    if _exchanged(temporary, final):
        return
    aside = hidden_path(final)

    def restore():
        try:
            os.rename(aside, final)
        except OSError:
            if final.exists():  # the new folder has taken the place
                delete(aside)

    with cleanup_on_signal(restore):
        try:
            os.rename(final, aside)
            os.rename(temporary, final)
        except BaseException:
            restore()
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one, other):
    """Whether two paths could be exchanged at once, and were."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        return False
    one, other = os.fsencode(one), os.fsencode(other)
    return libc.renameat2(CURRENT_FOLDER, one, CURRENT_FOLDER, other, EXCHANGE) == 0


def _sync(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # not every file system can
            os.fsync(handle)
    finally:
        os.close(handle)
