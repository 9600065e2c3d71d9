"""Reddy's table 6.2: 1000 iterations of PageRank, serial and by implementations I, II and III.

    python pipelines/benchmarks/reddy.py [--device auto|cpu|gpu] [--graphs ego-Facebook,cit-DBLP]
                                         [--quick] [--output FILE] [--data FOLDER]

From a ready graph to ranks on the host, in single precision; sinks lose their rank, as in Reddy.
I is our method node, II contribution. III was only planned there: warp is our like of it, and on a
GPU child_sums.cu has it as planned, with child kernels, beside the same sums without.
"""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
from numba import njit

import rapidsgraph as rg
from pipelines.benchmarks import child_sums, command, timing
from pipelines.benchmarks.contenders import DISTANCE
from pipelines.benchmarks.pagerank import on_host
from pipelines.benchmarks.pagerank_papers import (
    DAMPING,
    III_BLOCKS,
    III_EACH,
    III_LONG,
    REDDY_SECONDS,
    plain_ranks,
    problem,
    reddy_claims,
)
from pipelines.benchmarks.workloads import SEED, load

ITERATIONS, QUICK_ITERATIONS = 1000, 50
SETTLED = 300  # iterations after which ranks in double precision stand still: 0.85^300 = 7e-22
FEWEST, PATIENCE = 20, 700  # of child kernels: iterations run, milliseconds for them
LONG_LIST = 32  # neighbors, above which a child kernel pays at all
ROUNDS, BUDGET = 10, 0.7  # Reddy's; seconds for them all
GRAPHS, QUICK_GRAPHS = tuple(REDDY_SECONDS), ("rmat8", "karate")


@njit
def serial_ranks(offsets, neighbors, degrees, damping, iterations):
    """Listing 3.1: one thread, single precision, a division an edge."""
    vertices = len(degrees)
    ranks = np.full(vertices, np.float32(1.0) / np.float32(vertices), np.float32)
    new_ranks = np.empty(vertices, np.float32)
    teleport = (np.float32(1.0) - damping) / np.float32(vertices)
    for _ in range(iterations):
        for vertex in range(vertices):
            contribution = np.float32(0.0)
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                source = neighbors[edge]
                contribution += ranks[source] / np.float32(degrees[source])
            new_ranks[vertex] = teleport + damping * contribution
        ranks[:] = new_ranks
    return ranks


@dataclass(frozen=True)
class Implementation:
    """One row of the table: prepare(workload), then run(state, iterations) gives ranks by id."""

    name: str
    kind: str
    note: str = ""

    def about(self, workload):
        """What records say of it, with Reddy's figures."""
        row = {"implementation": self.name, "kind": self.kind, "note": self.note}
        seconds = REDDY_SECONDS.get(workload.name, {})
        if self.name in seconds:
            row["paper_ms"] = round(1e3 * seconds[self.name], 3)
            row["paper_by_serial"] = float(f"{seconds['serial'] / seconds[self.name]:.3g}")
        return row

    def iterations(self, state, most, clock):
        return most

    def added(self, state):
        return {}


class Serial(Implementation):
    """Reddy's listing 3.1, on the host."""

    def prepare(self, workload):
        lists = workload.graph.csc
        neighbors = on_host(lists.neighbors)
        degrees = np.bincount(neighbors, minlength=workload.vertices)
        return on_host(lists.offsets), neighbors, degrees.astype(np.int32)

    def run(self, state, iterations):
        return serial_ranks(*state, np.float32(DAMPING), iterations)


class Method(Implementation):
    """One of rapidsgraph's."""

    def prepare(self, workload):
        graph = workload.build()
        self.run(graph, 1)  # makes lists by destination, and a layout where there is one
        return graph

    def run(self, graph, iterations):
        ranks = rg.pagerank(
            graph, damping=DAMPING, tolerance=0, max_iterations=iterations, dangling="drop",
            method=self.kind, precision="single", progress=False,
        )  # fmt: skip
        return on_host(ranks["pagerank"])


class Blocks(Implementation):
    """Sums by warps without child kernels, a block for each vertex."""

    def prepare(self, workload):
        return child_sums.Sums(workload.graph, child_sums.blocks_kernel(), DAMPING)

    def run(self, sums, iterations):
        return on_host(sums.iterate(iterations))


