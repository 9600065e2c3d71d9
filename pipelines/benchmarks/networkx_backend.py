"""Time NetworkX's functions by this package's backend, by NetworkX itself and by other backends.

    python pipelines/benchmarks/networkx_backend.py [--graphs NAMES] [--output FILE]

`first_ms` includes the conversion of the graph, `run_ms` uses a graph that has been converted
before. All take turns in one process. nx-parallel and graphblas-algorithms take part if they are
installed and have the function.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record

GRAPHS = ("email-Eu-core", "ca-CondMat", "NY")
LIBRARIES = {  # name of the backend: of the library
    "networkx": "NetworkX",
    "rapidsgraph": "rapidsgraph",
    "parallel": "nx-parallel",
    "graphblas": "graphblas-algorithms",
}
MAX_PAIRED_VERTICES = 2_000  # for functions of all pairs
TOLERANCE = 1e-6  # of PageRank, which libraries iterate to the same mean change per vertex
ROUNDS, BUDGET = 5, 8.0  # rounds, and seconds per job


def calls(g: Any) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of each function that is timed."""
    nodes = list(g)
    source, target = max(nodes, key=g.degree), nodes[-1]
    functions: dict[str, tuple[Any, ...]] = {
        "pagerank": (),
        "single_source_shortest_path_length": (source,),
        "single_source_shortest_path": (source,),
        "single_source_dijkstra_path_length": (source,),
        "dijkstra_path": (source, target),
        "shortest_path": (source, target),
    }
    if g.is_directed():
        functions |= {"weakly_connected_components": (), "strongly_connected_components": ()}
    else:
        functions |= {"connected_components": (), "triangles": (), "clustering": ()}
        functions |= {"core_number": (), "jaccard_coefficient": (list(g.edges),)}
    if len(nodes) <= MAX_PAIRED_VERTICES:
        functions |= {"all_pairs_shortest_path_length": (), "average_shortest_path_length": ()}
    return functions


def build_graph(workload: Workload) -> Any:
    """Return the graph of a workload with weights in NetworkX."""
    import networkx

    g = networkx.DiGraph() if workload.directed else networkx.Graph()
    g.add_nodes_from(range(workload.vertices))
    ends = [to_host(values).tolist() for values in (workload.source, workload.destination)]
    g.add_weighted_edges_from(zip(*ends, to_host(workload.weight).tolist(), strict=True))
    if not workload.directed:  # core numbers are not defined with self-loops
        g.remove_edges_from(list(networkx.selfloop_edges(g)))
    return g


def largest_component(g: Any) -> Any:
    """Return the subgraph by which all nodes reach each other."""
    import networkx

    find = "strongly_connected_components" if g.is_directed() else "connected_components"
    return g.subgraph(max(getattr(networkx, find)(g), key=len)).copy()


def call(name: str, g: Any, arguments: tuple[Any, ...], backend: str, *, is_first: bool) -> Any:
    """Return the result of a function, complete."""
    import networkx

    if is_first:
        g.__networkx_cache__.clear()
    result = getattr(networkx, name)(g, *arguments, backend=backend)
    return list(result) if hasattr(result, "__next__") else result


def available(name: str) -> list[str]:
    """Return the backends that have a function."""
    import networkx

    info = networkx.utils.backends.backend_info
    functions = {backend: info.get(backend, {}).get("functions", {}) for backend in LIBRARIES}
    return [each for each in LIBRARIES if each == "networkx" or name in functions[each]]


def measure(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield a record per function and library; all take turns."""
    yield {"table": "graph"} | workload.facts()
    g = largest_component(build_graph(with_weights(workload, session.options.data)))
    clock, rounds = session.clock, 1 if session.options.quick else ROUNDS
    for name, arguments in calls(g).items():
        expected = call(name, g, arguments, "networkx", is_first=True)
        table: dict[str, Record] = {}
        jobs: dict[tuple[str, str], Callable[[], float]] = {}
        for backend in available(name):
            row: Record = {
                "table": "NetworkX", "graph": workload.name, "function": name,
                "library": LIBRARIES[backend],
            }  # fmt: skip
            table[backend] = row
            run = partial(call, name, g, arguments, backend)
            result = harness.try_call(row, partial(run, is_first=True))
            if "check" in row:
                continue
            row["check"] = check_result(name, g, result, expected) or "ok"
            for column, is_first in (("first_ms", True), ("run_ms", False)):
                jobs[backend, column] = partial(clock.ms, partial(run, is_first=is_first))
        times = timing.rounds(jobs, rounds, BUDGET)
        for (backend, column), values in times.items():
            table[backend][column] = timing.summary(values)
            ratio = timing.paired_ratio(times["networkx", "run_ms"], values)
            table[backend][column.replace("_ms", "_speedup")] = ratio
        yield from table.values()


def check_result(name: str, g: Any, result: Any, expected: Any) -> str | None:
    """Return how a result differs from NetworkX's, or None."""
    if name == "pagerank":
        is_same = result.keys() == expected.keys() and all(
            math.isclose(result[node], value, abs_tol=TOLERANCE) for node, value in expected.items()
        )
    elif name.endswith("components"):
        is_same = set(map(frozenset, result)) == set(map(frozenset, expected))
    elif name.endswith(("_path", "shortest_path")):  # others may be as short
        lengths = [measure_paths(g, paths, name) for paths in (result, expected)]
        is_same = lengths[0] == lengths[1]
    else:
        is_same = result == expected
    return None if is_same else "differs from NetworkX"


def measure_paths(g: Any, paths: Any, name: str) -> Any:
    """Return the length of a path, or those of a dict of paths."""
    if isinstance(paths, dict):
        return {node: measure_paths(g, path, name) for node, path in paths.items()}
    if "dijkstra" not in name:
        return len(paths)
    return sum(g[a][b].get("weight", 1) for a, b in itertools.pairwise(paths))


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options(__doc__, arguments)
    import networkx

    session = Session("networkx-backend", options)
    device = "gpu" if options.on_gpu else "cpu"
    with (
        networkx.config(warnings_to_ignore={"cache"}),
        networkx.config.backends.rapidsgraph(device=device),
    ):
        names = options.graphs or (("karate",) if options.quick else GRAPHS)
        for workload in session.graphs(names):
            session.attempt(workload.name, partial(measure, workload, session))
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
