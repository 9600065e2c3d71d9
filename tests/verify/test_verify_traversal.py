"""The checks of distances, predecessors and components find whatever is changed."""

import naive
import numpy as np
import pandas
import polars
import pyarrow.csv
import pytest
from conftest import FrameMaker, columns_of, random_edges, to_pandas

import rapidsgraph as rg
from rapidsgraph.algorithms import traversal
from rapidsgraph.generate import rmat
from rapidsgraph.io import write_frame
from rapidsgraph.verify import traversal as module

INF = float("inf")
make = FrameMaker("arrays")

# 6 and 7 are out of reach; 8 and 9 are all that is left of what has no edge.
EDGES = [(0, 1, 2), (0, 2, 1), (1, 3, 1), (2, 3, 2), (2, 4, 0), (4, 5, 0), (5, 4, 0), (3, 0, 1),
         (4, 4, 0), (6, 0, 1), (6, 7, 1)]  # fmt: skip
LEVELS = [0, 1, 1, 2, 2, 3, -1, -1, -1, -1]
LENGTHS = [0, 2, 1, 3, 1, 1, INF, INF, INF, INF]
LEVELS_BEFORE = [-1, 0, 0, 1, 2, 4, -1, -1, -1, -1]
LENGTHS_BEFORE = [-1, 0, 0, 1, 2, 4, -1, -1, -1, -1]


@pytest.fixture
def graph(make_arrays):
    return rg.Graph(make_arrays(columns_of(EDGES)), weight="weight", vertices=10)


def levels(make_arrays, distance=LEVELS, predecessor=LEVELS_BEFORE):
    columns = {"vertex": np.arange(10), "distance": np.array(distance, np.int32)}
    return make_arrays(columns | {"predecessor": np.array(predecessor)})


def lengths(make_arrays, distance=LENGTHS, predecessor=LENGTHS_BEFORE):
    columns = {"vertex": np.arange(10), "distance": np.array(distance, float)}
    return make_arrays(columns | {"predecessor": np.array(predecessor)})


def with_(values, **changes):
    """The list with, say, v3=7 in place 3."""
    values = list(values)
    for place, value in changes.items():
        values[int(place[1:])] = value
    return values


def test_accepts_what_is_right(make_arrays, graph):
    assert naive.bfs(EDGES, [0])[0][5] == 3
    assert rg.verify.bfs(graph, levels(make_arrays), 0) == 3
    assert rg.verify.sssp(graph, lengths(make_arrays), 0) == 3.0
    for check, run, kind in (
        (rg.verify.bfs, rg.bfs, int),
        (rg.verify.sssp, rg.sssp, float),
    ):
        assert type(check(graph, run(graph, 0), 0)) is kind
        assert check(graph, run(graph, 9), 9) == 0


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (with_(LEVELS, v0=1), "vertex 0 is a source and has distance 1"),
        (with_(LEVELS, v0=-1), "vertex 0 is a source and has no distance"),
        (with_(LEVELS, v3=3), "vertex 3 has distance 3, but the edge from vertex 1 makes it 2"),
        (with_(LEVELS, v3=-1), "vertex 3 has no distance, but the edge from vertex 1 makes it 2"),
        (with_(LEVELS, v5=2), "vertex 5 has distance 2, but no path of that length leads to it"),
        (with_(LEVELS, v1=0), "vertex 3 has distance 2, but the edge from vertex 1 makes it 1"),
        (with_(LEVELS, v7=5), "vertex 7 has distance 5, but no path"),
        (with_(LEVELS, v9=0), "vertex 9 has distance 0, but no path"),
        (with_(LEVELS, v6=1, v7=2), "vertex 6 has distance 1, but no path"),
        (with_(LEVELS, v3=-7), "vertex 3 has distance -7"),
    ],
)
def test_finds_wrong_levels(make_arrays, graph, distance, message):
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.bfs(graph, levels(make_arrays, distance), 0)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (with_(LENGTHS, v0=1e-300), "vertex 0 is a source and has distance 1e-300"),
        (
            with_(LENGTHS, v3=3.5),
            "vertex 3 has distance 3.5, but the edge from vertex 1 makes it 3",
        ),
        (with_(LENGTHS, v3=INF), "vertex 3 has no distance, but the edge from vertex 1 makes it 3"),
        (
            with_(LENGTHS, v3=np.nextafter(3, 4)),
            "vertex 3 has distance 3.0000000000000004, but the",
        ),
        (with_(LENGTHS, v3=np.nextafter(3, 0)), "vertex 3 has distance 2.9999999999999996, but no"),
        (with_(LENGTHS, v7=5), "vertex 7 has distance 5, but no path of that length leads to it"),
        # 4 and 5 keep each other at any distance.
        (with_(LENGTHS, v4=0.5, v5=0.5), "vertex 4 has distance 0.5, but no path"),
        (with_(LENGTHS, v5=0), "vertex 4 has distance 1, but the edge from vertex 5 makes it 0"),
        (with_(LENGTHS, v3=np.nan), "vertex 3 has distance nan"),
        (with_(LENGTHS, v3=-INF), "vertex 3 has distance -inf"),
    ],
)
def test_finds_wrong_lengths(make_arrays, graph, distance, message):
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.sssp(graph, lengths(make_arrays, distance), 0)


