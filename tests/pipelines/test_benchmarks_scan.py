"""The benchmark of similarity and SCAN checks what it times; no speed is asserted."""

import json
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from test_benchmarks import TIME, cugraph  # noqa: F401

import rapidsgraph as rg
from pipelines.benchmarks import gpuscan, harness, records, sanitizer, scan, scan_reference, tables
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import SCAN_TASKS, ScanAdapter, select_supported
from pipelines.benchmarks.adapters.networkit import NetworKitCounts
from pipelines.benchmarks.adapters.rapidsgraph import (
    RapidsgraphCounts,
    RapidsgraphScan,
    RapidsgraphSimilarity,
    SerialScan,
    scan_adapters,
    similarity_adapters,
)
from pipelines.benchmarks.adapters.scipy import SciPyCounts
from pipelines.benchmarks.answers import WrongAnswerError
from pipelines.benchmarks.graphs import load
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.scan_reference import ScanCase
from pipelines.benchmarks.timing import Clock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

TINY = "rmat6u"
MODULES = {"NetworKit": "networkit", "SciPy": "scipy", "python-graphblas": "graphblas"}
PEERS = [library for library, module in MODULES.items() if find_spec(module)]  # of those on a CPU


class Changed(ScanAdapter):
    """What another one answers, and what `change` makes of it."""

    library = "fake"

    def __init__(self, one, change):
        super().__init__(one.task, "changed")
        self.one, self.change = one, change

    def prepare(self, case):
        run = self.one.prepare(case)
        return lambda: self.change(run())

    def check(self, case, answer):
        return self.one.check(case, answer)


class StandIn(ScanAdapter):
    """Answers what `answer` is, in place of a peer that checks it as its own."""

    library = "fake"

    def __init__(self, peer, answer):
        super().__init__(peer.task, "stand-in")
        self.answer, self.check = answer, peer.check

    def prepare(self, case):
        return lambda: self.answer


def measured(case, *contenders):
    return list(scan.measure(case, contenders, QUICK, Clock(), "similarity")[0].values())


def everyone():
    some = [*similarity_adapters(), *registry.scan_peers(False)[0]]
    return some + [adapter for group in scan_adapters() for adapter in group]


def columns(frame, **changes):
    return frame.assign(**{name: change(frame[name]) for name, change in changes.items()})


# Graphs


def test_names_of_graphs_have_sizes_in_them():
    few, many = load("rmat6u-3"), load("rmat6u")
    assert few.rows < many.rows and few.origin == "rmat(6, 3, seed=1)" and not few.directed
    cliques = load("ssca8-7")
    assert cliques.vertices == 256 and cliques.origin == "ssca2(256, max_clique=7, seed=1)"
    assert ScanCase(cliques).num_edges == cliques.rows / 2


def test_ids_that_nobody_has_are_left_out(tmp_path):
    import pandas

    rows = pandas.DataFrame({"source": [3, 9], "destination": [9, 70]}, dtype=np.int32)
    rows.to_parquet(tmp_path / "karate.parquet")
    workload = load("karate", folder=tmp_path)
    assert workload.vertices == 3
    assert [workload.source.tolist(), workload.destination.tolist()] == [[0, 1], [1, 2]]


def test_case_is_undirected_and_simple():
    workload = replace(load("rmat6"), directed=True)
    workload.source[:5] = workload.destination[:5]  # self-loops
    case = ScanCase(workload)
    pairs = {tuple(sorted(pair)) for pair in zip(workload.source, workload.destination)}
    edges = sorted(pair for pair in pairs if pair[0] < pair[1])
    assert list(zip(*(ends.tolist() for ends in case.endpoints))) == edges
    assert case.num_edges == len(edges) and case.squared_degree_sum == sum(case.degrees**2)
    near = {v: {v} for v in range(64)}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    assert case.common_neighbors[case.is_forward].tolist() == [
        len(near[a] & near[b]) for a, b in edges
    ]
    assert case.num_probes == sum(min(len(near[a]), len(near[b])) - 1 for a, b in edges)


