"""`rapidsgraph pagerank`."""

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import GraphError
from .app import ColumnOption, Device, DeviceOption, app, command, print_highest

Method = StrEnum("Method", "auto edge node contribution warp")
Precision = StrEnum("Precision", "double single")
MultiEdges = StrEnum("MultiEdges", "first sum min max keep")
SelfLoops = StrEnum("SelfLoops", "keep drop")


@command(app)
def pagerank(
    edges: Annotated[
        Path, typer.Argument(metavar="EDGES", help="CSV, TSV, SNAP, Parquet, Arrow, .mtx")
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Where edges begin; again for names of several."),
    ] = None,
    destination: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Where they end; likewise.")
    ] = None,
    weight: ColumnOption = None,
    undirected: Annotated[bool, typer.Option("--undirected", help="Edges go both ways.")] = False,
    multi_edges: Annotated[MultiEdges, typer.Option(help="What to make of repeated edges.")] = (
        MultiEdges.first
    ),
    self_loops: SelfLoops = SelfLoops.keep,
    damping: Annotated[
        float, typer.Option(min=0, max=1, help="Probability of following an edge.")
    ] = 0.85,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Stop when ranks change by less in total; 0: never.")
    ] = 1e-6,
    max_iterations: Annotated[int, typer.Option(min=1)] = 100,
    method: Annotated[Method, typer.Option(help="How; the ranks are the same.")] = Method.auto,
    precision: Precision = Precision.double,
    dangling: Annotated[
        str, typer.Option(metavar="uniform|drop|FILE", help="Where the rank of sinks goes.")
    ] = "uniform",
    personalization: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Columns vertex and one of weights.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(metavar="FILE", help="First ranks, such as an earlier result.")
    ] = None,
    device: DeviceOption = Device.auto,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all ranks here.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Print the N highest; 10 if there is no --output.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the ranks.")] = False,
    progress: Annotated[
        bool | None, typer.Option(help="A progress bar; by default on a terminal.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw how the ranks are spread.")
    ] = None,
):
    """Rank vertices by PageRank."""
    from .. import Graph, files
    from .. import pagerank as rank

    if output and files.check_writable(output) == "mtx":
        raise GraphError(f"{output}: Matrix Market holds edges, not ranks; try .parquet or .csv")
    if plot:
        from .. import plot as pictures

        pictures.check(plot)
    tables = {"personalization": personalization, "start": start, "dangling": dangling}
    if dangling in ("uniform", "drop"):
        del tables["dangling"]
    tables = {what: path for what, path in tables.items() if path}
    source, destination = _one_or_several(source), _one_or_several(destination)
    is_plain = not isinstance(source, list) and not isinstance(destination, list)
    began = time.perf_counter()
    values = {"dangling": dangling}
    if is_plain:  # a mistake in them shows before the long work
        values |= {what: files.read_table(path, device=device) for what, path in tables.items()}
    frame = files.read_edges(
        edges, source=source, destination=destination, weight=weight, device=device
    )
    read = time.perf_counter()
    graph = Graph(
        frame,
        *(("source", "destination") if is_plain else (source, destination)),
        weight=weight and ("weight" if is_plain else weight),
        directed=not undirected,
        multi_edges=multi_edges.value,
        self_loops=self_loops.value,
    )
    del frame
    if not is_plain:
        names = list(graph.vertices.columns)
        values |= {
            what: files.read_table(path, names=names, device=device)
            for what, path in tables.items()
        }
    built = time.perf_counter()
    ranks = rank(
        graph,
        damping=damping,
        tolerance=tolerance,
        max_iterations=max_iterations,
        method=method.value,
        precision=precision.value,
        progress=progress,
        **values,
    )
    ranked = time.perf_counter()
    if sys.stderr.isatty() or verify:
        typer.echo(
            f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges on the "
            f"{graph.device.upper()}: read in {read - began:.2f} s, built in {built - read:.2f} s, "
            f"ranked in {ranked - built:.2f} s",
            err=True,
        )
    if verify:
        from .. import verify as checks

        values.pop("start", None)
        change = checks.pagerank(
            graph, ranks, damping=damping, tolerance=tolerance or 1e-6, **values
        )
        typer.echo(f"verified: the formula changes the ranks by {change:.1e} in total", err=True)
    if output:
        files.write_frame(ranks, output)
    if top or not output:
        print_highest(ranks, "pagerank", top or 10)
    if plot:
        pictures.distribution(ranks, plot)


def _one_or_several(columns):
    """None, a name, or a list of them, as `read_edges` takes them."""
    return columns[0] if columns and len(columns) == 1 else columns or None
