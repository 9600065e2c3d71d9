"""What can go wrong, by name. Every message says what was wrong, where, and what would work."""

import math

LONGEST = 200  # characters of a value in a message


class GraphError(ValueError):
    """A graph, file or parameter cannot be used as given."""


class ConvergenceError(GraphError):
    """An iteration ended before its tolerance was reached.

    Attributes
    ----------
    iterations : int
        Iterations that were run.
    residual : float
        Total absolute change (L1) of the last one.
    """

    def __init__(self, iterations, residual, tolerance):
        self.iterations, self.residual, self.tolerance = iterations, residual, tolerance
        super().__init__(
            f"not converged: after {iterations} iterations the ranks still change by "
            f"{residual:.3g} in total, more than the tolerance {tolerance:g}; raise "
            "max_iterations or tolerance, or give tolerance=0 to take what there is"
        )

    def __reduce__(self):  # so that it crosses process borders
        return type(self), (self.iterations, self.residual, self.tolerance)


class GpuUnavailableError(GraphError, RuntimeError):
    """A GPU was asked for and cannot be used; the message says what is missing."""


class InsufficientMemoryError(GraphError, MemoryError):
    """The estimate exceeds the memory that is free; raised before anything is taken.

    Attributes
    ----------
    needed, free : int
        Bytes.
    """

    def __init__(self, what, needed, free, where):
        self.what, self.needed, self.free, self.where = what, needed, free, where
        if where == "memory_limit":
            reason = f"and memory_limit is {format_bytes(free)}; raise it"
        else:
            reason = (
                f"and {format_bytes(free)} are free {where}; use a machine or device with more, "
                "or fewer edges"
            )
        super().__init__(f"{what} needs about {format_bytes(needed, math.ceil)} {reason}")

    def __reduce__(self):
        return type(self), (self.what, self.needed, self.free, self.where)


def format_value(value):
    """Return the repr of a caller's value for a message, of limited length."""
    try:
        text = repr(value)
    except ValueError:  # an integer beyond Python's limit of digits
        return f"{type(value).__name__} of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def format_bytes(count, rounding=round):
    """Return a number of bytes as text in the largest unit that fits, such as ``1.50 MB``.

    `rounding` turns the hundredths of the unit into an integer; ``math.ceil`` keeps upper bounds.
    """
    if count >= 10**24:
        return "more than 10^24 bytes"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{rounding(100 * count / size) / 100:.2f} {unit}"
    return f"{count:,} bytes"


class ClusterError(GraphError):
    """A Dask cluster cannot complete a call; the message says why and what to do."""


class WorkerLost(ClusterError):
    """No worker was left for longer than the time limit.

    Attributes
    ----------
    worker : str or None
        Address of a worker that stopped answering; None where workers disconnected.
    timeout : float
        The time limit in seconds, the dask.config key ``rapidsgraph.timeout``.
    """

    def __init__(self, worker, timeout):
        self.worker, self.timeout = worker, timeout
        if worker is None:
            reason = f"there was no worker for {timeout:g} seconds"
        else:
            reason = f"worker {worker} did not answer for {timeout:g} seconds, and no other is left"
        super().__init__(
            f"{reason}; start workers that connect to this scheduler and call again, or raise the "
            "time limit: dask.config.set({'rapidsgraph.timeout': '5 m'})"
        )

    def __reduce__(self):
        return type(self), (self.worker, self.timeout)


class SchedulerLost(ClusterError):
    """The Dask scheduler does not answer within the time limit, or its connection is closed.

    Attributes
    ----------
    scheduler : str
        Its address.
    timeout : float or None
        The time limit in seconds, the dask.config key ``rapidsgraph.timeout``; None where the
        connection is closed.
    """

    def __init__(self, scheduler, timeout):
        self.scheduler, self.timeout = scheduler, timeout
        if timeout is None:
            super().__init__(
                f"the scheduler is gone: the connection to {scheduler} is closed; start a cluster, "
                "connect a new client, and build graphs again"
            )
        else:
            super().__init__(
                f"the scheduler at {scheduler} did not answer within {timeout:g} seconds; check "
                "that its process runs and can be reached, or raise the time limit: "
                "dask.config.set({'rapidsgraph.timeout': '5 m'})"
            )

    def __reduce__(self):
        return type(self), (self.scheduler, self.timeout)


class VerificationError(GraphError):
    """A result does not satisfy the definition it was checked against."""