# Checks


@pytest.mark.parametrize("name", [TINY, "grid8", "ssca6-5"])
def test_everyone_agrees(name):
    case = ScanCase(load(name))
    rows = measured(case, *everyone())
    assert [row["check"] for row in rows] == ["ok"] * (4 + len(PEERS) + 6)
    assert all(row["run_ms"]["repeats"] >= 1 for row in rows)


WRONG = [
    (RapidsgraphSimilarity("auto"), partial(columns, similarity=lambda s: s * 0.999), "values"),
    (RapidsgraphSimilarity("auto"), partial(columns, source=lambda s: s + 1), "sources"),
    (RapidsgraphSimilarity("auto"), lambda frame: frame[1:], "sources"),
    (RapidsgraphCounts("auto"), lambda counts: counts + (np.arange(counts.size) == 7), "1 of"),
    (RapidsgraphScan("whole", "auto"), partial(columns, cluster=lambda c: c * 0 + 1),
     "differs from the verified"),
    (RapidsgraphScan("alone", "gpuscan"),
     partial(columns, role=lambda r: r.where(r != "hub", "outlier")),
     "differs from the verified"),
    (SerialScan("whole"), lambda answer: (answer[0] * 0, answer[1]), "in being clustered"),
    (SerialScan("whole"), lambda answer: (np.minimum(answer[0], 0), answer[1]), "overlaps"),
    (SerialScan("alone"), lambda answer: (answer[0], answer[1] * 0), "in being cores"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "change", "wrong"), WRONG)
def test_wrong_answers_are_flagged_and_not_timed(one, change, wrong):
    case = ScanCase(load("ssca7-9"))
    (row,) = measured(case, Changed(one, change))
    assert row["check"].startswith("wrong: ") and wrong in row["check"]
    assert "run_ms" not in row


def test_wrong_counts_of_networkit_are_flagged():
    case = ScanCase(load(TINY))
    peer = NetworKitCounts(SimpleNamespace(getMaxNumberOfThreads=lambda: 1))
    triangles = case.common_neighbors[~case.is_forward] - 2

    def check(scores):
        answer = SimpleNamespace(scores=scores.tolist)
        return measured(case, StandIn(peer, answer))[0]["check"]

    assert check(triangles) == "ok"
    assert check(triangles + 1).startswith(f"wrong: {case.num_edges} of {case.num_edges}")


def test_wrong_counts_of_scipy_are_flagged():
    case = ScanCase(load(TINY))
    triangles, ends = case.common_neighbors - 2, (case.arc_sources, case.lists.neighbors)

    def check(row, col, data):
        answer = SimpleNamespace(tocoo=lambda: SimpleNamespace(row=row, col=col, data=data))
        return measured(case, StandIn(SciPyCounts(), answer))[0]["check"]

    some = triangles > 0  # a sparse matrix has no others
    assert not some.all() and check(*(of[some] for of in (*ends, triangles))) == "ok"
    assert check(*ends, triangles * 2).startswith(f"wrong: {some.sum()} of {some.size}")
    assert check(*[ends[0]] * 2, triangles) == "wrong: counts of pairs that are not edges"


def test_truth_is_checked_itself(monkeypatch):
    honest = scan_reference.COUNTERS["auto"]
    monkeypatch.setitem(scan_reference.COUNTERS, "auto", lambda lists: honest(lists) + 1)
    with pytest.raises(WrongAnswerError, match="edges have a wrong count"):
        _ = ScanCase(load(TINY)).common_neighbors
    found = scan.main(["--device", "cpu", "--quick", "--graphs", TINY, "--only", "similarity,scan"])
    assert "similarity" not in {row["table"] for row in found if row.get("check") == "ok"}


