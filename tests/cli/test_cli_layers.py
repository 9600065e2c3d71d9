"""The command layer, and what bfs, sssp and pagerank do with layers: on disk, beside a file."""

import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import build_storage
from test_cli import run as run_command
from test_cli import without_gpu  # noqa: F401  a fixture for all tests here
from test_cli_process import INTERRUPTED, start
from test_cli_traversal import COSTS_1, EDGES, NUMBERS, PAIRS, plain, written

import rapidsgraph as rg
from rapidsgraph.cli import options as graphs
from rapidsgraph.cli.app import describe_error
from rapidsgraph.errors import (
    GraphError,
    InsufficientMemoryError,
    VertexNotFoundError,
    format_bytes,
)
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io import write_frame
from rapidsgraph.layered import cache
from rapidsgraph.layered.packing import TABLE

pytestmark = pytest.mark.slow

KEPT = "stored the layers in {}.layers\n"
REUSED = "reused the layers in {}.layers\n"
REPLACED = "replaced the layers of root {} in {}.layers: {}\n"
UNWEIGHTED = COSTS_1.replace(": each edge costs 1", "")  # see test_cli_weights.py


def run(*arguments, code=0):
    """Run the command, and drop the note that the column `km` may hold weights."""
    done = run_command(*arguments, code=code)
    done.stderr_bytes = done.stderr_bytes.replace(UNWEIGHTED.encode(), b"")
    return done


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "edges.csv"
    write_frame(EDGES, path)
    run(
        "layer",
        path,
        "--from",
        "a",
        "--weight",
        "km",
        "-o",
        path.parent / "layers",
        "--device",
        "cpu",
    )
    return path.parent / "layers"


@pytest.fixture
def store(edges, made_once):
    return Path(shutil.copytree(made_once, edges.parent / "layers"))


def names_in(folder):
    return sorted(os.listdir(folder))


def made(folder):
    """What changes when a store is replaced."""
    return (folder / "manifest.json").stat().st_ino


def beside(path):
    return path.with_name(path.name + ".layers")


# layer


def test_layer_writes_what_build_makes(edges, tmp_path):
    folder = tmp_path / "layers"
    done = run("layer", edges, "--from", "a", "--weight", "km", "-o", folder)
    assert (done.stdout, done.stderr) == ("", f"6 edges in {folder}\n")
    layered = rg.LayeredEdgeList.open(folder)
    graph = build_storage(EDGES, weight="km", multi_edges="min")
    expected = rg.LayeredEdgeList.build(graph, "a")
    pd.testing.assert_frame_equal(layered.edges(), expected.edges())
    assert (layered.root, layered.directed, layered.weighted) == ("a", True, True)
    assert names_in(tmp_path) == ["edges.csv", "layers"]


def test_layer_shows_a_store(store):
    done = run("layer", store)
    assert done.stdout == "0\t1\t2\t0\n1\t2\t3\t0\n2\t1\t0\t0\n"
    first, second, third = done.stderr.splitlines()
    assert first == f"{store}: 6 vertices, 6 edges, directed, weights (float32)"
    assert second == "root a, depth 2, 2 vertices unreached"
    nbytes = rg.LayeredEdgeList.open(store).nbytes
    assert third == (
        f"1 partition, {nbytes} bytes, {nbytes / 6:.2f} bytes per edge; 1 combined edge list"
    )
    assert run("layer", store, "--top", 1).stdout == "0\t1\t2\t0\n"


def test_layer_without_output_puts_it_beside(edges, tmp_path):
    done = run("layer", edges, "--from", "a", "--top", 1)
    assert done.stdout == "0\t1\t2\t0\n"
    told = f"6 edges in {edges}.layers\n"
    assert done.stderr.startswith(KEPT.format(edges) + told + f"{edges}.layers: 6 vertices, 6 e")
    first = made(beside(edges))
    done = run("layer", edges, "--from", "a")
    assert (done.stdout, done.stderr) == ("", REUSED.format(edges) + told)
    assert made(beside(edges)) == first
    done = run("layer", edges, "--from", "b")
    assert (done.stdout, done.stderr) == ("", REPLACED.format("a", edges, "another root") + told)
    assert rg.LayeredEdgeList.open(beside(edges)).root == "b"
    assert names_in(tmp_path) == ["edges.csv", "edges.csv.layers"]


