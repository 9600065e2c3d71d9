"""rg.cluster: the processes that it starts, its cleanup, and its errors."""

import logging
import multiprocessing.spawn
import os
import signal
import subprocess
import sys
import time
import types
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import psutil
import pytest

from rapidsgraph import GpuUnavailableError, GraphError, device
from rapidsgraph.distributed import cluster, monitor

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

# A task on a worker, by a script without `if __name__ == "__main__"`.
SCRIPT = """
import time
import rapidsgraph.distributed.cluster as local
print("the script runs", flush=True)
with local.cluster("cpu", workers=2) as client:
    print(sum(client.gather(client.map(abs, range(-4, 4)))), flush=True)
    if {wait}:
        client.submit(time.sleep, 100).result()
print("closed", flush=True)
"""


def of_worker():
    import numba

    return numba.config.NUMBA_NUM_THREADS, signal.getsignal(signal.SIGINT), os.getpid()


def test_cleanup():  # before the cluster of this file is open, so the first test
    before, prepare = dict(os.environ), multiprocessing.spawn.get_preparation_data
    level = logging.getLogger("distributed").level
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with cluster.cluster("cpu", workers=1) as client:
            pids = [pid for _, _, pid in client.run(of_worker).values()]
            assert multiprocessing.spawn.get_preparation_data is not prepare
            with cluster.cluster("cpu", workers=1) as other:
                assert other.submit(abs, -1).result() == 1
            assert multiprocessing.spawn.get_preparation_data is not prepare
    assert client.status == "closed" and client.cluster.status.name == "closed"
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert os.environ == before
    assert multiprocessing.spawn.get_preparation_data is prepare
    assert logging.getLogger("distributed").level == level
    with pytest.raises(ValueError, match="No clients"):
        distributed.default_client()


@pytest.mark.usefixtures("forked_workers")  # in all further tests of this file, too
def test_overlapping_clusters():
    """Each has its own time limit, and the settings of the process are reset after the last one."""
    with ThreadPoolExecutor(1) as thread:  # whose active client is not that of further tests
        thread.submit(check_overlapping_clusters).result()


def check_overlapping_clusters():
    keys = [*cluster.DASK_SETTINGS, monitor.TIMEOUT, "distributed.scheduler.no-workers-timeout"]
    before = [dask.config.get(key, None) for key in keys]
    first, second = (cluster.cluster("cpu", workers=1, timeout=limit) for limit in (50, "70 s"))
    clients = [first.__enter__(), second.__enter__()]
    try:
        assert [monitor.get_monitor(client).timeout for client in clients] == [50, 70]
        limits = [client.cluster.scheduler.no_workers_timeout for client in clients]
        assert limits == [50, 70]
        timeouts = [list(client.run(monitor.get_timeout).values()) for client in clients]
        assert timeouts == [[50], [70]]
    finally:
        first.__exit__(None, None, None)
        set_between = [dask.config.get(key) for key in cluster.DASK_SETTINGS]
        second.__exit__(None, None, None)
    assert set_between == list(cluster.DASK_SETTINGS.values())
    assert [dask.config.get(key, None) for key in keys] == before


@pytest.fixture(scope="module")
def two():
    with cluster.cluster("cpu", workers=2, memory_limit="2GB") as client:
        yield client


