"""Rank the vertices of edge logs: clean them, merge what is repeated, PageRank.

    python pipelines/rank.py EDGES --output FOLDER [--scheduler ADDRESS | --workers N]

Reads Parquet and writes a folder: `ranks/` (Parquet: vertex, pagerank), `top.csv` and
`top.parquet`, `distribution.png` and `summary.json`.
"""

import sys
from pathlib import Path
from typing import Annotated

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
    SchedulerOption,
    SourceOption,
    WorkersOption,
    collected,
    number,
    running,
)
from rapidsgraph.cli.app import command
from rapidsgraph.io import write_frame

MOST_DRAWN = 5_000_000  # ranks that are brought here for the picture

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def rank(
    edges: EdgesArgument,
    output: OutputOption,
    source: SourceOption = "source",
    destination: DestinationOption = "destination",
    weight: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Weights; those of repeated rows are added."),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="An edge weighs as many rows as it has.")
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="When a row was logged: for --since and --until."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Take rows from this time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Take rows before this time.")
    ] = None,
    damping: Annotated[
        float,
        typer.Option(parser=number(0, 1), metavar="D", help="How likely an edge is followed."),
    ] = 0.85,
    tolerance: Annotated[
        float,
        typer.Option(parser=number(0), metavar="T", help="When ranks change less, they are done."),
    ] = 1e-6,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="So many in top.csv.")] = 100,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
):
    """Rank the vertices of edge logs by PageRank."""
    if weight and count:
        raise typer.BadParameter("weights are added already; leave this out", param_hint="--count")
    if (since or until) and not time:
        raise typer.BadParameter("--since and --until need it", param_hint="--time")
    if time and not (since or until):
        raise typer.BadParameter("it is for --since and --until; give one", param_hint="--time")
    rg.plot.check()
    columns = {"source": source, "destination": destination, "weight": weight, "time": time}
    files = log_files.opened(edges, **columns)
    window = edge_logs.window(files, since, until) if time else None
    options = {**columns, "since": since, "until": until, "count": count}
    options |= {"damping": damping, "tolerance": tolerance}
    with running(
        "rank", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as job:  # fmt: skip
        with job.step("cleaning"):
            frame, counts = edge_logs.read(files, job.device, window)
        job.tell("edges", **counts)
        with job.step("graph"):
            graph = _graph(frame, source, destination, weight, count)
        repeated = counts["kept"] - graph.num_edges
        job.tell("graph", vertices=graph.num_vertices, edges=graph.num_edges, repeated=repeated)
        with job.step("pagerank") as report:
            ranks = rg.pagerank(graph, damping=damping, tolerance=tolerance, progress=report)
        with job.step("writing"):
            job.write(ranks, "ranks")
        with job.step("top and picture"):
            _write_top(ranks, top, job)
            _draw(ranks, graph.num_vertices, job)


def _graph(frame, source, destination, weight, count):
    """Merge repeated rows into one edge; its weight is the sum of theirs, or their count."""
    if count:
        frame = frame.rename(columns={source: "source", destination: "destination"})
        source, destination, weight = "source", "destination", "weight"
        frame = frame.assign(weight=1.0)
    multi_edges = "sum" if weight else "first"
    return rg.Graph(frame, source, destination, weight=weight, multi_edges=multi_edges)


def _write_top(ranks, count, job):
    highest = collected(ranks.nlargest(count, "pagerank"))
    highest.insert(0, "rank", range(1, len(highest) + 1))
    for name in ("top.csv", "top.parquet"):
        write_frame(highest, job.folder / name)
    vertex, its_rank = (highest[name].iloc[0] for name in ("vertex", "pagerank"))
    job.tell("pagerank", highest=str(vertex), its_rank=float(its_rank))


def _draw(ranks, vertices, job):
    """Plot the distribution of PageRank; above MOST_DRAWN vertices, that of a sample."""
    column = ranks[["pagerank"]]
    if vertices > MOST_DRAWN:
        column = column.sample(frac=MOST_DRAWN / vertices, random_state=0)
        job.tell("pagerank", picture=f"of a sample of about {MOST_DRAWN:,} vertices")
    rg.plot.distribution(collected(column), job.folder / "distribution.png")


if __name__ == "__main__":
    app()
