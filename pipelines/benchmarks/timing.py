"""Clocks: wall time between two moments at which the device is idle, in milliseconds.

Contenders take turns, round after round, so that a busy moment affects all of them, and ratios are
taken within a round.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
Summary = dict[str, Any]  # {"median", "low", "high", "repeats"}
SHORT, LONG = 2, 20  # iterations of PageRank, whose difference gives the time of an iteration


class Clock:
    """Time functions on the device of `xp`, NumPy or CuPy."""

    def __init__(self, xp: Any = np) -> None:
        self.xp = xp

    def synchronize(self) -> None:
        if self.xp is not np:
            self.xp.cuda.Device().synchronize()

    def timed(self, function: Callable[[], Result]) -> tuple[float, Result]:
        """Return (milliseconds that a function takes, its result)."""
        self.synchronize()
        start = time.perf_counter()
        result = function()
        self.synchronize()
        return (time.perf_counter() - start) * 1e3, result

    def ms(self, function: Callable[[], object]) -> float:
        """Return the milliseconds of a function, without those of freeing its result."""
        return self.timed(function)[0]

    def copy_rate(self, nbytes: int) -> float:
        """Return the best rate of copying an array, in bytes read and written per second."""
        source = self.xp.ones(nbytes // 8)
        target = self.xp.empty_like(source)
        bounds = np.linspace(0, source.size, cores() + 1 if self.xp is np else 2).astype(int)
        slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        with ThreadPoolExecutor(len(slices)) as pool:
            copy = lambda part: self.xp.copyto(target[part], source[part])  # noqa: E731
            best = min(self.ms(lambda: list(pool.map(copy, slices))) for _ in range(10))
        return 2 * source.nbytes / best * 1e3


def rounds(
    jobs: Mapping[Key, Callable[[], float]], count: int, budget: float
) -> dict[Key, list[float]]:
    """Call every job in turn, `count` times, and return the milliseconds that each returns.

    A job that has taken `budget` seconds in all sits out the remaining rounds. A job may return a
    time that was measured before, which counts.
    """
    spent: dict[Key, float] = defaultdict(float)
    results: dict[Key, list[float]] = {name: [] for name in jobs}
    for _ in range(count):
        for name, job in jobs.items():
            if spent[name] <= budget:
                start = time.perf_counter()
                results[name].append(job())
                spent[name] += max(time.perf_counter() - start, results[name][-1] / 1e3)
    return results


def summary(times: Sequence[float]) -> Summary:
    values = [float(f"{v:.4g}") for v in (statistics.median(times), min(times), max(times))]
    return dict(zip(("median", "low", "high"), values, strict=True)) | {"repeats": len(times)}


def per_iteration(long_times: Iterable[float], short_times: Iterable[float]) -> Summary:
    """Return the record of an iteration's time, from runs of `LONG` and `SHORT` iterations."""
    pairs = zip(long_times, short_times, strict=False)
    return summary([(long - short) / (LONG - SHORT) for long, short in pairs])


def paired_ratio(times: Iterable[float], reference: Iterable[float]) -> float | None:
    """Return the median over rounds of the ratio of two times in the same round."""
    ratios = [a / b for a, b in zip(times, reference, strict=False) if a > 0 and b > 0]
    return float(f"{statistics.median(ratios):.3g}") if ratios else None


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