@dataclass(frozen=True)
class Children(Blocks):
    """The same in child kernels, for lists longer than `shortest`."""

    shortest: int = 0

    def prepare(self, workload):
        kernel = child_sums.children_kernel(child_sums.compiler_that_works())
        child_sums.allow_launches(workload.vertices)
        return child_sums.Sums(workload.graph, kernel, DAMPING, self.shortest)

    def run(self, sums, iterations):
        ranks = on_host(sums.iterate(iterations))
        sums.check_launches()
        return ranks

    def iterations(self, sums, most, clock):
        """As many as there is time for: launches take as long each time."""
        self.run(sums, 2)
        each = clock.ms(lambda: self.run(sums, FEWEST)) / FEWEST
        return int(min(most, max(FEWEST, PATIENCE / each)))

    def added(self, sums):
        lengths, compiler = sums.xp.diff(sums.offsets), child_sums.compiler_that_works()
        return {"children": int((lengths > self.shortest).sum()), "compiler": compiler}


def implementations(on_gpu):
    found = [
        Serial("serial", "listing 3.1", "one thread of the CPU"),
        Method("I", "node"),
        Method("II", "contribution"),
        Method("III", "warp", "without child kernels"),
    ]
    if on_gpu:
        found += [
            Children(III_EACH, "child kernels", "as planned, for every list that is not empty"),
            Children(III_LONG, "child kernels", f"for lists beyond {LONG_LIST}", LONG_LIST),
            Blocks(III_BLOCKS, "the same sums", f"{child_sums.BLOCK} threads for each vertex"),
        ]
    return [*found, Method("auto", "auto", "ours, not Reddy's")]


def measure(workload, contenders, effort, clock, most=ITERATIONS, step=lambda text: None):
    """A record for each implementation: checked, then timed in turns."""
    truths, found, jobs = {}, {}, {}

    def truth(iterations):
        count = min(iterations, SETTLED)
        if count not in truths:
            ranks = plain_ranks(workload.xp, workload.vertices, *workload.arcs, count)
            truths[count] = on_host(ranks)
        return truths[count]

    for one in contenders:
        step(f"{workload.name}: {one.name}")
        row = {"table": "Reddy", "graph": workload.name, "vertices": workload.vertices}
        found[one] = row | {"edges": int(workload.rows)} | one.about(workload)
        work = partial(prepared, one, workload, truth, found[one], clock, most)
        if job := command.attempted(found[one], work):
            jobs[one] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, effort.build, clock)
    for one, taken in times.items():
        row = found[one]
        row["thousand_ms"] = timing.summary(taken)
        for name, key in (("serial", "by_serial"), ("auto", "by_auto")):
            other = next((times[peer] for peer in times if peer.name == name), None)
            if other and one.name != name:
                pair = (other, taken) if name == "serial" else (taken, other)
                row[key] = timing.paired_ratio(*pair)
    return list(found.values())


def prepared(one, workload, truth, row, clock, most):
    """Check an implementation; the job that gives milliseconds of `most` iterations, or None."""
    build_ms, state = clock.timed(lambda: one.prepare(workload))
    iterations = one.iterations(state, most, clock)
    wrong = problem(one.run(state, iterations), truth(iterations), DISTANCE["single"])
    row["check"] = wrong or "ok"
    if wrong:
        return None
    if isinstance(one, Method):
        row["build_ms"] = timing.summary([build_ms])
    row |= one.added(state)
    if iterations < most:
        pace = f"{most} at the pace of {iterations}"
        row["note"] = f"{row['note']}; {pace}" if row["note"] else pace
    return lambda: clock.ms(lambda: one.run(state, iterations)) * most / iterations


def main(arguments=None):
    graphs = GRAPHS, GRAPHS, QUICK_GRAPHS
    found = command.options("Time Reddy's table 6.2.", arguments, graphs)
    most = QUICK_ITERATIONS if found.quick else ITERATIONS
    session = command.Session("reddy", found, seed=SEED, precision="single", iterations=most)
    contenders = implementations(found.on_gpu)
    if not found.on_gpu:
        session.notes.append("III with child kernels is left out: only a GPU has them")
    machine, rows_so_far = session.start["machine"], []
    where = f"{machine['cores']} cores ({machine['cpu']})"
    where = f"{machine['gpu']} and {where}" if found.on_gpu else where
    rounds = found.effort.rounds if found.quick else ROUNDS
    effort = replace(found.effort, rounds=rounds, build=BUDGET)
    with command.progress("Reddy", len(found.names) * (len(contenders) + 1) + 1) as step:
        step("warming up")
        measure(load("rmat6", session.xp), contenders, command.QUICK, session.clock, 2)
        for workload in session.graphs(found.names):
            trouble = {}
            work = partial(measure, workload, contenders, effort, session.clock, most, step)
            if rows := command.attempted(trouble, work):
                rows_so_far += rows
                session.rows = [*rows_so_far, *reddy_claims(rows_so_far, where)]
                session.save()
            else:
                text = f"{workload.name}: nothing was measured, {trouble['check']}"
                session.notes.append(text)
    return session.finish()


if __name__ == "__main__":
    sys.exit(command.status(main()))
