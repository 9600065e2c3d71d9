"""Layered edge lists for commands: which options there are, folders, what a run took.

Means: EDGES may be the folder of a store, or a file with a store beside it, which is made where it
  is missing.
"""
# Layers that are there already: whether they are what a command needs, and if not, why.
#
# Means: the root, the options and the version of the file that a store was made of, beside those that  # noqa: E501
#   are wanted.

import json
import shlex
import warnings
from typing import Annotated

import typer

from ..errors import GraphError
from .options import one_or_several
from .sources import Root, named, written


def _bytes(text):
    from ..validation import parse_bytes

    try:
        return parse_bytes(text, "the size")
    except GraphError as error:
        raise typer.BadParameter(str(error)) from None


LayersOption = Annotated[
    bool,
    typer.Option("--layers", help="By the layers beside EDGES, which are made the first time."),
]


def _memory_limit_option(text):
    return Annotated[
        int | None,
        typer.Option(parser=_bytes, metavar="SIZE", help=f"As 2GB or 512MiB: {text}."),
    ]


MemoryLimitOption = _memory_limit_option("by layers that stream through as much memory")
BuildLimitOption = _memory_limit_option(
    "what making the layers may take, 45MB of it for libraries; by default half of what is free"
)

READING = (
    "source", "destination", "weight", "undirected", "multi_edges", "self_loops", "vertices",
)  # fmt: skip
# What a search in edges, one by weight and ranks do not depend on.
ANY_FOR_BFS = "weight", "multi_edges", "self_loops", "minimum_edges"
ANY_FOR_SSSP = "self_loops", "minimum_edges"
ANY_FOR_PAGERANK = ("minimum_edges",)
UNITS = (1e9, "GB"), (1e6, "MB"), (1e3, "kB")


def is_store(path):
    """Whether a path is the folder of a layered edge list, and none of Parquet files."""
    path = path.expanduser()
    if not (path / "manifest.json").is_file():
        return False
    return not _has_parquet(path)


def _has_parquet(path):
    return any(each.suffix in (".parquet", ".pq") for each in path.rglob("*"))


def check_there(edges):
    """Raise GraphError if there is nothing that could be read; standard input is told of later."""
    path = edges.expanduser()
    if str(edges) == "-":
        return
    if not path.exists():
        raise GraphError(f"{edges}: there is no such file or folder")
    if path.is_dir() and not is_store(edges) and not _has_parquet(path):
        raise GraphError(
            f"{edges}: the folder holds no .parquet or .pq file, and no layered edge list"
        )


def refuse_store(edges, command):
    """Raise GraphError if EDGES is a layered edge list, for commands that cannot take one."""
    if is_store(edges):
        raise GraphError(
            f"{edges}: it is a layered edge list; {command} takes edges, so give the file that "
            "it was made of"
        )


def refuse(context, names, why):
    """End with wrong usage if one of these options was given."""
    for name in names:
        source = name in context.params and context.get_parameter_source(name)
        if source and not source.name.startswith("DEFAULT"):
            option = "--from" if name == "root" else "--" + name.replace("_", "-")
            raise typer.BadParameter(f"{why}; leave it out", param_hint=option)


def is_by_layers(context, edges, layers, memory_limit, verify):
    """Whether a command is to work on layers; what cannot be done with them is wrong usage."""
    check_there(edges)
    if is_store(edges):
        refuse(context, READING, f"{edges} is a layered edge list, which holds what was read")
    elif memory_limit is None:
        return layers
    if verify:
        raise typer.BadParameter(
            "a check needs the whole graph in memory; leave it out, or give a file of edges "
            "without --memory-limit",
            param_hint="--verify",
        )
    return True


def options_of(source, destination, undirected, weight=None, **policies):
    """What `LayeredEdgeList.build` needs to be told: what differs from its defaults."""
    from ..layered.cache import DEFAULTS

    given = {
        "source": one_or_several(source),
        "destination": one_or_several(destination),
        "weight": weight,
        "directed": not undirected,
        **policies,
    }
    if given.get("vertices") is not None:
        given["vertices"] = str(given["vertices"])
    if weight is None and given.get("multi_edges") in ("min", "max"):
        given["multi_edges"] = "first"  # the same where rows have no weights
    return {
        name: value
        for name, value in given.items()
        if value is not None and value != DEFAULTS[name]
    }


def opened(job, folder, device):
    """The LayeredEdgeList in a folder."""
    from .. import LayeredEdgeList

    layered = LayeredEdgeList.open(folder, device=device)
    job.note("opened")
    return layered


def of_root(job, edges, starts, options, any_of, **build):
    """(LayeredEdgeList of EDGES, the source that a search from it is to be told, or None).

    Parameters
    ----------
    starts : (list of str or None, path or None)
        As --from and --from-file give them.
    options : dict
        As `options_of` gives them.
    any_of : sequence of str
        Options with which the layers may have been made in any way.
    **build
        device, memory_limit and progress.
    """
    from ..layered.edge_list import layered_storage

    if not is_store(edges):
        root = Root(options, written(*starts, Root.labels(options)))
        return beside(job, edges, root, options, any_of, **build), None
    layered = opened(job, edges, build["device"])
    if not any(starts):
        return layered, None
    storage = layered_storage(layered)
    names = named(written(*starts, storage.names.labels), storage)
    return layered, names[0] if len(names) == 1 else names