def test_workers_divide_the_cores(two):
    from dask.system import CPU_COUNT

    threads = max(1, CPU_COUNT // 2)
    assert list(two.nthreads().values()) == [threads, threads]
    found = two.run(of_worker)
    assert {numba for numba, _, _ in found.values()} == {threads}
    pids = {pid for _, _, pid in found.values()}
    assert len(pids) == 2 and os.getpid() not in pids


def test_dashboards_use_different_ports(two):
    with cluster.cluster("cpu", workers=1) as other:
        ports = {client.scheduler_info()["services"]["dashboard"] for client in (two, other)}
    assert len(ports) == 2 and 8787 not in ports


def test_workers_leave_ctrl_c_to_the_caller(two):
    assert {handler for _, handler, _ in two.run(of_worker).values()} == {signal.SIG_IGN}


@pytest.mark.usefixtures("two")
def test_processes_of_the_caller_receive_ctrl_c():
    """Although they are forked from the same process as the workers."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as executor:
        assert executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result() == set()


def test_memory_limit_per_worker(two):
    workers = two.scheduler_info(n_workers=-1)["workers"].values()
    assert [worker["memory_limit"] for worker in workers] == [2 * 10**9] * 2
    pausing = two.run(lambda dask_worker: dask_worker.memory_manager.memory_pause_fraction)
    assert set(pausing.values()) == {False}


def test_client_is_the_active_one(two):
    assert distributed.get_client() is two


def test_errors_of_tasks_are_raised_and_not_printed(two, capfd):
    with pytest.raises(GraphError, match="made up"):
        two.submit(failing).result()
    assert capfd.readouterr() == ("", "")


def failing():
    raise GraphError("made up")


def test_cluster_closes_after_an_error():
    with pytest.raises(KeyError), cluster.cluster("cpu", workers=1) as client:
        pids = [pid for _, _, pid in client.run(of_worker).values()]
        raise KeyError("of the caller")
    assert client.status == "closed" and not psutil.pid_exists(pids[0])


def test_one_process_for_eight_cores(monkeypatch):
    monkeypatch.setattr("dask.system.CPU_COUNT", 17)
    made = recorded(monkeypatch, "distributed", "LocalCluster")
    cluster._cpu_cluster(None, None)()
    cluster._cpu_cluster(40, 10**9)()
    assert [(one["n_workers"], one["threads_per_worker"]) for one in made] == [(2, 8), (40, 1)]
    assert [one["memory_limit"] for one in made] == ["auto", 10**9]
    assert [one["env"] for one in made] == [{"NUMBA_NUM_THREADS": "8"}, {"NUMBA_NUM_THREADS": "1"}]


def recorded(monkeypatch, module, name):
    """Replace an attribute of a module by a function that records its arguments."""
    calls = []
    monkeypatch.setattr(f"{module}.{name}", lambda **options: calls.append(options))
    return calls


def test_gpu_cluster(monkeypatch):
    """The options for Dask-CUDA with two simulated GPUs."""
    calls, runtime = [], types.SimpleNamespace(getDeviceCount=lambda: 2)
    dask_cuda = types.ModuleType("dask_cuda")
    dask_cuda.LocalCUDACluster = lambda **options: calls.append(options)
    monkeypatch.setitem(sys.modules, "dask_cuda", dask_cuda)
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setattr(device, "import_cupy", lambda: cupy)
    free = iter([None, 1001, 5 << 30])
    monkeypatch.setattr(cluster, "_free_bytes", lambda gpus: next(free))
    cluster._gpu_cluster(None, None)(protocol="ucx")
    cluster._gpu_cluster(1, 1000)(protocol=None)
    cluster._gpu_cluster(2, None)(protocol=None)
    assert [one["n_workers"] for one in calls] == [2, 1, 2]
    assert [one["rmm_pool_size"] for one in calls] == [
        cluster.INITIAL_POOL_FRACTION,
        768,
        (5 << 30) // 16,
    ]
    assert [one["rmm_maximum_pool_size"] for one in calls] == [None, 768, None]
    assert [one["protocol"] for one in calls] == ["ucx", None, None]
    for one in calls:
        assert one["rmm_allocator_external_lib_list"] == ["cupy"]
        assert one["threads_per_worker"] == 1
        assert one["memory_limit"] is one["device_memory_limit"] is None  # nothing spills
    with pytest.raises(GraphError, match="workers is 3; it can be up to 2"):
        cluster._gpu_cluster(3, None)
    with pytest.raises(GraphError, match="256 bytes or more"):
        cluster._gpu_cluster(1, 255)
    monkeypatch.setattr(cluster, "_free_bytes", lambda gpus: 700)
    with pytest.raises(
        GraphError, match="memory_limit is 768 bytes per GPU.* only 700 bytes of free"
    ):
        cluster._gpu_cluster(1, 1000)
    with pytest.raises(GraphError, match="a GPU has 700 bytes of free memory"):
        cluster._gpu_cluster(1, None)


def test_gpu_workers_use_ucx_if_it_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed_ucxx", None)  # cannot be imported
    assert cluster._choose_protocol(None, True) is None
    monkeypatch.setitem(sys.modules, "distributed_ucxx", types.ModuleType("distributed_ucxx"))
    assert cluster._choose_protocol(None, True) == "ucx"
    assert cluster._choose_protocol(None, False) is None
    assert cluster._choose_protocol("tcp", True) == "tcp"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers is 0; it must be an integer above 0"),
        ({"workers": 1.5}, "workers is 1.5; it must be"),
        ({"workers": True}, "workers is True; it must be"),
        ({"memory_limit": "much"}, "memory_limit is 'much'; it must be bytes"),
        ({"memory_limit": 0}, "memory_limit is 0; it must be bytes, 1 or more"),
        ({"memory_limit": 10**6}, "memory_limit is 1,000,000 bytes; .* at least 300 MB"),
        ({"device": "tpu"}, "device is 'tpu'; it can be 'auto', 'cpu' or 'gpu'"),
    ],
)
def test_wrong_parameters(options, message):
    options = {"device": "cpu"} | options
    with pytest.raises(ValueError, match=message), cluster.cluster(**options):
        raise AssertionError("a cluster started")


def test_no_gpu(monkeypatch):
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: "there is none")
    with pytest.raises(GpuUnavailableError, match="there is none"), cluster.cluster("gpu"):
        raise AssertionError("a cluster started")


def test_no_dask_cuda(monkeypatch):
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: None)
    monkeypatch.setattr(device.arrays, "cudf_problem", lambda: None)
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    with pytest.raises(
        GpuUnavailableError, match=r"dask_cuda cannot .* install rapidsgraph\[cu13\]"
    ):
        cluster._choose_device("gpu")
    assert cluster._choose_device("auto") == "cpu"


def test_no_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GraphError, match=r"needs Dask.* install rapidsgraph\[dask\]"):
        cluster._choose_device("cpu")


def test_a_cluster_that_does_not_start(monkeypatch):
    def failing(**options):
        try:
            raise MemoryError("the pool")
        except MemoryError as error:
            raise RuntimeError("Worker failed to start.") from error

    monkeypatch.setattr("distributed.LocalCluster", failing)
    before = dict(os.environ)
    with (
        pytest.raises(GraphError, match="the cluster did not start: MemoryError: the pool"),
        cluster.cluster("cpu"),
    ):
        raise AssertionError("a cluster started")
    assert os.environ == before


# A thread that releases a semaphore does not complete this before the interpreter ends.
SLOW_RELEASE = """
import threading, time
from multiprocessing.resource_tracker import unregister
from multiprocessing.synchronize import SemLock, sem_unlink
def release(name):
    sem_unlink(name)
    time.sleep(0.01 if threading.current_thread() is threading.main_thread() else 0.3)
    unregister(name, "semaphore")
SemLock._cleanup = staticmethod(release)
"""


def script(tmp_path, wait=False, before=""):
    path = tmp_path / "script.py"
    path.write_text(before + SCRIPT.format(wait=wait))
    return subprocess.Popen(
        [sys.executable, path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, cwd=tmp_path,
    )  # fmt: skip


def test_a_script_without_a_guard(tmp_path):
    done = script(tmp_path)
    out, err = done.communicate(timeout=60)
    assert (out, err) == ("the script runs\n16\nclosed\n", "")
    assert done.returncode == 0


def test_ctrl_c_ends_all_processes(tmp_path):
    running = script(tmp_path, wait=True)
    assert [running.stdout.readline() for _ in range(2)] == ["the script runs\n", "16\n"]
    time.sleep(0.3)
    processes = psutil.Process(running.pid).children(recursive=True)
    assert len(processes) >= 2
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert out == "" and running.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive


INTERRUPTED = """
import os, signal, sys, threading
import dask.dataframe, numpy, pandas
import rapidsgraph as rg
ring = numpy.arange(20000)
edges = pandas.DataFrame({"source": ring, "destination": (ring + 1) % 20000})
timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
def progress(done, total, text):  # under load, some iterations are not reported
    if timer.ident is None:
        timer.start()
with rg.cluster("cpu", workers=2):
    spread = dask.dataframe.from_pandas(edges, npartitions=2)
    rg.pagerank(spread, tolerance=0, max_iterations=10**7, progress=progress)
"""


def test_ctrl_c_during_supersteps(tmp_path):
    """Members that are called after the end of the call print nothing."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=90,
        cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == -signal.SIGINT
    assert done.stderr.count("Traceback") == 1 and done.stderr.rstrip().endswith(
        "KeyboardInterrupt"
    )


@pytest.mark.parametrize("before", ["", SLOW_RELEASE], ids=["", "slow release"])
def test_ctrl_c_while_workers_start(tmp_path, before):
    """Ctrl-C ends processes silently while they import Dask."""
    running = script(tmp_path, wait=True, before=before)
    assert running.stdout.readline() == "the script runs\n"
    starting, ends = psutil.Process(running.pid), time.monotonic() + 60
    while not (processes := started_by(starting)) and time.monotonic() < ends:
        time.sleep(0.01)
    time.sleep(0.2)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
    _, alive = psutil.wait_procs(processes, timeout=20)
    assert not alive


def started_by(process):
    """Processes of workers, which multiprocessing spawns."""
    children = process.children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.gpu
def test_gpu_workers_share_the_pool():
    pytest.importorskip("dask_cuda")
    with cluster.cluster("gpu", workers=1, memory_limit="1GB") as client:
        assert list(client.nthreads().values()) == [1]

        def look():
            import cupy
            import rmm
            from rmm.allocators.cupy import rmm_cupy_allocator

            before = rmm.mr.get_current_device_resource().pool_size()
            small = int(cupy.arange(1000).sum())
            try:
                cupy.zeros(2 * 10**9, cupy.uint8)
            except MemoryError:
                failed = True
            else:
                failed = False
            same = cupy.cuda.get_allocator() == rmm_cupy_allocator
            return before, small, failed, same

        before, small, failed, same = client.submit(look).result(timeout=60)
        assert before == 10**9 // 256 * 256 and small == 499500 and failed and same


TWO_AT_ONCE = """
import sys
import dask.dataframe, pandas
import rapidsgraph as rg
print("ready", flush=True)
sys.stdin.readline()
with rg.cluster("gpu", workers=1):
    edges = dask.dataframe.from_pandas(pandas.DataFrame({"source": [0, 1], "destination": [1, 0]}))
    ranks = rg.pagerank(edges.to_backend("cudf")).compute()
    print(ranks["pagerank"].to_pandas().tolist(), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.gpu
def test_gpu_clusters_start_at_the_same_moment():
    """Each sees the same free memory, and reserves a fraction that leaves enough for the others."""
    pytest.importorskip("dask_cuda")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_AT_ONCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    try:
        for _ in range(2):  # start together, then end together
            for process in started:
                assert process.stdout.readline() in ("ready\n", "[0.5, 0.5]\n")
            for process in started:
                print(file=process.stdin, flush=True)
        assert [process.wait(60) for process in started] == [0] * 3
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.gpu
def test_more_workers_than_gpus():
    pytest.importorskip("dask_cuda")
    message = "workers is 1000; it can be up to"
    with pytest.raises(GraphError, match=message), cluster.cluster("gpu", workers=1000):
        raise AssertionError("a cluster started")


def test_free_memory_of_gpus(monkeypatch):
    """The minimum over the first visible GPUs; None if it is not known."""
    asked, nvml = [], types.ModuleType("pynvml")
    nvml.nvmlDeviceGetMemoryInfo = lambda handle: types.SimpleNamespace(free=100 - handle)
    module, utils = types.ModuleType("dask_cuda"), types.ModuleType("dask_cuda.utils")
    utils.cuda_visible_devices = lambda first: "7,5,3"
    utils.nvml_device_index = lambda place, visible: int(visible.split(",")[place])
    utils.get_gpu_handle = lambda index: asked.append(index) or index
    module.utils = utils
    for name, value in (("pynvml", nvml), ("dask_cuda", module), ("dask_cuda.utils", utils)):
        monkeypatch.setitem(sys.modules, name, value)
    assert cluster._free_bytes(2) == 93
    assert asked == [7, 5]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert cluster._free_bytes(2) is None


@pytest.mark.gpu
def test_gpu_has_free_memory():
    pytest.importorskip("dask_cuda")
    import cupy

    assert 0 < cluster._free_bytes(1) <= cupy.cuda.runtime.memGetInfo()[1]
