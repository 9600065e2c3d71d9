"""The kernels that are compiled at the beginning of a task."""

import re

import numpy as np
import pandas
import pytest

import rapidsgraph as rg
from pipelines.benchmarks import startup
from rapidsgraph import device
from rapidsgraph.device import launcher, tasks

PROGRAMS = [
    pytest.param(task, program, id=f"{task}: {program.stem}.{program.entry}")
    for task in tasks.TASKS
    for program in tasks.programs(task)
]


@pytest.mark.parametrize(("task", "program"), PROGRAMS)
def test_kernels_of_tasks_exist_with_these_element_types(task, program):
    parameters = device.signatures(program.stem)[program.entry]
    generic = {kind[:-1] for kind, _ in parameters if kind.endswith("_t*")}
    assert {name for name, _ in program.types} == generic
    for _, kind in program.types:
        is_given = re.fullmatch(r"\{(names|values|weights)\}", kind)
        assert is_given or np.dtype(kind) in launcher.C_TYPE_OF, kind


@pytest.mark.parametrize("task", tasks.TASKS)
def test_a_task_has_each_kernel_once(task):
    programs = tasks.programs(task)
    keys = {launcher._module_key(*program, 0) for program in programs}
    assert len(keys) == len(programs)


@pytest.mark.gpu
@pytest.mark.parametrize("name", startup.RUNS)
def test_first_calls_launch_kernels_of_their_tasks(name, monkeypatch):
    """All kernels of a first call are compiled ahead, in a process that has compiled none."""
    import cudf

    begun, used = set(), set()
    begin, find = launcher.compile_in_thread, launcher._cuda_function

    def record(keys, function, *arguments):
        keys.add(launcher._module_key(*arguments))
        return function(*arguments)

    monkeypatch.setattr(launcher, "_modules", {})
    monkeypatch.setattr(launcher, "_bound_functions", {})
    monkeypatch.setattr(tasks, "_begun", set())
    monkeypatch.setattr(tasks, "compile_in_thread", lambda *key: record(begun, begin, *key))
    monkeypatch.setattr(launcher, "_cuda_function", lambda *key: record(used, find, *key))
    ends = np.random.default_rng(1).integers(0, startup.VERTICES, (2, startup.EDGES))
    edges = pandas.DataFrame({"source": ends[0], "destination": ends[1]})
    startup.RUNS[name](rg, cudf.from_pandas(edges))
    assert used and used <= begun
