"""The memory of a frame form is checked before it is allocated."""

import numpy as np
import pandas
import pytest

import rapidsgraph as rg
from rapidsgraph import device, validation
from rapidsgraph.relational import run_memory

CALLS = {
    "bfs": lambda edges: rg.bfs(edges, edges["source"][0], method="frames"),
    "sssp": lambda edges: rg.sssp(edges, edges["source"][0], method="frames"),
    "pagerank": lambda edges: rg.pagerank(edges, max_iterations=3, tolerance=0, method="frames"),
    "connected_components": lambda edges: rg.connected_components(edges, method="frames"),
    "structural_similarity": lambda edges: rg.structural_similarity(edges, method="frames"),
    "scan": lambda edges: rg.scan(edges, method="frames"),
}


@pytest.fixture(autouse=True)
def check_few_bytes(monkeypatch):
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 10**6)


def make_edges(num_arcs=2**14, kind=int):
    random = np.random.default_rng(0)
    ends = {end: random.integers(0, 2**12, num_arcs) for end in ("source", "destination")}
    return pandas.DataFrame(ends).astype(kind).assign(weight=1.0)


@pytest.mark.parametrize("algorithm", CALLS)
def test_calls_without_enough_memory(monkeypatch, algorithm):
    edges = make_edges()
    needed = run_memory.estimate_bytes(algorithm, len(edges), 0, [edges["source"].values])
    with monkeypatch.context() as patch:
        patch.setattr(device, "free_memory", lambda xp: needed)  # too little for the vertices
        with pytest.raises(rg.InsufficientMemoryError, match="by frames of 16,384 arcs") as error:
            CALLS[algorithm](edges)
        assert error.value.free == needed < error.value.needed
        patch.setattr(device, "free_memory", lambda xp: 1000 * needed)
        CALLS[algorithm](edges)


def test_graphs_and_small_frames(monkeypatch):
    graph = rg.Graph(make_edges(), weight=None)
    monkeypatch.setattr(device, "free_memory", lambda xp: 1000)
    with pytest.raises(rg.InsufficientMemoryError):
        rg.pagerank(graph, method="frames")
    CALLS["bfs"](make_edges(100))


def test_text_takes_more_by_its_length():
    numbers, text = make_edges()["source"].values, make_edges(kind=str)["source"]
    sizes = [
        run_memory.estimate_bytes("bfs", 1000, 1000, [names])
        for names in (numbers, text, text + "0" * 100)
    ]
    assert sizes[0] < sizes[1] < sizes[2] - 100 * 1000 * 5