@pytest.mark.parametrize(
    ("predecessor", "message"),
    [
        # Also an edge leads from 2 to 3, and in BFS as well as here it is tight: 1 is smaller.
        (with_(LEVELS_BEFORE, v3=2), "vertex 3 has predecessor vertex 2; it must have predecessor "
                                     "vertex 1"),
        (with_(LEVELS_BEFORE, v3=0), "vertex 3 has predecessor vertex 0; it must have"),
        (with_(LEVELS_BEFORE, v3=9), "vertex 3 has predecessor vertex 9; it must have"),
        (with_(LEVELS_BEFORE, v0=3), "vertex 0 has predecessor vertex 3; it must have no"),
        (with_(LEVELS_BEFORE, v7=6), "vertex 7 has predecessor vertex 6; it must have no"),
        (with_(LEVELS_BEFORE, v4=5), "vertex 4 has predecessor vertex 5; it must have predecessor "
                                     "vertex 2"),
        (with_(LEVELS_BEFORE, v3=10), "a predecessor: vertex 10 is not in the graph"),
        (with_(LEVELS_BEFORE, v3=-1), "a predecessor: vertex -1 is not in the graph"),
    ],
)  # fmt: skip
def test_finds_wrong_predecessors(make_arrays, graph, predecessor, message):
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.bfs(graph, levels(make_arrays, predecessor=predecessor), 0)
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.sssp(graph, lengths(make_arrays, predecessor=predecessor), 0)


@pytest.mark.parametrize("wrong", [np.nan, -1.0, -INF])
@pytest.mark.parametrize("vertex", [3, 9])
def test_lengths_have_infinity_for_unreached_vertices_alone(make_held_frame, vertex, wrong):
    """Not NaN, which pandas and cuDF take for null, nor -1, which arrays have for null in BFS."""
    frame = make_held_frame(columns_of(EDGES))
    graph = rg.Graph(frame, weight="weight", vertices=10)
    columns = {"vertex": np.arange(10), "distance": np.array(LENGTHS)}
    assert rg.verify.sssp(graph, make_held_frame(columns), 0) == 3
    columns["distance"][vertex] = wrong
    message = f"vertex {vertex} has distance {wrong}; .* infinity for an unreached vertex"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.sssp(graph, make_held_frame(columns), 0)


