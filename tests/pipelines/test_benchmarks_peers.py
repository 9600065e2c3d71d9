"""Libraries that a benchmark may have beside it, floors, transfers, and graphs that are fetched."""

import gzip
import hashlib
import http.server
import sys
import threading
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from test_benchmarks import cugraph, fake_clock  # noqa: F401

from pipelines.benchmarks import (
    build,
    downloads,
    pagerank,
    roofline,
    scan,
    timing,
    traversal,
)
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import PRECISIONS, select_supported
from pipelines.benchmarks.adapters.networkx import NetworkXPageRank
from pipelines.benchmarks.adapters.rapidsgraph import RapidsgraphPageRank, scan_adapters
from pipelines.benchmarks.adapters.scipy import CsrPageRank
from pipelines.benchmarks.answers import compare_components
from pipelines.benchmarks.graphs import (
    GraphUnavailableError,
    Workload,
    load,
    make_build_case,
    with_weights,
)
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.scan_reference import ScanCase
from pipelines.benchmarks.timing import Clock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

with_graphblas = pytest.mark.skipif(not find_spec("graphblas"), reason="needs python-graphblas")
with_networkx = pytest.mark.skipif(not find_spec("networkx"), reason="needs networkx")
with_pooch = pytest.mark.skipif(not find_spec("pooch"), reason="needs pooch")
BOTH = [
    pytest.param("python-graphblas", marks=with_graphblas),
    pytest.param("NetworkX", marks=with_networkx),
]


def made_of(rows, vertices, directed=True):
    """A workload of (source, destination, weight) rows."""
    source, destination, weight = (np.array(values) for values in zip(*rows))
    ends = source.astype(np.int32), destination.astype(np.int32)
    return Workload("mine", "", np, vertices, *ends, directed=directed, weight=weight)


# Two sinks, of which one is alone; a shorter way of more edges; a vertex that leads here only.
ROWS = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 5.0), (2, 0, 1.0), (2, 3, 1.0), (4, 0, 2.0)]
SMALL = made_of(ROWS, 6)


# Peers by hand


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("task", ["bfs", "sssp"])
def test_searches_of_a_graph_by_hand(library, task):
    peers = [
        one
        for one in registry.traversal_peers(False)[0]
        if one.library == library and one.task == task
    ]
    assert peers
    expected = {"bfs": [0, 1, 1, 2], "sssp": [0, 1, 2, 3]}[task] + [np.inf] * 2
    for peer in peers:
        answer = peer.run(peer.prepare(SMALL), SMALL)
        assert SMALL.start == 0 and peer.by_vertex(answer, SMALL).tolist() == expected, peer


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("directed", [True, False])
def test_components_of_a_graph_by_hand(library, directed):
    rows = [(1, 0, 1.0), (2, 1, 1.0), (3, 4, 1.0), (6, 3, 1.0)]
    workload = made_of(rows, 7, directed)
    (peer,) = [
        one
        for one in registry.traversal_peers(False)[0]
        if one.library == library and one.task == "components"
    ]
    labels = peer.by_vertex(peer.run(peer.prepare(workload), workload), workload)
    truth = np.array([0, 0, 0, 1, 1, 2, 1])
    assert compare_components(labels, truth, np) is None


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("name", ["rmat6", "grid8"])
def test_ranks_are_those_that_were_verified(library, name):
    workload = load(name)
    workload = replace(workload, vertices=workload.vertices + 3)  # vertices without edges
    truth = pagerank.reference_pagerank(workload)
    peers = [one for one in registry.pagerank_peers(False)[0] if one.library == library]
    assert peers
    for peer in peers:
        answer = peer.solve(peer.prepare(workload))
        assert pagerank.check_answer(peer, answer, truth, np) is None, peer
        assert abs(peer.by_vertex(answer).sum() - 1) < 1e-5


