"""The check of clusterings accepts what slow loops find and refuses whatever is changed in it."""

import importlib
import random
import re
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from math import isqrt

import hypothesis.strategies as st
import naive
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import FrameMaker, build_storage, columns_of, random_edges, to_pandas
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.verify import triangles
from rapidsgraph.verify.scan import is_similar, quotients

pytestmark = pytest.mark.slow

MODULE = importlib.import_module("rapidsgraph.verify.scan")  # its name is that of the function
ROLES = ("core", "border", "hub", "outlier")
make = FrameMaker("arrays")
epsilons = pytest.mark.parametrize("epsilon", [0.3, 0.5, 0.6, 0.7, 1])
mus = pytest.mark.parametrize("mu", [1, 2, 3, 4])


def pairs(edges):
    return {name: columns_of(edges)[name] for name in ("source", "destination")}


def rows_of(found, all_of=None):
    """[(vertex, cluster or None, role)] of what naive.scan gives, with memberships or without."""
    if all_of is None:
        return [(vertex, cluster, role) for vertex, (cluster, role) in found.items()]
    return [
        (vertex, cluster, role) for vertex, (_, role) in found.items() for cluster in all_of[vertex]
    ]


def naive_rows(edges, epsilon, mu, vertices=(), memberships=False):
    found = naive.scan(edges, epsilon, mu, vertices, memberships)
    return rows_of(*found) if memberships else rows_of(found)


def frame_of(rows, maker=make):
    """Rows as `scan` gives them in that library."""
    vertices, clusters, roles = (list(column) for column in zip(*rows)) if rows else ([], [], [])
    if maker.kind in ("arrays", "cupy"):
        clusters = [-1 if cluster is None else cluster for cluster in clusters]
        codes = np.array([ROLES.index(role) for role in roles], np.int8)
        return maker(
            {
                "vertex": vertices,
                "cluster": np.array(clusters, np.int32),
                "role": codes if maker.kind == "cupy" else np.array(roles, object),
            }
        )
    frame = pandas.DataFrame({"vertex": vertices, "cluster": pandas.array(clusters, "Int32")})
    frame["role"] = pandas.Series(roles, dtype=object)
    if maker.kind == "pandas":
        return frame
    if maker.kind == "cudf":
        import cudf

        return cudf.from_pandas(frame)
    import pyarrow

    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    return table if maker.kind == "arrow" else maker.library.from_arrow(table)


def check(edges, rows, epsilon, mu, vertices=10, maker=make):
    graph = rg.Graph(maker(pairs(edges)), vertices=vertices)
    return rg.verify.scan(graph, frame_of(rows, maker), epsilon=epsilon, mu=mu)


def edges_of(ends):
    return [(a, b, 1) for a, b in ends]


def clique(vertices):
    return edges_of(combinations(vertices, 2))


# At epsilon 0.7 and mu 3: cores 0 to 3 and 5 to 7, hub 4, outliers 8 and 9.
FIGURE = clique([0, 1, 2, 3]) + clique([5, 6, 7]) + edges_of([(3, 4), (4, 5), (7, 8), (8, 9)])
FIGURE_ROWS = [
    (0, 0, "core"), (1, 0, "core"), (2, 0, "core"), (3, 0, "core"), (4, None, "hub"),
    (5, 1, "core"), (6, 1, "core"), (7, 1, "core"), (8, None, "outlier"), (9, None, "outlier"),
]  # fmt: skip
# At epsilon 0.36 and mu 6: 0 is similar to the cores 13 and 30 (0.365) and, more, to the cores 20
# and 21 (0.55); the others of these three cliques are borders.
BORDERS = [
    *clique(range(10, 15)), *clique(range(20, 25)), *clique(range(30, 35)),
    *edges_of([(0, 13), (0, 20), (0, 21), (0, 30)]),
]  # fmt: skip
BORDER_VERTICES = [0, *range(10, 15), *range(20, 25), *range(30, 35)]
BORDER_ROWS = naive_rows(BORDERS, 0.36, 6)
MEMBER_ROWS = naive_rows(BORDERS, 0.36, 6, memberships=True)


