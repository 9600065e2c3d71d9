"""Command ``layer``: build a layered edge list, or show one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import rapidsgraph as rg

from ..errors import format_bytes
from ..graph.local_graph import storage_of
from ..io.inputs import InputFiles
from ..layered import cache, store_writer
from ..validation import DEFAULT_WEIGHT
from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, open_edges
from .layered_input import (
    INPUT_OPTIONS,
    BuildLimitOption,
    build_options,
    check_exists,
    check_has_place,
    is_store,
    load_cached,
    open_layered,
    refuse_options,
)
from .messages import OUTPUT, note, pluralize
from .options import (
    CommandRun,
    DestinationOption,
    EdgesOrLayersArgument,
    MultiEdgesOption,
    ProgressOption,
    SelfLoopsOption,
    SourceOption,
    UndirectedOption,
    UnweightedOption,
    VerticesOption,
    WeightOption,
    choose_weight_option,
    note_missing_weights,
    top_option,
)
from .sources import Source, build_from_root, parse_sources, root_columns
from .store_differences import describe_replacement, find_differences

BUILD_OPTIONS = "root", "output", "minimum_edges", "memory_limit"


@command(
    app,
    examples=[
        "layer debian.parquet --from git",
        "layer debian.parquet --from git --memory-limit 200MB --output git.layers",
        "layer git.layers --top 3",
        "bfs git.layers",
    ],
)
def layer(
    context: typer.Context,
    edges: EdgesOrLayersArgument,
    format: FormatOption = None,
    root: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="VERTEX",
            help="The root. Write a,b,... if several columns name a vertex.",
        ),
    ] = None,
    source: SourceOption = None,
    destination: DestinationOption = None,
    weight: WeightOption = DEFAULT_WEIGHT,
    unweighted: UnweightedOption = False,
    undirected: UndirectedOption = False,
    multi_edges: MultiEdgesOption = "min",
    self_loops: SelfLoopsOption = "keep",
    vertices: VerticesOption = None,
    minimum_edges: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Combine layers into edge lists of at least N edges; by default as many as "
            "occupy all threads of the device.",
        ),
    ] = None,
    memory_limit: BuildLimitOption = None,
    device: DeviceOption = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="Folder of the layered edge list; by default EDGES with .layers appended.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        top_option(
            "Print the first N layers; by default all if EDGES is a layered edge list, else none."
        ),
    ] = None,
    progress: ProgressOption = None,
) -> None:
    """Build a layered edge list, which most commands take as EDGES.

    The graph may be larger than memory. If EDGES is a layered edge list, show its layers.
    """
    check_exists(edges)
    if is_store(edges):
        refuse_options(
            context,
            [*BUILD_OPTIONS, *INPUT_OPTIONS],
            f"{edges} is a layered edge list, which is only shown",
        )
        run = CommandRun("layers", {"EDGES": edges}, top=top)
        _show(open_layered(run, edges, device), edges, top)
        return
    if root is None:
        raise typer.BadParameter("name the root", param_hint="--from")
    if output is None:
        check_has_place(context, edges)
    run = CommandRun("layers", {"EDGES": edges, "--vertices": vertices}, top=top)
    files = open_edges(context)
    options = build_options(
        source,
        destination,
        undirected,
        choose_weight_option(context, files, source, destination),
        multi_edges=multi_edges,
        self_loops=self_loops,
        minimum_edges=minimum_edges,
        vertices=vertices,
    )
    sources = parse_sources([root], None, root_columns(options))
    build: dict[str, Any] = {"device": device, "memory_limit": memory_limit, "progress": progress}
    if output is None:
        layered = load_cached(run, files, sources, options, (), always=True, **build)
        folder = cache.cache_path(files)
    else:
        layered, folder = _build(run, files, sources, options, output, build), output
    run.report(f"{pluralize(layered.num_edges, 'edge')} in {folder}", always=True)
    run.report_graph(layered)
    note_missing_weights(context)
    if top:
        _show(layered, folder, top)


def _build(
    run: CommandRun,
    edges: InputFiles,
    sources: list[Source],
    options: dict[str, Any],
    output: Path,
    build: dict[str, Any],
) -> rg.LayeredEdgeList:
    """Build a layered edge list in a folder, in which it replaces another one."""
    store_writer.check_destination(output)
    store, problem = cache.load_store(output)
    reasons = find_differences(store, edges, sources, options, ()) if store else {}
    layered = build_from_root(
        edges,
        options,
        sources,
        lambda name: rg.LayeredEdgeList.build(edges, name, store=output, **build, **options),
    )
    run.end_step("layered")
    if store:
        run.report(describe_replacement(store, reasons), always=True)
    elif problem:
        run.report(f"the existing layers were not used: {problem}", always=True)
    return layered


def _show(layered: rg.LayeredEdgeList, folder: str | Path, count: int | None) -> None:
    """Print a summary on standard error, and a row for each of the first `count` layers."""
    storage = storage_of(layered)
    num_unreached = layered.num_vertices - int(storage.layer_starts[-1])
    root = layered.root if isinstance(layered.root, tuple) else [layered.root]
    weights = "no weights"
    if storage.weight_dtype is not None:
        weights = f"weights ({storage.weight_dtype.__name__})"
    bytes_per_edge = layered.nbytes / max(layered.num_edges, 1)
    for line in (
        f"{folder}: {pluralize(layered.num_vertices, 'vertex', 'vertices')}, "
        f"{pluralize(layered.num_edges, 'edge')}, "
        f"{'directed' if layered.directed else 'undirected'}, {weights}",
        f"root {','.join(map(str, root))}, depth {layered.depth:,}, "
        f"{pluralize(num_unreached, 'vertex', 'vertices')} unreached",
        f"{pluralize(len(storage.table), 'partition')}, {format_bytes(layered.nbytes)}, "
        f"{bytes_per_edge:.2f} bytes per edge; "
        f"{pluralize(len(layered.combined), 'combined edge list')}",
    ):
        note(line)
    rows = layered.layers.head(count or layered.depth + 1)
    print_rows(columns_of(rows), rows.columns)
