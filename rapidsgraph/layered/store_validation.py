"""Validate what a store says before kernels rely on it.

A checksum tells that a file is as it was written, not that its writer was this package: anyone can
compute one. Kernels do not check bounds, so everything that they use as an index, a length or a
bit width is checked here, on the host, before it is used for the first time. Values inside packed
partitions are checked where their checksums are compared, by `partitions.verify_partitions`.

What is checked are bounds, lengths, types and counts that follow from one another. A store of
another graph than its name promises is still a valid store. Files must not change while they are
mapped: a change after the validation is not noticed.
"""

import re

import numpy as np

from ..errors import GraphError
from ..graph.name_storage import INTEGERS, check_name_facts, check_names
from ..io.arrow_arrays import check_columns, invalid, is_count
from ..kernels.constants import GROUP_ROWS
from ..validation import MAX_VERTICES
from .packing import COLUMN

AGAIN = "build the layered edge list again"
MAX_SECTION_EDGES = 2**32 - 1  # group starts are words
LAYER_COLUMNS = ("first_vertex", "forward_edges", "backward_edges")


def check_manifest(facts, path, files):
    """Check every field of a manifest: its type, its range and how it fits the others.

    Parameters
    ----------
    facts : dict
    path : Path
        Of the manifest, for messages.
    files : sequence of str
        Names of the other files; all but the last have a checksum.

    Raises
    ------
    GraphError
        A field that is missing or out of bounds; names the file, the field and the value.
    """

    def check(field, is_valid, expected):
        if field not in facts:
            raise GraphError(f"{path}: the field {field!r} is missing; {AGAIN}")
        if not is_valid(facts[field]):
            raise invalid(path, field, facts[field], expected, AGAIN)

    check_name_facts(facts, path, AGAIN)
    vertices = facts["vertices"]
    check("vertices", lambda n: n >= 1, f"1 to {MAX_VERTICES}")
    check("edges", is_count, "an integer from 0")
    check("partitions", lambda n: is_count(n) and n >= 1, "an integer from 1")
    check("root_id", lambda n: is_count(n) and n < vertices, f"0 to {vertices - 1}")
    check("reached", lambda n: is_count(n) and 1 <= n <= vertices, f"1 to {vertices}")
    reached = facts["reached"]
    check("depth", lambda n: is_count(n) and n < reached, f"0 to {reached - 1}")
    for field in ("directed", "weighted"):
        check(field, lambda value: isinstance(value, bool), "true or false")
    types = ("float32", "float64") if facts["weighted"] else (None,)
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
    check("made_from", _is_origin, "null, or an object with options and files")
    check("files", lambda value: isinstance(value, dict), "an object")
    for name in files:
        entry = facts["files"].get(name)
        needs_checksum = name != files[-1]
        is_entry = isinstance(entry, dict) and is_count(entry.get("bytes"))
        if is_entry and needs_checksum:
            checksum = entry.get("checksum")
            is_entry = isinstance(checksum, str) and re.fullmatch("[0-9a-f]{8}", checksum)
        if not is_entry:
            raise invalid(path, f"files.{name}", entry, "bytes and a checksum", AGAIN)


def _is_origin(value):
    """Whether a value is what `caching.made_from` gives, or a part of it."""
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


def check_vertices(columns, facts, path):
    """Check the columns of vertices: types, lengths, names, and the name of the root.

    Parameters
    ----------
    columns : {name: pyarrow.Array}
    facts : dict
        An accepted manifest.
    path : Path
    """
    vertices = facts["vertices"]
    check_columns(
        columns,
        {"order": (("int32",), vertices), "out_weights": (("double",), vertices)},
        path,
        AGAIN,
    )
    root = check_names(columns, facts, path, AGAIN, facts["root_id"])
    given = facts["root"] if isinstance(root, tuple) else [facts["root"]]
    expected = list(root) if isinstance(root, tuple) else [root]
    if given != expected or any(isinstance(part, bool | float) for part in given):
        raise invalid(path, "root", facts["root"], f"{root!r}, the name of root_id", AGAIN)


def check_order(order, facts, path):
    """Check that `order` is a permutation of the vertex ids that begins with the root."""
    vertices = facts["vertices"]
    wrong = (order < 0) | (order >= vertices)
    if wrong.any():
        place = int(wrong.argmax())
        raise invalid(path, f"order[{place}]", order[place], f"0 to {vertices - 1}", AGAIN)
    is_listed = np.zeros(vertices, bool)
    is_listed[order] = True
    if not is_listed.all():
        missing = int(is_listed.argmin())
        raise GraphError(f"{path}: order lists a vertex twice and lacks {missing}; {AGAIN}")
    if order[0] != facts["root_id"]:
        raise invalid(path, "order[0]", order[0], f"{facts['root_id']}, the root", AGAIN)


def check_out_weights(out_weights, facts, path):
    """Check that weights are not negative, and that counts of edges add up."""
    largest = np.inf if facts["weighted"] else np.finfo(np.float64).max  # sums may overflow
    wrong = ~((out_weights >= 0) & (out_weights <= largest))
    if wrong.any():
        place = int(wrong.argmax())
        raise invalid(path, f"out_weights[{place}]", out_weights[place], "0 or more", AGAIN)
    if not facts["weighted"] and out_weights.sum() != facts["edges"]:
        raise invalid(path, "the sum of out_weights", out_weights.sum(), facts["edges"], AGAIN)