@pytest.mark.parametrize("vertex", [3, 9])
def test_levels_have_null_for_unreached_vertices_alone(make_held_frame, vertex):
    frame = make_held_frame(columns_of(EDGES))
    graph = rg.Graph(frame, vertices=10)
    columns = {"vertex": np.arange(10), "distance": np.array(LEVELS, float)}
    columns["distance"][vertex] = INF
    if make_held_frame.kind not in ("arrays", "cupy"):  # which have -1 for null
        columns["distance"][columns["distance"] == -1] = 0
    message = f"vertex {vertex} has distance inf; .* null for an unreached vertex"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.bfs(graph, make_held_frame(columns), 0)


NULL_LENGTHS = with_(LENGTHS, v9=None)


@pytest.mark.parametrize(
    "distance",
    [
        pandas.array(NULL_LENGTHS, "Float64"),
        pyarrow.array(NULL_LENGTHS, pyarrow.float64()),
        polars.Series(NULL_LENGTHS, dtype=polars.Float32),
        np.array([np.nan if d is None else d for d in NULL_LENGTHS], np.float16),
    ],
    ids=["Float64", "Arrow", "Polars", "float16"],
)
def test_null_lengths(graph, distance):
    columns = {"vertex": np.arange(10), "distance": distance}
    if isinstance(distance, pyarrow.Array):
        result = pyarrow.table(columns)
    elif isinstance(distance, polars.Series):
        result = polars.DataFrame(columns)
    else:
        result = pandas.DataFrame(columns)
    with pytest.raises(rg.VerificationError, match="vertex 9 has distance nan"):
        rg.verify.sssp(graph, result, 0)


@pytest.mark.parametrize(("vertex", "wrong"), [(0, np.nan), (3, np.nan), (7, 0.5), (7, INF)])
def test_predecessors_that_are_no_names(vertex, wrong):
    """NaN is not null in Arrow and Polars."""
    graph = rg.Graph(pandas.DataFrame(columns_of(EDGES)), weight="weight", vertices=10)
    predecessor = [float(p) if p >= 0 else None for p in LENGTHS_BEFORE]
    predecessor[vertex] = wrong
    distance = [float(length) for length in LENGTHS]
    result = {"vertex": list(range(10)), "distance": distance, "predecessor": predecessor}
    message = f"vertex {vertex} has predecessor {wrong}; it must be the name of a vertex, or null"
    for kind in (pyarrow.table, polars.DataFrame):
        with pytest.raises(rg.VerificationError, match=message):
            rg.verify.sssp(graph, kind(result), 0)


@pytest.mark.parametrize("read", [pandas.read_csv, polars.read_csv, pyarrow.csv.read_csv])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_results_from_csv(tmp_path, read, weight):
    """Nulls, which are empty there, and infinity come back; an empty length is an error."""
    edges = [(a, b, round(8 * w) / 8) for a, b, w in random_edges(96, 40, 60)]  # all readers agree
    source = edges[0][0]
    graph = rg.Graph(
        pandas.DataFrame(columns_of(edges)), weight=weight, multi_edges="first", vertices=45
    )

    def from_csv(result, **changes):
        write_frame(result.assign(**changes), tmp_path / "result.csv")
        return read(tmp_path / "result.csv")

    levels, lengths = rg.bfs(graph, source), rg.sssp(graph, source)
    assert levels["distance"].isna().any() and np.isinf(lengths["distance"]).any()
    assert rg.verify.bfs(graph, from_csv(levels), source) == levels["distance"].max()
    assert rg.verify.sssp(graph, from_csv(lengths), source) > 0
    empty = lengths["distance"].replace(INF, np.nan)
    with pytest.raises(rg.VerificationError, match="vertex .* has distance nan"):
        rg.verify.sssp(graph, from_csv(lengths, distance=empty), source)
    far = levels["distance"].astype(float).fillna(INF)
    with pytest.raises(rg.VerificationError, match="vertex .* has distance inf"):
        rg.verify.bfs(graph, from_csv(levels, distance=far), source)
    parts, ranks = rg.connected_components(graph), rg.pagerank(graph)
    assert rg.verify.components(graph, from_csv(parts)) > 1
    assert rg.verify.pagerank(graph, from_csv(ranks)) < 1e-6
    message = "vertex 7 has component nan; column 'component' must hold a finite number"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.components(graph, from_csv(parts, component=parts["component"].where(
            parts["vertex"] != 7)))  # fmt: skip
    message = "vertex 7 has pagerank nan; column 'pagerank' must hold a finite number"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.pagerank(graph, from_csv(ranks, pagerank=ranks["pagerank"].where(
            ranks["vertex"] != 7)))  # fmt: skip
    clusters = rg.scan(graph, epsilon=0.5, mu=3)
    assert rg.verify.scan(graph, from_csv(clusters), epsilon=0.5, mu=3) > 0
    with pytest.raises(rg.VerificationError, match="vertex 7"):
        rg.verify.scan(graph, from_csv(clusters, role=clusters["role"].where(
            clusters["vertex"] != 7)), epsilon=0.5, mu=3)  # fmt: skip


