"""SCAN against closed forms, slow loops, its frame form, and itself, turned and renamed."""

import itertools
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from clusterings import (
    ALL_METHODS,
    METHODS,
    ROLES,
    bipartite,
    check_scan,
    clique,
    clustered,
    cycle,
    edges_of,
    frame_columns,
    lattice,
    path,
    row_indices,
    small_graphs,
    star,
    thresholds,
)
from conftest import FrameMaker, build_storage, columns_of, on_host, random_edges, to_pandas
from hypothesis import given, settings
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.algorithms import scan, similarity
from rapidsgraph.generate import grid, rmat, ssca2, uniform
from rapidsgraph.kernels.constants import MAX_BLOCK_VERTICES

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[3] / "shared" / "data"

all_methods = pytest.mark.parametrize("method", ALL_METHODS)

CORE, BORDER, HUB, OUTLIER = ROLES
NO = None
TWO_CLIQUES = clique(range(4)) + clique(range(5, 9))  # 4 is between

# Closed forms: (edges, epsilon, mu, [(cluster, role), ...] of vertices 0, 1, ...)
CLOSED_FORMS = {
    "one edge": ([(0, 1, 1)], 1, 2, [(0, CORE)] * 2),
    "one edge, more wanted": ([(0, 1, 1)], 1, 3, [(NO, OUTLIER)] * 2),
    "clique": (clique(range(6)), 1, 6, [(0, CORE)] * 6),
    "clique, more wanted": (clique(range(6)), 0.01, 7, [(NO, OUTLIER)] * 6),
    "star at its similarity": (star(7), 0.5, 3, [(0, CORE)] + [(0, BORDER)] * 7),
    "star above it": (star(7), 0.51, 2, [(NO, OUTLIER)] * 8),
    "star of cores": (star(7), 0.5, 2, [(0, CORE)] * 8),
    "path": (path(range(5)), 0.66, 3, [(0, BORDER), *[(0, CORE)] * 3, (0, BORDER)]),
    "path in two": (
        path(range(5)), 0.67, 2, [(0, CORE), (0, CORE), (NO, HUB), (1, CORE), (1, CORE)],
    ),
    "cycle": (cycle(9), 0.66, 3, [(0, CORE)] * 9),
    "cycle above its similarity": (cycle(9), 0.67, 2, [(NO, OUTLIER)] * 9),
    "every vertex is a core": (cycle(4), 1, 1, [(v, CORE) for v in range(4)]),
    "torus at its similarity": (lattice(6, 5), 0.4, 5, [(0, CORE)] * 30),
    "torus above it": (lattice(6, 5), 0.4000000000000001, 2, [(NO, OUTLIER)] * 30),
    # 2 / sqrt(4 * 9) between the sides
    "complete bipartite": (bipartite(8, 3), Fraction(1, 3), 4, [(0, CORE)] * 11),
    # no two cores are neighbors, and every border has the same to choose from
    "complete bipartite, one side": (
        bipartite(8, 3), Fraction(1, 3), 5, [(0, BORDER)] * 8 + [(v, CORE) for v in range(3)],
    ),
    "cliques with an edge between": (
        clique(range(4)) + clique(range(4, 8)) + [(3, 4, 1)], 0.7, 3,
        [(0, CORE)] * 4 + [(1, CORE)] * 4,
    ),
    "cliques with a hub between": (
        TWO_CLIQUES + edges_of([(3, 4), (4, 5)]), 0.7, 3,
        [(0, CORE)] * 4 + [(NO, HUB)] + [(1, CORE)] * 4,
    ),
    "a neighbor of one clique is no hub": (
        TWO_CLIQUES + edges_of([(3, 4), (2, 4)]), 0.8, 3,
        [(0, CORE)] * 4 + [(NO, OUTLIER)] + [(1, CORE)] * 4,
    ),
    "the tie of a border": (
        TWO_CLIQUES + edges_of([(5, 4), (4, 3)]), 0.4, 5,
        [*[(0, BORDER)] * 3, (0, CORE), (0, BORDER), (1, CORE), *[(1, BORDER)] * 3],
    ),
    "a border of its most similar core": (
        TWO_CLIQUES + edges_of([(4, 3), (4, 5), (4, 6)]), 0.4, 5,
        [*[(1, BORDER)] * 3, (1, CORE), (0, BORDER), (0, CORE), (0, CORE), *[(0, BORDER)] * 2],
    ),
    "numbers fall with size": (
        clique(range(2)) + clique(range(2, 5)) + clique(range(5, 9)) + clique(range(9, 12)), 1, 2,
        [(3, CORE)] * 2 + [(1, CORE)] * 3 + [(0, CORE)] * 4 + [(2, CORE)] * 3,
    ),
    "self-loops alone": (edges_of([(0, 0), (1, 1)]), 0.1, 2, [(NO, OUTLIER)] * 2),
    "vertices alone": ([], 0.1, 2, [(NO, OUTLIER)] * 3),
    "vertices alone are cores": ([], 1, 1, [(v, CORE) for v in range(3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name):
    edges, epsilon, mu, expected = CLOSED_FORMS[name]
    graph = build_storage(make_arrays(frame_columns(edges)), vertices=len(expected))
    vertices, index = range(len(expected)), rg.ScanIndex(graph)
    found = check_scan(graph, edges, epsilon, mu, vertices, index, ALL_METHODS)
    assert found == dict(enumerate(expected))
    clusters = len({cluster for cluster, _ in expected} - {None})
    result = rg.scan(graph, epsilon=epsilon, mu=mu)
    assert rg.verify.scan(graph, result, epsilon=epsilon, mu=mu) == clusters


def test_memberships_of_a_border(make_frame):
    """0.52 to a core of each clique; its own cluster first."""
    edges, *parameters, expected = CLOSED_FORMS["the tie of a border"]
    found = rg.scan(
        make_frame(frame_columns(edges)), epsilon=parameters[0], mu=parameters[1], memberships=True
    )
    rows = [(vertex, *row) for vertex, row in enumerate(expected)]
    assert row_indices(found) == [*rows[:5], (4, 1, "border"), *rows[5:]]
    once = to_pandas(found).drop_duplicates("vertex")
    assert once["vertex"].tolist() == list(range(9))


# Against slow loops


ENDS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.just(1))
EPSILONS = st.one_of(
    st.floats(0, 1, exclude_min=True),
    st.fractions(0, 1, max_denominator=30).filter(bool),
    st.decimals("0.01", 1, places=2),
)


@given(st.data(), st.lists(ENDS, max_size=50), st.integers(1, 6))
@settings(max_examples=200)
def test_small_graphs_agree_with_naive(data, edges, mu):
    """At any epsilon and on a similarity; of a frame and of graphs of every kind."""
    frame = FrameMaker("arrays")(frame_columns(edges))
    vertices = data.draw(st.sampled_from([(), range(15)]))
    kinds = {
        "directed": {},
        "undirected": {"directed": False},
        "keep": {"multi_edges": "keep", "self_loops": "keep"},
        "keep, undirected": {"directed": False, "multi_edges": "keep", "self_loops": "keep"},
    }
    kind = data.draw(st.sampled_from(["frame", *kinds]))
    if kind == "frame":
        graph, vertices = frame, ()
    else:
        graph = build_storage(frame, vertices=vertices or None, **kinds[kind])
    on_similarities = thresholds(edges)
    epsilons = {data.draw(EPSILONS)}
    if on_similarities:
        epsilons |= set(data.draw(st.lists(st.sampled_from(on_similarities), max_size=2)))
    for epsilon in epsilons:
        check_scan(graph, edges, epsilon, mu, vertices)


@pytest.mark.parametrize("seed", range(6))
def test_hundreds_of_graphs_at_once(make_arrays, seed):
    """Beside each other in one frame; at round numbers and on what is similar in them."""
    random = np.random.default_rng(seed)
    edges = small_graphs(seed, 200, vertices=8 + 2 * (seed % 3))
    graph = build_storage(make_arrays(frame_columns(edges)), directed=bool(seed % 2))
    index = rg.ScanIndex(graph)
    on_similarities = thresholds(edges)
    for mu in range(1, 7):
        exact = on_similarities[random.integers(len(on_similarities))]
        for epsilon in (exact, round(random.uniform(0.3, 1), 2)):
            check_scan(graph, edges, epsilon, mu, (), index)
            found = rg.scan(graph, epsilon=epsilon, mu=mu)
            assert rg.verify.scan(graph, found, epsilon=epsilon, mu=mu) > 0


def generated(frame):
    return {name: frame[name].to_numpy() for name in ("source", "destination")}


def cliques_and_hubs():
    """A clique of 100 whose first vertices hang on two stars of 600 that share leaves."""
    ends = [(a, b) for a, b, _ in clique(range(100))]
    ends += [(300, 302 + leaf) for leaf in range(600)]
    ends += [(301, 502 + leaf) for leaf in range(600)] + [(300, 301), (0, 300), (1, 301)]
    names = np.random.default_rng(3).permutation(1102)
    source, destination = names[np.array(ends).T]
    return {"source": source, "destination": destination}


LARGE = {
    "rmat": lambda: generated(rmat(9, 16, seed=1, device="cpu")),
    "sparse rmat": lambda: generated(rmat(12, 2, seed=2, device="cpu")),
    "ssca2": lambda: generated(ssca2(1000, max_clique=50, seed=3, device="cpu")),
    "grid": lambda: generated(grid(50, keep=0.9, seed=4, device="cpu")),
    "uniform": lambda: generated(uniform(200, 8000, seed=5, device="cpu")),
    "cliques and hubs": cliques_and_hubs,
}
SHAPES = {"small rmat": lambda: generated(rmat(8, 8, seed=1, device="cpu"))} | LARGE
SANITIZED = ("small rmat", "cliques and hubs")


@pytest.mark.parametrize(
    "shape",
    [pytest.param(s, marks=pytest.mark.sanitizer if s in SANITIZED else ()) for s in SHAPES],
)
def test_large_graphs_agree_with_naive(make_arrays, monkeypatch, shape):
    monkeypatch.setattr(similarity, "MAX_THREAD_DEGREE", 2)
    monkeypatch.setattr(similarity, "MAX_WARP_DEGREE", 10)
    monkeypatch.setattr(similarity, "MAX_BLOCK_TABLE_SIZE", 64)
    columns = SHAPES[shape]()
    graph = build_storage(make_arrays(columns))
    edges = edges_of(zip(*(values.tolist() for values in columns.values())))
    index = rg.ScanIndex(graph)
    for epsilon, mu in [(0.02, 3), (0.2, 5), (0.5, 3), (Fraction(2, 3), 2), (0.75, 30)]:
        found = check_scan(graph, edges, epsilon, mu, (), index)
        clusters = len({cluster for cluster, _ in found.values()} - {None})
        result = rg.scan(graph, epsilon=epsilon, mu=mu)
        assert rg.verify.scan(graph, result, epsilon=epsilon, mu=mu) == clusters


def near(num_vertices, num_edges):
    """Edges between numbers that differ by 5 at most."""
    random = np.random.default_rng(num_edges)
    first = random.integers(0, max(num_vertices, 1), num_edges)
    return first, np.minimum(first + random.integers(1, 6, num_edges), num_vertices - 1)


def shared_leaves(_num_vertices, num_leaves):
    """Two cliques of 40, and vertices with random edges to both; some are borders, some hubs."""
    random = np.random.default_rng(num_leaves)
    pairs = [pair[:2] for pair in clique(range(40)) + clique(range(40, 80))]
    for leaf in range(80, 80 + num_leaves):
        neighbors = random.choice(80, random.integers(1, 60), replace=False)
        pairs += [(leaf, int(neighbor)) for neighbor in neighbors]
    return np.array(pairs).T


BLOCK_SHAPES = {
    "no vertex": (near, 0, 0),
    "one vertex": (near, 1, 0),
    "vertices alone": (near, 1500, 0),
    "few edges": (near, 60, 90),
    "some clusters": (near, 700, 1000),
    "most vertices": (near, MAX_BLOCK_VERTICES, 9000),
    "hubs and borders": (shared_leaves, 300, 40),
    "long lists": (shared_leaves, 300, 220),
}


@pytest.mark.sanitizer
@pytest.mark.parametrize("shape", BLOCK_SHAPES)
def test_one_block_clusters_as_several_launches_do(make_arrays, shape):
    draw, num_vertices, num_edges = BLOCK_SHAPES[shape]
    source, destination = draw(num_vertices, num_edges)
    columns = {"source": source, "destination": destination}
    graph = build_storage(make_arrays(columns), vertices=range(num_vertices), directed=False)
    epsilons = [Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
    seen = set()
    for epsilon, mu in itertools.product(epsilons, [1, 2, 4, 30]):
        similar = similarity.SimilarityGraph(
            similarity.neighborhoods(graph), similarity.common_neighbors(graph), epsilon
        )
        expected = scan.cluster(similar, scan.find_cores(similar, mu))
        members = np.flatnonzero(on_host(expected.clusters) >= 0)
        for _ in range(3):  # the order of threads may not matter
            clusters, roles = scan._cluster_in_block(similar, mu)
            assert np.array_equal(on_host(clusters.integers), on_host(expected.clusters))
            assert np.array_equal(on_host(roles), on_host(expected.roles))
            bits = np.unpackbits(on_host(clusters.mask.words).view(np.uint8), bitorder="little")
            assert np.array_equal(np.flatnonzero(bits[:num_vertices]), members)
            assert clusters.mask.count_valid() == members.size
        seen |= set(on_host(roles).tolist())
    assert len(seen) == 4 or draw is near


@pytest.mark.gpu
def test_one_block_clusters_small_graphs(monkeypatch):
    import cupy

    def fail(*_):
        raise AssertionError

    graph = build_storage({"source": cupy.arange(9), "destination": cupy.arange(9) + 1})
    monkeypatch.setattr(scan, "find_cores", fail)
    assert clustered(rg.scan(graph, mu=2))[0] == (0, "core")
    with pytest.raises(AssertionError):
        rg.scan(graph, mu=2, memberships=True)


# What may not matter


def test_neither_order_nor_direction_nor_weights_of_rows_matter(make_arrays):
    edges = random_edges(31, 60, 300)
    expected = naive.scan(edges, 0.45, 3)
    transpose = [(b, a, w) if w < 2 else (a, b, w) for a, b, w in edges][::-1]
    both = edges + [(b, a, -1) for a, b, _ in edges]
    for rows in (edges, transpose, both, edges[50:] + transpose + [(4, 4, 1)]):
        frame = make_arrays(columns_of(rows))
        for method in METHODS:
            assert clustered(rg.scan(frame, epsilon=0.45, method=method)) == expected
    frame = make_arrays(columns_of(edges))
    for options in (
        {"weight": "weight", "multi_edges": "sum"},
        {"weight": "weight", "directed": False, "multi_edges": "max"},
        {"multi_edges": "keep", "self_loops": "keep"},
        {"directed": False, "multi_edges": "keep", "self_loops": "keep"},
    ):
        graph = build_storage(frame, **options)
        assert clustered(rg.scan(graph, epsilon=0.45)) == expected
        assert clustered(rg.ScanIndex(graph).query(0.45)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.just(1)), min_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from([0.4, 0.5, 0.6, 0.7]),
    st.integers(2, 4),
)
@settings(max_examples=50)
def test_names_only_order_what_is_equal(edges, random, epsilon, mu):
    """Names in the same order give the same numbers; any give the same cores, and who is in none.

    Of those that touch no border of several clusters also the same hubs and outliers.
    """
    make = FrameMaker("arrays")
    found = clustered(rg.scan(make(frame_columns(edges)), epsilon=epsilon, mu=mu))
    rising = {name: 3 * name - 7 for name in found}
    shuffled = dict(zip(found, random.sample(list(found), len(found))))
    again = []
    for names in (rising, shuffled):
        renamed = frame_columns([(names[a], names[b], 1) for a, b, _ in edges])
        result = clustered(rg.scan(make(renamed), epsilon=epsilon, mu=mu))
        again.append({name: result[names[name]] for name in found})
    assert again[0] == found
    cores = {name: cluster for name, (cluster, role) in found.items() if role == "core"}
    others = {name: cluster for name, (cluster, role) in again[1].items() if role == "core"}
    assert len(set(zip(cores.values(), others.values()))) == len(set(cores.values()))
    assert cores.keys() == others.keys() and len(set(others.values())) == len(set(cores.values()))
    for name, (_, role) in found.items():
        assert (role == "border") == (again[1][name][1] == "border")
        assert (again[1][name][0] is None) == (role in ("hub", "outlier"))


def test_every_time_the_same(make_arrays):
    graph = build_storage(make_arrays(generated(rmat(13, 8, seed=6, device="cpu"))))
    index = rg.ScanIndex(graph)
    first = row_indices(rg.scan(graph, epsilon=0.3, memberships=True))
    assert {role for *_, role in first} == set(ROLES)
    for _ in range(12):
        assert row_indices(rg.scan(graph, epsilon=0.3, memberships=True)) == first
        assert row_indices(index.query(0.3, memberships=True)) == first


def test_a_star_of_a_million_leaves(make_arrays):
    """2 / sqrt(2 * 1,000,001) = 0.00141: a core with borders, or nothing at all."""
    leaves = np.arange(1, 1_000_001)
    graph = build_storage(
        make_arrays({"source": leaves, "destination": leaves * 0}), vertices=1_000_001
    )
    index = rg.ScanIndex(graph)
    for epsilon, cluster, hub, leaf in (
        (0.001414, 0, "core", "border"), (0.0015, -1, "outlier", "outlier"),
    ):  # fmt: skip
        for result in (rg.scan(graph, epsilon=epsilon), index.query(epsilon)):
            clusters, roles = on_host(result["cluster"]), on_host(result["role"])
            codes = {role: ROLES.index(role) if make_arrays.on_gpu else role for role in ROLES}
            assert np.all(clusters == cluster) and clusters.size == 1_000_001
            assert roles[0] == codes[hub] and np.all(roles[1:] == codes[leaf])


# Real graphs


def real(name):
    file = DATA / f"{name}.parquet"
    if not file.exists():
        pytest.skip(f"{file.name} is not in ../shared/data, so this graph was not clustered")
    return rg.read_edges(file, device="cpu")


def sizes_of(result, role=None):
    members = result if role is None else result[result["role"] == role]
    return np.bincount(members["cluster"].dropna().astype(int)).tolist()


@all_methods
def test_political_books(method):
    books = real("polbooks")
    found = rg.scan(books, epsilon=0.35, mu=2, method=method)
    assert sizes_of(found) == [104]
    found = rg.scan(books, epsilon=0.4, mu=3, method=method)
    assert (sizes_of(found), sizes_of(found, "core")) == ([40, 39, 20], [39, 39, 18])
    assert rg.verify.scan(books, found, epsilon=0.4, mu=3) == 3


@all_methods
def test_collaborations(method):
    edges = real("ca-GrQc")
    found = rg.scan(edges, epsilon=0.5, mu=4, method=method)
    assert len(sizes_of(found)) == 365
    assert rg.verify.scan(edges, found, epsilon=0.5, mu=4) == 365


@pytest.mark.parametrize(
    ("name", "epsilon", "mu"),
    [("ca-CondMat", 0.5, 3), ("ca-CondMat", 0.7, 2), ("email-Enron", 0.3, 6)],
)
def test_frames_and_kernels_cluster_real_graphs_alike(name, epsilon, mu):
    graph = build_storage(real(name))
    found = rg.scan(graph, epsilon=epsilon, mu=mu, memberships=True)
    expected = rg.scan(graph, epsilon=epsilon, mu=mu, memberships=True, method="frames")
    assert_frame_equal(found, expected)
    found = found.drop_duplicates("vertex")
    clusters = found["cluster"].max() + 1
    assert clusters > 100
    assert rg.verify.scan(graph, found, epsilon=epsilon, mu=mu) == clusters
