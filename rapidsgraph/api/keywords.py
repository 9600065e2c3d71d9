"""Suggestions for keyword arguments that other libraries have and functions of this one do not."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

from ..dispatch import Graph

# Keywords of NetworkX, cuGraph, igraph, SciPy and scikit-learn, and the parameters they stand for.
# The first that is a parameter of the function is suggested.
EQUIVALENTS: dict[str, tuple[str, ...]] = {
    "G": ("graph", "g"),
    "alpha": ("damping",),
    "connection": ("strong",),
    "cutoff": ("depth_limit",),
    "damping_factor": ("damping",),
    "depth_limit": ("cutoff",),
    "edge_attr": ("weight",),
    "edge_attribute": ("weight",),
    "edges": ("graph",),
    "eps": ("epsilon",),
    "i_start": ("source",),
    "input_graph": ("graph",),
    "max_depth": ("depth_limit", "cutoff"),
    "max_iter": ("max_iterations",),
    "min_samples": ("mu",),
    "nodelist": ("names",),
    "nstart": ("start",),
    "reset": ("personalization",),
    "return_predecessors": ("predecessors",),
    "root": ("source",),
    "start": ("source",),
    "tol": ("tolerance",),
    "weights": ("weight",),
}
GRAPH_PARAMETERS = [name for name in inspect.signature(Graph).parameters if name != "edges"]
MIN_SIMILARITY = 0.75  # of a keyword and the parameter that is probably meant

P = ParamSpec("P")
R = TypeVar("R")


def suggest_parameters(function: Callable[P, R]) -> Callable[P, R]:
    """Add a suggestion to the TypeError for an unknown keyword argument of a function."""
    parameters = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for keyword in kwargs:
            suggestion = None if keyword in parameters else find_suggestion(keyword, parameters)
            if suggestion:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {keyword!r}; "
                    f"did you mean {suggestion}?"
                )
        return function(*args, **kwargs)

    return call


def find_suggestion(keyword: str, parameters: Collection[str]) -> str | None:
    """Return the argument that is probably meant by an unknown keyword, or None."""
    equivalents = [name for name in EQUIVALENTS.get(keyword, ()) if name in parameters]
    if equivalents:
        return f"{equivalents[0]}=..."
    if "graph" in parameters:  # options of the graph are given where it is built
        for name in (keyword, *EQUIVALENTS.get(keyword, ())):
            if name in GRAPH_PARAMETERS:
                return f"rg.Graph(edges, {name}=...)"
    matches = difflib.get_close_matches(keyword, parameters, 1, MIN_SIMILARITY)
    return f"{matches[0]}=..." if matches else None
