"""Find the vertices reachable from some roots, and their distances, in a graph above memory size.

    python pipelines/reach.py EDGES --root NAME --output FOLDER [--root NAME ...]
                              [--weight COLUMN | --unweighted] [--memory-limit SIZE]
                              [--stores FOLDER] [--scheduler ADDRESS | --workers N]

For each root, a layered edge list is built from the file, out of core, and traversed by the
workers: distances add up weights, or count edges without weights. Reads Parquet, writes a folder:
`reach/root=NAME/` (Parquet: vertex, distance, predecessor; readers of `reach/` see the root as a
column), `distances.csv` and `summary.json`.

A layered edge list takes the disk space of the packed edges, and each root has its own. It is built
in the folder of the results and removed at the end, or stored in --stores and reused as long as
file, root and options are the same.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when run as a script

from rapidsgraph.signals import exit_on_signals

if __name__ == "__main__":
    exit_on_signals()  # before the imports that take time

import pandas
import typer

import rapidsgraph as rg
from pipelines import log_files
from pipelines.runtime import (
    DestinationOption,
    Device,
    DeviceOption,
    EdgesArgument,
    OutputOption,
    OverwriteOption,
    SchedulerOption,
    SourceOption,
    UnweightedOption,
    WeightOption,
    WorkersOption,
    compute_pandas,
    run_pipeline,
    weight_argument,
)
from rapidsgraph.cli.app import command
from rapidsgraph.errors import VertexNotFoundError
from rapidsgraph.io import write_frame
from rapidsgraph.layered import cache
from rapidsgraph.layered.store import open_store
from rapidsgraph.validation import DEFAULT_WEIGHT, parse_bytes

NUM_RANGES = 20  # of weighted distance, of equal length

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def reach(
    edges: EdgesArgument,
    output: OutputOption,
    root: Annotated[
        list[str], typer.Option(metavar="NAME", help="Root; repeat it for several traversals.")
    ],
    source: SourceOption = "source",
    destination: DestinationOption = "destination",
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Treat edges as undirected.")
    ] = False,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Maximum memory of the build and of each worker, such as 2GB."
        ),
    ] = None,
    stores: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Store layered edge lists here, and reuse them."),
    ] = None,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
) -> None:
    """Find the vertices reachable from each root, and their distances."""
    limit = None if memory_limit is None else parse_bytes(memory_limit, "--memory-limit")
    files = log_files.open_log_files(
        edges, source=source, destination=destination, weight=weight_argument(weight, unweighted)
    )
    column = files.columns.get("weight")
    edges = edges.expanduser()
    roots = _convert_roots(root, files, source, destination)
    build_options: dict[str, Any] = {"source": source, "destination": destination, "weight": column}
    build_options |= {"directed": not undirected, "multi_edges": "min" if column else "first"}
    options = {**build_options, "roots": roots, "memory_limit": limit}
    with run_pipeline(
        "reach", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as run:  # fmt: skip
        store_folder = (stores or run.folder / "stores").expanduser()
        store_folder.mkdir(parents=True, exist_ok=True)
        if len(roots) > 1:  # the build of a single one checks it early
            with run.step("roots"):
                _check_roots_exist(roots, files, source, destination)
        tables = []
        for name in roots:
            store = store_folder / _folder_name(name)
            with run.step(f"layers from {name}") as report:
                try:
                    is_reused = _build_store(edges, name, store, build_options, limit, report)
                except rg.GraphError as error:
                    raise _with_options(error, column) from error
            layered = rg.LayeredEdgeList.open(store, device=run.device, client=run.client)
            with run.step(f"search from {name}") as report:
                search = rg.sssp if column else rg.bfs
                result = search(layered, memory_limit=limit, progress=report)
                run.write_parquet(result, f"reach/{_folder_name(name)}")
            with run.step(f"distances from {name}"):
                table = _count_distances(result["distance"], column)
            tables.append(table.assign(root=name))
            num_reached = int(table["vertices"].sum())
            run.record(
                f"from {name}",
                store="reused" if is_reused else "built",
                vertices=layered.num_vertices,
                edges=layered.num_edges,
                reached=num_reached,
                not_reached=layered.num_vertices - num_reached,
                depth=layered.depth,
                max_distance=table["to"].iloc[-1].item(),
            )
        distances = pandas.concat(tables, ignore_index=True)
        write_frame(distances[["root", "from", "to", "vertices"]], run.folder / "distances.csv")
        if stores is None:
            shutil.rmtree(store_folder)


def _convert_roots(
    roots: list[str], files: log_files.LogFiles, source: str, destination: str
) -> list[Any]:
    """Convert roots to the type of the vertex names in the files."""
    from pyarrow import types

    for path, column_types in files.types.items():
        for column in (source, destination):
            if types.is_floating(column_types[column]):
                raise rg.GraphError(
                    f"{path}: {{column}} holds {column_types[column]}, but names are integers or "
                    "text; write it as integers, without rows where it is missing",
                    path=path,
                    column=column,
                )
    roots = list(dict.fromkeys(roots))
    if "text" in (files.kinds[source], files.kinds[destination]):
        return roots
    try:
        return list(dict.fromkeys(map(int, roots)))
    except ValueError:
        raise rg.GraphError(
            f"--root {', '.join(roots)}: vertices are named by integers",
            parameter="--root",
            value=roots,
        ) from None


def _check_roots_exist(
    roots: Sequence[Any], files: log_files.LogFiles, source: str, destination: str
) -> None:
    """Raise GraphError if a root is in no row, before any layered edge list is built."""
    import pyarrow
    from pyarrow import compute, dataset, types

    missing = list(roots)
    for path, column_types in files.types.items():
        for column in (source, destination):
            dtype = column_types[column]
            dtype = dtype.value_type if types.is_dictionary(dtype) else dtype
            is_usable = types.is_integer(dtype) or types.is_null(dtype)
            dtype = dtype if is_usable else pyarrow.string()
            candidates = []
            for root in missing:
                with suppress(pyarrow.ArrowException, OverflowError):  # out of range of the type
                    candidates.append(pyarrow.scalar(root, dtype))
            if types.is_null(dtype) or not candidates:
                continue
            value_set = pyarrow.array(candidates, dtype)
            for batch in dataset.dataset(path).to_batches(columns=[column]):
                names = batch.column(0).cast(dtype)
                is_root = compute.is_in(names, value_set)
                present = set(names.filter(is_root).unique().to_pylist())
                missing = [root for root in missing if root not in present]
                if not missing:
                    return
    raise VertexNotFoundError(
        f"--root: vertex {missing[0]!r} is not in the graph", parameter="--root", value=missing[0]
    )


def _with_options(error: rg.GraphError, weight: str | None) -> rg.GraphError:
    """Return an error of the library with the names of the options."""
    if error.parameter == "root":
        return error.with_fields(parameter="--root")
    return error.with_fields(column=weight) if error.column == "weight" else error


def _folder_name(root: Any) -> str:
    return f"root={quote(str(root), safe='')}"  # Hive partitioning


def _build_store(
    edges: Path,
    root: Any,
    folder: Path,
    options: dict[str, Any],
    limit: int | None,
    report: Callable[..., None],
) -> bool:
    """Build the store of one root unless an intact one exists; return whether it existed."""
    expected = cache.origin_of(edges, options)
    try:
        store = open_store(folder)
        origin = {**(store.manifest["origin"] or {})}
        origin.pop("build", None)
        if origin == expected and cache.has_root(store, root):
            store.verify_checksums()
            return True
    except rg.GraphError:  # missing or damaged
        pass
    rg.LayeredEdgeList.build(
        edges,
        root,
        store=folder,
        device="cpu",
        memory_limit=limit,
        progress=report,
        **options,
    )
    return False


def _count_distances(distances: Any, weight: str | None) -> pandas.DataFrame:
    """Count vertices by distance in edges, or by range of weighted distance.

    A range includes `from` and excludes `to`, except that the last one includes `to`.
    """
    if not weight:
        counts = compute_pandas(distances.value_counts()).sort_index()
        steps = counts.index.astype("int64")
        return pandas.DataFrame({"from": steps, "to": steps, "vertices": counts.to_numpy("int64")})
    reached = distances[distances < float("inf")]
    maximum = float(reached.max().compute())
    width = maximum / NUM_RANGES or 1.0
    ranges = (reached / width).astype("int64").clip(upper=NUM_RANGES - 1)
    counts = compute_pandas(ranges.value_counts()).sort_index()
    starts, stops = counts.index * width, (counts.index + 1) * width
    columns = {"from": starts, "to": stops.where(counts.index < NUM_RANGES - 1, maximum)}
    if not maximum:
        columns["to"] = [0.0]
    return pandas.DataFrame({**columns, "vertices": counts.to_numpy("int64")})


if __name__ == "__main__":
    app()
