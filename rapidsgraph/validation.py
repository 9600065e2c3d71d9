"""What callers give besides the ends of edges, checked: choices, labels, weights, vertices."""
# Vertices that callers name: sources; and with values: personalization, start, dangling.

import math
import os
import re
from collections.abc import Iterator, Mapping, Set, ValuesView
from pathlib import Path
from types import ModuleType

import numpy as np

from . import device, frames
from .errors import GraphError, InsufficientMemoryError, format_value

MAX_VERTICES = 2**31 - 1
UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {f"{letter}iB": 2 ** (10 * power) for power, letter in enumerate("KMGT", 1)}
UNITS |= {letter: UNITS[f"{letter}B"] for letter in "KMGT"}


def check_choice(name, value, choices):
    """Raise GraphError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise GraphError(
            f"{name} is {format_value(value)}; it can be {', '.join(map(repr, choices))}"
        )


def check_count(name, value):
    """Raise GraphError unless `value` is an integer above 0, and below 2^63."""
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_number or not 0 < value < 2**63:
        raise GraphError(
            f"{name} is {format_value(value)}; it must be an integer above 0, below 2^63"
        )


def check_free_memory(operation: str, num_bytes: int, xp: ModuleType) -> None:
    """Raise InsufficientMemoryError unless `num_bytes` are free in the memory that `xp` uses.

    Parameters
    ----------
    operation : str
        The operation that needs the memory, as a noun phrase for the message.
    num_bytes : int
    xp : module
        NumPy or CuPy.
    """
    free = device.free_memory(xp)
    if num_bytes > free:
        where = "on the GPU" if device.device_name(xp) == "gpu" else "in memory"
        raise InsufficientMemoryError(operation, num_bytes, free, where)


def check_vertex_count(count, where=""):
    """Return `count` as int; raise GraphError above MAX_VERTICES, the most that 32-bit ids number.

    The message begins with `where`.
    """
    if count > MAX_VERTICES:
        raise GraphError(f"{where}{format_value(count)} vertices; {MAX_VERTICES} is the most")
    return int(count)


def check_vertex_range(vertices, num_columns):
    """Return `vertices` with a count as a range; check a range, and leave anything else alone.

    Parameters
    ----------
    vertices : int, range or object
    num_columns : int
        Of the names of a vertex.

    Raises
    ------
    GraphError
        A range with a step or negative ends, for names of several columns, or too long.
    """
    if isinstance(vertices, (int, np.integer)) and not isinstance(vertices, bool):
        vertices = range(int(vertices)) if vertices >= 0 else vertices
    if isinstance(vertices, range):
        if vertices.start < 0 or vertices.step != 1 or vertices.stop < 0 or num_columns > 1:
            raise GraphError(
                f"vertices={format_value(vertices)} must be range(n) or range(start, stop), for single "
                "integer names"
            )
        check_vertex_count(vertices.stop - vertices.start, f"vertices={format_value(vertices)}: ")
    return vertices


def check_flag(name, value):
    """Raise GraphError unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise GraphError(f"{name} is {format_value(value)}; it can be True or False")


def check_number(name, value, most=math.inf):
    """Return `value` as float; GraphError unless it is a number from 0 to `most`."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not 0 <= value <= most:
        raise GraphError(f"{name} is {format_value(value)}; it must be a number from 0 to {most}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond double precision
        return math.inf


def check_path(path):
    """Return a caller's path as a Path; GraphError where it is something else."""
    if not isinstance(path, (str, os.PathLike)) or path == "":
        raise GraphError(
            f"path is {format_value(path)}; it must be a pathlib.Path, or a text that is not empty"
        )
    try:
        path = Path(path).expanduser()
    except (RuntimeError, TypeError) as error:  # an unknown user's home, or a path of bytes
        raise GraphError(f"path is {format_value(path)}, which cannot be used: {error}") from error
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise GraphError(
            f"{ascii(str(path))}: no file can have this name; it holds a NUL character or a lone "
            "surrogate"
        )
    return path


