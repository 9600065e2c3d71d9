"""SCAN: structural clustering into clusters, hubs and outliers.

This module checks arguments and labels results; `clustering` has the algorithm.
"""

from __future__ import annotations

import numbers
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import GraphError, format_value
from ..graph.labeling import Labeling
from ..memory import check_run_memory
from ..validation import check_choice, check_flag
from .clustering import (
    ROLES,
    Clustering,
    SimilarityGraph,
    closed_neighborhood_sizes,
    cluster,
    cluster_by_turns,
    find_cores,
    list_memberships,
)
from .similarity import METHODS, common_neighbors, neighborhoods, undirected_graph

MAX_DIGITS = 1000  # of a Decimal, whose exponent may exceed memory


def scan(
    graph: Any,
    *,
    epsilon: Any = 0.5,
    mu: int = 3,
    memberships: bool = False,
    method: str = "auto",
) -> Any:
    """Cluster vertices by structural similarity (SCAN), and find hubs and outliers.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A `Graph`
        caches common-neighbor counts (8 bytes per edge, 16 if it is directed), so that calls with
        other parameters are faster; see `ScanIndex` for many of them. A Dask frame, or the `Graph`
        of one, gives a Dask frame.
    epsilon : float, Fraction or Decimal, default 0.5
        Neighbors are similar if their similarity (see `structural_similarity`) is at least epsilon,
        which is above 0 and at most 1. The comparison is exact, and a float is the decimal that it
        prints as.
    mu : int, default 3
        A core is similar to at least `mu` vertices, including itself. GPUSCAN does not count the
        vertex itself, so that its mu is one less.
    memberships : bool, default False
        Whether a border that is similar to cores of several clusters has a row for each of them:
        first for its own cluster, then for the others by number.
    method : {"auto", "gpuscan"}, default "auto"
        "gpuscan" compares whole neighbor lists and links cores to the smallest and the largest
        neighbor in turns, as GPUSCAN does, which is slow on some graphs. Both give the same result.

    Returns
    -------
    frame
        Columns `vertex`, `cluster` (int32) and `role`: one row per vertex, sorted by vertex, in the
        library of the edge frame. Clusters are numbered from 0 by descending size, ties by smallest
        vertex name. The cluster of hubs and outliers is null (Int32 in pandas), or -1 in a dict of
        arrays. The role is "core", "border", "hub" or "outlier"; a dict of CuPy arrays has the
        codes 0 to 3 in this order (int8).

    Raises
    ------
    GraphError
        A parameter or the frame cannot be used.
    InsufficientMemoryError
        The run would not fit into memory; raised before it starts.

    See Also
    --------
    ScanIndex : Clusterings for many values of epsilon and mu.
    verify.scan : Check a result.

    References
    ----------
    .. [1] X. Xu, N. Yuruk, Z. Feng and T. A. J. Schweiger, "SCAN: a structural clustering algorithm
       for networks", KDD 2007. https://doi.org/10.1145/1281192.1281280
    .. [2] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-based parallel structural clustering
       algorithm for networks", IEEE Trans. Parallel Distrib. Syst. 26(12), 2015.
       https://doi.org/10.1109/TPDS.2014.2374607

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
    operation = f"clusters of {graph.num_vertices:,} vertices"
    check_run_memory(graph, "scan", operation, memberships=bool(extended))
    lists, common = neighborhoods(graph), common_neighbors(graph, method)
    similar = SimilarityGraph(lists, common, closed_neighborhood_sizes(lists), epsilon)
    if method == "gpuscan":
        found = cluster_by_turns(similar, mu)
    else:
        found = cluster(similar, find_cores(similar, mu))
    return clustering_frame(graph.labeling, found, memberships)


def check_epsilon(epsilon: Any) -> Fraction:
    """Return epsilon as a Fraction, a float as the decimal that it prints as."""
    try:
        exact = _exact(epsilon)
    except (TypeError, ValueError, OverflowError):  # also NaN and infinity
        exact = None
    if exact is None or not 0 < exact <= 1:
        raise GraphError(
            f"epsilon is {format_value(epsilon)}; it must be a number above 0, at most 1"
        )
    return exact


def _exact(number: Any) -> Fraction:
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number[()]
    if isinstance(number, (bool, np.bool_, str, np.timedelta64, np.ndarray)):
        raise TypeError
    if isinstance(number, Decimal):
        digits = number.as_tuple().digits
        if max(abs(number.adjusted()), len(digits)) > MAX_DIGITS:
            raise ValueError
    if isinstance(number, (Fraction, Decimal, numbers.Integral)):
        return Fraction(number)
    if isinstance(number, np.floating):
        return Fraction(str(number))
    return Fraction(repr(number.item() if hasattr(number, "item") else number))


def check_mu(mu: Any) -> int:
    """Return mu as an int; GraphError if it is not a whole number from 1."""
    try:
        if isinstance(mu, (bool, np.bool_)):
            raise TypeError
        whole = operator.index(mu)
    except TypeError:
        whole = 0
    if whole < 1:
        raise GraphError(f"mu is {format_value(mu)}; it must be a whole number, at least 1")
    return whole


def clustering_frame(labeling: Labeling, found: Clustering, memberships: bool = False) -> Any:
    """Return the result frame of `scan`."""
    clusters, roles, ids = found.clusters, found.roles, None
    if memberships:
        ids, clusters = list_memberships(found)
        roles = roles[ids]
    columns = {"cluster": (clusters, clusters >= 0), "role": labeling.text_column(roles, ROLES)}
    return labeling.vertex_frame(columns, ids)
