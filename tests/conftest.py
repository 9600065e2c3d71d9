"""Frames of every library the package takes, and the switch for tests that need a GPU."""

import functools
import gc
import gzip
import itertools
import math
import os
import re
import signal
import sys

import hypothesis
import naive
import numba
import numpy as np
import pandas
import pyarrow
import pytest
import typer.testing

import rapidsgraph as rg
from pipelines.benchmarks import records
from rapidsgraph import device
from rapidsgraph.dispatch import DISTRIBUTED_FUNCTIONS, IMPLEMENTATIONS
from rapidsgraph.graph.local_graph import storage_of

# OpenMP's threads, here and in processes that tests start, sleep while they wait for each other.
# By default they spin, which makes small kernels 20 times slower where processes share the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Dask's profiler of workers calls sys._current_frames, which on Python 3.11 can deadlock or end the
# process while another thread starts: https://github.com/python/cpython/issues/106883
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")

# Typer builds all commands from annotations for each call, which takes longer than most calls. The
# function is private, so that a later version may have none.
if hasattr(typer.testing, "_get_command"):
    typer.testing._get_command = functools.cache(typer.testing._get_command)

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("repeatable")

gpu = pytest.mark.gpu
deselected = pytest.StashKey[int]()


@pytest.fixture
def put(tmp_path):
    """Write a file, compressed if its name ends in .gz, and return its path."""

    def put(name, content):
        content = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return put


@pytest.fixture
def record_faults(request):
    """Return a function that appends a row of a table to the record of ``--fault-record``."""

    def append(table, row):
        path = request.config.getoption("--fault-record")
        if path:
            rows = records.read(path) if os.path.exists(path) else [records.run_record("faults")]
            records.write(path, [*rows, {"table": table, **row}])

    return append


@pytest.fixture
def record_outcomes(record_faults):
    """Return a function that checks the outcomes of fault trials and records their counts."""

    def check_and_record(fault, target, outcomes):
        total = sum(outcomes.counts.values())
        row = {"fault": fault, "target": target, "trials": total}
        record_faults("faults", row | dict(outcomes.counts))
        outcomes.check()

    return check_and_record


@pytest.fixture(scope="module")
def small_heap():
    """Exclude what earlier tests left, such as compiled kernels, from the many collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_scheduler_is_left():
    """Reset what Dask leaves set where a client could not connect or its scheduler was killed."""
    yield
    if (
        "distributed" in sys.modules
        and sys.modules["distributed"].client._get_global_client() is None
    ):
        sys.modules["dask"].config.config.pop("scheduler", None)


def implementation_modules():
    """Return the modules that `rapidsgraph.dispatch` refers to."""
    references = [*DISTRIBUTED_FUNCTIONS.values()]
    references += [reference for row in IMPLEMENTATIONS.values() for reference in row.values()]
    return sorted({f"rapidsgraph.{reference.partition(':')[0]}" for reference in references})


@pytest.fixture(scope="module")
def forked_workers(request):
    """Fork the workers of Dask clusters from a process that has imported what they need.

    A worker then starts in a tenth of the time. Without effect where clusters may use GPUs.
    """
    if request.config.getoption("--gpu"):
        yield
        return
    import dask
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        # Not Numba: a worker sets NUMBA_NUM_THREADS, which Numba reads when it is imported.
        modules = ["distributed.nanny", "dask.dataframe", *implementation_modules()]
        get_mp_context().set_forkserver_preload(modules)  # replaces Dask's own list
        yield


@pytest.fixture(scope="module")
def one_thread_of_dask():
    """Run Dask's tasks in the thread of the test, which is fastest for frames of a few rows."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def one_thread():
    """Threads wait for each other at every iteration, which takes long where cores are busy."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def pytest_configure(config):
    if config.getoption("--gpu"):  # warnings of RAPIDS libraries do not fail tests
        filters = config.getini("filterwarnings")
        filters[:] = [re.sub("^error", "default", line) for line in filters]
    # A shell's background jobs ignore Ctrl-C, and so would the processes that tests interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--gpu", action="store_true", help="run the tests that need a GPU; without one they fail"
    )
    parser.addoption(
        "--long",
        action="store_true",
        help="run the long tests, too: thousands of faults, further calls",
    )
    parser.addoption(
        "--nvrtc-all",
        action="store_true",
        help="compile CUDA kernels with optimization and for every supported architecture",
    )
    parser.addoption(
        "--fault-record",
        metavar="FILE",
        help="append the counts of the fault tests to FILE, a record (.jsonl, .md beside)",
    )


def pytest_collection_modifyitems(config, items):
    skipped = {
        mark
        for mark in ("gpu", "long", "nvrtc_all")
        if not config.getoption(f"--{mark.replace('_', '-')}")
    }
    without = [item for item in items if not _has_mark(item, skipped)]
    config.stash[deselected] = sum(_has_mark(item, skipped & {"gpu"}) for item in items)
    if len(without) < len(items):
        config.hook.pytest_deselected(items=[i for i in items if _has_mark(i, skipped)])
        items[:] = without


def pytest_collection_finish():
    """Exclude thousands of items and their modules from garbage collections, which are frequent."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let the interpreter free all objects; extension modules report others as leaks."""
    gc.unfreeze()


