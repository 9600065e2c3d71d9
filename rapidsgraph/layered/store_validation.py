"""Validate the contents of a store before kernels rely on them.

A checksum detects damage, but a file with a valid checksum may come from another program. Kernels
do not check bounds, so every value that they use as an index, a length or a bit width is checked
here, on the host, before its first use. Values inside packed partitions are checked by
`packing.verify_partitions`, together with their checksums.

The checks cover bounds, lengths, types, and counts that follow from one another. The store of
another graph than its name promises is still a valid store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphError
from ..graph.name_storage import INTEGERS, check_name_metadata, check_names
from ..io.arrow_arrays import check_columns, invalid, is_count, missing
from ..kernels.constants import GROUP_ROWS
from ..validation import MAX_VERTICES
from .packing import COLUMN, DIRECTIONS

REBUILD = "build the layered edge list again"
MAX_SECTION_EDGES = 2**32 - 1  # group starts are 32-bit words
LAYER_COLUMNS = ("first_vertex", "forward_edges", "backward_edges")


def check_manifest(manifest: Mapping[str, Any], path: Path, files: Sequence[str]) -> None:
    """Check the type and range of every field of a manifest, and that fields are consistent.

    Parameters
    ----------
    manifest : dict
    path : Path
        File of the manifest, for messages.
    files : sequence of str
        Names of the other files; all but the last have a checksum.

    Raises
    ------
    GraphError
        A field is missing or out of bounds.
    """

    def check(field: str, is_valid: Callable[[Any], object], expected: str) -> None:
        if field not in manifest:
            raise missing(path, "field", field, REBUILD)
        if not is_valid(manifest[field]):
            raise invalid(path, field, manifest[field], expected, REBUILD)

    check_name_metadata(manifest, path, REBUILD)
    num_vertices = manifest["vertices"]
    check("vertices", lambda n: n >= 1, f"1 to {MAX_VERTICES}")
    check("edges", is_count, "an integer from 0")
    check("partitions", lambda n: is_count(n) and n >= 1, "an integer from 1")
    check("root_id", lambda n: is_count(n) and n < num_vertices, f"0 to {num_vertices - 1}")
    check("reached", lambda n: is_count(n) and 1 <= n <= num_vertices, f"1 to {num_vertices}")
    reached = manifest["reached"]
    check("depth", lambda n: is_count(n) and n < reached, f"0 to {reached - 1}")
    for field in ("directed", "weighted"):
        check(field, lambda value: isinstance(value, bool), "true or false")
    if "is_merged" in manifest:  # stores of the first builds of this version are without
        check("is_merged", lambda value: isinstance(value, bool), "true or false")
    types = ("float32", "float64") if manifest["weighted"] else (None,)
    check("weight_dtype", types.__contains__, " or ".join(map(str, types)))
    check(
        "minimum_edges",
        lambda n: n is None or (is_count(n) and n > 0),
        "null or an integer from 1",
    )
    check(
        "source_columns",
        lambda names: isinstance(names, list) and all(isinstance(name, str) for name in names),
        "a list of column names",
    )
    check("root", lambda _: True, "")
    check("origin", _is_origin, "null, or an object with options and files")
    check("files", lambda value: isinstance(value, dict), "an object")
    for name in files:
        entry = manifest["files"].get(name)
        needs_checksum = name != files[-1]
        is_entry = isinstance(entry, dict) and is_count(entry.get("bytes"))
        if is_entry and needs_checksum:
            checksum = entry.get("checksum")
            is_entry = isinstance(checksum, str) and bool(re.fullmatch("[0-9a-f]{8}", checksum))
        if not is_entry:
            raise invalid(path, f"files.{name}", entry, "bytes and a checksum", REBUILD)


def _is_origin(value: Any) -> bool:
    """Return whether a value is an origin of `cache.origin_of`, or a component of one."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    options, files = value.get("options", {}), value.get("files", [])
    are_files = isinstance(files, list) and all(isinstance(file, dict) for file in files)
    return (
        isinstance(options, dict)
        and are_files
        and all(isinstance(file.get("name"), str) for file in files)
    )


