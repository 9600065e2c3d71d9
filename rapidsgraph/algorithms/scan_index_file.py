"""ScanIndex in a file: every array a list in the one row of an Arrow file.

Means: what an index holds, to be opened without sorting or counting anything again.
Requires: a file that `save` wrote; anything else, also one changed byte, is an error that names
  it. What kernels use as an index or a length is checked, since anyone can compute a checksum.
Reference: the Arrow columnar format, IPC files. The schema's metadata has a JSON text beside it,
  and a checksum (CRC-32) of the whole file, which is computed while the checksum is all zeros. It
  is looked at before the file is parsed.
"""

import json
import re
import zlib

import numpy as np

from ..atomic import atomic_write, write_error
from ..errors import GraphError
from ..graph.name_storage import (
    check_name_facts,
    check_names,
    name_columns,
    name_facts,
    names_from,
)
from ..io.arrow_arrays import (
    Crc32Writer,
    check_columns,
    from_arrow,
    invalid,
    list_table,
    read_lists,
)
from ..io.formats import read_errors
from ..io.writers import check_writable
from ..validation import check_path

ENDINGS = (".arrow", ".feather")
FORMAT, VERSION = b"rapidsgraph.ScanIndex", 1
CHECKSUM = re.compile(FORMAT + rb":([0-9a-f]{8});")
NO_CHECKSUM = FORMAT + b":00000000;"
AGAIN = "build the index again and save it"
PIECE = 2**22  # arcs that are checked at a time


def save(path, arrays, names, own):
    """Write {name: array} and the names of vertices; the file appears whole or not at all.

    Parameters
    ----------
    own : list of bool
        Which name columns an end of an edge has for itself.

    Raises
    ------
    GraphError
        What `check_writable` finds, or a full disk.
    """
    import pyarrow

    path = check_path(path)
    check_writable(path, ENDINGS)
    facts = {"version": VERSION, **name_facts(names, own)}
    table = list_table({**arrays, **name_columns(names)})
    table = table.replace_schema_metadata({"facts": json.dumps(facts), "checksum": NO_CHECKSUM})
    try:
        with atomic_write(path) as file:
            summing = _ChecksumFile(file)
            with pyarrow.ipc.new_file(summing, table.schema) as writer:
                writer.write_table(table)
            for place in summing.places:
                file.seek(place)
                file.write(NO_CHECKSUM.replace(b"00000000", b"%08x" % summing.checksum))
    except (OSError, pyarrow.ArrowException) as error:
        raise write_error(path, error, lambda: table.nbytes) from error


class _ChecksumFile(Crc32Writer):
    """Finds the places where the checksum will stand, too."""

    def __init__(self, file):
        super().__init__(file)
        self.places = []

    def write(self, data):
        data = memoryview(data).cast("B")
        if len(data) < 2**16:  # metadata come in small pieces
            found = [match.start() for match in CHECKSUM.finditer(data)]
            self.places += [self.file.tell() + start for start in found]
        return super().write(data)


def load(path, xp):
    """({name: array}, VertexNames, own) of a file that `save` wrote, arrays on the device of `xp`.

    Raises
    ------
    GraphError
        No file, no index, one that is damaged, or a value out of bounds; the message names the
        file, and the field and value.
    """
    path = check_path(path)
    with read_errors(path):
        if path.is_dir():
            raise GraphError(f"{path}: it is a folder; give the file of an index")
        data = bytearray(path.read_bytes())
        _check(data, path)
        columns, metadata = read_lists(data)
        facts = _facts(metadata)
        if facts["version"] != VERSION:
            raise GraphError(
                f"{path}: an index of version {facts['version']}; {VERSION} can be read"
            )
    check_name_facts(facts, path, AGAIN)
    _check_arrays(columns, facts["vertices"], path)
    check_names(columns, facts, path, AGAIN)
    columns = {name: from_arrow(values, xp) for name, values in columns.items()}
    names = names_from(columns, facts)
    return columns, names, facts["own"]


def _facts(metadata):
    try:
        facts = json.loads(metadata[b"facts"])
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(facts, dict):
        raise ValueError("its metadata are no JSON object")
    return facts


