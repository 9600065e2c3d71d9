"""SCAN: clusters of vertices with similar neighborhoods, and the hubs and outliers between them.

Means: a core is similar to at least mu vertices, with itself; clusters are the components of
  similar cores; a border is similar to a core and goes to the one it is most similar to; of the
  others, a hub has neighbors in several clusters, an outlier has not.
Requires: nothing; edges are taken both ways, self-loops and repeated edges are ignored.
Reference: Xu, Yuruk, Feng, Schweiger 2007 (SCAN). clustering.py does the work.
"""

import numbers
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..errors import GraphError, format_value
from ..memory import estimate_graph_memory
from ..validation import check_choice, check_flag, check_free_memory
from .clustering import (
    ROLES,
    SimilarityGraph,
    closed_neighborhood_sizes,
    cluster,
    cluster_by_turns,
    find_cores,
    list_memberships,
)
from .similarity import METHODS, common_neighbors, neighborhoods, undirected_graph

MOST_DIGITS = 1000  # of a Decimal, which can have more than memory has bytes


def scan(graph, *, epsilon=0.5, mu=3, memberships=False, method="auto"):
    """Structural clustering (SCAN): clusters, hubs and outliers.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, repeated edges and weights are ignored. A
        `Graph` keeps what was counted of it (8 bytes an edge, 16 if it is directed), so that other
        parameters take less time; for many of them see `ScanIndex`.
        Of a Dask frame, or a `Graph` of one, the result is a Dask frame.
    epsilon : float, Fraction or Decimal, above 0, at most 1
        Neighbors are similar if their similarity (see `structural_similarity`) is at least this.
        A float is taken as the decimal it prints as, and the comparison is exact.
    mu : int, at least 1
        A core is similar to at least so many vertices, itself among them. (GPUSCAN does not count
        the vertex itself: its mu is one less.)
    memberships : bool
        Whether a border that is similar to cores of several clusters has a row for each of them:
        first its own, then the others by number.
    method : {"auto", "gpuscan"}
        "gpuscan" compares whole lists and joins cores as GPUSCAN does, linking to the smallest and
        the largest neighbor in turns; some graphs take it very long. Both give the same.

    Returns
    -------
    frame
        `vertex`, `cluster` (int32), `role`: one row a vertex, sorted by vertex, in the caller's
        library. Clusters are numbered from 0 by descending size, those of one size by their
        smallest vertex; hubs and outliers have none: null (Int32 in pandas), in a mapping of
        arrays -1. The role is "core", "border", "hub" or "outlier"; a mapping of CuPy arrays has
        the places 0 to 3 of these words instead (int8).

    Raises
    ------
    GraphError
        epsilon or mu out of range; a frame that cannot be used.
    InsufficientMemoryError
        The run would not fit; raised before it starts.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame(
    ...     {"source": [0, 0, 1, 2, 3, 4, 4, 5], "destination": [1, 2, 2, 3, 4, 5, 6, 6]}
    ... )
    >>> rg.scan(edges, epsilon=0.7)
       vertex  cluster     role
    0       0        0     core
    1       1        0     core
    2       2        0     core
    3       3     <NA>      hub
    4       4        1     core
    5       5        1     core
    6       6        1     core
    """
    epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    check_choice("method", method, METHODS)
    check_flag("memberships", memberships)
    graph = undirected_graph(graph)
    graph.labeling.check_name_collisions("cluster", "role")
    extended = memberships or method == "gpuscan"
    needed = estimate_graph_memory(graph, "scan", memberships=bool(extended)).needed
    check_free_memory(f"clusters of {graph.num_vertices:,} vertices", needed, graph.xp)
    lists, common = neighborhoods(graph), common_neighbors(graph, method)
    similar = SimilarityGraph(lists, common, closed_neighborhood_sizes(lists), epsilon)
    if method == "gpuscan":
        found = cluster_by_turns(similar, mu)
    else:
        found = cluster(similar, find_cores(similar, mu))
    return clustering_frame(graph.labeling, found, memberships)


def check_epsilon(epsilon):
    """As a Fraction; a float as the decimal that it prints as."""
    try:
        exact = _exact(epsilon)
    except (TypeError, ValueError, OverflowError):  # also NaN and infinity
        exact = None
    if exact is None or not 0 < exact <= 1:
        raise GraphError(
            f"epsilon is {format_value(epsilon)}; it must be a number above 0, at most 1"
        )
    return exact


def _exact(number):
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number[()]
    if isinstance(number, (bool, np.bool_, str, np.timedelta64, np.ndarray)):
        raise TypeError
    if isinstance(number, Decimal):
        digits = number.as_tuple().digits
        if max(abs(number.adjusted()), len(digits)) > MOST_DIGITS:
            raise ValueError
    if isinstance(number, (Fraction, Decimal, numbers.Integral)):
        return Fraction(number)
    if isinstance(number, np.floating):
        return Fraction(str(number))
    return Fraction(repr(number.item() if hasattr(number, "item") else number))


def check_mu(mu):
    """As an int."""
    try:
        if isinstance(mu, (bool, np.bool_)):
            raise TypeError
        whole = operator.index(mu)
    except TypeError:
        whole = 0
    if whole < 1:
        raise GraphError(f"mu is {format_value(mu)}; it must be a whole number, at least 1")
    return whole


def clustering_frame(labeling, found, memberships=False):
    """Return the result frame of `scan`."""
    clusters, roles, ids = found.clusters, found.roles, None
    if memberships:
        ids, clusters = list_memberships(found)
        roles = roles[ids]
    columns = {"cluster": (clusters, clusters >= 0), "role": labeling.text_column(roles, ROLES)}
    return labeling.vertex_frame(columns, ids)
