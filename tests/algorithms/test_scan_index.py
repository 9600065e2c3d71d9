"""An index answers as scan does, for all parameters; sweeps are what queries add up to."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import naive
import networkx
import numpy as np
import pandas
import pytest
from clusterings import (
    ROLES,
    check_scan,
    clique,
    clustered,
    edges_of,
    frame_columns,
    lattice,
    row_indices,
    small_graphs,
    star,
    thresholds,
)
from conftest import FrameMaker, columns_of, listed, on_host, random_edges, to_pandas

import rapidsgraph as rg
from rapidsgraph.algorithms import similarity
from rapidsgraph.generate import grid, rmat, ssca2

pytestmark = pytest.mark.slow

EPSILONS = [*(round(0.1 * step, 2) for step in range(1, 11)), 0.05, 0.25, 0.35, 0.55]
MUS = (1, 2, 3, 4, 5, 7, 9, 12)

GRAPHS = {
    "random": lambda: random_edges(41, 80, 500),
    "small ones": lambda: small_graphs(42, 60),
    "torus": lambda: lattice(7, 5),
    "star and clique": lambda: star(30) + clique(range(20, 30)),
    "rmat": lambda: pairs_of(rmat(8, 8, seed=1, device="cpu")),
    "ssca2": lambda: pairs_of(ssca2(300, max_clique=16, seed=2, device="cpu")),
}


def pairs_of(frame):
    return edges_of(zip(frame["source"].tolist(), frame["destination"].tolist()))


def same_frames(one, other):
    """The same columns of the same types, and in them the same."""
    one, other = to_pandas(one), to_pandas(other)
    pandas.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("name", GRAPHS)
def test_queries_are_scans(make_arrays, name):
    edges = GRAPHS[name]()
    graph = rg.Graph(make_arrays(frame_columns(edges)), vertices=620)
    index = rg.ScanIndex(graph)
    whole = rg.ScanIndex(graph, method="gpuscan")
    most = max(du for _, du, dv in naive.similarities(edges).values() for du in (du, dv))
    for epsilon in EPSILONS:
        for mu in [*MUS, most, most + 1, 10**9]:
            expected = rg.scan(graph, epsilon=epsilon, mu=mu)
            same_frames(index.query(epsilon, mu), expected)
            same_frames(whole.query(epsilon=epsilon, mu=mu), expected)
        expected = rg.scan(graph, epsilon=epsilon, mu=3, memberships=True)
        same_frames(index.query(epsilon, memberships=True), expected)


def test_on_similarities_and_beside_them(make_arrays):
    edges = small_graphs(43, 150)
    index = rg.ScanIndex(make_arrays(frame_columns(edges)))
    graph = rg.Graph(make_arrays(frame_columns(edges)))
    for place, epsilon in enumerate(thresholds(edges)[::5]):
        check_scan(graph, edges, epsilon, 2 + place % 4, (), index)


LARGE = {
    "rmat": lambda: rmat(13, 12, seed=3, device="cpu"),
    "ssca2": lambda: ssca2(20_000, max_clique=40, seed=4, device="cpu"),
    "grid": lambda: grid(90, keep=0.9, seed=5, device="cpu"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_graphs(make_arrays, monkeypatch, name):
    monkeypatch.setattr(similarity, "MAX_BLOCK_TABLE_SIZE", 64)
    frame = LARGE[name]()
    columns = {name: frame[name].to_numpy() for name in ("source", "destination")}
    graph = rg.Graph(make_arrays(columns), directed=False)
    index = rg.ScanIndex(graph)
    for epsilon, mu in [(0.05, 2), (0.2, 3), (0.35, 6), (0.5, 4), (0.8, 3), (0.01, 200)]:
        found = index.query(epsilon, mu, memberships=True)
        same_frames(found, rg.scan(graph, epsilon=epsilon, mu=mu, memberships=True))
        assert rg.verify.scan(graph, found, epsilon=epsilon, mu=mu) >= 0


def test_of_every_library(make_held_frame):
    frame = make_held_frame(frame_columns(clique(range(4)) + star(12)))
    index = rg.ScanIndex(frame)
    found = index.query(0.6, 3)
    assert type(found) is type(frame)
    assert clustered(found) == naive.scan(clique(range(4)) + star(12), 0.6, 3)
    same_frames(found, rg.scan(frame, epsilon=0.6))
    assert (index.num_vertices, index.num_edges) == (13, 6 + 12 - 3)
    assert index.device == ("gpu" if make_held_frame.on_gpu else "cpu")


def test_what_it_knows_of_itself(make_arrays):
    edges = [*random_edges(44, 50, 300), (3, 3, 1), (3, 4, 1), (4, 3, 1)]
    index = rg.ScanIndex(make_arrays(frame_columns(edges)))
    assert index.num_edges == len(naive.similarities(edges))
    # Neighbors, what they share, and cores: 4 bytes each of both directions; offsets and sizes.
    assert 24 * index.num_edges <= index.nbytes <= 24 * index.num_edges + 24 * 51


def test_names(make_held_frame):
    edges = random_edges(45, 30, 120)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    names = np.array([f"v{place:02}é" for place in range(30)])
    ends = {name: names[values] for name, values in frame_columns(edges).items()}
    frame = make_held_frame({**ends, "net": net})
    graph = rg.Graph(frame, ["net", "source"], ["net", "destination"])
    rows = [((n, names[a]), (n, names[b]), 1) for n, (a, b, _) in zip(net, edges)]
    found = rg.ScanIndex(graph).query(0.5, 3)
    assert clustered(found, ("net", "vertex")) == naive.scan(rows, 0.5, 3)
    with pytest.raises(rg.GraphError, match="name column 'role' collides"):
        frame = FrameMaker("pandas")({"role": ["x"], "a": [1], "b": [2]})
        rg.ScanIndex(rg.Graph(frame, ["role", "a"], ["role", "b"]))


# Sweeps


TYPES = {
    "epsilon": "float64", "mu": "int64", "clusters": "int64", "largest": "int64",
    "clustered": "float64", "cores": "int64", "hubs": "int64", "outliers": "int64",
    "modularity": "float64",
}  # fmt: skip


def modularity(edges, rows, vertices):
    """NetworkX's, with everyone without a cluster alone."""
    graph = networkx.Graph((a, b) for a, b, _ in edges if a != b)
    graph.add_nodes_from(vertices)
    parts = {}
    for vertex, cluster, _ in rows:
        parts.setdefault(f"alone {vertex}" if cluster is None else cluster, set()).add(vertex)
    return networkx.community.modularity(graph, parts.values())


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", ["random", "star and clique", "ssca2"])
def test_sweeps_sum_queries_up(make_arrays, name):
    edges = GRAPHS[name]()
    vertices = range(320)
    index = rg.ScanIndex(rg.Graph(make_arrays(frame_columns(edges)), vertices=320))
    epsilons, mus = [0.9, 0.2, 0.5, 1], [2, 7, 1, 10**6]
    found = listed(index.sweep(epsilons, mus))
    assert list(found) == list(TYPES)
    assert list(zip(found["epsilon"], found["mu"])) == [(e, m) for e in epsilons for m in mus]
    for row in zip(*found.values()):
        epsilon, mu, clusters, largest, share, cores, hubs, outliers, quality = row
        rows = row_indices(index.query(epsilon, mu))
        roles = [role for *_, role in rows]
        assert [cores, hubs, outliers] == [roles.count(r) for r in ("core", "hub", "outlier")]
        members = [cluster for _, cluster, _ in rows if cluster is not None]
        assert clusters == len(set(members))
        assert largest == max(map(members.count, set(members)), default=0)
        assert share == len(members) / 320
        assert quality == pytest.approx(modularity(edges, rows, vertices), abs=1e-12)