def as_list(names):
    return (
        [names] if isinstance(names, str) or not isinstance(names, (list, tuple)) else list(names)
    )


def vertex_labels(sources, destinations):
    """What result frames call the name columns.

    A column that both ends share (a network's name, say) keeps its name; the others are `vertex`,
    or `vertex_0`, `vertex_1`, ... where there are several.
    """
    own = [a != b for a, b in zip(sources, destinations)]
    several, labels = sum(own) > 1, []
    for position, (is_own, name) in enumerate(zip(own, sources)):
        place = sum(own[:position])
        labels.append((f"vertex_{place}" if several else "vertex") if is_own else str(name))
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice:
        raise GraphError(f"two name columns of results would be called {twice!r}; rename one")
    return labels


def check_weights(weights, name, xp):
    """Weights as int32, int64, float32 or float64; the error names the first bad row."""
    if not isinstance(weights, xp.ndarray) or weights.dtype.kind not in "iuf":
        at = _first_text(weights)
        raise GraphError(f"weights in column {name!r} must be numbers{at}")
    kind, size = weights.dtype.kind, weights.dtype.itemsize
    if kind == "u":
        fits = size < 8 or not weights.size or int(weights.max()) < 2**63
        weights = weights.astype(xp.int64 if fits else xp.float64)
    elif size not in (4, 8):
        wide = xp.int32 if kind == "i" else xp.float32 if size < 4 else xp.float64
        with np.errstate(over="ignore"):  # infinity is refused below
            weights = weights.astype(wide)
    if weights.size and not (
        float(weights.min()) >= 0 and (weights.dtype.kind == "i" or float(weights.max()) < np.inf)
    ):  # a NaN makes the smallest NaN, which is not >= 0
        bad = ~(weights >= 0) | (weights == np.inf)
        row = int(bad.argmax())
        raise GraphError(
            f"weight {weights[row].item()!r} in row {row} of column {name!r}; weights must be "
            "finite and not negative"
        )
    return xp.ascontiguousarray(weights)


def _first_text(weights):
    if not hasattr(weights, "iloc"):
        return f", not {weights.dtype}"
    for row, text in enumerate(weights.head(100_000).to_numpy().tolist()):
        try:
            float(text)
        except (TypeError, ValueError):
            return f"; row {row} holds {format_value(text)}"
    return ", not text; convert the column with .astype('float64')"


def check_vertices(vertices, count, labels, xp):
    """`vertices` as a range or as a list of name columns."""
    if vertices is None:
        return None
    vertices = check_vertex_range(vertices, count)
    if isinstance(vertices, range):
        if vertices.start:
            return [xp.arange(vertices.start, vertices.stop)]
        return vertices
    is_one = isinstance(vertices, bytes) or not hasattr(vertices, "__len__")
    if isinstance(vertices, str) or (is_one and not hasattr(vertices, "__arrow_c_stream__")):
        raise GraphError(
            f"vertices is {format_value(vertices)}; it can be a count, range(n), or names"
        )
    try:
        _, table = frames.opened(vertices)
    except GraphError:  # no frame: the names themselves
        if count > 1:
            raise GraphError(
                f"vertices must be a frame of the {count} columns {', '.join(labels)}"
            ) from None
        table, names = {"vertices": vertices}, ["vertices"]
    else:
        there = frames.column_names(table)
        names = labels if set(labels) <= set(there) else there[:count]
    if len(names) < count:
        raise GraphError(f"vertices must have the columns {', '.join(labels)}; it has {there}")
    columns = [frames.column(table, name, "vertex", "vertices") for name in names]
    return [frames.moved(values, xp) for values in columns]


def check_memory_limit(memory_limit):
    """Raise GraphError if a memory limit is given for a graph whose edges stay in memory."""
    if memory_limit is not None:
        raise GraphError(
            "memory_limit is for layered edge lists, whose edges can stay elsewhere; make one by "
            "rg.LayeredEdgeList.build(graph, root)"
        )


