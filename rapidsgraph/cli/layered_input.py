"""Open, build and reuse the layered edge lists that commands read.

EDGES is the folder of a stored layered edge list, or a file of edges beside which one is built. A
stored list is reused if its root, its options and the version of the file match; otherwise the
command reports the differences.
"""

import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import rapidsgraph as rg

from ..device import Device
from ..errors import GraphError
from ..graph.local_graph import SelfLoops, storage_of
from ..io.inputs import InputFiles
from ..io.remote import display_url
from ..layered import cache
from ..layered.cache import DEFAULTS
from ..validation import check_path, parse_bytes
from .files import STREAM, is_file_or_folder, open_edges
from .messages import EXECUTION, flag_option
from .options import (
    CommandRun,
    choose_weight_option,
    column_argument,
    is_given,
    vertex_columns,
)
from .sources import Source, build_from_root, parse_sources, root_columns, source_names
from .store_differences import describe_replacement, find_differences, unusable_store


def _parse_size(text: str) -> int:
    try:
        return parse_bytes(text, "the size")
    except GraphError as error:
        raise typer.BadParameter(str(error)) from None


LayersOption = Annotated[
    bool,
    flag_option(
        "--layers",
        help="Use the layered edge list beside EDGES; the first run builds it.",
        panel=EXECUTION,
    ),
]


def _memory_limit_option(text: str) -> Any:
    return Annotated[
        int | None,
        typer.Option(parser=_parse_size, metavar="SIZE", help=text, rich_help_panel=EXECUTION),
    ]


MemoryLimitOption = _memory_limit_option(
    "Stream a layered edge list within this memory, such as 2GB or 512MiB; by default the graph is "
    "in memory."
)
BuildLimitOption = _memory_limit_option(
    "Maximum memory of the build, such as 2GB or 512MiB, of which libraries take 45MB; by default "
    "half of the free memory."
)

INPUT_OPTIONS = (
    "source", "destination", "weight", "unweighted", "undirected", "multi_edges", "self_loops",
    "vertices",
)  # fmt: skip
# Options that the results of commands do not depend on.
BFS_IGNORES = "weight", "multi_edges", "self_loops", "minimum_edges"
SSSP_IGNORES = "self_loops", "minimum_edges"
PAGERANK_IGNORES = ("minimum_edges",)
LABEL_PROPAGATION_IGNORES = "weight", "minimum_edges"
DIRECTED_IGNORES = (*LABEL_PROPAGATION_IGNORES, "multi_edges", "self_loops")
UNDIRECTED_IGNORES = (*DIRECTED_IGNORES, "directed")


def is_store(path: str | Path | InputFiles) -> bool:
    """Return whether a path is the folder of a layered edge list, and not of Parquet files."""
    if isinstance(path, InputFiles):
        return False
    path = check_path(path)
    if not (path / "manifest.json").is_file():
        return False
    return not _has_parquet(path)


def _has_parquet(path: Path) -> bool:
    return any(file.suffix in (".parquet", ".pq") for file in path.rglob("*"))


def check_exists(edges: str) -> None:
    """Raise GraphError if EDGES is the path of a file or folder that does not exist."""
    if is_file_or_folder(edges) and not check_path(edges).exists():
        raise GraphError(f"{edges}: there is no such file or folder", path=edges)


def check_has_place(context: typer.Context, edges: str) -> None:
    """Raise an error unless layers can be stored beside EDGES."""
    if not is_file_or_folder(edges):
        name = display_url(edges)
        roots = context.params.get("roots") or [context.params.get("root")]
        root = shlex.quote(roots[0]) if len(roots) == 1 and roots[0] else "VERTEX"
        options = [*_format_given_options(context, ["format", *INPUT_OPTIONS, "minimum_edges"])]
        if edges == STREAM and not is_given(context, "format"):
            options = ["--format FORMAT", *options]
        words = ["rapidsgraph", "layer", shlex.quote(name), "--from", root, *options]
        hint = f"build them with `{' '.join(words)} --output FOLDER`, and give that folder"
        raise GraphError(
            f"{name}: layers are stored beside one local file or folder; {hint}",
            path=name,
            hint=hint,
        )
    refuse_options(context, ["format"], "layers beside EDGES depend on its ending only")