@with_graphblas
@pytest.mark.parametrize("precision", PRECISIONS)
def test_semiring_loop_iterates_as_the_matrix_loop(precision):
    from scipy import sparse

    from pipelines.benchmarks.adapters.graphblas import GraphBlasPageRank

    workload, peer = load("rmat6"), GraphBlasPageRank(precision)
    loop = CsrPageRank("SciPy", sparse, precision)
    given = peer.by_vertex(peer.iterate(peer.prepare(workload), 7))
    assert given.dtype == PRECISIONS[precision]
    expected = loop.iterate(loop.prepare(workload), 7)
    assert given == pytest.approx(expected, rel=1e-4 if precision == "single" else 1e-12)


@with_graphblas
@pytest.mark.parametrize("name", ["rmat9", "rmat9u", "grid30"])
@pytest.mark.parametrize("pull", [1, 10**9])
def test_frontiers_are_pushed_and_pulled_alike(name, pull, monkeypatch):
    from pipelines.benchmarks.adapters import graphblas as semirings

    monkeypatch.setattr(semirings, "PULL_RATIO", pull)
    workload = with_weights(load(name))
    truth, _ = traversal.reference_answer("bfs", workload, workload.graph)
    for kept in (True, False):
        search = semirings.GraphBlasBfs("bfs", "push and pull", kept)
        answer = search.run(search.prepare(workload), workload)
        assert traversal.check_answer(search, answer, truth, workload) is None


@with_graphblas
def test_wrong_triangles_of_graphblas_are_flagged():
    from graphblas import Matrix

    from pipelines.benchmarks.adapters.graphblas import GraphBlasCounts

    case, peer = ScanCase(load("rmat6u")), GraphBlasCounts()
    rows, columns, counts = peer.prepare(case)().to_coo()
    size, some = case.workload.vertices, counts > 0

    def problem(rows, columns, counts):
        return peer.check(case, Matrix.from_coo(rows, columns, counts, nrows=size, ncols=size))

    assert problem(rows, columns, counts) is problem(rows[some], columns[some], counts[some])
    assert problem(rows, columns, counts) is None
    assert problem(rows, columns, counts + 1).startswith(f"wrong: {rows.size} of {case.num_edges}")
    assert problem(rows[1:], columns[1:], counts[1:]) == f"wrong: 1 of {case.num_edges} counts"
    assert problem(columns, rows, counts) == "wrong: counts of pairs that are not edges"


# Who is left out


@pytest.fixture
def no_memory(monkeypatch):
    """Peak memory takes a process for each builder, and test_benchmarks.py measures it."""
    monkeypatch.setattr(build, "measure_cpu_memory", lambda *arguments: [])


@with_networkx
def test_networkx_takes_small_graphs_alone(monkeypatch):
    import networkx

    monkeypatch.setattr(NetworkXPageRank, "max_arcs", 10)
    workload, notes = load("rmat6"), []
    peers = [NetworkXPageRank(networkx), RapidsgraphPageRank("auto", "double")]
    assert select_supported(peers, workload, notes) == peers[1:]
    arcs = workload.arcs[0].size
    assert notes == [
        f"rmat6: NetworkX's pagerank is left out, the graph has {arcs} arcs, more than 10; it is "
        "built from Python dicts"
    ]
    found = pagerank.main(["--device", "cpu", "--quick", "--graphs", "rmat6"])
    assert "NetworkX" not in {row.get("library") for row in found}
    assert notes[0] in [row["note"] for row in found if row["table"] == "note"]


@with_graphblas
def test_bellman_ford_is_left_out_on_roads():
    peers, notes = registry.traversal_peers(False)[0], []
    taken = traversal.select_adapters(peers, "sssp", with_weights(load("grid8")), notes)
    assert "python-graphblas" not in {one.library for one in taken}
    assert notes[0].startswith("grid8: python-graphblas's Bellman-Ford sssp is left out, it takes")
    taken = traversal.select_adapters(peers, "sssp", with_weights(load("rmat6")), notes)
    assert "python-graphblas" in {one.library for one in taken}


