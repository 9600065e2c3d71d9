"""Collectives over TCP connections between all pairs of ranks, and over shared memory."""

from __future__ import annotations

import hmac
import pickle
import socket
import struct
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from . import shared_memory
from .communicator import LOST_RESULT, Communicator, GatherBuffer, RankLostError

CONNECT_TIMEOUT = 30  # seconds for all ranks to connect
# TCP_USER_TIMEOUT is not among these: it also ends connections to a rank that computes for long
# before it reads, once its receive window is full.
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}  # a lost host: 35 seconds
REDUCTIONS = {"sum": np.add, "min": np.minimum, "max": np.maximum}
SCATTER_BYTES = 2**18  # arrays from this size on are reduced in one slice per rank

_LENGTH = struct.Struct("<q")
_HEADER = struct.Struct("<qq")  # number of the call, number of buffers


class HostCommunicator(Communicator):
    """Collectives over TCP connections and shared memory, for arrays in host memory.

    Parameters
    ----------
    rank : int
    connections : list of socket or None
        To each rank, by rank; None for this one.
    """

    def __init__(self, rank: int, connections: list[socket.socket | None]) -> None:
        self.rank, self.size = rank, len(connections)
        self._connections = connections
        self._finalizer = weakref.finalize(self, close_all, connections)
        self._machines = self.all_gather_object(shared_memory.get_machine_id())

    def close(self) -> None:
        """Close all connections."""
        self._finalizer()

    def check(self) -> None:
        """Raise RankLostError if the connections are closed."""
        if not self._finalizer.alive:
            raise RankLostError("a rank has failed and closed the communicator; repeat the call")

    def barrier(self) -> None:
        """Exchange empty messages with all ranks."""
        self._exchange([None] * self.size)

    def all_gather_object(self, value: Any) -> list:
        """Return the Python objects of all ranks, in rank order."""
        return self._exchange([value] * self.size)

    def all_to_all(self, arrays: Sequence[Array]) -> list[Array]:
        """Exchange arrays with every rank; see `Communicator.all_to_all`."""
        xp = device.array_module(arrays[0])
        return [xp.asarray(array) for array in self._exchange(list(map(device.to_host, arrays)))]

    def all_gather(self, array: Array) -> Array:
        """Return the concatenation of the arrays of all ranks."""
        xp = device.array_module(array)
        arrays = self._exchange([device.to_host(array)] * self.size)
        return xp.asarray(np.concatenate(arrays))

    def all_reduce(self, array: Array, operation: str = "sum") -> Array:
        """Reduce in rank order, so that the result does not depend on timing."""
        xp, host = device.array_module(array), device.to_host(array)
        combine = REDUCTIONS[operation]
        if host.nbytes < SCATTER_BYTES:
            return xp.asarray(_reduce(self._exchange([host] * self.size), combine))
        flat = host.reshape(-1)
        slices = np.array_split(flat, self.size)
        reduced = _reduce(self._exchange(slices), combine)
        return xp.asarray(np.concatenate(self._exchange([reduced] * self.size)).reshape(host.shape))

    def allocate(
        self, shape: tuple[int, int], bounds: Sequence[int], dtype: Any, xp: ArrayModule
    ) -> GatherBuffer:
        """Return a buffer that the ranks of a machine share where they can."""
        machine = self._machines[self.rank]
        neighbors = [rank for rank in range(self.size) if self._machines[rank] == machine]
        array: Array | None = None
        if xp is np and machine is not None and len(neighbors) > 1 and min(shape):
            array = self._share(shape, dtype, neighbors)
        else:
            self._share(shape, dtype, [])
        if array is None:
            return GatherBuffer(self, xp.zeros(shape, dtype), bounds, ())
        return GatherBuffer(self, array, bounds, neighbors)

    def _share(self, shape: tuple[int, int], dtype: Any, neighbors: list[int]) -> Array | None:
        """Return an array that `neighbors` share, or None if one of them cannot attach to it."""
        array, address = None, None
        if neighbors and self.rank == neighbors[0]:
            with suppress(*shared_memory.ALLOCATION_ERRORS):
                array, address = shared_memory.allocate(shape, dtype)
        addresses = self.all_gather_object(address)
        if neighbors and self.rank != neighbors[0] and addresses[neighbors[0]] is not None:
            array = shared_memory.attach(addresses[neighbors[0]], shape, dtype)
        is_attached = self.all_gather_object(array is not None)
        return array if neighbors and all(is_attached[rank] for rank in neighbors) else None

    def gather_into(self, array: Array, bounds: list[int], shared: frozenset[int]) -> None:
        """Exchange ranges of an array with the ranks that do not share its memory."""
        rank_values = array[bounds[self.rank] : bounds[self.rank + 1]]
        message = None if len(shared) == self.size else device.to_host(rank_values)
        received = self._exchange(
            [None if rank in shared else message for rank in range(self.size)]
        )
        xp = device.array_module(array)
        for rank, values in enumerate(received):
            if rank != self.rank and rank not in shared:
                array[bounds[rank] : bounds[rank + 1]] = xp.asarray(values)

    def send(self, rank: int, value: Any) -> None:
        """Send a value to one other rank, which must call `receive`."""
        with self._connection(rank) as connection:
            _send(connection, self._call, value)

    def receive(self, rank: int) -> Any:
        """Return the value that one other rank has sent."""
        with self._connection(rank) as connection:
            return _receive(connection, self._call)

    def _exchange(self, values: Sequence[Any]) -> list:
        """Send ``values[r]`` to rank r; return what each rank sent to this one.

        In round t, rank r exchanges messages with rank (t - r) modulo the size. The lower rank
        sends first, so that no two ranks wait for each other.
        """
        self.check()
        received = list(values)
        for number in range(self.size):
            peer = (number - self.rank) % self.size
            if self.rank < peer:
                self.send(peer, values[peer])
                received[peer] = self.receive(peer)
            elif self.rank > peer:
                received[peer] = self.receive(peer)
                self.send(peer, values[peer])
        return received

    @contextmanager
    def _connection(self, rank: int) -> Iterator[socket.socket]:
        """Yield the connection to another rank; close the communicator if it fails."""
        self.check()
        connection = self._connections[rank]
        assert connection is not None
        try:
            yield connection
        except OSError as error:
            self.close()
            raise RankLostError(f"rank {rank} of {self.size} does not answer: {error}") from error
        except BaseException:
            self.close()  # a message may be incomplete
            raise


