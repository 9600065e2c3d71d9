"""Options --weight and --unweighted of the commands that use weights."""

import pandas as pd
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg
from rapidsgraph.io import write_frame

EDGES = pd.DataFrame(
    {
        "source": ["a", "a", "c", "a"],
        "destination": ["b", "c", "b", "b"],
        "weight": [5.0, 1.0, 1.0, 7.0],
    }
)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


def numbers_of(done):
    """{vertex: number} of a table of vertices, numbers and perhaps others."""
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[-2]: float(row[-1]) for row in rows}


def distances_of(path):
    result = pd.read_csv(path)
    return dict(zip(result["vertex"], result["distance"], strict=True))


def test_sssp_uses_the_default_column(edges, tmp_path):
    output = tmp_path / "r.csv"
    weighted, hops = {"a": 0, "b": 2, "c": 1}, {"a": 0, "b": 1, "c": 1}
    for options, expected in (([], weighted), (["--unweighted"], hops)):
        for layers in ([], ["--layers"]):
            done = run("sssp", edges, "--from", "a", "-o", output, *options, *layers)
            assert "costs 1" not in done.stderr
            assert distances_of(output) == expected


def test_pagerank_sums_the_default_column(edges):
    for options, frame in (([], EDGES), (["--unweighted"], EDGES[["source", "destination"]])):
        expected = rg.pagerank(frame)
        expected = dict(zip(expected["vertex"], expected["pagerank"], strict=True))
        assert numbers_of(run("pagerank", edges, *options)) == pytest.approx(expected, abs=1e-6)


def test_a_layered_edge_list_has_the_weights_that_are_asked_for(edges):
    run("layer", edges, "--from", "a")
    store = edges.with_name("edges.csv.layers")
    assert rg.LayeredEdgeList.open(store, device="cpu").weighted
    done = run("pagerank", edges, "--memory-limit", "50MB", "--unweighted", code=1)
    assert "give --multi-edges min and leave out --unweighted to use them" in done.stderr
    assert f"`rapidsgraph layer {edges} --from VERTEX --unweighted --output FOLDER`" in done.stderr
    run("layer", edges, "--from", "a", "--unweighted")
    assert not rg.LayeredEdgeList.open(store, device="cpu").weighted
    done = run("pagerank", edges, "--memory-limit", "50MB", code=1)
    assert "give --unweighted to use them" in done.stderr
    run("pagerank", edges, "--memory-limit", "50MB", "--unweighted")


@pytest.mark.parametrize("command", ["sssp --from a", "pagerank", "layer --from a"])
def test_wrong_options(edges, command):
    name, *options = command.split()
    given = ["--weight", "weight", "--unweighted"]
    done = run(name, edges, *options, *given, code=2)
    assert "leave out this or --weight" in " ".join(done.stderr.replace("│", " ").split())
    done = run(name, edges, *options, "--weight", "km", code=1)
    assert "there is no column 'km'; the columns are source, destination, weight" in done.stderr


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_default_column_without_numbers(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    write_frame(EDGES.assign(weight="heavy"), path)
    done = run("sssp", path, "--from", "a", code=1)
    assert done.stderr.endswith("; --unweighted ignores the column\n")
    run("sssp", path, "--from", "a", "--unweighted")
    run("bfs", path, "--from", "a")
    write_frame(EDGES.assign(weight=-1.0), path)
    done = run("pagerank", path, code=1)
    assert done.stderr.endswith("; --unweighted ignores the column\n")


def test_columns_that_may_be_weights_are_named(put):
    path = put("km.csv", "source,destination,year,km\n0,1,2000,1.5\n1,2,2001,3\n")
    tail = "; columns of numbers: 'km', 'year'; --weight km uses one of them, --unweighted none\n"
    start = "there is no column 'weight' and no --weight"
    for command, effect in (
        (["pagerank", path], ""),
        (["layer", path, "--from", 0], ""),
        (["sssp", path, "--from", 0], ": each edge costs 1"),
        (["shortest-path", path, "--from", 0, "--to", 2], ": each edge costs 1"),
    ):
        done = run(*command)
        assert done.exit_code == 0
        assert start + effect + tail in done.stderr
        assert done.stderr.count("no column 'weight'") == 1
        for options in (["--weight", "km"], ["--unweighted"]):
            assert start not in run(*command, *options).stderr


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".parquet", ".feather"])
def test_an_invalid_weight_is_located_in_its_file(tmp_path, ending):
    for name, last in (("a", 1.0), ("b", 2.0), ("c", -3.5)):
        frame = EDGES[:2].assign(weight=[1.0, last]).rename(columns={"weight": "km"})
        write_frame(frame, tmp_path / f"{name}{ending}")
    place = {".csv": ", line 3:", ".csv.gz": ", line 3:", ".jsonl": ", line 2:"}.get(ending, ":")
    row = " in row 1 of" if place == ":" else " in"
    message = f"{place} weight{row} column 'km' is -3.5; weights must be finite and not negative"
    for edges in (tmp_path, f"{tmp_path}/*{ending}", tmp_path / f"c{ending}"):
        layers = "layer", "--from", "a", "--output", f"{tmp_path}.layers"
        for command in (["pagerank"], ["sssp", "--from", "a"], layers):
            done = run(command[0], edges, *command[1:], "--weight", "km", code=1)
            assert f"error: {tmp_path / 'c'}{ending}{message}" in done.stderr
