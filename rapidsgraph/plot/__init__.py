"""Plot results: distributions, adjacency matrices by cluster, and parameter sweeps.

Matplotlib is imported when a function is called. The figures need no display.

Examples
--------
>>> import pandas, rapidsgraph as rg
>>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
>>> rg.plot.adjacency(edges, rg.scan(edges, epsilon=0.8)).axes[0].get_title()
'4 vertices, 1 cluster, 0 hubs, 1 outlier'
"""

from .adjacency import adjacency
from .distribution import MAX_POINTS, distribution
from .savefig import check
from .sweep import sweep

__all__ = ["MAX_POINTS", "adjacency", "check", "distribution", "sweep"]


def __dir__() -> list[str]:
    return __all__
