"""Recognize the folder of a stored layered edge list, which other files would damage."""

from __future__ import annotations

import contextlib
from pathlib import Path

STORE_FORMAT = "rapidsgraph.LayeredEdgeList"  # in the first bytes of each of these files
START_BYTES = 2**16
STORE_FILES = "manifest.json", "vertices.arrow", "layers.arrow", "partitions.arrow", "edges.npy"


def enclosing_store(path: Path) -> Path | None:
    """Return the innermost folder above a resolved path that is a layered edge list, or None."""
    for folder in path.parents:
        for name in STORE_FILES:
            with contextlib.suppress(OSError):
                if (folder / name).is_file() and is_store_file(folder / name):
                    return folder
    return None


def is_store_file(path: Path) -> bool:
    """Return whether a file says that it belongs to a layered edge list, even a damaged one."""
    with open(path, "rb") as file:
        return is_store_start(file.read(START_BYTES))


def is_store_start(start: bytes) -> bool:
    """Return whether the first `START_BYTES` of a file say that it is of a layered edge list."""
    return STORE_FORMAT.encode() in start
