"""NCCL collectives for ranks that each have a GPU of their own.

Collectives are enqueued on the current stream and return at once. A thread watches a connection
to every other rank: if one closes, it aborts the NCCL communicator, which ends collectives that
wait on the GPU, and the next call raises `RankLostError`.

All calls of a process enqueue on one stream. If two GPUs enqueued the collectives of two
communicators in opposite orders, both would wait forever, so a call locks the GPUs of all its ranks
before it starts; see `lock_gpus`.
"""

from __future__ import annotations

import functools
import importlib
import selectors
import socket
import threading
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from .communicator import Communicator, GatherBuffer, RankLostError
from .host import HostCommunicator

TYPES = {
    "bool": "NCCL_UINT8",
    "uint8": "NCCL_UINT8",
    "int8": "NCCL_INT8",
    "int32": "NCCL_INT32",
    "uint32": "NCCL_UINT32",
    "int64": "NCCL_INT64",
    "uint64": "NCCL_UINT64",
    "float32": "NCCL_FLOAT32",
    "float64": "NCCL_FLOAT64",
}
OPERATIONS = {"sum": "NCCL_SUM", "min": "NCCL_MIN", "max": "NCCL_MAX"}
LOCK_INTERVAL = 0.1  # seconds between two looks at the connections while a GPU is locked

_gpu_lock = threading.Lock()  # of this process's GPU


def find_gpu() -> str:
    """Return the PCI bus identifier of this process's GPU."""
    runtime = device.import_cupy().cuda.runtime
    return runtime.deviceGetPCIBusId(runtime.getDevice())