def test_clusters_are_verified(monkeypatch):
    honest = rg.scan
    monkeypatch.setattr(rg, "scan", lambda *a, **k: honest(*a, **k).assign(role="outlier"))
    with pytest.raises(rg.VerificationError):
        _ = ScanCase(load("ssca7-9")).clustering
    found = scan.main(["--device", "cpu", "--quick", "--graphs", TINY, "--only", "scan"])
    assert "scan" not in {row["table"] for row in found}
    assert found[-1]["note"].startswith(f"{TINY}, scan: failed: VerificationError: ")


def test_where_verify_would_take_long_the_serial_loop_checks(monkeypatch):
    monkeypatch.setitem(scan_reference.MAX_PROBES, "cpu", 0)
    answer, facts, how = ScanCase(load("ssca7-9")).clustering
    assert how == "serial loop, sampled counts" and facts["clusters"] == answer["cluster"].max() + 1
    honest = rg.scan
    monkeypatch.setattr(rg, "scan", lambda *a, **k: honest(*a, **k | {"epsilon": 0.8}))
    with pytest.raises(WrongAnswerError, match="in being cores"):
        _ = ScanCase(load("ssca7-9")).clustering


def test_queries_are_compared_with_scan(monkeypatch):
    case = ScanCase(load(TINY))
    row = scan.measure_queries(case, (0.2, 0.5), (2, 3), QUICK, Clock())
    assert row["check"] == "ok" and row["pairs"] == row["query_ms"]["repeats"] == 4
    assert row["slowest_ms"] == row["query_ms"]["high"] >= row["query_ms"]["low"] > 0
    assert row["slowest"].split(",")[0] in ("epsilon 0.2", "epsilon 0.5")
    assert row["bytes_per_edge"] >= 16 and row["saves"] > 0
    honest = rg.ScanIndex.query
    monkeypatch.setattr(rg.ScanIndex, "query", lambda self, *pair: honest(self, 0.2, pair[1]))
    row = scan.measure_queries(case, (0.2, 0.5), (2, 3), QUICK, Clock())
    assert row["check"] == "wrong: differs from scan for epsilon 0.5, mu 2"
    assert "query_ms" not in row


def test_trouble_of_one_library_does_not_end_the_run():
    (row,) = measured(
        ScanCase(load(TINY)), Changed(RapidsgraphCounts("auto"), lambda counts: 1 / 0)
    )
    assert row["check"] == "failed: ZeroDivisionError: division by zero"


# What is left out


def test_graphs_that_would_take_long_are_named(monkeypatch):
    case, notes = ScanCase(load(TINY)), []
    serial = SerialScan("whole")
    serial.max_steps = {"cpu": 10}
    assert select_supported([serial, SerialScan("alone")], case, notes)[0].task == "alone"
    assert notes == [
        f"{TINY}: serial's algorithm 1 is left out, the sum of its squared degrees is "
        f"{case.squared_degree_sum:,}, more than 10"
    ]


def test_peers_are_taken_or_named():
    peers, notes = registry.scan_peers(False)
    assert [peer.library for peer in peers] == PEERS
    assert len(notes) == len(MODULES) - len(PEERS)
    assert all("is left out: it cannot be imported" in note for note in notes)


def test_missing_peers_are_named(monkeypatch):
    modules = ["networkit", "scipy.sparse", "graphblas"]
    for name in [*modules, "pylibcugraph"]:
        monkeypatch.setitem(sys.modules, name, None)
    peers, notes = registry.scan_peers(False)
    assert peers == [] and [note.split()[0] for note in notes] == modules
    peers, notes = registry.scan_peers(True)
    assert peers == [] and [note.split()[0] for note in notes] == ["pylibcugraph"]


def test_missing_graphs_are_named(tmp_path):
    options = ["--device", "cpu", "--quick", "--graphs", "NY", "--data", str(tmp_path)]
    notes = [row["note"] for row in scan.main(options) if row["table"] == "note"]
    assert any(note.startswith("NY: skipped") for note in notes)
    assert any(note.startswith("ca-GrQc: skipped") for note in notes)
    assert any(note.startswith("GPUSCAN's table 5: left out, on a CPU") for note in notes)


