"""Compute the PageRank of vertices in edge logs: clean the logs, merge repeated rows, rank.

    python pipelines/rank.py EDGES --output FOLDER [--scheduler ADDRESS | --workers N]

Reads Parquet and writes a folder: `pagerank/` (Parquet: vertex, pagerank), `top.csv` and
`top.parquet`, `distribution.png` and `summary.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when run as a script

from rapidsgraph.signals import exit_on_signals

if __name__ == "__main__":
    exit_on_signals()  # before the imports that take time

import typer

import rapidsgraph as rg
from pipelines import edge_logs, log_files
from pipelines.runtime import (
    DestinationOption,
    Device,
    DeviceOption,
    EdgesArgument,
    OutputOption,
    OverwriteOption,
    PipelineRun,
    SchedulerOption,
    SourceOption,
    UnweightedOption,
    WeightOption,
    WorkersOption,
    compute_pandas,
    parse_number,
    run_pipeline,
    weight_argument,
)
from rapidsgraph.cli.app import command
from rapidsgraph.io import write_frame
from rapidsgraph.validation import DEFAULT_WEIGHT

MAX_PLOTTED = 5_000_000  # values that are transferred to this process for the plot

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def rank(
    edges: EdgesArgument,
    output: OutputOption,
    source: SourceOption = "source",
    destination: DestinationOption = "destination",
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    count: Annotated[
        bool, typer.Option("--count", help="Use the number of rows of an edge as its weight.")
    ] = False,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of times for --since and --until.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Use rows from this time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Use rows before this time.")
    ] = None,
    damping: Annotated[
        float,
        typer.Option(
            parser=parse_number(0, 1), metavar="D", help="Probability of following an edge."
        ),
    ] = 0.85,
    tolerance: Annotated[
        float,
        typer.Option(
            parser=parse_number(0), metavar="T", help="Stop when the L1 change is below T."
        ),
    ] = 1e-6,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Number of rows of top.csv.")] = 100,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
) -> None:
    """Rank the vertices of edge logs by PageRank."""
    if weight != DEFAULT_WEIGHT and count:
        raise typer.BadParameter("leave out this or --weight", param_hint="--count")
    if (since or until) and not time:
        raise typer.BadParameter("--since and --until require it", param_hint="--time")
    if time and not (since or until):
        raise typer.BadParameter("it requires --since or --until", param_hint="--time")
    rg.plot.check()
    columns: dict[str, str | None] = {
        "source": source, "destination": destination, "time": time,
        "weight": weight_argument(weight, unweighted or count),
    }  # fmt: skip
    files = log_files.open_log_files(edges, **columns)
    columns["weight"] = files.columns.get("weight")
    window = edge_logs.parse_window(files, since, until) if time else None
    options: dict[str, Any] = {**columns, "since": since, "until": until, "count": count}
    options |= {"damping": damping, "tolerance": tolerance}
    with run_pipeline(
        "rank", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as run:  # fmt: skip
        with run.step("cleaning"):
            frame, counts = edge_logs.read_edges(files, run.device, window)
        run.record("edges", **counts)
        with run.step("graph"):
            graph = _build_graph(frame, source, destination, columns["weight"], count)
        repeated = counts["kept"] - graph.num_edges
        run.record("graph", vertices=graph.num_vertices, edges=graph.num_edges, repeated=repeated)
        with run.step("pagerank") as report:
            result = rg.pagerank(graph, damping=damping, tolerance=tolerance, progress=report)
        with run.step("writing"):
            run.write_parquet(result, "pagerank")
        with run.step("top and plot"):
            _write_top(result, top, run)
            _plot_distribution(result, graph.num_vertices, run)


def _build_graph(
    frame: Any, source: str, destination: str, weight: str | None, count: bool
) -> rg.Graph:
    """Merge repeated rows into one edge; its weight is the sum of theirs, or their count."""
    if count:
        frame = frame.rename(columns={source: "source", destination: "destination"})
        source, destination, weight = "source", "destination", "weight"
        frame = frame.assign(weight=1.0)
    multi_edges = "sum" if weight else "first"
    return rg.Graph(frame, source, destination, weight=weight, multi_edges=multi_edges)


def _write_top(result: Any, count: int, run: PipelineRun) -> None:
    highest = compute_pandas(result.nlargest(count, "pagerank"))
    highest.insert(0, "rank", range(1, len(highest) + 1))
    for name in ("top.csv", "top.parquet"):
        write_frame(highest, run.folder / name)
    vertex, value = (highest[name].iloc[0] for name in ("vertex", "pagerank"))
    run.record("pagerank", highest_vertex=str(vertex), highest_value=float(value))


def _plot_distribution(result: Any, num_vertices: int, run: PipelineRun) -> None:
    """Plot the distribution of PageRank; above MAX_PLOTTED vertices, that of a sample."""
    column = result[["pagerank"]]
    if num_vertices > MAX_PLOTTED:
        column = column.sample(frac=MAX_PLOTTED / num_vertices, random_state=0)
        run.record("pagerank", plot=f"of a sample of about {MAX_PLOTTED:,} vertices")
    rg.plot.distribution(compute_pandas(column), run.folder / "distribution.png")


if __name__ == "__main__":
    app()