def replaced(rows, vertex, **changes):
    """The rows with another cluster or role for a vertex."""
    return [
        (v, changes.get("cluster", c), changes.get("role", r)) if v == vertex else (v, c, r)
        for v, c, r in rows
    ]


def renumbered(rows, numbers):
    return [(v, numbers.get(c, c), r) for v, c, r in rows]


def test_what_the_examples_are():
    assert naive_rows(FIGURE, 0.7, 3) == FIGURE_ROWS
    assert [row for row in MEMBER_ROWS if row[0] == 0] == [
        (0, 0, "border"), (0, 1, "border"), (0, 2, "border"),
    ]  # fmt: skip
    assert len(MEMBER_ROWS) == len(BORDER_ROWS) + 2
    assert [v for v, _, role in BORDER_ROWS if role == "core"] == [13, 20, 21, 30]


def test_accepts_what_is_right(make_arrays):
    assert check(FIGURE, FIGURE_ROWS, 0.7, 3, maker=make_arrays) == 2
    for rows in (BORDER_ROWS, MEMBER_ROWS):
        assert check(BORDERS, rows, 0.36, 6, BORDER_VERTICES, make_arrays) == 3


def test_results_of_every_library(make_held_frame):
    assert check(FIGURE, FIGURE_ROWS, 0.7, 3, maker=make_held_frame) == 2
    for rows in (BORDER_ROWS, MEMBER_ROWS):
        assert check(BORDERS, rows, 0.36, 6, BORDER_VERTICES, make_held_frame) == 3
    with pytest.raises(rg.VerificationError, match="vertex 4 is an outlier; it must be a hub"):
        check(FIGURE, replaced(FIGURE_ROWS, 4, role="outlier"), 0.7, 3, maker=make_held_frame)
    with pytest.raises(rg.VerificationError, match="vertex 3 has role 'core' and is in no cluster"):
        check(FIGURE, replaced(FIGURE_ROWS, 3, cluster=None), 0.7, 3, maker=make_held_frame)


def test_codes_and_names_of_roles_and_frames_of_graph_and_result_may_differ():
    graph = rg.Graph(make(pairs(FIGURE)))
    frame = to_pandas(frame_of(FIGURE_ROWS, FrameMaker("pandas")))
    codes = frame.assign(role=[ROLES.index(role) for role in frame["role"]])
    for result in (
        frame,
        codes,
        frame.assign(cluster=frame["cluster"].astype("float64")),
        frame.assign(role=frame["role"].astype("category")),
        frame.sample(frac=1, random_state=3),
        {name: frame[name].to_numpy() for name in frame},
    ):
        assert rg.verify.scan(graph, result, epsilon=0.7) == 2


@pytest.mark.parametrize("rows", [BORDER_ROWS, MEMBER_ROWS])
def test_vertices_may_be_in_any_order(rows):
    reverse = sorted(rows, key=lambda row: -row[0])  # keeps the order of a vertex's own rows
    assert check(BORDERS, reverse, 0.36, 6, BORDER_VERTICES) == 3


def test_names_of_text_and_of_several_columns():
    frame = pandas.DataFrame(pairs(FIGURE)).map(lambda end: "abcdefghij"[end])
    result = frame_of(FIGURE_ROWS, FrameMaker("pandas"))
    result["vertex"] = list("abcdefghij")
    assert rg.verify.scan(frame, result, epsilon=0.7) == 2
    wrong = result.assign(role=["core"] * 10)
    with pytest.raises(rg.VerificationError, match="vertex e is a core; it must be a hub or an ou"):
        rg.verify.scan(frame, wrong, epsilon=0.7)
    both = frame.assign(network="x")
    graph = rg.Graph(both, ["network", "source"], ["network", "destination"])
    assert rg.verify.scan(graph, result.assign(network="x"), epsilon=0.7) == 2
    with pytest.raises(rg.VerificationError, match="vertex x, e is a core; it must be"):
        rg.verify.scan(graph, wrong.assign(network="x"), epsilon=0.7)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["first", "keep"])