def test_unknown_tasks_are_named(capsys):
    with pytest.raises(SystemExit):
        scan.main(["--device", "cpu", "--only", "scan,walks"])
    assert "'walks' is none of similarity, scan, queries, papers" in capsys.readouterr().err


# cuGraph, where there is none


@pytest.mark.parametrize("with_pairs", [True, False])
def test_cugraph_is_asked_and_its_jaccard_checked(cugraph, with_pairs):  # noqa: F811
    case = ScanCase(load(TINY))
    off = []

    def jaccard(handle, graph, first, second, weighted, check):
        assert graph.symmetric and not weighted and not check
        arcs = np.repeat(np.arange(64), np.diff(graph.csr.offsets)), graph.csr.neighbors
        near = [set(arcs[1][arcs[0] == vertex].tolist()) for vertex in range(64)]
        pairs = zip(first.tolist(), second.tolist())
        values = [len(near[a] & near[b]) / len(near[a] | near[b]) for a, b in pairs]
        values = np.array(values, np.float32) + sum(off)
        return (second[::-1], first[::-1], values[::-1]) if with_pairs else values

    monkey = cugraph.__dict__
    monkey["jaccard_coefficients"] = jaccard
    (peer,), notes = registry.scan_peers(True)
    assert notes == [] and measured(case, peer)[0]["check"] == "ok"
    off.append(1e-4)
    assert measured(case, peer)[0]["check"].startswith(f"wrong: {case.num_edges} values, by 0.0001")


# GPUSCAN's tables


def test_entries_have_the_figures_of_the_paper():
    entries = {(entry.series, entry.size, entry.graph): entry for entry in gpuscan.entries()}
    assert len(entries) == 40 + 6
    few = gpuscan.entries(step=3)
    assert [one.size for one in few if one.series == "SSCA#2, degree"] == [10, 40, 70, 100]
    assert len(few) == 4 * 4 + 6
    last = entries["SSCA#2, vertices", 524288, "ssca19-7"]
    assert last.tables == {"whole": 1, "alone": 2} and last.figures == {"whole": 87.6, "alone": 28}
    dense = entries["R-MAT, degree", 100, "rmat15u-50"]
    assert dense.figures == {"whole": 239.2, "alone": 46.6}
    assert ("SSCA#2, degree", 100, "ssca15-148") in entries
    real = entries["real graphs", None, "email-Enron"]
    assert real.tables == {"whole": 3, "alone": 4}
    about = real.about(SCAN_TASKS["alone"], ScanCase(load(TINY)))
    assert about["paper_speedup"] == 14.3 and about["paper_gpu_ms"] == 21.11


def paper_row(method, size, speedup, number=1):
    return {
        "of_table": number, "implementation": method, "series": "R-MAT, vertices", "size": size,
        "speedup": speedup, "graph": f"rmat{size}",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("speedups", "holds"), [((2.0, 3.0), True), ((3.0, 2.0), False), ((0.5, 3.0), False)]
)
def test_claims_hold_where_larger_graphs_gain_more(speedups, holds):
    rows = [paper_row("auto", size, speedup) for size, speedup in zip((1, 2), speedups)]
    rows += [paper_row("gpuscan", 1, 2.0), paper_row("gpuscan", 2, 4.0)]
    (claim,) = gpuscan.claims(rows, "a GPU")
    assert claim["holds"] == {"gpuscan": True, "auto": holds}
    assert claim["claim"].startswith(
        "GPUSCAN claims to be 10.6 to 254.2 times as fast as serial SCAN, and more so the larger "
        "or denser the graph, on 40 graphs. Here, on a GPU, on 2 of them, gpuscan 2 to 4 times: "
    )
    # Of real graphs each alone counts.
    real = [row | {"of_table": 3, "size": None} for row in rows]
    (claim,) = gpuscan.claims(real, "a GPU")
    assert claim["holds"]["auto"] == (min(speedups) > 1)
    assert " 10.5 to 512 times as fast as serial SCAN, on every graph, on 6 " in claim["claim"]