@functools.cache
def import_nccl() -> Any:
    """Return CuPy's NCCL module, or None with a warning if NCCL is not installed."""
    nccl = importlib.import_module("cupy.cuda.nccl")
    if nccl.available:
        return nccl
    warnings.warn(
        "NCCL cannot be loaded, so GPUs exchange data through host memory, which is slow; install "
        "rapidsgraph[cu13] or rapidsgraph[cu12], which include it",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


@contextmanager
def lock_gpus(host: HostCommunicator, gpus: Sequence[Any], lock: threading.Lock) -> Iterator[None]:
    """Hold the lock of this rank's GPU; every rank must call this.

    Ranks lock their GPUs one after another, in the order of the GPUs' identifiers. This order is
    the same for all communicators, so that calls with GPUs in common run one after another, and no
    cycle of calls can wait for each other's locks. It costs one message per rank.

    Parameters
    ----------
    host : HostCommunicator
    gpus : sequence
        The identifier of each rank's GPU.
    lock : Lock
        Of this rank's GPU.

    Raises
    ------
    RankLostError
        The communicator was closed while another call held the lock.
    """
    order = sorted(range(host.size), key=lambda rank: str(gpus[rank]))
    position = order.index(host.rank)
    if position:
        host.receive(order[position - 1])
    while not lock.acquire(timeout=LOCK_INTERVAL):
        host.check()
    try:
        if position + 1 < host.size:
            host.send(order[position + 1], None)
        yield
    finally:
        lock.release()


class NcclCommunicator(Communicator):
    """Collectives of NCCL for CuPy arrays; host arrays and objects use the connections.

    Parameters
    ----------
    host : HostCommunicator
        Of the same ranks.
    watched : list of socket or None
        Further connections to each rank, by rank, on which nothing is sent.
    gpus : sequence
        The identifier of each rank's GPU.
    """

    def __init__(
        self, host: HostCommunicator, watched: list[socket.socket | None], gpus: Sequence[Any]
    ) -> None:
        self.rank, self.size, self._host, self._gpus = host.rank, host.size, host, gpus
        self._cupy = cupy = device.import_cupy()
        self._nccl = nccl = import_nccl()
        unique_id = nccl.get_unique_id() if self.rank == 0 else None
        [unique_id, *_] = host.all_gather_object(unique_id)
        with lock_gpus(host, gpus, _gpu_lock):
            # CuPy cannot abort the creation of a communicator. NCCL ends it when the process of a
            # rank ends that has begun it, so all ranks begin together.
            host.barrier()
            self._communicator = nccl.NcclCommunicator(self.size, unique_id, self.rank)
            self._state = _State(
                self._communicator, host, [listener for listener in watched if listener]
            )
            self._finalizer = weakref.finalize(self, self._state.close)
            threading.Thread(target=_watch, args=(self._state,), daemon=True).start()
            self.all_reduce(cupy.zeros(1))  # connects the ranks
            device.synchronize(cupy)

    @contextmanager
    def serve(self, call: int) -> Iterator[None]:
        """Run one call; no other call uses the GPUs until its collectives have ended."""
        with (
            super().serve(call),
            self._host.serve(call),
            lock_gpus(self._host, self._gpus, _gpu_lock),
        ):
            yield
            # An aborted collective ends like a complete one: `check` must follow its end.
            device.synchronize(self._cupy)

    def close(self) -> None:
        """Abort collectives in progress, and close all connections."""
        self._finalizer()

    def check(self) -> None:
        """Raise RankLostError if the communicator was aborted."""
        if self._state.is_closed:
            raise RankLostError("a rank has failed and aborted the communicator; repeat the call")

    def barrier(self) -> None:
        """Wait for the stream, and then for all ranks."""
        device.synchronize(self._cupy)
        self.check()
        self._host.barrier()

    def all_gather_object(self, value: Any) -> list:
        """Return the Python objects of all ranks, in rank order."""
        self.check()
        return self._host.all_gather_object(value)

    def all_reduce(self, array: Array, operation: str = "sum") -> Array:
        """Reduce on the GPU; the array is overwritten."""
        if not device.is_on_gpu(array):
            return self._host.all_reduce(array, operation)
        array = self._cupy.ascontiguousarray(array)
        with self._enqueue() as stream:
            self._communicator.allReduce(
                array.data.ptr, array.data.ptr, array.size, self._type(array.dtype),
                getattr(self._nccl, OPERATIONS[operation]), stream,
            )  # fmt: skip
        return array

    def all_gather(self, array: Array) -> Array:
        """Concatenate arrays on the GPU."""
        if not device.is_on_gpu(array):
            return self._host.all_gather(array)
        sizes = self.all_gather_object(array.shape[0])
        bounds = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        result = self._cupy.empty((bounds[-1], *array.shape[1:]), array.dtype)
        result[bounds[self.rank] : bounds[self.rank + 1]] = array
        self.gather_into(result, bounds, frozenset())
        return result

    def all_to_all(self, arrays: Sequence[Array]) -> list[Array]:
        """Exchange arrays between GPUs."""
        cupy = self._cupy
        if not device.is_on_gpu(arrays[0]):
            return self._host.all_to_all(arrays)
        sent = [cupy.ascontiguousarray(array) for array in arrays]
        layouts = self.all_gather_object([(array.shape, array.dtype) for array in sent])
        received = [
            sent[rank] if rank == self.rank else cupy.empty(*layouts[rank][self.rank])
            for rank in range(self.size)
        ]
        with self._enqueue() as stream:
            for rank in range(self.size):
                if rank == self.rank:
                    continue
                for array, transfer in (
                    (sent[rank], self._communicator.send),
                    (received[rank], self._communicator.recv),
                ):
                    if array.nbytes:
                        transfer(array.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, rank, stream)
        return received

    def allocate(
        self, shape: tuple[int, int], bounds: Sequence[int], dtype: Any, xp: ArrayModule
    ) -> GatherBuffer:
        """Return a buffer in the memory of this GPU; one of the host is not shared."""
        return GatherBuffer(self, xp.zeros(shape, dtype), bounds, ())

    def gather_into(self, array: Array, bounds: list[int], shared: frozenset[int]) -> None:
        """Broadcast the range of every rank, in one launch."""
        if not device.is_on_gpu(array):
            self._host.gather_into(array, bounds, shared)
            return
        width = array.strides[0]
        with self._enqueue() as stream:
            for rank in range(self.size):
                num_bytes = (bounds[rank + 1] - bounds[rank]) * width
                if num_bytes:
                    self._communicator.bcast(
                        array.data.ptr + bounds[rank] * width, num_bytes,
                        self._nccl.NCCL_UINT8, rank, stream,
                    )  # fmt: skip

    @contextmanager
    def _enqueue(self) -> Iterator[int]:
        """Group NCCL calls; they run on the stream that is yielded."""
        self.check()
        try:
            self._nccl.groupStart()
            try:
                yield self._cupy.cuda.get_current_stream().ptr
            finally:
                self._nccl.groupEnd()
        except self._nccl.NcclError as error:
            self.close()
            raise RankLostError(f"NCCL has failed: {error}") from error

    def _type(self, dtype: np.dtype) -> int:
        return getattr(self._nccl, TYPES[dtype.name])


class _State:
    """State that the watching thread shares with a communicator, but without keeping that alive."""

    def __init__(
        self, communicator: Any, host: HostCommunicator, watched: list[socket.socket]
    ) -> None:
        self.communicator, self.host, self.watched = communicator, host, watched
        self.is_closed, self._lock = False, threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
        with suppress(Exception):  # NCCL's own errors: there is nothing left to release
            self.communicator.abort()
        self.host.close()
        for connection in self.watched:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # ends the thread's wait
            connection.close()


def _watch(state: _State) -> None:
    """Close a communicator when the connection to a rank closes."""
    with suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
        for connection in state.watched:  # an error means that this process has closed it
            selector.register(connection, selectors.EVENT_READ)
        selector.select()
    state.close()