def test_loops_repeats_and_directions_do_not_count(make_arrays, directed, multi_edges):
    edges = FIGURE + [(b, a, 1) for a, b, _ in FIGURE[::2]] + FIGURE[:5] + [(9, 9, 1), (0, 0, 1)]
    columns = make_arrays(pairs(edges))
    result = frame_of(FIGURE_ROWS, make_arrays)
    assert rg.verify.scan(columns, result, epsilon=0.7, mu=3) == 2
    graph = rg.Graph(columns, directed=directed, multi_edges=multi_edges)
    assert rg.verify.scan(graph, result, epsilon=0.7, mu=3) == 2


def test_graphs_of_little(make_arrays):
    assert check([], [], 0.5, 3, 0, make_arrays) == 0
    assert check([], [(0, None, "outlier"), (1, None, "outlier")], 0.5, 2, 2, make_arrays) == 0
    assert check([], [(0, 0, "core"), (1, 1, "core")], 0.5, 1, 2, make_arrays) == 2
    assert check([(1, 1, 1)], [(0, 0, "core"), (1, 1, "core")], 0.5, 1, 2, make_arrays) == 2
    assert check([(0, 1, 1)], [(0, 0, "core"), (1, 0, "core")], 1, 2, 2, make_arrays) == 1
    with pytest.raises(rg.VerificationError, match="vertex 1 is a core; it must be a hub or an"):
        check([], [(0, None, "outlier"), (1, 0, "core")], 0.5, 2, 2)


@epsilons
@mus
def test_accepts_what_slow_loops_find(make_arrays, epsilon, mu):
    for seed in range(4):
        edges = random_edges(seed, 40, (60, 110, 160, 400)[seed])
        graph = rg.Graph(make_arrays(pairs(edges)), vertices=42)
        for memberships in (False, True):
            rows = naive_rows(edges, epsilon, mu, range(42), memberships)
            clusters = {cluster for _, cluster, _ in rows} - {None}
            found = rg.verify.scan(graph, frame_of(rows, make_arrays), epsilon=epsilon, mu=mu)
            assert found == len(clusters)


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.just(1)), max_size=40),
    st.integers(1, 99),
    st.integers(1, 5),
    st.booleans(),
)
@settings(max_examples=150)
def test_small_graphs(edges, hundredths, mu, memberships):
    epsilon = Fraction(hundredths, 100)
    rows = naive_rows(edges, epsilon, mu, range(13), memberships)
    assert check(edges, rows, epsilon, mu, 13) == len({row[1] for row in rows} - {None})


def test_portions_change_nothing(make_arrays, monkeypatch):
    edges = random_edges(5, 40, 400)
    rows = naive_rows(edges, 0.5, 3, range(40))
    for piece, probes in [(1, 13), *product((7, 2**20), (1, 2, 13))]:
        monkeypatch.setattr(MODULE, "CHUNK_ARCS", piece)
        monkeypatch.setattr(triangles, "CHUNK_LOOKUPS", probes)
        assert check(edges, rows, 0.5, 3, 40, make_arrays) == 1 + max(c or 0 for _, c, _ in rows)


# What is wrong, and what the message says of it

