"""The switch between CPU and GPU, and the checks in front of kernels."""

import dataclasses
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms import pagerank_layout

STEMS = sorted(path.stem for path in device.KERNELS.glob("*.cu"))


@pytest.fixture
def no_gpu(monkeypatch):
    problem = "the driver reports no GPU"
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: problem)
    return problem


def test_a_gpu_that_is_not_there_is_an_error_that_says_what_is_missing(no_gpu):
    with pytest.raises(
        rg.GpuUnavailableError, match=f"device='gpu' was requested, but {no_gpu}.*doctor"
    ):
        device.choose("gpu")
    assert issubclass(rg.GpuUnavailableError, rg.GraphError) and issubclass(
        rg.GpuUnavailableError, RuntimeError
    )


def test_auto_takes_the_cpu_where_there_is_no_gpu(no_gpu):
    assert device.choose("auto") == device.choose("cpu") == "cpu"


def test_the_gpu_is_chosen_where_one_works(monkeypatch):
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: None)
    monkeypatch.setattr(device.arrays, "cudf_problem", lambda: None)
    assert device.choose("auto") == device.choose("gpu") == "gpu"
    assert device.choose("cpu") == "cpu"


@pytest.mark.parametrize("word", ["cuda", "GPU", None, 0])
def test_other_devices(word):
    with pytest.raises(
        rg.GraphError, match=f"device is {word!r}; it can be 'auto', 'cpu' or 'gpu'"
    ):
        device.choose(word)


def fresh(function, monkeypatch):
    """A function that remembers its answer, with nothing remembered, before or after."""
    monkeypatch.setattr(device.arrays, function.__name__, function.__wrapped__)
    return function.__wrapped__


def test_without_cupy_the_problem_names_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    problem = fresh(device.gpu_problem, monkeypatch)()
    assert problem.startswith("CuPy cannot be imported (")
    assert problem.endswith("install rapidsgraph[cu13] or rapidsgraph[cu12]")
    with pytest.raises(rg.GpuUnavailableError, match="CuPy cannot be imported"):
        device.choose("gpu")


class FakeCuPy:
    """As much of CuPy as finding out takes; `devices` is a number or what is raised instead."""

    __version__ = "0"

    def __init__(self, devices, total=6):
        self.devices, self.total, self.cuda = devices, total, self

    @property
    def runtime(self):
        return self

    def getDeviceCount(self):
        if isinstance(self.devices, Exception):
            raise self.devices
        return self.devices

    def arange(self, count):
        return np.arange(count) + (self.total - 6)


@pytest.mark.parametrize(
    ("cupy", "problem"),
    [
        (FakeCuPy(0), "the driver reports no GPU"),
        (FakeCuPy(1, total=7), "a test kernel gave a wrong sum"),
        (FakeCuPy(RuntimeError("driver too old")), "CuPy 0 cannot use the GPU: driver too old"),
        (FakeCuPy(1), None),
    ],
)
def test_what_keeps_a_gpu_from_working(monkeypatch, cupy, problem):
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    assert fresh(device.gpu_problem, monkeypatch)() == problem


def test_without_cudf_the_problem_names_it(monkeypatch):
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: None)
    monkeypatch.setitem(__import__("sys").modules, "cudf", None)
    fresh(device.cudf_problem, monkeypatch)
    problem = device.frame_library_problem()
    assert problem.startswith("cuDF cannot be imported (")


def test_arrays_of_numpy_are_on_the_cpu():
    array = np.arange(3)
    assert not device.is_on_gpu(array)
    assert device.array_module(array) is np
    assert device.device_name(np) == "cpu"


@pytest.mark.gpu
def test_arrays_of_cupy_are_on_the_gpu():
    import cupy

    array = cupy.arange(3)
    assert device.is_on_gpu(array)
    assert device.array_module(array) is cupy
    assert device.device_name(cupy) == "gpu"
    assert device.gpu_problem() is None and device.frame_library_problem() is None
    assert device.choose("auto") == "gpu"


# Launching


def test_signatures_are_read_from_the_text_of_kernels():
    assert device.signatures("build")["translate"] == [
        ("long long", "num_names"),
        ("name_t*", "names"),
        ("long long", "min_name"),
        ("int*", "table"),
        ("int*", "ids"),
    ]
    assert device.signatures("pagerank")["check_convergence"] == [
        ("long long", "num_blocks"),
        ("double", "tolerance"),
        ("double*", "partials"),
        ("double*", "state"),
    ]
    assert "iterate" in device.signatures("pagerank")  # behind launch bounds


@pytest.mark.parametrize("stem", STEMS)
def test_sources_name_their_file(stem):
    first, text = device.cuda_source(stem).split("\n", 1)
    path = device.KERNELS / f"{stem}.cu"
    assert first == f'#line 1 "{path.as_posix()}"'
    assert text.splitlines()[0] == path.read_text().splitlines()[0]
    assert text.endswith(path.read_text().split('.cuh"\n')[-1])  # what it includes stands before