@pytest.mark.parametrize("wrong", [True, b"1", np.datetime64("2020-01-01"), 1j, "1"])
def test_columns_of_other_types(wrong):
    frame = FrameMaker("pandas")({"source": [0, 1, 2], "destination": [1, 2, 0]})
    for check, column, arguments in (
        (rg.verify.bfs, "distance", (0,)),
        (rg.verify.sssp, "distance", (0,)),
        (rg.verify.components, "component", ()),
        (rg.verify.pagerank, "pagerank", ()),
    ):
        result = pandas.DataFrame({"vertex": range(3), column: [wrong] * 3})
        with pytest.raises(rg.VerificationError, match=f"column '{column}' .*must hold .*number"):
            check(frame, result, *arguments)


def test_a_missing_predecessor_where_frames_have_nulls():
    graph = rg.Graph(FrameMaker("pandas")(columns_of(EDGES)), weight="weight", vertices=10)
    for run, check in ((rg.bfs, rg.verify.bfs), (rg.sssp, rg.verify.sssp)):
        found = run(graph, 0)
        found.loc[3, "predecessor"] = pandas.NA
        message = "vertex 3 has no predecessor; it must have predecessor vertex 1"
        with pytest.raises(rg.VerificationError, match=message):
            check(graph, found, 0)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("seed", [90, 91])
def test_finds_every_single_change(directed, seed):
    """Of one distance, to any neighboring one or none; of one predecessor, to any vertex."""
    edges = [(a, b, int(w)) for a, b, w in random_edges(seed, 25, 45)]
    graph = rg.Graph(make(columns_of(edges)), weight="weight", directed=directed,
                     multi_edges="keep", vertices=25)  # fmt: skip
    for run, check in ((rg.bfs, rg.verify.bfs), (rg.sssp, rg.verify.sssp)):
        right = run(graph, [3, 17])
        check(graph, right, [3, 17])
        for vertex in range(25):
            old = right["distance"][vertex]
            missing = -1 if run is rg.bfs else INF
            for new in {old - 1, old + 1, 0, 1, missing} - {old}:
                wrong = right | {"distance": right["distance"].copy()}
                wrong["distance"][vertex] = new
                with pytest.raises(rg.VerificationError):
                    check(graph, wrong, [3, 17])
            for new in {*range(-1, 25)} - {right["predecessor"][vertex]}:
                wrong = right | {"predecessor": right["predecessor"].copy()}
                wrong["predecessor"][vertex] = new
                with pytest.raises(rg.VerificationError):
                    check(graph, wrong, [3, 17])


@pytest.mark.parametrize("scale", [2, 0.5, 1 + 2**-52])
def test_distances_of_other_weights_are_found(make_arrays, scale):
    edges = random_edges(92)
    columns = columns_of(edges)
    other = columns | {"weight": columns["weight"] * scale}
    found = rg.sssp(make_arrays(other), 3)
    with pytest.raises(rg.VerificationError, match="makes it|no path of that length"):
        rg.verify.sssp(make_arrays(columns), found, 3)