WRONG = {
    "no core, a border": (
        replaced(FIGURE_ROWS, 0, role="border"),
        "vertex 0 is a border; it must be a core: 4 vertices are similar to it, itself included, "
        "and mu is 3",
    ),
    "no core, an outlier": (
        replaced(FIGURE_ROWS, 5, cluster=None, role="outlier"),
        "vertex 5 is an outlier; it must be a core: 3 vertices are similar",
    ),
    "a core too many": (
        replaced(FIGURE_ROWS, 4, cluster=0, role="core"),
        "vertex 4 is a core; it must be a hub or an outlier: 1 vertex is similar to it, itself "
        "included, and mu is 3; no core is similar to it",
    ),
    "a border too many": (
        replaced(FIGURE_ROWS, 8, cluster=1, role="border"),
        "vertex 8 is a border; it must be a hub or an outlier",
    ),
    "no hub": (
        replaced(FIGURE_ROWS, 4, role="outlier"),
        "vertex 4 is an outlier; it must be a hub: it has neighbors in clusters 0 and 1",
    ),
    "a hub beside one cluster": (
        replaced(FIGURE_ROWS, 8, role="hub"),
        "vertex 8 is a hub; it must be an outlier: its neighbors are in cluster 1 only",
    ),
    "a hub beside none": (
        replaced(FIGURE_ROWS, 9, role="hub"),
        "vertex 9 is a hub; it must be an outlier: none of its neighbors is in a cluster",
    ),
    "a core in no cluster": (
        replaced(FIGURE_ROWS, 6, cluster=None),
        "the result: vertex 6 has role 'core' and is in no cluster; it must be in one",
    ),
    "a hub in a cluster": (
        replaced(FIGURE_ROWS, 4, cluster=1),
        "vertex 4 has role 'hub' and is in cluster 1; it must be in none",
    ),
    "an outlier in a cluster of its own": (
        replaced(FIGURE_ROWS, 9, cluster=77),
        "vertex 9 has role 'outlier' and is in cluster 77; it must be in none",
    ),
    "a core in another cluster": (
        replaced(FIGURE_ROWS, 2, cluster=1),
        "an edge joins vertex 0, in cluster 0, and vertex 2, in cluster 1; they are similar",
    ),
    "split": (
        replaced(replaced(FIGURE_ROWS, 2, cluster=2), 3, cluster=2),
        "an edge joins vertex 0, in cluster 0, and vertex 2, in cluster 2",
    ),
    "merged": (
        renumbered(FIGURE_ROWS, {1: 0}),
        "cluster 0 is not connected: no path of similar cores joins vertex 5 and vertex 0",
    ),
    "numbered against sizes": (
        renumbered(FIGURE_ROWS, {0: 1, 1: 0}),
        "cluster 0 (size 3, smallest vertex 5) must come after 1 (size 4, smallest vertex 0)",
    ),
    "numbered from 1": (
        renumbered(FIGURE_ROWS, {0: 1, 1: 2}), "there is no cluster 0, but there is a cluster 2",
    ),
    "a number left out": (
        renumbered(FIGURE_ROWS, {1: 5}), "there is no cluster 1, but there is a cluster 5",
    ),
    "missing vertex": (FIGURE_ROWS[:-1], "the result: there is no row for vertex 9"),
    "no rows": ([], "the result: there is no row for vertex 0"),
    "vertex twice": (FIGURE_ROWS + FIGURE_ROWS[4:5], "there are 2 rows for vertex 4; only a bor"),
    "a core of two clusters": (
        [*FIGURE_ROWS, (3, 1, "core")], "there are 2 rows for vertex 3; only a border may have",
    ),
    "one of no graph": ([*FIGURE_ROWS, (10, 0, "core")], "vertex 10 is not in the graph"),
    "negative": (replaced(FIGURE_ROWS, 0, cluster=-2), "the result: cluster -2 in row 0, of"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_names_what_is_wrong(make_arrays, name):
    rows, message = WRONG[name]
    with pytest.raises(rg.VerificationError, match=re.escape(message)):
        check(FIGURE, rows, 0.7, 3, maker=make_arrays)


ZERO = [(0, 0, "border"), (0, 1, "border"), (0, 2, "border")]
REST = [row for row in MEMBER_ROWS if row[0]]

WRONG_BORDERS = {
    "in a cluster it only touches": (
        replaced(BORDER_ROWS, 0, cluster=2),
        "vertex 0 is a border and in cluster 2; it must be in cluster 0, that of the core most "
        "similar to it, vertex 20",
    ),
    "in a cluster of its own": (
        replaced(BORDER_ROWS, 0, cluster=3),
        "vertex 0 is a border and in cluster 3; it must be in cluster 0",
    ),
    "a core": (
        replaced(BORDER_ROWS, 0, role="core"),
        "vertex 0 is a core; it must be a border: 5 vertices are",
    ),
    "a hub": (
        replaced(BORDER_ROWS, 22, role="hub", cluster=None),
        "vertex 22 is a hub; it must be a border: 5 vertices are similar to it, itself included, "
        "and mu is 6; vertex 20 is a core and similar to it",
    ),
    "an outlier": (
        replaced(BORDER_ROWS, 0, role="outlier", cluster=None),
        "vertex 0 is an outlier; it must be a border",
    ),
    "in no cluster": (
        replaced(BORDER_ROWS, 0, cluster=None),
        "vertex 0 has role 'border' and is in no cluster; it must be in one",
    ),
    "membership missing": (
        ZERO[:2] + REST,
        "vertex 0 has no row for cluster 2; it must have one, because vertex 30 is a core of that "
        "cluster and similar to it",
    ),
    "other membership missing": (ZERO[::2] + REST, "vertex 0 has no row for cluster 1; it must"),
    "membership where none is": (
        [*MEMBER_ROWS, (10, 2, "border")],
        "vertex 10 has a row for cluster 2, but no core of that cluster is similar to it",
    ),
    "membership in nothing": (
        [*MEMBER_ROWS, (10, 3, "border")], "vertex 10 has a row for cluster 3, but no core of that",
    ),
    "membership of null": (
        [*MEMBER_ROWS, (10, None, "border")],
        "vertex 10 has a row without a cluster after the row of its own",
    ),
    "null before": (
        [(10, None, "border"), *MEMBER_ROWS],
        "vertex 10 has role 'border' and is in no cluster; it must be in one",
    ),
    "membership twice": (
        MEMBER_ROWS + ZERO[2:], "there are 4 rows for vertex 0; only a border may have several, "
        "each with another cluster",
    ),
    "own cluster twice": (ZERO + ZERO[:1] + REST, "there are 4 rows for vertex 0; only a border"),
    "own cluster later": (
        [ZERO[1], ZERO[0], ZERO[2], *REST],
        "vertex 0 is a border and in cluster 1; it must be in cluster 0",
    ),
    "memberships that fall": (
        [ZERO[0], ZERO[2], ZERO[1], *REST],
        "vertex 0 has a row for cluster 2 before that for cluster 1",
    ),
    "membership of another role": (
        [*ZERO[:2], (0, 2, "hub"), *REST], "there are 3 rows for vertex 0; only a border may have",
    ),
    "membership for a core": (
        [*MEMBER_ROWS, (13, 0, "border")], "there are 2 rows for vertex 13; only a border may have",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_BORDERS)
def test_names_what_is_wrong_with_borders(make_arrays, name):
    rows, message = WRONG_BORDERS[name]
    with pytest.raises(rg.VerificationError, match=re.escape(message)):
        check(BORDERS, rows, 0.36, 6, BORDER_VERTICES, make_arrays)


@pytest.mark.parametrize("border", [0, 99])
def test_ties_of_a_border_go_to_the_smallest_core(border):
    edges = clique(range(10, 14)) + clique(range(20, 24)) + edges_of([(border, 20), (13, border)])
    rows = naive_rows(edges, 0.4, 5)
    vertices = [row[0] for row in rows]
    assert (border, 0, "border") in rows
    assert check(edges, rows, 0.4, 5, vertices) == 2
    message = f"vertex {border} is a border and in cluster 1; it must be in cluster 0, that of the "
    with pytest.raises(rg.VerificationError, match=message + "core most similar to it, vertex 13"):
        check(edges, replaced(rows, border, cluster=1), 0.4, 5, vertices)


def test_clusters_of_one_size_by_their_smallest_vertices():
    edges = clique([3, 4, 5]) + clique([0, 1, 2])
    rows = naive_rows(edges, 0.9, 2)
    assert check(edges, rows, 0.9, 2, 6) == 2
    with pytest.raises(rg.VerificationError, match="cluster 0 .size 3, smallest vertex 3. must"):
        check(edges, renumbered(rows, {0: 1, 1: 0}), 0.9, 2, 6)


def test_clusters_that_share_a_border_are_not_one():
    """GPUSCAN's text would join them."""
    rows = renumbered(BORDER_ROWS, {1: 0, 2: 0})
    with pytest.raises(rg.VerificationError, match="cluster 0 is not connected: no path of"):
        check(BORDERS, rows, 0.36, 6, BORDER_VERTICES)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_clusters_that_are_no_numbers(wrong):
    """NaN is not null in Arrow and Polars."""
    vertices, clusters, roles = zip(*FIGURE_ROWS)
    clusters = [wrong if v == 9 else -1 if c is None else c for v, c in zip(vertices, clusters)]
    columns = {"vertex": list(vertices), "cluster": np.array(clusters, float), "role": list(roles)}
    message = f"the result: cluster {wrong} in row 9, of vertex 9; it must be"
    for kind in (pyarrow.table, polars.DataFrame):
        with pytest.raises(rg.VerificationError, match=message):
            rg.verify.scan(pandas.DataFrame(pairs(FIGURE)), kind(columns), epsilon=0.7, mu=3)


def test_columns_that_are_missing_or_hold_something_else():
    good = frame_of(FIGURE_ROWS, FrameMaker("pandas"))
    for result, message in (
        (good.drop(columns="vertex"), "the result: there is no column 'vertex'"),
        (good.drop(columns="cluster"), "there is no column 'cluster'"),
        (good.drop(columns="role"), "the result: there is no column 'role'"),
        (
            good.assign(role="member"),
            "the result: role 'member' in row 0, of vertex 0; it can be core",
        ),
        (good.assign(role=1.5), "the result: column 'role' holds float64"),
        (good.assign(cluster="a"), "the result: column 'cluster' must hold integers"),
        (
            good.assign(cluster=0.5),
            "the result: cluster 0.5 in row 0, of vertex 0; it must be an integer",
        ),
        (
            good.assign(role=good["role"].where(good["vertex"] != 6)),
            "the result: column 'role' has no value in row 6, of vertex 6; it can be",
        ),
        (5, "int is not an edge frame"),
    ):
        with pytest.raises(rg.VerificationError, match=message):
            rg.verify.scan(pandas.DataFrame(pairs(FIGURE)), result, epsilon=0.7)


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0}, {"epsilon": 1.5}, {"epsilon": float("nan")}, {"mu": 0}], ids=str
)
def test_parameters_out_of_range(parameters):
    graph, result = make(pairs(FIGURE)), frame_of(FIGURE_ROWS)
    with pytest.raises(rg.GraphError, match=f"{next(iter(parameters))} is"):
        rg.verify.scan(graph, result, **parameters)


