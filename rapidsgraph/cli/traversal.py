"""`rapidsgraph bfs` and `rapidsgraph sssp`."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import rapidsgraph as rg

from .. import io
from ..graph.graph import storage_of
from ..graph.vertex_arguments import resolve_vertices
from ..layered.edge_list import layered_storage
from .app import Device, DeviceOption, app, columns_of, command, print_rows
from .layered_input import (
    BFS_IGNORES,
    SSSP_IGNORES,
    LayersOption,
    MemoryLimitOption,
    build_options,
    is_store,
    load_rooted,
    report_run,
    uses_layers,
)
from .options import (
    DestinationOption,
    EdgesOrLayersArgument,
    Job,
    MultiEdges,
    MultiEdgesOption,
    ProgressOption,
    SourceOption,
    UndirectedOption,
    VerticesOption,
    output_option,
    plot_option,
    top_option,
    verify_option,
    vertex_columns,
)
from .sources import FromFileOption, FromOption, name_starts, parse_starts

NoPredecessorsOption = Annotated[
    bool, typer.Option("--no-predecessors", help="Leave out the vertex before each.")
]


def _number(cutoff):
    if cutoff is not None and math.isnan(cutoff):
        raise typer.BadParameter("nan is no distance")
    return cutoff


@command(app)
def bfs(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    starts: FromOption = None,
    starts_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    depth_limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Go no farther than N edges.")
    ] = None,
    no_predecessors: NoPredecessorsOption = False,
    device: DeviceOption = Device.auto,
    layers: LayersOption = False,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[Path | None, output_option("vertices with their distances")] = None,
    top: Annotated[int | None, top_option("Print the N first levels; all if no --output.")] = None,
    verify: Annotated[bool, verify_option("distances")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("how the distances are spread")] = None,
):
    """How many edges away vertices are: breadth-first search.

    One of --from and --from-file is needed. Only the folder of a layered edge list has a root.
    """
    by_layers = uses_layers(context, edges, layers, memory_limit, verify)
    inputs = {"EDGES": edges, "--from-file": starts_file, "--vertices": vertices}
    job = Job("distances", output, top, verify, plot, inputs, has_nulls=True)
    how = {"memory_limit": memory_limit, "progress": progress}

    def read():
        options = {"vertices": vertices, "directed": not undirected}
        return job.read(edges, source, destination, device=device, **options)

    if by_layers:
        options = build_options(source, destination, undirected, vertices=vertices)
        given = starts, starts_file
        graph, names = load_rooted(job, edges, given, options, BFS_IGNORES, device=device, **how)
    else:
        sources = parse_starts(starts, starts_file, vertex_columns(source, destination))
        graph = read()
        names = name_starts(sources, graph)
    result = rg.bfs(graph, names, depth_limit=depth_limit, predecessors=not no_predecessors, **how)
    job.tell(graph, "searched")
    if by_layers:
        report_run(job, graph)
    levels = np.bincount(result["distance"].dropna().to_numpy())
    job.say(_reached(graph, levels.sum(), levels.size - 1))
    if verify:
        whole, names = (read(), [graph.root]) if by_layers else (graph, names)
        rg.verify.bfs(whole, result, names, depth_limit=depth_limit)
        job.say("verified: no edge spans two levels, and one leads to each vertex reached")

    def show(count):
        first = levels[:count]
        columns = [("distance", np.arange(first.size)), ("vertices", first)]
        print_rows(columns, ("distance", "vertices"))

    job.deliver(result, show, lambda path: rg.plot.distribution(result, path))


@command(app)
def sssp(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    starts: FromOption = None,
    starts_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What edges cost. By default weight, if there is such a column, or 1 each.",
        ),
    ] = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    multi_edges: MultiEdgesOption = MultiEdges.min,
    cutoff: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", callback=_number, help="Go no farther than X."),
    ] = None,
    no_predecessors: NoPredecessorsOption = False,
    device: DeviceOption = Device.auto,
    layers: LayersOption = False,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[Path | None, output_option("vertices with their distances")] = None,
    top: Annotated[
        int | None, top_option("Print the N nearest but the sources; 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("distances")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("how the distances are spread")] = None,
):
    """The cheapest way to each vertex: shortest paths by weight.

    One of --from and --from-file is needed. Only the folder of a layered edge list has a root.
    """
    by_layers = uses_layers(context, edges, layers, memory_limit, verify)
    inputs = {"EDGES": edges, "--from-file": starts_file, "--vertices": vertices}
    job = Job("distances", output, top, verify, plot, inputs, has_nulls=not no_predecessors)
    how = {"memory_limit": memory_limit, "progress": progress}
    columns = vertex_columns(source, destination)
    sources = [] if by_layers else parse_starts(starts, starts_file, columns)
    is_given = weight is not None
    if not is_given and not is_store(edges):
        weight = _weight_column(edges, [*(source or ()), *(destination or ())])

    def read():
        options = {
            "vertices": vertices,
            "directed": not undirected,
            "multi_edges": multi_edges.value,
        }
        return job.read(edges, source, destination, weight, device=device, **options)

    if by_layers:
        policies = {"multi_edges": multi_edges.value, "vertices": vertices}
        options = build_options(source, destination, undirected, weight, **policies)
        given = starts, starts_file
        graph, names = load_rooted(job, edges, given, options, SSSP_IGNORES, device=device, **how)
    else:
        graph = read()
        names = name_starts(sources, graph)
    result = rg.sssp(graph, names, cutoff=cutoff, predecessors=not no_predecessors, **how)
    job.tell(graph, "searched")
    if by_layers:
        report_run(job, graph)
    distances = result["distance"].values
    storage = layered_storage(graph) if by_layers else storage_of(graph)
    is_reached = storage.xp.isfinite(distances)
    if is_store(edges):
        if not graph.weighted:
            job.say("the layered edge list has no weights: each edge costs 1", True)
    elif weight is None:
        job.say("there is no column 'weight', and no --weight names one: each row costs 1", True)
    elif not is_given:
        job.say("an edge costs what column 'weight' says")
    job.say(_reached(graph, is_reached.sum(), float(distances[is_reached].max())))
    if verify:
        whole, names = (read(), [graph.root]) if by_layers else (graph, names)
        rg.verify.sssp(whole, result, names, cutoff=cutoff)
        job.say("verified: no edge shortens a path, and one leads to each vertex reached")

    def show(count):
        is_reached[
            [storage.root_id] if by_layers else resolve_vertices(storage.labeling, names)
        ] = False
        rows = storage.xp.flatnonzero(is_reached)
        order = storage.xp.argsort(distances[rows], kind="stable")[: count or 10]
        print_rows(columns_of(result.take(rows[order])), ("distance",))

    job.deliver(result, show, lambda path: rg.plot.distribution(result, path))


def _reached(graph, count, farthest):
    return (
        f"reached {int(count):,} of {graph.num_vertices:,} vertices, the farthest at distance "
        f"{farthest:.6g}"
    )


def _weight_column(edges, ends):
    """Return "weight" if the file has such a column and it is no vertex column, else None."""
    there = io.column_names(edges)
    return "weight" if "weight" in there and "weight" not in ends else None
