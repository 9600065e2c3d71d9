"""`rapidsgraph pagerank`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import rapidsgraph as rg

from .. import io
from ..algorithms.pagerank import DANGLING
from ..layered.edge_list import layered_storage
from .app import Device, DeviceOption, app, command, print_highest
from .layered_input import (
    PAGERANK_IGNORES,
    MemoryLimitOption,
    build_options,
    is_store,
    load_cached,
    open_layered,
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
    SelfLoops,
    SelfLoopsOption,
    SourceOption,
    UndirectedOption,
    VerticesOption,
    output_option,
    plot_option,
    top_option,
    verify_option,
    vertex_columns,
)
from .sources import Root

Method = StrEnum("Method", "auto edge node contribution warp")
Precision = StrEnum("Precision", "double single")


@command(app)
def pagerank(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Weights of edges; by default none.")
    ] = None,
    undirected: UndirectedOption = False,
    multi_edges: MultiEdgesOption = MultiEdges.first,
    self_loops: SelfLoopsOption = SelfLoops.keep,
    vertices: VerticesOption = None,
    damping: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="D", help="Probability of following an edge."),
    ] = 0.85,
    tolerance: Annotated[
        float,
        typer.Option(min=0, metavar="T", help="Stop when ranks change by less in total; 0: never."),
    ] = 1e-6,
    max_iterations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Fail after so many.")
    ] = 100,
    method: Annotated[
        Method,
        typer.Option(metavar="METHOD", help=f"How; the ranks are the same: {', '.join(Method)}."),
    ] = Method.auto,
    precision: Annotated[
        Precision, typer.Option(metavar="P", help="Of the ranks: double or single.")
    ] = Precision.double,
    dangling: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Where the rank of vertices without out-edges goes: uniform, drop, or as a FILE "
            "with the columns vertex and one of weights says; by default where the personalization "
            "goes.",
        ),
    ] = None,
    personalization: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Columns vertex and one of weights.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(metavar="FILE", help="First ranks, such as an earlier result.")
    ] = None,
    device: DeviceOption = Device.auto,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[Path | None, output_option("ranks")] = None,
    top: Annotated[int | None, top_option("Print the N highest; 10 if no --output.")] = None,
    verify: Annotated[bool, verify_option("ranks")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("how the ranks are spread")] = None,
):
    """Rank vertices by PageRank.

    With --memory-limit edges stream from the layers beside EDGES, of any root; where there are none
    they are made from the vertex of the first row. Layers with other weights are not replaced.
    """
    by_layers = uses_layers(context, edges, False, memory_limit, verify)
    if by_layers and method != Method.auto:
        raise typer.BadParameter("of layers there is auto alone", param_hint="--method")
    tables = {"personalization": personalization, "start": start}
    if dangling is not None and dangling not in DANGLING:
        tables["dangling"] = Path(dangling)
    inputs = {"EDGES": edges, "--vertices": vertices} | {
        f"--{what}": path for what, path in tables.items()
    }
    job = Job("ranks", output, top, verify, plot, inputs)
    graph = open_layered(job, edges, device) if is_store(edges) else None
    names = layered_storage(graph).names.labels if graph else vertex_columns(source, destination)
    values = {"dangling": dangling} | {  # a mistake in them shows before the long work
        what: io.read_vertex_values(path, names=names, device=device)
        for what, path in tables.items()
        if path
    }
    policies = {"multi_edges": multi_edges.value, "self_loops": self_loops.value}
    if by_layers and graph is None:
        options = build_options(
            source, destination, undirected, weight, vertices=vertices, **policies
        )
        how = {"device": device, "memory_limit": memory_limit, "progress": progress}
        root = Root(options, None)  # any
        graph = load_cached(job, edges, root, options, PAGERANK_IGNORES, may_replace=False, **how)
    elif graph is None:
        graph = job.read(
            edges,
            source,
            destination,
            weight,
            device=device,
            vertices=vertices,
            directed=not undirected,
            **policies,
        )
    ranks = rg.pagerank(
        graph,
        damping=damping,
        tolerance=tolerance,
        max_iterations=max_iterations,
        method=method.value,
        precision=precision.value,
        progress=progress,
        memory_limit=memory_limit,
        **values,
    )
    job.tell(graph, "ranked")
    if by_layers:
        report_run(job, graph)
    if is_store(edges) and graph.weighted:
        job.say("an edge counts by its weight in the layered edge list")
    if verify:
        values.pop("start", None)
        change = rg.verify.pagerank(
            graph, ranks, damping=damping, tolerance=tolerance or 1e-6, **values
        )
        job.say(f"verified: the formula changes the ranks by {change:.1e} in total")
    job.deliver(
        ranks,
        lambda count: print_highest(ranks, "pagerank", count or 10),
        lambda path: rg.plot.distribution(ranks, path),
    )
