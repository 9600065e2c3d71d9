"""Serial SCAN on one thread of the CPU, GPUSCAN's algorithm 1, also beside a GPU."""

from __future__ import annotations

from pipelines.benchmarks.adapters import Library, Prepared, products_below
from pipelines.benchmarks.answers import EPSILON, MU, exact_ratio, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.serial_scan import serial_scan

library = Library("serial", "Numba, one thread of the CPU")

for gives, limit in (("similarity and clustering", 2 * 10**10), ("clustering alone", 10**14)):

    @library.add("scan", "algorithm 1", skip=products_below(limit), gives=gives)
    def scan(case: Workload, gives: str = gives) -> Prepared:
        offsets, neighbors = map(to_host, (case.lists.offsets, case.lists.neighbors))
        counts = to_host(case.common_neighbors) if gives == "clustering alone" else None
        run = lambda: serial_scan(  # noqa: E731
            offsets, neighbors, *exact_ratio(EPSILON), MU, counts
        )
        return run, lambda answer: answer
