"""Command ``similarity``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import rapidsgraph as rg

from .. import io
from ..algorithms.neighbor_similarity import KINDS, Kind, pair_columns
from ..device import Device
from ..frames import Frame
from ..graph.local_graph import storage_of
from .app import DeviceOption, app, columns_of, command, print_rows
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
        "similarity debian.parquet --kind cosine --top 3",
        "similarity debian.parquet --output similarity.csv --verify",
    ],
)
def similarity(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Pairs of vertices, in columns named as in the result: source and destination; by "
            "default the endpoints of each edge.",
        ),
    ] = None,
    kind: Annotated[
        Kind, typer.Option(metavar="KIND", help=f"Measure: {', '.join(KINDS)}.")
    ] = "jaccard",
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UselessUndirectedOption = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("pairs with their similarity")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the N most similar pairs; by default 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("similarities")] = False,
) -> None:
    """Compare the neighborhoods of the endpoints of each edge, or of pairs.

    Directions are ignored.
    """
    run = CommandRun(
        "similarities", {"EDGES": edges, "--pairs": pairs, "--vertices": vertices}, output=output,
        output_format=output_format, top=top, verify=verify,
    )  # fmt: skip
    graph: Any = read_graph_or_layers(
        context, run, edges, source, destination, ignored=UNDIRECTED_IGNORES,
        memory_limit=memory_limit, device=device, vertices=vertices, verify=verify,
        directed=False, self_loops="drop",
    )  # fmt: skip
    table = None
    if pairs is not None:
        table = _read_pairs(pairs, graph, device)
    result = rg.neighbor_similarity(graph, table, kind=kind, memory_limit=memory_limit)
    run.end_step("compared")
    run.report_graph(graph)
    if verify:
        rg.verify.neighbor_similarity(graph, result, table, kind=kind)
        run.report("verified: all pairs have as many common neighbors")
    run.write_result(
        result, lambda count: print_rows(columns_of(result.nlargest(count or 10, kind)), (kind,))
    )


def _read_pairs(path: str, graph: Any, device: Device) -> Frame:
    """Read the pairs of --pairs, as text where the names of the graph are."""
    storage = storage_of(graph)
    labeling, columns, text_columns = storage.labeling, [], []
    for names in pair_columns(labeling):
        for name, values in zip(names, labeling.names.distinct, strict=True):
            columns.append(name)
            if not (values is None or isinstance(values, storage.xp.ndarray)):
                text_columns.append(name)
    columns = [*dict.fromkeys(columns)]  # endpoints may share some
    return io.read_vertices(path, names=columns, device=device, text_columns=text_columns)
