"""Reddy's III: kernels compile, are called as they want, and are tried before they are timed."""

import re
import subprocess
import types

import numpy as np
import pytest
from test_kernels import ARCHITECTURES, compile_cuda

from pipelines.benchmarks import reddy, timing
from pipelines.benchmarks import reddy_dynamic_parallelism as child_sums
from pipelines.benchmarks.answers import compare_pagerank
from pipelines.benchmarks.graphs import load
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.pagerank_papers import CHILD_PER_LONG_LIST, DAMPING

pytestmark = pytest.mark.slow


@pytest.fixture
def small():
    return load("rmat6")


SOURCE = child_sums.SOURCE.read_text()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("options", [(), ("-DCHILD_KERNELS", "-dc")], ids=["alone", "children"])
def test_sums_compile(architecture, options):
    accepted, log = compile_cuda(SOURCE, f"--gpu-architecture={architecture}", *options)
    assert accepted, log


def parameters(entry):
    """[(type, name)] of a kernel of child_sums.cu."""
    text = re.search(rf"void {entry}\(([^)]*)\)", SOURCE)[1]
    return [re.fullmatch(r"(.*?)(\w+)", part.strip(), re.S).groups() for part in text.split(",")]


class Kernel:
    """A kernel's work done by NumPy; arguments are checked against the CUDA source."""

    types = {
        "long long": np.int64, "double": np.float64, "const long long *": np.int64,
        "const int *": np.int32, "int *": np.int32, "const float *": np.float32,
        "float *": np.float32,
    }  # fmt: skip

    def __init__(self, entry, refuse=0):
        self.parameters, self.refuse = parameters(entry), refuse

    def __call__(self, blocks, threads, arguments):
        given = {}
        for (kind, name), value in zip(self.parameters, arguments, strict=True):
            assert value.dtype == self.types[kind.strip()], name
            assert isinstance(value, np.ndarray) == ("*" in kind), name
            given[name] = value
        vertices, (offsets, neighbors) = given["vertices"], (given["offsets"], given["neighbors"])
        assert blocks[0] * (threads[0] if "max_inline" in given else 1) >= vertices
        for vertex in range(vertices):
            near = neighbors[offsets[vertex] : offsets[vertex + 1]]
            if "max_inline" in given and len(near) > given["max_inline"] and self.refuse:
                given["failures"][:] = given["failures"][0] + 1, 69
                continue
            rank = given["damping"] * given["contributions"][near].sum() + given["base"]
            given["new_values"][vertex] = rank
            given["new_contributions"][vertex] = rank / given["out_weights"][vertex]


@pytest.mark.parametrize(
    ("entry", "max_inline"),
    [("sum_in_blocks", None), ("sum_in_children", 0), ("sum_in_children", 32)],
)
def test_sums_are_called_as_the_kernels_want(entry, max_inline):
    ranks, truth = child_sums.run_trial(np, Kernel(entry), max_inline)
    assert compare_pagerank(ranks, truth, 1e-5) is None
    assert ranks[0] > 100 * ranks[5]  # what all point to


def test_refused_launches_are_an_error():
    with pytest.raises(
        child_sums.DynamicParallelismError, match="3000 launches were .* CUDA error 69"
    ):
        child_sums.run_trial(np, Kernel("sum_in_children", refuse=True), 0, iterations=1)


def test_children_are_counted_and_run_as_long_as_there_is_time(small, monkeypatch):
    monkeypatch.setattr(child_sums, "working_compiler", lambda: "nvcc")
    one = reddy.ChildSums(CHILD_PER_LONG_LIST, "child kernels", "x", 10)
    sums = child_sums.WarpSums(small.graph, Kernel("sum_in_children"), DAMPING, 10)
    degrees = np.bincount(small.arcs[1], minlength=small.vertices)
    assert one.facts(sums) == {"children": int((degrees > 10).sum()), "compiler": "nvcc"}
    clock = types.SimpleNamespace(ms=lambda function: 20 * 7.0)  # 7 ms an iteration
    assert one.choose_iterations(sums, 1000, clock) == 100
    assert one.choose_iterations(sums, 50, clock) == 50


def test_fewer_iterations_are_said_and_scaled(small, monkeypatch):
    monkeypatch.setattr(
        reddy.Serial, "choose_iterations", lambda self, state, max_iterations, clock: 5
    )
    clock = timing.Clock()
    clock.timed = lambda function: (8.0, function())
    (row,) = reddy.measure(small, [reddy.Serial("serial", "x", "slow")], QUICK, clock, 10)
    assert row["thousand_ms"]["median"] == 16 and row["note"] == "slow; 10 extrapolated from 5"


@pytest.mark.parametrize(
    ("works", "expected"), [("nvcc", "nvcc"), ("nvrtc", "nvrtc"), (None, None)]
)
def test_compilers_are_tried_in_turn(monkeypatch, works, expected):
    def run(command, **options):
        code = 0 if command[-1] == works else 1
        return types.SimpleNamespace(returncode=code, stderr="Trace\nNo linker: cudadevrt\n")

    monkeypatch.setattr(subprocess, "run", run)
    child_sums.try_compilers.cache_clear()
    try:
        if expected:
            assert child_sums.working_compiler() == expected
        else:
            text = "nvcc: No linker: cudadevrt; nvrtc: No linker: cudadevrt"
            with pytest.raises(child_sums.DynamicParallelismError, match=text):
                child_sums.working_compiler()
    finally:
        child_sums.try_compilers.cache_clear()