def test_mu_of_any_size():
    rows = [(vertex, None, "outlier") for vertex in range(10)]
    assert check(FIGURE, rows, 0.7, 10**30) == 0
    with pytest.raises(rg.VerificationError, match="and mu is 10000000000000000000"):
        check(FIGURE, FIGURE_ROWS, 0.7, 10**30)


# Whatever is changed


def changes_of(rows, number, seed):
    """So many right results with one thing changed, each other than what is right."""
    draw = random.Random(seed)
    clusters = 1 + max((cluster for _, cluster, _ in rows if cluster is not None), default=0)
    made = 0
    while made < number:
        changed = list(rows)
        row = draw.randrange(len(rows))
        vertex, cluster, role = rows[row]
        kind = draw.choice(["role", "cluster", "drop", "again", "swap", "both"])
        if kind == "role":
            changed[row] = vertex, cluster, draw.choice(ROLES)
        elif kind == "cluster":
            changed[row] = vertex, draw.choice([None, *range(clusters + 2)]), role
        elif kind == "both":
            changed[row] = (
                vertex, draw.choice([None, *range(clusters + 2)]), draw.choice(ROLES),
            )  # fmt: skip
        elif kind == "drop":
            del changed[row]
        elif kind == "again":
            changed.insert(row + 1, (vertex, draw.randrange(clusters + 2), role))
        else:
            one, other = draw.randrange(clusters + 1), draw.randrange(clusters + 1)
            changed = renumbered(changed, {one: other, other: one})
        if changed != list(rows):
            made += 1
            yield kind, changed


