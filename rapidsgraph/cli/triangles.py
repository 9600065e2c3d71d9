"""Commands ``triangles`` and ``clustering``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import rapidsgraph as rg

from .app import DeviceOption, app, command, print_highest
from .files import FormatOption, OutputFormatOption
from .layered_input import (
    DIRECTED_IGNORES,
    UNDIRECTED_IGNORES,
    MemoryLimitOption,
    read_graph_or_layers,
)
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
    SourceOption,
    UndirectedOption,
    UselessUndirectedOption,
    VerticesOption,
    output_option,
    top_option,
    verify_option,
)

TopOption = Annotated[int | None, top_option("Print the N highest; by default 10 if no --output.")]


@command(
    app,
    examples=[
        "triangles debian.parquet --top 3",
        "triangles debian.parquet --output triangles.csv --verify",
    ],
)
def triangles(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UselessUndirectedOption = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their triangles")] = None,
    output_format: OutputFormatOption = None,
    top: TopOption = None,
    verify: Annotated[bool, verify_option("counts")] = False,
) -> None:
    """Count the triangles that each vertex is in. Directions are ignored."""
    run = CommandRun(
        "triangles", {"EDGES": edges, "--vertices": vertices}, output=output,
        output_format=output_format, top=top, verify=verify,
    )  # fmt: skip
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, ignored=UNDIRECTED_IGNORES,
        memory_limit=memory_limit, device=device, vertices=vertices, verify=verify,
        directed=False, self_loops="drop",
    )  # fmt: skip
    result = rg.triangle_count(graph, memory_limit=memory_limit)
    run.end_step("counted")
    run.report_graph(graph)
    run.report(f"triangles: {int(result['triangles'].sum()) // 3:,}")
    if verify:
        rg.verify.triangle_count(graph, result)
        run.report("verified: the endpoints of all edges have as many common neighbors")
    run.write_result(result, lambda count: print_highest(result, "triangles", count or 10))


@command(
    app,
    examples=[
        "clustering debian.parquet --undirected --top 3",
        "clustering debian.parquet --output coefficients.csv --verify",
    ],
)
def clustering(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their coefficients")] = None,
    output_format: OutputFormatOption = None,
    top: TopOption = None,
    verify: Annotated[bool, verify_option("coefficients")] = False,
) -> None:
    """Compute local clustering coefficients: how many of the neighbors' pairs are adjacent."""
    run = CommandRun(
        "coefficients", {"EDGES": edges, "--vertices": vertices}, output=output,
        output_format=output_format, top=top, verify=verify,
    )  # fmt: skip
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, ignored=DIRECTED_IGNORES,
        memory_limit=memory_limit, device=device, vertices=vertices, verify=verify,
        directed=not undirected,
    )  # fmt: skip
    result = rg.clustering_coefficient(graph, memory_limit=memory_limit)
    run.end_step("counted")
    run.report_graph(graph)
    if len(result):
        run.report(f"mean coefficient: {float(result['coefficient'].mean()):.6g}")
    if verify:
        rg.verify.clustering_coefficient(graph, result)
        run.report("verified: as many arcs lead from a neighbor of each vertex to another")
    run.write_result(result, lambda count: print_highest(result, "coefficient", count or 10))
