"""Comparison of answers with references.

Each ``compare_...`` function returns None for a correct answer and otherwise a message that begins
with "wrong: ", which becomes the ``check`` of a record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rapidsgraph.algorithms.scan import ROLES
from rapidsgraph.device import array_module
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.kernels.constants import CORE

PRECISIONS = {"double": np.float64, "single": np.float32}
MAX_DISTANCE = {"double": 1e-8, "single": 1e-4}  # of PageRank in total (L1)
TOLERANCE = {"double": 1e-9, "single": 1e-4}  # relative, of all other values


def to_host(values: Any) -> np.ndarray:
    """Return an array or a Series of either device as a NumPy array."""
    values = getattr(values, "values", values)
    return values.get() if hasattr(values, "get") else np.asarray(values)


def result_array(answer: Frame, column: str, xp: Any) -> Array:
    """Return a column of a result as a float64 array of `xp`, with -1 for nulls."""
    values = answer[column]
    if hasattr(values, "fillna"):
        values = values.astype(np.float64).fillna(-1).values
    return xp.asarray(to_host(values) if xp is np else values).astype(np.float64)


def compare_values(
    answer: Any, reference: Array, precision: str = "double", what: str = "values"
) -> str | None:
    """Compare values relative to the reference; infinity is a value."""
    values = array_module(reference).asarray(answer)
    if values.shape != reference.shape:
        return f"wrong: {values.size} {what} for {reference.size}"
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        is_close = abs(values - reference) <= TOLERANCE[precision] * abs(reference)
    num_wrong = int((~(is_close | (values == reference))).sum())
    return f"wrong: {num_wrong} of {reference.size} {what}" if num_wrong else None


def compare_pagerank(answer: Any, reference: Array, precision: str) -> str | None:
    """Compare PageRank values by their total difference (L1)."""
    values = array_module(reference).asarray(answer)
    if values.shape != reference.shape:
        return f"wrong: {values.size} values for {reference.size} vertices"
    distance = float(abs(values.astype(np.float64) - reference).sum())
    return None if distance <= MAX_DISTANCE[precision] else f"wrong: {distance:.2g} in total"


def compare_distances(answer: Any, reference: Array, precision: str) -> str | None:
    """Compare distances; libraries mark unreached vertices by -1 or the maximum of a type."""
    xp = array_module(reference)
    values = xp.asarray(answer)
    limit = (np.finfo if values.dtype.kind == "f" else np.iinfo)(values.dtype).max
    values = xp.where((values < 0) | (values >= limit), np.inf, values)
    return compare_values(values, reference, precision, "distances")


def compare_groups(answer: Any, reference: Array, precision: str = "double") -> str | None:
    """Compare two partitions, whatever their labels are."""
    xp = array_module(reference)
    ids, known = (xp.unique(xp.asarray(v), return_inverse=True)[1] for v in (answer, reference))
    pairs = ids.astype(np.int64) * (known.size + 1) + known
    counts = [int(xp.unique(values).size) for values in (ids, known, pairs)]
    if len(set(counts)) > 1:
        return f"wrong: {counts[0]} groups, {counts[1]} verified, {counts[2]} overlaps"
    return None


def clusters_and_cores(answer: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return (cluster or -1, whether it is a core) of the vertices in the order of their ids."""
    clusters, roles = answer["cluster"], answer["role"]
    if hasattr(clusters, "fillna"):
        clusters = clusters.fillna(-1).astype("int64")
    return to_host(clusters), to_host(roles == (CORE if roles.dtype == np.int8 else ROLES[CORE]))


def compare_clusters(answer: Any, reference: Any, precision: str = "double") -> str | None:
    """Compare clusterings: the same cores and members, and cores grouped alike.

    A border that is similar to cores of several clusters may be in any of these.
    """
    (clusters, is_core), (known, known_cores) = answer, reference
    if num_wrong := int((is_core != known_cores).sum() + ((clusters < 0) != (known < 0)).sum()):
        return f"wrong: {num_wrong} vertices differ in being cores or members"
    return compare_groups(clusters[is_core], known[is_core])


def compare_build(answer: Any, reference: tuple[Array, int], precision: str) -> str | None:
    """Compare packed arcs, or the number of edges where a library does not show them."""
    keys, num_rows = reference  # some libraries keep parallel edges
    if isinstance(answer, int):
        return None if answer in (keys.size, num_rows) else f"wrong: {answer} of {num_rows} rows"
    return compare_values(array_module(keys).sort(answer), keys, what="arcs")


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
