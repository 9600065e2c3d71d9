"""Storage of vertex names: columns and metadata of an Arrow file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..io.arrow_arrays import check_columns, invalid, is_count, missing
from ..validation import MAX_VERTICES
from .vertex_names import VertexNames

INTEGERS = {
    name: np.dtype(name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def name_columns(names: VertexNames) -> dict[str, Any]:
    """Return the arrays of VertexNames by the names of columns; `name_metadata` has the rest."""
    distinct = enumerate(names.distinct)
    columns = {f"names_{i}": values for i, values in distinct if values is not None}
    return columns | {f"pairs_{i}": pairs for i, pairs in enumerate(names.pairs)}


def name_metadata(names: VertexNames, is_endpoint_specific: Sequence[bool]) -> dict[str, Any]:
    """Return the metadata of VertexNames for JSON.

    `is_endpoint_specific` tells for each name column whether source and destination have different
    columns.
    """
    return {
        "vertices": names.count,
        "labels": names.labels,
        "own": is_endpoint_specific,
        "dtype": None if names.dtype is None else np.dtype(names.dtype).name,
    }


def restore_names(columns: dict[str, Any], metadata: Mapping[str, Any]) -> VertexNames:
    """Restore VertexNames, and remove their columns from `columns`.

    Parameters
    ----------
    columns : {name: array}
        Columns of `name_columns`, and others.
    metadata : dict
        Accepted by `check_name_metadata`.
    """
    indices = range(len(metadata["labels"]))
    return VertexNames(
        metadata["labels"],
        [columns.pop(f"names_{i}", None) for i in indices],
        metadata["vertices"],
        [columns.pop(f"pairs_{i}") for i in indices[:-1]],
        metadata["dtype"] and np.dtype(metadata["dtype"]),
    )


def check_name_metadata(metadata: Mapping[str, Any], path: Path, advice: str) -> None:
    """Check the types and ranges of `name_metadata`.

    Raises
    ------
    GraphError
        Names the file, the field and the value.
    """
    for field in ("vertices", "labels", "own", "dtype"):
        if field not in metadata:
            raise missing(path, "field", field, advice)
    vertices, labels, dtype = (metadata[f] for f in ("vertices", "labels", "dtype"))
    if not is_count(vertices) or vertices > MAX_VERTICES:
        raise invalid(path, "vertices", vertices, f"0 to {MAX_VERTICES}", advice)
    are_labels = isinstance(labels, list) and labels and all(map(_is_text, labels))
    if not are_labels or len(set(labels)) < len(labels):
        raise invalid(path, "labels", labels, "a list of different names", advice)
    flags = metadata["own"]
    are_flags = isinstance(flags, list) and all(isinstance(flag, bool) for flag in flags)
    if not are_flags or len(flags) != len(labels):
        raise invalid(path, "own", flags, "true or false for each of the labels", advice)
    if dtype is not None and (not isinstance(dtype, str) or dtype not in INTEGERS):
        raise invalid(path, "dtype", dtype, f"null or one of {', '.join(INTEGERS)}", advice)


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def check_names(
    columns: Mapping[str, Any],
    metadata: Mapping[str, Any],
    path: Path,
    advice: str,
    vertex: int | None = None,
) -> Any:
    """Check the columns of `name_columns`: as many names as vertices, ascending and distinct.

    Parameters
    ----------
    columns : {name: pyarrow.Array}
    metadata : dict
        Accepted by `check_name_metadata`.
    path : Path
    advice : str
    vertex : int, optional
        Id of a vertex whose name is returned.

    Returns
    -------
    int, str, tuple or None
        The name of `vertex`.

    Raises
    ------
    GraphError
        Names the file, the column and the value.
    """
    num_columns, count = len(metadata["labels"]), metadata["vertices"]
    if num_columns == 1 and "names_0" not in columns:  # names are 0, 1, ...
        largest = -1 if metadata["dtype"] is None else np.iinfo(metadata["dtype"]).max
        if metadata["dtype"] is None or count > largest + 1:
            raise invalid(path, "dtype", metadata["dtype"], f"a type for {count:,} names", advice)
        return vertex
    fields = [f"names_{i}" for i in range(num_columns)]
    pairs = [f"pairs_{i}" for i in range(num_columns - 1)]
    expected = dict.fromkeys(fields, ((*INTEGERS, "large_string"), None))
    check_columns(columns, expected | dict.fromkeys(pairs, (("int64",), None)), path, advice)
    for name in (*fields, *pairs):
        _check_ascending(columns[name], name, path, advice)
    combined = len(columns[fields[0]])
    for field, pair in zip(fields[1:], pairs):
        packed, limit = columns[pair].to_numpy(), combined * len(columns[field])
        if packed.size and not (packed[0] >= 0 and packed[-1] < limit):
            outside = packed[0] if packed[0] < 0 else packed[-1]
            raise invalid(path, pair, outside, f"0 to {limit - 1}", advice)
        combined = packed.size
    if combined != count:
        raise invalid(path, "the number of names", f"{combined:,}", f"{count:,} vertices", advice)
    if vertex is None:
        return None
    reversed_name, position = [], vertex
    for field, pair in zip(fields[:0:-1], pairs[::-1]):
        position, within = divmod(columns[pair][position].as_py(), len(columns[field]))
        reversed_name.append(columns[field][within].as_py())
    reversed_name.append(columns[fields[0]][position].as_py())
    return tuple(reversed_name[::-1]) if num_columns > 1 else reversed_name[0]


def _check_ascending(values: Any, name: str, path: Path, advice: str) -> None:
    import pyarrow.compute as pc

    if len(values) < 2:
        return
    ascending = pc.less(values[:-1], values[1:])
    position = pc.index(ascending, False).as_py()
    if position >= 0:
        raise invalid(
            path, f"{name}[{position + 1}]", repr(values[position + 1].as_py()),
            f"above the one before, {values[position].as_py()!r:.80}", advice,
        )  # fmt: skip
