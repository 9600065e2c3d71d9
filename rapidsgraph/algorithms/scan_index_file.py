"""The arrays of a `ScanIndex`, and their Arrow file.

The file has one row, with a list per array. The metadata of its schema are a JSON text and the
CRC-32 checksum of the file, which is computed while the eight digits of the checksum are zeros.
Arrow writes the schema twice, so the checksum has two places. It is verified before the file is
parsed. Since anyone can compute a checksum, values that kernels use as indices or lengths are
checked, too.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import atomic_write, write_error
from ..device import Array, ArrayModule, device_name, to_host
from ..errors import GraphError
from ..graph.csr import Adjacency
from ..graph.name_storage import (
    check_name_metadata,
    check_names,
    name_columns,
    name_metadata,
    restore_names,
)
from ..graph.vertex_names import Labeling
from ..io.arrow_arrays import (
    Crc32Writer,
    check_columns,
    from_arrow,
    invalid,
    list_table,
    read_lists,
)
from ..io.tables import read_errors
from ..io.writers import check_writable
from ..validation import check_path
from .similarity import closed_neighborhood_sizes

SUFFIXES = (".arrow", ".feather")
FORMAT, VERSION = b"rapidsgraph.ScanIndex", 1
CHECKSUM = re.compile(FORMAT + rb":([0-9a-f]{8});")
NO_CHECKSUM = FORMAT + b":00000000;"
MAX_METADATA_BYTES = 2**16  # of a buffer that Arrow writes for metadata
REBUILD = "build the index again and save it"
CHUNK_ARCS = 2**22  # arcs that are checked at a time


@dataclass(frozen=True)
class IndexStorage:
    """The arrays of a `ScanIndex` and the names of its vertices.

    Attributes
    ----------
    labeling : Labeling
    adjacency : Adjacency
        Both directions of every edge, the neighbors of a vertex by descending similarity level.
    common : int32 array, shape (arcs,)
        Common-neighbor count of every arc.
    sizes : int32 array, shape (vertices,)
        Sizes of closed neighborhoods.
    cores : int32 array, shape (arcs,)
        For every mu from 2 on, the vertices with at least mu - 1 neighbors, by descending level of
        the last neighbor that makes them cores.
    core_offsets : int64 array on the host, shape (largest degree + 1,)
        The vertices for mu are ``cores[core_offsets[mu - 2] : core_offsets[mu - 1]]``.
    """

    labeling: Labeling
    adjacency: Adjacency
    common: Array
    sizes: Array
    cores: Array
    core_offsets: np.ndarray

    @property
    def nbytes(self) -> int:
        arrays = self.common, self.sizes, self.cores, self.core_offsets
        return self.adjacency.nbytes + sum(array.nbytes for array in arrays)


def save(path: str | os.PathLike[str], storage: IndexStorage) -> None:
    """Write the arrays and vertex names of an index; the file appears complete or not at all.

    Raises
    ------
    GraphError
        The path cannot be written to, or the disk is full.
    """
    import pyarrow

    path = check_path(path)
    check_writable(path, SUFFIXES)
    names = storage.labeling.names
    arrays = {
        "offsets": storage.adjacency.offsets,
        "neighbors": storage.adjacency.neighbors,
        "common": storage.common,
        "cores": storage.cores,
        "core_offsets": storage.core_offsets,
    }
    metadata = {"version": VERSION, **name_metadata(names, storage.labeling.is_endpoint_specific)}
    table = list_table({**arrays, **name_columns(names)})
    table = table.replace_schema_metadata({"facts": json.dumps(metadata), "checksum": NO_CHECKSUM})
    try:
        with atomic_write(path) as file:
            positions: list[int] = []  # at which the checksum has to be written

            def find_placeholders(block: memoryview) -> None:
                if len(block) < MAX_METADATA_BYTES:
                    start = file.tell() - len(block)
                    positions.extend(start + match.start() for match in CHECKSUM.finditer(block))

            output = Crc32Writer(file, find_placeholders)
            with pyarrow.ipc.new_file(output, table.schema) as writer:
                writer.write_table(table)
            for position in positions:
                file.seek(position)
                file.write(NO_CHECKSUM.replace(b"00000000", b"%08x" % output.checksum))
    except (OSError, pyarrow.ArrowException) as error:
        raise write_error(path, error, lambda: table.nbytes) from error


def load(path: str | os.PathLike[str], xp: ArrayModule) -> IndexStorage:
    """Read an index that `save` wrote into the memory of the device of `xp`.

    Raises
    ------
    GraphError
        The file does not exist, is not an index or is damaged, or a value is out of bounds; the
        error has the path, and the field and value.
    """
    path = check_path(path)
    with read_errors(path):
        if path.is_dir():
            raise GraphError(f"{path}: it is a folder; give the file of an index", path=path)
        data = bytearray(path.read_bytes())
        _check_checksum(data, path)
        columns, schema_metadata = read_lists(data)
        metadata = _parse_metadata(schema_metadata)
        if metadata["version"] != VERSION:
            raise GraphError(
                f"{path}: the index has format version {metadata['version']}; this release reads "
                f"version {VERSION}",
                path=path,
                column="version",
                value=metadata["version"],
            )
    check_name_metadata(metadata, path, REBUILD)
    _check_arrays(columns, metadata["vertices"], path)
    check_names(columns, metadata, path, REBUILD)
    columns = {name: from_arrow(values, xp) for name, values in columns.items()}
    names = restore_names(columns, metadata)
    library = "pandas" if device_name(xp) == "cpu" else "cudf"
    adjacency = Adjacency(columns["offsets"], columns["neighbors"], xp.empty(0))
    return IndexStorage(
        labeling=Labeling(names, xp, library, metadata["own"], names.labels),
        adjacency=adjacency,
        common=columns["common"],
        sizes=closed_neighborhood_sizes(adjacency),
        cores=columns["cores"],
        core_offsets=to_host(columns["core_offsets"]),
    )


def _check_checksum(data: bytearray, path: Path) -> None:
    """Check that `save` wrote the data; sets the checksums in the data to zeros."""
    matches = list(CHECKSUM.finditer(data))
    if not data.startswith(b"ARROW1") or not matches:
        raise GraphError(
            f"{path}: it is not an index file, or is damaged; ScanIndex.save writes one", path=path
        )
    checksums = {int(match[1], 16) for match in matches}
    for start, stop in [match.span(1) for match in matches]:
        data[start:stop] = b"0" * 8
    if checksums != {zlib.crc32(data)}:
        raise GraphError(f"{path}: the index is damaged; {REBUILD}", path=path, hint=REBUILD)


def _parse_metadata(schema_metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    try:
        metadata = json.loads(schema_metadata[b"facts"])
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(metadata, dict):
        raise ValueError("its metadata are no JSON object")
    return metadata


def _check_arrays(columns: Mapping[str, Any], num_vertices: int, path: Path) -> None:
    """Check all values by which kernels address memory.

    Offsets must ascend to the number of arcs, neighbors must be other vertices, and common-neighbor
    counts must lie between 2 and the size of the smaller closed neighborhood. For every mu the
    cores must be vertices with enough neighbors, as many as there are.
    """
    expected = {"offsets": (("int64",), num_vertices + 1), "neighbors": (("int32",), None)}
    check_columns(columns, expected, path, REBUILD)
    num_arcs = len(columns["neighbors"])
    expected = {"common": (("int32",), num_arcs), "cores": (("int32",), num_arcs)}
    check_columns(columns, expected, path, REBUILD)
    offsets, neighbors = columns["offsets"].to_numpy(), columns["neighbors"].to_numpy()
    common, cores = columns["common"].to_numpy(), columns["cores"].to_numpy()
    if offsets[0] != 0 or offsets[-1] != num_arcs:
        row, value = (0, 0) if offsets[0] else (num_vertices, num_arcs)
        raise invalid(path, f"offsets[{row}]", offsets[row], value, REBUILD)
    descends = offsets[1:] < offsets[:-1]
    if descends.any():
        row = int(descends.argmax())
        valid = f"{offsets[row]} or more"
        raise invalid(path, f"offsets[{row + 1}]", offsets[row + 1], valid, REBUILD)
    degrees = np.diff(offsets)
    max_degree = int(degrees.max(initial=0))
    if degrees.size and max_degree >= num_vertices:
        vertex = int(degrees.argmax())
        field, valid = f"the number of neighbors of vertex {vertex}", f"at most {num_vertices - 1}"
        raise invalid(path, field, max_degree, valid, REBUILD)
    num_smaller = np.cumsum(np.bincount(degrees, minlength=max_degree + 1))[:max_degree]
    core_offsets = np.concatenate([[0], np.cumsum(num_vertices - num_smaller)])
    check_columns(columns, {"core_offsets": (("int64",), core_offsets.size)}, path, REBUILD)
    stored_offsets = columns["core_offsets"].to_numpy()
    for index in np.flatnonzero(stored_offsets != core_offsets)[:1]:
        field, expected_offset = f"core_offsets[{index}]", int(core_offsets[index])
        raise invalid(path, field, stored_offsets[index], expected_offset, REBUILD)

    def check(is_valid: np.ndarray, field: str, values: np.ndarray, valid: str) -> None:
        if not is_valid.all():
            index = int(is_valid.argmin())
            raise invalid(path, f"{field}[{start + index}]", values[index], valid, REBUILD)

    for start in range(0, num_arcs, CHUNK_ARCS):
        chunk = slice(start, min(start + CHUNK_ARCS, num_arcs))
        for field, values in (("neighbors", neighbors[chunk]), ("cores", cores[chunk])):
            is_vertex = (values >= 0) & (values < num_vertices)
            check(is_vertex, field, values, f"0 to {num_vertices - 1}")
        rows = _rows_of(offsets, chunk)
        max_common = np.minimum(degrees[rows], degrees[neighbors[chunk]]) + 1
        is_possible = (common[chunk] >= 2) & (common[chunk] <= max_common)
        check(is_possible, "common", common[chunk], "a possible number of common neighbors")
        check(neighbors[chunk] != rows, "neighbors", neighbors[chunk], "another vertex")
        has_neighbors = degrees[cores[chunk]] > _rows_of(core_offsets, chunk)
        check(has_neighbors, "cores", cores[chunk], "a vertex with enough neighbors")


def _rows_of(offsets: np.ndarray, chunk: slice) -> np.ndarray:
    """Return the row of each arc of a chunk."""
    first, last = np.searchsorted(offsets, [chunk.start, chunk.stop - 1], side="right") - 1
    bounds = np.clip(offsets[first : last + 2], chunk.start, chunk.stop)
    return np.repeat(np.arange(first, last + 1), np.diff(bounds))
