"""Find the vertices reachable from some roots, and their distances, in a graph above memory size.

    python pipelines/reach.py EDGES --root NAME --output FOLDER [--root NAME ...]
                              [--weight COLUMN] [--memory-limit SIZE] [--stores FOLDER]
                              [--scheduler ADDRESS | --workers N]

For each root a layered edge list is made of the file, out of core, and searched by the workers:
by edges, or with --weight by what these cost. Reads Parquet and writes a folder: `reach/root=NAME/`
(Parquet: vertex, distance, predecessor; readers of `reach/` see the root as a column),
`distances.csv` and `summary.json`.

A layered edge list is as large as the edges are when packed, and each root has its own. They are
made in the folder of the results and removed at the end, or kept in --stores and used again there
as long as file, root and options are the same.
"""

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated
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
    WorkersOption,
    collected,
    running,
)
from rapidsgraph.cli.app import command
from rapidsgraph.io import write_frame
from rapidsgraph.layered import cache
from rapidsgraph.layered.store import open_store
from rapidsgraph.validation import parse_bytes

RANGES = 20  # of distances by weight, each as long as the others

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def reach(
    edges: EdgesArgument,
    output: OutputOption,
    root: Annotated[
        list[str], typer.Option(metavar="NAME", help="Where to start; again for several searches.")
    ],
    source: SourceOption = "source",
    destination: DestinationOption = "destination",
    weight: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What an edge costs; of repeated ones the cheapest."),
    ] = None,
    undirected: Annotated[bool, typer.Option("--undirected", help="Edges go both ways.")] = False,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="As 2GB: what each worker may take, and the build."),
    ] = None,
    stores: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep layered edge lists here, and use them again."),
    ] = None,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
):
    """Find what can be reached from each root, and how far it is."""
    limit = None if memory_limit is None else parse_bytes(memory_limit, "--memory-limit")
    files = log_files.opened(edges, source=source, destination=destination, weight=weight)
    edges = edges.expanduser()
    roots = _named(root, files, source, destination)
    reading = {"source": source, "destination": destination, "weight": weight}
    reading |= {"directed": not undirected, "multi_edges": "min" if weight else "first"}
    options = {**reading, "roots": roots, "memory_limit": limit}
    with running(
        "reach", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as job:  # fmt: skip
        places = (stores or job.folder / "stores").expanduser()
        places.mkdir(parents=True, exist_ok=True)
        if len(roots) > 1:  # of one the build says so itself, before it does much
            with job.step("roots"):
                _check_there(roots, files, source, destination)
        tables = []
        for name in roots:
            place = places / _folder(name)
            with job.step(f"layers from {name}") as report:
                try:
                    reused = _layered(edges, name, place, reading, limit, report)
                except rg.GraphError as error:
                    raise _in_options(error, weight) from error
            layered = rg.LayeredEdgeList.open(place, device=job.device, client=job.client)
            with job.step(f"search from {name}") as report:
                search = rg.sssp if weight else rg.bfs
                found = search(layered, memory_limit=limit, progress=report)
                job.write(found, f"reach/{_folder(name)}")
            with job.step(f"distances from {name}"):
                table = _distances(found["distance"], weight)
            tables.append(table.assign(root=name))
            reached = int(table["vertices"].sum())
            job.tell(
                f"from {name}",
                store="used again" if reused else "made",
                vertices=layered.num_vertices,
                edges=layered.num_edges,
                reached=reached,
                not_reached=layered.num_vertices - reached,
                depth=layered.depth,
                greatest_distance=table["to"].iloc[-1].item(),
            )
        distances = pandas.concat(tables, ignore_index=True)
        write_frame(distances[["root", "from", "to", "vertices"]], job.folder / "distances.csv")
        if stores is None:
            shutil.rmtree(places)


def _named(roots, files, source, destination):
    """Convert roots to the type of the vertex names in the files."""
    from pyarrow import types

    for path, of_columns in files.types.items():
        for column in (source, destination):
            if types.is_floating(of_columns[column]):
                raise rg.GraphError(
                    f"{path}: column {column!r} holds {of_columns[column]}, and names are integers "
                    "or text; write it as integers, without rows where it is missing"
                )
    roots = list(dict.fromkeys(roots))
    if "text" in (files.kinds[source], files.kinds[destination]):
        return roots
    try:
        return list(dict.fromkeys(map(int, roots)))
    except ValueError:
        raise rg.GraphError(f"--root {', '.join(roots)}: vertices are named by integers") from None


def _check_there(roots, files, source, destination):
    """Raise GraphError if a root is in no row, before any layered edge list is built."""
    import pyarrow
    from pyarrow import compute, dataset, types

    missing = list(roots)
    for path, of_columns in files.types.items():
        for column in (source, destination):
            kind, wanted = of_columns[column], []
            kind = kind.value_type if types.is_dictionary(kind) else kind
            kind = kind if types.is_integer(kind) or types.is_null(kind) else pyarrow.string()
            for root in missing:
                with suppress(pyarrow.ArrowException, OverflowError):  # beyond what it can hold
                    wanted.append(pyarrow.scalar(root, kind))
            if types.is_null(kind) or not wanted:
                continue
            wanted = pyarrow.array(wanted, kind)
            for batch in dataset.dataset(path).to_batches(columns=[column]):
                names = batch.column(0).cast(kind)
                seen = set(names.filter(compute.is_in(names, wanted)).unique().to_pylist())
                missing = [root for root in missing if root not in seen]
                if not missing:
                    return
    raise rg.GraphError(f"--root: vertex {missing[0]!r} is not in the graph")


def _in_options(error, weight):
    """Return an error of the library with the names of the options."""
    if error.parameter == "root":
        return error.with_fields(parameter="--root")
    return error.with_fields(column=weight) if error.column == "weight" else error


def _folder(name):
    return f"root={quote(str(name), safe='')}"  # as readers of partitioned folders take it


def _layered(edges, root, place, reading, limit, report):
    """Build the store of one root unless an intact one exists; return whether it existed."""
    version = cache.origin_of(edges, reading)
    try:
        store = open_store(place)
        origin = {**(store.manifest["origin"] or {})}
        origin.pop("build", None)
        if origin == version and cache.has_root(store, root):
            store.verify_checksums()
            return True
    except rg.GraphError:  # none, or a damaged one
        pass
    rg.LayeredEdgeList.build(
        edges,
        root,
        store=place,
        device="cpu",
        memory_limit=limit,
        progress=report,
        **reading,
    )
    return False


def _distances(distances, weight):
    """Count vertices by distance in edges, or by range of weighted distance.

    A range includes `from` and excludes `to`, except that the last one includes `to`.
    """
    if not weight:
        counts = collected(distances.value_counts()).sort_index()
        steps = counts.index.astype("int64")
        return pandas.DataFrame({"from": steps, "to": steps, "vertices": counts.to_numpy("int64")})
    reached = distances[distances < float("inf")]
    greatest = float(reached.max().compute())
    width = greatest / RANGES or 1.0
    places = (reached / width).astype("int64").clip(upper=RANGES - 1)
    counts = collected(places.value_counts()).sort_index()
    low, high = counts.index * width, (counts.index + 1) * width
    columns = {"from": low, "to": high.where(counts.index < RANGES - 1, greatest)}
    if not greatest:
        columns["to"] = [0.0]
    return pandas.DataFrame({**columns, "vertices": counts.to_numpy("int64")})


if __name__ == "__main__":
    app()