def test_finds_that_parameters_were_others(make_held_frame):
    edges = [(a, b, 1) for a, b, _ in random_edges(93)]
    frame = make_held_frame(columns_of(edges))
    for run, check, limit, none in (
        (rg.bfs, rg.verify.bfs, "depth_limit", None),
        (rg.sssp, rg.verify.sssp, "cutoff", INF),
    ):
        limited = run(frame, 3, **{limit: 2})
        assert check(frame, limited, 3, **{limit: 2}) == 2
        with pytest.raises(rg.VerificationError, match="has no distance, but the edge from vertex"):
            check(frame, limited, 3)
        with pytest.raises(rg.VerificationError, match="has no distance, but the edge from vertex"):
            check(frame, limited, 3, **{limit: 3})
        with pytest.raises(rg.VerificationError, match="is beyond the limit 1, with distance 2"):
            check(frame, limited, 3, **{limit: 1})
        with pytest.raises(rg.VerificationError, match="vertex 4 is a source and has distance"):
            check(frame, run(frame, 3), 4)
        with pytest.raises(rg.VerificationError, match="is a source and has"):
            check(frame, run(frame, 3), [3, 4])
        with pytest.raises(rg.VerificationError, match="vertex 4 has distance 0, but no path"):
            check(frame, run(frame, [3, 4]), 3)
        assert check(frame, run(frame, [3, 4], **{limit: none}), [4, 3]) > 1


def test_cycles_that_cost_nothing_are_no_way_by_themselves(make_arrays):
    """1, 2 and 3 are joined at no cost; only an edge of 5 leads there."""
    edges = [(0, 1, 5), (1, 2, 0), (2, 3, 0), (3, 1, 0), (4, 4, 0)]
    frame = make_arrays(columns_of(edges))
    result = {"vertex": np.arange(5), "distance": np.array([0, 5.0, 5, 5, INF])}
    assert rg.verify.sssp(frame, make_arrays(result), 0) == 5
    for distance in ([0, 4.0, 4, 4, INF], [0, 0.0, 0, 0, INF], [0, 5.0, 5, 5, 3]):
        wrong = make_arrays(result | {"distance": np.array(distance)})
        with pytest.raises(rg.VerificationError, match="no path of that length leads to it"):
            rg.verify.sssp(frame, wrong, 0)
    before = {"predecessor": np.array([-1, 0, 1, 2, -1])}
    assert rg.verify.sssp(frame, make_arrays(result | before), 0) == 5
    for wrong in ([-1, 3, 1, 2, -1], [-1, 0, 3, 2, -1], [-1, 0, 1, 1, -1]):
        wrong = make_arrays(result | {"predecessor": np.array(wrong)})
        with pytest.raises(rg.VerificationError, match="it must have predecessor"):
            rg.verify.sssp(frame, wrong, 0)


def test_long_zero_weight_paths(make_arrays):
    n = 50_000
    columns = {"source": np.arange(n - 1), "destination": np.arange(1, n)}
    frame = make_arrays(columns | {"weight": np.zeros(n - 1)})
    found = rg.sssp(frame, 0)
    assert rg.verify.sssp(frame, found, 0) == 0
    with pytest.raises(rg.VerificationError, match="vertex 0 has distance 0, but no path"):
        rg.verify.sssp(frame, rg.sssp(frame, [0, 1]), 1)


