"""The benchmark of the NetworkX backend."""

import networkx
import pytest

from pipelines.benchmarks import networkx_backend, records

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "rapidsgraph" not in networkx.utils.backends.backends,
        reason="the installed metadata has no entry points; install the package again",
    ),
]


def test_results_are_checked_and_timed(tmp_path, capsys):
    path = tmp_path / "networkx.jsonl"
    networkx_backend.main(["--quick", "--device", "cpu", "--output", str(path)])
    assert "first speedup" in capsys.readouterr().out
    rows = [row for row in records.read(path) if row["table"] == "NetworkX"]
    own = [row for row in rows if row["library"] == "rapidsgraph"]
    names = "pagerank dijkstra_path triangles clustering core_number jaccard_coefficient"
    assert {row["function"] for row in own} >= set(names.split())
    assert all(row["check"] == "ok" and row["first_ms"] and row["run_ms"] for row in own)
    assert networkx.config.backends.rapidsgraph.device == "auto"


@pytest.mark.parametrize("name", ["pagerank", "shortest_path", "connected_components"])
def test_wrong_results_are_found(name):
    g = networkx.path_graph(3)
    arguments = networkx_backend.calls(g)[name]
    expected = networkx_backend.call(name, g, arguments, "networkx", is_first=True)
    wrong = {"pagerank": {0: 1.0}, "shortest_path": [1], "connected_components": [{0}]}[name]
    assert networkx_backend.check_result(name, g, expected, expected) is None
    assert networkx_backend.check_result(name, g, wrong, expected)