def included_by(path):
    """The .cuh files that a kernel's file names, and those that they name."""
    named = re.findall(r'^#include "(\w+\.cuh)"$', path.read_text(), flags=re.M)
    return {*named, *(other for name in named for other in included_by(path.with_name(name)))}


@pytest.mark.parametrize("stem", STEMS)
def test_sources_hold_what_they_include_once(stem):
    begins = re.findall(r'^#line 1 "(.*)"$', device.cuda_source(stem), flags=re.M)
    expected = {f"{stem}.cu", *included_by(device.KERNELS / f"{stem}.cu")}
    assert sorted(path.rsplit("/")[-1] for path in begins) == sorted(expected)
    if stem == "scan":  # grid.cuh by way of two others
        headers = ("rows", "search", "similar", "disjoint_sets", "grid")
        assert expected == {"scan.cu", *(f"{name}.cuh" for name in headers)}
    assert "#include" not in device.cuda_source(stem)


def test_lines_are_those_of_their_files_where_something_is_included_twice(tmp_path, monkeypatch):
    texts = {
        "a.cu": '// a\n#include "b.cuh"\n#include "c.cuh"\na4\n',
        "b.cuh": '#include "c.cuh"\nb2\n',
        "c.cuh": "c1\nc2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(device.launcher, "KERNELS", tmp_path)
    line, at, found = 0, "", {}
    for text in device.cuda_source("a").splitlines():
        directive = re.fullmatch(r'#line (\d+) "(.*)"', text)
        if directive:
            line, at = int(directive[1]), directive[2].rsplit("/")[-1]
            continue
        if text.strip() and not text.startswith("//"):
            found.setdefault(text, []).append((at, line))
        line += 1
    assert found == {
        "c1": [("c.cuh", 1)], "c2": [("c.cuh", 2)], "b2": [("b.cuh", 2)], "a4": [("a.cu", 4)],
    }  # fmt: skip


def ids(dtype=np.int64):
    return np.zeros(3, dtype), 0, np.zeros(3, np.int32), np.zeros(3, np.int32)


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [(np.int32, "int"), (np.int64, "long long"), (np.uint64, "unsigned long long")],
)
def test_element_types_are_bound_from_arrays(dtype, bound):
    names, _, *others = ids(dtype)
    assert device.launcher._bind("build", "translate", [names, *others]) == (("name_t", bound),)


def test_scalars_are_converted_as_the_kernel_has_them():
    entry = device.launcher._find_entry("pagerank", "check_convergence")
    assert entry.scalars == [(0, int), (1, float)]
    assert entry.arrays == [2, 3]


def test_arguments_that_the_kernel_does_not_take():
    names, low, table, place = ids()
    arguments = {"num_names": 3, "names": names, "min_name": low, "table": table, "ids": place}
    del arguments["min_name"]
    with pytest.raises(TypeError, match="^build.translate: missing min_name$"):
        device.launch("build", "translate", size=3, **arguments)
    arguments["low"] = low
    with pytest.raises(TypeError, match="^build.translate: missing min_name; unexpected low$"):
        device.launch("build", "translate", size=3, **arguments)
    with pytest.raises(TypeError, match="build.translate: table is long long, not contiguous int"):
        device.launcher._bind("build", "translate", [names, table.astype(np.int64), place])
    with pytest.raises(TypeError, match="build.translate: ids is int, not contiguous int"):
        device.launcher._bind("build", "translate", [names, table, np.zeros(6, np.int32)[::2]])
    floats, doubles = np.zeros(3, np.float32), np.zeros(3)
    with pytest.raises(TypeError, match="new_weights is float, not contiguous double"):
        arrays = [table, table, np.zeros(1, np.int64), table, doubles]
        arrays += [np.zeros(1, np.int64), np.zeros(1, np.int64), table, floats]
        device.launcher._bind("pagerank_layout", "arrange", arrays)


def test_a_launch_on_numpy_runs_the_numba_twin():
    present = np.zeros(5, bool)
    device.launch(
        "build", "mark_present", size=3,
        num_names=3, names=np.array([7, 9, 7]), min_name=6, is_present=present,
    )  # fmt: skip
    assert present.tolist() == [False, True, False, True, False]


@pytest.mark.gpu
@pytest.mark.parametrize("geometry", [None, (1, 32), (200, 1024)])
def test_a_launch_on_cupy_runs_the_cuda_twin(geometry):
    import cupy

    names = np.random.default_rng(0).integers(6, 5006, 20_000)
    present = cupy.zeros(5000, bool)
    device.launch(
        "build", "mark_present", size=1, geometry=geometry,
        num_names=names.size, names=cupy.asarray(names), min_name=6, is_present=present,
    )  # fmt: skip
    assert np.array_equal(np.flatnonzero(present.get()) + 6, np.unique(names))