def test_long_zero_weight_cycles(make_arrays):
    """Arcs in both directions of a cycle, which weight 2 connects with the source in two places."""
    n = 20_001
    ring = np.arange(1, n + 1)
    following = np.roll(ring, -1)
    columns = {
        "source": np.concatenate(([0, 0], ring, following)),
        "destination": np.concatenate(([1, 5000], following, ring)),
        "weight": np.repeat([2.0, 0.0], (2, 2 * n)),
    }
    frame = make_arrays(columns)
    found = to_pandas(rg.sssp(frame, 0))
    assert rg.verify.sssp(frame, make_arrays(found.to_dict("list")), 0) == 2
    # 12501 is as near to 1 as to 5000, so that 12500 and 12502 are equally near.
    for vertex, predecessor in ((5, 6), (12_501, 12_502), (1, 2)):
        wrong = found.assign(predecessor=found["predecessor"].where(
            found["vertex"] != vertex, predecessor))  # fmt: skip
        with pytest.raises(rg.VerificationError, match=f"vertex {vertex} has predecessor vertex"):
            rg.verify.sssp(frame, make_arrays(wrong.to_dict("list")), 0)
    alone = make_arrays({name: values[2:] for name, values in columns.items()})
    with pytest.raises(rg.VerificationError, match="vertex 1 has distance 0, but no path"):
        rg.verify.sssp(
            rg.Graph(alone, weight="weight", vertices=n + 1),
            make_arrays({"vertex": np.arange(n + 1), "distance": np.zeros(n + 1)}), [0],
        )  # fmt: skip


def test_zero_weight_edges_of_random_graphs(make_arrays):
    """Most edges have no weight, so that most predecessors come from the search along these."""
    for seed in range(6):
        edges = [(a, b, int(w > 0.8)) for a, b, w in random_edges(seed, 60, 150)]
        frame = make_arrays(columns_of(edges))
        expected, _ = naive.sssp(edges, [edges[0][0]])
        found = rg.sssp(frame, edges[0][0])
        longest = max(d for d in expected.values() if d < INF)
        assert rg.verify.sssp(frame, found, edges[0][0]) == longest


def test_wrong_levels_along_zero_weight_edges_are_found(monkeypatch, make_arrays):
    def run(graph, *arguments, **options):
        result = traversal.run_bfs(graph, *arguments, **options)
        result.distances[3] += 1
        return result

    edges = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (1, 3, 0)]
    frame = make_arrays(columns_of(edges))
    found = rg.sssp(frame, 0)
    assert rg.verify.sssp(frame, found, 0) == 0
    monkeypatch.setattr(module, "run_bfs", run)
    with pytest.raises(rg.VerificationError, match="the search along zero-weight edges"):
        rg.verify.sssp(frame, found, 0)


def test_edges_are_looked_at_piece_by_piece(monkeypatch, make_arrays):
    monkeypatch.setattr(module, "CHUNK_ARCS", 7)
    edges = [(a, b, int(w)) for a, b, w in random_edges(94)]
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")
    expected, _ = naive.sssp(edges, [3])
    found = rg.sssp(graph, 3)
    assert rg.verify.sssp(graph, found, 3) == max(d for d in expected.values() if d < INF)
    found["distance"][41] += 1
    with pytest.raises(rg.VerificationError, match="vertex 41"):
        rg.verify.sssp(graph, found, 3)


def test_results_come_from_every_library(make_held_frame):
    """Whatever library the edges are of; in any order, and where nulls have become NaN."""
    columns = columns_of(EDGES)
    found = rg.sssp(make_held_frame(columns), 0)
    assert rg.verify.sssp(columns, found, 0) == 3
    if make_held_frame.kind not in ("arrays", "cupy"):
        table = to_pandas(found).sample(frac=1, random_state=1)
        assert rg.verify.sssp(make_held_frame(columns), table, 0) == 3
    found = rg.bfs(make_held_frame(columns), 0)
    assert rg.verify.bfs(columns, found, 0) == 3
    if make_held_frame.kind not in ("arrays", "cupy"):
        table = to_pandas(found).sample(frac=1, random_state=1)
        assert rg.verify.bfs(make_held_frame(columns), table, 0) == 3
        table["distance"] += table["vertex"] == 4
        with pytest.raises(rg.VerificationError, match="vertex 4 has distance 3"):
            rg.verify.bfs(make_held_frame(columns), table, 0)


