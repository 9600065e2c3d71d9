"""The pipelines, by their commands and step by step."""

import datetime
import gc
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import dask
import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import build_storage
from distributed import Client, LocalCluster
from distributed.client import CancelledError
from typer.testing import CliRunner

import rapidsgraph as rg
from pipelines import (
    communities,
    communities_report,
    edge_logs,
    log_files,
    rank,
    reach,
    report,
    runtime,
)
from rapidsgraph.distributed.monitor import watching

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEBIAN = rg.datasets.debian_path()
PNG = b"\x89PNG"


def start(name, *arguments, **options):
    """A pipeline by its command, from another folder, in a process group of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, str(ROOT / "pipelines" / f"{name}.py"), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd="/", env=environment, start_new_session=True, **options
    )  # fmt: skip


def run(name, *arguments):
    """What it prints in a pipe, as {(group, name): text}; it must end well and be silent else."""
    process = start(name, *arguments)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (0, "")
    return values(out)


def values(out):
    rows = [line.split("\t") for line in out.splitlines()]
    return {(group, name): value for group, name, value in rows}


def refused(app, *arguments):
    """The one line in which a pipeline ends with an error, in this process."""
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code in (1, 2), found.output
    return " ".join(re.sub("[│╭╮╰╯─]", " ", found.stderr).split())


def read(folder):
    """All rows of a folder of Parquet files, in the order of their names."""
    paths = sorted(Path(folder).glob("*.parquet"))
    return pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.parquet"
    pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "a", "a", "b"]}).to_parquet(
        path
    )
    return path


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=":0")
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def started(client, monkeypatch):
    """Pipelines in this process need not start workers."""

    @contextmanager
    def cluster(device, workers):
        with client.as_current():
            yield client

    monkeypatch.setattr(rg, "cluster", cluster)


# Ranks


def test_ranks_of_the_shipped_graph(tmp_path, started):
    output = tmp_path / "ranked"
    printed = invoke(rank.app, DEBIAN, "--output", output, "--device", "cpu", "--top", 5)
    names = ["distribution.png", "pagerank", "summary.json", "top.csv", "top.parquet"]
    assert sorted(os.listdir(output)) == names
    assert os.listdir(tmp_path) == ["ranked"]
    assert printed["edges", "rows"] == "303,335"
    assert printed["results", "pagerank"] == str(output / "pagerank")
    expected = rg.pagerank(rg.datasets.debian()[lambda e: e["source"] != e["destination"]])
    ranks = read(output / "pagerank")
    assert ranks["vertex"].tolist() == expected["vertex"].tolist()
    assert np.abs(ranks["pagerank"] - expected["pagerank"]).max() < 1e-12
    top = pd.read_csv(output / "top.csv")
    assert top["rank"].tolist() == [1, 2, 3, 4, 5]
    assert top["vertex"].tolist() == expected.nlargest(5, "pagerank")["vertex"].tolist()
    assert pd.read_parquet(output / "top.parquet")["vertex"].tolist() == top["vertex"].tolist()
    assert (output / "distribution.png").read_bytes().startswith(PNG)
    found = summary(output)
    assert found["pipeline"] == "rank"
    assert found["workers"] == {"number": 1, "device": "cpu"}
    counts = {"rows": 303_335, "missing_name": 0, "blank_name": 0, "self_loops": 2, "kept": 303_333}
    assert found["edges"] == counts
    assert found["graph"] == {"vertices": 64_971, "edges": 303_237, "repeated": 96}
    assert found["pagerank"]["highest_vertex"] == "libc6"
    steps = ["workers", "cleaning", "graph", "pagerank", "writing", "top and plot", "total"]
    assert list(found["seconds"]) == steps


def test_logs_are_cleaned_and_rows_counted_on_a_terminal(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    rows = [("u", "x"), ("u", "x"), ("u", "y"), ("x", "u"), ("y", None), (" ", "x"), ("y", "y")]
    for place, part in enumerate([rows[:3], rows[3:]]):
        frame = pd.DataFrame(part, columns=["who", "what"]).assign(more=place)
        frame.to_parquet(logs / f"{place}.parquet")
    output = tmp_path / "out"
    master, slave = pty.openpty()
    process = start(
        "rank", logs, "-o", output, "--workers", 2, "--count", "--source", "who",
        "--destination", "what", stdout=slave, stderr=slave, stdin=slave,
    )  # fmt: skip
    os.close(slave)
    shown = on_terminal(master)
    assert process.wait(100) == 0, shown
    assert re.search(r"cleaning: \d+\.\d s", shown)
    assert re.search(r"┃\s*group\s*┃\s*name\s*┃\s*value\s*┃", shown)
    assert re.search(r"│\s*edges\s*│\s*self loops\s*│\s*1\s*│", shown)
    counts = {"rows": 7, "missing_name": 1, "blank_name": 1, "self_loops": 1, "kept": 4}
    assert summary(output)["workers"] == {"number": 2, "device": "cpu"}
    assert summary(output)["edges"] == counts
    assert summary(output)["graph"] == {"vertices": 3, "edges": 3, "repeated": 1}
    weighted = pd.DataFrame(
        {"source": ["u", "u", "x"], "destination": ["x", "y", "u"], "weight": [2.0, 1.0, 1.0]}
    )
    expected = rg.pagerank(build_storage(weighted, weight="weight"))
    pd.testing.assert_frame_equal(
        read(output / "pagerank").astype({"vertex": object}),
        expected.astype({"vertex": object}),
        rtol=1e-12,
    )


def on_terminal(master):
    """What a process shows until it ends, without colours."""
    shown = b""
    while True:
        try:
            block = os.read(master, 1 << 16)
        except OSError:  # how Linux says that the other side is closed
            break
        if not block:
            break
        shown += block
    os.close(master)
    return re.sub(r"\x1b\[[\d;?]*\w", "", shown.decode())


class Recorder(runtime.PipelineRun):
    """A run without workers, for the facts that are recorded."""

    def __init__(self, folder=None):
        self.folder, self.facts = folder, {}


def test_weights_of_repeated_rows_are_added():
    rows = {"source": [1, 1, 1, 2], "destination": [2, 2, 3, 1], "weight": [0.5, 2.5, 1.0, 1.0]}
    frame = dask.dataframe.from_pandas(pd.DataFrame(rows), npartitions=2)
    found = rg.pagerank(
        rank._build_graph(frame, "source", "destination", "weight", False)
    ).compute()
    merged = {"source": [1, 1, 2], "destination": [2, 3, 1], "weight": [3.0, 1.0, 1.0]}
    expected = rg.pagerank(build_storage(pd.DataFrame(merged), weight="weight"))
    assert np.abs(found["pagerank"] - expected["pagerank"]).max() < 1e-12


def test_the_top_of_integers(tmp_path):
    frame = pd.DataFrame({"vertex": [3, 5, 8, 9], "pagerank": [0.2, 0.3, 0.3, 0.2]})
    recorder = Recorder(tmp_path)
    rank._write_top(dask.dataframe.from_pandas(frame, npartitions=2), 3, recorder)
    assert recorder.facts == {"pagerank": {"highest_vertex": "5", "highest_value": 0.3}}
    lines = (tmp_path / "top.csv").read_text().splitlines()
    assert lines == ["rank,vertex,pagerank", "1,5,0.3", "2,8,0.3", "3,3,0.2"]


def test_a_picture_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(rank, "MAX_PLOTTED", 10)
    frame = pd.DataFrame({"vertex": range(100), "pagerank": [0.01] * 100})
    recorder = Recorder(tmp_path)
    rank._plot_distribution(dask.dataframe.from_pandas(frame, npartitions=2), 100, recorder)
    assert recorder.facts == {"pagerank": {"plot": "of a sample of about 10 vertices"}}
    assert (tmp_path / "distribution.png").read_bytes().startswith(PNG)


def on_gpu(name, *arguments):
    command = [sys.executable, str(ROOT / "pipelines" / f"{name}.py"), *map(str, arguments)]
    more = ["--device", "gpu", "--workers", "1"]
    found = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr


@pytest.mark.gpu
def test_ranks_on_a_gpu(tmp_path):
    output = tmp_path / "ranked"
    on_gpu("rank", DEBIAN, "-o", output)
    assert summary(output)["workers"] == {"number": 1, "device": "gpu"}
    assert summary(output)["edges"]["self_loops"] == 2
    expected = rg.pagerank(rg.datasets.debian()[lambda e: e["source"] != e["destination"]])
    ranks = read(output / "pagerank")
    assert ranks["vertex"].tolist() == expected["vertex"].tolist()
    assert np.abs(ranks["pagerank"] - expected["pagerank"]).max() < 1e-6  # they stop at 1e-6
    assert (output / "distribution.png").read_bytes().startswith(PNG)


@pytest.mark.gpu
def test_communities_on_a_gpu(tmp_path):
    output = tmp_path / "found"
    on_gpu("communities", DEBIAN, "-o", output, "--epsilons", "0.3,0.5", "--mus", "4")
    expected = rg.ScanIndex(rg.datasets.debian()).sweep([0.3, 0.5], [4])
    pd.testing.assert_frame_equal(pd.read_csv(output / "sweep.csv"), expected, rtol=1e-12)
    assert (output / "matrix.png").read_bytes().startswith(PNG)


@pytest.mark.gpu
def test_reach_on_a_gpu(tmp_path):
    output = tmp_path / "reached"
    on_gpu("reach", DEBIAN, "-o", output, "--root", "git", "--memory-limit", "50MB")
    expected = rg.bfs(rg.datasets.debian(), "git")
    found = read(output / "reach" / "root=git")
    assert found["distance"].fillna(-1).tolist() == expected["distance"].fillna(-1).tolist()


# Cleaning


def write(folder, columns, name="logs.parquet"):
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


def cleaned(path, **options):
    """Rows as tuples, and the counts that are not 0."""
    columns = {"source": "source", "destination": "destination"} | options
    since, until = columns.pop("since", None), columns.pop("until", None)
    files = log_files.open_log_files(path, **columns)
    window = edge_logs.parse_window(files, since, until) if since or until else None
    with dask.config.set(scheduler="synchronous"):
        frame, counts = edge_logs.read_edges(files, "cpu", window)
    rows = list(frame.compute(scheduler="synchronous").itertuples(index=False, name=None))
    return rows, {name: count for name, count in counts.items() if count}


def test_integers_with_missing_ones_stay_integers(tmp_path):
    big = 2**53 + 1
    path = write(tmp_path, {"source": [big, None, 3], "destination": [3, 4, big]})
    assert cleaned(path) == ([(big, 3), (3, big)], {"rows": 3, "missing_name": 1, "kept": 2})
    files = log_files.open_log_files(path, source="source", destination="destination")
    frame, _ = edge_logs.read_edges(files, "cpu")
    assert frame.compute(scheduler="synchronous").dtypes.tolist() == [np.int64, np.int64]


def test_text_stored_as_codes_and_blank_names(tmp_path):
    codes = pa.array(["a", "  ", None, "b", ""]).dictionary_encode()
    path = write(tmp_path, {"source": codes, "destination": ["b", "b", "b", " a", "a"]})
    counts = {"rows": 5, "missing_name": 1, "blank_name": 2, "kept": 2}
    assert cleaned(path) == ([("a", "b"), ("b", " a")], counts)


def test_a_weight_that_is_missing(tmp_path):
    path = write(tmp_path, {"source": [1, 2], "destination": [2, 1], "km": [None, 1.5]})
    assert cleaned(path, weight="km") == (
        [(2, 1, 1.5)],
        {"rows": 2, "missing_weight": 1, "kept": 1},
    )


DAYS = [datetime.datetime(2026, 1, day) for day in (1, 2, 3)]


@pytest.mark.parametrize(
    ("times", "since", "until"),
    [
        ([*DAYS, None], "2026-01-02", "2026-01-03"),
        (pa.array([*DAYS, None], pa.timestamp("us", "UTC")), "2026-01-02", "2026-01-03T00:00"),
        ([10, 20, 30, None], "20", "30"),
        ([1.0, 2.0, 3.0, None], "1.5", "3"),
        (["2026-01-01", "2026-01-02 07:30", "2026-01-03T00:00Z", None], "2026-01-02", "2026-01-03"),
        (["2026-1-1", "2026-01-02T01:00+02:00", "", None], "2026-01-01T22:00", "2026-01-02"),
        ([*(day.date() for day in DAYS), None], "2026-01-02", "2026-01-03"),
        (pa.array(["2025", "2026", " ", None]).dictionary_encode(), "2026-01-01", "2027"),
    ],
)
def test_times(tmp_path, times, since, until):
    ends = {"source": list("abcd"), "destination": list("wxyz")}
    path = write(tmp_path, {**ends, "at": times})
    counts = {"rows": 4, "outside_window": 3, "kept": 1}
    found = cleaned(path, time="at", since=since, until=until)
    assert found == ([("b", "x")], counts)


def test_a_time_that_is_none(tmp_path):
    columns = {"source": [1, 2], "destination": [2, 3], "at": [10, 20], "day": ["2026", "Monday"]}
    path = write(tmp_path, columns)
    with pytest.raises(rg.GraphError, match="--since 'monday': column 'at' holds numbers; give a"):
        cleaned(path, time="at", since="monday")
    with pytest.raises(rg.GraphError, match="--until 'monday': column 'day' holds text; give a ti"):
        cleaned(path, time="day", until="monday")
    with pytest.raises(rg.GraphError, match=r"logs.parquet: column 'day' holds 'Monday', which is"):
        cleaned(path, time="day", since="2026")
    for since in (20, 30):
        with pytest.raises(rg.GraphError, match=f"--since {since} is not before --until 20"):
            cleaned(path, time="at", since=str(since), until="20")


def test_whole_numbers_that_are_stored_as_floats(tmp_path):
    write(tmp_path, {"source": [1.0, None, 3.0], "destination": [3, 4, 1]}, "0.parquet")
    write(tmp_path, {"source": [7, 2**53 + 1], "destination": [8.0, float("nan")]}, "1.parquet")
    write(tmp_path, {"source": pa.nulls(1), "destination": [8]}, "2.parquet")
    counts = {"rows": 6, "missing_name": 3, "kept": 3}
    assert cleaned(tmp_path) == ([(1, 3), (3, 1), (7, 8)], counts)
    files = log_files.open_log_files(tmp_path, source="source", destination="destination")
    with dask.config.set(scheduler="synchronous"):
        frame, _ = edge_logs.read_edges(files, "cpu")
        assert frame.compute().dtypes.tolist() == [np.int64, np.int64]
    for value in (2.5, 2.0**53, float("inf")):
        write(tmp_path, {"source": [5.0, value], "destination": [8, 9]}, "3.parquet")
        said = rf"3.parquet: column 'source' holds {value}, which is not a name"
        with pytest.raises(rg.GraphError, match=re.escape(said)):
            cleaned(tmp_path)


def test_files_of_a_folder_that_differ(tmp_path):
    write(tmp_path, {"source": ["a"], "destination": ["b"], "km": [1]}, "0.parquet")
    codes = pa.array(["b"]).dictionary_encode()
    write(tmp_path, {"km": [0.5], "source": codes, "destination": ["c"]}, "1.parquet")
    assert cleaned(tmp_path, weight="km")[0] == [("a", "b", 1.0), ("b", "c", 0.5)]
    write(tmp_path, {"source": [1], "destination": ["b"], "km": [1]}, "2.parquet")
    said = r"2.parquet: column 'source' holds numbers, but in \S*/0.parquet it holds text; write"
    with pytest.raises(rg.GraphError, match=said):
        cleaned(tmp_path)
    write(tmp_path, {"source": ["c"], "target": ["d"], "km": ["far"]}, "2.parquet")
    said = r"2.parquet: there is no column 'destination'; the columns are source, target, km"
    with pytest.raises(rg.GraphError, match=said):
        cleaned(tmp_path)
    with pytest.raises(rg.GraphError, match="--weight requires numbers; column 'km' holds text"):
        log_files.open_log_files(tmp_path / "2.parquet", weight="km")
    with pytest.raises(rg.GraphError, match="must be different columns"):
        log_files.open_log_files(tmp_path, source="source", destination="source")


def test_nothing_to_rank(tmp_path):
    none = pa.array([], pa.string())
    with pytest.raises(rg.GraphError, match=r"logs.parquet: there are no rows"):
        cleaned(write(tmp_path, {"source": none, "destination": none}))
    path = write(tmp_path, {"source": ["a", None], "destination": ["a", "b"]})
    with pytest.raises(rg.GraphError, match=r"no row is an edge .*missing name 1, self loops 1"):
        cleaned(path)


# Communities


class Page(HTMLParser):
    """Texts, addresses that are loaded, and the kinds of elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.text, self.loaded, self.kinds, self.open = "", [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, kind, attributes):
        self.kinds.add(kind)
        self.loaded += [value for name, value in attributes if name in ("src", "href")]
        if kind not in ("meta", "img"):
            self.open.append(kind)

    def handle_endtag(self, kind):
        assert self.open.pop() == kind

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data + "|"