def test_layer_with_output_tells_what_it_replaces(edges, tmp_path):
    folder = tmp_path / "s"
    told = f"6 edges in {folder}\n"
    assert run("layer", edges, "--from", "a", "-o", folder).stderr == told
    replaced = f"replaced the layers of root {{}} in {folder}"
    again = run("layer", edges, "--from", "a", "-o", folder).stderr
    assert again == replaced.format("a") + "\n" + told
    other = run("layer", edges, "--from", "b", "-o", folder).stderr
    assert other == replaced.format("a") + ": another root\n" + told
    write_frame(EDGES, tmp_path / "more.csv")
    other = run("layer", tmp_path / "more.csv", "--from", "b", "-o", folder).stderr
    assert other == replaced.format("b") + ": they were built from another file\n" + told


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("", "--weight km", "other weights"),
        ("--weight km", "", "other weights"),
        ("--weight km", "--weight km --multi-edges sum", "other multi-edges"),
        ("", "--undirected", "another direction"),
        ("", "--source destination --destination source", "other columns"),
        ("", "--self-loops drop --undirected", "another direction, other self-loops"),
        ("--minimum-edges 2", "--minimum-edges 3", "another --minimum-edges"),
        ("", "--from b --weight km", "another root, other weights"),
    ],
)
def test_what_differs_is_told(edges, before, after, reason):
    run("layer", edges, "--from", "a", *before.split())
    given = after.split() if "--from" in after else ["--from", "a", *after.split()]
    done = run("layer", edges, *given)
    count = rg.LayeredEdgeList.open(beside(edges)).num_edges
    told = f"{count} edges in {edges}.layers\n"
    assert done.stderr == REPLACED.format("a", edges, reason) + told
    assert run("layer", edges, *given).stderr == REUSED.format(edges) + told


def test_a_list_that_was_saved_beside_a_file_is_not_of_it(edges):
    rg.LayeredEdgeList.build(EDGES[["source", "destination"]], "a").save(beside(edges))
    told = REPLACED.format("a", edges, "they were built from another file")
    assert run("bfs", edges, "--from", "a", "--layers").stderr == told


def options_and_meaning():
    yield ["--undirected"], {"directed": False}, {}
    for policy in ("first", "sum", "min", "max", "keep"):
        build = {"weight": "km", "multi_edges": policy}
        yield ["--weight", "km", "--multi-edges", policy], build, {}
    yield ["--multi-edges", "keep"], {"multi_edges": "keep"}, {}
    yield ["--self-loops", "drop"], {"self_loops": "drop"}, {}
    yield ["--minimum-edges", 2], {}, {"minimum_edges": 2}
    yield ["--memory-limit", "50MB", "--no-progress", "--device", "cpu"], {}, {}
    ends = {"source": "destination", "destination": "source"}
    yield ["--source", "destination", "--destination", "source"], ends, {}


@pytest.mark.parametrize(("options", "build", "how"), list(options_and_meaning()))
def test_options_of_layer(tmp_path, options, build, how):
    frame = pd.concat([EDGES, EDGES.tail(2).assign(source="c", destination="c")])
    write_frame(frame, tmp_path / "e.parquet")
    run("layer", tmp_path / "e.parquet", "--from", "c", "-o", tmp_path / "s", *options)
    layered = rg.LayeredEdgeList.open(tmp_path / "s")
    expected = rg.LayeredEdgeList.build(build_storage(frame, **build), "c", **how)
    pd.testing.assert_frame_equal(layered.edges(), expected.edges())
    assert storage_of(layered).minimum_edges == storage_of(expected).minimum_edges
    assert len(layered.combined) == len(expected.combined)


def test_several_columns_name_the_root(tmp_path):
    path = tmp_path / "pairs.parquet"
    write_frame(PAIRS, path)
    ends = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    done = run("layer", path, *ends, "--from", '"x,1",1', "--top", 9)
    assert "root x,1,1, depth 2, 2 vertices unreached" in done.stderr
    assert rg.LayeredEdgeList.open(beside(path)).root == ("x,1", 1)
    done = run("bfs", path, *ends, "--layers", "--from", '"x,1",1')
    assert (done.stdout, done.stderr) == ("0\t1\n1\t1\n2\t1\n", "")
    assert run("bfs", beside(path), "--from", '"x,1",1').stdout == done.stdout
    assert "join their values" in run("bfs", path, *ends, "--layers", "--from", 1, code=1).stderr


