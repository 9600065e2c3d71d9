"""Command ``pagerank``."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import rapidsgraph as rg

from .. import io
from ..algorithms.pagerank import DANGLING, METHODS, PageRankMethod, Precision
from ..errors import GraphError
from ..graph.local_graph import storage_of
from ..graph.multi_edges import MULTI_EDGES, MultiEdges
from ..io.inputs import open_input
from ..validation import DEFAULT_WEIGHT
from .app import DeviceOption, app, command, print_highest
from .files import FormatOption, OutputFormatOption, open_edges
from .layered_input import (
    PAGERANK_IGNORES,
    MemoryLimitOption,
    build_options,
    is_store,
    load_cached,
    open_layered,
    uses_layers,
)
from .messages import EXECUTION, GRAPH
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
    ProgressOption,
    SelfLoopsOption,
    SourceOption,
    UndirectedOption,
    UnweightedOption,
    VerticesOption,
    WeightOption,
    choose_weight_option,
    is_given,
    note_missing_weights,
    output_option,
    plot_option,
    top_option,
    verify_option,
    vertex_columns,
)
from .store_differences import default_multi_edges


def _is_pipe(path: str) -> bool:
    """Return whether a path or URL is a named pipe, which can be read only once."""
    return Path(path.removeprefix("file://")).is_fifo()


@contextlib.contextmanager
def _located_rows(tables: Mapping[str, str | None], columns: Sequence[str]) -> Iterator[None]:
    """Add the file, and in text the line, to an error about a row of one of the tables."""
    try:
        yield
    except GraphError as error:
        path = tables.get(error.parameter or "")
        if error.row is None or not path or _is_pipe(path):
            raise
        with open_input(path) as files:
            located = io.locate_error(error, files, columns)
        raise located from None


@command(
    app,
    examples=[
        "pagerank debian.parquet --top 5",
        "pagerank debian.parquet --output ranks.parquet --verify",
        "pagerank debian.parquet --start ranks.parquet --damping 0.9 --tolerance 1e-7",
        "pagerank grid.parquet --undirected --dangling drop --output ranks.csv",
    ],
)
def pagerank(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    undirected: UndirectedOption = False,
    multi_edges: Annotated[
        MultiEdges | None,
        typer.Option(
            metavar="POLICY",
            rich_help_panel=GRAPH,
            help=f"How to merge parallel edges: {', '.join(MULTI_EDGES)}. By default, weights are "
            "summed; without weights, one edge is kept.",
        ),
    ] = None,
    self_loops: SelfLoopsOption = "keep",
    vertices: VerticesOption = None,
    damping: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="D", help="Probability of following an edge."),
    ] = 0.85,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="T",
            help="Stop when the L1 change of an iteration is below T; 0 runs all --max-iterations.",
        ),
    ] = 1e-6,
    max_iterations: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of iterations; an error if the tolerance is not reached by then.",
        ),
    ] = 100,
    method: Annotated[
        PageRankMethod,
        typer.Option(
            metavar="METHOD",
            rich_help_panel=EXECUTION,
            help=f"Algorithm, without effect on the result: {', '.join(METHODS)}.",
        ),
    ] = "auto",
    precision: Annotated[
        Precision,
        typer.Option(
            metavar="P",
            help="Precision of the values: double or single.",
            rich_help_panel=EXECUTION,
        ),
    ] = "double",
    dangling: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Where the PageRank of dangling vertices goes: uniform, drop, or a FILE with the "
            "columns vertex and one of weights; by default to the personalization.",
        ),
    ] = None,
    personalization: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Teleport weights: columns vertex and one of numbers; by default all are equal.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Start values, such as an earlier result; by default all are equal.",
        ),
    ] = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    output: Annotated[str | None, output_option("vertices with their PageRank")] = None,
    output_format: OutputFormatOption = None,
    top: Annotated[
        int | None, top_option("Print the N highest; by default 10 if no --output.")
    ] = None,
    verify: Annotated[bool, verify_option("values")] = False,
    progress: ProgressOption = None,
    plot: Annotated[Path | None, plot_option("the distribution of PageRank")] = None,
) -> None:
    """Compute the PageRank of each vertex.

    With --memory-limit, edges stream from the layered edge list beside EDGES, whatever its root. If
    there is none, it is built from the source of the first edge. A list with other weights is not
    replaced.
    """
    by_layers = uses_layers(context, edges, False, memory_limit, verify)
    if by_layers and method != "auto":
        raise typer.BadParameter("layered edge lists support only auto", param_hint="--method")
    tables = {"personalization": personalization, "start": start}
    if dangling is not None and dangling not in DANGLING:
        tables["dangling"] = dangling
    run = CommandRun(
        "PageRank values",
        {"EDGES": edges, "--vertices": vertices}
        | {f"--{name}": path for name, path in tables.items()},
        output=output,
        output_format=output_format,
        top=top,
        verify=verify,
        plot=plot,
    )
    graph: Any = open_layered(run, edges, device) if is_store(edges) else None
    names = storage_of(graph).names.labels if graph else vertex_columns(source, destination)
    parameters: dict[str, Any] = {"dangling": dangling}
    for name, path in tables.items():  # read first: an error in them shows before the long work
        if path:
            parameters[name] = io.read_vertex_values(path, names=names, device=device)
    column, files = None, None
    if graph is None:
        files = open_edges(context)
        column = choose_weight_option(context, files, source, destination)
    policies = {
        "multi_edges": multi_edges or default_multi_edges(column), "self_loops": self_loops,
    }  # fmt: skip
    if by_layers and files is not None:
        options = build_options(
            source, destination, undirected, column, vertices=vertices, **policies
        )
        graph = load_cached(
            run,
            files,
            None,
            options,
            PAGERANK_IGNORES,
            may_replace=False,
            device=device,
            memory_limit=memory_limit,
            progress=progress,
        )
    elif files is not None:
        graph = run.read_graph(
            files,
            source,
            destination,
            column,
            device=device,
            vertices=vertices,
            directed=not undirected,
            **policies,
        )
    with _located_rows(tables, [*names, "value"]):
        result = rg.pagerank(
            graph,
            damping=damping,
            tolerance=tolerance,
            max_iterations=max_iterations,
            method=method,
            precision=precision,
            progress=progress,
            memory_limit=memory_limit,
            **parameters,
        )
    run.end_step("PageRank")
    run.report_graph(graph)
    if is_store(edges) and graph.weighted:
        run.report("the layered edge list has weights, which are used")
    elif column is None:
        note_missing_weights(context)
    elif not is_given(context, "weight"):
        run.report("the weights of edges are those of column 'weight'")
    if verify:
        parameters.pop("start", None)
        residual = rg.verify.pagerank(
            graph, result, damping=damping, tolerance=tolerance or 1e-6, **parameters
        )
        run.report(f"verified: another iteration changes the values by {residual:.1e} in total")
    run.write_result(
        result,
        lambda count: print_highest(result, "pagerank", count or 10),
        lambda path: rg.plot.distribution(result, path),
    )