def test_communities_of_the_shipped_graph(tmp_path, started):
    output = tmp_path / "found"
    epsilons, mus = [0.3, 0.5], [4]
    printed = invoke(
        communities.app, DEBIAN, "-o", output, "--device", "cpu", "--epsilons", "0.3,0.5",
        "--mus", 4,
    )  # fmt: skip
    index = rg.ScanIndex(rg.datasets.debian())
    expected = index.sweep(epsilons, mus)
    sweep = pd.read_csv(output / "sweep.csv")
    pd.testing.assert_frame_equal(sweep, expected, rtol=1e-12)
    best = expected.iloc[expected["modularity"].argmax()]
    found = summary(output)
    assert found["choice"] == pytest.approx(best.to_dict())
    assert printed["choice", "epsilon"] == f"{best['epsilon']:g}"
    assert found["graph"]["vertices"] == 64_971
    roles = read(output / "roles")
    clusters = index.query(best["epsilon"].item(), int(best["mu"]))
    assert list(roles) == ["vertex", "cluster", "role", "degree"]
    for name in ("vertex", "cluster", "role"):
        assert roles[name].fillna(-1).tolist() == clusters[name].fillna(-1).tolist()
    assert roles["cluster"].dtype == "Int32"
    edges = rg.datasets.debian()
    pairs = pd.DataFrame(np.sort(edges[["source", "destination"]].to_numpy(object), axis=1))
    pairs = pairs[pairs[0] != pairs[1]].drop_duplicates()
    degrees = pd.concat([pairs[0], pairs[1]]).value_counts()
    assert dict(zip(roles["vertex"], roles["degree"])) == degrees.to_dict()
    page = (output / "report.html").read_text()
    shown = Page(page)
    assert not shown.open
    assert shown.loaded and all(url.startswith("data:image/png;base64,") for url in shown.loaded)
    assert len(shown.loaded) == 2
    assert "script" not in shown.kinds and "link" not in shown.kinds
    assert f"{int(best['clusters']):,} clusters" in shown.text
    assert f"Of 2 pairs, epsilon {best['epsilon']:g} and mu {int(best['mu'])}" in shown.text
    members = roles[roles["cluster"] == 0].nlargest(8, "degree")["vertex"]
    assert ", ".join(members) in shown.text
    hubs = roles[roles["role"] == "hub"].nlargest(20, "degree")["vertex"]
    assert all(f"|{name}|" in shown.text for name in hubs)
    for name in ("sweep.png", "matrix.png"):
        assert (output / name).read_bytes().startswith(PNG)


