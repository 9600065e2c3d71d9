"""Validation of arguments: keywords, choices, numbers, paths, sizes and weights.

A ``check_`` function returns the validated value, if it can differ from the argument. The name of
the parameter is the placeholder ``{parameter}`` of every message, so that the command line can
show its option instead.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import logging
import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, ParamSpec, TypeVar, get_args

import numpy as np

from . import device
from .device import Array, ArrayModule
from .errors import GraphError, InsufficientMemoryError, format_bytes, format_value

logger = logging.getLogger(__name__)

FramesMethod = Literal["auto", "frames"]  # of algorithms with one kernel form
FRAMES_METHODS = get_args(FramesMethod)
MAX_VERTICES = 2**31 - 1
INTEGER = re.compile(r"\s*-?[0-9]+\s*")  # in text, as PyArrow reads it
MAX_DIGITS = 100  # more than 64 bits in any case; Python refuses to convert thousands
# Integer names are looked up in a table over their range if it has at most this many integers more
# than there are values.
MAX_UNUSED_NAMES = 1024
MIN_CHECKED_BYTES = 2**24  # less is not compared with free memory, which varies by more
UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {f"{letter}iB": 2 ** (10 * power) for power, letter in enumerate("KMGT", 1)}
UNITS |= {letter: UNITS[f"{letter}B"] for letter in "KMGT"}

# Keywords of NetworkX, cuGraph, igraph, SciPy and scikit-learn, and the parameters they stand for.
# The first that is a parameter of the function is suggested.
EQUIVALENTS: dict[str, tuple[str, ...]] = {
    "alpha": ("damping",),
    "connection": ("strong",),
    "create_using": ("directed",),
    "cutoff": ("depth_limit",),
    "damping_factor": ("damping",),
    "delimiter": ("sep",),
    "depth_limit": ("cutoff",),
    "df": ("graph", "edges"),
    "dst": ("destination",),
    "edge_attr": ("weight",),
    "edge_attribute": ("weight",),
    "edgelist": ("graph", "edges"),
    "edges": ("graph",),
    "eps": ("epsilon", "tolerance"),
    "file": ("path",),
    "filename": ("path",),
    "G": ("graph", "g", "edges"),
    "i_start": ("source",),
    "input_graph": ("graph",),
    "is_directed": ("directed",),
    "max_depth": ("depth_limit", "cutoff"),
    "max_iter": ("max_iterations", "iterations"),
    "max_iterations": ("iterations",),
    "min_samples": ("mu",),
    "n_workers": ("workers",),
    "nodelist": ("names",),
    "nodes": ("vertices",),
    "nstart": ("start",),
    "num_edges": ("edges",),
    "num_vertices": ("vertices",),
    "num_workers": ("workers",),
    "radius": ("hops",),
    "random_state": ("seed",),
    "reset": ("personalization",),
    "return_predecessors": ("predecessors",),
    "rng": ("seed",),
    "root": ("source",),
    "src": ("source",),
    "start": ("source",),
    "tol": ("tolerance",),
    "weights": ("weight",),
}
GRAPH_CALLS = {  # the parameters of `Graph` for functions of a graph, which do not have them
    name: f"rg.Graph(edges, {name}=...)"
    for name in (
        "source", "destination", "weight", "directed", "multi_edges", "self_loops", "vertices",
    )
}  # fmt: skip
DEVICE_CALL = {"device": "rg.read_edges(path, device=...)"}  # the device follows the frame
ENDPOINTS = ("source", "destination")  # the columns that name vertices, by default
DEFAULT_WEIGHT = "weight"  # the column of weights that is used if it exists
# What to do about a column of that name that holds no weights, in a frame and in a file.
FRAME_WEIGHT_HINT = "rg.Graph(edges, weight=None) ignores the column"
FILE_WEIGHT_HINT = "weight=None ignores the column"
MIN_SIMILARITY = 0.75  # of a keyword and the parameter that is probably meant

P = ParamSpec("P")
R = TypeVar("R")


def reject(parameter: str, value: object, requirement: str) -> NoReturn:
    """Raise GraphError for an argument, with what it has to be."""
    raise GraphError(
        f"{{parameter}} is {format_value(value)}; {requirement}", parameter=parameter, value=value
    )


def check_choice(parameter: str, value: object, choices: Collection[str]) -> None:
    """Raise GraphError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        reject(parameter, value, f"it can be {', '.join(map(repr, choices))}")


