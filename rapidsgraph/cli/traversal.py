"""`rapidsgraph bfs` and `rapidsgraph sssp`."""

import math
from typing import Annotated

import numpy as np
import typer

from .app import Device, DeviceOption, app, columns_of, command, print_rows
from .graphs import (
    DestinationOption,
    EdgesArgument,
    Job,
    MultiEdges,
    MultiEdgesOption,
    SourceOption,
    UndirectedOption,
    output_option,
    plot_option,
    top_option,
    verify_option,
    vertex_columns,
)
from .starts import FromFileOption, FromOption, named, written

NoPredecessorsOption = Annotated[
    bool, typer.Option("--no-predecessors", help="Leave out the vertex before each.")
]


def _number(cutoff):
    if cutoff is not None and math.isnan(cutoff):
        raise typer.BadParameter("nan is no distance")
    return cutoff


@command(app)
def bfs(
    edges: EdgesArgument,
    starts: FromOption = None,
    starts_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UndirectedOption = False,
    depth_limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Go no farther than N edges.")
    ] = None,
    no_predecessors: NoPredecessorsOption = False,
    device: DeviceOption = Device.auto,
    output: output_option("vertices with their distances") = None,
    top: top_option("Print the N first levels; all if no --output.") = None,
    verify: verify_option("distances") = False,
    plot: plot_option("how the distances are spread") = None,
):
    """How many edges away vertices are: breadth-first search.

    One of --from and --from-file is needed.
    """
    from .. import bfs as search
    from .. import plot as pictures

    inputs = {"EDGES": edges, "--from-file": starts_file}
    job = Job("distances", output, top, verify, plot, inputs, has_nulls=True)
    starts = written(starts, starts_file, vertex_columns(source, destination))
    graph = job.read(edges, source, destination, device=device, directed=not undirected)
    names = named(starts, graph)
    result = search(graph, names, depth_limit=depth_limit, predecessors=not no_predecessors)
    job.tell(graph, "searched")
    levels = np.bincount(result["distance"].dropna().to_numpy())
    job.say(_reached(graph, levels.sum(), levels.size - 1))
    if verify:
        from .. import verify as checks

        checks.bfs(graph, result, names, depth_limit=depth_limit)
        job.say("verified: no edge spans two levels, and one leads to each vertex reached")

    def show(count):
        first = levels[:count]
        columns = [("distance", np.arange(first.size)), ("vertices", first)]
        print_rows(columns, ("distance", "vertices"))

    job.deliver(result, show, lambda path: pictures.distribution(result, path))


@command(app)
def sssp(
    edges: EdgesArgument,
    starts: FromOption = None,
    starts_file: FromFileOption = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What edges cost. By default weight, if there is such a column, or 1 each.",
        ),
    ] = None,
    undirected: UndirectedOption = False,
    multi_edges: MultiEdgesOption = MultiEdges.min,
    cutoff: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", callback=_number, help="Go no farther than X."),
    ] = None,
    no_predecessors: NoPredecessorsOption = False,
    device: DeviceOption = Device.auto,
    output: output_option("vertices with their distances") = None,
    top: top_option("Print the N nearest but the sources; 10 if no --output.") = None,
    verify: verify_option("distances") = False,
    plot: plot_option("how the distances are spread") = None,
):
    """The cheapest way to each vertex: shortest paths by weight.

    One of --from and --from-file is needed.
    """
    from .. import plot as pictures
    from .. import sssp as search
    from ..vertex_values import source_ids

    inputs = {"EDGES": edges, "--from-file": starts_file}
    job = Job("distances", output, top, verify, plot, inputs, has_nulls=not no_predecessors)
    starts = written(starts, starts_file, vertex_columns(source, destination))
    is_given = weight is not None
    if not is_given:
        weight = _weight_column(edges, [*(source or ()), *(destination or ())])
    graph = job.read(
        edges,
        source,
        destination,
        weight,
        device=device,
        directed=not undirected,
        multi_edges=multi_edges.value,
    )
    names = named(starts, graph)
    result = search(graph, names, cutoff=cutoff, predecessors=not no_predecessors)
    job.tell(graph, "searched")
    distances = result["distance"].values
    is_reached = graph.xp.isfinite(distances)
    if weight is None:
        job.say("there is no column 'weight', and no --weight names one: each row costs 1", True)
    elif not is_given:
        job.say("an edge costs what column 'weight' says")
    job.say(_reached(graph, is_reached.sum(), float(distances[is_reached].max())))
    if verify:
        from .. import verify as checks

        checks.sssp(graph, result, names, cutoff=cutoff)
        job.say("verified: no edge shortens a path, and one leads to each vertex reached")

    def show(count):
        is_reached[source_ids(graph, names)] = False
        rows = graph.xp.flatnonzero(is_reached)
        order = graph.xp.argsort(distances[rows], kind="stable")[: count or 10]
        print_rows(columns_of(result.take(rows[order])), ("distance",))

    job.deliver(result, show, lambda path: pictures.distribution(result, path))


def _reached(graph, count, farthest):
    return (
        f"reached {int(count):,} of {graph.num_vertices:,} vertices, the farthest at distance "
        f"{farthest:.6g}"
    )


def _weight_column(edges, ends):
    """ "weight" where the file has such a column and no end of edges is in it."""
    from .. import files, formats

    path = edges.expanduser()
    with formats.reading(path):
        there = formats.opened(path, files.POSITIONAL).names
    return "weight" if "weight" in there and "weight" not in ends else None