def test_a_report_without_clusters_and_with_odd_names(tmp_path):
    sweep = pd.DataFrame(
        {
            "epsilon": [0.9], "mu": [5], "clusters": [0], "largest": [0], "clustered": [0.0],
            "cores": [0], "hubs": [0], "outliers": [3], "modularity": [-0.25],
        }
    )  # fmt: skip
    facts = {
        "options": {"edges": "<b>.parquet"},
        "edges": {"rows": 3, "missing_name": 1, "kept": 2},
        "graph": {"vertices": 3, "edges": 2},
        "seconds": {"cleaning": 0.5},
    }
    none = pd.DataFrame({"vertex": [], "degree": []})
    (tmp_path / "sweep.png").write_bytes(PNG)
    plots = {"sweep": tmp_path / "sweep.png", "matrix": None}
    shown = Page(communities_report.render_report(facts, sweep, 0, [], none, plots))
    assert shown.loaded == ["data:image/png;base64,iVBORw=="]
    assert "Communities in <b>.parquet" in shown.text
    assert "b" not in shown.kinds
    assert "No cluster was found. A lower epsilon or mu may find some." in shown.text
    assert "A single pair was requested: epsilon 0.9 and mu 5." in shown.text
    assert "Omitted, because there is no cluster to order vertices by." in shown.text
    assert "highest modularity" not in shown.text
    sweep = pd.concat([sweep, sweep.assign(mu=2)], ignore_index=True)
    shown = Page(communities_report.render_report(facts, sweep, 0, [], none, plots))
    said = "|None of 2 pairs has a cluster; the roles are of the first, epsilon 0.9 and mu 5.|"
    assert said in shown.text
    assert "highest modularity" not in shown.text and "that was tried" not in shown.text
    facts["graph"] = {"vertices": 1, "edges": 1}
    sweep = sweep.assign(clusters=1, largest=1, hubs=1, outliers=1)
    shown = Page(communities_report.render_report(facts, sweep, 1, [], none, plots))
    assert "|1 vertex, 1 edge between them|" in shown.text
    assert "|1 cluster, with 0.0% of the vertices. It has 1 vertex. 1 hub joins clusters, and " in (
        shown.text
    )
    assert "1 vertex is an outlier." in shown.text and "|There is one:|" in shown.text
    assert "Omitted, because the graph is too large." in shown.text
    assert "that was tried" not in shown.text  # with a mu of 1 there are the same clusters
    shown = Page(communities_report.render_report(facts, sweep, 0, [], none, plots))
    assert "This mu is the highest that was tried; a higher one may be better.|" in shown.text
    table = Page(report.table(["name", "n"], [("<i>&", 1234), ("b", 0.25)], chosen=1)).text
    assert "|<i>&|" in table and "|1,234|" in table and "|0.25|" in table


