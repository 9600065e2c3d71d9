"""Free memory respects containers, process limits and the pools of a GPU."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import FrameMaker, build_storage

from rapidsgraph import device
from rapidsgraph.device import arrays


def test_free_memory_is_at_most_total():
    psutil = pytest.importorskip("psutil")
    assert 0 < device.free_memory(np) <= psutil.virtual_memory().total


def test_free_memory_respects_container_limit(monkeypatch):
    monkeypatch.setattr(arrays, "cgroup_memory", lambda: (5000, 3000))
    assert device.free_memory(np) == 3000
    monkeypatch.setattr(arrays, "cgroup_memory", lambda: (1 << 60, 1 << 60))
    assert 10**6 < device.free_memory(np) < 1 << 60
    monkeypatch.setattr(arrays, "cgroup_memory", lambda: None)
    assert 10**6 < device.free_memory(np) < 1 << 60


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("kind", "field"), [("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)])
def test_free_memory_respects_process_limits(kind, field, monkeypatch):
    import resource

    def used():
        pages = Path("/proc/self/statm").read_text().split()
        return int(pages[field]) * resource.getpagesize()

    monkeypatch.setattr(arrays, "cgroup_memory", lambda: (1 << 60, 1 << 60))
    which, spare = getattr(resource, kind), 2**28
    limits = resource.getrlimit(which)
    assert device.free_memory(np) > spare
    try:
        resource.setrlimit(which, (used() + spare, limits[1]))
        # Other threads of the process may allocate or free memory meanwhile.
        assert abs(device.free_memory(np) - spare) < 0.1 * spare
    finally:
        resource.setrlimit(which, limits)
    limit = {which: used() // 2}  # of a process that has more already
    infinite = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda of: (limit.get(of, infinite), infinite))
    assert device.free_memory(np) == 0


class Resource:
    """A stand-in for a memory resource of RMM: a pool or an adaptor."""

    def __init__(self, pool=None, upstream=None, limit=None):
        if pool is not None:
            self.pool_size = lambda: pool
        if upstream is not None:
            self.get_upstream = lambda: upstream
        if limit is not None:
            self.get_allocation_limit = lambda: limit[0]
            self.get_allocated_bytes = lambda: limit[1]


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (None, 1030),
        (Resource(), 1030),
        (Resource(upstream=Resource()), 1030),
        (Resource(pool=500, upstream=Resource()), 1530),
        (Resource(upstream=Resource(upstream=Resource(pool=500, upstream=Resource()))), 1530),
        (Resource(upstream=Resource(pool=500), limit=(900, 100)), 800),
        (Resource(upstream=Resource(upstream=Resource(pool=500), limit=(90, 100))), 0),
    ],
)
def test_free_memory_finds_pool_below_adaptors(monkeypatch, resource, expected):
    """1000 bytes are free on a GPU, and 30 in CuPy's pool."""
    runtime = types.SimpleNamespace(memGetInfo=lambda: (1000, 5000))
    pool = types.SimpleNamespace(free_bytes=lambda: 30)
    cupy = types.SimpleNamespace(
        cuda=types.SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool
    )
    mr = types.SimpleNamespace(get_current_device_resource=lambda: resource)
    rmm = None if resource is None else types.SimpleNamespace(mr=mr)
    monkeypatch.setitem(sys.modules, "rmm", rmm)
    assert device.free_memory(cupy) == expected


@pytest.mark.gpu
def test_free_memory_with_rmm(monkeypatch):
    """A pool counts, also below a statistics adaptor, and so does a limiting adaptor."""
    rmm = pytest.importorskip("rmm")
    import cupy
    from rmm import statistics

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (1000, 5000))
    beside = 1000 + cupy.get_default_memory_pool().free_bytes()
    before = rmm.mr.get_current_device_resource()
    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), 2**24, None)
    try:
        rmm.mr.set_current_device_resource(pool)
        assert device.free_memory(cupy) == beside + 2**24
        with statistics.statistics():
            assert not hasattr(rmm.mr.get_current_device_resource(), "pool_size")
            assert device.free_memory(cupy) == beside + 2**24
        limited = rmm.mr.LimitingResourceAdaptor(pool, 2**20)
        rmm.mr.set_current_device_resource(limited)
        assert device.free_memory(cupy) == 2**20
        taken = rmm.DeviceBuffer(size=2**16)
        assert device.free_memory(cupy) == 2**20 - 2**16
        del taken
    finally:
        rmm.mr.set_current_device_resource(before)


@pytest.mark.gpu
def test_free_memory_of_a_gpu():
    import cupy

    _, total = cupy.cuda.runtime.memGetInfo()
    assert 0 < device.free_memory(cupy) <= total
    frame = FrameMaker("cupy")({"source": np.arange(10**6), "destination": np.arange(10**6)})
    assert build_storage(frame).num_edges == 10**6
