"""Exceptions and warnings of rapidsgraph.

Errors about graphs, files, values and results are `GraphError`; unknown keyword arguments are
`TypeError`. A message says what is wrong, where, and what would work; the same facts are
attributes, so that no code has to parse a message.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

# The package logs to this logger and those below it; handlers are the application's. This module is
# imported by all others, and `import rapidsgraph` alone imports nothing.
logging.getLogger("rapidsgraph").addHandler(logging.NullHandler())

CALLER_PACKAGES = ("rapidsgraph.", "numba.", "contextlib.")  # between the user and a warning
MAX_VALUE_LENGTH = 200  # characters of a value in a message
# Of templates. Those of the value and the path are put in place of their text, whose braces stay.
PLACEHOLDER = re.compile(r"\{(row|parameter|column|hint)\}|\0(value|path)\0")
VALUE, PATH = "\0value\0", "\0path\0"


class GraphError(ValueError):
    """Raised if a graph, file or parameter cannot be used as given.

    Parameters
    ----------
    message : str
        What is wrong, where, and what would work. The placeholders ``{row}``, ``{parameter}``,
        ``{column}`` and ``{hint}`` are replaced by the fields; ``{column}`` becomes
        ``column 'name'``, or the parameter where the values come from no column. Other braces stay
        as they are, and so do those of a value and a path. A message without ``{row}`` begins with
        the partition, if there is one.
    parameter : str, optional
        Name of the parameter that was given a wrong value.
    column : str, optional
        Name of the column that holds a wrong value.
    row : int, optional
        Row of the wrong value, counted from 0, within its partition if there is one.
    value : object, optional
        The wrong value.
    path : str or Path, optional
        File that cannot be used.
    hint : str, optional
        What would work, where the message does not end in it already.
    partition : int, optional
        Partition of a Dask frame that holds the wrong value, counted from 0.

    Attributes
    ----------
    parameter, column, row, value, path, hint, partition
        The parameters above; None where they do not apply.
    """

    parameter: str | None = None
    column: Any = None
    row: int | None = None
    value: Any = None
    path: Any = None
    hint: str | None = None
    partition: int | None = None
    _template = ""

    def __init__(
        self,
        message: str,
        *,
        parameter: str | None = None,
        column: Any = None,
        row: int | None = None,
        value: Any = None,
        path: Any = None,
        hint: str | None = None,
        partition: int | None = None,
    ) -> None:
        self.parameter, self.column, self.row = parameter, column, row
        self.value, self.path, self.hint, self.partition = value, path, hint, partition
        if isinstance(value, (str, bytes, tuple, list)):
            text = format_value(value)
            if PLACEHOLDER.search(text):
                message = message.replace(text, VALUE)
        if isinstance(path, (str, os.PathLike)) and PLACEHOLDER.search(str(path)):
            message = message.replace(str(path), PATH)
        self._template = message
        super().__init__(self._format_message())

    def with_fields(self, **fields: Any) -> Self:
        """Return a copy of the error with other fields, and a message that agrees with them."""
        # Libraries may register functions that copy exceptions with the same __dict__.
        error = type(self).__new__(type(self))
        error.__dict__.update(self.__dict__ | fields)
        error.args = (error._format_message(),)
        return error

    def with_hint(self, hint: str) -> Self:
        """Return a copy of the error with a hint, which ends its message."""
        template = self._template if self.hint is None else self._with_own_hint()
        return self.with_fields(hint=hint, _template=f"{template}; {{hint}}")

    def with_path(self, path: Any, line: int | None = None) -> Self:
        """Return a copy of the error with the path of a file, which begins its message.

        The line of a text file, counted from 1, replaces the row in the message.
        """
        if line is None:
            return self.with_fields(path=path, _template=f"{PATH}: {self._template}")
        template = self._template.replace(" in row {row} of ", " in ").replace(" in row {row}", "")
        return self.with_fields(path=path, _template=f"{PATH}, line {line}: {template}")

    def with_frame(self, parameter: str) -> Self:
        """Return a copy of the error that begins with the parameter whose frame is wrong."""
        template = f"{{parameter}}: {self._template}"
        return self.with_fields(parameter=parameter, _template=template)

    def _with_own_hint(self) -> str:
        return self._template.replace("{hint}", str(self.hint))

    def _format_message(self) -> str:
        column = self.parameter if self.column is None else f"column {format_value(self.column)}"
        row: Any = self.row
        message = self._template
        if self.partition is not None:
            if row is not None and "{row}" in message:
                row = f"{row} of partition {self.partition}"
            else:
                message = f"partition {self.partition} of the Dask frame: {message}"
        fields = {
            "row": row, "parameter": self.parameter, "column": column, "path": self.path,
            "hint": self.hint,
        }  # fmt: skip
        if VALUE in message:
            fields["value"] = format_value(self.value)

        def replace(placeholder: re.Match[str]) -> str:
            field = fields.get(placeholder[1] or placeholder[2])
            return placeholder[0] if field is None else str(field)

        return PLACEHOLDER.sub(replace, message)


class MissingColumnError(GraphError):
    """Raised if a table lacks a required column.

    Attributes
    ----------
    column : object
        The name.
    columns : list of str
        Names of the columns that exist.
    candidates : dict of {str: str}
        Likely columns. A key is the parameter that can name the column or, if none can, the missing
        column. Has both endpoints if both are missing; empty if no column is similar.
    parameter : str or None
        Name of the parameter that can name the column.
    """

    def __init__(
        self,
        message: str,
        *,
        columns: Sequence[str] = (),
        candidates: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        self.columns, self.candidates = list(columns), dict(candidates or {})
        super().__init__(message, **fields)


class VertexNotFoundError(GraphError):
    """Raised if a vertex is not in the graph; `value` is its name."""


class VertexTypeError(GraphError):
    """Raised if a vertex name is of another type than the names of the graph.

    Attributes
    ----------
    expected : str
        ``"integer"`` or ``"text"``.
    column : str or None
        The name column, where several columns name a vertex.
    """

    def __init__(self, message: str, *, expected: str = "integer", **fields: Any) -> None:
        self.expected = expected
        super().__init__(message, **fields)


class ConvergenceError(GraphError):
    """Raised if an iteration ended before its tolerance was reached.

    Attributes
    ----------
    iterations : int
        Number of iterations that were run.
    residual : float
        L1 norm of the change in the last iteration.
    tolerance : float
        Bound that the residual had to reach.
    result : frame
        The values after the last iteration, in the form of a result.
    """

    def __init__(
        self, iterations: int, residual: float, tolerance: float, result: Any = None
    ) -> None:
        self.iterations, self.residual, self.tolerance = iterations, residual, tolerance
        self.result = result
        super().__init__(self.describe("max_iterations", "tolerance", "tolerance=0"))

    def describe(self, max_iterations: str, tolerance: str, no_tolerance: str) -> str:
        """Return the message with the caller's notation for two parameters and a tolerance of 0."""
        iterations = f"{self.iterations} iteration{'s' * (self.iterations != 1)}"
        return (
            f"not converged: after {iterations} the values still change by "
            f"{self.residual:.3g} in total, more than the tolerance {self.tolerance:g}; raise "
            f"{max_iterations} or {tolerance}, or give {no_tolerance} to accept the last values"
        )

    def __reduce__(self) -> tuple:  # exceptions are pickled by their arguments
        return type(self), (self.iterations, self.residual, self.tolerance), self.__dict__