def parse_bytes(given, what):
    """A number of bytes from one, or from text such as "2GB" or "512 MiB"."""
    number = given
    if isinstance(given, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-zA-Z]*)\s*", given)
        units = {unit.lower(): size for unit, size in UNITS.items()}
        size = match and units.get(match[2].lower())
        number = size and float(match[1]) * size
    is_number = isinstance(number, (int, float, np.integer, np.floating))
    if isinstance(number, bool) or not is_number or not 1 <= number < 2**63:
        raise GraphError(
            f"{what} is {format_value(given)}; it must be bytes, 1 or more, or a text like '2GB' or "
            "'512MiB', below 2^63"
        )
    return int(number)


MAX_SUMMABLE = 2.0**900  # as many values as there may be sum to less than the largest double


def resolve_vertices(graph, source, what="source"):
    """Ids of the vertices a caller names, ascending, each once: int32.

    Parameters
    ----------
    graph : Graph
    source : vertex, or several
        A name, or a list, tuple, set, range, array or Series of names, or a frame of the graph's
        name columns (`vertex`). Where several columns name a vertex: a tuple of its names, a list
        of such tuples, or a frame, whose columns may also be called like the edges' sources.
    what : str
        For messages.

    Raises
    ------
    GraphError
        A vertex that is not in the graph, no vertex at all, or something that names none.
    """
    source = frames.in_one_piece(source)
    try:
        _, table = frames.opened(source)
    except GraphError:
        table = _table_of(source, graph, what)
    ids = graph.ids(table, what, _name_columns(graph, table))
    if not ids.size:
        raise GraphError(f"{what} is empty; name at least one vertex")
    return ids if ids.size == 1 else graph.xp.unique(ids)


def _name_columns(graph, table):
    """The columns of a table that name vertices: as in results or, of several, as of sources."""
    labels, own = graph.names.labels, graph.source_columns
    there = set(frames.column_names(table))
    is_own = len(own) > 1 and there.issuperset(own) and not there.issuperset(labels)
    return own if is_own else labels


def _table_of(source, graph, what):
    """{label: names} of what is no frame."""
    labels = graph.names.labels
    if source is None or isinstance(source, (bool, np.bool_)):
        raise GraphError(f"{what} is {format_value(source)}; name a vertex, or several in a list")
    if isinstance(source, range):
        # A range names more vertices than it may have only if one of them is absent.
        source = list(source[: graph.num_vertices + 1])
    elif isinstance(source, (Set, ValuesView, Iterator)):
        source = list(source)
    is_one = isinstance(source, (str, bytes)) or not hasattr(source, "__len__")
    if is_one or getattr(source, "ndim", 1) == 0:
        is_boxed = isinstance(source, np.ndarray) and source.dtype.kind in "OT"
        source = [source.item() if is_boxed else source]
    if len(labels) == 1:
        table = {labels[0]: list(source) if isinstance(source, tuple) else source}
        if isinstance(source, list) and any(isinstance(name, bool) for name in source):
            raise GraphError(f"{what} is {format_value(source)}; True and False are no vertices")
    else:
        vertices = [source] if isinstance(source, tuple) else list(source)
        are_tuples = [isinstance(v, (tuple, list)) and len(v) == len(labels) for v in vertices]
        if not all(are_tuples):
            raise GraphError(
                f"{what}: a vertex is named by {', '.join(labels)}; give a tuple of {len(labels)}, "
                "a list of such tuples, or a frame of these columns"
            )
        table = {label: [names[i] for names in vertices] for i, label in enumerate(labels)}
    beyond = [name for names in table.values() for name in _beyond_64_bits(names)]
    if beyond:
        raise GraphError(f"{what}: vertex {format_value(beyond[0])} is not in the graph")
    for row in _rows_of_no_type(table):  # in a graph all names are of one type: one is absent
        graph.ids({label: [names[row]] for label, names in table.items()}, what)
    for label in labels:
        try:
            table[label] = frames.column(table, label, "vertex")
        except GraphError as error:  # which speaks of a column that nobody gave
            raise GraphError(str(error).replace(f"column {label!r}", what)) from None
    return table