@pytest.mark.parametrize("memberships", [False, True])
@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 3), (0.5, 2), (0.4, 4), (0.7, 2), (0.3, 1)])
def test_no_single_change_goes_unseen(epsilon, mu, memberships):
    """But for all rows of other clusters than their own left out: then it is the plain result."""
    for seed in range(4):
        edges = random_edges(seed + 20, 40, 110)
        graph = rg.Graph(make(pairs(edges)), vertices=40)
        plain, *all_of = naive.scan(edges, epsilon, mu, range(40), True)
        right = rows_of(plain), rows_of(plain, *all_of)
        for kind, rows in changes_of(right[memberships], 30, seed):
            if rows in right:
                continue
            with pytest.raises(rg.VerificationError):
                rg.verify.scan(graph, frame_of(rows), epsilon=epsilon, mu=mu)
                pytest.fail(f"{kind}: {set(rows) ^ set(right[memberships])}")


@pytest.mark.parametrize("seed", range(3))
def test_other_parameters_are_another_result(seed):
    edges = random_edges(seed + 7, 40, 110)
    graph = rg.Graph(make(pairs(edges)), vertices=40)
    choices = list(product([0.3, 0.5, 0.6, 0.7], [1, 2, 3, 4]))
    found = {choice: naive_rows(edges, *choice, range(40)) for choice in choices}
    for one, other in product(choices, choices):
        result = frame_of(found[one])
        if found[one] == found[other]:
            rg.verify.scan(graph, result, epsilon=other[0], mu=other[1])
        else:
            with pytest.raises(rg.VerificationError):
                rg.verify.scan(graph, result, epsilon=other[0], mu=other[1])