def check_flag(parameter: str, value: object) -> None:
    """Raise GraphError unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        reject(parameter, value, "it can be True or False")


def check_count(parameter: str, value: Any, limit: float = 2**63) -> None:
    """Raise GraphError unless `value` is an integer above 0 and below 2^63, or infinity."""
    if not is_integral(value) or not 0 < value < limit:
        bound = "" if limit == math.inf else ", below 2^63"
        reject(parameter, value, f"it must be an integer above 0{bound}")


def check_seed(seed: Any) -> None:
    """Raise GraphError unless `seed` is None or an integer from 0 to 2^63 - 1."""
    if seed is not None and not (is_integral(seed) and 0 <= seed < 2**63):
        reject("seed", seed, "it must be None or an integer, 0 or more, below 2^63")


def check_progress(progress: Any) -> None:
    """Raise GraphError unless `progress` is True, False, None or a function."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        reject("progress", progress, "it can be True, False, None or a function")


def is_integral(value: object) -> bool:
    """Return whether a value is an integer of Python or NumPy, and no Boolean or time."""
    is_other = isinstance(value, (bool, np.timedelta64))  # subclasses of integers
    return isinstance(value, (int, np.integer)) and not is_other


def reads_as_int64(value: object) -> bool:
    """Return whether PyArrow reads a value, which may be text, as int64."""
    if isinstance(value, str) and (not INTEGER.fullmatch(value) or len(value) > MAX_DIGITS):
        return False
    return isinstance(value, (int, str)) and -(2**63) <= int(value) < 2**63


def check_number(parameter: str, value: Any, maximum: float = math.inf) -> float:
    """Return `value` as float; raise GraphError unless it is a number from 0 to `maximum`."""
    is_number = is_integral(value) or isinstance(value, (float, np.floating))
    if not is_number or not 0 <= value <= maximum:
        bounds = ", 0 or more" if maximum == math.inf else f" from 0 to {maximum}"
        reject(parameter, value, f"it must be a number{bounds}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond double precision
        return math.inf


def parse_bytes(value: Any, parameter: str) -> int:
    """Return a number of bytes from a number or a string such as "2GB" or "512 MiB"."""
    number = value
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-zA-Z]*)\s*", value)
        units = {unit.lower(): size for unit, size in UNITS.items()}
        size = match and units.get(match[2].lower())
        number = float(match[1]) * size if match and size else None
    is_number = is_integral(number) or isinstance(number, (float, np.floating))
    if not is_number or not 1 <= number < 2**63:
        reject(
            parameter,
            value,
            "it must be bytes, 1 or more, or a string like '2GB' or '512MiB', below 2^63",
        )
    return int(number)


def check_path(path: Any) -> Path:
    """Return a path with ``~`` expanded; raise GraphError if no file can have this name.

    A file whose name begins with ``~`` and no user's name is taken as it is.
    """
    if isinstance(path, (list, tuple, set)):
        reject("path", path, "name several files by a folder, or a glob such as 'edges-*.parquet'")
    if not isinstance(path, (str, os.PathLike)) or path == "":
        reject("path", path, "it must be a pathlib.Path or a non-empty string")
    try:
        path = Path(path).expanduser()
    except (RuntimeError, TypeError) as error:  # an unknown user's home, or a path of bytes
        if isinstance(error, RuntimeError) and os.path.lexists(path):
            return Path(path)
        raise GraphError(
            f"{{parameter}} is {format_value(path)}, which cannot be used: {error}",
            parameter="path",
            value=path,
        ) from error
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise GraphError(
            f"{str(path)!a}: no file can have this name; it holds a NUL character or a lone "
            "surrogate",
            path=path,
        )
    return path