def beside(job, edges, root, options, any_of, *, device, may_replace=True, always=False, **build):
    """The LayeredEdgeList of a file of edges from the store beside it, made where none fits.

    Parameters
    ----------
    may_replace : bool
        Whether layers of this version of the file may go because options differ. What is made in
        the place of others is told in any case.
    always : bool
        Whether to tell also of a store that fits.
    """
    from .. import LayeredEdgeList
    from ..layered import cache

    folder = cache.cache_path(edges)
    cache.origin_of(edges, {})  # tells of a file that is not there
    found, problem = cache.load_store(folder)
    reasons = differences(found, edges, root, options, any_of) if found else {}
    if found and not reasons:
        job.say(f"reused the layers in {folder}", always)
        return opened(job, folder, device)
    if found and not may_replace and "file" not in reasons:
        raise unfit(found, reasons, edges, options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the cache is not used", RuntimeWarning)  # said below
        layered = root.building(
            edges,
            lambda name: LayeredEdgeList.cached(edges, name, device=device, **build, **options),
        )
    job.note("layered")
    if problem:
        job.say(f"the layers there were not used: {problem}", always=True)
    kept = f"the layers are kept in {folder}"
    job.say(replaced(found, reasons) if found else kept, always=True)
    return layered


def tell_run(job, layered):
    """Say what the last run took."""
    run = layered.last_run
    job.say(
        f"{counted(run.passes, 'pass', 'passes')} over the edges: "
        f"{counted(run.partitions, 'partition')}, {amount(run.nbytes)}"
    )


def counted(count, one, several=None):
    """1 partition, 2 partitions."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def amount(nbytes):
    """1.23 MB, or as it fits."""
    for size, unit in UNITS:
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


REASONS = {
    "root": "another root",
    "weight": "other weights",
    "multi_edges": "other multi-edges",
    "directed": "another direction",
    "source": "other columns",
    "destination": "other columns",
    "self_loops": "other self-loops",
    "minimum_edges": "another --minimum-edges",
    "vertices": "other vertices",
}
CHANGED, OTHER = "the file has changed", "they were not made of this file"


def differences(found, edges, root, options, any_of):
    """{what differs: why the store is not the one that is wanted}, "file" among them.

    Parameters
    ----------
    found : Store
    edges : path
    root : Root
    options : dict
        As `options_of` gives them.
    any_of : sequence of str
        Options that may differ.
    """
    from ..layered import cache

    wanted, there = cache.origin_of(edges, options), found.manifest["origin"]
    if not there or "options" not in there or "files" not in there:
        return {"file": OTHER}
    different = {
        name
        for name in wanted["options"]
        if name not in any_of and wanted["options"][name] != there["options"].get(name, "unknown")
    }
    if not _is_root(found, root):
        different.add("root")
    reasons = {name: reason for name, reason in REASONS.items() if name in different}
    if wanted["files"] != there["files"]:
        names = [[file["name"] for file in each["files"]] for each in (wanted, there)]
        is_same = names[0] == names[1] or edges.expanduser().is_dir()
        reasons["file"] = CHANGED if is_same else OTHER
    return reasons


def _is_root(found, root):
    from ..layered import cache

    try:
        return cache.has_root(found, root.like(found.root))
    except GraphError:
        return False


def in_words(reasons):
    """The reasons one after the other, each once."""
    if "weight" in reasons:  # without them the cheapest edge is the first one
        reasons = {name: reason for name, reason in reasons.items() if name != "multi_edges"}
    return ", ".join(dict.fromkeys(reasons.values()))


def replaced(found, reasons):
    """What to say when another store has taken the place of this one."""
    root = found.root if isinstance(found.root, tuple) else [found.root]
    text = f"replaced the layers of root {','.join(map(str, root))} in {found.folder}"
    return f"{text}: {in_words(reasons)}" if reasons else text


def unfit(found, reasons, edges, options):
    """GraphError: layers of this file that a command can neither take nor replace."""
    from ..layered.cache import DEFAULTS

    there = {**DEFAULTS, **found.manifest["origin"]["options"]}
    other = {name: there[name] for name in reasons if there[name] != DEFAULTS[name]}
    without = [name for name in reasons if name not in other]
    ways = [f"give {_written(other)}"] if other else []
    if without:
        ways.append(f"leave out {' '.join(map(_option, without))}")
    command = ["rapidsgraph", "layer", shlex.quote(str(edges)), "--from VERTEX"]
    here = json.loads(json.dumps(options))
    if "weight" in here:  # of parallel edges with weights layer takes others by default
        here.setdefault("multi_edges", DEFAULTS["multi_edges"])
    command += [*filter(None, [_written(here)]), "--output FOLDER"]
    return GraphError(
        f"{found.folder}: the layers there are of this file, but do not fit ({in_words(reasons)}); "
        f"{' and '.join(ways)} to use them, or make others by `{' '.join(command)}` and give that "
        "folder"
    )


def _option(name):
    return "--undirected" if name == "directed" else "--" + name.replace("_", "-")


def _written(options):
    """Options of the library as they are written in a command."""
    words = []
    for name, value in options.items():
        if name == "directed":
            words += ["--undirected"] if not value else []
            continue
        value = value["path"] if isinstance(value, dict) else value
        for each in value if isinstance(value, list) else [value]:
            words += [_option(name), shlex.quote(str(each))]
    return " ".join(words)