def _check_arrays(columns, vertices, path):
    """Raise GraphError where an array would lead kernels out of bounds.

    In the lists of neighbors: offsets that do not rise up to the number of arcs, neighbors that
    are no vertices, counts of common neighbors that are not 2 to the size of the smaller closed
    neighborhood. Among the cores of each `mu`: vertices with fewer neighbors, or another number
    of them than have as many.
    """
    expected = {"offsets": (("int64",), vertices + 1), "neighbors": (("int32",), None)}
    check_columns(columns, expected, path, AGAIN)
    arcs = len(columns["neighbors"])
    expected = {"common": (("int32",), arcs), "cores": (("int32",), arcs)}
    check_columns(columns, expected, path, AGAIN)
    offsets, neighbors = columns["offsets"].to_numpy(), columns["neighbors"].to_numpy()
    common, cores = columns["common"].to_numpy(), columns["cores"].to_numpy()
    if offsets[0] != 0 or offsets[-1] != arcs:
        place = 0 if offsets[0] else vertices
        raise invalid(path, f"offsets[{place}]", offsets[place], arcs if place else 0, AGAIN)
    falling = offsets[1:] < offsets[:-1]
    if falling.any():
        place = int(falling.argmax())
        least = f"{offsets[place]} or more"
        raise invalid(path, f"offsets[{place + 1}]", offsets[place + 1], least, AGAIN)
    degrees = np.diff(offsets)
    if degrees.size and degrees.max() >= vertices:
        vertex = int(degrees.argmax())
        limit = f"at most {vertices - 1}"
        raise invalid(path, f"the neighbors of vertex {vertex}", degrees[vertex], limit, AGAIN)
    for start in range(0, arcs, PIECE):
        piece = slice(start, min(start + PIECE, arcs))
        for name, values in (("neighbors", neighbors[piece]), ("cores", cores[piece])):
            wrong = (values < 0) | (values >= vertices)
            _check_piece(~wrong, name, values, f"0 to {vertices - 1}", start, path)
        rows = _positions(offsets, piece)
        least = np.minimum(degrees[rows], degrees[neighbors[piece]]) + 1
        is_valid = (common[piece] >= 2) & (common[piece] <= least)
        _check_piece(is_valid, "common", common[piece], "a count that can be", start, path)
        is_valid = neighbors[piece] != rows
        _check_piece(is_valid, "neighbors", neighbors[piece], "another vertex", start, path)
    largest = int(degrees.max(initial=0))
    fewer = np.cumsum(np.bincount(degrees, minlength=largest + 1))[:largest]
    starts = np.concatenate([[0], np.cumsum(vertices - fewer)])
    check_columns(columns, {"core_offsets": (("int64",), starts.size)}, path, AGAIN)
    given = columns["core_offsets"].to_numpy()
    for place in np.flatnonzero(given != starts)[:1]:
        raise invalid(path, f"core_offsets[{place}]", given[place], int(starts[place]), AGAIN)
    for start in range(0, arcs, PIECE):
        piece = slice(start, min(start + PIECE, arcs))
        is_valid = degrees[cores[piece]] > _positions(starts, piece)
        limit = "a vertex with as many neighbors"
        _check_piece(is_valid, "cores", cores[piece], limit, start, path)


def _positions(offsets, piece):
    """The row of each arc of a slice."""
    first, last = np.searchsorted(offsets, [piece.start, piece.stop - 1], side="right") - 1
    bounds = np.clip(offsets[first : last + 2], piece.start, piece.stop)
    return np.repeat(np.arange(first, last + 1), np.diff(bounds))


def _check_piece(is_valid, name, values, expected, start, path):
    if not is_valid.all():
        place = int(is_valid.argmin())
        raise invalid(path, f"{name}[{start + place}]", values[place], expected, AGAIN)


def _check(data, path):
    """Raise GraphError unless `data` are what `save` wrote; sets their checksums to zeros."""
    found = list(CHECKSUM.finditer(data))
    if not data.startswith(b"ARROW1") or not found:
        raise GraphError(f"{path}: it is no index, or a damaged one; ScanIndex.save writes one")
    given = {int(match[1], 16) for match in found}
    for start, end in [match.span(1) for match in found]:
        data[start:end] = b"0" * 8
    if given != {zlib.crc32(data)}:
        raise GraphError(f"{path}: the index is damaged; build it and save it again")
