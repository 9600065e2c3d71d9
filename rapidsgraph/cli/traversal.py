"""Commands ``bfs``, ``sssp`` and ``components``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from ..graph.local_graph import storage_of
from ..graph.vertex_arguments import resolve_vertices
from ..validation import DEFAULT_WEIGHT
from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, OutputFormatOption
from .layered_input import (
    BFS_IGNORES,
    DIRECTED_IGNORES,
    SSSP_IGNORES,
    UNDIRECTED_IGNORES,
    LayersOption,
    MemoryLimitOption,
    is_store,
    read_graph_or_layers,
    read_rooted,
    uses_layers,
)
from .messages import GRAPH, OUTPUT, flag_option
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
    MultiEdgesOption,
    ProgressOption,
    SourceOption,
    UndirectedOption,
    UnweightedOption,
    VerticesOption,
    WeightOption,
    is_given,
    note_missing_weights,
    output_option,
    plot_option,
    top_option,
    verify_option,
)
from .sources import FromFileOption, FromOption

PredecessorsOption = Annotated[
    bool,
    flag_option(
        "--predecessors/--no-predecessors", help="Return the column of predecessors.", panel=OUTPUT
    ),
]


def _refuse_nan(cutoff: float | None) -> float | None:
    if cutoff is not None and math.isnan(cutoff):
        raise typer.BadParameter("nan is not a distance")
    return cutoff


@command(
    app,
    examples=[
        "bfs debian.parquet --from git --from mercurial",
        "bfs debian.parquet --from git --depth-limit 2 --output near.csv",
        "bfs grid.parquet --from 0 --top 3 --no-predecessors",
    ],
)
def bfs(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    roots: FromOption = None,
    roots_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    depth_limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Stop at distance N; by default never.")
    ] = None,
    predecessors: PredecessorsOption = True,
    device: DeviceOption = "auto",
    layers: LayersOption = False,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their distances")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the first N levels; by default all if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("distances")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("the distribution of distances")] = None,
) -> None:
    """Find the number of edges from a source to each vertex: breadth-first search.

    Give --from or --from-file, unless EDGES is a layered edge list, which has its own root.
    """
    by_layers = uses_layers(context, edges, layers, memory_limit, verify)
    run = CommandRun(
        "distances",
        {"EDGES": edges, "--from-file": roots_file, "--vertices": vertices},
        output=output, output_format=output_format, top=top, verify=verify, plot=plot,
        has_nulls=True,
    )  # fmt: skip
    streaming: dict[str, Any] = {"memory_limit": memory_limit, "progress": progress}
    graph, names, _, read_graph = read_rooted(
        context, run, edges, (roots, roots_file), source, destination, by_layers=by_layers,
        ignored=BFS_IGNORES, undirected=undirected, device=device,
        policies={"vertices": vertices}, **streaming,
    )  # fmt: skip
    result = rg.bfs(graph, names, depth_limit=depth_limit, predecessors=predecessors, **streaming)
    run.end_step("searched")
    run.report_graph(graph)
    levels = np.bincount(result["distance"].dropna().to_numpy())
    run.report(_describe_reach(graph, levels.sum(), levels.size - 1))
    if verify:
        complete, names = (read_graph(), [graph.root]) if by_layers else (graph, names)
        rg.verify.bfs(complete, result, names, depth_limit=depth_limit)
        run.report("verified: no edge skips a level, and every reached vertex has a predecessor")

    def print_levels(count: int | None) -> None:
        first = levels[:count]
        columns = [("distance", np.arange(first.size)), ("vertices", first)]
        print_rows(columns, ("distance", "vertices"))

    run.write_result(result, print_levels, lambda path: rg.plot.distribution(result, path))


@command(
    app,
    examples=[
        "sssp grid.parquet --from 0 --top 5",
        "sssp grid.parquet --from 0 --cutoff 20 --output near.csv --verify",
        "sssp debian.parquet --from git --unweighted",
    ],
)
def sssp(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    roots: FromOption = None,
    roots_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    multi_edges: MultiEdgesOption = "min",
    cutoff: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="X",
            callback=_refuse_nan,
            help="Stop at distance X; by default never.",
        ),
    ] = None,
    predecessors: PredecessorsOption = True,
    device: DeviceOption = "auto",
    layers: LayersOption = False,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their distances")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None,
        top_option(
            "Print the N nearest vertices except the sources; by default 10 if no --output."
        ),
    ] = None,
    verify: Annotated[bool, verify_option("distances")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("the distribution of distances")] = None,
) -> None:
    """Find the weight of a shortest path from a source to each vertex.

    Give --from or --from-file, unless EDGES is a layered edge list, which has its own root.
    """
    by_layers = uses_layers(context, edges, layers, memory_limit, verify)
    run = CommandRun(
        "distances",
        {"EDGES": edges, "--from-file": roots_file, "--vertices": vertices},
        output=output, output_format=output_format, top=top, verify=verify, plot=plot,
        has_nulls=predecessors,
    )  # fmt: skip
    streaming: dict[str, Any] = {"memory_limit": memory_limit, "progress": progress}
    graph, names, column, read_graph = read_rooted(
        context, run, edges, (roots, roots_file), source, destination, by_layers=by_layers,
        ignored=SSSP_IGNORES, undirected=undirected, device=device,
        policies={"multi_edges": multi_edges, "vertices": vertices}, **streaming,
    )  # fmt: skip
    result = rg.sssp(graph, names, cutoff=cutoff, predecessors=predecessors, **streaming)
    run.end_step("searched")
    run.report_graph(graph)
    distances = result["distance"].values
    storage = storage_of(graph)
    is_reached = storage.xp.isfinite(distances)
    report_weights(run, graph, context, column)
    run.report(_describe_reach(graph, is_reached.sum(), float(distances[is_reached].max())))
    if verify:
        complete, names = (read_graph(), [graph.root]) if by_layers else (graph, names)
        rg.verify.sssp(complete, result, names, cutoff=cutoff)
        run.report("verified: no edge shortens a path, and every reached vertex has a predecessor")

    def print_nearest(count: int | None) -> None:
        root_ids = [storage.root_id] if by_layers else resolve_vertices(storage.labeling, names)
        is_reached[root_ids] = False
        rows = storage.xp.flatnonzero(is_reached)
        order = storage.xp.argsort(distances[rows], kind="stable")[: count or 10]
        print_rows(columns_of(result.take(rows[order])), ("distance",))

    run.write_result(result, print_nearest, lambda path: rg.plot.distribution(result, path))


@command(
    app,
    examples=[
        "components debian.parquet --top 3",
        "components grid.parquet --output components.csv --verify",
        "components debian.parquet --strong --top 3",
    ],
)
def components(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: Annotated[
        bool,
        flag_option(
            "--undirected",
            help="Has no effect on weak components; cannot be combined with --strong.",
            panel=GRAPH,
        ),
    ] = False,
    strong: Annotated[
        bool, flag_option("--strong", help="Find strongly connected components by directed edges.")
    ] = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their components")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the N largest; by default 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("components")] = False,
    plot: Annotated[Path | None, plot_option("the distribution of sizes")] = None,
) -> None:
    """Find connected components, numbered from the largest.

    Components are weakly connected, for which directions are ignored, unless --strong is given.
    """
    if strong and undirected:
        raise typer.BadParameter("leave out this or --strong", param_hint="--undirected")
    run = CommandRun(
        "components",
        {"EDGES": edges, "--vertices": vertices},
        output=output, output_format=output_format, top=top, verify=verify, plot=plot,
    )  # fmt: skip
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, memory_limit=memory_limit, device=device,
        ignored=DIRECTED_IGNORES if strong else UNDIRECTED_IGNORES, vertices=vertices,
        verify=verify, accepted=context.params.keys() - {"undirected"} if strong else None,
    )  # fmt: skip
    result = rg.connected_components(graph, strong=strong, memory_limit=memory_limit)
    run.end_step("labeled")
    run.report_graph(graph)
    sizes = np.bincount(result["component"].to_numpy())
    if sizes.size:
        run.report(f"components: {sizes.size:,}, the largest of {sizes[0]:,} vertices")
    if verify:
        rg.verify.components(graph, result, strong=strong)
        run.report("verified: every component is connected, and no edge joins two")

    def print_largest(count: int | None) -> None:
        largest = sizes[: count or 10]
        columns = [("component", np.arange(largest.size)), ("vertices", largest)]
        print_rows(columns, ("component", "vertices"))

    run.write_result(result, print_largest, lambda path: rg.plot.distribution(result, path))


def _describe_reach(graph: Any, count: Any, max_distance: float) -> str:
    return (
        f"reached {int(count):,} of {graph.num_vertices:,} vertices, the farthest at distance "
        f"{max_distance:.6g}"
    )


def report_weights(run: CommandRun, graph: Any, context: typer.Context, column: str | None) -> None:
    """Report whether edges have weights, and of which column if the command line names none."""
    if is_store(context.params["edges"]):
        if not graph.weighted:
            run.report("the layered edge list has no weights: each edge costs 1", always=True)
    elif column is None:
        if not context.params["unweighted"]:
            note_missing_weights(context, "each edge costs 1")
    elif not is_given(context, "weight"):
        run.report("the weights of edges are those of column 'weight'")