def with_transfers(graph, up, run, down, serial):
    whole = {"gives": SCAN_TASKS["whole"]}
    rows = [
        whole | {"implementation": "auto", "run_ms": TIME | {"median": run}},
        whole | {"implementation": "algorithm 1", "run_ms": TIME | {"median": serial}},
    ]
    moved = {"upload_ms": TIME | {"median": up}, "download_ms": TIME | {"median": down}}
    return gpuscan.transfer_record(graph, moved, rows)


def test_transfers_are_part_of_the_whole():
    row = with_transfers("email-Enron", 1.0, 6.0, 3.0, 50.0)
    assert row["of_table"] == 5 and row["transfer_share"] == 40
    assert row["speedup_with_transfers"] == 5 and row["auto_ms"]["median"] == 6
    assert row["paper_transfer_share"] == 4.95  # 6.18 of 124.75 ms
    assert "paper_transfer_share" not in with_transfers("loc-brightkite", 1.0, 6.0, 3.0, 50.0)
    ahead = with_transfers("roadNet-CA", 1.0, 8.0, 1.0, 20.0)
    (claim,) = gpuscan.claims([row, ahead], "a GPU")
    assert claim["of_table"] == 5 and claim["holds"] == {"auto": True}
    assert "transfers of 2.48 to 43.6 % of its runs of 6 graphs" in claim["claim"]
    assert "they are 20 to 40 % (median 30 %) of all" in claim["claim"]
    assert "2 to 5 times as fast as serial SCAN: holds." in claim["claim"]
    behind = with_transfers("ca-GrQc", 1.0, 8.0, 1.0, 5.0)
    assert gpuscan.claims([row, behind], "a GPU")[0]["holds"] == {"auto": False}


def test_transfers_belong_to_real_graphs_on_a_gpu(monkeypatch):
    took = {"upload_ms": TIME, "download_ms": TIME}
    monkeypatch.setattr(scan, "time_transfers", lambda workload, clock: took)
    entries = gpuscan.entries(True)[:1]
    entries += [gpuscan.Entry("ca-GrQc", {"whole": 3, "alone": 4}, "real graphs", None,
                              dict(zip(SCAN_TASKS, gpuscan.REAL["ca-GrQc"])))]  # fmt: skip
    monkeypatch.setattr(gpuscan, "entries", lambda *_: entries)
    tiny = load(TINY)
    monkeypatch.setattr(harness.Session, "graphs", lambda self, names: iter([tiny]))
    found = scan.main(["--device", "cpu", "--quick", "--only", "papers"])
    (row,) = [row for row in found if row["table"] == "transfers"]
    assert row["graph"] == "ca-GrQc" and row["upload_ms"] == TIME
    assert [claim["of_table"] for claim in found if claim["table"] == "claim"].count(5) == 1


# Tables and the whole


def test_race_has_a_row_for_each_graph_and_part():
    row = {
        "table": "scan", "graph": "NY", "vertices": 3, "edges": 2, "gives": "all of it",
        "library": "rapidsgraph", "implementation": "auto", "run_ms": TIME, "speedup": 4.0,
        "verified": "verify.scan", "check": "ok",
    }  # fmt: skip
    serial = {"library": "serial", "implementation": "algorithm 1", "run_ms": TIME | {"median": 6}}
    wrong = {"implementation": "gpuscan", "check": "wrong: by 1", "run_ms": None, "speedup": None}
    rows = [row, {k: v for k, v in (row | serial).items() if k != "speedup"}, row | wrong]
    text = tables.markdown(json.loads(json.dumps(rows)), "a.jsonl")
    assert "| gives | graph | vertices | edges | auto, ms | gpuscan, ms | serial, ms |" in text
    assert "| all of it | NY | 3 | 2 | 1.5 | wrong | 6 | 4 | verify.scan | gpuscan: wrong" in text


