"""Core numbers as NetworkX calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from ..api.core_number import core_number as find_core_numbers
from .graph import ConvertedGraph


def core_number(G: ConvertedGraph) -> dict[Any, int]:
    """Return the core number of each node; see `networkx.core_number`."""
    if G.has_self_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return G.by_node(find_core_numbers(G.unweighted)["core"])


def check_core_number(arguments: Mapping[str, Any]) -> str | None:
    """Return why `core_number` cannot run with these arguments, or None if it can."""
    if arguments["G"].is_directed():
        return "both arcs between two nodes of a directed graph count in NetworkX"
    return None