def _has_mark(item, marks):
    return any(item.get_closest_marker(mark) for mark in marks)


def pytest_sessionfinish(session):
    """With several processes each has seen all tests; the one that reports has seen none."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = session.config.stash.get(deselected, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    if hasattr(node, "workeroutput"):  # not of a process that died
        node.config.stash[deselected] = node.workeroutput["deselected"]


def pytest_terminal_summary(terminalreporter, config):
    count = config.stash.get(deselected, 0)
    if count:
        terminalreporter.write_line(
            f"{count} tests that need a GPU were deselected; --gpu runs them, where there is one"
        )


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        needs_frames = not item.get_closest_marker("sanitizer")
        problem = device.frame_library_problem() if needs_frames else device.gpu_problem()
        if problem:
            pytest.fail(f"--gpu was given, but {problem}", pytrace=False)


# For functions with one kernel form.
by_engine = pytest.mark.parametrize("method", ["auto", "frames"])

DASK = {  # kind: (library, partitions)
    "dask-1": ("pandas", 1),
    "dask-3": ("pandas", 3),
    "dask_cudf-1": ("cudf", 1),
    "dask_cudf-3": ("cudf", 3),
}


def restore_workers(client, num_workers):
    """Wait for workers; replace all of a cluster if Dask's nanny failed to restart a killed one."""
    try:
        client.wait_for_workers(num_workers, timeout=30)
    except TimeoutError:
        client.cluster.scale(0)
        client.cluster.scale(num_workers)
        client.wait_for_workers(num_workers, timeout=60)


def build_storage(edges, *arguments, **options):
    """Return the storage of a Graph, whose internals a test looks at."""
    options = {"multi_edges": "first"} | options  # the default, without its warning
    return storage_of(rg.Graph(edges, *arguments, **options))


def in_partitions(frame, partitions):
    """A Dask frame; where there are several, one has no row and one has most."""
    import dask.dataframe

    rows = len(frame)
    cuts = [0, rows] if partitions == 1 else [0, 0, 3 * rows // 4, rows]
    parts = [frame.iloc[start:stop] for start, stop in itertools.pairwise(cuts)]
    return dask.dataframe.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])


class FrameMaker:
    """Makes frames of one library from {name: list or NumPy array}."""

    def __init__(self, kind):
        self.kind = kind
        if kind in ("polars", "duckdb"):
            self.library = pytest.importorskip(kind)

    def __repr__(self):
        return self.kind

    @property
    def on_gpu(self):
        return "cu" in self.kind

    @property
    def is_dask(self):
        return self.kind in DASK

    @property
    def library_name(self):
        """The kind of its partitions, or its own."""
        return DASK[self.kind][0] if self.is_dask else self.kind

    def __call__(self, columns):
        columns = {name: np.asarray(values) for name, values in columns.items()}
        if self.kind == "pandas":
            return pandas.DataFrame(columns)
        if self.kind == "arrays":
            return columns
        if self.kind == "arrow":
            return pyarrow.table(columns)
        if self.kind == "polars":
            return self.library.DataFrame(columns)
        if self.kind == "duckdb":
            return self.library.from_arrow(pyarrow.table(columns))
        if self.kind in DASK:
            library, partitions = DASK[self.kind]
            return in_partitions(FrameMaker(library)(columns), partitions)
        import cupy

        if self.kind == "cupy" and all(values.dtype.kind != "U" for values in columns.values()):
            return {name: cupy.asarray(values) for name, values in columns.items()}
        import cudf

        columns = {  # CuPy has no text
            name: cupy.asarray(values) if values.dtype.kind != "U" else cudf.Series(values.tolist())
            for name, values in columns.items()
        }
        return cudf.DataFrame(columns) if self.kind == "cudf" else columns


HELD = [
    "pandas",
    "arrow",
    "polars",
    "duckdb",
    "arrays",
    pytest.param("cudf", marks=gpu),
    pytest.param("cupy", marks=gpu),
]


@pytest.fixture(
    params=[
        *HELD,
        "dask-1",
        "dask-3",
        pytest.param("dask_cudf-1", marks=gpu),
        pytest.param("dask_cudf-3", marks=gpu),
    ]
)
def make_frame(request):
    """A FrameMaker for every library."""
    return FrameMaker(request.param)


@pytest.fixture(params=HELD)
def make_held_frame(request):
    """A FrameMaker for every library whose frames are in one piece."""
    return FrameMaker(request.param)


@pytest.fixture(params=["arrays", pytest.param("cupy", marks=gpu)])
def make_arrays(request):
    """A FrameMaker once a device, for what does not depend on the library."""
    return FrameMaker(request.param)


def to_pandas(result):
    """Any result as a pandas frame."""
    if isinstance(result, pandas.DataFrame):
        return result
    if isinstance(result, dict):
        return pandas.DataFrame({name: on_host(values) for name, values in result.items()})
    if hasattr(result, "dask"):
        return to_pandas(result.compute())
    if hasattr(result, "to_pandas"):  # Arrow, Polars, cuDF
        return result.to_pandas()
    return result.df()  # DuckDB