@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_arrays_share_an_allocation_on_a_gpu(module):
    xp = pytest.importorskip(module)
    sizes = {"counts": (3, np.int64), "empty": (0, np.float64), "flags": (257, bool)}
    for zeroed in ((), ("flags",), tuple(sizes)):
        arrays = device.allocate(xp, zeroed=zeroed, **sizes)
        assert {name: (v.size, v.dtype) for name, v in arrays.items()} == sizes
        assert not any(arrays[name].any() for name in zeroed)
        for number, values in enumerate(arrays.values(), 1):
            values.fill(number)
        assert arrays["counts"].tolist() == [1, 1, 1]
        assert arrays["flags"].all()
    if xp is not np:
        addresses = [values.data.ptr for values in arrays.values()]
        assert addresses == [addresses[0], addresses[0] + 256, addresses[0] + 256]
        assert addresses[0] % 256 == 0


@pytest.mark.parametrize("size", [100, 2**16])
@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_small_groups_share_the_first_allocation(module, size):
    xp = pytest.importorskip(module)
    sizes = {"result": 2**18, "small": 3, "empty": 0, "other": size}
    groups = [{name: (size, np.uint8)} for name, size in sizes.items()]
    arrays = device.allocate_groups(xp, *groups, zeroed=("small", "other"))
    assert {name: array.size for name, array in arrays.items()} == sizes
    assert not arrays["small"].any()
    assert not arrays["other"].any()
    for number, values in enumerate(arrays.values()):
        values.fill(number)
    for number, values in enumerate(arrays.values()):
        assert (values == number).all()
    if xp is not np:
        memory = arrays["result"].data.mem
        separate = {name for name, array in arrays.items() if array.data.mem is not memory}
        assert separate == (set() if size == 100 else {"small", "other"})


def test_names_of_groups():
    group = {"a": (1, np.int32)}
    with pytest.raises(AssertionError):
        device.allocate_groups(np, group, group)
    with pytest.raises(AssertionError):
        device.allocate_groups(np, group, {"b": (1, np.int32)}, zeroed=("c",))


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint64", "float32"])
@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_copies(module, dtype):
    xp = pytest.importorskip(module)
    values = (xp.arange(10_001) % 200).astype(dtype)
    for part in (values, values[3:], values[:0]):
        copied = device.copy(part)
        assert copied.dtype == dtype
        assert copied.tolist() == part.tolist()
        assert not xp.shares_memory(copied, part)
    with pytest.raises(AssertionError):
        device.copy(values[::2])


@pytest.mark.gpu
def test_shared_memory_of_launches_in_threads():
    """Each launch may have another size of dynamic shared memory."""
    import cupy

    graph = rg.Graph({"source": cupy.arange(50), "destination": cupy.arange(50) + 1})
    largest = device.max_shared_bytes()
    csc = graph._storage.csc

    def run(num_cached: int) -> list[float]:
        layout = pagerank_layout.read_directly(
            csc, device.no_values(np.float64, cupy), graph._storage.out_weights, np.float64
        )
        layout = dataclasses.replace(layout, num_cached=num_cached)
        sizes = pagerank_layout.buffer_sizes(layout)
        buffers = device.allocate(cupy, zeroed=pagerank_layout.ZEROED_BUFFERS, **sizes)
        contributions, state = cupy.zeros((2, 2**15)), cupy.zeros(5)
        contributions[0, :51] = layout.inverse_weights
        terms = cupy.ones(1)
        pagerank_layout.launch_iterations(
            layout, 1, 0.0, 0.5, terms, terms, contributions, cupy.ones(51), buffers, state
        )
        return contributions[1, :51].tolist()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, [51, largest // 8, 51, 7000, largest // 8] * 4))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_a_few_values_are_read_later(module):
    xp = pytest.importorskip(module)
    values = [xp.arange(start, start + 3, dtype=xp.int64) for start in (5, 7)]
    reads = [device.start_reading(value) for value in values]
    for value in values:
        value.fill(0)  # after the copy has begun
    for _ in range(2):
        assert [read() for read in reads] == [[5, 6, 7], [7, 8, 9]]
    assert device.start_reading(xp.full(1, 0.5))() == [0.5]
    device.start_reading(xp.full(1, 1.5))  # nobody waits for this one
    assert [device.start_reading(xp.full(1, value))() for value in (2.5, 3.5)] == [[2.5], [3.5]]
    assert device.start_reading(xp.arange(3, dtype=xp.int8))() == [0, 1, 2]
    with pytest.raises(AssertionError):
        device.start_reading(xp.zeros(9))