def test_modularity_of_two_cliques(make_held_frame):
    """Half of the edges in each: 1 - 2 / 4; all alone: - 8 / 8^2; in one cluster: 0."""
    index = rg.ScanIndex(make_held_frame(frame_columns(clique(range(4)) + clique(range(10, 14)))))
    swept = index.sweep([1], [4, 5])
    assert listed(swept) == {
        "epsilon": [1.0, 1.0], "mu": [4, 5], "clusters": [2, 0], "largest": [4, 0],
        "clustered": [1.0, 0.0], "cores": [8, 0], "hubs": [0, 0], "outliers": [0, 8],
        "modularity": [0.5, -0.125],
    }  # fmt: skip
    index = rg.ScanIndex(make_held_frame(frame_columns(clique(range(5)))))
    assert listed(index.sweep(0.5, 2))["modularity"] == pytest.approx([0])


def test_sweeps_are_frames_of_the_library(make_held_frame):
    frame = make_held_frame({name: values[1:] for name, values in frame_columns(star(5)).items()})
    swept = rg.ScanIndex(frame).sweep([0.5, 0.7], range(2, 5))
    assert type(swept) is type(frame)
    assert to_pandas(swept).dtypes.astype(str).to_dict() == TYPES
    assert len(to_pandas(swept)) == 6


def test_what_a_sweep_takes_by_itself(make_arrays):
    swept = listed(rg.ScanIndex(make_arrays(frame_columns(lattice(6, 5)))).sweep())
    tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    pairs = [(epsilon, mu) for epsilon in tenths for mu in (2, 3, 4, 5)]
    assert list(zip(swept["epsilon"], swept["mu"])) == pairs
    assert swept["largest"] == [30 if epsilon <= 0.4 else 0 for epsilon, _ in pairs]