@pytest.mark.parametrize(
    ("rows", "root", "others"),
    [
        (["1,2", "2,3"], "1", "x"),
        (["x,1", "1,3"], "1", "y"),
        (["1,2", "2,x"], "1", "y"),  # text, which the first row does not show
        (["1,2", "2,x"], "x", "007"),
        (["9999999999999999999,1", "1,x"], "9999999999999999999", "y"),
    ],
)
def test_the_root_is_what_names_are(tmp_path, rows, root, others):
    path = tmp_path / "e.csv"
    path.write_text("\n".join(["source,destination", *rows, ""]))
    expected = run("bfs", path, "--from", root).stdout
    for _ in range(2):
        assert run("bfs", path, "--from", root, "--layers").stdout == expected
    asked = run("bfs", path, "--from", others, "--layers", code=1).stderr
    assert asked == run("bfs", path, "--from", others, code=1).stderr


def test_the_root_of_a_matrix_and_of_numbers(tmp_path):
    matrix, numbers = tmp_path / "e.mtx", tmp_path / "n.parquet"
    write_frame(pd.DataFrame({"source": [1, 2], "destination": [2, 3]}), matrix)
    write_frame(NUMBERS, numbers)
    assert run("bfs", matrix, "--from", 1, "--layers").stdout == "0\t1\n1\t1\n2\t1\n"
    done = run("bfs", numbers, "--from", -3, "--layers")
    assert done.stdout == run("bfs", numbers, "--from", -3).stdout == "0\t1\n1\t1\n"
    assert run("bfs", numbers, "--from", "x", "--layers", code=1).stderr == (
        "error: --from 'x': vertices are named by integers\n"
    )


# bfs and sssp


@pytest.mark.parametrize("more", [["--layers"], ["--memory-limit", "50MB"]])
def test_bfs_by_layers_is_bfs(edges, tmp_path, more):
    results = []
    for options in ([], more, more):
        run("bfs", edges, "--from", "a", "--output", tmp_path / "r.parquet", *options)
        results.append(written(tmp_path / "r.parquet"))
    assert results[0] == results[1] == results[2] == plain(rg.bfs(EDGES, "a"))
    options = ["--depth-limit", 1, "--no-predecessors", "--progress"]
    done = run("bfs", edges, "--from", "a", *options, *more)
    assert done.stdout == "0\t1\n1\t2\n"


@pytest.mark.parametrize("more", [["--layers"], ["--memory-limit", "50MB"]])
def test_sssp_by_layers_is_sssp(edges, tmp_path, more):
    results = []
    for options in ([], more, more):
        arguments = ["sssp", edges, "--from", "a", "--weight", "km"]
        run(*arguments, "--output", tmp_path / "r.parquet", *options)
        results.append(written(tmp_path / "r.parquet"))
        assert run(*arguments, *options).stdout == "b\t1.0\ta\nc\t3.0\tb\nd\t3.25\tc\n"
        assert run(*arguments, *options, "--cutoff", 2).stdout == "b\t1.0\ta\n"
    assert results[0] == results[1] == results[2]


def test_sssp_by_layers_takes_weights_as_without(edges):
    options = ["--from", "a", "--layers", "--no-predecessors", "--top", 1]
    done = run("sssp", edges, *options)
    assert (done.stdout, done.stderr) == ("b\t1.0\n", KEPT.format(edges) + COSTS_1)
    assert run("sssp", edges, *options).stderr == COSTS_1
    write_frame(EDGES.rename(columns={"km": "weight"}), edges)
    done = run("sssp", edges, "--from", "a", "--layers")
    assert done.stdout == "b\t1.0\ta\nc\t3.0\tb\nd\t3.25\tc\n"
    reason = "other weights, the file has changed"
    assert done.stderr == REPLACED.format("a", edges, reason)
    done = run("sssp", edges, "--from", "a", "--layers", "--multi-edges", "sum")
    assert done.stdout.startswith("b\t1.0\ta\nc\t3.0\tb\n")
    assert done.stderr == REPLACED.format("a", edges, "other multi-edges")