@pytest.mark.parametrize(
    ("module", "name", "tables"),
    [
        (pagerank, "rmat6", {"pagerank"}),
        (build, "rmat6", {"build"}),
        (traversal, "rmat6", {"bfs", "sssp", "components"}),
        (scan, "rmat6u", {"similarity", "scan"}),
    ],
)
def test_libraries_are_chosen(module, name, tables, no_memory):
    words = ["--device", "cpu", "--quick", "--graphs", name, "--libraries", "rapidsgraph,SciPy"]
    found = module.main(words + (["--only", "similarity,scan"] if module is scan else []))
    rows = [row for row in found if row["table"] in tables]
    assert {row["table"] for row in rows} == tables
    assert {row["library"] for row in rows} == {"rapidsgraph", "SciPy"}
    assert {row.get("check", "ok") for row in rows} == {"ok"}


@pytest.mark.parametrize("module", [pagerank, build, traversal, scan])
def test_peers_run_without_us(module, no_memory):
    words = ["--device", "cpu", "--quick", "--graphs", "rmat6u", "--libraries", "SciPy"]
    found = module.main(words + (["--only", "similarity"] if module is scan else []))
    rows = [row for row in found if row.get("check")]
    assert {(row["library"], row["check"]) for row in rows} == {("SciPy", "ok")}
    assert [row for row in rows if row.get("ratio")] == []


def test_unknown_libraries_are_named(capsys):
    with pytest.raises(SystemExit):
        pagerank.main(["--device", "cpu", "--libraries", "SciPy,Ligra"])
    assert "'Ligra' is none of rapidsgraph, serial, SciPy, " in capsys.readouterr().err


def test_every_library_can_be_chosen(cugraph):  # noqa: F811
    from pipelines.benchmarks.harness import LIBRARIES

    everyone = [
        *(one for peers in registry.PEERS.values() for gpu in (False, True)
          for one in peers(gpu)[0]),
        *(adapter for group in scan_adapters() for adapter in group),
    ]  # fmt: skip
    assert {one.library for one in everyone} <= set(LIBRARIES)


# Floors and transfers


def test_floors_count_each_byte_once():
    reached = np.array([0, 1, 1, 2, np.inf, np.inf])
    lists = 5 * 4 + 4 * 8  # five of six arcs start at one of four vertices
    assert roofline.bfs_bytes(SMALL, reached, False) == lists + 6 * 4
    assert roofline.bfs_bytes(SMALL, reached, True) == lists + 6 * 8
    assert (
        roofline.sssp_bytes(SMALL, reached, False) == lists + 5 * 8 + 6 * 8
    )  # weights are doubles
    assert roofline.sssp_bytes(SMALL, reached, True) == lists + 5 * 8 + 6 * 12
    assert roofline.components_bytes(SMALL, reached, None) == 6 * 4 + 6 * 8 + 6 * 4
    assert roofline.pagerank_bytes(SMALL, "single") == 6 * 4 + 6 * 12
    case = ScanCase(SMALL)  # five edges, for 0 - 2 goes both ways
    assert case.num_edges == 5
    assert roofline.similarity_bytes(case) == 10 * 4 + 6 * 8 + 5 * 16
    assert roofline.counts_bytes(case) == 10 * 4 + 6 * 8 + 10 * 4
    assert roofline.scan_bytes(case) == 10 * 4 + 6 * 8 + 6 * 5
    assert roofline.clustering_bytes(case) == 20 * 4 + 6 * 8 + 6 * 5


def test_floor_of_a_build_has_its_rows_and_lists():
    plain = replace(load("rmat6"), weight=None)
    rows, arcs = plain.rows, plain.arcs[0].size
    assert roofline.build_bytes(make_build_case(plain, "in order")) == 8 * rows + 4 * arcs + 8 * 64
    weighted = make_build_case(plain, "weighted")
    assert roofline.build_bytes(weighted) == 16 * rows + 12 * arcs + 8 * 64
    gaps = make_build_case(plain, "gaps")
    names = np.unique(np.concatenate([plain.source, plain.destination])).size
    assert roofline.build_bytes(gaps) == 16 * rows + 4 * arcs + 8 * names


