"""The benchmark of BFS with the host between layers and without it; no GPU needed."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from test_kernels import ARCHITECTURES, compile_cuda

from pipelines.benchmarks import layers
from pipelines.benchmarks import wolfpath_host_flag as host_flag
from pipelines.benchmarks.graphs import load
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.timing import Clock
from rapidsgraph import device

pytestmark = pytest.mark.slow

SESSION = SimpleNamespace(clock=Clock(), xp=np, data=None)
VARIANTS = (
    host_flag.ONE_LAUNCH,
    host_flag.LAUNCH_PER_LAYER,
    host_flag.FLAG_PER_LAYER,
    host_flag.SHARED_MEMORY,
)


def prepared(name):
    """(layers of edges, verified_distances distances)."""
    workload = load(name)
    truth = host_flag.verified_distances(workload.graph, workload.start)
    return host_flag.split_into_layers(workload.graph, workload.start, truth), truth


def measured(name):
    return {row["how"]: row for row in host_flag.measure(load(name), SESSION, QUICK, print)}


def test_layers_have_the_edges_of_what_is_reached():
    found, truth = prepared("grid8")
    workload = load("grid8")
    sources, destinations = workload.arcs
    reached = truth[sources] >= 0
    assert found.num_edges == int(reached.sum()) > 0 and found.num_layers == truth.max() + 1 > 5
    of_layer = np.repeat(np.arange(found.num_layers), np.diff(found.starts))
    assert np.array_equal(truth[found.sources], of_layer)
    pairs = set(zip(sources[reached].tolist(), destinations[reached].tolist(), strict=True))
    assert set(zip(found.sources.tolist(), found.destinations.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("how", VARIANTS)
@pytest.mark.parametrize("name", ["grid8", "rmat8", "karate"])
def test_every_way_finds_the_verified_distances(name, how):
    found, truth = prepared(name)
    search = host_flag.Search(found, how)
    for _ in range(2):  # the second after a reset
        search.reset()
        search.run()
        assert np.array_equal(search.distances, truth)
    layered = how in (host_flag.LAUNCH_PER_LAYER, host_flag.FLAG_PER_LAYER)
    assert search.num_launches == (found.num_layers if layered else 1)
    assert search.num_copies == (found.num_layers if how == host_flag.FLAG_PER_LAYER else 0)


def test_the_flag_ends_a_search_whose_layers_are_not_known():
    found, truth = prepared("grid8")
    more = host_flag.EdgeLayers(**vars(found) | {"num_layers": found.num_layers + 3})
    more.starts = np.concatenate([found.starts, np.repeat(found.starts[-1:], 3)])
    counts = {}
    for how in VARIANTS:
        search = host_flag.Search(more, how)
        search.reset()
        search.run()
        assert np.array_equal(search.distances, truth)
        counts[how] = search.num_launches
    assert (
        counts[host_flag.FLAG_PER_LAYER] == found.num_layers
        and counts[host_flag.LAUNCH_PER_LAYER] == found.num_layers + 3
    )


def test_large_layers_are_shared_out(monkeypatch):
    found, truth = prepared("rmat12")
    assert np.diff(found.starts).max() > device.MIN_PARALLEL_SIZE  # so the parallel loop runs
    assert found.num_edges > 4 * host_flag.CHUNK_EDGES
    for how in VARIANTS:
        search = host_flag.Search(found, how)
        search.reset()
        search.run()
        assert np.array_equal(search.distances, truth), how


def test_chunks_have_each_vertex_once():
    found, _ = prepared("rmat12")
    layer_chunks, chunk_starts, vertex_starts, local, sources, places = found.chunk_arguments()
    assert sources is found.sources and chunk_starts[-1] == found.num_edges
    assert np.array_equal(chunk_starts[layer_chunks], found.starts)
    assert 0 < np.diff(chunk_starts).max() <= host_flag.CHUNK_EDGES
    for chunk, (low, high) in enumerate(itertools.pairwise(chunk_starts)):
        own = local[vertex_starts[chunk] : vertex_starts[chunk + 1]]
        assert np.unique(own).size == own.size
        assert np.array_equal(own[places[low:high]], found.destinations[low:high])


def test_rows_compare_each_way_with_one_launch():
    rows = measured("grid8")
    assert list(rows) == [
        host_flag.ONE_LAUNCH,
        host_flag.LAUNCH_PER_LAYER,
        host_flag.FLAG_PER_LAYER,
    ]  # no shared memory here
    assert {row["check"] for row in rows.values()} == {"ok"}
    assert (
        rows[host_flag.ONE_LAUNCH]["by_one"] == 1 and rows[host_flag.FLAG_PER_LAYER]["by_one"] > 0
    )
    layers_there = rows[host_flag.FLAG_PER_LAYER]["layers"]
    assert (
        rows[host_flag.FLAG_PER_LAYER]["copies"]
        == rows[host_flag.FLAG_PER_LAYER]["launches"]
        == layers_there
    )
    row = rows[host_flag.LAUNCH_PER_LAYER]
    assert row["layer_us"] == pytest.approx(row["run_ms"]["median"] * 1e3 / layers_there, rel=1e-3)


def test_wrong_distances_are_flagged_and_not_timed(monkeypatch):
    honest = host_flag.Search.run

    def run(search):
        honest(search)
        if search.variant == host_flag.FLAG_PER_LAYER:
            search.distances[1] += 1

    monkeypatch.setattr(host_flag.Search, "run", run)
    rows = measured("grid8")
    assert rows[host_flag.FLAG_PER_LAYER]["check"] == "wrong: 1 distances"
    assert "run_ms" not in rows[host_flag.FLAG_PER_LAYER] and "run_ms" in rows[host_flag.ONE_LAUNCH]


def test_a_gpu_launches_its_kernels_and_copies_flags(monkeypatch):
    """What is launched, with which arguments; a stand-in runs the twins."""
    found, truth = prepared("grid8")
    launched, copied = [], []

    def function_of(entry, cooperative):
        def function(grid, block, arguments):
            launched.append((entry, cooperative, grid, block))
            assert [type(one) for one in arguments[:2]] == [np.int64] * 2
            assert len(arguments) == len(device_parameters(entry))
            host_flag.TWINS[entry](*(int(one) for one in arguments[:2]), *arguments[2:])

        return function, 7

    def reader(xp, changed):
        return lambda level: copied.append(level) or bool(changed[level])

    stand_in = SimpleNamespace(**{name: getattr(np, name) for name in np.__all__})
    monkeypatch.setattr(host_flag, "cuda_function", function_of)
    monkeypatch.setattr(host_flag, "flag_reader", reader)
    found.xp, found.starts = stand_in, OnGpu(found.starts)
    for how in host_flag.variants(stand_in):
        launched.clear()
        search = host_flag.Search(found, how)
        search.reset()
        search.run()
        assert np.array_equal(search.distances, truth)
        single = how in (host_flag.ONE_LAUNCH, host_flag.SHARED_MEMORY)
        entry = "search_in_shared" if how == host_flag.SHARED_MEMORY else "search"
        assert launched == [(entry, single, (7,), (1024,))] * (1 if single else found.num_layers)
    assert copied == list(range(found.num_layers))


class OnGpu(np.ndarray):
    """An array that also has CuPy's `get`."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def get(self):
        return np.asarray(self)


