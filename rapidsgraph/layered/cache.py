"""The store beside a file of edges, so that a layered edge list is made of it once.

Means: a store that was made of this version of the file, read in this way, from this root.
Requires: for each file its size, time of change, first and last bytes; a file that was changed in
  between, to the same size, with its time set back, is taken for the same.
"""

import json
import warnings
import zlib
from pathlib import Path

from ..errors import GraphError
from ..io.columnar_files import Parquet
from ..io.formats import read_errors
from ..validation import check_path
from .store import opened
from .store_writer import MANIFEST

DEFAULTS = {
    "source": None,
    "destination": None,
    "weight": None,
    "directed": True,
    "multi_edges": "first",
    "self_loops": "keep",
    "minimum_edges": None,
    "vertices": None,
}
SAMPLE = 2**16  # bytes at the begin and the end of a file


def beside(path):
    """Where the store of an edge file belongs: `edges.parquet` has `edges.parquet.layers`."""
    path = check_path(path)
    if path.name in ("", ".."):
        path = path.resolve()
    return path.with_name(path.name + ".layers")


def made_from(path, options):
    """What identifies a version of the edges in a file, or folder, and how they were read.

    Ask before reading: a change while it is read is noticed afterwards then.

    Parameters
    ----------
    path : str or path
    options : dict
        Whatever changes what is read, by the names of `DEFAULTS`, which hold for what is left out.
        JSON must be able to hold it. `vertices` must be a path, whose version counts, too.

    Returns
    -------
    dict
        As JSON gives it back.

    Raises
    ------
    GraphError
        No such file.
    """
    found = {"files": _versions(path), "options": {**DEFAULTS, **options}}
    vertices = found["options"]["vertices"]
    if vertices is not None:
        if not isinstance(vertices, (str, Path)):
            raise GraphError("vertices must be the path of a file where a store is to be found")
        found["options"]["vertices"] = {"path": str(vertices), "files": _versions(vertices)}
    return json.loads(json.dumps(found, default=lambda number: number.item()))  # NumPy's


def _versions(path):
    """The version of each file of edges or vertices in a file or folder."""
    path = check_path(path)
    with read_errors(path):
        paths = [Path(each) for each in Parquet(path).paths] if path.is_dir() else [path]
        return [_version(each, path) for each in paths]


def _version(path, whole):
    with open(path, "rb") as file:
        checksum = zlib.crc32(file.read(SAMPLE))
        size = file.seek(0, 2)
        file.seek(max(size - SAMPLE, 0))
        checksum = zlib.crc32(file.read(SAMPLE), checksum)
    name = path.name if path == whole else path.relative_to(whole).as_posix()
    changed = path.stat().st_mtime_ns
    return {"name": name, "bytes": size, "changed": changed, "checksum": f"{checksum:08x}"}


def is_root(store, root):
    """Whether a store is of this root, as callers write it.

    Text is no number. What is no name, such as a frame, is no root.
    """
    return _as_written(root) == _as_written(store.root)


def _as_written(root):
    """[type, name] of each part of a vertex's name, or None."""
    root = root.tolist() if hasattr(root, "tolist") else root  # NumPy, CuPy, pandas
    parts = list(root) if isinstance(root, (list, tuple)) else [root]
    if len(parts) == 1 and isinstance(parts[0], (list, tuple)):  # one vertex of several columns
        parts = list(parts[0])
    parts = [part.item() if hasattr(part, "item") else part for part in parts]
    if not all(type(part) in (int, str) for part in parts):
        return None
    return [(type(part), part) for part in parts]


def fitting(path, root, options):
    """The Store beside an edge file, if it is valid, and of this root and version of the file.

    Parameters
    ----------
    path : str or path
    root : name of a vertex, or a tuple of names
    options : dict
        As `made_from` takes them.

    Returns
    -------
    Store or None
        None also for one that is damaged or invalid, after a warning. Its partitions are not
        looked at.

    Warns
    -----
    RuntimeWarning
        A store that is damaged or invalid; the message names the file.

    Raises
    ------
    GraphError
        No such edge file.
    """
    expected = made_from(path, options)
    store, problem = load(beside(path))
    if problem is not None:
        warnings.warn(f"the cache is not used: {problem}", RuntimeWarning, stacklevel=3)
    if store is None:
        return None
    found = {**(store.facts["made_from"] or {})}
    found.pop("build", None)
    return store if found == expected and is_root(store, root) else None


def load(folder):
    """Open a store that may be missing, damaged or invalid.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    store : Store or None
        Validated but for the insides of its partitions.
    problem : GraphError or None
        Why there is none, unless there is no manifest.
    """
    folder = check_path(folder)
    try:
        store = opened(folder)
        store.validate()
    except GraphError as error:
        return None, error if (folder / MANIFEST).exists() else None
    return store, None
