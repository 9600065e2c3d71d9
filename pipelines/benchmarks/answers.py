"""Comparison of answers with references.

Each ``compare_...`` function returns None for a correct answer and otherwise a message that begins
with "wrong: ", which becomes the ``check`` of a record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rapidsgraph.algorithms.scan import ROLES
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.kernels.constants import CORE

EPSILON, MU = 0.5, 4  # of SCAN: GPUSCAN's mu of 3, which does not count the vertex itself
PRECISIONS = {"double": np.float64, "single": np.float32}
PAGERANK_TOLERANCE = 1e-9  # relative, of values that must agree apart from rounding


def to_host(values: Any) -> np.ndarray:
    """Return an array or a Series of either device as a NumPy array."""
    values = getattr(values, "values", values)
    return values.get() if hasattr(values, "get") else np.asarray(values)


def result_arrays(answer: Frame, xp: Any) -> dict[str, Array]:
    """Return the columns of a result as float64 arrays of `xp`, with -1 for nulls."""
    arrays = {}
    for name in getattr(answer, "columns", answer):
        values = answer[name]
        if hasattr(values, "fillna"):
            values = values.astype(np.float64).fillna(-1).values
        arrays[name] = xp.asarray(values).astype(np.float64)
    return arrays


def compare_results(answer: Frame, reference: Frame, xp: Any) -> str | None:
    """Compare all columns of a result; PageRank values may differ by rounding."""
    values, expected = result_arrays(answer, xp), result_arrays(reference, xp)
    if list(values) != list(expected):
        return f"wrong: columns {', '.join(values)}"
    for name, truth in expected.items():
        tolerance = PAGERANK_TOLERANCE if name == "pagerank" else 0
        if problem := compare_values(values[name], truth, tolerance, f"values of {name}"):
            return problem
    return None


def compare_pagerank(
    values: Array, reference: Array, max_distance: float, source: str = "the verified values"
) -> str | None:
    """Compare PageRank values by their total difference (L1)."""
    if values.shape != reference.shape:
        return f"wrong: {values.size} values for {reference.size} vertices"
    distance = float(abs(values.astype(np.float64) - reference).sum())
    if distance <= max_distance:
        return None
    return f"wrong: {distance:.2g} in total away from {source}"


def compare_components(labels: Array, reference: Array, xp: Any) -> str | None:
    """Compare two partitions, whatever their labels are."""
    ids, known = (xp.unique(each, return_inverse=True)[1] for each in (labels, reference))
    pairs = ids.astype(np.int64) * (known.size + 1) + known
    counts = [int(xp.unique(values).size) for values in (ids, known, pairs)]
    if len(set(counts)) > 1:
        return f"wrong: {counts[0]} groups, {counts[1]} verified, {counts[2]} overlaps"
    return None


def compare_values(values: Array, reference: Array, tolerance: float, what: str) -> str | None:
    """Compare values relative to the reference; infinity is a value."""
    if values.shape != reference.shape:
        return f"wrong: {values.size} {what} for {reference.size}"
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        is_equal = abs(values - reference) <= tolerance * abs(reference)
    num_wrong = int((~(is_equal | (values == reference))).sum())
    return f"wrong: {num_wrong} of {reference.size} {what}" if num_wrong else None


def clusters_and_cores(answer: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return (cluster or -1, whether it is a core) of the vertices in the order of their ids."""
    clusters, roles = answer["cluster"], answer["role"]
    if hasattr(clusters, "fillna"):
        clusters = clusters.fillna(-1).astype("int64")
    return to_host(clusters), to_host(roles == (CORE if roles.dtype == np.int8 else ROLES[CORE]))


def compare_clusters(
    clusters: np.ndarray, is_core: np.ndarray, reference: np.ndarray, reference_cores: np.ndarray
) -> str | None:
    """Compare clusterings: the same cores and members, and cores grouped alike.

    A border that is similar to cores of several clusters may be in any of these.
    """
    for what, one, other in (
        ("cores", is_core, reference_cores),
        ("members", clusters >= 0, reference >= 0),
    ):
        if num_wrong := int((one != other).sum()):
            return f"wrong: {num_wrong} vertices differ from the verified answer in being {what}"
    return compare_components(clusters[is_core], reference[is_core], np)


def jaccard(triangles: Array, degrees: Array, other_degrees: Array) -> Array:
    """Return the Jaccard coefficients of pairs with so many common neighbors."""
    return triangles / (degrees + other_degrees - triangles)


def tree_depths(order: np.ndarray, predecessors: np.ndarray) -> np.ndarray:
    """Return the depth of each vertex in a tree whose root is the first of `order`.

    Pointer jumping: the distance over which a vertex looks back doubles in every round.
    """
    below, ancestor = order[1:], np.arange(predecessors.size)
    ancestor[below] = predecessors[below]
    depth = np.full(ancestor.size, np.inf)
    depth[order[0]], depth[below] = 0, 1
    for _ in range(ancestor.size.bit_length()):
        depth[below] += depth[ancestor[below]]
        ancestor = ancestor[ancestor]
    return depth
