"""Reddy's implementation III on a GPU: a vertex's sum by warps, in a child kernel or without one.

Means: what child_sums.cu says; here are the loop over iterations and how the kernels are compiled.
Requires: a GPU. Child kernels also need relocatable device code, linked with the device runtime
  (cudadevrt): CuPy does both with nvcc, or with NVRTC and the driver's linker.
"""

import contextlib
import functools
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

from pipelines.benchmarks.pagerank_papers import DAMPING, plain_ranks
from rapidsgraph.graph.local_graph import LocalGraph

SOURCE = Path(__file__).with_suffix(".cu")
COMPILERS = ("nvcc", "nvrtc")  # of kernels that launch others; the first that works is taken
PENDING_LAUNCHES = 0x04  # cudaLimitDevRuntimePendingLaunchCount
TRIAL_SECONDS, TRIAL_VERTICES = 60, 3000
PARENTS, BLOCK = 256, 64  # threads of a block: of parents; of a vertex without child kernels


class NoChildKernels(Exception):
    """Child kernels cannot be compiled, linked or launched here; the message says why."""


@functools.cache
def blocks_kernel():
    import cupy

    module = cupy.RawModule(code=SOURCE.read_text(), options=("-std=c++17",))
    return module.get_function("sum_in_blocks")


@functools.cache
def children_kernel(compiler):
    import cupy

    options = ("-std=c++17", "-DCHILDREN", "-dc")
    module = cupy.RawModule(code=SOURCE.read_text(), options=options, backend=compiler)
    module.compile()
    return module.get_function("sum_in_children")


def allow_launches(count):
    """Let so many child kernels wait at once; more than the device allows are refused."""
    import cupy

    runtime = cupy.cuda.runtime
    with contextlib.suppress(runtime.CUDARuntimeError):  # check_launches tells
        if runtime.deviceGetLimit(PENDING_LAUNCHES) < count:
            runtime.deviceSetLimit(PENDING_LAUNCHES, count)


@functools.cache
def trials():
    """(compiler whose child kernels give the right ranks here or None, what others failed with).

    Tried in processes of their own, because a kernel that fails takes the device from its process.
    What is compiled there CuPy keeps on disk.
    """
    problems = []
    for compiler in COMPILERS:
        command = [sys.executable, __file__, compiler]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            problems.append(f"{compiler}: no end in {TRIAL_SECONDS} s")
            continue
        if done.returncode == 0:
            return compiler, problems
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        problems.append(f"{compiler}: {lines[-1][:200]}")
    return None, problems


def compiler_that_works():
    compiler, problems = trials()
    if compiler is None:
        raise NoChildKernels("; ".join(problems))
    return compiler


class Sums:
    """PageRank of a graph by one of the kernels, in single precision; sinks' rank is lost.

    Parameters
    ----------
    graph : Graph, unweighted
    kernel : callable(blocks, threads, arguments)
        `sum_in_blocks`, or `sum_in_children` where `shortest` is given.
    shortest : int, optional
        Lists of more neighbors than this get a child kernel.
    """

    def __init__(self, graph, kernel, damping, shortest=None):
        xp, lists = graph.xp, graph.csc
        self.xp, self.vertices, self.kernel = xp, graph.num_vertices, kernel
        self.damping, self.shortest = damping, shortest
        degrees = xp.bincount(lists.neighbors, minlength=self.vertices)
        self.out_weights = xp.maximum(degrees, 1).astype(np.float32)
        self.offsets = xp.ascontiguousarray(lists.offsets, dtype=np.int64)
        self.neighbors = xp.ascontiguousarray(lists.neighbors, dtype=np.int32)
        self.failed = xp.zeros(2, np.int32)

    def iterate(self, iterations):
        """Ranks after so many iterations (at least one)."""
        xp, vertices = self.xp, self.vertices
        contributions = xp.empty((2, vertices), np.float32)
        contributions[0] = 1 / vertices / self.out_weights
        ranks = xp.empty(vertices, np.float32)
        lists = (self.offsets, self.neighbors, self.out_weights)
        formula = (np.float64(self.damping), np.float64((1 - self.damping) / vertices))
        for iteration in range(iterations):
            parity = iteration % 2
            after = (*lists, *formula, contributions[parity], contributions[1 - parity], ranks)
            if self.shortest is None:
                self.kernel((vertices,), (BLOCK,), (np.int64(vertices), *after))
            else:
                before = (np.int64(vertices), np.int64(self.shortest))
                blocks = -(-vertices // PARENTS)
                self.kernel((blocks,), (PARENTS,), (*before, *after, self.failed))
        return ranks

    def check_launches(self):
        """Raise where a child kernel was refused, and start counting anew."""
        count, error = (int(value) for value in self.failed)
        self.failed.fill(0)
        if count:
            raise NoChildKernels(f"{count} launches were refused, the last with CUDA error {error}")


def trial(xp, kernel, shortest=None, iterations=3):
    """Ranks of a ring whose vertices all point to the first, too, by a kernel and by formula (1).

    Lists have 1 or as many neighbors as there are vertices, which are more than a block's threads,
    and more than the launches that a device lets wait unasked.
    """
    vertices = TRIAL_VERTICES
    ring = xp.arange(vertices, dtype=np.int32)
    source = xp.concatenate([ring, ring])
    destination = xp.concatenate([(ring + 1) % vertices, xp.zeros(vertices, np.int32)])
    edges = {"source": source, "destination": destination.astype(np.int32)}
    graph = LocalGraph(edges, multi_edges="keep")
    sums = Sums(graph, kernel, DAMPING, shortest)
    ranks = sums.iterate(iterations)
    sums.check_launches()
    return ranks, plain_ranks(xp, vertices, source, destination, iterations)


def main(compiler):
    import cupy

    allow_launches(TRIAL_VERTICES)
    kernel = children_kernel(compiler)
    for shortest in (0, 32):
        ranks, truth = trial(cupy, kernel, shortest)
        distance = float(cupy.abs(ranks - truth).sum())
        if not distance < 1e-5:
            raise NoChildKernels(f"ranks are {distance:.2g} away from formula (1)")


if __name__ == "__main__":
    main(sys.argv[1])