def test_layers_are_made_once(edges):
    run("layer", edges, "--from", "a", "--weight", "km", "--minimum-edges", 3)
    first = made(beside(edges))
    for command in ("bfs", "sssp --weight km", "bfs --memory-limit 50MB"):
        name, *more = command.split()
        done = run(name, edges, "--from", "a", "--layers", *more)
        assert (done.stderr, made(beside(edges))) == ("", first)
    rg.LayeredEdgeList.cached(edges, "a", weight="km", multi_edges="min", minimum_edges=3)
    assert made(beside(edges)) == first
    done = run("bfs", edges, "--from", "b", "--layers")
    told = REPLACED.format("a", edges, "another root")
    assert (done.stdout, done.stderr) == ("0\t1\n1\t2\n", told)
    second = made(beside(edges))
    with pytest.warns(rg.WeightWarning, match="columns of numbers: 'km'"):
        rg.LayeredEdgeList.cached(edges, "b")
    assert made(beside(edges)) == second != first
    done = run("bfs", edges, "--from", "b", "--layers", "--undirected")
    assert done.stderr == REPLACED.format("b", edges, "another direction")


def test_a_changed_file_is_noticed(edges):
    run("bfs", edges, "--from", "a", "--layers")
    write_frame(pd.DataFrame({"source": ["a"], "destination": ["z"]}), edges)
    done = run("bfs", edges, "--from", "a", "--layers", "--verify")
    assert done.stdout == "0\t1\n1\t1\n"
    assert done.stderr.startswith(REPLACED.format("a", edges, "the file has changed"))
    assert "verified: " in done.stderr


def test_a_damaged_store_is_replaced(edges):
    run("bfs", edges, "--from", "a", "--layers")
    path = beside(edges) / "vertices.arrow"
    path.write_bytes(path.read_bytes()[:-1])
    assert run("layer", beside(edges), code=1).stderr.startswith(f"error: {path}: truncated")
    told = run("bfs", edges, "--from", "a", "--layers").stderr
    assert told.startswith(f"the existing layers were not used: {path}: truncated or altered")
    assert told.endswith(KEPT.format(edges)) and told.count("\n") == 2
    assert run("layer", beside(edges)).stdout == "0\t1\t2\t0\n1\t2\t3\t0\n2\t1\t0\t0\n"


def test_somebody_elses_folder_stays(edges):
    beside(edges).mkdir()
    (beside(edges) / "thesis.txt").write_text("mine")
    done = run("bfs", edges, "--from", "a", "--layers", code=1)
    assert done.stderr.startswith(f"error: {edges}.layers: the folder is not a layered edge list")
    assert (beside(edges) / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "command", ["bfs", "bfs --depth-limit 1", "sssp", "sssp --weight km --cutoff 2"]
)
def test_verify_by_layers(edges, command):
    name, *more = command.split()
    checked = [name, edges, "--from", "a", "--layers", "--verify", *more]
    for told, part in ((KEPT, "layered"), (REUSED, "opened")):
        done = run(*checked)
        assert done.stderr.startswith(told.format(edges))
        assert re.search(rf"6 vertices, 6 edges on the CPU: {part} in \S+ s, sear", done.stderr)
        assert re.search(r"\d pass(es)? over the edges: \d+ partitions?, \d+ bytes", done.stderr)
        assert "verified: no edge " in done.stderr


def test_a_run_of_a_store_is_told(store, monkeypatch):
    told = []
    monkeypatch.setattr(
        graphs.CommandRun, "report", lambda run, text, always=False: told.append(text)
    )
    run("bfs", store)
    row = dict(zip(TABLE, storage_of(rg.LayeredEdgeList.open(store)).table[0].tolist()))
    read = "1 pass over the edges: 1 partition, {} bytes"
    assert read.format(4 * row["forward_words"]) in told
    run("pagerank", store, "--tolerance", 0, "--max-iterations", 7)
    nbytes = 7 * 4 * row["words"]
    assert told[-2:] == [
        f"7 passes over the edges: 7 partitions, {nbytes} bytes",
        "the layered edge list has weights, which are used",
    ]


@pytest.mark.parametrize(
    ("nbytes", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.50 kB"),
        (2e6, "2.00 MB"),
        (3.21e12, "3210.00 GB"),
    ],
)
def test_amounts(nbytes, shown):
    assert format_bytes(nbytes) == shown


# Stores as EDGES


def test_a_store_has_a_root(store):
    assert run("bfs", store).stdout == "0\t1\n1\t2\n2\t1\n"
    assert run("bfs", store, "--from", "a", "--layers").stdout == "0\t1\n1\t2\n2\t1\n"
    done = run("sssp", store)
    assert (done.stdout, done.stderr) == ("b\t1.0\ta\nc\t3.0\tb\nd\t3.25\tc\n", "")
    for command in ("bfs", "sssp"):
        assert run(command, store, "--from", "b", code=1).stderr == (
            "error: --from is 'b', but the layers belong to the root 'a'; build a layered edge "
            "list from the other vertex, or leave --from out\n"
        )
        two = run(command, store, "--from", "a", "--from", "b", code=1).stderr
        assert two.startswith("error: --from is ['a', 'b'], but the layers belong to the root")


