"""Arrays that processes of one machine have in common, without messages between them.

Means: one process makes an array and gives its address to others, which look at the same memory,
  of the machine or of a GPU.
Requires: Linux, and processes of one user that see each other; others get None, and send copies.
Reference: memfd_create(2). Such a file has no name, so nothing is left of it when its processes
  end, however they end; and unlike /dev/shm no container limits it but by its memory. On GPUs
  cudaIpcGetMemHandle of CUDA's runtime, which takes no memory of a pool.
"""

import mmap
import os
import uuid
import weakref
from contextlib import suppress

import numpy as np

UNAVAILABLE = OSError, RuntimeError, MemoryError  # what `make` raises; CUDA's are RuntimeErrors


def machine():
    """What is the same for processes that see each other: a text; None where nothing can be had."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino} {os.getuid()}"
    except OSError:
        return None


def make(shape, dtype, xp=np):
    """(array of zeros, its address): another process gives the address to `reach`.

    The address holds as long as the array is there. One of UNAVAILABLE where there can be none.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if xp is not np:
        memory = xp.cuda.MemoryPointer(xp.cuda.Memory(size), 0)
        memory.memset(0, size)
        return xp.ndarray(shape, dtype, memory), xp.cuda.runtime.ipcGetMemHandle(memory.ptr)
    token = uuid.uuid4().bytes
    file = os.memfd_create("rapidsgraph")
    try:
        os.ftruncate(file, size + len(token))
        array = _mapped(file, shape, dtype)
        os.pwrite(file, token, size)
    except BaseException:
        os.close(file)
        raise
    weakref.finalize(array, os.close, file)
    return array, (os.getpid(), file, token)


def reach(address, shape, dtype, xp=np):
    """The array at an address that `make` gave; None where it cannot be reached."""
    if xp is not np:
        return _opened(address, shape, dtype, xp)
    process, file, token = address
    with suppress(OSError):
        own = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            if os.pread(own, len(token), size) == token:
                return _mapped(own, shape, dtype)
        finally:
            os.close(own)
    return None


def copy(source, to):
    """Copy between arrays of one type and size, also from another GPU's memory."""
    if isinstance(to, np.ndarray):
        to[:] = source
    else:
        to.data.copy_from(source.data, to.nbytes)


def _mapped(file, shape, dtype):
    count = int(np.prod(shape))
    memory = mmap.mmap(file, count * np.dtype(dtype).itemsize)
    return np.frombuffer(memory, dtype, count).reshape(shape)


def _opened(handle, shape, dtype, xp):
    """An array in another process's GPU memory; its own cannot be opened again."""
    runtime, owner = xp.cuda.runtime, _Opened()
    try:
        pointer = runtime.ipcOpenMemHandle(handle, runtime.cudaIpcMemLazyEnablePeerAccess)
    except runtime.CUDARuntimeError:
        return None
    weakref.finalize(owner, runtime.ipcCloseMemHandle, pointer)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = xp.cuda.UnownedMemory(pointer, size, owner)
    return xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(memory, 0))


class _Opened:
    """Is there as long as an array that was opened."""