def test_flags_are_copied_from_their_place():
    moved, changed = [], np.array([0, 1, 0], np.int32)

    def copy(target, source, nbytes, kind, stream):
        moved.append((source, nbytes, kind, stream))
        place = (source - 1000) // 4
        OnPinned.memory[:] = changed[place : place + 1].tobytes()

    class OnPinned:
        memory = bytearray(4)

    stream = SimpleNamespace(ptr=5, synchronize=lambda: moved.append("waited"))
    xp = SimpleNamespace(
        cuda=SimpleNamespace(
            runtime=SimpleNamespace(memcpyAsync=copy),
            alloc_pinned_memory=lambda size: OnPinned.memory,
            get_current_stream=lambda: stream,
        )
    )
    on_gpu = SimpleNamespace(itemsize=4, dtype=changed.dtype, data=SimpleNamespace(ptr=1000))
    read = host_flag.flag_reader(xp, on_gpu)
    assert [read(level) for level in range(3)] == [False, True, False]
    assert moved[:2] == [(1000, 4, 2, 5), "waited"] and moved[2][0] == 1004


# The source of the kernels


def device_parameters(entry):
    text = re.sub(r"//[^\n]*", "", host_flag.SOURCE.read_text())
    found = re.search(rf"\b{entry}\(([^)]*)\)", text, re.S)[1]
    return [re.findall(r"\w+", parameter)[-1] for parameter in found.split(",")]


@pytest.mark.parametrize("entry", sorted(host_flag.TWINS))
def test_twins_have_the_same_parameters(entry):
    twin = host_flag.TWINS[entry].py_func.__code__
    assert device_parameters(entry) == list(twin.co_varnames[: twin.co_argcount])


def test_blocks_have_the_threads_of_the_launch_bounds():
    text = host_flag.SOURCE.read_text()
    assert host_flag.CHUNK_EDGES <= 2**16  # local ids are uint16
    assert {int(most) for most in re.findall(r"launch_bounds__\((\d+)\)", text)} == {
        host_flag.THREADS
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(architecture):
    source = host_flag.cuda_source()
    options = f"--gpu-architecture={architecture}", *host_flag.compile_options(source)
    accepted, log = compile_cuda(source, *options)
    assert accepted, log


def test_the_command_has_it_among_its_tasks():
    assert "flag" in layers.TASKS and "flag" in layers.IN_MEMORY_TASKS
