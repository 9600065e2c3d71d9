"""Command ``shortest-path``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import rapidsgraph as rg

from ..graph.local_graph import storage_of
from ..validation import DEFAULT_WEIGHT
from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, OutputFormatOption
from .layered_input import (
    BFS_IGNORES,
    INPUT_OPTIONS,
    SSSP_IGNORES,
    LayersOption,
    MemoryLimitOption,
    read_rooted,
    uses_layers,
)
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
    output_option,
    verify_option,
    vertex_columns,
)
from .sources import FromFileOption, FromOption, parse_sources, source_names
from .traversal import report_weights

ToOption = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="VERTEX", help="Target vertex; repeatable, as --from."),
]


@command(
    app,
    examples=[
        "shortest-path debian.parquet --from git --to gpgv",
        "shortest-path grid.parquet --from 0 --to 9999 --output path.csv --verify",
        "shortest-path grid.parquet --from 0 --to 99 --to 9999 --unweighted",
    ],
)
def shortest_path(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    roots: FromOption = None,
    roots_file: FromFileOption = None,
    targets: ToOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    undirected: UndirectedOption = False,
    vertices: VerticesOption = None,
    multi_edges: MultiEdgesOption = "min",
    device: DeviceOption = "auto",
    layers: LayersOption = False,
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("the vertices of the paths")] = None,
    output_format: OutputFormatOption = None,
    verify: Annotated[bool, verify_option("paths")] = False,
    progress: ProgressOption = None,
) -> None:
    """Find the vertices of a shortest path from a source to each target, with their distances.

    Give --from or --from-file, unless EDGES is a layered edge list, which has its own root.
    """
    fixed = [name for name in INPUT_OPTIONS if name != "unweighted"]
    by_layers = uses_layers(context, edges, layers, memory_limit, verify, fixed)
    run = CommandRun(
        "paths",
        {"EDGES": edges, "--from-file": roots_file, "--vertices": vertices},
        output=output,
        output_format=output_format,
        verify=verify,
    )
    graph, names, column, read_graph = read_rooted(
        context, run, edges, (roots, roots_file), source, destination, by_layers=by_layers,
        ignored=BFS_IGNORES if unweighted else SSSP_IGNORES, undirected=undirected, device=device,
        policies={"multi_edges": multi_edges, "vertices": vertices}, memory_limit=memory_limit,
        progress=progress,
    )  # fmt: skip
    columns = vertex_columns(source, destination)
    ends = source_names(parse_sources(targets, None, columns, "--to"), graph)
    ends = list(dict.fromkeys(ends))
    target = ends if len(ends) > 1 else ends[0]
    result = rg.shortest_path(
        graph, names, target, weighted=not unweighted,
        memory_limit=memory_limit,
    )  # fmt: skip
    run.end_step("searched")
    run.report_graph(graph)
    if not unweighted:
        report_weights(run, graph, context, column)
    if verify:
        complete, names = (read_graph(), [graph.root]) if by_layers else (graph, names)
        rg.verify.shortest_path(complete, result, names, target, weighted=not unweighted)
        run.report("verified: paths lead along edges, and no edge shortens one")
    num_paths = _count_paths(graph, result) if len(ends) > 1 else min(len(result), 1)
    if num_paths < len(ends):
        run.report(f"paths lead to {num_paths:,} of {len(ends):,} targets", always=True)
    run.write_result(result, lambda count: print_rows(columns_of(result), ("distance",)))


def _count_paths(graph: Any, result: Any) -> int:
    """Return the number of targets in the paths to several targets."""
    labeling = storage_of(graph).labeling
    specific = labeling.endpoint_columns("target")
    columns = [specific.get(label, label) for label in labeling.names.labels]
    return len(result[columns].drop_duplicates())