def test_floors_are_at_the_copy_rate_of_the_run():
    clock = Clock()
    assert timing.roofline_ms(clock, 10**9) == {}
    clock.rate = 5e9
    assert timing.roofline_ms(clock, 10**9) == {"floor_ms": 200}
    assert timing.copy_rate(clock, 1 << 20) == clock.rate != 5e9


@pytest.mark.parametrize(
    ("module", "name", "tables"),
    [
        (pagerank, "rmat6", ["pagerank"]),
        (build, "rmat6", ["build"]),
        (traversal, "rmat6", ["bfs", "sssp", "components"]),
        (scan, "rmat6u", ["similarity", "scan"]),
    ],
)
def test_our_rows_have_floors(module, name, tables, no_memory):
    words = ["--device", "cpu", "--quick", "--graphs", name, "--libraries", "rapidsgraph,SciPy"]
    found = module.main(words + (["--only", "similarity,scan"] if module is scan else []))
    assert found[0]["copy_gb_per_s"] > 0
    for table in tables:
        rows = [row for row in found if row["table"] == table]
        own = [row["library"] == "rapidsgraph" for row in rows]
        assert any(own) and [row.get("floor_ms", 0) > 0 for row in rows] == own


class OnDevice:
    """Stands for CuPy: not NumPy, with arrays that `get` brings back."""

    class cuda:
        class Device:
            def synchronize(self):
                pass

    moved = []

    class Array:
        def __init__(self, values):
            self.held = values

        def get(self):
            OnDevice.moved.append(("back", self.held.nbytes))
            return self.held

    def asarray(self, values):
        OnDevice.moved.append(("there", values.nbytes))
        return self.Array(values)

    def ones(self, size, kind):
        return self.Array(np.ones(size, kind))


def test_transfers_are_timed_on_a_gpu_alone(monkeypatch):
    columns = [np.arange(5), np.arange(7, dtype=np.int32)]
    assert timing.transfers(Clock(), columns, 9, "int32", "int8") == {}
    clock = fake_clock(*[0.3, *[0.2] * 4], *[0.5, *[0.1] * 9])
    clock.xp = OnDevice()
    monkeypatch.setattr(OnDevice, "moved", [])
    found = timing.transfers(clock, columns, 9, "int32", "int8")
    assert found["upload_ms"]["median"] == 200 and found["download_ms"]["median"] == 100
    assert set(OnDevice.moved) == {("there", 40), ("there", 28), ("back", 36), ("back", 9)}


@pytest.mark.parametrize(("module", "task"), [(pagerank, None), (traversal, "bfs"), (build, None)])
def test_graphs_record_their_transfers(module, task, monkeypatch, no_memory):
    given = []

    def transfers(clock, columns, *results):
        given.append((len(columns), results))
        return {"upload_ms": {"median": 3.0}, "download_ms": {"median": 2.0}}

    monkeypatch.setattr(timing, "transfers", transfers)
    words = ["--device", "cpu", "--quick", "--graphs", "rmat6", "--libraries", "rapidsgraph"]
    found = module.main(words + (["--only", task] if task else []))
    (graph,) = [row for row in found if row["table"] == "graph"]
    assert graph["upload_ms"] == {"median": 3.0}
    assert ("download_ms" in graph) == (module is not build)  # a graph stays where it was built
    expected = {pagerank: (2, (64, np.float32)), build: (2, (0,))}
    assert given == [expected.get(module, (3, (64, np.int32, np.int32)))]