def test_a_store_without_weights_says_so(edges, tmp_path):
    run("layer", edges, "--from", "a", "-o", tmp_path / "s")
    done = run("sssp", tmp_path / "s", "--top", 2)
    assert done.stdout == "b\t1.0\ta\nc\t1.0\ta\n"
    assert done.stderr == "the layered edge list has no weights: each edge costs 1\n"


def test_a_store_in_files_and_pictures(store, tmp_path):
    pytest.importorskip("matplotlib")
    start = tmp_path / "start.csv"
    start.write_text("vertex\na\n")
    options = ["--from-file", start, "-o", tmp_path / "r.parquet", "--plot", tmp_path / "p.png"]
    run("bfs", store, "--memory-limit", "1GB", *options)
    assert written(tmp_path / "r.parquet") == plain(rg.bfs(EDGES, "a"))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_of_parquet_files_is_none(tmp_path):
    folder = tmp_path / "edges"
    folder.mkdir()
    write_frame(EDGES, folder / "part.parquet")
    (folder / "manifest.json").write_text("{}")
    assert run("bfs", folder, "--from", "a").stdout == "0\t1\n1\t2\n2\t1\n"
    (folder / "part.parquet").unlink()
    assert run("bfs", folder, code=1).stderr.startswith(f"error: {folder}/manifest.json: it is no")


# pagerank


def test_pagerank_of_a_store(store, tmp_path):
    seeds = tmp_path / "seeds.csv"
    seeds.write_text("vertex,share\nb,1\nd,3\n")
    output = tmp_path / "r.parquet"
    for options, how in (
        ([], {}),
        (["--memory-limit", "1GB", "--damping", 0.5], {"damping": 0.5}),
        (["--personalization", seeds], {"personalization": {"b": 1, "d": 3}}),
    ):
        run("pagerank", store, "--output", output, *options)
        graph = build_storage(EDGES, weight="km", multi_edges="min")
        expected = rg.pagerank(graph, **how)["pagerank"].to_numpy()
        assert written(output)["vertex"] == list("abcdef")
        np.testing.assert_allclose(written(output)["pagerank"], expected, rtol=0, atol=1e-6)