def check_layers(columns, facts, path):
    """Check the first vertex of each layer, and edge counts of layers.

    Parameters
    ----------
    columns : {name: int64 array}
    """
    layers, reached = facts["depth"] + 1, facts["reached"]
    _check_numbers(columns, LAYER_COLUMNS, layers, path)
    starts = np.append(columns["first_vertex"], reached)
    rising = np.concatenate([[starts[0] == 0], starts[1:] > starts[:-1]])
    if not rising.all():
        place = int(rising.argmin())
        before = "0" if not place else f"above {starts[place - 1]}"
        name = f"first_vertex[{place}]" if place < layers else "reached"
        raise invalid(path, name, starts[place], before, AGAIN)
    if starts[1] != 1:
        raise invalid(path, "the second layer's first_vertex", starts[1], "1", AGAIN)
    for name in LAYER_COLUMNS[1:]:
        _check_range(columns[name], name, 0, facts["edges"], path)


def check_table(columns, names, layer_edges, words, facts, path):
    """Check where partitions and the parts of their sections are.

    Parameters
    ----------
    columns : {name: int64 array}
    names : sequence of str
        That there must be, all.
    layer_edges : int64 array, shape (2, layers)
    words : int
        In the file of edges.
    """
    _check_numbers(columns, names, facts["partitions"], path)
    vertices, edges = facts["vertices"], min(facts["edges"], MAX_SECTION_EDGES)
    table = {name: columns[name] for name in COLUMN}
    limits = {"position": words, "words": words, "forward_words": words, "first": vertices - 1}
    for part in ("forward", "backward"):
        limits |= {
            f"{part}_edges": edges,
            f"{part}_base": vertices - 1,
            f"{part}_bits": 31,
            f"{part}_degree_bits": 31,
        }
    for name, limit in limits.items():
        _check_range(table[name], name, 0, limit, path)
    _check_range(table["rows"], "rows", 1, vertices, path)
    weight_bytes = np.dtype(facts["weight_dtype"]).itemsize if facts["weighted"] else 0
    sizes = [_section_words(table, part, weight_bytes) for part in ("forward", "backward")]
    position, size, first, rows = (table[name] for name in ("position", "words", "first", "rows"))
    ends = position + size
    next_first = np.append(first[1:], vertices)
    is_split = np.append((first[1:] == first[:-1]) & (rows[1:] == 1), False) & (rows == 1)
    for name, values, is_valid, expected in (
        ("position", position, position % 4 == 0, "a multiple of 4"),
        ("forward_words", table["forward_words"], table["forward_words"] == sizes[0], sizes[0]),
        ("words", size, size == sizes[0] + sizes[1], sizes[0] + sizes[1]),
        ("words", size, ends <= words, words - position),
        (
            "position",
            position,
            position >= np.append(0, ends[:-1]),
            "at or behind the end of the partition before",
        ),
        ("first", first, np.append(0, first[1:]) == first, "0 in the first partition"),
        (
            "rows",
            rows,
            (first + rows == next_first) | is_split,
            "as many as there are up to the next partition",
        ),
    ):
        if not is_valid.all():
            place = int(is_valid.argmin())
            expected = expected if isinstance(expected, str) else int(expected[place])
            raise invalid(path, f"{name}[{place}]", values[place], expected, AGAIN)
    forward, backward = (int(table[f"{part}_edges"].sum()) for part in ("forward", "backward"))
    if forward + backward != facts["edges"]:
        raise invalid(path, "the sum of edges", forward + backward, facts["edges"], AGAIN)
    of_layers = [int(each.sum()) for each in layer_edges]
    is_complete = facts["reached"] == vertices
    if (
        of_layers[0] != forward
        or of_layers[1] > backward
        or (is_complete and of_layers[1] != backward)
    ):
        raise GraphError(
            f"{path}: partitions have {forward:,} forward and {backward:,} backward edges, and "
            f"layers {of_layers[0]:,} and {of_layers[1]:,}; {AGAIN}"
        )


def _section_words(table, part, weight_bytes):
    """Words of each partition's section, by the formula of `partitions.section`."""
    rows, edges, bits, degree_bits = (
        table[name] for name in ("rows", f"{part}_edges", f"{part}_bits", f"{part}_degree_bits")
    )
    words = -(-rows // GROUP_ROWS) + 1
    words = words + -(-rows * degree_bits // 32) + 1
    words += -(-np.maximum(edges * bits, 1) // 32) + 1
    words += words % 2
    words += -(-edges * weight_bytes // 8) * 2
    return np.where(edges > 0, -(-words // 4) * 4, 0)


def _check_numbers(columns, names, rows, path):
    for name in names:
        if name not in columns:
            raise GraphError(f"{path}: the column {name!r} is missing; {AGAIN}")
        values = columns[name]
        if values.dtype != INTEGERS["int64"]:
            raise invalid(path, f"the type of {name}", values.dtype, "int64", AGAIN)
        if values.size != rows:
            raise invalid(path, f"the length of {name}", values.size, rows, AGAIN)


def _check_range(values, name, low, high, path):
    wrong = (values < low) | (values > high)
    if wrong.any():
        place = int(wrong.argmax())
        raise invalid(path, f"{name}[{place}]", values[place], f"{low} to {high}", AGAIN)