def test_a_graph_too_large_to_be_drawn(monkeypatch):
    monkeypatch.setattr(communities, "MAX_PLOTTED", 2)
    frame = pd.DataFrame({"source": [1, 2, 3], "destination": [2, 3, 1]})
    graph = build_storage(dask.dataframe.from_pandas(frame, npartitions=1), directed=False)
    recorder = Recorder()
    assert communities._plot_matrix(None, None, graph, True, recorder) is None
    assert recorder.facts["plots"] == {"matrix": "omitted: more than 2 edges or vertices"}
    assert communities._plot_matrix(None, None, graph, False, recorder) is None
    assert recorder.facts["plots"] == {"matrix": "omitted: no cluster was found"}


@pytest.mark.parametrize("partitions", [1, 3])
def test_facts_of_clusterings_in_this_process(partitions):
    random = np.random.default_rng(1)
    ends = {"source": random.integers(0, 60, 400), "destination": random.integers(0, 60, 400)}
    frame = pd.DataFrame(ends)[lambda rows: rows["source"] != rows["destination"]]
    spread = dask.dataframe.from_pandas(frame, npartitions=partitions)
    graph = build_storage(spread, directed=False, self_loops="drop")
    pairs = [(epsilon, mu) for epsilon in (0.2, 0.3, 0.9) for mu in (2, 6)]
    found = communities.sweep_parameters(graph, pairs, lambda *_: None)
    expected = rg.ScanIndex(frame).sweep([0.2, 0.3, 0.9], [2, 6])
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, check_dtype=False)
    assert found["clusters"].min() == 0 < found["clusters"].max()