def test_pagerank_with_a_memory_limit(edges, tmp_path):
    output, limited = tmp_path / "r.parquet", ["--memory-limit", "50MB"]
    done = run("pagerank", edges, "--output", output, *limited)
    assert done.stderr == KEPT.format(edges)
    assert rg.LayeredEdgeList.open(beside(edges)).root == "a"  # of the first row
    expected = rg.pagerank(EDGES[["source", "destination"]])["pagerank"]
    np.testing.assert_allclose(written(output)["pagerank"], expected, rtol=0, atol=1e-6)
    run("layer", edges, "--from", "c")
    first = made(beside(edges))
    assert run("pagerank", edges, *limited, "--top", 1).stderr == ""  # any root will do
    assert made(beside(edges)) == first
    run("layer", edges, "--from", "c", "--weight", "km", "--multi-edges", "sum")
    weighted = [*limited, "--weight", "km", "--output", output]
    assert run("pagerank", edges, *weighted).stderr == ""
    expected = rg.pagerank(build_storage(EDGES, weight="km", multi_edges="sum"))["pagerank"]
    np.testing.assert_allclose(written(output)["pagerank"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("there", "given", "reason", "fits", "makes"),
    [
        ("--weight km", "", "other weights", "give --weight km --multi-edges min", ""),
        (
            "",
            "--weight km",
            "other weights",
            "leave out --weight",
            " --weight km --multi-edges sum",
        ),
        (
            "--weight km",
            "--weight km --multi-edges sum --undirected",
            "other multi-edges, another direction",
            "give --multi-edges min and leave out --undirected",
            " --weight km --undirected --multi-edges sum",
        ),
        (
            "--undirected --self-loops drop",
            "",
            "another direction, other self-loops",
            "give --undirected --self-loops drop",
            "",
        ),
    ],
)
def test_pagerank_replaces_no_layers(edges, there, given, reason, fits, makes):
    run("layer", edges, "--from", "c", *there.split())
    first, limited = made(beside(edges)), ["pagerank", edges, "--memory-limit", "50MB"]
    done = run(*limited, *given.split(), code=1)
    assert (done.stdout, made(beside(edges))) == ("", first)
    start, rest = done.stderr.split("; ")
    assert start == (
        f"error: {edges}.layers: these layers were built from this file with different options "
        f"({reason})"
    )
    command = f"rapidsgraph layer {edges} --from VERTEX{makes} --output FOLDER"
    assert rest == f"{fits} to use them, or build others with `{command}` and give that folder\n"
    other = [command.split("VERTEX")[1].replace("FOLDER", f"{edges}.other").split()]
    run("layer", edges, "--from", "c", *other[0])
    ranks = run("pagerank", f"{edges}.other", "--top", 6).stdout
    expected = run("pagerank", edges, *given.split(), "--top", 6).stdout
    rows = [[float(row.split("\t")[2]) for row in text.splitlines()] for text in (ranks, expected)]
    np.testing.assert_allclose(*rows, rtol=0, atol=1e-6)
    if "leave" not in fits:
        assert run(*limited, *fits.split()[1:]).stderr == ""


def test_pagerank_replaces_layers_of_another_version(edges):
    run("layer", edges, "--from", "c", "--weight", "km")
    write_frame(EDGES.head(3), edges)
    done = run("pagerank", edges, "--memory-limit", "50MB")
    assert done.stderr == REPLACED.format("c", edges, "other weights, the file has changed")
    path = beside(edges) / "vertices.arrow"
    path.write_bytes(path.read_bytes()[:-1])
    weighted = ["--weight", "km", "--memory-limit", "50MB"]
    told = run("pagerank", edges, *weighted).stderr
    assert told.startswith(f"the existing layers were not used: {path}: truncated or altered")
    assert told.endswith(KEPT.format(edges))


@pytest.mark.parametrize("ending", [".csv", ".txt.gz", ".tsv", ".parquet", ".arrow", ".mtx"])
def test_pagerank_starts_at_the_first_row(tmp_path, ending):
    path = tmp_path / f"e{ending}"
    write_frame(pd.DataFrame({"source": [2, 3, 1], "destination": [3, 1, 2]}), path)
    assert len(run("pagerank", path, "--memory-limit", "50MB").stdout.splitlines()) == 3
    assert rg.LayeredEdgeList.open(beside(path)).root == 2


def test_a_file_without_edges_has_no_layers(tmp_path):
    for ending in ("csv", "parquet"):
        path = tmp_path / f"e.{ending}"
        nothing = np.empty(0, int)
        write_frame(pd.DataFrame({"source": nothing, "destination": nothing}), path)
        for command in (["pagerank", path, "--memory-limit", "50MB"],):
            assert "there are no edges" in run(*command, code=1).stderr
        assert run("bfs", path, "--from", 1, "--layers", code=1).stderr.startswith("error: ")
        assert not beside(path).exists()


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("bfs edges.csv --layers", "--from"),
        ("sssp edges.csv --memory-limit 1GB", "--from"),
        ("layer edges.csv", "--from"),
        ("bfs edges.csv --from a --memory-limit 1GB --verify", "--verify"),
        ("sssp edges.csv --from a --memory-limit 1GB --layers --verify", "--verify"),
        ("pagerank edges.csv --memory-limit 1GB --verify", "--verify"),
        ("pagerank edges.csv --memory-limit 1GB --method edge", "--method"),
        ("pagerank layers --method node", "--method"),
        ("pagerank layers --verify", "--verify"),
        ("bfs layers --verify", "--verify"),
        ("bfs layers --undirected", "--undirected"),
        ("bfs layers --source x", "--source"),
        ("sssp layers --weight km", "--weight"),
        ("sssp layers --multi-edges min", "--multi-edges"),
        ("pagerank layers --self-loops drop", "--self-loops"),
        ("layer layers --from a", "--from"),
        ("layer layers --output other", "--output"),
        ("layer layers --minimum-edges 3", "--minimum-edges"),
        ("bfs edges.csv --from a --memory-limit lots", "--memory-limit"),
        ("bfs edges.csv --from a --memory-limit -1", "--memory-limit"),
        ("layer edges.csv --from a --memory-limit 0", "--memory-limit"),
    ],
)
def test_wrong_usage(store, arguments, option, monkeypatch):
    monkeypatch.chdir(store.parent)
    done = run(*arguments.split(), code=2)
    assert done.stdout == ""
    assert f"Invalid value for {option}:" in done.stderr.replace("'", "")
    assert names_in(store.parent) == ["edges.csv", "layers"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bfs edges.csv --layers --from a --from b", "a layered edge list has one root, but 2"),
        ("sssp edges.csv --memory-limit 1GB --from a --from e", "a layered edge list has one root"),
        ("bfs edges.csv --layers --from nobody", "--from: vertex 'nobody' is not in the graph"),
        ("layer edges.csv --from nobody", "--from: vertex 'nobody' is not in the graph"),
        ("layer edges.csv --from a --weight m", "edges.csv: there is no column 'm'"),
        ("layer none.csv --from a", "none.csv: there is no such file"),
        ("bfs none.csv --layers --from a", "none.csv: there is no such file"),
        ("bfs none --layers --from a", "none: there is no such file"),
        ("bfs none.layers", "none.layers: there is no such file or folder"),
        ("sssp none.layers", "none.layers: there is no such file or folder"),
        ("pagerank none.layers", "none.layers: there is no such file or folder"),
        ("layer none.layers", "none.layers: there is no such file or folder"),
        ("scan layers", "layers: scan cannot use a layered edge list"),
        ("layer - --from a", "-: layers are stored beside one local file or folder"),
        ("layer edges.csv --from a --output edges.csv", "edges.csv: it is a file"),
        ("layer edges.csv --from a --output .", ".: the folder is not a layered edge list"),
        ("layer edges.csv --from a --output no/where", "no/where: the folder"),
        ("bfs layers --memory-limit 100", "BFS of a layered edge list of 6 vertices needs"),
        ("bfs layers --output layers", "layers: --output would overwrite EDGES"),
    ],
)
def test_mistakes(store, arguments, message, monkeypatch):
    monkeypatch.chdir(store.parent)
    done = run(*arguments.split(), code=1)
    assert done.stderr.startswith(f"error: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert names_in(store.parent) == ["edges.csv", "layers"]


@pytest.mark.parametrize("command", ["bfs", "sssp", "pagerank", "layer"])
def test_an_empty_folder(tmp_path, command):
    start = [] if command == "pagerank" else ["--from", "1"]
    message = f"error: {tmp_path}: no file of the folder ends in .csv, .tsv"
    assert run(command, tmp_path, *start, code=1).stderr.startswith(message)


def test_the_same_vertex_twice_is_one(edges):
    done = run("bfs", edges, "--layers", "--from", "a", "--from", "a")
    assert done.stdout == "0\t1\n1\t2\n2\t1\n"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            VertexNotFoundError("{parameter}: vertex 7 is not in the graph", parameter="root"),
            "--from: vertex 7 is not in the graph",
        ),
        (
            GraphError("{parameter} names 2 vertices; a list has one", parameter="root"),
            "--from names 2 vertices; a list has one",
        ),
        (
            InsufficientMemoryError("this", 10, 1, "memory_limit"),
            "this needs about 10 bytes but --memory-limit is 1 bytes; raise the limit",
        ),
        (
            GraphError("{parameter} is 'x'; it must be", parameter="memory_limit"),
            "--memory-limit is 'x'; it must be",
        ),
        (GraphError("/root/edges.csv: the root folder"), "/root/edges.csv: the root folder"),
    ],
)
def test_errors_name_options(error, shown):
    assert describe_error(error) == shown


