"""Streaming through a GPU: the limit is kept, enforced by RMM, and the results stay."""

import contextlib

import numpy as np
import pytest
from conftest import FrameMaker
from test_streaming import ROOT, RUNS, by_run, least_of

import rapidsgraph as rg
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList, streaming
from rapidsgraph.layered.packing import COLUMN

pytestmark = pytest.mark.slow

gpu = pytest.mark.gpu


@contextlib.contextmanager
def enforced(limit):
    """All that CuPy and cuDF take comes from RMM, which gives no more than `limit` bytes."""
    import cupy
    import rmm
    from rmm.allocators.cupy import rmm_cupy_allocator

    cupy.get_default_memory_pool().free_all_blocks()
    before, allocator = rmm.mr.get_current_device_resource(), cupy.cuda.get_allocator()
    limited = rmm.mr.LimitingResourceAdaptor(rmm.mr.CudaMemoryResource(), limit)
    rmm.mr.set_current_device_resource(limited)
    cupy.cuda.set_allocator(rmm_cupy_allocator)
    try:
        yield limited
    finally:
        cupy.cuda.Device().synchronize()
        cupy.cuda.set_allocator(allocator)
        rmm.mr.set_current_device_resource(before)


@pytest.fixture(scope="module")
def wide():
    """30,000 vertices and 600,000 edges, some of them far out of reach."""
    random = np.random.default_rng(1)
    sources, destinations = random.integers(0, 30_000, (2, 600_000))
    weights = random.uniform(0, 1, 600_000).round(2)
    weights[::50] = 0
    kept = destinations < 29_900  # the others are only left
    columns = {
        "source": sources[kept],
        "destination": destinations[kept],
        "weight": weights[kept],
    }
    return columns | {"source": np.append(columns["source"], 29_999)[:-1]}


@pytest.fixture(scope="module")
def wide_store(tmp_path_factory, wide):
    """(Graph, folder) of about 60 partitions of about 100 kB, made on a CPU."""
    graph = rg.Graph(FrameMaker("pandas")(wide), weight="weight", multi_edges="keep")
    folder = tmp_path_factory.mktemp("stores") / "wide"
    LayeredEdgeList.build(graph, ROOT, partition_bytes=100_000).save(folder)
    return graph, folder


SHARES = {  # of the partitions, beside the least limit
    "all streamed": 0.0,
    "a tenth stays": 0.1,
    "half stays": 0.5,
    "all but one stay": 0.97,
    "all stay": 1.1,
}


def on_cpu(algorithm, graph):
    source = {} if algorithm == "pagerank" else {"source": ROOT}
    return RUNS[algorithm](graph, **source)


def check_wide(algorithm, found, expected):
    found = found.to_pandas()
    if algorithm == "pagerank":
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], rtol=0, atol=1e-12)
        return
    np.testing.assert_array_equal(found["distance"].fillna(-1), expected["distance"].fillna(-1))
    np.testing.assert_array_equal(
        found["predecessor"].fillna(-1), expected["predecessor"].fillna(-1)
    )


@gpu
@by_run
@pytest.mark.parametrize("share", SHARES)
def test_the_limit_is_kept(wide_store, algorithm, share):
    """RMM gives no byte more; run twice, so that nothing stays behind either."""
    graph, folder = wide_store
    expected = on_cpu(algorithm, graph)
    probe = LayeredEdgeList.open(folder, device="gpu")
    limit = least_of(algorithm, probe) + int(SHARES[share] * probe.nbytes)
    del probe
    with enforced(limit) as limited:
        layered = LayeredEdgeList.open(folder, device="gpu")
        for _ in range(2):
            found = RUNS[algorithm](layered, memory_limit=limit)
            check_wide(algorithm, found, expected)
            del found
        del layered
        assert limited.get_allocation_limit() == limit


@gpu
@by_run
@pytest.mark.parametrize("share", SHARES)
def test_streamed_runs_read_what_runs_in_place_read(wide_store, algorithm, share):
    _, folder = wide_store
    layered = LayeredEdgeList.open(folder, device="gpu")
    limit = least_of(algorithm, layered) + int(SHARES[share] * layered.nbytes)
    RUNS[algorithm](layered, memory_limit=limit)
    run = layered.last_run
    assert storage_of(layered).is_mapped
    if algorithm == "bfs":
        end = storage_of(layered).layer_starts[layered.depth]
        own = storage_of(layered).table[
            storage_of(layered).partitions_before(end, forward_only=True)
        ]
        assert run == (1, len(own), 4 * own[:, COLUMN["forward_words"]].sum())
    elif algorithm == "pagerank":
        assert run == (5, 5 * len(storage_of(layered).table), 5 * layered.nbytes)
    else:
        assert run.passes > 2 and run.partitions <= run.passes * len(storage_of(layered).table)


@gpu
def test_more_limits_of_one_list_one_after_the_other(wide_store):
    """Moved to the GPU where it fits, and back where it does not."""
    graph, folder = wide_store
    expected = {name: on_cpu(name, graph) for name in RUNS}
    layered = LayeredEdgeList.open(folder, device="gpu")
    for share in (0.0, 0.5, None, 0.3, 1.1, None, 0.0):
        for name in RUNS:
            limit = None
            if share is not None:
                limit = least_of(name, layered) + int(share * layered.nbytes)
            check_wide(name, RUNS[name](layered, memory_limit=limit), expected[name])


@gpu
@by_run
def test_a_list_built_on_a_gpu_streams_too(wide, wide_store, algorithm):
    graph, _ = wide_store
    on_gpu = rg.Graph(FrameMaker("cudf")(wide), weight="weight", multi_edges="keep")
    layered = LayeredEdgeList.build(on_gpu, ROOT, partition_bytes=50_000)
    limit = least_of(algorithm, layered)
    expected = on_cpu(algorithm, graph)
    check_wide(algorithm, RUNS[algorithm](layered, memory_limit=limit), expected)
    check_wide(algorithm, RUNS[algorithm](layered), expected)


@gpu
@by_run
@pytest.mark.parametrize(("buffers", "threads", "slots"), [(2, 1, 1), (3, 2, 3), (3, 12, 24)])
def test_any_number_of_buffers(wide_store, monkeypatch, algorithm, buffers, threads, slots):
    graph, folder = wide_store
    monkeypatch.setattr(streaming, "NUM_DEVICE_BUFFERS", buffers)
    monkeypatch.setattr(streaming, "MAX_COPY_THREADS", threads)
    monkeypatch.setattr(streaming, "MAX_PINNED_BUFFERS", slots)
    monkeypatch.setattr(streaming, "PINNED_BUFFER_BYTES", 2**12)
    layered = LayeredEdgeList.open(folder, device="gpu")
    limit = least_of(algorithm, layered) + layered.nbytes // 5
    expected = on_cpu(algorithm, graph)
    check_wide(algorithm, RUNS[algorithm](layered, memory_limit=limit), expected)


@gpu
def test_a_limit_that_is_too_small_takes_nothing(wide_store):
    _, folder = wide_store
    with enforced(10**6) as limited:
        layered = LayeredEdgeList.open(folder, device="gpu")
        assert storage_of(layered).order.nbytes < 10**6  # what it keeps
        for name in RUNS:
            with pytest.raises(rg.InsufficientMemoryError, match="memory_limit is 1.00 MB"):
                RUNS[name](layered, memory_limit=10**6)
        del layered
        assert limited.get_allocated_bytes() < 10**6
