"""Which calls are for several partitions: those of a Dask frame, or of what was built of one.

Algorithms never import Dask. `spreads` hands such a call to the function of the same name in
`distributed`, which is imported then.
"""

import functools
import importlib

from ..errors import GraphError
from ..frames import is_dask


def is_spread(graph):
    """Whether a graph, list or frame is in several partitions."""
    return is_dask(graph) or getattr(type(graph), "is_spread", False)


def in_memory(given):
    """A graph or frame in one piece, here, whatever it was."""
    if not is_spread(given):
        return given
    if not hasattr(given, "compute"):
        raise GraphError(
            "a layered edge list on a cluster is not put together; give the edges, or a Graph"
        )
    return given.compute()


def spreads(function):
    """Have a function of a graph also take a Dask frame, and give one."""

    @functools.wraps(function)
    def choose(graph, *arguments, **options):
        if not is_spread(graph):
            return function(graph, *arguments, **options)
        where = getattr(type(graph), "spread_in", "rapidsgraph.distributed")
        module = importlib.import_module(where)
        run = getattr(module, function.__name__, None)
        if run is None:
            raise GraphError(
                "a layered edge list is for bfs, sssp and pagerank; "
                f"{function.__name__} takes a Graph or a frame, which may be one of Dask"
            )
        engine = importlib.import_module("rapidsgraph.distributed.executor")
        return engine.release_on_error(run)(graph, *arguments, **options)

    return choose
