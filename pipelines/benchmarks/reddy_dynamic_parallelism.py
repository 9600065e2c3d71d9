"""Reddy's implementation III on a GPU: sums by warps, with or without child kernels.

The kernels are in reddy_dynamic_parallelism.cu; here are their compilation and the loop over
iterations. Child kernels need relocatable device code that is linked with the device runtime
(cudadevrt): CuPy does both with nvcc, or with NVRTC and the driver's linker.

    python pipelines/benchmarks/reddy_dynamic_parallelism.py COMPILER

compiles the child kernels and fails unless they give correct values.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

from pipelines.benchmarks.pagerank_papers import DAMPING, pagerank_formula
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.local_graph import LocalGraph, build_graph

SOURCE = Path(__file__).with_suffix(".cu")
COMPILERS = ("nvcc", "nvrtc")  # of kernels that launch kernels, in order of preference
PENDING_LAUNCHES = 0x04  # cudaLimitDevRuntimePendingLaunchCount
TRIAL_SECONDS, TRIAL_VERTICES = 60, 3000
PARENT_THREADS = 256  # of a block
VERTEX_THREADS = 64  # of a block, without child kernels
MAX_DISTANCE = 1e-5  # in total from formula (1)


class DynamicParallelismError(Exception):
    """Child kernels cannot be compiled, linked or launched here; the message says why."""


@functools.cache
def block_kernel() -> Any:
    """Compile the kernel without children."""
    import cupy

    module = cupy.RawModule(code=SOURCE.read_text(), options=("-std=c++17",))
    return module.get_function("sum_in_blocks")


@functools.cache
def child_kernel(compiler: str) -> Any:
    """Compile the kernel that launches children."""
    import cupy

    options = ("-std=c++17", "-DCHILD_KERNELS", "-dc")
    module = cupy.RawModule(code=SOURCE.read_text(), options=options, backend=compiler)
    module.compile()
    return module.get_function("sum_in_children")


def allow_pending_launches(count: int) -> None:
    """Set the limit of pending child kernels, as far as the device allows."""
    import cupy

    runtime = cupy.cuda.runtime
    with contextlib.suppress(runtime.CUDARuntimeError):  # check_launches reports it
        if runtime.deviceGetLimit(PENDING_LAUNCHES) < count:
            runtime.deviceSetLimit(PENDING_LAUNCHES, count)


@functools.cache
def try_compilers() -> tuple[str | None, list[str]]:
    """Return (the first compiler whose child kernels give correct values or None, failures).

    Each is tried in a process of its own, because a failing kernel makes the device unusable in its
    process. CuPy caches on disk what is compiled there.
    """
    failures = []
    for compiler in COMPILERS:
        command = [sys.executable, __file__, compiler]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            failures.append(f"{compiler}: no result within {TRIAL_SECONDS} s")
            continue
        if done.returncode == 0:
            return compiler, failures
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        failures.append(f"{compiler}: {lines[-1][:200]}")
    return None, failures


def working_compiler() -> str:
    """Return the compiler to use, or raise DynamicParallelismError."""
    compiler, failures = try_compilers()
    if compiler is None:
        raise DynamicParallelismError("; ".join(failures))
    return compiler


class WarpSums:
    """PageRank of a graph by one of the kernels, in single precision without dangling mass.

    Parameters
    ----------
    graph : LocalGraph, unweighted
    kernel : callable(blocks, threads, arguments)
        `sum_in_blocks`, or `sum_in_children` if `max_inline` is given.
    damping : float
    max_inline : int, optional
        Lists of more neighbors than this get a child kernel.
    """

    def __init__(
        self,
        graph: LocalGraph,
        kernel: Callable[..., None],
        damping: float,
        max_inline: int | None = None,
    ) -> None:
        xp, csc = graph.xp, graph.csc
        self.xp, self.vertices, self.kernel = xp, graph.num_vertices, kernel
        self.damping, self.max_inline = damping, max_inline
        degrees = xp.bincount(csc.neighbors, minlength=self.vertices)
        self.out_weights = xp.maximum(degrees, 1).astype(np.float32)
        self.offsets = xp.ascontiguousarray(csc.offsets, dtype=np.int64)
        self.neighbors = xp.ascontiguousarray(csc.neighbors, dtype=np.int32)
        self.failures = xp.zeros(2, np.int32)

    def iterate(self, iterations: int) -> Array:
        """Return the values after some iterations (at least one)."""
        xp, vertices = self.xp, self.vertices
        contributions = xp.empty((2, vertices), np.float32)
        contributions[0] = 1 / vertices / self.out_weights
        values = xp.empty(vertices, np.float32)
        csc = (self.offsets, self.neighbors, self.out_weights)
        formula = (np.float64(self.damping), np.float64((1 - self.damping) / vertices))
        for iteration in range(iterations):
            parity = iteration % 2
            buffers = contributions[parity], contributions[1 - parity], values
            arguments = (*csc, *formula, *buffers)
            if self.max_inline is None:
                self.kernel((vertices,), (VERTEX_THREADS,), (np.int64(vertices), *arguments))
            else:
                sizes = (np.int64(vertices), np.int64(self.max_inline))
                blocks = -(-vertices // PARENT_THREADS)
                arguments = (*sizes, *arguments, self.failures)
                self.kernel((blocks,), (PARENT_THREADS,), arguments)
        return values

    def check_launches(self) -> None:
        """Raise if child kernels were refused, and reset the count."""
        count, error = (int(value) for value in self.failures)
        self.failures.fill(0)
        if count:
            raise DynamicParallelismError(
                f"{count} launches were refused, the last with CUDA error {error}"
            )


def run_trial(
    xp: Any, kernel: Callable[..., None], max_inline: int | None = None, iterations: int = 3
) -> tuple[Array, Array]:
    """Return the values of a ring whose vertices also point to the first, and those of formula (1).

    Lists have 1 neighbor, or more than a block has threads and more than the launches that may be
    pending by default.
    """
    vertices = TRIAL_VERTICES
    ring = xp.arange(vertices, dtype=np.int32)
    source = xp.concatenate([ring, ring])
    destination = xp.concatenate([(ring + 1) % vertices, xp.zeros(vertices, np.int32)])
    edges = {"source": source, "destination": destination.astype(np.int32)}
    graph = build_graph(edges, multi_edges="keep")
    sums = WarpSums(graph, kernel, DAMPING, max_inline)
    values = sums.iterate(iterations)
    sums.check_launches()
    return values, pagerank_formula(xp, vertices, source, destination, iterations)


def main(compiler: str) -> None:
    """Compile the child kernels and check their values."""
    import cupy

    allow_pending_launches(TRIAL_VERTICES)
    kernel = child_kernel(compiler)
    for max_inline in (0, 32):
        values, expected = run_trial(cupy, kernel, max_inline)
        distance = float(cupy.abs(values - expected).sum())
        if not distance < MAX_DISTANCE:
            raise DynamicParallelismError(f"values differ by {distance:.2g} from formula (1)")


if __name__ == "__main__":
    main(sys.argv[1])
