"""Connected components, with the signatures of NetworkX.

Where a function takes only directed or only undirected graphs, NetworkX refuses the others itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from .. import kernels
from ..api.components import connected_components as find_components
from ..device import to_host
from ..graph.local_graph import storage_of
from .graph import ConvertedGraph


def connected_components(G: ConvertedGraph) -> Iterator[set[Any]]:
    """Generate components as sets; see `networkx.connected_components`."""
    labels = _label_components(G)
    first = np.zeros(labels.max(initial=-1) + 1, np.int64)  # vertex of each component
    first[labels[::-1]] = np.arange(labels.size)[::-1]  # the last assignment remains
    return _generate_sets(G, first[labels])


def number_connected_components(G: ConvertedGraph) -> int:
    """Return the number of components; see `networkx.number_connected_components`."""
    return int(_label_components(G).max(initial=-1)) + 1


def is_connected(G: ConvertedGraph) -> bool:
    """Return whether there is one component; see `networkx.is_connected`."""
    _check_not_null(G)
    return not _label_components(G).any()


def node_connected_component(G: ConvertedGraph, n: Any) -> set[Any]:
    """Return the component of a node; see `networkx.node_connected_component`."""
    vertex, labels = G.positions[n], _label_components(G)
    return set(G.nodes_at(np.flatnonzero(labels == labels[vertex])))


def strongly_connected_components(G: ConvertedGraph) -> Iterator[set[Any]]:
    """Generate strong components; see `networkx.strongly_connected_components`.

    No arc leads to a later component, as in NetworkX.
    """
    return _generate_sets(G, _label_strong_components(G))


def number_strongly_connected_components(G: ConvertedGraph) -> int:
    """Count the strong components; see `networkx.number_strongly_connected_components`."""
    return int(_label_strong_components(G).max(initial=-1)) + 1


def is_strongly_connected(G: ConvertedGraph) -> bool:
    """Return whether there is one strong component; see `networkx.is_strongly_connected`."""
    _check_not_null(G)
    return not _label_strong_components(G).any()


weakly_connected_components = connected_components
number_weakly_connected_components = number_connected_components
is_weakly_connected = is_connected


def _generate_sets(G: ConvertedGraph, labels: np.ndarray) -> Iterator[set[Any]]:
    """Generate the set of nodes of each label, in the order of labels."""
    order = np.argsort(labels, kind="stable")
    nodes, sorted_labels = G.nodes_at(order), labels[order]
    starts = np.flatnonzero(np.diff(sorted_labels, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(nodes)]):
        yield set(nodes[start:stop])


def _label_components(G: ConvertedGraph) -> np.ndarray:
    """Return the component of each vertex, numbered by descending size."""
    return to_host(find_components(G.unweighted)["component"])


def _label_strong_components(G: ConvertedGraph) -> np.ndarray:
    """Return the strong component of each vertex, numbered in reverse topological order."""
    csr = storage_of(G.unweighted).csr
    components = np.empty(len(G), np.int32)
    kernels.strong_components.find_components(
        to_host(csr.offsets), to_host(csr.neighbors), components
    )
    return components


def _check_not_null(G: ConvertedGraph) -> None:
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