class GpuUnavailableError(GraphError, RuntimeError):
    """Raised if a requested GPU cannot be used; the message says what is missing."""


class InsufficientMemoryError(GraphError, MemoryError):
    """Raised before allocation if the estimated peak exceeds the free memory.

    Attributes
    ----------
    operation : str
        What needs the memory.
    needed, free : int
        Bytes.
    where : str
        Where the free bytes are: ``"on the GPU"``, say, or ``"memory_limit"``.
    """

    def __init__(self, operation: str, needed: int, free: int, where: str) -> None:
        self.operation, self.needed, self.free, self.where = operation, needed, free, where
        if where == "memory_limit":
            reason = f"but {{parameter}} is {format_bytes(free)}; raise the limit"
        else:
            reason = (
                f"but only {format_bytes(free)} are free {where}; use a machine or device with "
                "more memory, or a smaller graph"
            )
        parameter = "memory_limit" if where == "memory_limit" else None
        message = f"{operation} needs about {format_bytes(needed, math.ceil)} {reason}"
        super().__init__(message, parameter=parameter)

    def __reduce__(self) -> tuple:
        return type(self), (self.operation, self.needed, self.free, self.where), self.__dict__


class ClusterError(GraphError):
    """Raised if a Dask cluster cannot complete a call."""


class WorkerLostError(ClusterError):
    """Raised if no worker was left for longer than the time limit.

    Attributes
    ----------
    worker : str or None
        Address of a worker that stopped answering; None where workers disconnected.
    timeout : float
        The time limit in seconds, the dask.config key ``rapidsgraph.timeout``.
    """

    def __init__(self, worker: str | None, timeout: float) -> None:
        self.worker, self.timeout = worker, timeout
        if worker is None:
            reason = f"there was no worker for {timeout:g} seconds"
        else:
            reason = f"worker {worker} did not answer for {timeout:g} seconds, and no other is left"
        super().__init__(
            f"{reason}; start workers that connect to this scheduler and call again, or raise the "
            "time limit: dask.config.set({'rapidsgraph.timeout': '5 m'})"
        )

    def __reduce__(self) -> tuple:
        return type(self), (self.worker, self.timeout), self.__dict__


class SchedulerLostError(ClusterError):
    """Raised if the Dask scheduler does not answer, or its connection is closed.

    Attributes
    ----------
    scheduler : str
        Address of the scheduler.
    timeout : float or None
        The time limit in seconds, the dask.config key ``rapidsgraph.timeout``; None where the
        connection is closed.
    """

    def __init__(self, scheduler: str, timeout: float | None) -> None:
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

    def __reduce__(self) -> tuple:
        return type(self), (self.scheduler, self.timeout), self.__dict__


class VerificationError(GraphError):
    """Raised if a result does not satisfy the definition it was checked against."""


class WeightWarning(UserWarning):
    """Warn that weights may be missing, or were dropped where parallel edges were merged."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and f"{frame.f_globals.get('__name__', '')}.".startswith(CALLER_PACKAGES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def format_value(value: object) -> str:
    """Return the repr of a caller's value for a message: one line of limited length."""
    if type(value) in (str, bytes, list, tuple):  # without a repr of what is not shown
        value = value[:MAX_VALUE_LENGTH]  # type: ignore[index]
    try:
        text = repr(value)
    except ValueError:  # an integer beyond Python's limit of digits
        return f"{type(value).__name__} of thousands of digits"
    if "\n" in text:  # of a frame or matrix
        text = " ".join(text.split())
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}..."


def format_bytes(count: float, rounding: Callable[[float], int] = round) -> str:
    """Return a number of bytes as text in the largest unit that fits, such as ``1.50 MB``.

    `rounding` turns the hundredths of the unit into an integer; ``math.ceil`` keeps upper bounds.
    """
    if count >= 10**24:
        return "more than 10^24 bytes"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{rounding(100 * count / size) / 100:.2f} {unit}"
    return f"{count:,} bytes"
