"""Graphs as benchmarks of similarity and SCAN take them, and what answers are checked by.

Means: a Case is one graph, the truth about it, and what libraries made of it; `other_...` say what
  is wrong with an answer, or None.
"""

import importlib
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from rapidsgraph.algorithms import similarity
from rapidsgraph.algorithms.clustering import CORE, ROLES
from rapidsgraph.graph.csr import row_indices

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from serial_scan import serial_scan

by_probes = importlib.import_module("rapidsgraph.verify.scan")  # a function has its name

COUNTERS = {"auto": similarity._by_triangles, "gpuscan": similarity._by_comparison}
EPSILON, MU = 0.5, 4  # GPUSCAN's mu of 3, which does not count the vertex itself
SAMPLE = 20_000  # edges whose common neighbors are counted in another way
# Common neighbors that verify.scan may look up: seconds' worth of them.
MOST_PROBES = {"cpu": 3 * 10**7, "gpu": 5 * 10**9}
CLOSE = {"double": 1e-12, "single": 1e-6}  # how far a similarity may be from the true one


class Wrong(Exception):
    """What the answers are to be checked by does not hold itself."""


class Case:
    """A graph taken as undirected, and the truth about it.

    Attributes
    ----------
    graph : rapidsgraph.Graph
    lists : Adjacency
        Its neighborhoods, which every contender may start from.
    first, second : int32
        The ends of every edge once, first < second, sorted.
    """

    def __init__(self, workload):
        self.workload = replace(workload, directed=False, weight=None)
        self.name, self.xp = workload.name, workload.xp
        self.graph = self.workload.build()
        self.lists = similarity.neighborhoods(self.graph)
        self.made = {}

    def kept(self, key, make):
        """What a library needs of the graph, made once."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def forget(self):
        """Nothing is kept of the graph but its lists, as after it was built."""
        self.graph._cache.clear()
        return self.graph

    @cached_property
    def rows(self):
        return row_indices(self.lists)

    @property
    def is_first(self):
        """Whether an arc leads to a later vertex."""
        return self.rows < self.lists.neighbors

    @cached_property
    def ends(self):
        """(first, second)"""
        once = self.is_first
        return self.rows[once], self.lists.neighbors[once]

    @cached_property
    def degrees(self):
        return self.xp.diff(self.lists.offsets)

    @property
    def edges(self):
        return int(self.lists.neighbors.size) // 2

    @cached_property
    def steps(self):
        """Sum of squared degrees."""
        return int((self.degrees * self.degrees).sum())

    @cached_property
    def probes(self):
        """Sum over edges of the smaller degree."""
        first, second = self.ends
        return int(self.xp.minimum(self.degrees[first], self.degrees[second]).sum())

    @cached_property
    def common(self):
        """Common neighbors of every arc; those of a sample have been counted in another way."""
        counts = COUNTERS["auto"](self.lists)
        first, second = self.ends
        if first.size:
            picked = np.unique(np.random.default_rng(1).integers(0, first.size, SAMPLE))
            picked = self.xp.asarray(picked)
            keys = self.rows.astype(np.int64) << 32 | self.lists.neighbors
            again = by_probes._common_neighbors(first[picked], second[picked], self.lists, keys)
            wrong = int((counts[self.is_first][picked] != again).sum())
            if wrong:
                raise Wrong(f"{wrong} of {picked.size} edges have another count")
        return counts

    @cached_property
    def on_host(self):
        """(offsets, neighbors, common) for the serial loop."""
        arrays = self.lists.offsets, self.lists.neighbors, self.common
        return tuple(array.get() if self.xp is not np else array for array in arrays)

    @cached_property
    def clustering(self):
        """(our clustering, what was found of it, how it was checked); it raises where it is wrong.

        Checked by verify.scan, or where that would take long by the serial loop.
        """
        answer = rg.scan(self.graph, epsilon=EPSILON, mu=MU)
        clusters, is_core = by_vertex(answer)
        facts = {"clusters": int(clusters.max()) + 1, "cores": int(is_core.sum())}
        if self.probes <= MOST_PROBES[self.graph.device]:
            number = rg.verify.scan(self.graph, answer, epsilon=EPSILON, mu=MU)
            if number != facts["clusters"]:
                raise Wrong(f"{facts['clusters']} clusters, {number} verified")
            return answer, facts, "verify.scan"
        serial = serial_scan(*self.on_host[:2], *exact(EPSILON), MU, self.on_host[2])
        if wrong := other_clusters(clusters, is_core, *serial):
            raise Wrong(wrong)
        return answer, facts, "serial loop, sampled counts"

    def facts(self):
        return {"vertices": self.workload.vertices, "edges": self.edges}


def exact(epsilon):
    """(p, q) of epsilon as it is written."""
    return Fraction(repr(epsilon)).as_integer_ratio()


def column(frame, name):
    """A column of a result as an array; -1 where there is nothing."""
    values = frame[name]
    if name == "cluster" and hasattr(values, "fillna"):
        values = values.fillna(-1).astype("int64")
    return getattr(values, "values", values)


def by_vertex(answer):
    """(cluster or -1, is core) of the vertices in the order of their ids."""
    roles = answer["role"]
    is_core = roles == (CORE if roles.dtype == np.int8 else ROLES[CORE])
    return column(answer, "cluster"), getattr(is_core, "values", is_core)


def same(one, other):
    """Are two results of scan the same, row by row?"""
    if len(one["vertex"]) != len(other["vertex"]):
        return False
    numbers = ((column(one, name), column(other, name)) for name in ("vertex", "cluster"))
    return all(bool((a == b).all()) for a, b in [*numbers, (one["role"], other["role"])])


def other_clusters(clusters, is_core, serial_clusters, serial_roles):
    """What is wrong with serial clusters, or None.

    Cores and members must be the same and cores must go together; a border of several clusters is
    in the one that came first, so in any.
    """
    clusters, is_core = (a.get() if hasattr(a, "get") else a for a in (clusters, is_core))
    if wrong := int(((serial_roles == CORE) != is_core).sum()):
        return f"wrong: {wrong} vertices are cores or not, unlike in the checked answer"
    if wrong := int(((serial_clusters >= 0) != (clusters >= 0)).sum()):
        return f"wrong: {wrong} vertices are in a cluster or not, unlike in the checked answer"
    pairs = np.stack([clusters[is_core], serial_clusters[is_core]])
    counts = [np.unique(row).size for row in pairs] + [np.unique(pairs, axis=1).shape[1]]
    if len(set(counts)) > 1:
        return (
            f"wrong: {counts[1]} clusters, {counts[0]} in the checked answer, {counts[2]} overlaps"
        )
    return None


def other_counts(given, truth):
    """What is wrong with counts, or None."""
    if given.shape != truth.shape:
        return f"wrong: {given.size} counts for {truth.size}"
    wrong = int((given != truth).sum())
    return f"wrong: {wrong} of {truth.size} counts" if wrong else None


def other_values(given, truth, precision="double"):
    """What is wrong with similarities, or None."""
    if given.shape != truth.shape:
        return f"wrong: {given.size} values for {truth.size} edges"
    apart = abs(given - truth)
    wrong = int((~(apart <= CLOSE[precision])).sum())
    return f"wrong: {wrong} values, by {float(apart.max()):.2g} at most" if wrong else None
