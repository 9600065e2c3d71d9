"""Arrays that processes of one machine share, in the memory of the machine or of a GPU.

One process allocates an array and sends its address to others, which attach to it. This needs
Linux, and processes of one user that see each other; elsewhere `allocate` or `attach` report that
they cannot, and callers send copies.

Memory of the machine is a file of memfd_create(2). It has no name, so nothing is left of it when
its processes end, however they end; and unlike /dev/shm it is limited by the container's memory
only. Memory of a GPU is shared by ``cudaIpcGetMemHandle``, which does not accept memory of a pool.
"""

from __future__ import annotations

import mmap
import os
import uuid
import weakref
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from ..device.arrays import Array, ArrayModule

Shape: TypeAlias = int | tuple[int, ...]
ALLOCATION_ERRORS = OSError, RuntimeError, MemoryError  # of `allocate`; CUDA's are RuntimeErrors


def get_machine_id() -> str | None:
    """Return a text that is equal in processes that can share memory; None where none can."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino} {os.getuid()}"
    except OSError:
        return None


def allocate(shape: Shape, dtype: Any, xp: ArrayModule = np) -> tuple[Array, Any]:
    """Return an array of zeros and its address, with which other processes call `attach`.

    The address is valid as long as the array exists. Raises one of `ALLOCATION_ERRORS`.
    """
    num_bytes = _num_bytes(shape, dtype)
    if xp is not np:
        memory = xp.cuda.MemoryPointer(xp.cuda.Memory(num_bytes), 0)
        memory.memset(0, num_bytes)
        return xp.ndarray(shape, dtype, memory), xp.cuda.runtime.ipcGetMemHandle(memory.ptr)
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


def attach(address: Any, shape: Shape, dtype: Any, xp: ArrayModule = np) -> Array | None:
    """Return the array at an address from `allocate`, or None if it cannot be shared."""
    if xp is not np:
        return _open_ipc_handle(address, shape, dtype, xp)
    process, file, token = address
    with suppress(OSError):
        own_file = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            # The token tells the file from another one that took its descriptor.
            if os.pread(own_file, len(token), _num_bytes(shape, dtype)) == token:
                return _map_file(own_file, shape, dtype)
        finally:
            os.close(own_file)
    return None


def copy_array(source: Array, target: Array) -> None:
    """Copy between arrays of one type and size, which may be on different GPUs."""
    if isinstance(target, np.ndarray):
        target[:] = source
    else:
        target.data.copy_from(source.data, target.nbytes)


def _num_bytes(shape: Shape, dtype: Any) -> int:
    return int(np.prod(shape)) * np.dtype(dtype).itemsize


def _map_file(file: int, shape: Shape, dtype: Any) -> np.ndarray:
    memory = mmap.mmap(file, _num_bytes(shape, dtype))
    return np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)


def _open_ipc_handle(handle: bytes, shape: Shape, dtype: Any, xp: ArrayModule) -> Array | None:
    """Return an array in another process's GPU memory; a process cannot open its own handle."""
    runtime, owner = xp.cuda.runtime, _IpcMemoryOwner()
    try:
        pointer = runtime.ipcOpenMemHandle(handle, runtime.cudaIpcMemLazyEnablePeerAccess)
    except runtime.CUDARuntimeError:
        return None
    weakref.finalize(owner, runtime.ipcCloseMemHandle, pointer)
    memory = xp.cuda.UnownedMemory(pointer, _num_bytes(shape, dtype), owner)
    return xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(memory, 0))


class _IpcMemoryOwner:
    """Lives as long as an array in memory of another process; its end closes the handle."""
