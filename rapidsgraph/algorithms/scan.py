"""SCAN: clusters of vertices with similar neighborhoods, and the hubs and outliers between them.

Means: a core is similar to at least mu vertices, with itself; clusters are the components of
  similar cores; a border is similar to a core and goes to the one it is most similar to; of the
  others, a hub has neighbors in several clusters, an outlier has not.
Requires: nothing; edges are taken both ways, self-loops and repeated edges are ignored.
Reference: Xu, Yuruk, Feng, Schweiger 2007 (SCAN); Stovall, Kockara, Avci 2015 (GPUSCAN, whose text
  would also join clusters that share a border); trees of cores as in components.py.

Similarities are compared exactly, as integers: common^2 / (|N[u]| |N[v]|) against epsilon^2.
"""

import numbers
import operator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from .. import device
from ..adjacency import rows_of
from ..errors import GraphError
from ..inputs import check_choice
from ..memory import check_fits, estimate_memory
from .similarity import METHODS, common_neighbors, neighborhoods, offsets_of, undirected_graph

ROLES = ("core", "border", "hub", "outlier")
CORE, BORDER, HUB, OUTLIER = range(4)
MOST_DIGITS = 1000  # of a Decimal, which can have more than memory has bytes
LEVELS = 2**20  # of similarity, by which the lists of an index are sorted; cluster.cu agrees