# Reach


def test_reach_in_the_shipped_graph(tmp_path):
    output, stores = tmp_path / "reached", tmp_path / "stores"
    arguments = [DEBIAN, "-o", output, "--root", "git", "--root", "mercurial"]
    arguments += ["--memory-limit", "50MB", "--stores", stores, "--workers", 1]
    run("reach", *arguments)
    table = pd.read_csv(output / "distances.csv")
    for root in ("git", "mercurial"):
        expected = rg.bfs(rg.datasets.debian(), root)
        found = read(output / "reach" / f"root={root}")
        assert found["vertex"].tolist() == expected["vertex"].tolist()
        assert found["distance"].fillna(-1).tolist() == expected["distance"].fillna(-1).tolist()
        before = found["predecessor"].fillna("").tolist()
        assert before == expected["predecessor"].fillna("").tolist()
        counts = expected["distance"].value_counts().sort_index()
        own = table[table["root"] == root]
        assert own["from"].tolist() == own["to"].tolist() == counts.index.tolist()
        assert own["vertices"].tolist() == counts.tolist()
        facts = summary(output)[f"from {root}"]
        assert facts["store"] == "built"
        assert (facts["vertices"], facts["edges"]) == (64_971, 303_239)
        assert facts["reached"] == counts.sum() == 64_971 - facts["not_reached"]
        assert facts["depth"] == facts["max_distance"] == counts.index[-1]
    roots = pq.read_table(output / "reach").column("root").to_pylist()
    assert sorted(set(roots)) == ["git", "mercurial"]
    assert sorted(os.listdir(stores)) == ["root=git", "root=mercurial"]
    assert sorted(os.listdir(output)) == ["distances.csv", "reach", "summary.json"]


