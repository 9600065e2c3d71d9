"""The tasks of LDBC Graphalytics on two small graphs.

The directed graph has the ten vertices and the edges of the benchmark's own example. The reference
results are computed here, by slow and independent code.
"""

import math
import shutil

import naive
import networkx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pipelines import graphalytics
from pipelines.graphalytics import TASKS, TaskName

pytestmark = pytest.mark.slow

DIRECTED = """1 3 0.5
1 5 0.3
2 4 0.1
2 5 0.3
2 10 0.12
3 1 0.53
3 5 0.62
3 8 0.21
3 10 0.52
5 3 0.69
5 4 0.53
5 8 0.1
6 3 0.23
6 4 0.39
7 4 0.83
8 1 0.39
9 4 0.69
"""
UNDIRECTED = """2 3 0.5
2 4 0.3
3 4 0.1
3 5 0.69
4 5 0.12
5 6 0.53
6 7 0.62
6 8 0.21
7 8 0.52
9 10 0.1
"""
GRAPHS = {"example-directed": (DIRECTED, True), "example-undirected": (UNDIRECTED, False)}
PROPERTIES = """# Files
graph.{name}.vertex-file = {name}.v
graph.{name}.edge-file = {name}.e
graph.{name}.meta.vertices = 11
graph.{name}.directed = {directed}
graph.{name}.edge-properties.names = weight
graph.{name}.edge-properties.types = real
graph.{name}.algorithms = bfs, cdlp, lcc, pr, sssp, wcc
graph.{name}.bfs.source-vertex = 2
graph.{name}.cdlp.max-iterations = 5
graph.{name}.pr.damping-factor = 0.85
graph.{name}.pr.num-iterations = 14
graph.{name}.sssp.weight-property = weight
graph.{name}.sssp.source-vertex = 2
"""
VERTICES = range(1, 12)  # the last one has no edge


def make_references(edges, directed):
    """{task: {vertex: text}}."""
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(VERTICES)
    graph.add_weighted_edges_from(edges)
    arcs = graph.to_directed()
    levels = networkx.single_source_shortest_path_length(graph, 2)
    distances = networkx.single_source_dijkstra_path_length(graph, 2)
    components = {}
    for component in networkx.connected_components(graph.to_undirected()):
        components |= dict.fromkeys(component, min(component))
    near = {v: ({*arcs.successors(v)} | {*arcs.predecessors(v)}) - {v} for v in arcs}
    coefficients = {}
    for v in arcs:
        closed = sum(arcs.has_edge(a, b) for a in near[v] for b in near[v])
        coefficients[v] = closed / max(len(near[v]) * (len(near[v]) - 1), 1)
    ranks = {v: 1 / len(arcs) for v in arcs}
    for _ in range(14):
        dangling = sum(ranks[v] for v in arcs if not arcs.out_degree(v))
        ranks = {
            v: (0.15 + 0.85 * dangling) / len(arcs)
            + 0.85 * sum(ranks[u] / arcs.out_degree(u) for u in arcs.predecessors(v))
            for v in arcs
        }
    labels = naive.labels([(a, b, 1) for a, b, _ in edges], 5, VERTICES, directed)
    return {
        "BFS": {v: str(levels.get(v, 9223372036854775807)) for v in VERTICES},
        "SSSP": {v: f"{distances[v]:.12e}" if v in distances else "infinity" for v in VERTICES},
        "WCC": {v: str(components[v]) for v in VERTICES},
        "LCC": {v: f"{coefficients[v]:.12f}" for v in VERTICES},
        "PR": {v: f"{ranks[v]:.12e}" for v in VERTICES},
        "CDLP": {v: str(labels[v]) for v in VERTICES},
    }


@pytest.fixture(params=GRAPHS)
def example(request, tmp_path):
    """The properties file of a graph, beside its files and a folder `reference`."""
    text, directed = GRAPHS[request.param]
    edges = [(int(a), int(b), float(w)) for a, b, w in map(str.split, text.splitlines())]
    name, folder = request.param, tmp_path / "reference"
    (tmp_path / f"{name}.e").write_text(text)
    (tmp_path / f"{name}.v").write_text("".join(f"{v}\n" for v in VERTICES))
    path = tmp_path / f"{name}.properties"
    path.write_text(PROPERTIES.format(name=name, directed=str(directed).lower()))
    folder.mkdir()
    for task, values in make_references(edges, directed).items():
        lines = "".join(f"{v} {value}\n" for v, value in reversed(values.items()))
        (folder / f"{name}-{task}").write_text(lines)
    return path


