"""A folder that appears whole or not at all.

Means: it is written under a hidden name beside its place, and both names are exchanged at the end.
Requires: a file system that can rename folders. Where it cannot exchange two of them at once, the
  old folder is put aside for the moment between two renames.
Reference: renameat2(2), flock(2). A temporary folder is locked by the process that writes it, so
  those of killed processes are told from those of living ones.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
from pathlib import Path

CURRENT_FOLDER, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def replacing_folder(folder, check):
    """A new folder that takes the place of `folder` at the end, and vanishes if the block fails.

    Parameters
    ----------
    folder : path
    check : callable
        Of the final path: raises where what is there now may not go.
    """
    final = Path(os.path.realpath(folder))  # the folder that a link leads to, not the link
    check(final)
    with temporary_folder(final) as temporary:
        yield temporary
        _sync(temporary)
        _take_place(temporary, final, check)
        _sync(final.parent)
    remove_leftovers(final)


@contextlib.contextmanager
def temporary_folder(final):
    """A hidden folder beside `final`, locked; what has its name at the end is removed."""
    temporary = handle = None
    try:
        while handle is None:
            temporary = _beside(final)  # before it is there, so that Ctrl-C leaves none
            try:
                os.mkdir(temporary)
            except OSError:
                temporary = None  # it is another's, or nobody's
                raise
            try:
                handle = _locked(temporary)
            except (BlockingIOError, FileNotFoundError):
                continue  # who removes leftovers was there first
            except OSError:  # no locks on this file system, so nobody removes leftovers
                break
        yield temporary
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def remove_leftovers(final):
    """Remove the temporary folders of `final` that belong to no living process."""
    hidden = re.compile(re.escape(f".{final.name}.") + r"[0-9a-f]{8}\.tmp")
    for each in final.parent.iterdir():
        if hidden.fullmatch(each.name) and each.is_dir() and not each.is_symlink():
            with contextlib.suppress(OSError):  # somebody has it, or has just removed it
                handle = _locked(each)
                shutil.rmtree(each, ignore_errors=True)
                os.close(handle)


def _beside(final):
    return final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")


def _locked(folder):
    """The handle of a folder, locked until it is closed; OSError where another has it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.stat(folder)):
            raise FileNotFoundError(errno.ENOENT, "replaced", str(folder))
    except BaseException:
        os.close(handle)
        raise
    return handle


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
    aside = _beside(final)
    os.rename(final, aside)
    try:
        os.rename(temporary, final)
    except BaseException:
        os.rename(aside, final)
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
