"""The definitions once more, as slow loops over lists; nothing here comes from the package.

Edges are lists of (source, destination, weight). Every row counts, also parallel ones, unless
`merged` has made one of them.
"""

import math


def merged(edges, multi_edges="first", self_loops="keep", directed=True):
    """The rows that the policies leave, parallel ones combined in the order of rows."""
    groups = {}
    for source, destination, weight in edges:
        if self_loops == "drop" and source == destination:
            continue
        if not directed and destination < source:
            source, destination = destination, source
        groups.setdefault((source, destination), []).append(weight)
    combine = {"first": lambda weights: weights[0], "sum": math.fsum, "min": min, "max": max}
    if multi_edges == "keep":
        return [(*ends, weight) for ends, weights in groups.items() for weight in weights]
    return [(*ends, combine[multi_edges](weights)) for ends, weights in groups.items()]


def pagerank(
    edges,
    vertices=(),
    *,
    damping=0.85,
    iterations=None,
    personalization=None,
    dangling="uniform",
    start=None,
    directed=True,
):
    """{vertex: rank}, sorted by vertex, after `iterations`, or once nothing changes any more."""
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    even = {name: 1 / len(names) for name in names}
    restart = even if personalization is None else _shares(personalization, names)
    if dangling == "drop":
        share = dict.fromkeys(names, 0.0)
    else:
        share = even if dangling == "uniform" else _shares(dangling, names)
    ranks = even if start is None else _shares(start, names)
    arcs = list(edges)
    if not directed:
        arcs += [(b, a, weight) for a, b, weight in edges if a != b]
    leaving = dict.fromkeys(names, 0.0)
    for source, _, weight in arcs:
        leaving[source] += weight
    sinks = [name for name in names if leaving[name] == 0]
    arriving = {name: [] for name in names}
    for source, destination, weight in arcs:
        if leaving[source] > 0:
            arriving[destination].append((source, weight / leaving[source]))
    for _ in range(10_000 if iterations is None else iterations):
        held = math.fsum(ranks[name] for name in sinks)
        new = {}
        for name in names:
            arrives = math.fsum(ranks[source] * part for source, part in arriving[name])
            arrives += held * share[name]
            new[name] = (1 - damping) * restart[name] + damping * arrives
        change = math.fsum(abs(new[name] - ranks[name]) for name in names)
        ranks = new
        if iterations is None and change < 1e-14:
            break
    return ranks


def _shares(values, names):
    total = math.fsum(values.values())
    return {name: values.get(name, 0.0) / total for name in names}
