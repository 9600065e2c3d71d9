"""PageRank as NetworkX calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..api.pagerank import pagerank as compute_pagerank
from ..errors import ConvergenceError, GraphError
from .graph import ConvertedGraph


def pagerank(
    G: ConvertedGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """Compute PageRank; see `networkx.pagerank`."""
    if not len(G):
        return {}
    values = _tabulate(G, personalization)
    if values is not None and not values["value"].any():
        raise ZeroDivisionError
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        result = compute_pagerank(
            G.unweighted if weight is None else G.weighted,
            damping=alpha,
            tolerance=len(G) * tol,  # NetworkX compares the mean change of a vertex
            max_iterations=max_iter,
            personalization=values,
            dangling=_tabulate(G, dangling),
            start=_tabulate(G, nstart),
            progress=False,
        )
    except ConvergenceError as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    except GraphError as error:  # NetworkX computes with values that are negative or not finite
        raise NotImplementedError(str(error)) from error
    return G.by_node(result["pagerank"])


def check_pagerank(arguments: Mapping[str, Any]) -> str | None:
    """Return why `pagerank` cannot run with these arguments, or None if it can."""
    for name in ("personalization", "nstart", "dangling"):
        values = arguments[name]
        if values is not None and not isinstance(values, Mapping):
            return f"{name} is not a dict"
    if not 0 <= arguments["alpha"] <= 1:
        return "alpha is not between 0 and 1"
    if not arguments["tol"] > 0:
        return "tol is not positive"
    return None


def _tabulate(G: ConvertedGraph, values: Mapping[Any, float] | None) -> dict[str, Any] | None:
    """Return a frame of the values of the nodes that are in the graph."""
    if values is None:
        return None
    pairs = [(G.positions[node], value) for node, value in values.items() if node in G.positions]
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return {"vertex": table[:, 0].astype(np.int64), "value": table[:, 1]}