def check_free_memory(operation: str, num_bytes: int, xp: ArrayModule) -> None:
    """Raise InsufficientMemoryError unless `num_bytes` are free in the memory that `xp` uses.

    Reading how much is free takes longer than many operations that need few bytes, so fewer than
    `MIN_CHECKED_BYTES` are always accepted.

    Parameters
    ----------
    operation : str
        The operation that needs the memory, as a noun phrase for the message.
    num_bytes : int
    xp : module
        NumPy or CuPy.
    """
    if num_bytes < MIN_CHECKED_BYTES:
        return
    free = device.free_memory(xp)
    logger.debug(
        "%s needs at most %s; %s are free", operation, format_bytes(num_bytes), format_bytes(free)
    )
    if num_bytes > free:
        where = "on the GPU" if device.device_name(xp) == "gpu" else "in memory"
        raise InsufficientMemoryError(operation, num_bytes, free, where)


def as_list(names: Any) -> list:
    """Return one name, or several, as a list."""
    if isinstance(names, str) or not isinstance(names, (list, tuple)):
        return [names]
    return list(names)


def check_endpoint_columns(source: list, destination: list) -> None:
    """Raise GraphError unless both endpoints have the same number of columns, at least one."""
    if len(source) != len(destination) or not source:
        raise GraphError(
            f"source has {len(source)} columns and destination {len(destination)}; both need the "
            "same number, at least one",
            parameter="source",
            value=source,
        )


def vertex_labels(sources: Sequence[Any], destinations: Sequence[Any]) -> list[str]:
    """Return the names of the name columns in result frames.

    A column that both ends share (a network's name, say) keeps its name; the others are `vertex`,
    or `vertex_0`, `vertex_1`, ... if there are several.
    """
    is_specific = [source != destination for source, destination in zip(sources, destinations)]
    labels = []
    # Readers refuse unequal numbers of columns later, with the path of the file.
    for index, (name, is_vertex_name) in enumerate(zip(sources, is_specific)):
        vertex_label = f"vertex_{sum(is_specific[:index])}" if sum(is_specific) > 1 else "vertex"
        labels.append(vertex_label if is_vertex_name else str(name))
    duplicate = next((label for label in labels if labels.count(label) > 1), None)
    if duplicate:
        raise GraphError(
            f"two name columns of results would be called {duplicate!r}; rename one",
            column=duplicate,
        )
    return labels


def is_default_weight(name: Any) -> bool:
    """Return whether a column name, or any other value, is that of the default weights."""
    return isinstance(name, str) and name == DEFAULT_WEIGHT


def choose_weight(
    weight: Any, columns: Collection[Any], endpoints: Collection[Any] = ()
) -> str | None:
    """Return the column to read weights from, or None to read none.

    The default column is used if it exists and does not name vertices. Any other column must exist,
    which is checked where it is read.

    Parameters
    ----------
    weight : str or None
        The parameter `weight` of the caller.
    columns : collection
        Names of all columns.
    endpoints : collection
        Names of the columns that name vertices.
    """
    if not is_default_weight(weight):
        return weight
    is_found = any(map(is_default_weight, columns))
    return weight if is_found and not any(map(is_default_weight, endpoints)) else None


def check_weights(weights: Any, column: str, xp: ArrayModule) -> Array:
    """Return weights as int32, int64, float32 or float64.

    Raises
    ------
    GraphError
        The weights are not numbers, or one is negative, NaN or infinite; names the first row.
    """
    if not isinstance(weights, xp.ndarray) or weights.dtype.kind not in "iuf":
        raise _not_numbers(weights, column)
    kind, size = weights.dtype.kind, weights.dtype.itemsize
    if kind == "u":
        fits = size < 8 or not weights.size or int(weights.max()) < 2**63
        weights = weights.astype(xp.int64 if fits else xp.float64)
    elif size not in (4, 8):
        wider = xp.int32 if kind == "i" else xp.float32 if size < 4 else xp.float64
        with np.errstate(over="ignore"):  # infinity is refused below
            weights = weights.astype(wider)
    weights = xp.ascontiguousarray(weights)
    if not device.all_in_range(weights, 0, math.inf):
        row = int((~(weights >= 0) | (weights == np.inf)).argmax())
        value = weights[row].item()
        shown = "missing (NaN)" if math.isnan(value) else repr(value)
        raise GraphError(
            f"weight in row {{row}} of {{column}} is {shown}; weights must be finite and not "
            "negative",
            parameter="weight",
            column=column,
            row=row,
            value=value,
        )
    return weights


