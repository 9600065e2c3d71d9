"""Compilation of the Numba twins, and its cache on disk: verified before use, private to its owner.

Numba's own cache unpickles whatever its files hold, and a file cut short by a power loss ends
every later call. Entries are therefore written with a digest and discarded if it does not match,
and a folder that other users can write to is not read, because a pickle can run any code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import caching, config, serialize
from numba.core.compiler import CompileResult

from ..atomic import remove_leftovers, temporary_path
from ..errors import warn
from .outline import outline
from .subroutine import Kernel

MAGIC = b"rapidsgraph kernel 1\n"
DIGEST_BYTES = hashlib.sha256().digest_size
SUFFIX = ".kernel"
TESTED_VERSIONS = {(0, 68)}  # of Numba, whose internals `outline` and `subroutine` use


def serial(function: Callable[..., Any], **more_options: Any) -> Any:
    """Compile a kernel by numba.njit without the GIL, cached by `KernelCache`.

    Calls from other kernels share the code of a signature: Numba would compile a variant for
    constants, which inlined code does not need. Code for callers in C is left out.
    """
    return _compile(function, None, **more_options)


def parallel(function: FunctionType) -> Any:
    """Compile a kernel like `serial`, and run its ``prange`` loops on all threads.

    The source of the kernel is read only if the cache does not have its code. Numba compiles the
    loops itself in versions that `outline` has not been tested with.
    """
    if numba.version_info.short not in TESTED_VERSIONS:
        return serial(function, parallel=True)
    return _compile(function, lambda *_: outline(function))


def _compile(function: Any, implement: Callable[..., Any] | None, **more_options: Any) -> Any:
    """Return the dispatcher of a kernel, whose code is that of the function or of `implement`."""
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, **more_options}
    if numba.version_info.short in TESTED_VERSIONS:
        dispatcher = Kernel(function, {"nopython": True, **options}, implement)
    else:
        dispatcher = numba.njit(**options)(function)
    dispatcher._cache = KernelCache(function)  # replaces the cache of `cache=True`
    return dispatcher


class KernelCacheWarning(UserWarning):
    """Warn that the kernel cache is damaged, unwritable or unsafe; results are not affected."""


class KernelCache(caching._Cache):
    """Cache the compiled code of one function; replaces Numba's cache.

    An entry is a file for one signature. Its name is a digest of the signature, the path of this
    package, the processor, and the versions of Python and Numba. It contains a digest of the
    kernels' sources, a digest of the payload, and the payload, which is a pickle. An entry for
    other sources is compiled again and replaced.
    """

    def __init__(self, function: Any) -> None:
        self._prefix = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._is_enabled = True

    @property
    def cache_path(self) -> str | None:
        """Return the folder of new entries, or None."""
        folder = write_folder()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Enable the cache."""
        self._is_enabled = True

    def disable(self) -> None:
        """Disable the cache."""
        self._is_enabled = False

    def flush(self) -> None:
        """Remove all entries of this function."""
        for folder in folders():
            for path in folder.glob(f"{self._prefix}-*{SUFFIX}"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the compiled code of a signature, or None if it has to be compiled."""
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
                continue  # equivalent to a missing file
            except Exception as error:  # an invalid pickle may raise anything
                _discard(path, error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code of a signature; warn once if that fails."""
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

    def _file_name(self, signature: Any, codegen: Any) -> str:
        versions = __file__, platform.python_version(), numba.__version__
        key = "|".join([*versions, str(signature), *map(str, codegen.magic_tuple())])
        return f"{self._prefix}-{hashlib.sha256(key.encode()).hexdigest()[:24]}{SUFFIX}"


def read_entry(path: Path) -> bytes | None:
    """Return the payload of a cache file, or None if it is missing or of other sources.

    Raises
    ------
    ValueError
        The file is empty, truncated, altered, or of another user.
    OSError
        The file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            status, content = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        return None
    if not _is_private(status):  # created after the folder was checked
        raise ValueError("it belongs to another user")
    header, digest = len(MAGIC) + DIGEST_BYTES, source_digest()
    payload = content[header + DIGEST_BYTES :]
    if not content.startswith(MAGIC) or len(content) < header + DIGEST_BYTES:
        raise ValueError("it is empty or truncated")
    if content[header : header + DIGEST_BYTES] != hashlib.sha256(payload).digest():
        raise ValueError("its checksum does not match")
    return payload if content[len(MAGIC) : header] == digest else None


def write_entry(path: Path, payload: bytes) -> None:
    """Write a cache file atomically.

    Raises
    ------
    OSError
        The disk is full or the folder cannot be written to; no file is left behind.
    """
    remove_leftovers(path)
    with temporary_path(path, 0o600) as (temporary, handle):
        with open(handle, "wb", closefd=False) as file:
            file.write(MAGIC + source_digest() + hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)


@functools.cache
def source_digest() -> bytes:
    """Return a digest of the sources of all kernels, which inline functions of one another."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), *folder.parent.rglob("kernels.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


@functools.cache
def folders() -> list[Path]:
    """Return the folders that entries are read from, without unsafe ones; warn of these once.

    The first is in ``NUMBA_CACHE_DIR``, if set; the last is ``$XDG_CACHE_HOME/rapidsgraph/kernels``
    or ``~/.cache/rapidsgraph/kernels``.
    """
    unsafe = unsafe_folders()
    for folder, reason in unsafe.items():
        _warn_once(
            f"kernels cached in {folder} are not used, because {reason}: code in it would run with "
            "your permissions. Set NUMBA_CACHE_DIR to a folder that only you can write to (mode "
            "0700)"
        )
    return [folder for folder in _candidates() if folder not in unsafe]


def unsafe_folders() -> dict[Path, str]:
    """Return {folder: reason} of the cache folders that other users can write to."""
    reasons = {folder: _unsafe_reason(folder) for folder in _candidates()}
    return {folder: reason for folder, reason in reasons.items() if reason}


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


def entries(folder: Path) -> list[Path]:
    """Return the paths of the cache files in a folder."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def damaged_entries() -> list[Path]:
    """Return the paths of cache files that are damaged."""
    damaged = []
    for path in (path for folder in folders() for path in entries(folder)):
        try:
            read_entry(path)
        except ValueError:
            damaged.append(path)
        except OSError:
            continue
    return damaged


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
        if stat.S_ISDIR(status.st_mode) and not _is_private(status, is_sticky_parent):
            return f"other users can write to {path}"
    return None


def _is_private(status: os.stat_result, is_sticky: bool = False) -> bool:
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


def _discard(path: Path, error: Exception) -> None:
    _warn_once(f"the cached kernel {path} is damaged ({error}); it is compiled again")
    with contextlib.suppress(OSError):
        path.unlink()


_warned: set[str] = set()


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warn(message, KernelCacheWarning)
