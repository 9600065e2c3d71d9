"""Graphs of NetworkX for tests of the backend, and what the tests share."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

MARKS = [
    pytest.mark.skipif(
        "rapidsgraph" not in nx.utils.backends.backends,
        reason="the installed metadata has no entry points; install the package again",
    ),
    pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs"),
]


def run(name, *args, **kwargs):
    return getattr(nx, name)(*args, backend="rapidsgraph", **kwargs)


def weighted(g, seed=0):
    """Add integer weights, ties and zeros among them, to a NetworkX graph."""
    rng = np.random.default_rng(seed)
    for *_, data in g.edges(data=True):
        data["weight"] = int(rng.integers(0, 5))
    return g


def relabeled(g):
    """Name the nodes by objects of several types, which do not sort."""
    names = [node if node % 3 else f"n{node}" for node in g]
    return nx.relabel_nodes(g, dict(zip(g, names)))


GRAPHS = {
    "undirected": relabeled(weighted(nx.gnm_random_graph(60, 70, seed=1))),
    "directed": relabeled(weighted(nx.gnm_random_graph(60, 110, seed=2, directed=True))),
    "parallel": nx.MultiGraph([(0, 1, {"weight": 2.5}), (0, 1, {"weight": 1.5}), (4, 3)]),
    "parallel arcs": nx.MultiDiGraph([((0, 1), "b", {"weight": 2}), ((0, 1), "b"), (3.5, "b")]),
    "view": nx.karate_club_graph().subgraph(range(5, 20)),
    "reversed view": nx.DiGraph([(0, 1), (0, 2), (3, 0)]).reverse(copy=False),
    "isolated": nx.empty_graph(3),
    "empty": nx.DiGraph(),
}

GRAPHS["parallel"].add_edges_from([(1, 1), (2, 0), (4, 3)], weight=0.1)


def list_edges(g):
    """Count the edges of a graph by endpoints, in order if it is directed, and weight."""
    ends = tuple if g.is_directed() else frozenset
    return Counter((ends(edge), weight) for *edge, weight in g.edges(data="weight", default=1))


UNDIRECTED = [name for name, g in GRAPHS.items() if not g.is_directed()]
DIRECTED = [name for name, g in GRAPHS.items() if g.is_directed()]