def _not_numbers(weights: Any, column: str) -> GraphError:
    row, value, detail = None, None, ", not text; {hint}"
    hint: str | None = "use .astype('float64')"
    if not hasattr(weights, "iloc"):
        detail, hint = f", not {weights.dtype}", None
    else:
        for index, text in enumerate(weights.head(100_000).to_numpy().tolist()):
            try:
                float(text)
            except (TypeError, ValueError):
                row, value, hint = index, text, None
                detail = f"; row {{row}} holds {format_value(text)}"
                break
    return GraphError(
        f"weights in {{column}} must be numbers{detail}",
        parameter="weight",
        column=column,
        row=row,
        value=value,
        hint=hint,
    )


def check_vertex_count(count: Any, prefix: str = "") -> int:
    """Return `count` as int; raise GraphError above MAX_VERTICES, the most that 32-bit ids number.

    The message begins with `prefix`.
    """
    if count > MAX_VERTICES:
        raise GraphError(
            f"{prefix}{format_value(count)} vertices; {MAX_VERTICES} is the most", value=count
        )
    return int(count)


def suggest_parameters(
    function: Callable[P, R], other_calls: Mapping[str, str] | None = None
) -> Callable[P, R]:
    """Add a suggestion to the TypeErrors for keywords and positions of a public function.

    Parameters
    ----------
    function : callable
        Function, or the `__init__` of a class.
    other_calls : dict from str to str, optional
        Calls that have a parameter which `function` does not have, by its name; by default those of
        `Graph`, if `function` has a parameter `graph`. A function of a graph or of edges also has
        the call that chooses the device.
    """
    signature = inspect.signature(function).parameters.values()
    parameters = [parameter.name for parameter in signature]
    by_keyword = [
        parameter.name for parameter in signature if parameter.kind is parameter.KEYWORD_ONLY
    ]
    num_positional = len(parameters) - len(by_keyword)
    if any(
        parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in signature
    ):
        by_keyword = []  # Python's own error is as good
    if other_calls is None:
        other_calls = GRAPH_CALLS if "graph" in parameters else {}
    if "graph" in parameters or "edges" in parameters:
        other_calls = {**DEVICE_CALL, **other_calls}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for keyword in kwargs:
            suggestion = keyword not in parameters and find_suggestion(
                keyword, parameters, other_calls
            )
            if suggestion:
                raise TypeError(
                    f"{function.__qualname__.removesuffix('.__init__')}() got an unexpected "
                    f"keyword argument {keyword!r}; did you mean {suggestion}?"
                )
        if by_keyword and len(args) > num_positional:
            raise TypeError(
                f"{function.__qualname__.removesuffix('.__init__')}() takes {num_positional} "
                f"positional argument{'s' * (num_positional != 1)} but {len(args)} were given; "
                f"pass options by keyword, such as {by_keyword[0]}=..."
            )
        return function(*args, **kwargs)

    return call


def find_suggestion(
    keyword: str, parameters: Collection[str], other_calls: Mapping[str, str]
) -> str | None:
    """Return the argument or call that is probably meant by an unknown keyword, or None."""
    names = (keyword, *EQUIVALENTS.get(keyword, ()))
    name = next((name for name in names if name in parameters), None)
    call = next((other_calls[name] for name in names if name in other_calls), None)
    if name is None and call is not None:
        return call
    if name is None:
        name = next(iter(difflib.get_close_matches(keyword, parameters, 1, MIN_SIMILARITY)), None)
    return f"{name}=..." if name else None
