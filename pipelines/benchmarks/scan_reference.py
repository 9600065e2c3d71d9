"""Graphs of the similarity and SCAN benchmarks, with verified reference answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.answers import (
    WrongAnswerError,
    clusters_and_cores,
    compare_clusters,
    to_host,
)
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.serial_scan import serial_scan
from rapidsgraph.algorithms import similarity
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph

verify_scan = importlib.import_module("rapidsgraph.verify.scan")  # the function has the same name

COUNTERS = {"auto": similarity.count_by_triangles, "gpuscan": similarity._count_by_comparison}
EPSILON, MU = 0.5, 4  # GPUSCAN's mu of 3, which does not count the vertex itself
SAMPLE_SIZE = 20_000  # edges whose common neighbors are counted by an independent method
# Lookups of common neighbors that verify.scan may take: several seconds.
MAX_PROBES = {"cpu": 3 * 10**7, "gpu": 5 * 10**9}


class ScanCase:
    """A graph taken as undirected, with reference answers.

    Attributes
    ----------
    graph : LocalGraph
    lists : CSR
        Its simple neighborhoods, from which any adapter may start.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = replace(workload, directed=False, weight=None)
        self.name, self.xp = workload.name, workload.xp
        self.graph = self.workload.build()
        self.lists = similarity.neighborhoods(self.graph)
        self._cache: dict[str, Any] = {}

    def cached(self, key: str, build: Callable[[], Any]) -> Any:
        """Return a library's form of the graph, which is built on first use."""
        if key not in self._cache:
            self._cache[key] = build()
        return self._cache[key]

    def clear_graph_cache(self) -> LocalGraph:
        """Clear the caches of the Graph, and return it."""
        self.graph._cache.clear()
        return self.graph

    @cached_property
    def arc_sources(self) -> Array:
        return row_indices(self.lists)

    @property
    def is_forward(self) -> Array:
        """Whether an arc leads to a vertex of larger id."""
        return self.arc_sources < self.lists.neighbors

    @cached_property
    def endpoints(self) -> tuple[Array, Array]:
        """Both endpoints of every edge once, sorted, the smaller id first."""
        is_forward = self.is_forward
        return self.arc_sources[is_forward], self.lists.neighbors[is_forward]

    @cached_property
    def degrees(self) -> Array:
        return self.xp.diff(self.lists.offsets)

    @property
    def num_edges(self) -> int:
        return int(self.lists.neighbors.size) // 2

    @cached_property
    def squared_degree_sum(self) -> int:
        return int((self.degrees * self.degrees).sum())

    @cached_property
    def num_probes(self) -> int:
        """The sum over edges of the smaller degree."""
        first, second = self.endpoints
        return int(self.xp.minimum(self.degrees[first], self.degrees[second]).sum())

    @cached_property
    def common_neighbors(self) -> Array:
        """The common-neighbor count of every arc, of which a sample has been verified."""
        counts = COUNTERS["auto"](self.lists)
        first, second = self.endpoints
        if first.size:
            sample = np.unique(np.random.default_rng(1).integers(0, first.size, SAMPLE_SIZE))
            sample = self.xp.asarray(sample)
            keys = self.arc_sources.astype(np.int64) << 32 | self.lists.neighbors
            expected = verify_scan.count_common_neighbors(
                first[sample], second[sample], self.lists, keys
            )
            num_wrong = int((counts[self.is_forward][sample] != expected).sum())
            if num_wrong:
                raise WrongAnswerError(f"{num_wrong} of {sample.size} edges have a wrong count")
        return counts

    @cached_property
    def host_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(offsets, neighbors, common neighbors) for the serial loop."""
        return (
            to_host(self.lists.offsets),
            to_host(self.lists.neighbors),
            to_host(self.common_neighbors),
        )

    @cached_property
    def clustering(self) -> tuple[Frame, dict[str, int], str]:
        """(our clustering, its facts, how it was verified).

        `verify.scan` verifies it, or the serial loop where that would take long; a wrong answer
        raises.
        """
        answer = rg.scan(self.graph, epsilon=EPSILON, mu=MU)
        clusters, is_core = clusters_and_cores(answer)
        facts = {"clusters": int(clusters.max()) + 1, "cores": int(is_core.sum())}
        if self.num_probes <= MAX_PROBES[self.graph.device]:
            num_clusters = rg.verify.scan(self.graph, answer, epsilon=EPSILON, mu=MU)
            if num_clusters != facts["clusters"]:
                raise WrongAnswerError(f"{facts['clusters']} clusters, {num_clusters} verified")
            return answer, facts, "verify.scan"
        offsets, neighbors, common_neighbors = self.host_arrays
        serial = serial_scan(offsets, neighbors, *exact_ratio(EPSILON), MU, common_neighbors)
        if problem := compare_clusters(clusters, is_core, *serial):
            raise WrongAnswerError(problem)
        return answer, facts, "serial loop, sampled counts"

    def facts(self) -> dict[str, int]:
        """Return the recorded facts about the graph."""
        return {"vertices": self.workload.vertices, "edges": self.num_edges}


def exact_ratio(epsilon: float) -> tuple[int, int]:
    """Return epsilon as the fraction that its decimal representation denotes."""
    return Fraction(repr(epsilon)).as_integer_ratio()