def test_names_of_every_kind_are_named(make_held_frame):
    frame = make_held_frame({"source": ["b", "ä", "a"], "destination": ["ä", "c", "d"]})
    found = rg.bfs(frame, "b")
    assert rg.verify.bfs(frame, found, "b") == 2
    table = to_pandas(found)
    if not make_held_frame.on_gpu and make_held_frame.kind != "arrays":
        assert rg.verify.bfs(frame, table, "b") == 2
    pairs = pandas.DataFrame({"net": ["x", "y"], "source": [1, 1], "destination": [2, 3]})
    graph = rg.Graph(pairs, ["net", "source"], ["net", "destination"])
    found = rg.bfs(graph, ("y", 1))
    assert rg.verify.bfs(graph, found, ("y", 1)) == 1
    found.loc[3, "predecessor"] = 3
    message = "vertex y, 3 has predecessor vertex y, 3; it must have predecessor vertex y, 1"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.bfs(graph, found, ("y", 1))
    found.loc[3, "predecessor"] = 2
    with pytest.raises(rg.VerificationError, match=r"vertex \('y', 2\) is not in the graph"):
        rg.verify.bfs(graph, found, ("y", 1))


def test_a_part_of_a_predecessor():
    edges = pandas.DataFrame({"a": ["x", "x"], "b": [1, 2], "c": ["x", "y"], "d": [2, 3]})
    graph = rg.Graph(edges, ["a", "b"], ["c", "d"])
    found = rg.bfs(graph, ("x", 1))
    assert rg.verify.bfs(graph, found, ("x", 1)) == 2
    found.loc[2, "predecessor_1"] = pandas.NA
    with pytest.raises(
        rg.VerificationError, match="vertex y, 3 has a predecessor whose name is incomplete"
    ):
        rg.verify.bfs(graph, found, ("x", 1))
    with pytest.raises(rg.GraphError, match="no column 'predecessor_1'"):
        rg.verify.bfs(graph, found.drop(columns="predecessor_1"), ("x", 1))