SWEEPS = {
    "lists": ([0.4, 0.3], [2, 3]),
    "tuples": ((0.4, 0.3), (2, 3)),
    "arrays": (np.array([0.4, 0.3]), np.array([2, 3], np.int8)),
    "float32": (np.array([0.4, 0.3], np.float32), np.array([2, 3], np.uint64)),
    "series": (pandas.Series([0.4, 0.3]), pandas.Series([2, 3])),
    "generators": ((e for e in (0.4, 0.3)), iter([2, 3])),
    "fractions": ([Fraction(2, 5), Decimal("0.3")], range(2, 4)),
    "NumPy's numbers": ([np.float32(0.4), np.float64(0.3)], [np.int64(2), np.uint8(3)]),
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_sweep_takes_values_of_any_kind(kind):
    """Similarities in a torus are 0.4, which float32 is above: what a value prints as counts."""
    index = rg.ScanIndex(FrameMaker("arrays")(frame_columns(lattice(6, 5))))
    found = listed(index.sweep(*SWEEPS[kind]))
    assert found["mu"] == [2, 3, 2, 3]
    assert found["clusters"] == [1, 1, 1, 1]
    assert found["clustered"] == [1.0, 1.0, 1.0, 1.0]
    assert found["epsilon"] == [0.4, 0.4, 0.3, 0.3]


@pytest.mark.parametrize("epsilons", [[0], [0.5, 2], [math.nan], ["0.5"], "0.5", [], [True], None])
def test_sweep_of_unsuitable_epsilons(epsilons):
    index = rg.ScanIndex({"source": np.array([0]), "destination": np.array([1])})
    with pytest.raises(rg.GraphError, match="epsilon"):
        index.sweep(epsilons, [2])


@pytest.mark.parametrize("mus", [[0], [2, 1.5], [True], "2", [], None, np.array([2.0]), 2**63])
def test_sweep_of_unsuitable_mus(mus):
    index = rg.ScanIndex({"source": np.array([0]), "destination": np.array([1])})
    with pytest.raises(rg.GraphError, match="mu"):
        index.sweep([0.5], mus)


# Nothing in it


def test_no_edges(make_held_frame):
    none = make_held_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    for graph, vertices in ((none, 0), (rg.Graph(none, vertices=4), 4)):
        index = rg.ScanIndex(graph)
        assert (index.num_vertices, index.num_edges) == (vertices, 0)
        assert clustered(index.query()) == dict.fromkeys(range(vertices), (None, "outlier"))
        assert clustered(index.query(mu=1)) == {v: (v, "core") for v in range(vertices)}
        same_frames(index.query(), rg.scan(graph))
        swept = index.sweep([0.5], [2, 1])
        assert listed(swept) == {
            "epsilon": [0.5, 0.5], "mu": [2, 1], "clusters": [0, vertices],
            "largest": [0, int(vertices > 0)],
            "clustered": [0.0, float(vertices > 0)], "cores": [0, vertices], "hubs": [0, 0],
            "outliers": [vertices, 0], "modularity": [0.0, 0.0],
        }  # fmt: skip
        assert to_pandas(swept).dtypes.astype(str).to_dict() == TYPES


def test_queries_do_not_change_the_index(make_arrays):
    index = rg.ScanIndex(make_arrays(columns_of(random_edges(46))))
    first = row_indices(index.query(0.4, 3, memberships=True))
    assert {role for *_, role in first} <= set(ROLES)
    for epsilon, mu in [(1, 1), (0.1, 2), (0.4, 50)]:
        index.query(epsilon, mu)
        index.sweep(epsilon, mu)
        assert row_indices(index.query(0.4, 3, memberships=True)) == first


@pytest.mark.parametrize("again", [copy.copy, lambda i: pickle.loads(pickle.dumps(i))])
def test_copies_answer_alike(make_arrays, again):
    index = rg.ScanIndex(make_arrays(frame_columns(random_edges(48))))
    other = again(index)
    assert other.device == index.device and other.num_edges == index.num_edges
    assert row_indices(other.query(0.4)) == row_indices(index.query(0.4))
    assert listed(other.sweep()) == listed(index.sweep())


def test_an_index_outlives_its_graph(make_arrays):
    columns = make_arrays(frame_columns(random_edges(47)))
    graph = rg.Graph(columns)
    index, expected = rg.ScanIndex(graph), clustered(rg.scan(graph))
    for values in columns.values():
        values[:] = 0
    del graph
    assert clustered(index.query()) == expected
    assert on_host(index.query()["cluster"]).dtype == np.int32
