"""Comparison of answers with references.

Each ``compare_...`` function returns None for a correct answer and otherwise a message that begins
with "wrong: ", which becomes the ``check`` of a record.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from rapidsgraph.algorithms.scan import CORE, ROLES
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame

EPSILON, MU = 0.5, 4  # of SCAN: GPUSCAN's mu of 3, which does not count the vertex itself
PRECISIONS = {"double": np.float64, "single": np.float32}
SIMILARITY_TOLERANCE = {"double": 1e-12, "single": 1e-6}
PAGERANK_TOLERANCE = 1e-9  # relative, of values that must agree apart from rounding


class WrongAnswerError(Exception):
    """An answer, or the reference that answers are compared with, is wrong."""


def to_host(values: Any) -> np.ndarray:
    """Return an array or a Series of either device as a NumPy array."""
    values = getattr(values, "values", values)
    return values.get() if hasattr(values, "get") else np.asarray(values)


def column_array(frame: Frame, name: str) -> Array:
    """Return a column of a result as an array, with -1 for a null cluster."""
    values = frame[name]
    if name == "cluster" and hasattr(values, "fillna"):
        values = values.fillna(-1).astype("int64")
    return getattr(values, "values", values)


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
        if values[name].shape != truth.shape:
            return f"wrong: {values[name].size} rows for {truth.size} vertices"
        is_equal = values[name] == truth
        if name == "pagerank":
            is_equal = xp.abs(values[name] - truth) <= PAGERANK_TOLERANCE * truth
        if num_wrong := int((~is_equal).sum()):
            return f"wrong: {num_wrong} values of {name}"
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
    """Compare two partitions of the vertices, whatever their labels are."""
    ids = xp.unique(labels, return_inverse=True)[1].astype(np.int64)
    pairs = ids * (int(reference.max()) + 1) + reference
    counts = [int(xp.unique(values).size) for values in (ids, reference, pairs)]
    if len(set(counts)) > 1:
        return f"wrong: {counts[0]} components, {counts[1]} verified, {counts[2]} overlaps"
    return None


def compare_values(values: Array, reference: Array, tolerance: float, what: str) -> str | None:
    """Compare values relative to the reference; infinity is a value."""
    if values.shape != reference.shape:
        return f"wrong: {values.size} {what} for {reference.size}"
    is_equal = values == reference
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        difference = abs(values - reference)
        is_equal |= difference <= tolerance * abs(reference)
    num_wrong = int((~is_equal).sum())
    return f"wrong: {num_wrong} of {reference.size} {what}" if num_wrong else None


def clusters_and_cores(answer: Frame) -> tuple[Array, Array]:
    """Return (cluster or -1, whether it is a core) of the vertices in the order of their ids."""
    roles = answer["role"]
    is_core = roles == (CORE if roles.dtype == np.int8 else ROLES[CORE])
    return column_array(answer, "cluster"), getattr(is_core, "values", is_core)


def is_same_clustering(one: Frame, other: Frame) -> bool:
    """Return whether two results of scan are equal row by row."""
    if len(one["vertex"]) != len(other["vertex"]):
        return False
    pairs = [(column_array(one, name), column_array(other, name)) for name in ("vertex", "cluster")]
    return all(bool((a == b).all()) for a, b in [*pairs, (one["role"], other["role"])])


def compare_clusters(
    clusters: Array, is_core: Array, serial_clusters: np.ndarray, serial_roles: np.ndarray
) -> str | None:
    """Compare the clusters of the serial loop with verified ones.

    Cores and members must be the same, and cores must be grouped alike. A border that is similar to
    cores of several clusters may be in any of these: the serial loop takes the first.
    """
    clusters, is_core = (a.get() if hasattr(a, "get") else a for a in (clusters, is_core))
    if num_wrong := int(((serial_roles == CORE) != is_core).sum()):
        return f"wrong: {num_wrong} vertices differ from the verified answer in being cores"
    if num_wrong := int(((serial_clusters >= 0) != (clusters >= 0)).sum()):
        return f"wrong: {num_wrong} vertices differ from the verified answer in being clustered"
    pairs = np.stack([clusters[is_core], serial_clusters[is_core]])
    counts = [np.unique(row).size for row in pairs] + [np.unique(pairs, axis=1).shape[1]]
    if len(set(counts)) > 1:
        return (
            f"wrong: {counts[1]} clusters, {counts[0]} in the verified answer, {counts[2]} overlaps"
        )
    return None


def is_equal(values: Array, others: Array) -> bool:
    """Return whether two arrays have the same shape and values."""
    return values.shape == others.shape and bool((values == others).all())


def exact_ratio(epsilon: float) -> tuple[int, int]:
    """Return epsilon as the fraction that its decimal representation denotes."""
    return Fraction(repr(epsilon)).as_integer_ratio()


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
