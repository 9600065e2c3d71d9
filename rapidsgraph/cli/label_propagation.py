"""Command ``label-propagation``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import rapidsgraph as rg

from ..graph.local_graph import storage_of
from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, OutputFormatOption
from .layered_input import (
    LABEL_PROPAGATION_IGNORES,
    MemoryLimitOption,
    read_graph_or_layers,
)
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
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
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    iterations: Annotated[int, typer.Option(min=1, metavar="N", help="Number of iterations.")] = 10,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="SEED", help="Break ties at random; by default the smallest label wins."
        ),
    ] = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
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
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, ignored=LABEL_PROPAGATION_IGNORES,
        memory_limit=memory_limit, device=device, vertices=vertices, verify=verify,
        directed=not undirected,
    )  # fmt: skip
    result = rg.label_propagation(
        graph, iterations=iterations, seed=seed, memory_limit=memory_limit
    )
    run.end_step("labeled")
    run.report_graph(graph)
    labeling = storage_of(graph).labeling
    names = labeling.endpoint_columns("label")
    keys = [names.get(name, name) for name in labeling.names.labels]
    sizes = result[keys].assign(vertices=1).groupby(keys, as_index=False)["vertices"].sum()
    if len(sizes):
        run.report(
            f"communities: {len(sizes):,}, the largest of {int(sizes['vertices'].max()):,} vertices"
        )
    if verify:
        rg.verify.label_propagation(graph, result, iterations=iterations, seed=seed)
        run.report("verified: repeating all iterations gives the same labels")

    def print_largest(count: int | None) -> None:
        order = ["vertices", *keys]
        largest = sizes.sort_values(order, ascending=[False] + [True] * len(keys))
        print_rows(columns_of(largest.head(count or 10)), ("vertices",))

    run.write_result(result, print_largest)