def test_scan_quick(tmp_path, capsys):
    found = scan.main(["--device", "cpu", "--quick", "--output", str(tmp_path / "s.jsonl")])
    assert found == records.read(tmp_path / "s.jsonl")
    kinds = {}
    for row in found:
        kinds.setdefault(row["table"], []).append(row)
    assert len(kinds["similarity"]) == 2 * (2 + 2 + len(PEERS))  # graphs; ours, counting, peers
    assert len(kinds["scan"]) == 2 * 2 * 3 and len(kinds["queries"]) == 2
    assert len(kinds["papers"]) in (8 * 6, 9 * 6)  # with a real graph where there is its file
    assert {row["of_table"] for row in kinds["claim"]} >= {1, 2}
    checked = [row for kind in ("similarity", "scan", "queries", "papers") for row in kinds[kind]]
    assert {row["check"] for row in checked} == {"ok"}
    assert capsys.readouterr().out.strip() == (tmp_path / "s.md").read_text().strip()


def test_scan_of_some_tasks():
    found = scan.main(["--device", "cpu", "--quick", "--graphs", TINY, "--only", "queries"])
    assert {row["table"] for row in found} - {"note"} == {"run", "graph", "queries"}


# compute-sanitizer


def test_sanitizer_leaves_out_kernels_of_cupy_but_not_in_initcheck():
    line = sanitizer.command_line("racecheck", ["clustering"])
    assert line[:5] == ["compute-sanitizer", "--tool", "racecheck", "--error-exitcode", "9"]
    assert line[5:7] == ["--kernel-name-exclude", "kernel_substring=cupy"]
    assert line[-3:] == ["--work", "--only", "clustering"]
    line = sanitizer.command_line("initcheck", ["pagerank", "clustering"])
    assert "--kernel-name-exclude" not in line  # or what they write would count as not written
    assert line[-2:] == ["pagerank,clustering", "--without-pool"]
    assert line[line.index("--print-limit") + 1] == "1000000"
    line = sanitizer.command_line("initcheck", ["pagerank"], ["cub", "thrust"])
    given = line[line.index("--kernel-name-exclude") + 1]
    assert given == "kernel_substring=cub,kernel_substring=thrust"


def test_sanitizer_tells_our_kernels_from_others():
    own = sanitizer.own_kernels()
    assert {"count_by_block", "compare_lists", "join_cores", "pack_cliques", "sweep"} - own <= {
        "sweep"
    }
    output = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at void cub::CUB_200::DeviceRadixSortOnesweepKernel<int, (bool)0>(int *)+0x1a0
=========     by thread (0,0,0) in block (1,0,0)
=========     Address 0x7f61
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at Table::insert(int)+0x60
=========     by thread (0,0,0) in block (1,0,0)
=========     Device Frame:count_by_warp+0x90
=========
========= Host API uninitialized memory access
=========
========= ERROR SUMMARY: 3 errors
"""
    assert sanitizer.count_uninitialized(output, own) == (1, 2)
    record = sanitizer.summarize_output("initcheck", 9, output)
    assert record == {
        "exit_code": 9, "summary": "3 errors", "in_ours": 1, "in_others": 2, "ok": False,
    }  # fmt: skip
    assert sanitizer.summarize_output("initcheck", 9, output.replace("count_by_warp", "copy"))["ok"]
    assert not sanitizer.summarize_output("initcheck", 1, output.replace("count_by_warp", "copy"))[
        "ok"
    ]
    assert not sanitizer.summarize_output("memcheck", 9, output)["ok"]
    assert sanitizer.summarize_output("racecheck", 0, "========= RACECHECK SUMMARY: 0 hazards")[
        "ok"
    ]
    assert not sanitizer.summarize_output("memcheck", 0, "no such tool")["ok"]
