"""From which neighbors are similar to clusters: cores, their trees, borders, hubs.

Means: what `scan` and `ScanIndex` share once common neighbors are counted; scan.py says what the
  roles mean.
Requires: lists of both directions without self-loops and repeated neighbors.
Reference: Xu, Yuruk, Feng, Schweiger 2007 (SCAN); Stovall, Kockara, Avci 2015 (GPUSCAN, whose text
  would also join clusters that share a border); trees of cores as in components.py.

Similarities are compared exactly, as integers: common^2 / (|N[u]| |N[v]|) against epsilon^2.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import row_indices
from ..kernels.constants import SIMILARITY_LEVELS
from .similarity import offsets_from_sizes

ROLES = ("core", "border", "hub", "outlier")
CORE, BORDER, HUB, OUTLIER = range(4)


class SimilarityGraph:
    """Lists of neighbors, and what makes neighbors similar.

    Attributes
    ----------
    adjacency : Adjacency
    lists : dict of str to array
        Kernel arguments: its offsets and neighbors, the common-neighbor count of every arc and the
        sizes of closed neighborhoods.
    threshold : dict of str to int
        Kernel arguments: numerator and denominator of the least squared similarity.
    floor : int
        The least level of a similar neighbor if lists are in descending order of level, else 0.
    """

    def __init__(self, adjacency, common, sizes, epsilon, is_ordered=False):
        self.adjacency = adjacency
        self.lists = {
            "offsets": adjacency.offsets, "neighbors": adjacency.neighbors, "common": common,
            "sizes": sizes,
        }  # fmt: skip
        self.xp = device.array_module(sizes)
        self.vertices, self.arcs = sizes.size, common.size
        largest = int(sizes.max()) if sizes.size else 1
        self.floor = int(float(epsilon) * SIMILARITY_LEVELS * (1 - 1e-9)) if is_ordered else 0
        numerator, denominator = min_fraction_at_least(epsilon**2, largest**2)
        self.threshold = {"numerator": numerator, "denominator": denominator}

    def launch(self, entry, rows, **arguments):
        """Run a kernel over the similar neighbors of some rows."""
        self.run(entry, rows, floor=self.floor, **self.threshold, **self.lists, **arguments)

    def run(self, entry, rows, **arguments):
        """Run a kernel over the neighbors of some rows."""
        share = self.arcs * rows.size // max(self.vertices, 1)
        geometry = None  # a few rows may have most arcs: then a block each
        if self.xp is not np:
            geometry = max(1, min(rows.size, device.max_cooperative_blocks())), 256
        device.launch(
            "scan", entry, size=rows.size + share, geometry=geometry,
            num_rows=rows.size, rows=rows, **arguments,
        )  # fmt: skip


def min_fraction_at_least(value, largest):
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


def closed_neighborhood_sizes(lists):
    """Of every closed neighborhood: int32."""
    xp = device.array_module(lists.offsets)
    return (xp.diff(lists.offsets) + 1).astype(xp.int32)


def find_cores(similar, mu):
    """Whether a vertex is a core, by a pass over its list: bool, shape (vertices,)."""
    is_core = similar.xp.empty(similar.vertices, bool)
    mu = min(mu, similar.vertices + 1)  # no neighborhood has more
    device.launch(
        "scan", "mark_cores", size=similar.vertices + similar.arcs,
        num_vertices=similar.vertices, mu=mu, **similar.threshold, **similar.lists,
        is_core=is_core,
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

    clusters: Array
    roles: Array
    count: int
    members: Array
    similar: SimilarityGraph


def cluster(similar, is_core):
    """The Clustering that follows from which vertices are cores."""
    xp, vertices = similar.xp, similar.vertices
    cores = _ids(is_core, xp)
    parents, is_touched = xp.arange(vertices, dtype=xp.int32), xp.zeros(vertices, bool)
    similar.launch("join_cores", cores, is_core=is_core, parents=parents, is_border=is_touched)
    device.launch("union_find", "compress", size=vertices, num_vertices=vertices, parents=parents)
    return _finished(similar, is_core, cores, parents, _ids(is_touched, xp))


def cluster_by_turns(similar, mu):
    """The same as GPUSCAN finds it: from the pairs of similar neighbors, by sorting."""
    xp, vertices = similar.xp, similar.vertices
    tails, heads = row_indices(similar.adjacency), similar.adjacency.neighbors
    is_similar, is_core = xp.empty(similar.arcs, bool), find_cores(similar, mu)
    device.launch(
        "scan", "mark_similar", size=similar.arcs,
        num_arcs=similar.arcs, **similar.threshold, sources=tails, **similar.lists,
        is_similar=is_similar,
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
    similar.launch(
        "attach_borders", borders, is_core=is_core, nearest=nearest, num_similar_cores=touching
    )
    labels[borders] = parents[nearest[borders]]
    members = xp.flatnonzero(labels >= 0).astype(xp.int32)
    clusters, count = number_clusters(labels, members, xp)
    seen, is_hub = nearest, xp.zeros(vertices, bool)  # its place is free now
    seen.fill(-1)
    adjacency = similar.adjacency
    similar.run(
        "find_hubs", members, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
        labels=clusters, neighbor_labels=seen, is_hub=is_hub,
    )  # fmt: skip
    roles = xp.full(vertices, OUTLIER, xp.int8)
    roles[is_hub] = HUB
    roles[cores], roles[borders] = CORE, BORDER
    return Clustering(clusters, roles, count, members, similar)


def number_clusters(labels, members, xp):
    """Clusters by descending size, ties by the first member: (int32 a vertex, how many)."""
    vertices = labels.size
    sizes, first = xp.zeros(vertices, xp.int32), xp.full(vertices, vertices, xp.int32)
    device.launch(
        "scan", "measure_clusters", size=members.size,
        num_members=members.size, members=members, labels=labels, cluster_sizes=sizes,
        first_members=first,
    )  # fmt: skip
    found = xp.flatnonzero(sizes)
    found = found[xp.argsort((-sizes[found].astype(xp.int64) << 32) + first[found])]
    first[found] = xp.arange(found.size, dtype=xp.int32)
    clusters = xp.full(vertices, -1, xp.int32)
    clusters[members] = first[labels[members]]
    return clusters, int(found.size)


def list_memberships(found):
    """(vertices, clusters): each vertex, borders once for every cluster they touch."""
    similar, xp = found.similar, found.similar.xp
    borders = _ids(found.roles == BORDER, xp)
    is_core = found.roles == CORE
    vertices = similar.vertices
    touching, nearest = xp.zeros(vertices, xp.int32), xp.empty(vertices, xp.int32)
    similar.launch(
        "attach_borders", borders, is_core=is_core, nearest=nearest, num_similar_cores=touching
    )
    starts = offsets_from_sizes(touching)
    clusters = xp.empty(int(starts[-1]), xp.int32)
    similar.launch(
        "list_border_clusters", borders, is_core=is_core, labels=found.clusters, starts=starts,
        clusters=clusters,
    )  # fmt: skip
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
