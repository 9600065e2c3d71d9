"""Core numbers of layered lists: the rows of a pass, and the number of passes."""

import numpy as np
import pytest
from conftest import listed

import rapidsgraph as rg
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.core_number import select_rows

gpu = pytest.mark.gpu
RANDOM = np.random.default_rng(24)


def list_thick_path(num_vertices=3000, width=12):
    """Every vertex and the next `width`: changes of bounds go from the ends to the middle."""
    vertices = np.arange(num_vertices)
    steps = range(1, width)
    return (
        np.concatenate([vertices[:-step] for step in steps]),
        np.concatenate([vertices[step:] for step in steps]),
    )


def list_rmat():
    edges = rg.generate.rmat(11, 16, seed=1, device="cpu")
    return tuple(edges[end] for end in ("source", "destination"))


LARGE = {
    "thick path": list_thick_path,
    "R-MAT": list_rmat,
    "random": lambda: tuple(RANDOM.integers(0, 3000, (2, 60_000))),
    "path": lambda: (np.arange(5000), np.arange(1, 5001)),
    "ring with loops": lambda: (np.arange(5000).repeat(2), np.arange(1, 10_001) // 2 % 5000),
}


def check_passes(folder, name, directed, device):
    sources, destinations = LARGE[name]()
    edges = {"source": sources, "destination": destinations}
    graph = rg.Graph(edges, directed=directed, multi_edges="keep")
    LayeredEdgeList.build(graph, int(sources[0]), partition_bytes=2**14).save(folder)
    layered = LayeredEdgeList.open(folder, device=device)
    estimate = rg.estimate_memory(layered, "core_number")
    expected = listed(rg.core_number(graph))
    for limit, max_passes in ((estimate.streamed, 80), (estimate.needed, 2)):
        assert listed(rg.core_number(layered, memory_limit=limit)) == expected
        assert layered.last_run.passes <= max_passes


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", LARGE)
def test_passes(tmp_path, name, directed):
    check_passes(tmp_path / "layers", name, directed, "cpu")


@gpu
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", LARGE)
def test_passes_on_a_gpu(tmp_path, name, directed):
    check_passes(tmp_path / "layers", name, directed, "gpu")


@pytest.mark.parametrize("max_neighbors", [9, 20, 100, 10_000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_rows_fit_into_memory(max_neighbors, share):
    """Every active row is loaded once in a round, and others only beside all active ones."""
    random = np.random.default_rng(3)
    degrees, is_active = random.integers(1, 10, 200), random.random(200) < share
    num_loads, start = np.zeros(200, int), 0
    while True:
        is_loaded, start = select_rows(degrees, is_active, start, max_neighbors)
        assert degrees[is_loaded].sum() <= max_neighbors
        num_loads += is_loaded
        if degrees[is_active].sum() <= max_neighbors:
            assert is_loaded[is_active].all()
            break
        assert is_active[is_loaded].all()
        if start == 0 or not is_active[start:].any():
            break
    assert (num_loads[is_active] == 1).all()
    if max_neighbors == 10_000 and is_active.any():
        assert num_loads.all()