def _beyond_64_bits(names):
    """Integers of a list that no integer type of NumPy holds."""
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, int) and not -(2**63) <= name < 2**64]


def _rows_of_no_type(table):
    """Rows of the first column with a negative integer and one beyond 2^63: where these are."""
    for names in table.values():
        if isinstance(names, list) and all(isinstance(n, (int, np.integer)) for n in names):
            low, high = min(names, default=0), max(names, default=0)
            if low < 0 and high >= 2**63:
                return names.index(low), names.index(high)
    return ()


def resolve_vertex_values(graph, given, what):
    """float64, shape (vertices,), summing to 1; vertices that `given` leaves out get 0.

    Parameters
    ----------
    graph : Graph
    given : frame or dict
        A frame of the graph's name columns (`vertex`, or as in `source_ids`) and one column of
        values, whatever it is called; or a dict from vertex to value.
    what : str
        For messages.

    Raises
    ------
    GraphError
        A vertex that is absent or given twice, a value that is negative, NaN or infinite (names
        its row), or nothing above 0.
    """
    xp, given = graph.xp, frames.in_one_piece(given)
    if isinstance(given, Mapping) and not any(_is_column(values) for values in given.values()):
        given = _from_dict(given, graph.names.labels, what)
    try:
        _, table = frames.opened(given)
    except GraphError as error:
        kind = f"{type(given).__module__}.{type(given).__name__}"
        raise GraphError(
            f"{what} is a {kind}; give a dict of values by vertex (a Series has .to_dict()), or a "
            "frame with the vertex names and one column of values"
        ) from error
    names, there = _name_columns(graph, table), frames.column_names(table)
    others = [name for name in there if name not in names]
    if len(others) != 1 and set(names) <= set(there):
        raise GraphError(
            f"{what} needs the columns {', '.join(map(str, names))} and one of values; it has "
            f"{', '.join(map(str, there))}"
        )
    ids = graph.ids(table, what, names)
    values = frames.moved(frames.column(table, others[0], "values", what), xp)
    if not isinstance(values, (np.ndarray, xp.ndarray)) or values.dtype.kind not in "iuf":
        raise GraphError(f"{what}: column {others[0]!r} holds text; it must hold numbers")
    if len(values) != len(ids):
        raise GraphError(f"{what} has {len(ids)} vertices and {len(values)} values")
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        values = xp.asarray(values, dtype=xp.float64)
    bad = ~(values >= 0) | (values == np.inf)
    if bool(bad.any()):
        row = int(bad.argmax())
        raise GraphError(
            f"{what}: the value in row {row} is {float(values[row])}; it must be finite and not "
            "negative"
        )
    in_order = xp.sort(ids)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    if repeated.size:
        twice = int((ids == repeated[0]).argmax())
        raise GraphError(f"{what}: the vertex in row {twice} is given more than once")
    largest = float(values.max()) if values.size else 0.0
    if not largest:
        raise GraphError(f"{what}: the values sum to 0.0; at least one must be above 0")
    if largest > MAX_SUMMABLE:  # their sum may be infinite
        values = values / largest
    by_id = xp.zeros(graph.num_vertices)
    by_id[ids] = values / float(values.sum())
    return by_id


def _is_column(values):
    return hasattr(values, "__len__") and not isinstance(values, str)


def _from_dict(given, labels, what):
    if not given:
        raise GraphError(f"{what} is empty; name at least one vertex, or leave it out")
    if len(labels) > 1:
        raise GraphError(f"{what} must be a frame: vertices are named by {', '.join(labels)}")
    values = np.empty(len(given))
    for row, (vertex, value) in enumerate(given.items()):
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise GraphError(
                f"{what} must be a frame with the column {labels[0]!r} and one of values, or a "
                f"dict from vertex to number; the value of {format_value(vertex)} is {format_value(value)}"
            ) from None
    return {labels[0]: list(given), "value": values}
