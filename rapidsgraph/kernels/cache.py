"""On-disk cache of compiled Numba kernels: verified before use, private to its owner.

Numba's own cache unpickles whatever its files hold, and a file cut short by a power loss ends
every later call. Entries are therefore written with a digest and discarded if it does not match,
and a folder that other users can write to is not read, because a pickle is code.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import stat
import sys
import tempfile
import warnings
from pathlib import Path

import numba
from numba.core import caching, config, serialize
from numba.core.compiler import CompileResult

from ..atomic import remove_leftovers, temporary_path

MAGIC = b"rapidsgraph kernel 1\n"
DIGEST_BYTES = hashlib.sha256().digest_size
SUFFIX = ".kernel"


class KernelCacheWarning(UserWarning):
    """The kernel cache is damaged, unwritable or unsafe; results are not affected."""


class KernelCache(caching._Cache):
    """The cache of one compiled function, in the place of Numba's.

    An entry is one file, named by the function, its signature, the installed package, the
    processor and the versions of Python and Numba. It holds a digest of the kernels' sources, a
    digest of the payload, and the payload, a pickle. An entry for other sources is compiled again
    and replaced.
    """

    def __init__(self, function):
        self._prefix = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._is_enabled = True

    @property
    def cache_path(self):
        """The folder that new entries are written to, or None."""
        folder = write_folder()
        return None if folder is None else str(folder)

    def enable(self):
        """Enable the cache."""
        self._is_enabled = True

    def disable(self):
        """Disable the cache."""
        self._is_enabled = False

    def flush(self):
        """Remove all entries of this function."""
        for folder in folders():
            for path in folder.glob(f"{self._prefix}-*{SUFFIX}"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig, target_context):
        """Return the compiled function of a signature, or None if it has to be compiled."""
        target_context.refresh()
        if not self._is_enabled:
            return None
        name = self._file_name(sig, target_context.codegen())
        for path in (folder / name for folder in folders()):
            try:
                payload = read_entry(path)
                if payload is not None:
                    return CompileResult._rebuild(target_context, *pickle.loads(payload))
            except OSError:
                continue  # an unreadable file counts as missing
            except Exception as error:  # a pickle that cannot be restored raises anything
                _discard(path, error)
        return None

    def save_overload(self, sig, data):
        """Write the compiled function of a signature; warn once if that fails."""
        folder = write_folder() if self._is_enabled else None
        if folder is None or data.library.has_dynamic_globals:
            return
        try:
            payload = serialize.dumps(data._reduce())
            write_entry(folder / self._file_name(sig, data.codegen), payload)
        except OSError as error:
            _warn_once(
                f"compiled kernels cannot be cached in {folder} ({error.strerror or error}); they "
                "are compiled again in the next process. Free disk space, or set NUMBA_CACHE_DIR "
                "to another folder of your own"
            )

    def _file_name(self, signature, codegen):
        versions = __file__, platform.python_version(), numba.__version__
        key = "|".join([*versions, str(signature), *map(str, codegen.magic_tuple())])
        return f"{self._prefix}-{hashlib.sha256(key.encode()).hexdigest()[:24]}{SUFFIX}"


class DamagedEntryError(Exception):
    """A cache file is not what was written."""


def read_entry(path):
    """Return the payload of a cache file, or None where there is none for these sources.

    Raises
    ------
    DamagedEntryError
        The file is empty, truncated or altered.
    OSError
        The file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            status, content = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        return None
    if not _is_private(status):  # placed here after the folder was examined
        raise DamagedEntryError("it belongs to another user")
    header, digest = len(MAGIC) + DIGEST_BYTES, source_digest()
    payload = content[header + DIGEST_BYTES :]
    if not content.startswith(MAGIC) or len(content) < header + DIGEST_BYTES:
        raise DamagedEntryError("it is empty or truncated")
    if content[header : header + DIGEST_BYTES] != hashlib.sha256(payload).digest():
        raise DamagedEntryError("its checksum does not match")
    return payload if content[len(MAGIC) : header] == digest else None