def scan(graph, *, epsilon=0.5, mu=3, memberships=False, method="auto"):
    """Structural clustering (SCAN): clusters, hubs and outliers.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, repeated edges and weights are ignored. A
        `Graph` keeps what was counted of it (8 bytes an edge, 16 if it is directed), so that other
        parameters take less time; for many of them see `ScanIndex`.
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
    NotEnoughMemory
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
    epsilon, mu = checked_epsilon(epsilon), checked_mu(mu)
    check_choice("method", method, METHODS)
    graph = undirected_graph(graph)
    graph.check_room("cluster", "role")
    needed = estimate_memory(graph, "scan").needed
    check_fits(f"clusters of {graph.num_vertices:,} vertices", needed, graph.xp)
    lists, common = neighborhoods(graph), common_neighbors(graph, method)
    similar = Similar(lists, common, closed_sizes(lists), epsilon)
    if method == "gpuscan":
        found = cluster_by_turns(similar, mu)
    else:
        found = cluster(similar, cores_of(similar, mu))
    return clustering_frame(graph, found, memberships)


def checked_epsilon(epsilon):
    """As a Fraction; a float as the decimal that it prints as."""
    try:
        exact = _exact(epsilon)
    except (TypeError, ValueError, OverflowError):  # also NaN and infinity
        exact = None
    if exact is None or not 0 < exact <= 1:
        raise GraphError(f"epsilon is {_shown(epsilon)}; it must be a number above 0, at most 1")
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


def checked_mu(mu):
    """As an int."""
    try:
        if isinstance(mu, (bool, np.bool_)):
            raise TypeError
        whole = operator.index(mu)
    except TypeError:
        whole = 0
    if whole < 1:
        raise GraphError(f"mu is {_shown(mu)}; it must be a whole number, at least 1")
    return whole


def _shown(value):
    try:
        return repr(value)
    except ValueError:  # Python's own limit of digits
        return "a number of thousands of digits"


class Similar:
    """Lists of neighbors, and what makes neighbors similar.

    Attributes
    ----------
    adjacency : Adjacency
    lists : tuple of arrays
        Its offsets and neighbors, common neighbors of every arc, sizes of closed neighborhoods: as
        kernels take them.
    limits : (int, int, int)
        The least level of what is similar where lists fall by level, or 0; numerator and
        denominator of the least squared similarity.
    """

    def __init__(self, adjacency, common, sizes, epsilon, is_ordered=False):
        self.adjacency = adjacency
        self.lists = adjacency.offsets, adjacency.neighbors, common, sizes
        self.xp = device.array_module(sizes)
        self.vertices, self.arcs = sizes.size, common.size
        largest = int(sizes.max()) if sizes.size else 1
        floor = int(float(epsilon) * LEVELS * (1 - 1e-9)) if is_ordered else 0
        self.limits = (floor, *least_above(epsilon**2, largest**2))

    def launch(self, entry, rows, *arguments):
        """A pass over the lists of some rows, by what is similar."""
        self.run(entry, rows, *self.limits, *self.lists, *arguments)

    def run(self, entry, rows, *arguments):
        """A pass over the lists of some rows."""
        share = self.arcs * rows.size // max(self.vertices, 1)
        geometry = None  # a few rows may have most arcs: then a block each
        if self.xp is not np:
            geometry = max(1, min(rows.size, device.most_blocks())), 256
        device.launch(
            "cluster", entry, rows.size, rows, *arguments, size=rows.size + share, geometry=geometry
        )


def least_above(value, largest):
    """(numerator, denominator) of the least fraction >= value with a denominator <= largest.

    A squared similarity is a fraction whose denominator is a product of two sizes. So it is at
    least `value` if and only if it is at least this one, whose terms do not outgrow 64 bits.
    """
    if value.denominator <= largest:
        return value.numerator, value.denominator
    # Two neighbors in the Farey sequence, below and above: value's continued fraction, cut off.
    low, high = (0, 1), (1, 0)
    rest = value
    while True:
        whole = rest.numerator // rest.denominator
        term = (low[0] + whole * high[0], low[1] + whole * high[1])
        if term[1] > largest:
            break
        low, high, rest = high, term, 1 / (rest - whole)
    steps = (largest - low[1]) // high[1]
    bounds = high, (low[0] + steps * high[0], low[1] + steps * high[1])
    return next(bound for bound in bounds if Fraction(*bound) >= value)


def closed_sizes(lists):
    """Of every closed neighborhood: int32."""
    xp = device.array_module(lists.offsets)
    return (xp.diff(lists.offsets) + 1).astype(xp.int32)


def cores_of(similar, mu):
    """Whether a vertex is a core, by a pass over its list: bool, shape (vertices,)."""
    is_core = similar.xp.empty(similar.vertices, bool)
    mu = min(mu, similar.vertices + 1)  # no neighborhood has more
    device.launch(
        "cluster", "mark_cores", similar.vertices, mu, *similar.limits[1:], *similar.lists, is_core,
        size=similar.vertices + similar.arcs,
    )  # fmt: skip
    return is_core


@dataclass
class Clustering:
    """What a clustering found, by vertex id.

    Attributes
    ----------
    clusters : int32, shape (vertices,); -1 where there is none
    roles : int8, shape (vertices,); places in ROLES
    count : int
        How many clusters there are.
    members : int32
        Vertices that are in one, ascending.
    similar : Similar
    """

    clusters: object
    roles: object
    count: int
    members: object
    similar: Similar


def cluster(similar, is_core):
    """The Clustering that follows from which vertices are cores."""
    xp, vertices = similar.xp, similar.vertices
    cores = _ids(is_core, xp)
    parents, is_touched = xp.arange(vertices, dtype=xp.int32), xp.zeros(vertices, bool)
    similar.launch("join_cores", cores, is_core, parents, is_touched)
    device.launch("link", "compress", vertices, parents, size=vertices)
    return _finished(similar, is_core, cores, parents, _ids(is_touched, xp))


def cluster_by_turns(similar, mu):
    """The same as GPUSCAN finds it: from the pairs of similar neighbors, by sorting."""
    xp, vertices = similar.xp, similar.vertices
    tails, heads = rows_of(similar.adjacency), similar.adjacency.neighbors
    is_similar, is_core = xp.empty(similar.arcs, bool), cores_of(similar, mu)
    device.launch(
        "cluster", "mark_similar", similar.arcs, *similar.limits[1:], tails, *similar.lists,
        is_similar, size=similar.arcs,
    )  # fmt: skip
    is_similar &= is_core[tails]
    is_touched = xp.zeros(vertices, bool)
    is_touched[heads[is_similar]] = True
    is_touched &= ~is_core
    is_similar &= is_core[heads]
    ends = [tails[is_similar], heads[is_similar]]
    del tails, is_similar
    parents = link_by_turns(ends, vertices)
    return _finished(similar, is_core, _ids(is_core, xp), parents, _ids(is_touched, xp))


def link_by_turns(ends, vertices):
    """The root of every vertex's tree, from pairs given both ways: int32, shape (vertices,).

    A vertex links to the smallest of itself and its neighbors, in the next turn to the largest,
    and so on; then both ends of a pair are replaced by what they linked to. No pair is left when
    every tree has one root, and ways to roots are halved until all are short. `ends` is emptied.
    """
    xp, turn = device.array_module(ends[0]), 0
    parents = xp.arange(vertices, dtype=xp.int32)
    while ends[0].size:
        pairs = ends.pop(0).astype(xp.int64)
        pairs <<= 32
        pairs |= ends.pop()
        pairs.sort()
        heads = pairs.astype(xp.int32)
        pairs >>= 32
        tails = pairs.astype(xp.int32)
        del pairs
        changes = xp.flatnonzero(tails[1:] != tails[:-1])
        if turn % 2 == 0:  # of sorted pairs the first is the smallest
            at, choose = xp.concatenate((xp.zeros(1, changes.dtype), changes + 1)), xp.minimum
        else:
            last = xp.full(1, tails.size - 1, changes.dtype)
            at, choose = xp.concatenate((changes, last)), xp.maximum
        parents[tails[at]] = choose(tails[at], heads[at])
        tails, heads = parents[tails], parents[heads]
        apart = tails != heads
        ends += [tails[apart], heads[apart]]
        turn += 1
    while True:
        above = parents[parents]
        if bool((above == parents).all()):
            return parents
        parents = above


def _finished(similar, is_core, cores, parents, borders):
    """Borders to their cores, clusters to their numbers, the others to their roles."""
    xp, vertices = similar.xp, similar.vertices
    labels = xp.full(vertices, -1, xp.int32)
    labels[cores] = parents[cores]
    nearest, touching = xp.empty(vertices, xp.int32), xp.empty(vertices, xp.int32)
    similar.launch("attach", borders, is_core, nearest, touching)
    labels[borders] = parents[nearest[borders]]
    members = xp.flatnonzero(labels >= 0).astype(xp.int32)
    clusters, count = _numbered(labels, members, xp)
    seen, is_hub = nearest, xp.zeros(vertices, bool)  # its place is free now
    seen.fill(-1)
    similar.run("find_hubs", members, *similar.lists[:2], clusters, seen, is_hub)
    roles = xp.full(vertices, OUTLIER, xp.int8)
    roles[is_hub] = HUB
    roles[cores], roles[borders] = CORE, BORDER
    return Clustering(clusters, roles, count, members, similar)


def _numbered(labels, members, xp):
    """Clusters by descending size, ties by the first member: (int32 a vertex, how many)."""
    vertices = labels.size
    sizes, first = xp.zeros(vertices, xp.int32), xp.full(vertices, vertices, xp.int32)
    device.launch(
        "cluster", "measure", members.size, members, labels, sizes, first, size=members.size
    )
    found = xp.flatnonzero(sizes)
    found = found[xp.argsort((-sizes[found].astype(xp.int64) << 32) + first[found])]
    first[found] = xp.arange(found.size, dtype=xp.int32)
    clusters = xp.full(vertices, -1, xp.int32)
    clusters[members] = first[labels[members]]
    return clusters, int(found.size)


def clustering_frame(named, found, memberships=False):
    """The result of `scan` of a NamedVertices."""
    clusters, roles, ids = found.clusters, found.roles, None
    if memberships:
        ids, clusters = _memberships(found)
        roles = roles[ids]
    columns = {"cluster": (clusters, clusters >= 0), "role": named.words(roles, ROLES)}
    return named.label(columns, ids)


def _memberships(found):
    """(vertices, clusters): each vertex, borders once for every cluster they touch."""
    similar, xp = found.similar, found.similar.xp
    borders = _ids(found.roles == BORDER, xp)
    is_core = found.roles == CORE
    vertices = similar.vertices
    touching, nearest = xp.zeros(vertices, xp.int32), xp.empty(vertices, xp.int32)
    similar.launch("attach", borders, is_core, nearest, touching)
    starts = offsets_of(touching)
    clusters = xp.empty(int(starts[-1]), xp.int32)
    similar.launch("list_touching", borders, is_core, found.clusters, starts, clusters)
    places = xp.searchsorted(starts[borders], xp.arange(clusters.size), side="right") - 1
    rows = borders[places]
    other = clusters != found.clusters[rows]
    pairs = xp.unique(rows[other].astype(xp.int64) << 32 | clusters[other])
    ids = xp.concatenate((xp.arange(vertices, dtype=xp.int32), (pairs >> 32).astype(xp.int32)))
    clusters = xp.concatenate((found.clusters, pairs.astype(xp.int32)))
    # Both parts ascend, and a vertex's own cluster stands before its others.
    order = xp.argsort(ids.astype(xp.int64) * 2 + (xp.arange(ids.size) >= vertices), kind="stable")
    return ids[order], clusters[order]


def _ids(flags, xp):
    return xp.flatnonzero(flags).astype(xp.int32)