# Exactness


@pytest.mark.parametrize(
    ("epsilon", "similar"),
    [
        (0.6666666666666666, True),
        (Fraction(2, 3), True),
        (Decimal("0.66666666666666666666666666666666666666"), True),
        (Decimal("0.66666666666666666666666666666666666667"), False),
        (Fraction(2 * 10**40 + 1, 3 * 10**40), False),
        (0.6666666666666667, False),
        (np.float64(0.66), True),
        (np.float64(0.67), False),
        (1, False),
        (Decimal("1e-400"), True),
        (5e-324, True),
    ],
)
def test_thresholds_on_a_similarity_of_two_thirds(make_arrays, epsilon, similar):
    ring = edges_of((vertex, (vertex + 1) % 5) for vertex in range(5))
    rows = [(v, *((0, "core") if similar else (None, "outlier"))) for v in range(5)]
    other = [(v, *((None, "outlier") if similar else (0, "core"))) for v in range(5)]
    assert check(ring, rows, epsilon, 3, 5, make_arrays) == similar
    with pytest.raises(rg.VerificationError, match="vertex 0 is"):
        check(ring, other, epsilon, 3, 5, make_arrays)


@epsilons
def test_stars_whose_similarity_is_the_threshold(make_arrays, epsilon):
    """A leaf and the centre of k leaves: 2 / sqrt(2 (k + 1)); 7 leaves make one half."""
    for leaves in range(1, 25):
        star = edges_of((0, leaf) for leaf in range(1, leaves + 1))
        rows = naive_rows(star, epsilon, 2)
        similar = Fraction(repr(epsilon)) ** 2 * (leaves + 1) <= 2
        assert rows[0][2] == ("core" if similar else "outlier")
        assert check(star, rows, epsilon, 2, leaves + 1, make_arrays) == similar


