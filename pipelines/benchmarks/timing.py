"""Clocks, which time all adapters in the same way on either device.

A time is the wall time between two moments at which the device is idle. Adapters take turns, round
after round, so that a busy moment affects all of them, and ratios are taken within a round.
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

from pipelines.benchmarks.answers import to_host

TICK = 0.01  # seconds; the resolution of the system's CPU times
PAUSE = 0.3  # seconds before a disturbed run is repeated
MAX_OTHERS = 0.1  # share of the cores that other processes may take during a run

Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
Summary = dict[str, Any]  # {"median", "low", "high", "repeats"}


class Clock:
    """Time functions on the device of `xp`, NumPy or CuPy.

    Parameters
    ----------
    xp : module
    patience : float
        Seconds in all for repeating runs that other processes disturbed.

    Attributes
    ----------
    rate : float or None
        Bytes per second of `copy_rate`, once it has been measured.
    """

    def __init__(self, xp: Any = np, patience: float = 0.0) -> None:
        self.xp, self.patience = xp, patience
        self.rate: float | None = None

    def synchronize(self) -> None:
        """Wait until the device is idle."""
        if self.xp is not np:
            self.xp.cuda.Device().synchronize()

    def timed(self, function: Callable[[], Result]) -> tuple[float, Result]:
        """Return (milliseconds that a function takes, its result)."""
        while True:
            cpu_times = cpu_seconds() if self.patience > 0 else None
            self.synchronize()
            start = time.perf_counter()
            result = function()
            self.synchronize()
            elapsed = time.perf_counter() - start
            allowed = max(MAX_OTHERS * elapsed * cores(), 2 * TICK)
            if cpu_times is None or other_cpu_seconds(cpu_times) <= allowed:
                return elapsed * 1e3, result
            del result
            time.sleep(PAUSE)
            self.patience -= elapsed + PAUSE

    def ms(self, function: Callable[[], object]) -> float:
        """Return the milliseconds of a function, without those of freeing its result."""
        return self.timed(function)[0]

    def repeated(
        self,
        function: Callable[[], object],
        max_repeats: int,
        budget: float,
        first: float | None = None,
    ) -> list[float]:
        """Return the milliseconds of up to `max_repeats` runs within `budget` seconds.

        There is at least one. The first run (`first` if it has been made) does not count, unless it
        used up the budget.
        """
        first = self.ms(function) if first is None else first
        times = [first] if first >= budget * 1e3 else []
        while not times or (len(times) < max_repeats and sum(times) < budget * 1e3):
            times.append(self.ms(function))
        return times


def transfers(clock: Clock, columns: Iterable[Any], size: int, *dtypes: Any) -> dict[str, Summary]:
    """Time copying columns to the device, and result columns back; nothing on a CPU.

    A result has `size` rows and a column of each of `dtypes`.
    """
    if clock.xp is np:
        return {}
    columns = [to_host(values) for values in columns]
    results = [clock.xp.ones(size, dtype) for dtype in dtypes]
    upload = clock.repeated(lambda: [clock.xp.asarray(values) for values in columns], 5, 1)
    download = clock.repeated(lambda: [to_host(values) for values in results], 5, 1)
    return {"upload_ms": summary(upload), "download_ms": summary(download)}


def cpu_seconds() -> tuple[float, float]:
    """Return the CPU time so far of all processes, and of this process with its children."""
    import psutil

    machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
    excluded = ("idle", "iowait", "guest", "guest_nice")  # user time includes guests'
    total = sum(value for name, value in machine._asdict().items() if name not in excluded)
    return total, sum(own[:4])


def other_cpu_seconds(since: tuple[float, float]) -> float:
    """Return the CPU time of other processes since an earlier `cpu_seconds()`."""
    total, own = (now - then for now, then in zip(cpu_seconds(), since, strict=True))
    return max(0.0, total - own)


def rounds(
    jobs: Mapping[Key, Callable[[], Result]], count: int, budget: float, clock: Clock
) -> dict[Key, list[Result]]:
    """Call every job in turn, `count` times, and return the results of each.

    A job that has taken `budget` seconds in all, repeated runs aside, sits out the remaining
    rounds.
    """
    spent: dict[Key, float] = defaultdict(float)
    results: dict[Key, list[Result]] = {name: [] for name in jobs}
    for _ in range(count):
        for name, job in jobs.items():
            if spent[name] <= budget:
                start = time.perf_counter() + clock.patience
                results[name].append(job())
                spent[name] += time.perf_counter() + clock.patience - start
    return results


def plan_iterations(
    clock: Clock, iterate: Callable[[int], object], seconds: float, max_iterations: int = 1000
) -> tuple[int, int]:
    """Return two numbers of iterations whose difference takes about `seconds`."""
    short = 2
    iterate(short)
    probe = min(10, max_iterations)
    elapsed = clock.ms(lambda: iterate(short + probe)) - clock.ms(lambda: iterate(short))
    target = seconds * 1e3 / max(elapsed / probe, 1e-4)
    return short, short + int(min(max_iterations, max(probe, target)))


def per_iteration(clock: Clock, iterate: Callable[[int], object], short: int, long: int) -> float:
    """Return the milliseconds of one iteration, from the difference of two runs."""
    base = clock.ms(lambda: iterate(short))
    return (clock.ms(lambda: iterate(long)) - base) / (long - short)


def summary(times: Sequence[float]) -> Summary:
    """Return the record of repeated times."""
    values = [float(f"{v:.4g}") for v in (statistics.median(times), min(times), max(times))]
    return dict(zip(("median", "low", "high"), values, strict=True)) | {"repeats": len(times)}


def paired_ratio(times: Iterable[float], reference: Iterable[float]) -> float | None:
    """Return the median over rounds of the ratio of two times in the same round."""
    ratios = [a / b for a, b in zip(times, reference, strict=False) if a > 0 and b > 0]
    return float(f"{statistics.median(ratios):.3g}") if ratios else None


def copy_rate(clock: Clock, nbytes: int) -> float:
    """Measure the best rate of copying an array, in bytes read and written per second.

    The clock keeps it.
    """
    xp = clock.xp
    source = xp.ones(nbytes // 8)
    target = xp.empty_like(source)
    if xp is not np:
        times = [clock.ms(lambda: xp.copyto(target, source)) for _ in range(20)]
    else:
        workers = cores()
        bounds = np.linspace(0, source.size, workers + 1).astype(int)
        slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        with ThreadPoolExecutor(workers) as pool:

            def copy() -> None:
                list(pool.map(lambda part: np.copyto(target[part], source[part]), slices))

            times = [clock.ms(copy) for _ in range(8)]
    clock.rate = 2 * source.nbytes / min(times) * 1e3
    return clock.rate


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
