"""Verify results against their definitions.

Each function recomputes what the definition demands from the edges of the graph, with array
operations in double precision, and raises VerificationError if a result violates it.

Examples
--------
>>> import pandas, rapidsgraph as rg
>>> edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
>>> wrong = rg.bfs(edges, 0).assign(distance=[0, 1, 3])
>>> rg.verify.bfs(edges, wrong, 0)
Traceback (most recent call last):
rapidsgraph.errors.VerificationError: vertex 2 has distance 3, but the edge from vertex 1 makes it 2
"""

from .components import components
from .core_number import core_number
from .label_propagation import label_propagation
from .neighbor_similarity import neighbor_similarity
from .pagerank import pagerank
from .scan import scan
from .shortest_path import shortest_path
from .traversal import bfs, sssp
from .triangles import clustering_coefficient, triangle_count

__all__ = [
    "bfs",
    "clustering_coefficient",
    "components",
    "core_number",
    "label_propagation",
    "neighbor_similarity",
    "pagerank",
    "scan",
    "shortest_path",
    "sssp",
    "triangle_count",
]


def __dir__() -> list[str]:
    return __all__
