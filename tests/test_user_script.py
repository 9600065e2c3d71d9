"""A typed script that uses the public API passes mypy in strict mode, and its mistakes do not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SCRIPT = '''
"""Rank, search and cluster the packages of Debian."""

from pathlib import Path

import rapidsgraph as rg


def rank(path: Path, seeds: dict[str, float]) -> list[str]:
    edges = rg.read_edges(path, device="cpu")
    graph = rg.Graph(edges, self_loops="drop", multi_edges="first")
    ranks = rg.pagerank(graph, personalization=seeds, damping=0.9, method="auto")
    names: list[str] = ranks.nlargest(5, "pagerank")["vertex"].tolist()
    return names


def reach(graph: rg.Graph, source: str, target: str) -> int:
    levels = rg.bfs(graph, source, depth_limit=3)
    path = rg.shortest_path(graph, source, target, weighted=False)
    needed = rg.estimate_memory(graph, "bfs").needed
    print(graph.num_vertices, graph.report.rows_merged, graph.device, needed)
    return len(levels) + len(path)


def cluster(graph: rg.Graph, epsilons: list[float]) -> int:
    index = rg.ScanIndex(graph)
    table = index.sweep(epsilons, [3, 4])
    roles = rg.scan(graph, epsilon=0.6, mu=3)
    best = index.query(epsilon=0.5, mu=3)
    return len(table) + len(roles) + len(best)


def main() -> None:
    path = rg.datasets.debian_path()
    graph = rg.Graph(rg.datasets.debian())
    try:
        print(rank(path, {"git": 1.0}), reach(graph, "git", "gpgv"), cluster(graph, [0.5, 0.6]))
    except rg.VertexNotFoundError as error:
        print(error.parameter, error.value, error.hint)


if __name__ == "__main__":
    main()
'''
LIBRARIES = (
    "dask", "distributed", "matplotlib", "networkx", "numba", "numpy", "pandas", "pyarrow", "scipy",
    "typer",
)  # fmt: skip
MISTAKES = """
import rapidsgraph as rg

graph = rg.Graph(rg.datasets.debian(), self_loops="remove")  # no such policy
rg.pagerank(graph, damping="0.9")  # text
rg.pagerank(graph, alpha=0.9)  # another library's keyword
graph.num_vertexes
rg.read_edges("edges.csv", device="cuda")
rg.estimate_memory(graph, "page_rank")
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """The errors of mypy in strict mode in both scripts, by file, and all output."""
    pytest.importorskip("mypy", reason="mypy is of the extra `dev`, which CI installs")
    folder = tmp_path_factory.mktemp("scripts")
    names = {"script.py": SCRIPT, "mistakes.py": MISTAKES}
    for name, text in names.items():
        (folder / name).write_text(text)
    # Types of other libraries are Any, since mypy takes 11 s for those libraries.
    skipped = ",".join(f"{name}.*" for name in LIBRARIES)
    settings = f"[mypy]\n[mypy-{skipped}]\nfollow_imports=skip\nfollow_imports_for_stubs=True\n"
    (folder / "mypy.ini").write_text(settings)
    options = ["--strict", "--config-file", "mypy.ini", "--cache-dir", str(folder / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *names],
        cwd=folder,
        env={"MYPYPATH": str(ROOT), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    lines = [line.partition(": error: ")[::2] for line in done.stdout.splitlines()]
    return {
        name: [text for place, text in lines if text and place.startswith(name)] for name in names
    } | {"output": done.stdout}


def test_mypy_accepts_a_script_of_a_user(errors):
    assert errors["script.py"] == []


def test_types_of_the_public_api_are_known(errors):
    """An annotation that mypy cannot resolve is Any to a user, without a message."""
    assert not re.findall(r"rapidsgraph/.*is not defined", errors["output"])


def test_mypy_finds_mistakes(errors):
    expected = [
        'Argument "self_loops" to "Graph" has incompatible type',
        'Argument "damping" to "pagerank" has incompatible type',
        'Unexpected keyword argument "alpha" for "pagerank"',
        '"Graph" has no attribute "num_vertexes"',
        'Argument "device" to "read_edges" has incompatible type',
        'Argument 2 to "estimate_memory" has incompatible type',
    ]
    assert len(errors["mistakes.py"]) == len(expected), errors["mistakes.py"]
    for found, text in zip(errors["mistakes.py"], expected):
        assert found.startswith(text)


def test_the_script_runs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "git" in done.stdout
