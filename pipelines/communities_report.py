"""The report of pipelines/communities.py: what came in, what was chosen and why, what was found."""

from pipelines.report import page, picture, section, table, terms, text

PARAMETERS = {
    "similarity": "How much two neighbors have in common: the neighbors that both have, over the "
    "geometric mean of how many each has. A vertex counts as its own neighbor. At most 1.",
    "epsilon": "Two neighbors are similar when their similarity is at least epsilon.",
    "mu": "A vertex similar to at least mu vertices, itself included, is the core of a cluster.",
    "largest": "The vertices of the largest cluster.",
    "clustered": "The share of the vertices that are in a cluster.",
    "modularity": "How many more edges lie inside clusters than chance would put there. 0 is what "
    "chance gives; the most that can be is 1. A vertex without a cluster counts as alone.",
}
ROLES = {
    "Core": "A vertex in the thick of a cluster: similar to at least mu vertices. Cores that are "
    "similar are in one cluster.",
    "Border": "A member of a cluster that is similar to one of its cores, and no core itself.",
    "Hub": "In no cluster, with neighbors in two or more clusters: it joins them.",
    "Outlier": "In no cluster, with neighbors in one cluster at most.",
}
COUNTS = {
    "rows": "Rows that came in",
    "without_a_name": "left out: an end is missing",
    "blank": "left out: an end is blank",
    "self_loops": "left out: both ends are the same",
    "kept": "Rows that were kept",
}
SHOWN = 0.5  # of the vertices; with less in clusters the report says that most are in none


def written(summary, sweep, choice, clusters, hubs, drawn):
    """The page.

    Parameters
    ----------
    summary : dict
        Of the job.
    sweep : pandas.DataFrame
    choice : int
        The row of it that was taken.
    clusters : list of (number, [cores, borders], frame of members)
    hubs : pandas.DataFrame
    drawn : dict of path
        PNG files of the sweep and of the matrix, which may be None.
    """
    chosen = sweep.iloc[choice]
    graph = summary["graph"]
    vertices, edges = _counted(graph["vertices"], "vertex"), _counted(graph["edges"], "edge")
    under = f"{vertices}, {edges} between them"
    return page(
        f"Communities in {summary['options']['edges']}",
        under,
        _in_short(chosen, graph["vertices"]),
        section("What came in", _counts(summary["edges"], graph)),
        section("Which parameters, and why", *_choice(sweep, choice, drawn["sweep"])),
        section("What the roles mean", terms(ROLES), _roles(chosen, graph["vertices"])),
        section("The largest clusters", *_clusters(clusters)),
        section("Hubs", *_hubs(hubs, int(chosen["hubs"]))),
        section("The adjacency matrix", *_matrix(drawn["matrix"], int(chosen["clusters"]))),
        section("How long it took", table(["step", "seconds"], summary["seconds"].items())),
    )


def _counted(count, thing):
    """As 1 hub, or 2 hubs."""
    several = {"vertex": "vertices"}.get(thing, f"{thing}s")
    return f"{count:,} {thing if count == 1 else several}"


def _in_short(chosen, vertices):
    clusters = int(chosen["clusters"])
    if not clusters:
        return text("No cluster was found. A lower epsilon or mu may find some.")
    hubs, outliers = int(chosen["hubs"]), int(chosen["outliers"])
    has = "It" if clusters == 1 else "The largest"
    words = (
        f"{_counted(clusters, 'cluster')}, with {chosen['clustered']:.1%} of the vertices. "
        f"{has} has {_counted(int(chosen['largest']), 'vertex')}. "
        f"{_counted(hubs, 'hub')} {'joins' if hubs == 1 else 'join'} clusters, and "
        f"{_counted(outliers, 'vertex')} {'is an outlier' if outliers == 1 else 'are outliers'}."
    )
    if chosen["clustered"] < SHOWN:
        words += " Most vertices are in no cluster."
    return text(words)


def _counts(edges, graph):
    rows = [(COUNTS[name], count) for name, count in edges.items() if name in COUNTS]
    repeated = edges["kept"] - graph["edges"]
    rows.append(("of these the same edge again, in one direction or the other", repeated))
    return table(["", "rows"], rows)


def _choice(sweep, choice, path):
    chosen = sweep.iloc[choice]
    pair = f"epsilon {chosen['epsilon']:g} and mu {int(chosen['mu'])}"
    if len(sweep) == 1:
        why = f"One pair was asked for: {pair}."
    elif not sweep["clusters"].any():
        why = f"None of {len(sweep)} pairs gives a cluster; roles are those of the first, {pair}."
    else:
        why = (
            f"Of {len(sweep)} pairs {pair} have the highest modularity, "
            f"{chosen['modularity']:.4g}; of equals the first is taken. Modularity favours small "
            "clusters where a small mu finds much the same ones, and it rates a division of all "
            "vertices: for denser groups run this again with a certain, higher epsilon or mu."
        )
    edge = _at_the_edge(sweep, choice)
    rows = sweep.astype(object).to_numpy().tolist()
    return [
        text(f"{why} {edge}".strip()),
        terms(PARAMETERS),
        picture(path, "What each pair of parameters gives"),
        table(list(sweep), rows, choice),
    ]


def _at_the_edge(sweep, choice):
    """A sentence where the choice is the least or the greatest that was tried.

    Not where none beyond it would differ: an epsilon above 1 is none, and with a mu of 1 there are
    the clusters of 2, and single vertices.
    """
    told = []
    if not sweep["clusters"].any():
        return ""  # what may find some is said above
    for name in ("epsilon", "mu"):
        values, value = sweep[name], sweep[name][choice]
        is_last = (name == "mu" and value <= 2) or (name == "epsilon" and value == 1)
        if values.min() < values.max() and value in (values.min(), values.max()) and not is_last:
            end, other = ("highest", "higher") if value == values.max() else ("lowest", "lower")
            told.append(f"This {name} is the {end} that was tried: a {other} one may do better.")
    return " ".join(told)


def _roles(chosen, vertices):
    cores, hubs, outliers = (int(chosen[name]) for name in ("cores", "hubs", "outliers"))
    counts = {"core": cores, "border": vertices - cores - hubs - outliers}
    counts |= {"hub": hubs, "outlier": outliers}
    rows = [(role, count, f"{count / vertices:.1%}") for role, count in counts.items()]
    return table(["role", "vertices", "share"], rows)


def _clusters(clusters):
    if not clusters:
        return [text("There is none.")]
    rows = [
        (f"cluster {number}", sum(sizes), *sizes, _names(members))
        for number, sizes, members in clusters
    ]
    return [
        text("Members in the order of how many neighbors they have."),
        table(["", "vertices", "cores", "borders", "first members"], rows),
    ]


def _names(members):
    return ", ".join(map(str, members["vertex"]))


def _hubs(hubs, count):
    if not count:
        return [text("There is none.")]
    rows = zip(map(str, hubs["vertex"]), hubs["degree"].tolist())
    return [
        text("There is one:" if count == 1 else f"{count:,} in all; those with most neighbors:"),
        table(["hub", "neighbors"], rows),
    ]


def _matrix(path, clusters):
    if not clusters:
        return [text("It is drawn in the order of clusters, and there is none.")]
    if path is None:
        return [text("The graph is too large to be drawn here.")]
    return [
        text(
            "Vertices stand in the order of their clusters, hubs and outliers last. Clusters are "
            "squares on the diagonal; what lies beside them joins clusters."
        ),
        picture(path, "The adjacency matrix by cluster"),
    ]