def invoke(app, *arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output + str(found.exception)
    return values(found.stdout)


def test_reach_by_weight(tmp_path, started):
    random = np.random.default_rng(5)
    ends = random.integers(0, 40, (2, 160))
    frame = pd.DataFrame({"from": ends[0], "to": ends[1], "km": random.uniform(0, 9, 160)})
    path, output, root = tmp_path / "roads.parquet", tmp_path / "reached", int(ends[0][0])
    frame.to_parquet(path)
    invoke(
        reach.app, path, "-o", output, "--source", "from", "--destination", "to", "--weight", "km",
        "--root", root, "--workers", 1, "--device", "cpu",
    )  # fmt: skip
    expected = rg.sssp(build_storage(frame, "from", "to", weight="km", multi_edges="min"), root)
    found = read(output / "reach" / f"root={root}")
    assert found["vertex"].tolist() == expected["vertex"].tolist()
    assert found["distance"].tolist() == expected["distance"].tolist()
    assert found["predecessor"].fillna(-1).tolist() == expected["predecessor"].fillna(-1).tolist()
    reached = expected["distance"][expected["distance"] < np.inf]
    assert summary(output)[f"from {root}"]["max_distance"] == reached.max()
    table = pd.read_csv(output / "distances.csv")
    assert table["vertices"].sum() == len(reached)
    for _, row in table.iterrows():
        is_last = row["to"] == reached.max()
        inside = (reached >= row["from"]) & ((reached < row["to"]) | is_last)
        assert row["vertices"] == inside.sum()
    assert sorted(os.listdir(output)) == ["distances.csv", "reach", "summary.json"]


def test_a_store_is_used_again_while_it_fits(edges, tmp_path):
    place, reading = tmp_path / "store", {"directed": True}

    def layered(root, **more):
        return reach._build_store(edges, root, place, reading | more, None, lambda *_: None)

    assert [layered("a"), layered("a")] == [False, True]
    assert [layered("b"), layered("b")] == [False, True]
    assert [layered("b", directed=False), layered("b", directed=False)] == [False, True]
    pd.DataFrame({"source": ["b"], "destination": ["c"]}).to_parquet(edges)
    assert [layered("b"), layered("b")] == [False, True]
    assert rg.LayeredEdgeList.open(place).num_edges == 1


def test_distances_that_are_all_0():
    frame = dask.dataframe.from_pandas(pd.DataFrame({"d": [0.0, np.inf, 0.0]}), npartitions=2)
    assert reach._count_distances(frame["d"], "km").to_dict("list") == {
        "from": [0.0], "to": [0.0], "vertices": [2],
    }  # fmt: skip


def test_names_of_roots(tmp_path):
    assert reach._folder_name("a/b c=1") == "root=a%2Fb%20c%3D1"
    path = write(tmp_path, {"source": [1], "destination": [2]})
    arguments = [path, "-o", tmp_path / "out"]
    said = refused(reach.app, *arguments, "--root", "Ulm")
    assert said == "error: --root Ulm: vertices are named by integers"
    ends = {"source": [1.0, None], "destination": [2, 3]}
    floats = write(tmp_path, ends, "floats.parquet")
    said = refused(reach.app, floats, "-o", tmp_path / "out", "--root", 1)
    assert "floats.parquet: column 'source' holds double, but names are integers or text" in said
    said = refused(reach.app, *arguments, "--root", 1, "--memory-limit", "much")
    assert "--memory-limit is 'much'" in said
    assert "--root" in refused(reach.app, *arguments)


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
     pa.int8(), pa.uint64(), pa.dictionary(pa.int32(), pa.int16())],
)  # fmt: skip
def test_roots_are_looked_for_in_all_files_before_lists_are_made(tmp_path, kind):
    words = pa.types.is_string(getattr(kind, "value_type", kind)) or "string" in str(kind)
    names = ["1", "2", "3"] if words else [1, 2, 3]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    nobody = pa.table({"source": pa.nulls(1), "destination": pa.nulls(1)})
    pq.write_table(nobody, tmp_path / "nobody.parquet")
    for a, b in ((0, 1), (2, 0)):
        ends = [pa.array([names[end]]).cast(plain) for end in (a, b)]
        ends = [end if plain == kind else end.dictionary_encode() for end in ends]
        table = pa.table(ends, names=["source", "destination"])
        pq.write_table(table, tmp_path / f"{a}.parquet")
    files = log_files.open_log_files(tmp_path, source="source", destination="destination")
    reach._check_roots_exist(names, files, "source", "destination")
    for absent in ("4", "") if words else (4, -1, 300, 2**70):
        with pytest.raises(rg.GraphError, match=f"vertex {absent!r} is not in the graph"):
            reach._check_roots_exist([*names, absent], files, "source", "destination")


