"""Why a stored layered edge list does not suit a command, and what to do about it."""

import json
import shlex
from collections.abc import Collection
from typing import Any

from .. import io
from ..errors import GraphError
from ..graph.multi_edges import MultiEdges
from ..io.inputs import InputFiles
from ..layered import cache
from ..layered.cache import DEFAULTS
from ..validation import DEFAULT_WEIGHT
from .sources import Source, convert_root

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
CHANGED, OTHER = "the file has changed", "they were built from another file"


def find_differences(
    store: Any,
    edges: InputFiles,
    sources: list[Source] | None,
    options: dict[str, Any],
    ignored: Collection[str],
) -> dict[str, str]:
    """Return why a stored list cannot be used, by option, and under "root" and "file".

    Parameters
    ----------
    store : Store
    edges : InputFiles
        A local file or folder.
    sources : list of Source, or None
        The root, as `parse_sources` returns it; None for any root.
    options : dict
        As `build_options` returns them.
    ignored : collection of str
        Options that may differ.
    """
    if edges.local_path is None:
        return {"file": OTHER}
    expected, stored = cache.origin_of(edges, options), store.manifest["origin"]
    if not stored or "options" not in stored or "files" not in stored:
        return {"file": OTHER}
    different = {
        name
        for name in expected["options"]
        if name not in ignored
        and expected["options"][name] != stored["options"].get(name, "unknown")
    }
    policies = {expected["options"]["multi_edges"], stored["options"].get("multi_edges")}
    if "weight" in ignored and "keep" not in policies:
        different.discard("multi_edges")  # without weights the other policies do not differ
    try:
        has_root = cache.has_root(store, convert_root(sources, options, store.root))
    except GraphError:
        has_root = False
    if not has_root:
        different.add("root")
    reasons = {name: reason for name, reason in REASONS.items() if name in different}
    if expected["files"] != stored["files"]:
        names = [[file["name"] for file in metadata["files"]] for metadata in (expected, stored)]
        is_same = names[0] == names[1] or edges.local_path.is_dir()
        reasons["file"] = CHANGED if is_same else OTHER
    return reasons


def _join_reasons(reasons: dict[str, str]) -> str:
    if "weight" in reasons:  # the default of multi_edges depends on weights
        reasons = {name: reason for name, reason in reasons.items() if name != "multi_edges"}
    return ", ".join(dict.fromkeys(reasons.values()))


def describe_replacement(store: Any, reasons: dict[str, str]) -> str:
    """Return the message that another list has replaced `store`."""
    root = store.root if isinstance(store.root, tuple) else [store.root]
    text = f"replaced the layers of root {','.join(map(str, root))} in {store.folder}"
    return f"{text}: {_join_reasons(reasons)}" if reasons else text


def default_multi_edges(weight: str | None) -> MultiEdges:
    """Return the default of --multi-edges of `pagerank` for edges with or without weights."""
    return "first" if weight is None else "sum"


def unusable_store(
    store: Any,
    reasons: dict[str, str],
    edges: InputFiles,
    options: dict[str, Any],
    accepted: Collection[str],
) -> GraphError:
    """Return the error for a list of this file that a command can neither use nor replace.

    Options are recommended only if the command accepts all that are needed.
    """
    columns = (options.get(name) for name in ("source", "destination"))
    defaults = {**DEFAULTS, "weight": io.choose_weight_column(edges, DEFAULT_WEIGHT, *columns)}
    stored = {**DEFAULTS, **store.manifest["origin"]["options"]}
    names = [name for name in REASONS if name in {*reasons} - {"multi_edges"}]
    if not reasons.keys().isdisjoint(("weight", "multi_edges")):
        defaults["multi_edges"] = default_multi_edges(stored["weight"])
        is_given = options.get("multi_edges", "first") != default_multi_edges(options["weight"])
        if is_given or stored["multi_edges"] != defaults["multi_edges"]:
            names.append("multi_edges")
    other = {name: stored[name] for name in names if stored[name] != defaults[name]}
    without = [_option(name) for name in names if name not in other]
    if "weight" in names and "weight" not in other and options["weight"] is None:
        without[without.index("--weight")] = "--unweighted"
    remedies = [f"give {_format_options(other)}"] if other else []
    if without:
        remedies.append(f"leave out {' '.join(without)}")
    command = ["rapidsgraph", "layer", shlex.quote(str(edges)), "--from VERTEX"]
    required = json.loads(json.dumps(options))
    if required["weight"] is not None:  # the command `layer` has another default then
        required.setdefault("multi_edges", DEFAULTS["multi_edges"])
    if required["weight"] == defaults["weight"]:
        del required["weight"]
    command += [*filter(None, [_format_options(required)]), "--output FOLDER"]
    hint = f"build others with `{' '.join(command)}` and give that folder"
    if {"undirected" if name == "directed" else name for name in names} <= {*accepted}:
        hint = f"{' and '.join(remedies)} to use them, or {hint}"
    return GraphError(
        f"{store.folder}: these layers were built from this file with different options "
        f"({_join_reasons(reasons)}); {hint}",
        path=store.folder,
        hint=hint,
    )


def _option(name: str) -> str:
    return "--undirected" if name == "directed" else "--" + name.replace("_", "-")


def _format_options(options: dict[str, Any]) -> str:
    """Return options of the library as words of a command line."""
    words = []
    for name, value in options.items():
        if name == "directed":
            words += ["--undirected"] if not value else []
            continue
        if name == "weight" and value is None:
            words.append("--unweighted")
            continue
        value = value["path"] if isinstance(value, dict) else value
        for item in value if isinstance(value, list) else [value]:
            words += [_option(name), shlex.quote(str(item))]
    return " ".join(words)