def test_layer_is_in_the_help():
    shown = run("layer", "--help").stdout
    for option in ("--from", "--memory-limit", "--minimum-edges", "--output", "--progress"):
        assert option in shown
    assert "Maximum memory of the build" in " ".join(shown.replace("│", " ").split())
    assert "layer" in run("--help").stdout


def test_progress_leaves_nothing_in_a_pipe(edges):
    for name in ("layer", "bfs", "sssp"):
        options = ["--weight", "km"] if name == "sssp" else []
        layers = [] if name == "layer" else ["--layers"]
        done = run(name, edges, "--from", "a", "--progress", *options, *layers)
        assert len(done.stderr.splitlines()) == {"layer": 2, "bfs": 0, "sssp": 1}[name]
        assert "\n\n" not in "\n" + done.stderr


# Ctrl-C

SAYS_WHERE_IT_IS = """
import rapidsgraph
from rapidsgraph.layered.outofcore import build as module
original = module.{name}

def slowly(*arguments, **options):
    print("here", flush=True)
    import time
    time.sleep(20)
    return original(*arguments, **options)

module.{name} = slowly
from rapidsgraph.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["NameCollector", "bfs_distances", "pack_partitions"])
def test_ctrl_c_leaves_the_old_layers(edges, store, name):
    before = made(store)
    program = SAYS_WHERE_IT_IS.format(name=name)
    process = start("layer", edges, "--from", "b", "--output", store, program=program)
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", INTERRUPTED)
    assert process.returncode == 130
    assert names_in(store.parent) == ["edges.csv", "layers"]
    assert made(store) == before and rg.LayeredEdgeList.open(store).root == "a"


def test_ctrl_c_in_the_middle_of_a_larger_file(tmp_path):
    path = tmp_path / "e.parquet"
    write_frame(rg.generate.rmat(16, 16, seed=1, device="cpu"), path)
    program = "import rapidsgraph; from rapidsgraph.__main__ import main; main()"
    arguments = ["layer", path, "--from", 0, "--memory-limit", "60MB"]
    process = start(*arguments, program=program)
    while not any(list(folder.iterdir()) for folder in tmp_path.glob(".e.parquet.layers.*.tmp")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", INTERRUPTED)
    assert process.returncode == 130
    assert names_in(tmp_path) == ["e.parquet"]
    run(*arguments)
    assert cache.find_store(path, 0, {}) is not None
    assert names_in(tmp_path) == ["e.parquet", "e.parquet.layers"]


@pytest.mark.parametrize("strong", [[], ["--strong"]], ids=["weak", "strong"])
def test_components(store, edges, strong):
    expected = run("components", edges, *strong).stdout
    assert run("components", store, *strong).stdout == expected
    assert run("components", edges, *strong, "--memory-limit", "60MB").stdout == expected


def test_strong_components_need_directed_layers(edges):
    run("layer", edges, "--from", "a", "--undirected")
    limit = "--memory-limit", "60MB"
    assert run("components", edges, *limit).stdout == run("components", edges).stdout
    done = run("components", edges, "--strong", *limit, code=1)
    assert "different options (another direction); build others with `" in done.stderr


def test_similarity(store, edges, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("source,destination\na,b\nb,e\n")
    for options in ([], ["--pairs", pairs], ["--kind", "common"]):
        expected = run("similarity", edges, *options).stdout
        assert run("similarity", store, *options).stdout == expected
        assert run("similarity", edges, *options, "--memory-limit", "60MB").stdout == expected


def test_no_output_goes_into_a_layered_edge_list(edges, tmp_path):
    store, link = tmp_path / "s.layers", tmp_path / "link.arrow"
    run("layer", edges, "--from", "a", "--output", store)
    link.symlink_to(store / "edges.npy")
    before = {file.name: file.read_bytes() for file in store.iterdir()}
    for arguments in (
        *(["pagerank", store, "--output", path] for path in (store / "edges.npy", link)),
        ["bfs", store, "--output", store / "new.csv"],
        ["sssp", store, "--output", tmp_path / "." / "s.layers" / "edges.npy"],
        ["bfs", store, "--plot", store / "new.png"],
        ["components", edges, "--output", store / "edges.npy"],
        ["scan", edges, "--similarities", store / "edges.npy"],
        ["generate", "rmat", 3, "--output", store / "edges.npy"],
        ["layer", edges, "--from", "a", "--output", store / "inner.layers"],
    ):
        done = run(*arguments, code=1)
        assert f"{store} is a layered edge list, which another file would damage" in done.stderr
    assert {file.name: file.read_bytes() for file in store.iterdir()} == before


@pytest.mark.gpu
@pytest.mark.parametrize("command", ["layer", "bfs", "sssp", "pagerank"])
def test_layers_on_a_gpu(store, edges, command):
    limit = [] if command == "layer" else ["--memory-limit", "10MB"]
    device = ["--device", "gpu"]
    done = run(command, store, *limit, *device).stdout.split()
    expected = run(command, store, "--device", "cpu").stdout.split()
    if command == "pagerank":
        done, expected = done[:2], expected[:2]
    assert done == expected
    if command in ("bfs", "sssp"):
        more = ["--from", "a", "--layers", "--verify", *device]
        assert "verified: " in run(command, edges, *more).stderr
