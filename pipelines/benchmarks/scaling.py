"""Time and peak memory against edges, from ten thousand to the most that fit.

    python pipelines/benchmarks/scaling.py [--device auto|cpu|gpu] [--only bfs,sssp] [--budget 90]
                                           [--graphs rmat10,rmat11] [--folder FOLDER]
                                           [--quick] [--output FILE] [--plot FILE]

R-MAT graphs of 16 edges a vertex, each twice as large as the one before. A task stops where
`rg.estimate_memory` says that the next graph does not fit, or where the budget of seconds would not
last for it, the costliest first; notes say which. Answers of each size are verified, untimed.
README.md beside this file says what the columns mean.
"""

import math
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

from pipelines.benchmarks import command, growth, scaling_plot
from pipelines.benchmarks.workloads import SEED, load
from rapidsgraph import device
from rapidsgraph.errors import InsufficientMemoryError

SCALES, QUICK_SCALES = range(10, 31), range(6, 10)
WARMING = "rmat8", "rmat12"  # few threads, and all of them
BUDGET = 90.0  # seconds for everything but compiling
GROWTH = 2.2  # of a task's time at least, for twice the edges
MOST_GROWTH = 4.0


def extend(parser):
    command.only(tuple(growth.TASKS))(parser)
    parser.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        metavar="SECONDS",
        help="once all is compiled (default: 90)",
    )
    parser.add_argument("--folder", type=Path, help="for stores that are streamed")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture (.png) of the records")


class Plan:
    """Which tasks go on: what they took so far says what the next graph will take."""

    def __init__(self, tasks, budget, notes, now=time.perf_counter):
        self.active, self.notes, self.now = list(tasks), notes, now
        self.ends, self.taken = now() + budget, {}

    @property
    def left(self):
        return self.ends - self.now()

    def took(self, name, seconds):
        self.taken.setdefault(name, []).append(seconds)

    def next_seconds(self, name):
        """What the next graph, twice as large, is likely to take."""
        times = self.taken.get(name, [])
        if not times:
            return 0.0
        growth_seen = times[-1] / times[-2] if len(times) > 1 and times[-2] > 0.1 else GROWTH
        return times[-1] * min(max(growth_seen, GROWTH), MOST_GROWTH)

    def drop(self, name, why):
        if name in self.active:
            self.active.remove(name)
            self.notes.append(f"{name} stops: {why}")

    def fit(self, graph):
        """Drop the costliest tasks until the next graph can be drawn and all others can run."""
        while self.active:
            likely = {name: self.next_seconds(name) for name in self.active}
            wanted = self.next_seconds("drawing") + sum(likely.values())
            if wanted <= self.left:
                return
            costliest = max(likely, key=likely.get)
            self.drop(
                costliest,
                f"{graph} with all that is left would take {wanted:.0f} s, and "
                f"{max(self.left, 0):.0f} s of the budget are left",
            )


