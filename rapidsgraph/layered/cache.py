"""Build stores from edge files, and find the store that was built from a version of a file.

A version is identified by the size, modification time, first and last bytes of each file. A file
that was changed elsewhere, keeps its size and has its time set back is taken for the same version.
"""

from __future__ import annotations

import json
import secrets
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..atomic import check_regular_file
from ..device import Device, choose
from ..errors import GraphError
from ..frames import Vertices
from ..graph.build import check_policies
from ..io.edge_files import choose_weight_column, list_weight_candidates
from ..io.formats import Format
from ..io.inputs import Input, InputFiles, display_name, is_local, open_input
from ..io.tables import read_errors, warn_about_candidates
from ..progress import Progress, reporter
from ..validation import (
    DEFAULT_WEIGHT,
    GRAPH_CALLS,
    check_path,
    is_default_weight,
    parse_bytes,
)
from .outofcore import build as outofcore
from .outofcore.edge_reader import EdgeFile
from .storage import LayeredStorage
from .store import Store, open_store
from .store_writer import MANIFEST, check_destination, check_separate

DEFAULTS: dict[str, Any] = {
    "source": None,
    "destination": None,
    "weight": DEFAULT_WEIGHT,
    "directed": True,
    "multi_edges": "first",
    "self_loops": "keep",
    "minimum_edges": None,
    "vertices": None,
}
SAMPLE_BYTES = 2**16  # at the start and at the end of a file


def check_no_file_options(**options: Any) -> None:
    """Raise GraphError if an option for the path of a file does not have its default."""
    for name, value in options.items():
        default = "auto" if name == "device" else DEFAULTS.get(name)
        if value is not default and not (isinstance(value, str) and value == default):
            call = GRAPH_CALLS.get(name)
            remedy = f"; pass {call}" if call else ""
            raise GraphError(
                f"{name} is an option for the path of a file; a Graph or frame is used as it is"
                f"{remedy}",
                parameter=name,
                value=value,
                hint=call or f"leave {name} out, or pass the path of a file",
            )


def _choose_weight(path: Input, options: dict[str, Any]) -> dict[str, Any]:
    """Return all options of a list, with the column that its weights are read from, or None."""
    options = {**DEFAULTS, **options}
    columns = (options[name] for name in ("weight", "source", "destination"))
    return {**options, "weight": choose_weight_column(path, *columns)}


def warn_about_weights(path: Input, options: dict[str, Any]) -> None:
    """Warn if the file has no column of weights, but others of numbers; see `read_edges`."""
    if is_default_weight(options["weight"]):
        columns = options["source"], options["destination"]
        warn_about_candidates(str(display_name(path)), list_weight_candidates(path, *columns))