def exactly(common, products, epsilon):
    return [Fraction(c * c, d) >= epsilon**2 for c, d in zip(common, products)]


def test_exact_comparison_of_huge_numbers(make_arrays):
    """Around thresholds that floating point cannot tell from what is beside them."""
    xp = build_storage(make_arrays({"source": [0], "destination": [1]})).xp
    draw = random.Random(5)
    for _ in range(60):
        sizes = [(draw.randrange(2, 2**31), draw.randrange(2, 2**31)) for _ in range(20)]
        common = [draw.randrange(2, min(pair) + 1) for pair in sizes]
        products = [one * other for one, other in sizes]
        # Squared, this lies beside c^2 / d by less than 2**-80, and on either side of it.
        place = draw.randrange(20)
        scale = 10**40
        root = isqrt(common[place] ** 2 * scale**2 // products[place])
        for epsilon in (Fraction(root, scale), Fraction(root + 1, scale)):
            found = is_similar(xp.asarray(common), xp.asarray(products), epsilon)
            assert found.tolist() == exactly(common, products, epsilon)
            assert found.tolist()[place] == (epsilon * scale == root)


def test_exact_comparison_where_it_is_equal(make_arrays):
    xp = build_storage(make_arrays({"source": [0], "destination": [1]})).xp
    wide = 2**31 - 1
    sizes = [wide, wide - 1, wide - 2, 2**30, 94_906_267, 3]
    for size in sizes:
        common = list(range(max(size - 2, 1), size + 1))
        for numerator in common:  # similarity c / size between two of one size
            for change in (-1, 0, 1):
                epsilon = Fraction(numerator, size) + Fraction(change, 10**30)
                epsilon = min(epsilon, Fraction(1))
                products = [size * size] * len(common)
                found = is_similar(xp.asarray(common), xp.asarray(products), epsilon)
                assert found.tolist() == exactly(common, products, epsilon)


def test_floating_point_alone_would_err():
    """So that the test above shows something."""
    size = 2**31 - 1
    epsilon = Fraction(size - 1, size) + Fraction(1, 10**30)
    common, products = np.array([size - 1]), np.array([size * size])
    assert common[0] / np.sqrt(products[0]) >= float(epsilon)
    assert is_similar(common, products, epsilon).tolist() == [False]


def test_order_of_similarities_is_exact(make_arrays):
    xp = build_storage(make_arrays({"source": [0], "destination": [1]})).xp
    draw = random.Random(9)
    wide = 2**31 - 1
    pairs = [(wide - a, wide - b) for a, b in product(range(12), range(12)) if a >= b]
    pairs += [(c, wide - b) for c, b in product(range(1, 4), range(6))]
    pairs += [(draw.randrange(1, 2**15), draw.randrange(2**30, 2**31)) for _ in range(100)]
    pairs += [(2 * c, 4 * d) for c, d in [(3, 7), (5, 11), (1, 1)]]
    pairs += [(c, d) for c, d in [(3, 7), (5, 11), (1, 1)]]
    common, sizes = (xp.asarray(column) for column in zip(*pairs))
    whole, rest = (values.tolist() for values in quotients(common, sizes))
    assert all(0 <= value < 2**62 for value in rest)
    exact = [Fraction(c * c, d) for c, d in pairs]
    for (one, key), (other, other_key) in combinations(zip(exact, zip(whole, rest)), 2):
        assert (one < other) == (key < other_key)
        assert (one == other) == (key == other_key)


def test_a_hub_where_there_is_no_cluster():
    edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
    roles = ["outlier", "hub", "outlier"]
    result = pandas.DataFrame({"vertex": range(3), "cluster": [None] * 3, "role": roles})
    with pytest.raises(rg.VerificationError, match="vertex 1 is a hub; it must be an outlier: no"):
        rg.verify.scan(edges, result, epsilon=1, mu=3)