def slope(edges, values):
    """The power with which values grow, by least squares over the upper half; None of too few."""
    points = [(e, v) for e, v in zip(edges, values, strict=True) if v and v > 0]
    points = sorted(points)[len(points) // 2 :]
    if len({edges for edges, _ in points}) < 2:
        return None
    x, y = (np.log([point[place] for point in points]) for place in (0, 1))
    x = x - x.mean()
    return round(float((x * (y - y.mean())).sum() / (x * x).sum()), 3)


def slopes(rows):
    """A record for each task, with a sentence."""
    made = []
    for task in dict.fromkeys(row["task"] for row in rows):
        good = [row for row in rows if row["task"] == task and row["check"] == "ok"]
        edges = sorted(row["edges"] for row in good)[len(good) // 2 :]
        times = slope([row["edges"] for row in good], [row["run_ms"]["median"] for row in good])
        if times is None:
            continue
        memory = slope([row["edges"] for row in good], [row.get("peak_bytes") for row in good])
        says = f"Time of {task} grows with the edges to the power of {times:.2f}"
        says += "." if memory is None else f", its peak memory to that of {memory:.2f}."
        made.append(
            {
                "table": "slope", "task": task, "from_edges": edges[0], "to_edges": edges[-1],
                "sizes": len(edges), "time_slope": times, "memory_slope": memory, "says": says,
            }
        )  # fmt: skip
    return made


def drop_what_does_not_fit(plan, workload, xp):
    """By `rg.estimate_memory`, of what is free beside the graph's rows."""
    free = device.free_memory(xp)
    for name in list(plan.active):
        needed = growth.TASKS[name].estimate(workload)
        if needed > free:
            plan.drop(name, f"{workload.name} would take {gib(needed)}, {gib(free)} are free")


def gib(nbytes):
    return f"{nbytes / 2**30:.1f} GiB"


def run(session, found, plan, step):
    """All graphs, all tasks; records are saved after each."""
    rows = []
    for name in found.names:
        plan.fit(name)
        if not plan.active:
            break
        step(f"drawing {name}")
        began = time.perf_counter()
        try:
            workload = load(name, session.xp, session.data)
            _ = workload.frame
        except (InsufficientMemoryError, MemoryError) as error:
            session.notes.append(f"everything stops: {name} cannot be drawn, {error}")
            break
        drop_what_does_not_fit(plan, workload, session.xp)
        plan.took("drawing", time.perf_counter() - began)
        for task in list(plan.active):
            step(f"{name}: {task}")
            one(plan, growth.TASKS[task], workload, session, found, rows)
        session.rows = [*slopes(rows), *rows]
        session.save()
        del workload


def one(plan, task, workload, session, found, rows):
    """A task on a graph; what fails stops, and is said."""
    began = time.perf_counter()
    failed = {
        "table": "size", "task": task.name, "graph": workload.name, "edges": int(workload.rows)
    }  # fmt: skip
    try:
        rows.append(growth.measure(task, workload, session, found.effort, found.folder))
    except InsufficientMemoryError as error:
        plan.drop(task.name, f"{workload.name}: {error}")
    except MemoryError as error:  # what the package has not foreseen, or the check of its answer
        plan.drop(task.name, f"{workload.name}: memory ran out ({error})"[:300])
    except Exception as error:  # one task's trouble must not end the run
        rows.append(failed | {"check": f"failed: {type(error).__name__}: {error}"[:300]})
        plan.drop(task.name, f"{workload.name} failed")
    plan.took(task.name, time.perf_counter() - began)


def warm_up(session, found):
    """Compile what compiles on first use."""
    for graph in WARMING[:1] if found.quick else WARMING:
        tiny = load(graph, session.xp)
        for name in found.only:
            work = partial(growth.measure, growth.TASKS[name], tiny, session, command.QUICK)
            command.attempted({}, work)


def main(arguments=None):
    names = [tuple(f"rmat{scale}" for scale in scales) for scales in (SCALES, QUICK_SCALES)]
    graphs = names[0], names[0], names[1]
    found = command.options("Time and memory against edges.", arguments, graphs, extend)
    if not (math.isfinite(found.budget) and found.budget > 0):
        raise SystemExit(f"--budget is {found.budget:g}; it must be a number of seconds above 0")
    session = command.Session("scaling", found, seed=SEED, budget_s=found.budget)
    if session.xp is np and not growth.CAN_MEASURE:
        session.notes.append("peak memory is left out: it is read from /proc, which only Linux has")
    with command.progress("Scaling", len(found.names) * len(found.only)) as step:
        step("warming up")
        warm_up(session, found)
        plan = Plan(
            found.only, found.budget, session.notes
        )  # whose clock starts when all is compiled
        run(session, found, plan, step)
    done = session.finish()
    if found.plot:
        scaling_plot.plot(done, found.plot)
    return done


if __name__ == "__main__":
    sys.exit(command.status(main()))