def _format_given_options(context: typer.Context, names: Iterable[str]) -> Iterator[str]:
    """Yield the words of the options, among those with these names, that a command was given."""
    for name in names:
        if is_given(context, name):
            option, value = f"--{name.replace('_', '-')}", context.params[name]
            if isinstance(value, bool):
                yield from [option] if value else []
                continue
            for item in value if isinstance(value, (list, tuple)) else [value]:
                yield f"{option} {shlex.quote(str(item))}"


def refuse_store(edges: str, command: str) -> None:
    """Raise GraphError if EDGES is a layered edge list, for commands that cannot take one."""
    if is_store(edges):
        raise GraphError(
            f"{edges}: {command} cannot use a layered edge list; give the file that it was built "
            "from",
            path=edges,
        )


def refuse_options(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Raise BadParameter if one of these options was given."""
    for name in names:
        if is_given(context, name):
            option = "--from" if name == "root" else "--" + name.replace("_", "-")
            raise typer.BadParameter(f"{reason}; leave it out", param_hint=option)


def uses_layers(
    context: typer.Context,
    edges: str,
    layers: bool,
    memory_limit: int | None,
    verify: bool,
    fixed: Collection[str] = INPUT_OPTIONS,
) -> bool:
    """Return whether a command works on a layered edge list; refuse options that do not apply.

    `fixed` are the options that a layered edge list determines.
    """
    check_exists(edges)
    if is_store(edges):
        refuse_options(
            context,
            fixed,
            f"{edges} is a layered edge list, in which this is fixed",
        )
    elif memory_limit is None:
        if layers:
            check_has_place(context, edges)
        return layers
    else:
        check_has_place(context, edges)
    if verify:
        raise typer.BadParameter(
            "verification needs the whole graph in memory; leave it out, or give a file of edges "
            "without --memory-limit",
            param_hint="--verify",
        )
    return True


def build_options(
    source: list[str] | None,
    destination: list[str] | None,
    undirected: bool,
    weight: str | None = None,
    **policies: Any,
) -> dict[str, Any]:
    """Return the options of `LayeredEdgeList.build` that differ from its defaults, and `weight`.

    `weight` is the column that the file has, or None.
    """
    options = {
        "source": column_argument(source),
        "destination": column_argument(destination),
        "weight": weight,
        "directed": not undirected,
        **policies,
    }
    if options.get("vertices") is not None:
        options["vertices"] = str(options["vertices"])
    if weight is None and options.get("multi_edges") in ("min", "max"):
        options["multi_edges"] = "first"  # without weights the policies do not differ
    return {
        name: value
        for name, value in options.items()
        if name == "weight" or (value is not None and value != DEFAULTS[name])
    }


def open_layered(run: CommandRun, folder: str | Path, device: Device) -> Any:
    """Open the layered edge list in a folder."""
    layered = rg.LayeredEdgeList.open(folder, device=device)
    run.end_step("opened")
    return layered


def read_rooted(
    context: typer.Context,
    run: CommandRun,
    edges: str,
    roots: tuple[list[str] | None, str | None],
    source: list[str] | None,
    destination: list[str] | None,
    *,
    by_layers: bool,
    ignored: Collection[str],
    undirected: bool,
    device: Device,
    policies: dict[str, Any],
    **streaming: Any,
) -> tuple[Any, Any, str | None, Callable[[], rg.Graph]]:
    """Read EDGES and the sources of a search.

    Parameters
    ----------
    roots : (list of str or None, path or None)
        The values of --from and --from-file.
    by_layers : bool
        As `uses_layers` returns it.
    ignored : collection of str
        Options that may differ from those of a stored list.
    policies : dict
        Options of `Graph` and of `LayeredEdgeList.build`.
    **streaming
        Options memory_limit and progress.

    Returns
    -------
    graph : Graph or LayeredEdgeList
    sources : names of vertices, or None for the root of a layered edge list
    column : str or None
        Column of weights, if the command uses weights.
    read_graph : callable
        Returns the Graph of a file of edges, also where `graph` is a layered edge list.
    """
    sources = [] if by_layers else parse_sources(*roots, vertex_columns(source, destination))
    files = column = None
    if not is_store(edges):
        files = open_edges(context)
        if "weight" in context.params:
            column = choose_weight_option(context, files, source, destination)

    def read_graph() -> rg.Graph:
        assert files is not None
        return run.read_graph(
            files, source, destination, column, device=device, directed=not undirected, **policies
        )

    if not by_layers:
        graph = read_graph()
        return graph, source_names(sources, graph), column, read_graph
    if files is not None:
        options = build_options(source, destination, undirected, column, **policies)
        root = parse_sources(*roots, root_columns(options))
        layered = load_cached(run, files, root, options, ignored, device=device, **streaming)
        return layered, None, column, read_graph
    layered, names = open_layered(run, edges, device), None
    if any(roots):
        storage = storage_of(layered)
        names = source_names(parse_sources(*roots, storage.names.labels), storage)
        names = names[0] if len(names) == 1 else names
    return layered, names, column, read_graph


def load_cached(
    run: CommandRun,
    edges: InputFiles,
    sources: list[Source] | None,
    options: dict[str, Any],
    ignored: Collection[str],
    *,
    device: Device,
    may_replace: bool = True,
    accepted: Collection[str] = INPUT_OPTIONS,
    always: bool = False,
    **build: Any,
) -> Any:
    """Open the layered edge list beside a file of edges, or build one if none matches.

    Parameters
    ----------
    sources : list of Source, or None
        The root, as `parse_sources` returns it; None for any root.
    may_replace : bool
        Whether to replace a list of the same version of the file with other options.
    accepted : collection of str
        Options that the command has, which an error may recommend.
    always : bool
        Whether to report the reuse of a list even if standard error is not a terminal.
    """
    local_path, folder = edges.local_path, cache.cache_path(edges)
    assert local_path is not None  # `check_has_place`
    cache.origin_of(edges, {})  # raises if the file does not exist
    store, problem = cache.load_store(folder)
    reasons = find_differences(store, edges, sources, options, ignored) if store else {}
    if store and not reasons:
        run.report(f"reused the layers in {folder}", always)
        return open_layered(run, folder, device)
    if store and not may_replace and "file" not in reasons:
        raise unusable_store(store, reasons, edges, options, accepted)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the cache is not used", RuntimeWarning)  # reported below
        layered = build_from_root(
            edges,
            options,
            sources,
            lambda name: rg.LayeredEdgeList.cached(
                local_path, name, device=device, **build, **options
            ),
        )
    run.end_step("layered")
    if problem:
        run.report(f"the existing layers were not used: {problem}", always=True)
    message = describe_replacement(store, reasons) if store else f"stored the layers in {folder}"
    run.report(message, always=True)
    return layered


def read_graph_or_layers(
    context: typer.Context,
    run: CommandRun,
    edges: str,
    source: list[str] | None,
    destination: list[str] | None,
    *,
    ignored: Collection[str],
    memory_limit: int | None,
    device: Device,
    vertices: str | None,
    verify: bool,
    directed: bool = True,
    self_loops: SelfLoops = "keep",
    accepted: Collection[str] | None = None,
) -> Any:
    """Return the graph of EDGES without weights, or with a memory limit its layered edge list.

    Parameters
    ----------
    ignored : collection of str
        Options that may differ from those of a stored list.
    self_loops : {"keep", "drop"}
        Policy of a graph; a list keeps self-loops, on which results do not depend if it is "drop".
    accepted : collection of str, optional
        Options that an error may recommend; by default all of the command.
    """
    by_layers = uses_layers(context, edges, False, memory_limit, verify)
    if is_store(edges):
        return open_layered(run, edges, device)
    files = open_edges(context)
    if not by_layers:
        return run.read_graph(
            files, source, destination, device=device, vertices=vertices, directed=directed,
            self_loops=self_loops,
        )  # fmt: skip
    options = build_options(source, destination, not directed, vertices=vertices)
    return load_cached(
        run, files, None, options, ignored, may_replace=False, accepted=accepted or context.params,
        device=device, memory_limit=memory_limit,
    )  # fmt: skip
