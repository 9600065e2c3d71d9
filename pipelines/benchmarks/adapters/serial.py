"""Serial SCAN on one thread of the CPU, GPUSCAN's algorithm 1, also beside a GPU."""

from fractions import Fraction
from typing import Any

from pipelines.benchmarks.adapters import Library, products_below
from pipelines.benchmarks.answers import EPSILON, MU, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.serial_scan import CORE, serial_scan

library = Library("serial", "Numba, one thread of the CPU")
THRESHOLD = Fraction(EPSILON).as_integer_ratio()


def lists(case: Workload) -> tuple[Any, ...]:
    """Return the sorted lists of neighbors, and no counts of common neighbors."""
    return to_host(case.lists.offsets), to_host(case.lists.neighbors), None


def counted_lists(case: Workload) -> tuple[Any, ...]:
    """Return the lists and the counts."""
    return *lists(case)[:2], to_host(case.common_neighbors)


for gives, graph, limit in (
    ("similarity and clustering", lists, 2 * 10**10),
    ("clustering alone", counted_lists, 10**14),
):
    library.add(
        "scan", "algorithm 1",
        lambda arrays, case: serial_scan(*arrays[:2], *THRESHOLD, MU, arrays[2]), graph,
        lambda answer, case: (answer[0], answer[1] == CORE), skip=products_below(limit),
        gives=gives,
    )  # fmt: skip