# Errors and folders


def test_values_that_are_wrong_are_called_as_options_call_them(edges, tmp_path, started):
    output = ["-o", tmp_path / "out", "--device", "cpu"]
    said = refused(reach.app, edges, *output, "--root", "nowhere")
    assert said == "error: --root: vertex 'nowhere' is not in the graph"
    said = refused(reach.app, edges, *output, "--root", "a", "--root", "nowhere")
    assert said == "error: --root: vertex 'nowhere' is not in the graph"
    pd.read_parquet(edges).assign(km=-0.5).to_parquet(edges)
    apps = (rank.app, [], "row 0 of partition 0"), (reach.app, ["--root", "a"], "row 0")
    for app, more, row in apps:
        said = refused(app, edges, *output, "--weight", "km", *more)
        assert f"weight in {row} of column 'km' is -0.5; weights must be" in said
    assert not (tmp_path / "out").exists()


def test_columns_that_are_missing(edges, tmp_path):
    output = ["-o", tmp_path / "out"]
    said = refused(rank.app, edges, *output, "--source", "sources")
    assert "there is no column 'sources'; the columns are source, destination" in said
    for app, more in ((communities.app, []), (reach.app, ["--root", "a"])):
        assert "no column 'to'" in refused(app, edges, *output, "--destination", "to", *more)
    assert "no column 'w'" in refused(rank.app, edges, *output, "--weight", "w")
    said = refused(rank.app, edges, *output, "--time", "at", "--since", "1")
    assert "no column 'at'" in said
    assert "there is no such file" in refused(rank.app, tmp_path / "none.parquet", *output)
    (tmp_path / "e.csv").write_text("source,destination\n1,2\n")
    assert "pipelines read Parquet only" in refused(rank.app, tmp_path / "e.csv", *output)
    (tmp_path / "folder").mkdir()
    assert "no file of the folder ends in .csv" in refused(rank.app, tmp_path / "folder", *output)
    assert not (tmp_path / "out").exists()


def test_options_that_do_not_fit(edges, tmp_path):
    output = ["-o", tmp_path / "out"]
    assert "leave out this or --weight" in refused(
        rank.app, edges, *output, "--weight", "w", "--count"
    )
    assert "--since and --until require it" in refused(rank.app, edges, *output, "--since", "1")
    said = refused(rank.app, edges, *output, "--scheduler", "tcp://127.0.0.1:9", "--workers", 1)
    assert "a scheduler has its own workers" in said
    assert "it requires --since or --until" in refused(rank.app, edges, *output, "--time", "source")
    for option, value, wanted in (
        ("--damping", "2", "2 is not a number from 0 to 1"),
        ("--damping", "nan", "nan is not a number from 0 to 1"),
        ("--tolerance", "-1e-3", "-1e-3 is not a number >= 0"),
    ):
        assert wanted in refused(rank.app, edges, *output, option, value)
    for option, values, wanted in (
        ("--epsilons", "0.5,much", "'much' is not a number above 0 and at most 1; separate"),
        ("--epsilons", "0.5,1.50", "'1.50' is not a number above 0 and at most 1"),
        ("--mus", "0,2", "'0' is not an integer of at least 1"),
        ("--mus", "2.5", "'2.5' is not an integer of at least 1"),
    ):
        assert wanted in refused(communities.app, edges, *output, option, values)


