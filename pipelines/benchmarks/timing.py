"""Clocks: the same few lines time every contender, on either device.

Means: wall time between two points at which the device has nothing left to do. Contenders take
  turns, round after round, so a busy moment hits all of them, and ratios are taken within a round.
"""

import os
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

TICK = 0.01  # seconds; what the system counts CPU time in
PAUSE = 0.3  # seconds, before a disturbed run is repeated
CALM = 0.1  # share of the cores that other processes may have


class Clock:
    """Times work on the device of `xp`, NumPy or CuPy.

    A run that other processes disturbed is repeated, until the clock has waited for `patience`
    seconds in all. `rate` is what copy_rate found in this run, if it was asked.
    """

    def __init__(self, xp=np, patience=0.0):
        self.xp, self.patience, self.rate = xp, patience, None

    def synchronize(self):
        if self.xp is not np:
            self.xp.cuda.Device().synchronize()

    def timed(self, work):
        """(milliseconds that `work` takes, what it returns)."""
        while True:
            before = busy_seconds() if self.patience > 0 else None
            self.synchronize()
            start = time.perf_counter()
            result = work()
            self.synchronize()
            elapsed = time.perf_counter() - start
            if before is None or taken(before) <= max(CALM * elapsed * cores(), 2 * TICK):
                return elapsed * 1e3, result
            del result
            time.sleep(PAUSE)
            self.patience -= elapsed + PAUSE

    def ms(self, work):
        """Milliseconds that `work` takes; what it returns is dropped outside of them."""
        return self.timed(work)[0]

    def repeated(self, work, most, budget, first=None):
        """Times until there are `most`, or until they took `budget` seconds in all; at least one.

        Where the budget allows it, the first run (`first` ms, if it has been made) does not count.
        """
        first = self.ms(work) if first is None else first
        times = [first] if first >= budget * 1e3 else []
        while not times or (len(times) < most and sum(times) < budget * 1e3):
            times.append(self.ms(work))
        return times


def floor(clock, nbytes):
    """What is recorded of moving `nbytes` at the copy rate; nothing where that was not measured."""
    return {"floor_ms": float(f"{nbytes / clock.rate * 1e3:.4g}")} if clock.rate else {}


def transfers(clock, columns, results):
    """Records of moving columns to the device and results back; nothing on a CPU.

    `results` are types of arrays with a value for each vertex, after their number.
    """
    if clock.xp is np:
        return {}
    columns = [on_host(values) for values in columns]
    size, *kinds = results
    made = [clock.xp.ones(size, kind) for kind in kinds]
    up = clock.repeated(lambda: [clock.xp.asarray(values) for values in columns], 5, 1)
    down = clock.repeated(lambda: [on_host(values) for values in made], 5, 1)
    return {"upload_ms": summary(up), "download_ms": summary(down)}


def on_host(values):
    """A NumPy array of an array or Series of either device."""
    values = getattr(values, "values", values)
    return values.get() if hasattr(values, "get") else np.asarray(values)


def busy_seconds():
    """CPU time so far: of all processes, and of this one with its children."""
    import psutil

    machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
    idle = ("idle", "iowait", "guest", "guest_nice")  # guests' time is in user time already
    busy = sum(value for name, value in machine._asdict().items() if name not in idle)
    return busy, sum(own[:4])


def taken(before):
    """Seconds of CPU time that other processes had since `before`."""
    busy, own = (now - then for now, then in zip(busy_seconds(), before))
    return max(0.0, busy - own)


def rounds(jobs, count, budget, clock):
    """{name: results} of calling every job in turn, `count` times over.

    A job that has taken `budget` seconds in all, repeated runs aside, stands back from the rounds
    that are left.
    """
    spent, results = Counter(), {name: [] for name in jobs}
    for _ in range(count):
        for name, job in jobs.items():
            if spent[name] <= budget:
                start = time.perf_counter() + clock.patience
                results[name].append(job())
                spent[name] += time.perf_counter() + clock.patience - start
    return results


def plan(clock, iterate, target, most=1000):
    """(few, many): iteration counts whose difference takes about `target` seconds."""
    few = 2
    iterate(few)
    probe = min(10, most)
    each = (clock.ms(lambda: iterate(few + probe)) - clock.ms(lambda: iterate(few))) / probe
    return few, few + int(min(most, max(probe, target * 1e3 / max(each, 1e-4))))


def per_iteration(clock, iterate, few, many):
    """Milliseconds of one iteration: what `many` take beyond `few`, shared out."""
    short = clock.ms(lambda: iterate(few))
    return (clock.ms(lambda: iterate(many)) - short) / (many - few)


def summary(times):
    """What is recorded of repeated times."""
    digits = [float(f"{value:.4g}") for value in (statistics.median(times), min(times), max(times))]
    return dict(zip(("median", "low", "high"), digits)) | {"repeats": len(times)}


def paired_ratio(times, against):
    """Median over rounds of how much longer one took than the other in the same round."""
    pairs = [a / b for a, b in zip(times, against) if a > 0 and b > 0]
    return float(f"{statistics.median(pairs):.3g}") if pairs else None


def copy_rate(clock, nbytes):
    """Bytes a second, read and written together, of copying an array of `nbytes`; the best seen.

    The clock keeps it.
    """
    xp = clock.xp
    source = xp.ones(nbytes // 8)
    target = xp.empty_like(source)
    if xp is not np:
        times = [clock.ms(lambda: xp.copyto(target, source)) for _ in range(20)]
    else:
        workers = cores()
        ends = np.linspace(0, source.size, workers + 1).astype(int)
        parts = [slice(*pair) for pair in zip(ends, ends[1:])]
        with ThreadPoolExecutor(workers) as pool:

            def copy():
                list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))

            times = [clock.ms(copy) for _ in range(8)]
    clock.rate = 2 * source.nbytes / min(times) * 1e3
    return clock.rate


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
