"""The benchmark of first calls."""

import pytest

from pipelines.benchmarks import records, startup


def test_a_measurement_has_all_times():
    times = startup.measure("pagerank", "cpu")
    names = ["dependencies_s", "import_s", "first_s", "first_cpu_s", "second_s"]
    assert list(times) == names
    assert min(times.values()) >= 0 and times["first_s"] > 0


@pytest.mark.parametrize(
    ("times", "status", "checks"),
    [
        ({"first_s": 4.5}, 0, ["above 4 s", "ok"]),
        ({"first_s": 3.5}, 0, ["ok", "ok"]),
        ({"check": "failed: no GPU"}, 3, ["failed: no GPU"] * 2),
    ],
)
def test_records_of_two_processes_per_algorithm(monkeypatch, tmp_path, times, status, checks):
    folders = []

    def measure_in_process(name, device, folder):
        assert (name, device) == ("bfs", "cpu")
        folders.append(folder)
        return dict(times)

    monkeypatch.setattr(startup, "measure_in_process", measure_in_process)
    output = tmp_path / "startup.jsonl"
    assert startup.main(["--only", "bfs", "--output", str(output)]) == status
    run, *rows = records.read(output)
    assert (run["benchmark"], run["device"]) == ("startup", "cpu")
    assert [(row["algorithm"], row["cache"]) for row in rows] == [("bfs", "empty"), ("bfs", "full")]
    assert [row["check"] for row in rows] == checks
    assert folders[0] == folders[1]
    assert "| bfs | empty |" in output.with_suffix(".md").read_text()
