"""How the folder of a stored layered edge list is recognized."""

import contextlib
from pathlib import Path

FORMAT = "rapidsgraph.LayeredEdgeList"  # at the beginning of each of these files
FILES = ("manifest.json", "vertices.arrow", "layers.arrow", "partitions.arrow", "edges.arrow")


def is_part_of_store(path):
    """Return whether a file says that it is part of a store, even of a damaged one."""
    with open(path, "rb") as file:
        return FORMAT.encode() in file.read(2**16)


def enclosing_store(path):
    """Return the innermost folder above a resolved path that is a store, or None."""
    for folder in Path(path).parents:
        for name in FILES:
            with contextlib.suppress(OSError):
                if (folder / name).is_file() and is_part_of_store(folder / name):
                    return folder
    return None