def write_entry(path, payload):
    """Write a cache file; another process sees all of it or nothing.

    Raises
    ------
    OSError
        The disk is full or the folder cannot be written to; nothing is left behind.
    """
    remove_leftovers(path)
    with temporary_path(path, 0o600) as (temporary, handle):
        with open(handle, "wb", closefd=False) as file:
            file.write(MAGIC + source_digest() + hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)


@functools.cache
def source_digest():
    """Digest of the source of all kernels: one inlines functions of others."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), *folder.parent.rglob("kernels.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


# Folders


@functools.cache
def folders():
    """Folders that entries are read from, in this order; those of other users are left out.

    The folder that ``NUMBA_CACHE_DIR`` names comes first, then the user's own,
    ``$XDG_CACHE_HOME/rapidsgraph/kernels`` or ``~/.cache/rapidsgraph/kernels``.
    """
    unsafe = unsafe_folders()
    for folder, reason in unsafe.items():
        _warn_once(
            f"kernels cached in {folder} are not used, because {reason}: code in it would run as "
            "you. Set NUMBA_CACHE_DIR to a folder that only you can write to (mode 0700)"
        )
    return [folder for folder in _candidates() if folder not in unsafe]


def unsafe_folders():
    """Return {folder: reason} of the cache folders that other users can write to."""
    reasons = {folder: _unsafe(folder) for folder in _candidates()}
    return {folder: reason for folder, reason in reasons.items() if reason}


@functools.cache
def write_folder():
    """Return the first folder of `folders` that this user can write to, or None."""
    for folder in folders():
        try:
            for path in (*reversed(folder.parents), folder):
                path.mkdir(mode=0o700, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        if not _unsafe(folder):  # created by somebody else in the meantime
            return folder
    return None


def damaged_entries():
    """Return the paths of cache files that are damaged.

    Returns
    -------
    list of pathlib.Path
    """
    damaged = []
    for folder in folders():
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                read_entry(path)
            except DamagedEntryError:
                damaged.append(path)
            except OSError:
                continue
    return damaged


def _candidates():
    if config.CACHE_DIR:
        yield Path(os.path.abspath(config.CACHE_DIR), "rapidsgraph")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):
        yield Path(home, "rapidsgraph", "kernels")


def _unsafe(folder):
    """Return why other users could place files in `folder`, or None if they cannot.

    Whoever can write to a parent folder without a sticky bit can replace what is in it, so
    parents count as well. Root is trusted.
    """
    folder = Path(os.path.realpath(folder))
    for path in (folder, *folder.parents):
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # it does not exist yet, and its parent is examined next
        except OSError as error:
            return f"{path} cannot be examined ({error.strerror})"
        is_sticky_parent = path != folder and status.st_mode & stat.S_ISVTX
        if stat.S_ISDIR(status.st_mode) and not _is_private(status, is_sticky_parent):
            return f"other users can write to {path}"
    return None


def _is_private(status, is_sticky=False):
    """Return whether only this user and root can write to a file or folder of this status."""
    if not hasattr(os, "getuid"):
        return True
    if status.st_uid not in (0, os.getuid()):
        return False
    if is_sticky:  # others can add entries, and cannot replace those of this user
        return True
    is_group_writable = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    return not (status.st_mode & stat.S_IWOTH or is_group_writable)


def _is_own_group(group_id):
    """Return whether a group is root's, or by its name and members this user's private one."""
    if group_id == 0:
        return True
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _discard(path, error):
    _warn_once(f"the cached kernel {path} is damaged ({error}); it is compiled again")
    with contextlib.suppress(OSError):
        path.unlink()


_warned = set()


def _warn_once(message):
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, KernelCacheWarning, stacklevel=_user_level())


def _user_level():
    """Return the stack level of the first caller outside this package and Numba."""
    frame, level = sys._getframe(2), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(
        ("rapidsgraph.", "numba.")
    ):
        frame, level = frame.f_back, level + 1
    return level
