"""Compilation of the Numba twins, and its cache on disk: verified before use, private to its owner.

Numba's own cache unpickles whatever its files hold, and a file cut short by a power loss ends
every later call. Entries are therefore written with a digest and discarded if it does not match,
and a folder that other users can write to is not read, because a pickle can run any code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import platform
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import caching, serialize
from numba.core.compiler import CompileResult

from ..atomic import remove_leftovers, temporary_path
from .cache_folders import (
    HINT,
    folders,
    is_private,
    warn_of_write_folder,
    warn_once,
    write_folder,
)
from .outline import outline
from .subroutine import Kernel

logger = logging.getLogger(__name__)

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
    dispatcher: Any
    if numba.version_info.short in TESTED_VERSIONS:
        dispatcher = Kernel(function, {"nopython": True, **options}, implement)
    else:
        dispatcher = numba.njit(**options)(function)
    dispatcher._cache = KernelCache(function)  # replaces the cache of `cache=True`
    return dispatcher


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
        _log_compilation()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code of a signature; warn once if that fails."""
        if not self._is_enabled or data.library.has_dynamic_globals:
            return
        warn_of_write_folder()
        folder = write_folder()
        if folder is None:
            return
        try:
            payload = serialize.dumps(data._reduce())
            write_entry(folder / self._file_name(sig, data.codegen), payload)
        except OSError as error:
            warn_once(
                f"compiled kernels cannot be cached in {folder} ({error.strerror or error}); they "
                f"are compiled again in the next process. Free disk space, or {HINT}"
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
    if not is_private(status):  # created after the folder was checked
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


@functools.cache  # once per process
def _log_compilation() -> None:
    logger.info("compiling kernels, which takes seconds; they are cached in %s", write_folder())


def _discard(path: Path, error: Exception) -> None:
    warn_once(f"the cached kernel {path} is damaged ({error}); it is compiled again")
    with contextlib.suppress(OSError):
        path.unlink()