def check_vertices(columns: Mapping[str, Any], manifest: Mapping[str, Any], path: Path) -> None:
    """Check the Arrow columns of vertices: types, lengths, names, and the name of the root."""
    num_vertices = manifest["vertices"]
    check_columns(
        columns,
        {"order": (("int32",), num_vertices), "out_weights": (("double",), num_vertices)},
        path,
        REBUILD,
    )
    name = check_names(columns, manifest, path, REBUILD, manifest["root_id"])
    root = manifest["root"] if isinstance(name, tuple) else [manifest["root"]]
    expected = list(name) if isinstance(name, tuple) else [name]
    if root != expected or any(isinstance(value, bool | float) for value in root):
        raise invalid(path, "root", manifest["root"], f"{name!r}, the name of root_id", REBUILD)


def check_order(order: np.ndarray, manifest: Mapping[str, Any], path: Path) -> None:
    """Check that `order` is a permutation of the vertex ids that begins with the root."""
    num_vertices = manifest["vertices"]
    _check_range(order, "order", 0, num_vertices - 1, path)
    is_listed = np.zeros(num_vertices, bool)
    is_listed[order] = True
    if not is_listed.all():
        missing = int(is_listed.argmin())
        raise GraphError(
            f"{path}: order lists a vertex twice and lacks {missing}; {REBUILD}",
            path=path,
            column="order",
            value=missing,
            hint=REBUILD,
        )
    if order[0] != manifest["root_id"]:
        raise invalid(path, "order[0]", order[0], f"{manifest['root_id']}, the root", REBUILD)


def check_out_weights(out_weights: np.ndarray, manifest: Mapping[str, Any], path: Path) -> None:
    """Check that weights are not negative, and that out-degrees add up to the number of edges."""
    # The sum of finite weights may overflow to infinity.
    max_weight = np.inf if manifest["weighted"] else np.finfo(np.float64).max
    is_invalid = ~((out_weights >= 0) & (out_weights <= max_weight))
    if is_invalid.any():
        index = int(is_invalid.argmax())
        raise invalid(path, f"out_weights[{index}]", out_weights[index], "0 or more", REBUILD)
    if not manifest["weighted"] and out_weights.sum() != manifest["edges"]:
        raise invalid(path, "the sum of out_weights", out_weights.sum(), manifest["edges"], REBUILD)


def check_layers(
    columns: Mapping[str, np.ndarray], manifest: Mapping[str, Any], path: Path
) -> None:
    """Check the first vertex and the edge counts of each layer."""
    num_layers, reached = manifest["depth"] + 1, manifest["reached"]
    _check_int64(columns, LAYER_COLUMNS, num_layers, path)
    starts = np.append(columns["first_vertex"], reached)
    is_ascending = np.concatenate([[starts[0] == 0], starts[1:] > starts[:-1]])
    if not is_ascending.all():
        index = int(is_ascending.argmin())
        expected = "0" if not index else f"above {starts[index - 1]}"
        name = f"first_vertex[{index}]" if index < num_layers else "reached"
        raise invalid(path, name, starts[index], expected, REBUILD)
    if starts[1] != 1:
        raise invalid(path, "the second layer's first_vertex", starts[1], "1", REBUILD)
    for name in LAYER_COLUMNS[1:]:
        _check_range(columns[name], name, 0, manifest["edges"], path)