def _reduce(arrays: Sequence[np.ndarray], combine: np.ufunc) -> np.ndarray:
    total = arrays[0].copy()
    with np.errstate(over="ignore"):
        for other in arrays[1:]:
            combine(total, other, out=total)
    return total


def close_all(connections: Sequence[socket.socket | None]) -> None:
    """Close sockets, also while another thread waits for one of them."""
    for connection in connections:
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # ends the wait
            connection.close()


# Messages: the number of the call, that of buffers, the size of each, and the buffers, of which the
# first is a pickle that refers to the others (PEP 574).


def _send(connection: socket.socket, call: int, value: Any) -> None:
    buffers: list[Any] = []
    if value is not None:
        arrays: list[pickle.PickleBuffer] = []
        buffers = [pickle.dumps(value, protocol=5, buffer_callback=arrays.append)]
        buffers += [memoryview(array.raw()) for array in arrays]
    sizes = [memoryview(buffer).nbytes for buffer in buffers]
    header = b"".join([_HEADER.pack(call, len(sizes)), *map(_LENGTH.pack, sizes)])
    if sum(sizes) < 2**14:  # one packet
        connection.sendall(b"".join([header, *buffers]))
        return
    connection.sendall(header)
    for buffer in buffers:
        connection.sendall(buffer)


def _receive(connection: socket.socket, call: int) -> Any:
    sender_call, num_buffers = _HEADER.unpack(_read(connection, _HEADER.size))
    if sender_call != call:
        raise RankLostError(LOST_RESULT)  # one of the ranks repeats a call that has ended
    if not num_buffers:
        return None
    sizes = _read(connection, _LENGTH.size * num_buffers)
    buffers = [_read(connection, size) for (size,) in _LENGTH.iter_unpack(sizes)]
    return pickle.loads(buffers[0], buffers=buffers[1:])


def _read(connection: socket.socket, size: int) -> memoryview:
    buffer = np.empty(size, np.uint8).data
    position = 0
    while position < size:
        count = connection.recv_into(buffer[position:])
        if not count:
            raise ConnectionResetError("the connection is closed")
        position += count
    return buffer


# Connections


def open_listener(host: str) -> socket.socket:
    """Return a socket that listens on a free port of this host."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)
    listener.settimeout(CONNECT_TIMEOUT)
    return listener


def connect(
    listener: socket.socket, rank: int, addresses: Sequence[tuple[str, int]], secret: bytes
) -> list[socket.socket | None]:
    """Connect to every rank: this one connects to lower ranks and accepts higher ones.

    Parameters
    ----------
    listener : socket
        Closed on return.
    rank : int
    addresses : sequence of (host, port)
        Of the listeners of all ranks.
    secret : bytes
        Connections that do not begin with it are rejected.

    Raises
    ------
    RankLostError
        A rank does not connect in time.
    """
    connections: list[socket.socket | None] = [None] * len(addresses)
    try:
        with listener:
            for peer in range(rank):
                connection = socket.create_connection(addresses[peer], timeout=CONNECT_TIMEOUT)
                connections[peer] = connection
                connection.sendall(secret + _LENGTH.pack(rank))
            for _ in range(rank + 1, len(addresses)):
                peer, connection = _accept(listener, secret)
                connections[peer] = connection
    except OSError as error:
        close_all(connections)
        raise RankLostError(f"not all ranks have connected: {error}") from error
    for opened in connections:
        if opened is not None:
            _configure(opened)
    return connections


def _accept(listener: socket.socket, secret: bytes) -> tuple[int, socket.socket]:
    while True:
        connection, _ = listener.accept()
        with suppress(OSError):
            connection.settimeout(CONNECT_TIMEOUT)
            if hmac.compare_digest(_read(connection, len(secret)), secret):
                [peer] = _LENGTH.unpack(_read(connection, _LENGTH.size))
                return peer, connection
        connection.close()


def _configure(connection: socket.socket) -> None:
    connection.settimeout(None)  # a rank may compute for long
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
