"""`rapidsgraph layer`."""

from pathlib import Path
from typing import Annotated

import typer

import rapidsgraph as rg

from ..layered import cache, store_writer
from ..layered.edge_list import layered_storage
from .app import Device, DeviceOption, app, columns_of, command, print_rows
from .layered_input import (
    READING,
    BuildLimitOption,
    build_options,
    check_exists,
    describe_replacement,
    find_differences,
    format_bytes,
    is_store,
    load_cached,
    open_layered,
    pluralize,
    refuse_options,
)
from .options import (
    DestinationOption,
    EdgesOrLayersArgument,
    Job,
    MultiEdges,
    MultiEdgesOption,
    ProgressOption,
    SelfLoops,
    SelfLoopsOption,
    SourceOption,
    UndirectedOption,
    VerticesOption,
    top_option,
)
from .sources import Root, parse_starts

MAKING = "root", "output", "minimum_edges", "memory_limit"


@command(app)
def layer(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    root: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="VERTEX",
            help="The root; a,b,... where columns a, b, ... name a vertex.",
        ),
    ] = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Weights of edges; by default none.")
    ] = None,
    undirected: UndirectedOption = False,
    multi_edges: MultiEdgesOption = MultiEdges.min,
    self_loops: SelfLoopsOption = SelfLoops.keep,
    vertices: VerticesOption = None,
    minimum_edges: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="A combined edge list has at least so many."),
    ] = None,
    memory_limit: BuildLimitOption = None,
    device: DeviceOption = Device.auto,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where to put the layers; by default beside EDGES, with .layers behind its name.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        top_option(
            "Print the N first layers; by default all of a folder that is shown, else none."
        ),
    ] = None,
    progress: ProgressOption = None,
):
    """Put edges into a layered edge list, which bfs, sssp and pagerank take as EDGES.

    The graph may be larger than memory. Given a folder of this kind, show what is in it.
    """
    check_exists(edges)
    if is_store(edges):
        refuse_options(context, [*MAKING, *READING], f"{edges} is a layered edge list, to be shown")
        job = Job("layers", None, top, False, None, {"EDGES": edges})
        _show(open_layered(job, edges, device), edges, top)
        return
    if root is None:
        raise typer.BadParameter("name the vertex that is to be the root", param_hint="--from")
    job = Job("layers", None, top, False, None, {"EDGES": edges, "--vertices": vertices})
    policies = {
        "multi_edges": multi_edges.value,
        "self_loops": self_loops.value,
        "minimum_edges": minimum_edges,
        "vertices": vertices,
    }
    options = build_options(source, destination, undirected, weight, **policies)
    start = Root(options, parse_starts([root], None, Root.labels(options)))
    how = {"device": device, "memory_limit": memory_limit, "progress": progress}
    if output is None:
        layered = load_cached(job, edges, start, options, (), always=True, **how)
        folder = cache.cache_path(edges)
    else:
        layered, folder = _made(job, edges, start, options, output, how), output
    job.say(f"{layered.num_edges:,} edges in {folder}", always=True)
    job.tell(layered)
    if top:
        _show(layered, folder, top)


def _made(job, edges, start, options, output, how):
    """The LayeredEdgeList that is put into a folder, whatever layers were in it."""
    store_writer.check_destination(output)
    store_writer.check_separate(output, edges)
    store, problem = cache.load_store(output)
    reasons = find_differences(store, edges, start, options, ()) if store else {}
    layered = start.build(
        edges,
        lambda name: rg.LayeredEdgeList.build(edges, name, store=output, **how, **options),
    )
    job.note("layered")
    if store:
        job.say(describe_replacement(store, reasons), always=True)
    elif problem:
        job.say(f"the layers there were not used: {problem}", always=True)
    return layered


def _show(layered, folder, count):
    """Facts on standard error, a row a layer on standard output."""
    storage = layered_storage(layered)
    unreached = layered.num_vertices - int(storage.layer_starts[-1])
    root = layered.root if isinstance(layered.root, tuple) else [layered.root]
    weights = "no weights"
    if storage.weight_dtype is not None:
        weights = f"weights ({storage.weight_dtype.__name__})"
    each = layered.nbytes / max(layered.num_edges, 1)
    combined = layered.combined
    for line in (
        f"{folder}: {pluralize(layered.num_vertices, 'vertex', 'vertices')}, "
        f"{pluralize(layered.num_edges, 'edge')}, "
        f"{'directed' if layered.directed else 'undirected'}, {weights}",
        f"root {','.join(map(str, root))}, depth {layered.depth:,}, "
        f"{pluralize(unreached, 'vertex', 'vertices')} unreached",
        f"{pluralize(len(storage.table), 'partition')}, {format_bytes(layered.nbytes)}, "
        f"{each:.2f} bytes an edge; {pluralize(len(combined), 'combined edge list')}",
    ):
        typer.echo(line, err=True)
    rows = layered.layers.head(count or layered.depth + 1)
    print_rows(columns_of(rows), rows.columns)