# Graphs that are fetched


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The folder of a server on this machine that stands for SNAP, and an empty cache."""
    folder = tmp_path / "site"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(downloads, "SITE", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield folder
    server.shutdown()
    server.server_close()


TEXT = b"# Directed graph\n# FromNodeId\tToNodeId\n30\t1412\n30\t3352\n3352\t30\n7\t1412\n"


@with_pooch
def test_graphs_are_fetched_once_and_their_checksum_recorded(site, tmp_path):
    packed = gzip.compress(TEXT)
    (site / "wiki-Vote.txt.gz").write_bytes(packed)
    words = ["--device", "cpu", "--quick", "--graphs", "wiki-Vote", "--data", str(tmp_path)]
    words += ["--libraries", "rapidsgraph"]
    without = pagerank.main(words)
    assert without[-1]["note"].endswith(
        "name another folder with --data or download it with --fetch"
    )
    facts = [row for row in pagerank.main([*words, "--fetch"]) if row["table"] == "graph"]
    assert facts[0]["sha256"] == hashlib.sha256(packed).hexdigest()
    assert (facts[0]["vertices"], facts[0]["rows"], facts[0]["directed"]) == (4, 4, True)
    (site / "wiki-Vote.txt.gz").unlink()
    workload = load("wiki-Vote", folder=tmp_path, fetch=True)
    pairs = sorted(zip(workload.source.tolist(), workload.destination.tolist()))
    assert pairs == [(0, 2), (1, 2), (1, 3), (3, 1)]  # 7, 30, 1412, 3352
    assert workload.sha256 == facts[0]["sha256"]


@with_pooch
def test_graphs_that_cannot_be_fetched_are_named(site, tmp_path):
    words = ["--device", "cpu", "--quick", "--graphs", "web-Google,rmat6", "--fetch"]
    words += ["--data", str(tmp_path), "--libraries", "rapidsgraph"]
    found = pagerank.main(words)
    assert {row["graph"] for row in found if row["table"] == "pagerank"} == {"rmat6"}
    (note,) = [row["note"] for row in found if row["table"] == "note" and "web-G" in row["note"]]
    assert note.startswith("web-Google: skipped, download from http://127.0.0.1")
    assert "404" in note


@with_pooch
def test_other_files_than_the_known_ones_are_refused(site, tmp_path, monkeypatch):
    packed = gzip.compress(TEXT)
    (site / "roadNet-CA.txt.gz").write_bytes(packed)
    known = partial(downloads.Source, "roadNet-CA.txt.gz", False)
    monkeypatch.setitem(downloads.SNAP, "roadNet-CA", known(sha256="0" * 64))
    with pytest.raises(GraphUnavailableError, match="roadNet-CA: skipped, download from .* hash"):
        load("roadNet-CA", folder=tmp_path, fetch=True)
    right = hashlib.sha256(packed).hexdigest()
    monkeypatch.setitem(downloads.SNAP, "roadNet-CA", known(sha256=right))
    assert load("roadNet-CA", folder=tmp_path, fetch=True).is_road


@with_pooch
def test_files_with_large_ids_are_refused(site, tmp_path):
    (site / "amazon0601.txt.gz").write_bytes(gzip.compress(b"1\t2147483648\n"))
    with pytest.raises(GraphUnavailableError, match="id 2147483648 is above"):
        load("amazon0601", folder=tmp_path, fetch=True)


def test_without_pooch_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        GraphUnavailableError, match="web-Google: skipped, --fetch needs pooch .* pip install"
    ):
        load("web-Google", folder=tmp_path, fetch=True)


def test_files_at_hand_are_not_fetched(tmp_path, monkeypatch):
    import pandas

    monkeypatch.setattr(downloads, "fetch", lambda name: 1 / 0)
    rows = pandas.DataFrame({"source": [3, 9], "destination": [9, 70]}, dtype=np.int32)
    rows.to_parquet(tmp_path / "web-Google.parquet")
    workload = load("web-Google", folder=tmp_path, fetch=True)
    assert workload.vertices == 3 and "sha256" not in workload.facts()


# Wrong answers of the new peers


@with_graphblas
def test_wrong_answers_of_graphblas_are_not_timed(monkeypatch):
    from pipelines.benchmarks.adapters import graphblas as semirings

    monkeypatch.setattr(semirings, "DAMPING", 0.8)
    ours = RapidsgraphPageRank("auto", "double")
    rows = pagerank.measure(
        load("rmat6"), [ours, semirings.GraphBlasPageRank("double")], QUICK, Clock()
    )
    assert [row["check"].split(":")[0] for row in rows] == ["ok", "wrong"]
    assert not [name for name in rows[1] if name.endswith("_ms")]