def test_what_is_no_result():
    frame = FrameMaker("pandas")({"source": [0, 1, 2], "destination": [1, 2, 0]})
    found, parts = rg.bfs(frame, 0), rg.connected_components(frame)
    for wrong, message in (
        (found.iloc[:-1], "the result has 0 rows for vertex 2; it must have one row"),
        (pandas.concat([found, found.iloc[[1]]]), "the result has 2 rows for vertex 1"),
        (found.assign(vertex=[0, 1, 7]), "vertex 7 is not in the graph"),
        (found.assign(distance=["a", "b", "c"]), "column 'distance' must hold numbers"),
        (found.assign(distance=[0, 1, -1]), "vertex 2 has distance -1"),
    ):
        for check in (rg.verify.bfs, rg.verify.sssp):
            with pytest.raises(rg.VerificationError, match=message):
                check(frame, wrong, 0)
    with pytest.raises(rg.VerificationError, match="vertex 2 has distance 2.5, but the edge"):
        rg.verify.bfs(frame, found.assign(distance=[0, 1, 2.5]), 0)
    with pytest.raises(rg.VerificationError, match="vertex 2 has distance 1.5, but no path"):
        rg.verify.bfs(frame, found.assign(distance=[0, 1, 1.5]), 0)
    with pytest.raises(rg.GraphError, match="no column 'distance'"):
        rg.verify.bfs(frame, parts, 0)
    with pytest.raises(rg.GraphError, match="no column 'component'"):
        rg.verify.components(frame, found)
    with pytest.raises(rg.VerificationError, match="predecessor"):
        rg.verify.bfs(frame, found.assign(predecessor=["a", "b", "c"]), 0)
    with pytest.raises(rg.GraphError, match="source: vertex 7 is not in the graph"):
        rg.verify.bfs(frame, found, 7)
    short = {"vertex": np.arange(3), "distance": np.arange(2)}
    with pytest.raises(rg.VerificationError, match="3 vertices and 2 values"):
        rg.verify.sssp(frame, short, 0)


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ([0, 0, 0, 1, 1, 2], None),
        ([0, 0, 1, 1, 1, 2], "from vertex 1, in component 0, leads to vertex 2, in component 1"),
        ([1, 1, 1, 0, 0, 2], r"component 0 \(size 2, smallest vertex 3\) must come after 1 \(size "
                             "3, smallest vertex 0"),
        ([0, 0, 0, 2, 2, 1], r"component 1 \(size 1, smallest vertex 5\) must come after 2"),
        ([0, 0, 0, 0, 0, 1], "component 0 is not connected: no path joins vertex 3 and v"),
        ([0, 0, 0, 1, 1, 1], "component 1 is not connected: no path joins vertex 5 and v"),
        ([0, 0, 0, 0, 0, 0], "component 0 is not connected"),
        ([0, 0, 0, 1, 1, 3], "there is no component 2, but there is a component 3"),
        ([1, 1, 1, 2, 2, 3], "there is no component 0, but there is a component 3"),
        ([0, 0, 0, 1, 1, 6], "vertex 5 is in component 6; components are numbered from 0"),
        ([0, 0, 0, 1, 1, -1], "vertex 5 is in component -1; components are numbered"),
        ([0, 0, 0, 1, 1, 1.5], "vertex 5 is in component 1.5; components are numbered"),
        ([0, 0, 0, 1, 1, np.nan], "vertex 5 has component nan; column 'component' must hold"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_components(make_arrays, component, message, directed):
    pairs = [(1, 2), (1, 0), (4, 3), (5, 5)]
    frame = make_arrays(columns_of([(a, b, 1) for a, b in pairs]))
    graph = rg.Graph(frame, directed=directed)
    result = make_arrays({"vertex": np.arange(6), "component": np.array(component)})
    if message is None:
        assert rg.verify.components(graph, result) == 3
        return
    with pytest.raises(rg.VerificationError, match=message if directed else "component"):
        rg.verify.components(graph, result)


def test_components_of_one_size_go_by_their_smallest_vertex(make_arrays):
    frame = make_arrays(columns_of([(0, 3, 1), (1, 2, 1)]))
    result = {"vertex": np.arange(4), "component": np.array([0, 1, 1, 0])}
    assert rg.verify.components(frame, make_arrays(result)) == 2
    result["component"] = 1 - result["component"]
    message = r"component 0 \(size 2, smallest vertex 1\) must come after 1 \(size 2, smallest vert"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.components(frame, make_arrays(result))


def test_finds_every_single_change_of_components():
    edges = random_edges(95, 25, 14)
    graph = rg.Graph(make(columns_of(edges)), weight=None, vertices=25)
    right = rg.connected_components(graph)
    count = rg.verify.components(graph, right)
    assert count == max(naive.components(edges, range(25)).values()) + 1
    for vertex in range(25):
        for new in {*range(-1, count + 1)} - {right["component"][vertex]}:
            wrong = right | {"component": right["component"].copy()}
            wrong["component"][vertex] = new
            with pytest.raises(rg.VerificationError):
                rg.verify.components(graph, wrong)
    for one in range(count - 1):  # two numbers exchanged
        component = right["component"]
        swapped = np.where(
            component == one, one + 1, np.where(component == one + 1, one, component)
        )
        with pytest.raises(rg.VerificationError, match="must come after"):
            rg.verify.components(graph, right | {"component": swapped})


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_generated_graphs(make_arrays, directed):
    frame = rmat(13, 8, seed=9, weights=(0.5, 2.0), device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    graph = rg.Graph(make_arrays(columns), multi_edges="min", directed=directed)
    source = int(columns["source"][0])
    assert rg.verify.bfs(graph, rg.bfs(graph, source), source) > 3
    assert rg.verify.sssp(graph, rg.sssp(graph, source), source) > 3
    found = rg.bfs(graph, source)
    found["distance"][int(found["distance"].argmax())] += 1
    with pytest.raises(rg.VerificationError):
        rg.verify.bfs(graph, found, source)
    assert rg.verify.components(graph, rg.connected_components(graph)) > 1