def on_host(values):
    """A NumPy array of a NumPy or CuPy array or, with text, of a cuDF Series."""
    if hasattr(values, "to_pandas"):
        return values.to_pandas().to_numpy()
    return values.get() if hasattr(values, "get") else values


def ranks_of(result):
    """{vertex: rank} of any result of pagerank, after a look at its shape."""
    frame = to_pandas(result)
    assert list(frame.columns) == ["vertex", "pagerank"]
    names = frame["vertex"].tolist()
    assert names == sorted(set(names))
    return dict(zip(names, frame["pagerank"].tolist()))


def listed(result):
    """{column: list} of any result; None where there is nothing, which in arrays is -1."""
    if hasattr(result, "dask"):
        return listed(result.compute())
    if isinstance(result, pandas.DataFrame):
        return {
            name: [None if value is pandas.NA or value != value else value for value in values]
            for name, values in ((name, result[name].tolist()) for name in result)
        }
    if not isinstance(result, dict):
        table = result.to_arrow() if hasattr(result, "to_arrow") else pyarrow.table(result)
        return table.to_pydict()
    columns = {name: on_host(values) for name, values in result.items()}
    for name, values in columns.items():
        columns[name] = values.tolist()
        if name.startswith(("distance", "predecessor")) and values.dtype.kind in "iu":
            none = values == np.array(-1).astype(values.dtype)
            columns[name] = [None if n else value for n, value in zip(none, values.tolist())]
        if values.dtype.kind == "O":
            columns[name] = [value if value == value else None for value in values.tolist()]
    return columns


def paths_of(result, names=("vertex",)):
    """{vertex: distance} and {vertex: predecessor} of any result of bfs and sssp.

    The second is None where the result has no predecessors. Vertices of several name columns are
    tuples, and so are their predecessors.
    """
    columns = listed(result)
    vertices = list(zip(*(columns.pop(name) for name in names)))
    assert vertices == sorted(set(vertices))
    one = len(names) == 1
    vertices = [name[0] for name in vertices] if one else vertices
    distances = dict(zip(vertices, columns.pop("distance")))
    if not columns:
        return distances, None
    assert list(columns) == [
        name.replace("vertex", "predecessor") for name in names if name.startswith("vertex")
    ]
    if one:
        return distances, dict(zip(vertices, columns.pop("predecessor")))
    shared = [None if name.startswith("vertex") else place for place, name in enumerate(names)]
    predecessors = []
    for vertex, *parts in zip(vertices, *columns.values()):
        parts = iter(parts)
        whole = tuple(next(parts) if place is None else vertex[place] for place in shared)
        predecessors.append(None if None in whole else whole)
    return distances, dict(zip(vertices, predecessors))


def check_traversals(graph, edges, source, *, vertices=(), limit=None, directed=True):
    """BFS (of edges as if without weights) and SSSP are what slow loops find, and verified."""
    sources = source if isinstance(source, list) else [source]
    found = rg.bfs(graph, source, depth_limit=limit)
    options = {"directed": directed, "depth_limit": limit}
    expected = naive.bfs(edges, sources, vertices, **options)
    assert paths_of(found) == expected
    depth = rg.verify.bfs(graph, found, source, depth_limit=limit)
    assert depth == max(d for d in expected[0].values() if d is not None)
    found = rg.sssp(graph, source, cutoff=limit)
    limit = math.inf if limit is None else limit
    expected = naive.sssp(edges, sources, vertices, cutoff=limit, directed=directed)
    assert paths_of(found) == expected
    longest = rg.verify.sssp(graph, found, source, cutoff=limit)
    assert longest == max(d for d in expected[0].values() if d < math.inf)


def columns_of(edges):
    """{source, destination, weight} of a list of triples, as FrameMaker takes them."""
    source, destination, weight = zip(*edges) if edges else ((), (), ())
    return {
        "source": np.array(source, np.int64),
        "destination": np.array(destination, np.int64),
        "weight": np.array(weight, np.float64),
    }


def random_edges(seed, vertices=60, rows=300, weighted=True):
    """With parallel edges, self-loops, sinks, and sinks that only weights of 0 leave."""
    random = np.random.default_rng(seed)
    sources = random.integers(0, vertices - 10, rows)
    destinations = random.integers(0, vertices, rows)
    weights = random.uniform(0, 5, rows) if weighted else np.ones(rows)
    if weighted:
        weights[sources < 3] = 0
    return list(zip(sources.tolist(), destinations.tolist(), weights.tolist()))


def assert_close(ranks, expected, within):
    """Two {vertex: rank} with the same vertices, each rank within so much of the other."""
    assert list(ranks) == sorted(expected)
    worst = max(ranks, key=lambda name: abs(ranks[name] - expected[name]))
    assert abs(ranks[worst] - expected[worst]) <= within, (worst, ranks[worst], expected[worst])