def test_a_folder_that_may_not_be_replaced(edges, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    (output / "precious.txt").write_text("mine")
    for more in ([], ["--overwrite"]):
        said = refused(rank.app, edges, "-o", output, *more)
        assert "out: the folder holds files that are not results; name another" in said
    for known in ("{}", "[]", '{"files": ["summary.json"]}'):
        (output / "summary.json").write_text(known)
        said = refused(rank.app, edges, "-o", output, "--overwrite")
        assert "out: the folder holds files that are not results" in said
    assert (output / "precious.txt").read_text() == "mine"
    (output / "summary.json").write_text('{"files": ["precious.txt", "summary.json"]}')
    assert "there are results already; give --overwrite" in refused(rank.app, edges, "-o", output)
    assert "it contains EDGES, or is in their folder" in refused(
        rank.app, edges, "-o", tmp_path, "--overwrite"
    )
    assert "does not exist" in refused(rank.app, edges, "-o", tmp_path / "no" / "out")
    (tmp_path / "file").write_text("")
    assert "it is a file" in refused(rank.app, edges, "-o", tmp_path / "file")
    assert sorted(os.listdir(output)) == ["precious.txt", "summary.json"]


def test_results_are_replaced_at_the_end(edges, tmp_path, monkeypatch, started):
    output = tmp_path / "out"
    output.mkdir()
    (output / "summary.json").write_text('{"files": ["old", "summary.json"]}')
    (output / "old").write_text("old")
    arguments = [edges, "-o", output, "--overwrite", "--workers", 1, "--device", "cpu"]

    def fail(*_):
        raise rg.GraphError("no workers today")

    with monkeypatch.context() as patched:
        patched.setattr(rg, "cluster", fail)
        assert refused(rank.app, *arguments) == "error: no workers today"
    assert sorted(os.listdir(output)) == ["old", "summary.json"]
    assert sorted(os.listdir(tmp_path)) == ["edges.parquet", "out"]
    invoke(rank.app, *arguments)
    assert "old" not in os.listdir(output)
    assert read(output / "pagerank")["vertex"].tolist() == ["a", "b", "c"]
    assert sorted(os.listdir(tmp_path)) == ["edges.parquet", "out"]


def test_a_scheduler_that_is_not_there(edges, tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "TIMEOUT", 1)
    began = time.monotonic()
    address = "tcp://127.0.0.1:9"
    with dask.config.set(scheduler=None):  # a client that cannot connect leaves this setting
        said = refused(rank.app, edges, "-o", tmp_path / "out", "--scheduler", address)
    assert f"--scheduler {address}: no Dask scheduler answers there within 1 seconds" in said
    with dask.config.set(scheduler=None):
        said = refused(rank.app, edges, "-o", tmp_path / "out", "--scheduler", "nonsense")
    assert "--scheduler nonsense: no Dask scheduler answers" in said
    # The destructor of a client that did not connect waits for a lock that others take to start.
    gc.collect()
    assert time.monotonic() - began < 20
    assert os.listdir(tmp_path) == ["edges.parquet"]


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler as a process of its own, and a function that starts a worker of it."""
    found, processes = tmp_path / "scheduler.json", []

    def begin(*command):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        environment.pop("PYTHONPATH", None)
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd="/", env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        processes.append(process)
        return process

    begin(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(found),
    )  # fmt: skip
    for _ in range(200):
        if found.exists() and found.read_text():
            break
        time.sleep(0.1)
    address = json.loads(found.read_text())["address"]
    yield (
        address,
        lambda: begin(
            "distributed.cli.dask_worker", address, "--nthreads", "2", "--no-dashboard",
            "--no-nanny", "--local-directory", str(tmp_path),
        ),
    )  # fmt: skip
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(20)


def test_a_scheduler_and_its_workers(edges, tmp_path, scheduler, monkeypatch):
    address, begin = scheduler
    output = tmp_path / "out"
    monkeypatch.setattr(runtime, "TIMEOUT", 1)
    said = refused(rank.app, edges, "-o", output, "--scheduler", address)
    assert f"--scheduler {address}: it has no workers; start some with: dask worker" in said
    worker = begin()  # it knows rapidsgraph, and nothing of pipelines
    arguments = ["--scheduler", address, "--epsilons", "0.5", "--mus", 2]
    printed = run("communities", edges, "-o", output, *arguments)
    assert printed["workers", "number"] == "1"
    assert read(output / "roles")["role"].tolist() == ["core"] * 3
    expected = rg.ScanIndex(pd.read_parquet(edges)).sweep([0.5], [2])
    pd.testing.assert_frame_equal(
        pd.read_csv(output / "sweep.csv"), expected, rtol=1e-12, check_dtype=False
    )
    worker.kill()
    with (
        dask.config.set({"rapidsgraph.timeout": "1 s"}),
        Client(address) as client,
        watching(client, close=True) as lost,
    ):
        with pytest.raises(CancelledError):
            client.submit(int).result(timeout=30)
        assert "there was no worker for 1 seconds" in str(lost[0])


@pytest.mark.parametrize(
    ("moment", "number"), [("workers", signal.SIGTERM), ("pagerank", signal.SIGINT)]
)
def test_a_signal_leaves_nothing(edges, tmp_path, moment, number):
    output = tmp_path / "ranked"
    process = start("rank", edges, "-o", output, "--workers", 1)
    wanted = ".ranked.*.tmp" if moment == "workers" else ".ranked.*.tmp/pagerank"
    for _ in range(3000):
        if list(tmp_path.glob(wanted)):
            break
        time.sleep(0.02)
    assert list(tmp_path.glob(wanted))
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to all processes
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=30)
    reason = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    # Python's resource tracker may warn of a semaphore that a worker removes at the same time.
    lines = [line for line in err.splitlines() if not re.search("resource_tracker|  warn", line)]
    assert lines == [f"error: {reason}; no half-written file is left"]
    assert (process.returncode, out) == (128 + number, "")
    assert os.listdir(tmp_path) == ["edges.parquet"]
