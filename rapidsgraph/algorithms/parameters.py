"""Parameters of the algorithms, as every engine takes them.

The public functions of `rapidsgraph.api` validate and convert what the caller passes, except for
what depends on the graph: vertices and values by vertex, and memory limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..frames import VertexValues, Vertices
from ..kernels.constants import NO_VERTEX
from ..progress import Progress
from ..validation import DEFAULT_WEIGHT

# How algorithms that use weights build the graph of an edge frame. A random walk follows parallel
# edges in proportion to the sum of their weights, a shortest path the cheapest one.
FRAME_OPTIONS: dict[str, dict[str, Any]] = {
    "pagerank": {
        "weight": DEFAULT_WEIGHT, "multi_edges": "sum", "unweighted_multi_edges": "first",
    },
    "sssp": {"weight": DEFAULT_WEIGHT, "multi_edges": "min"},
    "shortest_path": {"weight": DEFAULT_WEIGHT, "multi_edges": "min"},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters of every algorithm.

    Attributes
    ----------
    method : str
        Only engines with several methods read it.
    memory_limit : int, str or None
        Bytes for a layered edge list; None for other graphs.
    """

    method: str = "auto"
    memory_limit: int | str | None = None


@dataclass(frozen=True, kw_only=True)
class SearchParameters(Parameters):
    """Parameters of BFS and SSSP.

    Attributes
    ----------
    source : vertex name, or several, or None
    max_distance : float
        Vertices farther away count as unreached.
    predecessors : bool
    progress : bool, callable or None
    """

    source: Vertices | None
    max_distance: float
    predecessors: bool
    progress: Progress = None

    @property
    def depth_limit(self) -> int:
        """Largest distance in edges, at most NO_VERTEX."""
        return int(min(self.max_distance, NO_VERTEX))


@dataclass(frozen=True, kw_only=True)
class PathParameters(Parameters):
    """Parameters of shortest paths between vertices.

    Attributes
    ----------
    source, target : vertex name, or several
    weighted : bool
        Whether to use weights, if there are any.
    """

    source: Vertices | None
    target: Vertices
    weighted: bool


@dataclass(frozen=True, kw_only=True)
class PageRankParameters(Parameters):
    """Parameters of PageRank; see `rapidsgraph.pagerank`.

    Attributes
    ----------
    damping, tolerance : float
    max_iterations : int
    personalization, start : frame, Series, dict or None
    dangling : {"uniform", "drop"}, frame, Series, dict or None
    value_type : type
        numpy.float32 or numpy.float64.
    launch : (blocks, threads) or None
    progress : bool, callable or None
    """

    damping: float
    tolerance: float
    max_iterations: int
    personalization: VertexValues | None = None
    dangling: str | VertexValues | None = None
    start: VertexValues | None = None
    value_type: type[np.floating] = np.float64
    launch: tuple[int, int] | None = None
    progress: Progress = None


@dataclass(frozen=True, kw_only=True)
class ComponentParameters(Parameters):
    """Parameters of connected components; `strong` is not for distributed graphs."""

    strong: bool


@dataclass(frozen=True, kw_only=True)
class LabelParameters(Parameters):
    """Parameters of label propagation.

    Attributes
    ----------
    iterations : int
        Maximum number of iterations.
    seed : int or None
        Breaks ties at random; by default the smallest label wins.
    """

    iterations: int
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class SimilarityParameters(Parameters):
    """Parameters of the similarity of neighborhoods.

    Attributes
    ----------
    pairs : frame or None
        Pairs of vertices; by default the endpoints of every edge.
    kind : {"jaccard", "overlap", "cosine", "common"}
    """

    pairs: Any
    kind: str


@dataclass(frozen=True, kw_only=True)
class ScanParameters(Parameters):
    """Parameters of SCAN.

    Attributes
    ----------
    epsilon : Fraction
    mu : int
    memberships : bool
    """

    epsilon: Fraction
    mu: int
    memberships: bool
