"""Render the report of pipelines/communities.py: the input, the parameters and the clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.report import page, picture, section, table, terms, text

if TYPE_CHECKING:
    import pandas

    Cluster = tuple[int, list[int], pandas.DataFrame]  # number, [cores, borders], first members

PARAMETERS = {
    "similarity": "The number of common neighbors of two vertices, divided by the geometric mean "
    "of their numbers of neighbors. A vertex counts as its own neighbor. At most 1.",
    "epsilon": "Two neighbors are similar if their similarity is at least epsilon.",
    "mu": "A vertex similar to at least mu vertices, itself included, is the core of a cluster.",
    "largest": "The number of vertices of the largest cluster.",
    "clustered": "The fraction of vertices that are in a cluster.",
    "modularity": "The fraction of edges inside clusters, minus the fraction expected if edges "
    "were random. 0 is random; the maximum is 1. A vertex without a cluster counts as a cluster "
    "of its own.",
}
ROLES = {
    "Core": "A vertex similar to at least mu vertices. Similar cores are in the same cluster.",
    "Border": "A vertex that is not a core, but similar to a core of its cluster.",
    "Hub": "A vertex in no cluster, with neighbors in two or more clusters.",
    "Outlier": "A vertex in no cluster, with neighbors in at most one cluster.",
}
COUNTS = {
    "rows": "Rows of the input",
    "missing_name": "dropped: a vertex name is missing",
    "blank_name": "dropped: a vertex name is blank",
    "self_loops": "dropped: self-loops",
    "kept": "Rows that are edges",
}
MIN_CLUSTERED = 0.5  # fraction of vertices below which the report says that most are in no cluster


def render_report(
    summary: Mapping[str, Any],
    sweep: pandas.DataFrame,
    choice: int,
    clusters: Sequence[Cluster],
    hubs: pandas.DataFrame,
    plots: Mapping[str, Path | None],
) -> str:
    """Return the HTML page.

    Parameters
    ----------
    summary : dict
        Of the run.
    sweep : pandas.DataFrame
    choice : int
        Row of the chosen parameters.
    clusters : list of (number, [cores, borders], frame of members)
    hubs : pandas.DataFrame
    plots : dict of path
        PNG files of `sweep` and `matrix`; None if omitted.
    """
    chosen, graph = sweep.iloc[choice], summary["graph"]
    vertices, edges = _count(graph["vertices"], "vertex"), _count(graph["edges"], "edge")
    return page(
        f"Communities in {summary['options']['edges']}",
        f"{vertices}, {edges} between them",
        _overview(chosen),
        section("Input", _input_table(summary["edges"], graph)),
        section("Parameters", *_parameters(sweep, choice, plots["sweep"])),
        section("Roles", terms(ROLES), _role_table(chosen, graph["vertices"])),
        section("Largest clusters", *_largest_clusters(clusters)),
        section("Hubs", *_hubs(hubs, int(chosen["hubs"]))),
        section("Adjacency matrix", *_matrix(plots["matrix"], int(chosen["clusters"]))),
        section("Run time", table(["step", "seconds"], summary["seconds"].items())),
    )


def _count(count: int, noun: str) -> str:
    """Return a count with its noun, such as 1 hub or 2 hubs."""
    plural = "vertices" if noun == "vertex" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def _overview(chosen: pandas.Series) -> str:
    clusters = int(chosen["clusters"])
    if not clusters:
        return text("No cluster was found. A lower epsilon or mu may find some.")
    hubs, outliers = int(chosen["hubs"]), int(chosen["outliers"])
    subject = "It" if clusters == 1 else "The largest"
    sentences = (
        f"{_count(clusters, 'cluster')}, with {chosen['clustered']:.1%} of the vertices. "
        f"{subject} has {_count(int(chosen['largest']), 'vertex')}. "
        f"{_count(hubs, 'hub')} {'joins' if hubs == 1 else 'join'} clusters, and "
        f"{_count(outliers, 'vertex')} {'is an outlier' if outliers == 1 else 'are outliers'}."
    )
    if chosen["clustered"] < MIN_CLUSTERED:
        sentences += " Most vertices are in no cluster."
    return text(sentences)


def _input_table(edges: Mapping[str, int], graph: Mapping[str, int]) -> str:
    rows = [(COUNTS[name], count) for name, count in edges.items() if name in COUNTS]
    rows.append(("of these parallel edges, in either direction", edges["kept"] - graph["edges"]))
    return table(["", "rows"], rows)


def _parameters(sweep: pandas.DataFrame, choice: int, plot: Path | None) -> list[str]:
    chosen = sweep.iloc[choice]
    pair = f"epsilon {chosen['epsilon']:g} and mu {int(chosen['mu'])}"
    if len(sweep) == 1:
        reason = f"A single pair was requested: {pair}."
    elif not sweep["clusters"].any():
        reason = f"None of {len(sweep)} pairs has a cluster; the roles are of the first, {pair}."
    else:
        reason = (
            f"Of {len(sweep)} pairs, {pair} has the highest modularity, "
            f"{chosen['modularity']:.4g}; of equal pairs the first is chosen. Modularity rates a "
            "division of all vertices, and prefers small clusters if a small mu finds similar "
            "ones. For denser groups, run this again with a higher epsilon or mu."
        )
    assert plot is not None  # only the matrix may be omitted
    return [
        text(f"{reason} {_boundary_note(sweep, choice)}".strip()),
        terms(PARAMETERS),
        picture(plot, "Statistics for each pair of parameters"),
        table(list(sweep), sweep.astype(object).to_numpy().tolist(), choice),
    ]


def _boundary_note(sweep: pandas.DataFrame, choice: int) -> str:
    """Return a sentence for each parameter whose choice is the lowest or highest value tried.

    It is omitted if values beyond cannot differ: epsilon is at most 1, and mu 1 has the clusters of
    mu 2 and single vertices.
    """
    if not sweep["clusters"].any():
        return ""
    sentences = []
    for name in ("epsilon", "mu"):
        values, value = sweep[name], sweep[name][choice]
        is_last = (name == "mu" and value <= 2) or (name == "epsilon" and value == 1)
        if values.min() < values.max() and value in (values.min(), values.max()) and not is_last:
            end, other = ("highest", "higher") if value == values.max() else ("lowest", "lower")
            sentences.append(
                f"This {name} is the {end} that was tried; a {other} one may be better."
            )
    return " ".join(sentences)


def _role_table(chosen: pandas.Series, num_vertices: int) -> str:
    cores, hubs, outliers = (int(chosen[name]) for name in ("cores", "hubs", "outliers"))
    borders = num_vertices - cores - hubs - outliers
    counts = {"core": cores, "border": borders, "hub": hubs, "outlier": outliers}
    rows = [(role, count, f"{count / num_vertices:.1%}") for role, count in counts.items()]
    return table(["role", "vertices", "fraction"], rows)


def _largest_clusters(clusters: Sequence[Cluster]) -> list[str]:
    if not clusters:
        return [text("There is none.")]
    rows = [
        (f"cluster {number}", sum(sizes), *sizes, ", ".join(map(str, members["vertex"])))
        for number, sizes, members in clusters
    ]
    return [
        text("Members are in descending order of degree."),
        table(["", "vertices", "cores", "borders", "first members"], rows),
    ]


def _hubs(hubs: pandas.DataFrame, count: int) -> list[str]:
    if not count:
        return [text("There is none.")]
    sentence = "There is one:" if count == 1 else f"{count:,} in all; those of highest degree:"
    rows = zip(map(str, hubs["vertex"]), hubs["degree"].tolist())
    return [text(sentence), table(["hub", "neighbors"], rows)]


def _matrix(plot: Path | None, num_clusters: int) -> list[str]:
    if not num_clusters:
        return [text("Omitted, because there is no cluster to order vertices by.")]
    if plot is None:
        return [text("Omitted, because the graph is too large.")]
    return [
        text(
            "Vertices are ordered by cluster, with hubs and outliers last. Clusters are squares on "
            "the diagonal; cells outside the squares are edges between clusters."
        ),
        picture(plot, "The adjacency matrix by cluster"),
    ]
