"""Communicators: the collectives of SPMD tasks, as in MPI and NCCL.

Each rank of a distributed call has a partition and a communicator, and all ranks call the same
collectives in the same order. Algorithms do not know which implementation they run on:

- `LocalCommunicator` for one rank;
- `host.HostCommunicator` for ranks on CPUs: TCP connections between all pairs, and memory that the
  processes of one machine share (MPI's shared windows);
- `nccl.NcclCommunicator` for ranks that each have a GPU of their own.

Ranks that use collectives on GPU arrays without NCCL stage them in host memory.

If a rank fails, its connections close, and the other ranks raise `RankLostError` at their next
collective. A communicator that has failed cannot be used again.

Each call of a communicator has a number. Dask may run a task of a finished call again, without the
other ranks, when it has lost the result: `Communicator.serve` refuses a number that it has served.
Messages carry the number, too, so that they never reach another call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..device.arrays import Array, ArrayModule
from ..errors import ClusterError

LOST_RESULT = "the result of a distributed call was on a worker that is lost; repeat the call"


class RankLostError(ClusterError):
    """Raised if another rank of a collective has failed or does not answer."""


class Communicator(ABC):
    """Collectives over the ranks of a distributed call.

    Attributes
    ----------
    rank : int
        Of this process, in ``range(size)``.
    size : int
    """

    rank: int
    size: int
    _call = 0  # number of the last call

    @contextmanager
    def serve(self, call: int) -> Iterator[None]:
        """Run one call within the context; close the communicator if the call fails.

        Parameters
        ----------
        call : int
            The same number on every rank, greater than those of earlier calls.

        Raises
        ------
        RankLostError
            The call was served before, or the communicator has failed.
        """
        if call <= self._call:
            raise RankLostError(LOST_RESULT)
        self._call = call
        try:
            yield
            self.check()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def all_reduce(self, array: Array, operation: str = "sum") -> Array:
        """Return the elementwise "sum", "min" or "max" over all ranks; of booleans "max" is "or".

        `array` has the same shape and type on every rank and may be overwritten.
        """

    @abstractmethod
    def all_gather(self, array: Array) -> Array:
        """Return the arrays of all ranks concatenated along the first axis, in rank order."""

    @abstractmethod
    def all_to_all(self, arrays: Sequence[Array]) -> list[Array]:
        """Send ``arrays[r]`` to rank r; return what each rank sent to this one, in rank order."""

    def ring_shift(self, array: Array, distance: int = 1) -> Array:
        """Send an array to rank ``rank + distance``, modulo the size; return what arrives here."""
        arrays = [array[:0]] * self.size
        arrays[(self.rank + distance) % self.size] = array
        return self.all_to_all(arrays)[(self.rank - distance) % self.size]

    @abstractmethod
    def all_gather_object(self, value: Any) -> list:
        """Return the small Python objects of all ranks, in rank order."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until every rank has called this."""

    @abstractmethod
    def allocate(
        self, shape: tuple[int, int], bounds: Sequence[int], dtype: Any, xp: ArrayModule
    ) -> GatherBuffer:
        """Return a buffer of which rank r writes the columns ``bounds[r]`` to ``bounds[r + 1]``.

        Every rank must call this. On GPUs `shape` and `bounds[0]` may differ between ranks, so that
        further columns hold values of the rank's own.
        """

    @abstractmethod
    def check(self) -> None:
        """Raise RankLostError if the communicator has failed."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; ranks that wait for this one fail."""


class GatherBuffer:
    """A buffer of which each rank writes a range of columns and reads all of them.

    Attributes
    ----------
    array : array
        Of two dimensions; zeros at first. Ranks of one machine may share it.
    """

    def __init__(
        self, communicator: Communicator, array: Array, bounds: Sequence[int], shared: Sequence[int]
    ) -> None:
        self.array, self.bounds = array, list(bounds)
        self._communicator, self._shared = communicator, frozenset(shared)

    def all_gather(self, row: int = 0) -> None:
        """Make the columns that each rank has written visible to all ranks.

        Nobody may write the row until the next collective after its readers are done.
        """
        communicator: Any = self._communicator
        communicator.gather_into(self.array[row], self.bounds, self._shared)


class LocalCommunicator(Communicator):
    """The communicator of a single rank."""

    rank, size = 0, 1

    def all_reduce(self, array: Array, operation: str = "sum") -> Array:
        """Return the array itself."""
        return array

    def all_gather(self, array: Array) -> Array:
        """Return the array itself."""
        return array

    def all_to_all(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the arrays themselves."""
        return list(arrays)

    def all_gather_object(self, value: Any) -> list:
        """Return a list of the value."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""

    def allocate(
        self, shape: tuple[int, int], bounds: Sequence[int], dtype: Any, xp: ArrayModule
    ) -> GatherBuffer:
        """Return a buffer in private memory."""
        return GatherBuffer(self, xp.zeros(shape, dtype), bounds, ())

    def gather_into(self, array: Array, bounds: list[int], shared: frozenset[int]) -> None:
        """Return at once: the array is complete."""

    def check(self) -> None:
        """Return: the only rank is running."""

    def close(self) -> None:
        """Return: there is nothing to release."""