def run(path, *arguments, code=0):
    arguments = [path, "--output", path.with_name("results"), *arguments]
    done = CliRunner().invoke(graphalytics.app, list(map(str, arguments)))
    assert done.exit_code == code, done.output + done.stderr
    return done


@pytest.mark.parametrize(
    "engine", ["cpu", "frames", "dask", pytest.param("gpu", marks=pytest.mark.gpu)]
)
def test_results_are_valid_on_every_engine(example, engine):
    done = run(
        example, "--engine", engine, "--reference", example.with_name("reference"), "--workers", 1
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [(name, check) for name, _, check in rows] == [
        ("read", ""),
        ("build", ""),
        *((name, "valid") for name in TASKS),
    ]
    results = sorted(path.name for path in example.with_name("results").iterdir())
    assert results == sorted(f"{example.stem}-{name}" for name in TaskName)


def test_the_format_of_results(example):
    run(example, "--task", "BFS", "--task", "SSSP")
    results = sorted(example.with_name("results").iterdir())
    assert [path.name[-4:] for path in results] == ["-BFS", "SSSP"]
    levels, distances = ([line.split(" ") for line in path.read_text().splitlines()]
                         for path in results)  # fmt: skip
    assert [vertex for vertex, _ in levels] == [*map(str, VERTICES)]
    assert dict(levels)["2"] == "0"
    assert dict(levels)["11"] == "9223372036854775807"
    assert float(dict(distances)["2"]) == 0
    assert dict(distances)["11"] == "infinity"


@pytest.mark.parametrize("name", TASKS)
def test_wrong_references_are_found(example, name):
    path = example.with_name("reference") / f"{example.stem}-{name}"
    rows = [line.split(" ") for line in path.read_text().splitlines()]
    rows[-3][1] = {"BFS": "77", "CDLP": "11", "WCC": "11"}.get(
        name, f"{float(rows[-3][1]) * 1.01 + 1}"
    )
    path.write_text("".join(f"{vertex} {value}\n" for vertex, value in rows))
    done = run(example, "--task", name, "--reference", path.parent, code=1)
    assert f"error: {name}: " in done.stderr
    assert "values do not match" in done.stderr
    results = example.with_name("results")
    assert [folder.name for folder in results.iterdir()] == [path.name]
    assert done.stdout.endswith("\twrong\n")
    shutil.rmtree(results)
    path.write_text("1 0\n")
    done = run(example, "--task", name, "--reference", path.parent, code=1)
    assert "the vertices are not those of" in done.stderr


def test_all_tasks_are_validated(example):
    folder, results = example.with_name("reference"), example.with_name("results")
    for name in ("BFS", "LCC"):
        (folder / f"{example.stem}-{name}").write_text("1 0\n")
    (folder / f"{example.stem}-PR").unlink()
    tasks = [option for name in ("bfs", "pr", "wcc", "lcc") for option in ("--task", name)]
    options = [*tasks, "--reference", folder]
    done = run(example, *options, "--require-references", code=1)
    assert f"{example.stem}-PR: there is no such file" in done.stderr
    assert not results.exists()
    done = run(example, *options, code=1)
    checks = [line.split("\t")[2] for line in done.stdout.splitlines()[2:]]
    assert checks == ["wrong", "not validated", "valid", "wrong"]
    assert "error: BFS: " in done.stderr
    assert "; LCC: " in done.stderr
    assert len(list(results.iterdir())) == 4


def test_rules_of_comparison():
    ones = np.ones(4)
    assert graphalytics.are_close(ones * (1 + 0.9e-4), ones).all()
    assert not graphalytics.are_close(ones * (1 + 1.1e-4), ones).any()
    values, reference = np.array([math.inf, math.inf, 1, 0]), np.array([math.inf, 1, math.inf, 0])
    assert graphalytics.are_close(values, reference).tolist() == [True, False, False, True]
    equivalent = graphalytics.are_equivalent
    assert equivalent(np.array([0, 0, 1]), np.array([7, 7, 3])).all()
    assert not equivalent(np.array([0, 0, 1]), np.array([7, 3, 3])).all()
    assert not equivalent(np.array([0, 0, 0]), np.array([7, 7, 3])).all()
    assert not equivalent(np.array([0, 1, 2]), np.array([7, 7, 3])).all()


def test_wrong_inputs(example, tmp_path):
    text = example.read_text()
    example.write_text(text.replace("vertex-file", "vertices"))
    assert "0 lines 'graph.NAME.vertex-file = FILE'" in run(example, code=1).stderr
    missing = example.with_name("missing.properties")
    assert run(missing, code=1).stderr == f"error: {missing}: there is no such file\n"
    example.write_text(text.replace("meta.vertices = 11", "meta.vertices = 12"))
    assert "has 11 rows, and the properties" in run(example, code=1).stderr
    example.write_text(text + f"graph.{example.stem}.meta.edges = 3\n")
    assert f"{example.stem}.e: the file has" in run(example, code=1).stderr
    example.write_text(text.replace("bfs.source-vertex", "bfs.root"))
    assert "have no bfs.source-vertex" in run(example, "--task", "BFS", code=1).stderr
    example.write_text(text)
    edges, vertices = (tmp_path / f"{example.stem}.{ending}" for ending in "ev")
    for content, message in (
        ("1 2 0.5\n1 x 0.5\n", "e: destination 'x' in row 1 is not an integer"),
        ("1 2 0.5\n1 2 y\n", "e, line 2: "),
        ("1 2 0.5\n1 2\n", "e, line 2: the number of fields is 2, not 3"),
        ("1 2\n", "e: there is no third column"),
    ):
        edges.write_text(content)
        assert f"{example.stem}.{message}" in run(example, code=1).stderr
    edges.write_text("1 2 0.5\n")
    vertices.write_text("1\n2 3\n")
    assert f"{example.stem}.v, line 2: " in run(example, code=1).stderr
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mine").touch()
    assert "there are files already" in run(example, code=1).stderr


@pytest.mark.parametrize(
    ("key", "value", "task", "message"),
    [
        ("directed", "maybe", "WCC", "directed is 'maybe'; it must be true or false"),
        ("algorithms", "bfs, bogus", None, "algorithms is 'bfs, bogus'; 'bogus' is none of bfs"),
        ("algorithms", "", None, "algorithms is ''; '' is none of bfs, pr, wcc"),
        ("edge-file", "", "WCC", "edge-file is ''; name a file"),
        ("sssp.weight-property", "km", "SSSP", "weight-property is 'km'; it must be the first of"),
        ("pr.damping-factor", "abc", "PR", "damping-factor is 'abc'; it must be a number"),
        ("pr.damping-factor", "2.0", "PR", "pr.damping-factor is 2.0"),
        ("pr.num-iterations", "-1", "PR", "pr.num-iterations is -1"),
        ("cdlp.max-iterations", "-1", "CDLP", "cdlp.max-iterations is -1"),
        ("bfs.source-vertex", "x", "BFS", "source-vertex is 'x'; it must be an integer"),
        ("bfs.source-vertex", "99", "BFS", "bfs.source-vertex: vertex 99"),
        ("sssp.source-vertex", "99", "SSSP", "sssp.source-vertex: vertex 99"),
    ],
)  # fmt: skip
def test_wrong_values_of_properties(example, key, value, task, message):
    lines = example.read_text().splitlines()
    key = f"graph.{example.stem}.{key}"
    lines = [f"{key} = {value}" if line.startswith(f"{key} =") else line for line in lines]
    example.write_text("\n".join(lines))
    errors = run(example, *(["--task", task] if task else []), code=1).stderr
    assert errors.startswith(f"error: {example}: graph.{example.stem}.")
    assert message in errors
    assert "--" not in errors
    assert errors.count("\n") == 1
    assert not example.with_name("results").exists()


def test_directed_in_any_case(example):
    text = example.read_text()
    expected = graphalytics.read_properties(example).is_directed
    for old, new in (("true", "True"), ("false", "FALSE")):
        text = text.replace(f"directed = {old}", f"directed = {new}")
    example.write_text(text)
    assert graphalytics.read_properties(example).is_directed == expected


def test_malformed_properties(example):
    text = example.read_text()
    key = f"graph.{example.stem}.directed"
    for content, message in {
        text + f"{key} = true\n": f"the key {key} has a value already",
        text.replace(key, "directed"): "the key directed must begin with graph.",
        text.replace("graph.", ""): "0 lines 'graph.NAME.vertex-file = FILE'",
        text + "directed\n": "there is no '=' in 'directed'",
        text.encode() + b"\xff": "the text is not UTF-8",
    }.items():
        example.write_bytes(content if isinstance(content, bytes) else content.encode())
        errors = run(example, code=1).stderr
        assert errors.startswith(f"error: {example}")
        assert message in errors
        assert errors.count("\n") == 1


def test_malformed_edges(example):
    path = example.with_suffix(".e")
    text = path.read_text()
    path.write_text(text + "2 77 0.5\n")
    message = f"{path}: vertex 77 of the edge 2 77 is not in {example.with_suffix('.v')}"
    assert message in run(example, code=1).stderr
    path.write_text(text + "0x1 2 0.5\n")
    assert f"{path}: source '0x1' in row" in run(example, code=1).stderr
    path.write_text("1 2 -0.5\n")
    errors = run(example, code=1).stderr
    assert f"{path}: weight in row 0 of column 'weight' is -0.5" in errors
    assert "--unweighted" not in errors
    assert "--task names tasks that ignore weights" in errors
    path.write_text("1 2 far\n")
    errors = run(example, code=1).stderr
    assert f"{path}, line 1: 'far' in column 'weight' is not a number" in errors
    assert "--unweighted" not in errors
    assert "has weights by its property edge-properties.names" in errors
    path.unlink()
    assert f"error: {path}: there is no such file" in run(example, code=1).stderr


@pytest.mark.parametrize("text", ["", "\n", "\r\n \t\n", "# no edges\n"])
def test_graphs_without_edges(example, text):
    path = example.with_suffix(".e")
    path.write_bytes(text.encode())
    run(example, "--task", "WCC", "--task", "PR", "--task", "SSSP")
    lines = (example.with_name("results") / f"{example.stem}-WCC").read_text().splitlines()
    assert len({line.split(" ")[1] for line in lines}) == len(lines) == len(VERTICES)
    properties = example.read_text()
    example.write_text(properties + f"graph.{example.stem}.meta.edges = 17\n")
    shutil.rmtree(example.with_name("results"))
    assert f"{path}: the file has 0 rows, and" in run(example, code=1).stderr
    example.write_text(properties + f"graph.{example.stem}.meta.edges = 0\n")
    run(example)


@pytest.mark.parametrize(
    ("value", "message"),
    [("x", ": the value 'x' of vertex 9 is not "), ("", ", line 3: the number of fields is 1")],
)
@pytest.mark.parametrize("name", ["BFS", "PR"])
def test_malformed_references(example, name, value, message):
    path = example.with_name("reference") / f"{example.stem}-{name}"
    lines = path.read_text().splitlines()
    lines[2] = lines[2].split(" ")[0] + f" {value}"
    path.write_text("\n".join(lines))
    errors = run(example, "--task", name, "--reference", path.parent, code=1).stderr
    assert f"error: {path}{message}" in errors


def test_the_folder_of_the_output_is_missing(example, tmp_path):
    output = tmp_path / "missing" / "results"
    done = CliRunner().invoke(graphalytics.app, [str(example), "--output", str(output)])
    assert done.exit_code == 1
    assert f"the folder {output.parent} does not exist; create it first" in done.stderr


def test_graphs_without_weights(example, tmp_path):
    lines = [line for line in example.read_text().splitlines() if "edge-properties" not in line]
    example.write_text("\n".join(lines))
    edges = tmp_path / f"{example.stem}.e"
    edges.write_text(
        "".join(line.rsplit(" ", 1)[0] + "\n" for line in edges.read_text().splitlines())
    )
    run(example, "--reference", tmp_path / "reference", "--task", "PR", "--task", "CDLP")
    properties = graphalytics.read_properties(example)
    assert properties.tasks == list(TaskName)
    work = graphalytics.Workload(properties, graphalytics.Engine.cpu)
    assert not work.build_for(TaskName.BFS).weighted
    result = graphalytics.run_task(TaskName.SSSP, work)
    assert set(result["value"]) <= {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, math.inf}
    assert isinstance(result, pd.DataFrame)
