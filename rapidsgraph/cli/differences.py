"""Layers that are there already: whether they are what a command needs, and if not, why.

Means: the root, the options and the version of the file that a store was made of, beside those that
  are wanted.
"""

import json
import shlex

from ..errors import GraphError

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
    from ..layers import caching

    wanted, there = caching.made_from(edges, options), found.facts["made_from"]
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
    from ..layers import caching

    try:
        return caching.is_root(found, root.like(found.root))
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
    from ..layers.caching import DEFAULTS

    there = {**DEFAULTS, **found.facts["made_from"]["options"]}
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