def build_from_file(
    path: Input,
    root: Vertices,
    store: str | Path | None,
    options: dict[str, Any],
    partition_bytes: int,
    device: Device,
    memory_limit: int | str | None,
    progress: Progress,
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> LayeredStorage:
    """Build a store from an edge file and open it; see `LayeredEdgeList.build`.

    `options` has a value for each name in `DEFAULTS`.
    """
    if store is None:
        raise GraphError(
            f"{display_name(path)}: {{parameter}} is required, the folder in which to build the "
            "layered edge list of a file",
            parameter="store",
            path=display_name(path),
            hint="pass store=folder",
        )
    choose(device)
    check_destination(store)
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    check_policies(options["directed"], options["multi_edges"], options["self_loops"])
    with open_input(path, format, storage_options) as files:
        check_separate(store, files)
        warn_about_weights(files, options)
        options = _choose_weight(files, options)
        columns = (options[name] for name in ("source", "destination", "weight", "vertices"))
        EdgeFile(files, *columns)
        # The id distinguishes this build from all others. The version of the file is taken before
        # it is read, so that a later change is noticed.
        known_origin = _known_origin(files, options) if format is None else {}
        origin = {**known_origin, "build": secrets.token_hex(8)}
        with reporter(progress, "Layers", outofcore.STEPS) as report:
            outofcore.build_from_file(
                files,
                root,
                store,
                partition_bytes=partition_bytes,
                memory_limit=limit,
                report=report,
                origin=origin,
                **options,
            )
    opened = open_store(store)
    if opened.manifest["origin"] != origin:
        raise GraphError(
            f"{store}: another process has written another layered edge list there meanwhile; use "
            "a separate folder for each list",
            parameter="store",
            path=store,
            hint="use a separate folder for each list",
        )
    return LayeredStorage.from_store(opened, device)


def _known_origin(path: Input, options: dict[str, Any]) -> dict[str, Any]:
    """Return the origin of a store, or {} if the edges or vertices are not of local files."""
    vertices = options["vertices"]
    if vertices is not None and not isinstance(vertices, (str, Path)):
        return {}
    are_files = all(is_local(file) for file in (path, vertices) if file is not None)
    return origin_of(path, options) if are_files else {}


def cache_path(path: Any) -> Path:
    """Return the folder of the store of an edge file: its path with the suffix ``.layers``."""
    if not is_local(path):
        raise not_local_error(path)
    path = check_path(path.local_path if isinstance(path, InputFiles) else path)
    if path.name in ("", ".."):
        path = path.resolve()
    return path.with_name(path.name + ".layers")


def not_local_error(path: Any) -> GraphError:
    """Return the error for an input that has no place beside it for a store."""
    hint = "build a store in a folder by rg.LayeredEdgeList.build(path, root, store=folder)"
    return GraphError(
        f"{display_name(path)}: a store is cached beside one local file or folder, and this is a "
        f"URL, a glob or an open file; {hint}",
        path=display_name(path),
        hint=hint,
    )


def origin_of(path: Input, options: dict[str, Any]) -> dict[str, Any]:
    """Identify a version of an edge file or folder and the options it is read with.

    Parameters
    ----------
    path : str or Path
    options : dict
        Options that change what is read, by the names of `DEFAULTS`, which apply to omitted ones.
        The default weight is recorded as the column that is read, or None.
        `vertices` must be a path, whose version counts.

    Returns
    -------
    dict
        Files and options, as they are after a round trip through JSON.

    Raises
    ------
    GraphError
        A file is missing.
    """
    files = _file_versions(path)
    options = _choose_weight(path, options)
    vertices = options["vertices"]
    if vertices is not None:
        if not isinstance(vertices, (str, Path)):
            raise GraphError(
                "vertices must be the path of a file if the store is cached",
                parameter="vertices",
                value=vertices,
            )
        options["vertices"] = {"path": str(vertices), "files": _file_versions(vertices)}
    origin = {"files": files, "options": options}
    return json.loads(json.dumps(origin, default=_json_value, skipkeys=True))


def _json_value(value: Any) -> Any:
    """Return a NumPy number as Python's; other values are invalid and match no stored option."""
    return value.item() if getattr(value, "ndim", None) == 0 else repr(value)


def _file_versions(path: Input) -> list[dict[str, Any]]:
    """Return the version of each edge or vertex file in a file or folder."""
    if not is_local(path):
        raise not_local_error(path)
    if not isinstance(path, InputFiles):
        path = check_path(path)
        if not path.is_dir():
            check_regular_file(path)  # opening a FIFO would wait for its writer
    with open_input(path) as files, read_errors(files.name):
        assert files.local_path is not None
        return [_file_version(file.path, files.local_path) for file in files.files]


def _file_version(path: Path, parent: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        checksum = zlib.crc32(file.read(SAMPLE_BYTES))
        size = file.seek(0, 2)
        file.seek(max(size - SAMPLE_BYTES, 0))
        checksum = zlib.crc32(file.read(SAMPLE_BYTES), checksum)
    name = path.name if path == parent else path.relative_to(parent).as_posix()
    modified = path.stat().st_mtime_ns
    return {"name": name, "bytes": size, "changed": modified, "checksum": f"{checksum:08x}"}


def has_root(store: Store, root: Vertices) -> bool:
    """Return whether a store has this root, as a caller writes it.

    Text does not match a number, and a value that is no vertex name matches nothing.
    """
    return _typed_name(root) == _typed_name(store.root)


def _typed_name(name: Any) -> list[tuple[type, int | str]] | None:
    """Return the type and value of each part of a vertex name, or None if it is not one."""
    name = name.tolist() if hasattr(name, "tolist") else name  # NumPy, CuPy, pandas
    parts = list(name) if isinstance(name, (list, tuple)) else [name]
    if len(parts) == 1 and isinstance(parts[0], (list, tuple)):  # one vertex of several columns
        parts = list(parts[0])
    parts = [part.item() if hasattr(part, "item") else part for part in parts]
    if not all(type(part) in (int, str) for part in parts):
        return None
    return [(type(part), part) for part in parts]


def find_store(path: str | Path, root: Vertices, options: dict[str, Any]) -> Store | None:
    """Return the store beside an edge file if it is valid and of this version and root.

    Parameters
    ----------
    path : str or Path
    root : vertex name or tuple
    options : dict
        Options for `origin_of`.

    Returns
    -------
    Store or None
        The store; its partitions are not verified.

    Warns
    -----
    RuntimeWarning
        If the store is damaged or invalid.

    Raises
    ------
    GraphError
        The edge file is missing.
    """
    expected = origin_of(path, options)
    store, problem = load_store(cache_path(path))
    if problem is not None:
        warnings.warn(f"the cache is not used: {problem}", RuntimeWarning, stacklevel=3)
    if store is None:
        return None
    origin = {**(store.manifest["origin"] or {})}
    origin.pop("build", None)
    return store if origin == expected and has_root(store, root) else None


def load_store(folder: str | Path) -> tuple[Store | None, GraphError | None]:
    """Open and validate a store that may be missing, damaged or invalid.

    Returns
    -------
    store : Store or None
        The store, validated except for the inside of its partitions.
    problem : GraphError or None
        Why there is no store, if there is a manifest.
    """
    folder = check_path(folder)
    try:
        store = open_store(folder)
        store.validate()
    except GraphError as error:
        return None, error if (folder / MANIFEST).exists() else None
    return store, None
