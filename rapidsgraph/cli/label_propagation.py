"""Command ``label-propagation``."""

from __future__ import annotations

from typing import Annotated

import typer

import rapidsgraph as rg

from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, OutputFormatOption, open_edges
from .layered_input import refuse_store
from .options import (
    CommandRun,
    DestinationOption,
    EdgesArgument,
    SourceOption,
    UndirectedOption,
    VerticesOption,
    output_option,
    top_option,
    verify_option,
)


@command(
    app,
    examples=[
        "label-propagation debian.parquet --undirected --top 3",
        "label-propagation debian.parquet --iterations 5 --output labels.csv --verify",
    ],
)
def label_propagation(
    context: typer.Context,
    edges: EdgesArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    iterations: Annotated[int, typer.Option(min=1, metavar="N", help="Number of iterations.")] = 10,
    device: DeviceOption = "auto",
    output: Annotated[str | None, output_option("vertices with their labels")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the N largest communities; by default 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("labels")] = False,
) -> None:
    """Find communities by label propagation (CDLP of LDBC Graphalytics).

    In a directed graph, a neighbor by edges in both directions counts twice.
    """
    run = CommandRun(
        "labels",
        {"EDGES": edges, "--vertices": vertices},
        output=output, output_format=output_format, top=top, verify=verify,
    )  # fmt: skip
    refuse_store(edges, "label-propagation")
    graph = run.read_graph(
        open_edges(context), source, destination,
        device=device, vertices=vertices, directed=not undirected,
    )  # fmt: skip
    result = rg.label_propagation(graph, iterations=iterations)
    run.end_step("labeled")
    run.report_graph(graph)
    label_columns = [name for name in result.columns if name not in graph.vertices.columns]
    shared = [name for name in graph.vertices.columns if not name.startswith("vertex")]
    keys = [*shared, *label_columns]
    sizes = result[keys].assign(vertices=1).groupby(keys, as_index=False)["vertices"].sum()
    if len(sizes):
        run.report(
            f"communities: {len(sizes):,}, the largest of {int(sizes['vertices'].max()):,} vertices"
        )
    if verify:
        rg.verify.label_propagation(graph, result, iterations=iterations)
        run.report("verified: every label is the most frequent one among the neighbors")

    def print_largest(count: int | None) -> None:
        order = ["vertices", *keys]
        largest = sizes.sort_values(order, ascending=[False] + [True] * len(keys))
        print_rows(columns_of(largest.head(count or 10)), ("vertices",))

    run.write_result(result, print_largest)
