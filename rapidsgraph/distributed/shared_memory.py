"""Arrays that processes of one machine share.

One process allocates an array and sends its address to others, which attach to it. This needs
Linux, and processes of one user that see each other; elsewhere `allocate` or `attach` report that
they cannot, and callers send copies.

Memory of the machine is a file of memfd_create(2). It has no name, so nothing is left of it when
its processes end, however they end; and unlike /dev/shm it is limited by the container's memory
only.
"""

from __future__ import annotations

import mmap
import os
import uuid
import weakref
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

Shape: TypeAlias = int | tuple[int, ...]
ALLOCATION_ERRORS = OSError, MemoryError  # of `allocate`


def get_machine_id() -> str | None:
    """Return a text that is equal in processes that can share memory; None where none can."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino} {os.getuid()}"
    except OSError:
        return None


def allocate(shape: Shape, dtype: Any) -> tuple[np.ndarray, Any]:
    """Return an array of zeros and its address, with which other processes call `attach`.

    The address is valid as long as the array exists. Raises one of `ALLOCATION_ERRORS`.
    """
    num_bytes = _num_bytes(shape, dtype)
    token = uuid.uuid4().bytes
    file = os.memfd_create("rapidsgraph")
    try:
        os.ftruncate(file, num_bytes + len(token))
        array = _map_file(file, shape, dtype)
        os.pwrite(file, token, num_bytes)
    except BaseException:
        os.close(file)
        raise
    weakref.finalize(array, os.close, file)
    return array, (os.getpid(), file, token)


def attach(address: Any, shape: Shape, dtype: Any) -> np.ndarray | None:
    """Return the array at an address from `allocate`, or None if it cannot be shared."""
    process, file, token = address
    with suppress(OSError):
        descriptor = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            # The token tells the file from another one that took its descriptor.
            if os.pread(descriptor, len(token), _num_bytes(shape, dtype)) == token:
                return _map_file(descriptor, shape, dtype)
        finally:
            os.close(descriptor)
    return None


def _num_bytes(shape: Shape, dtype: Any) -> int:
    return int(np.prod(shape)) * np.dtype(dtype).itemsize


def _map_file(file: int, shape: Shape, dtype: Any) -> np.ndarray:
    memory = mmap.mmap(file, _num_bytes(shape, dtype))
    return np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)