def check_table(
    columns: Mapping[str, np.ndarray],
    names: Sequence[str],
    layer_edges: np.ndarray,
    num_words: int,
    manifest: Mapping[str, Any],
    path: Path,
) -> None:
    """Check the positions and sizes of partitions and of their sections.

    Parameters
    ----------
    columns : {name: int64 array}
    names : sequence of str
        Names of all required columns.
    layer_edges : int64 array, shape (2, layers)
    num_words : int
        Number of words in the file of edges.
    manifest : dict
        Validated manifest.
    path : Path
        File of the table, for messages.
    """
    _check_int64(columns, names, manifest["partitions"], path)
    vertices, edges = manifest["vertices"], min(manifest["edges"], MAX_SECTION_EDGES)
    table = {name: columns[name] for name in COLUMN}
    limits = dict.fromkeys(("position", "words", "forward_words"), num_words)
    limits["first"] = vertices - 1
    for direction in DIRECTIONS:
        limits |= {
            f"{direction}_edges": edges,
            f"{direction}_base": vertices - 1,
            f"{direction}_bits": 31,
            f"{direction}_degree_bits": 31,
        }
    for name, max_value in limits.items():
        _check_range(table[name], name, 0, max_value, path)
    _check_range(table["rows"], "rows", 1, vertices, path)
    weight_bytes = np.dtype(manifest["weight_dtype"]).itemsize if manifest["weighted"] else 0
    sizes = [_section_words(table, direction, weight_bytes) for direction in DIRECTIONS]
    position, size, first, rows = (table[name] for name in ("position", "words", "first", "rows"))
    ends = position + size
    next_first = np.append(first[1:], vertices)
    is_split = np.append((first[1:] == first[:-1]) & (rows[1:] == 1), False) & (rows == 1)
    for name, values, is_valid, expected in (
        ("position", position, position % 4 == 0, "a multiple of 4"),
        ("forward_words", table["forward_words"], table["forward_words"] == sizes[0], sizes[0]),
        ("words", size, size == sizes[0] + sizes[1], sizes[0] + sizes[1]),
        ("words", size, ends <= num_words, num_words - position),
        (
            "position",
            position,
            position >= np.append(0, ends[:-1]),
            "at or after the end of the previous partition",
        ),
        ("first", first, np.append(0, first[1:]) == first, "0 in the first partition"),
        (
            "rows",
            rows,
            (first + rows == next_first) | is_split,
            "the number of sources up to the next partition",
        ),
    ):
        if not is_valid.all():
            index = int(is_valid.argmin())
            expected = expected if isinstance(expected, str) else int(expected[index])
            raise invalid(path, f"{name}[{index}]", values[index], expected, REBUILD)
    forward, backward = (int(table[f"{direction}_edges"].sum()) for direction in DIRECTIONS)
    if forward + backward != manifest["edges"]:
        raise invalid(path, "the sum of edges", forward + backward, manifest["edges"], REBUILD)
    # Edges of unreached vertices are backward edges of no layer.
    layer_forward, layer_backward = (int(counts.sum()) for counts in layer_edges)
    is_complete = manifest["reached"] == vertices
    if (
        layer_forward != forward
        or layer_backward > backward
        or (is_complete and layer_backward != backward)
    ):
        raise GraphError(
            f"{path}: partitions have {forward:,} forward and {backward:,} backward edges, and "
            f"layers {layer_forward:,} and {layer_backward:,}; {REBUILD}",
            path=path,
            hint=REBUILD,
        )


def _section_words(
    table: Mapping[str, np.ndarray], direction: str, weight_bytes: int
) -> np.ndarray:
    """Return the words of a section of each partition, by the formula of `section_layout`."""
    names = "rows", f"{direction}_edges", f"{direction}_bits", f"{direction}_degree_bits"
    rows, edges, bits, degree_bits = (table[name] for name in names)
    words = -(-rows // GROUP_ROWS) + 1
    words = words + -(-rows * degree_bits // 32) + 1
    words += -(-np.maximum(edges * bits, 1) // 32) + 1
    words += words % 2
    words += -(-edges * weight_bytes // 8) * 2
    return np.where(edges > 0, -(-words // 4) * 4, 0)


def _check_int64(
    columns: Mapping[str, np.ndarray], names: Sequence[str], rows: int, path: Path
) -> None:
    for name in names:
        if name not in columns:
            raise missing(path, "column", name, REBUILD)
        values = columns[name]
        if values.dtype != INTEGERS["int64"]:
            raise invalid(path, f"the type of {name}", values.dtype, "int64", REBUILD)
        if values.size != rows:
            raise invalid(path, f"the length of {name}", values.size, rows, REBUILD)


def _check_range(values: np.ndarray, name: str, min_value: int, max_value: int, path: Path) -> None:
    is_invalid = (values < min_value) | (values > max_value)
    if is_invalid.any():
        index = int(is_invalid.argmax())
        expected = f"{min_value} to {max_value}"
        raise invalid(path, f"{name}[{index}]", values[index], expected, REBUILD)
