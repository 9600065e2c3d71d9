"""Rooflines: the bytes that any method must move for a task.

At the copy rate of the same run they give a lower bound of the time. Inputs and results count once
each, read or written, and nothing in between: adjacency lists with 4 bytes per arc and 8 per vertex
for the offsets (which PageRank's older figures leave out), weights as given, distances,
predecessors, labels, PageRank values and similarities without vertex names. Searches read the lists
of the vertices they reach.

A method that looks at fewer arcs, as direction-optimizing BFS or sampling components do, may be
faster, and so may any method on a CPU whose caches hold the graph. Similarities read lists
repeatedly and builds sort, so both stay far above their bounds.
"""

from __future__ import annotations

import numpy as np

from pipelines.benchmarks.adapters.interface import PRECISIONS
from pipelines.benchmarks.graphs import BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

ID, OFFSET, DOUBLE = 4, 8, 8


def pagerank_bytes(workload: Workload, precision: str) -> int:
    """Count an iteration: the ids of all arcs, and per vertex two values and a degree."""
    value = np.dtype(PRECISIONS[precision]).itemsize
    return ID * workload.arcs[0].size + 3 * value * workload.vertices


def bfs_bytes(workload: Workload, distances: Array, predecessors: bool | None) -> int:
    """Count the lists of reached vertices, and per vertex a distance and maybe a predecessor."""
    results = (ID + ID * bool(predecessors)) * workload.vertices
    return _list_bytes(workload, workload.xp.isfinite(distances), ID) + results


def sssp_bytes(workload: Workload, distances: Array, predecessors: bool | None) -> int:
    """Count the same with weights and double distances."""
    assert workload.weight is not None
    arc = ID + workload.weight.dtype.itemsize
    results = (DOUBLE + ID * bool(predecessors)) * workload.vertices
    return _list_bytes(workload, workload.xp.isfinite(distances), arc) + results


def components_bytes(workload: Workload, labels: Array, predecessors: bool | None) -> int:
    """Count all lists in one direction, and a label per vertex."""
    is_reached = workload.xp.ones(workload.vertices, bool)
    return _list_bytes(workload, is_reached, ID) + ID * workload.vertices


def _list_bytes(workload: Workload, is_reached: Array, arc: int) -> int:
    arcs = int(is_reached[workload.arcs[0]].sum())
    return arc * arcs + OFFSET * int(is_reached.sum())


def similarity_bytes(case: ScanCase) -> int:
    """Count both directions, and per edge two endpoints and a similarity."""
    return _neighborhood_bytes(case) + (2 * ID + DOUBLE) * case.num_edges


def counts_bytes(case: ScanCase) -> int:
    """Count both directions, and a count per arc."""
    return _neighborhood_bytes(case) + ID * 2 * case.num_edges


def scan_bytes(case: ScanCase) -> int:
    """Count both directions, and per vertex a cluster and a role."""
    return _neighborhood_bytes(case) + (ID + 1) * case.workload.vertices


def clustering_bytes(case: ScanCase) -> int:
    """Count the same, and reading the counts."""
    return scan_bytes(case) + ID * 2 * case.num_edges


def _neighborhood_bytes(case: ScanCase) -> int:
    return ID * 2 * case.num_edges + OFFSET * case.workload.vertices


def build_bytes(case: BuildCase) -> int:
    """Count the rows as given, the ids and weights of each arc, and the offsets."""
    columns = [case.source, case.destination] + ([] if case.weight is None else [case.weight])
    arc = ID + (0 if case.weight is None else case.weight.dtype.itemsize)
    names, keys, _ = case.expected
    vertices = case.vertices if names is None else names.size
    return sum(values.nbytes for values in columns) + arc * keys.size + OFFSET * vertices


TRAVERSALS = {"bfs": bfs_bytes, "sssp": sssp_bytes, "components": components_bytes}
SCANS = {
    "similarity": similarity_bytes,
    "counts": counts_bytes,
    "whole": scan_bytes,
    "alone": clustering_bytes,
}
