"""Floors: the least bytes that any method must move for a task, at the copy rate of the same run.

Counted once each, read or written, is what is given and what is wanted, nothing in between: lists
of neighbors with 4 bytes an arc and 8 a vertex for where they begin (PageRank, whose figures are
older, leaves these out); weights as they were given; distances, predecessors, labels, ranks and
similarities of the results, without vertex names. Searches read the lists of what they reach.
A method that looks at less of the lists, as direction-optimizing BFS or sampling components do, may
fall below, and on a CPU so may whoever has the graph in its caches. Similarities read lists again
and again, and builds sort: both are far above their floors.
"""

import numpy as np

from pipelines.benchmarks.contenders import PRECISIONS

ID, OFFSET, DOUBLE = 4, 8, 8


def pagerank(workload, precision):
    """An iteration: the ids of all arcs; a rank read, one written, and a degree of each vertex."""
    value = np.dtype(PRECISIONS[precision]).itemsize
    return ID * workload.arcs[0].size + 3 * value * workload.vertices


def bfs(workload, distances, predecessors):
    """Lists of what is reached; a distance, and maybe a predecessor, of each vertex."""
    results = (ID + ID * bool(predecessors)) * workload.vertices
    return _lists(workload, workload.xp.isfinite(distances), ID) + results


def sssp(workload, distances, predecessors):
    """The same with weights and double distances."""
    arc = ID + workload.weight.dtype.itemsize
    results = (DOUBLE + ID * bool(predecessors)) * workload.vertices
    return _lists(workload, workload.xp.isfinite(distances), arc) + results


def components(workload, labels, predecessors):
    """All lists by one end; a label of each vertex."""
    everyone = workload.xp.ones(workload.vertices, bool)
    return _lists(workload, everyone, ID) + ID * workload.vertices


def _lists(workload, reached, arc):
    """Bytes of the out-lists of some vertices, `arc` for each of their arcs."""
    arcs = int(reached[workload.arcs[0]].sum())
    return arc * arcs + OFFSET * int(reached.sum())


def similarity(case):
    """Lists both ways; the two ends of each edge and its similarity."""
    return _neighborhoods(case) + (2 * ID + DOUBLE) * case.edges


def counts(case):
    """Lists both ways; a count of each arc."""
    return _neighborhoods(case) + ID * 2 * case.edges


def clustering(case):
    """Lists both ways; a cluster and a role of each vertex."""
    return _neighborhoods(case) + (ID + 1) * case.workload.vertices


def clustering_alone(case):
    """The same, and the counts are read."""
    return clustering(case) + ID * 2 * case.edges


def _neighborhoods(case):
    return ID * 2 * case.edges + OFFSET * case.workload.vertices


def build(case):
    """The rows as they are; the ids, and weights, of each arc, and where each list begins."""
    given = [case.source, case.destination] + ([] if case.weight is None else [case.weight])
    arc = ID + (0 if case.weight is None else case.weight.dtype.itemsize)
    names, keys, _ = case.expected
    vertices = case.vertices if names is None else names.size
    return sum(values.nbytes for values in given) + arc * keys.size + OFFSET * vertices


SEARCHES = {"bfs": bfs, "sssp": sssp, "components": components}
CLUSTERINGS = {
    "similarity": similarity,
    "counts": counts,
    "whole": clustering,
    "alone": clustering_alone,
}
