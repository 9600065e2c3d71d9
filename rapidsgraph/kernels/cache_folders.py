"""Folders of compiled kernels, which are read only if no other user can write to them.

The first is in ``NUMBA_CACHE_DIR``, if set; the next ``$XDG_CACHE_HOME/rapidsgraph/kernels`` or
``~/.cache/rapidsgraph/kernels``. If neither can be written to, as with a read-only home, new
entries go to a folder of this user in that for temporary files.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from numba.core import config

from ..errors import warn

HINT = "set NUMBA_CACHE_DIR to a folder of your own"


class KernelCacheWarning(UserWarning):
    """Warn that the kernel cache is damaged, unwritable or unsafe; results are not affected."""


@functools.cache
def folders() -> list[Path]:
    """Return the folders that entries are read from, without unsafe ones; warn of these once."""
    unsafe = unsafe_folders()
    for folder, reason in unsafe.items():
        warn_once(
            f"kernels cached in {folder} are not used, because {reason}: code in it would run with "
            "your permissions. Set NUMBA_CACHE_DIR to a folder that only you can write to (mode "
            "0700)"
        )
    safe = [folder for folder in _candidates() if folder not in unsafe]
    fallback = temporary_folder()
    return safe if fallback is None or fallback in safe else [*safe, fallback]


def unsafe_folders() -> dict[Path, str]:
    """Return {folder: reason} of the cache folders that other users can write to."""
    reasons = {folder: _unsafe_reason(folder) for folder in _candidates()}
    return {folder: reason for folder, reason in reasons.items() if reason}


@functools.cache
def temporary_folder() -> Path | None:
    """Return the folder for the case that no other can be written to, or None if it is unsafe.

    Its name is predictable, so another user may have created it.
    """
    try:
        parent = Path(tempfile.gettempdir())
    except FileNotFoundError:  # no folder for temporary files can be written to
        return None
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = parent / f"rapidsgraph-{user}" / "kernels"
    is_link = folder.is_symlink() or folder.parent.is_symlink()
    return None if is_link or _unsafe_reason(folder) else folder


@functools.cache
def write_folder() -> Path | None:
    """Return the first folder of `folders` that this user can write to, or None."""
    for folder in folders():
        try:
            for path in (*reversed(folder.parents), folder):
                path.mkdir(mode=0o700, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        if not _unsafe_reason(folder):  # another user may have created it concurrently
            return folder
    return None


def warn_of_write_folder() -> None:
    """Warn once if new entries are cached in the temporary folder or nowhere."""
    folder = write_folder()
    if folder is not None and folder != temporary_folder():
        return
    others = " and ".join(map(str, _candidates())) or "the cache folder"
    where = "not cached" if folder is None else f"cached in {folder}, which is temporary"
    warn_once(
        f"compiled kernels are {where}, because {others} cannot be used; {HINT} "
        "that is kept and that only you can write to"
    )


def _candidates() -> Iterator[Path]:
    numba_folder = getattr(config, "CACHE_DIR", "")
    if numba_folder:
        yield Path(os.path.abspath(numba_folder), "rapidsgraph")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):
        yield Path(home, "rapidsgraph", "kernels")


def _unsafe_reason(folder: Path) -> str | None:
    """Return why other users could create files in `folder`, or None if they cannot.

    A user who can write to a parent folder without a sticky bit can replace its entries, so parents
    are checked as well. Root is trusted.
    """
    folder = Path(os.path.realpath(folder))
    for path in (folder, *folder.parents):
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # it does not exist yet; its parent is checked next
        except OSError as error:
            return f"{path} cannot be checked ({error.strerror})"
        is_sticky_parent = path != folder and bool(status.st_mode & stat.S_ISVTX)
        if stat.S_ISDIR(status.st_mode) and not is_private(status, is_sticky_parent):
            return f"other users can write to {path}"
    return None


def is_private(status: os.stat_result, is_sticky: bool = False) -> bool:
    """Return whether only this user and root can write to a file or folder."""
    if not hasattr(os, "getuid"):
        return True
    if status.st_uid not in (0, os.getuid()):
        return False
    if is_sticky:  # other users can add entries, but not replace those of this user
        return True
    is_group_writable = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    return not (status.st_mode & stat.S_IWOTH or is_group_writable)


def _is_own_group(group_id: int) -> bool:
    """Return whether a group is root's, or has the name of this user and no other members."""
    if group_id == 0:
        return True
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warn unless the same has been said in this process."""
    if message not in _warned:
        _warned.add(message)
        warn(message, KernelCacheWarning)
