"""Command ``core-number``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from .app import DeviceOption, app, command, print_rows
from .files import FormatOption, OutputFormatOption
from .layered_input import (
    UNDIRECTED_IGNORES,
    MemoryLimitOption,
    read_graph_or_layers,
)
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
    SourceOption,
    UselessUndirectedOption,
    VerticesOption,
    output_option,
    top_option,
    verify_option,
)


@command(
    app,
    examples=[
        "core-number debian.parquet --top 3",
        "core-number debian.parquet --output cores.parquet --verify",
    ],
)
def core_number(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UselessUndirectedOption = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their core numbers")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the N largest core numbers; by default 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("core numbers")] = False,
) -> None:
    """Find the core number of each vertex: the largest k whose k-core contains it.

    In a k-core, every vertex has k neighbors or more. Directions are ignored.
    """
    run = CommandRun(
        "core numbers",
        {"EDGES": edges, "--vertices": vertices},
        output=output, output_format=output_format, top=top, verify=verify,
    )  # fmt: skip
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, ignored=UNDIRECTED_IGNORES,
        memory_limit=memory_limit, device=device, vertices=vertices, verify=verify,
        directed=False, self_loops="drop",
    )  # fmt: skip
    result = rg.core_number(graph, memory_limit=memory_limit)
    run.end_step("peeled")
    run.report_graph(graph)
    sizes = np.bincount(result["core"].to_numpy())
    if sizes.size:
        run.report(f"largest core number: {sizes.size - 1:,}, of {sizes[-1]:,} vertices")
    if verify:
        rg.verify.core_number(graph, result)
        run.report("verified: cores have enough neighbors, and no core number is too small")

    def print_largest(count: int | None) -> None:
        cores = np.flatnonzero(sizes)[::-1][: count or 10]
        print_rows([("core", cores), ("vertices", sizes[cores])], ("core", "vertices"))

    run.write_result(result, print_largest)
