"""The kernels that are compiled when a call begins."""

import re
import sys
import types

import numpy as np
import pandas
import pytest

import rapidsgraph as rg
from pipelines.benchmarks import startup
from rapidsgraph import device
from rapidsgraph.algorithms import pagerank_blocks
from rapidsgraph.device import launcher, stages

PROGRAMS = [
    pytest.param(stage, program, id=f"{stage}: {program.stem}.{program.entry}")
    for stage in stages.STAGES
    for program in stages.programs(stage)
]


@pytest.mark.parametrize(("stage", "program"), PROGRAMS)
def test_kernels_of_stages_exist_with_these_element_types(stage, program):
    parameters = device.signatures(program.stem)[program.entry]
    generic = {kind[:-1] for kind, _ in parameters if kind.endswith("_t*")}
    assert {name for name, _ in program.types} == generic
    for _, kind in program.types:
        is_given = re.fullmatch(r"\{(names|values|weights)\}", kind)
        assert is_given or np.dtype(kind) in launcher.C_TYPE_OF, kind


@pytest.mark.parametrize("stage", stages.STAGES)
def test_a_stage_has_each_kernel_once(stage):
    programs = stages.programs(stage)
    keys = {launcher._module_key(*program, 0) for program in programs}
    assert len(keys) == len(programs)


@pytest.fixture
def submitted(monkeypatch):
    """The arguments of `compile_in_thread` on GPU 3 of a stand-in for CuPy."""
    runtime = types.SimpleNamespace(getDevice=lambda: 3)
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    arguments = []
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(stages, "_begun", set())
    monkeypatch.setattr(stages, "compile_in_thread", lambda *key: arguments.append(key))
    return arguments


def test_a_stage_is_compiled_once_for_the_types_of_a_call(submitted):
    for _ in range(2):
        for weights in (np.int64, np.float32):
            stages.compile_ahead("count conflicts", weights=weights)
    assert submitted == [
        ("build", "count_conflicts", (("weight_t", c_type),), False, 3)
        for c_type in ("long long", "float")
    ]


@pytest.mark.parametrize("stage", stages.STAGES)
def test_element_types_are_bound_as_launches_do(stage, submitted):
    stages.compile_ahead(stage, names=np.uint64, values=np.float32, weights=np.int64)
    assert len(submitted) == len(stages.programs(stage))
    for _, _, c_types, _, _ in submitted:
        assert list(c_types) == sorted(c_types)
        assert {c_type for _, c_type in c_types} <= {*launcher.C_TYPES.values()}


CALLS = startup.RUNS | {
    "few iterations": lambda rg, edges: rg.pagerank(edges, tolerance=0, max_iterations=1),
    "small PageRank": lambda rg, edges: rg.pagerank(edges.head(1000) % 500),
    "small SCAN": lambda rg, edges: rg.scan(edges.head(1000) % 500),
    "small components": lambda rg, edges: rg.connected_components(edges.head(1000) % 500),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_first_calls_launch_kernels_of_their_stages(name, monkeypatch):
    """All kernels of a first call are compiled ahead, in a process that has compiled none."""
    import cudf

    begun, used = set(), set()
    begin, find = launcher.compile_in_thread, launcher._cuda_function

    def record(keys, function, *arguments):
        keys.add(launcher._module_key(*arguments))
        return function(*arguments)

    monkeypatch.setattr(launcher, "_modules", {})
    monkeypatch.setattr(launcher, "_bound_functions", {})
    monkeypatch.setattr(launcher, "_with_shared_memory", set())
    monkeypatch.setattr(stages, "_begun", set())
    monkeypatch.setattr(stages, "compile_in_thread", lambda *key: record(begun, begin, *key))
    monkeypatch.setattr(launcher, "_cuda_function", lambda *key: record(used, find, *key))
    if name == startup.LARGE:  # of a small graph
        monkeypatch.setattr(pagerank_blocks, "MIN_ARCS", 0)
        monkeypatch.setattr(pagerank_blocks, "MIN_VERTICES", 0)
    ends = np.random.default_rng(1).integers(0, startup.VERTICES, (2, startup.EDGES))
    edges = pandas.DataFrame({"source": ends[0], "destination": ends[1]})
    CALLS[name](rg, cudf.from_pandas(edges))
    assert used and used <= begun
    has_blocks = any(group == ("iterate_blocks",) for _, group, *_ in used)
    assert has_blocks == (name == startup.LARGE)
