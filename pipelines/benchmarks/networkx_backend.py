"""Time NetworkX's functions by this package's backend, by NetworkX itself and by other backends.

`first_ms` includes the conversion of the graph, `run_ms` uses a graph that has been converted
before. All take turns. nx-parallel and graphblas-algorithms take part if they are installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record

GRAPHS = ("email-Eu-core", "ca-CondMat", "NY")
LIBRARIES = {"networkx": "NetworkX", "rapidsgraph": "rapidsgraph", "parallel": "nx-parallel",
             "graphblas": "graphblas-algorithms"}  # by the name of the backend  # fmt: skip
MAX_PAIRED_VERTICES = 2_000  # for functions of all pairs


def calls(g: Any) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of each function that is timed."""
    source, target = max(g, key=g.degree), list(g)[-1]
    functions: dict[str, tuple[Any, ...]] = {"pagerank": ()}
    functions |= dict.fromkeys(("single_source_shortest_path_length", "single_source_shortest_path",
                                "single_source_dijkstra_path_length"), (source,))  # fmt: skip
    functions |= dict.fromkeys(("dijkstra_path", "shortest_path"), (source, target))
    if g.is_directed():
        functions |= {"weakly_connected_components": (), "strongly_connected_components": ()}
    else:
        names = "connected_components", "triangles", "clustering", "core_number"
        functions |= dict.fromkeys(names, ()) | {"jaccard_coefficient": (list(g.edges),)}
    if len(g) <= MAX_PAIRED_VERTICES:
        functions |= {"all_pairs_shortest_path_length": (), "average_shortest_path_length": ()}
    return functions


def build_graph(workload: Workload) -> Any:
    """Return the largest (strong) component of a workload as a graph of NetworkX."""
    import networkx

    g = networkx.DiGraph() if workload.directed else networkx.Graph()
    ends = [to_host(values).tolist() for values in (workload.source, workload.destination)]
    g.add_weighted_edges_from(zip(*ends, to_host(workload.weight).tolist(), strict=True))
    if not workload.directed:  # core numbers are not defined with self-loops
        g.remove_edges_from(list(networkx.selfloop_edges(g)))
    find = "strongly_connected_components" if g.is_directed() else "connected_components"
    return g.subgraph(max(getattr(networkx, find)(g), key=len)).copy()


def call(name: str, g: Any, arguments: tuple[Any, ...], backend: str, *, is_first: bool) -> Any:
    import networkx

    if is_first:
        g.__networkx_cache__.clear()
    result = getattr(networkx, name)(g, *arguments, backend=backend)
    return list(result) if hasattr(result, "__next__") else result


def measure(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield the facts of a graph, and a record per function and library."""
    import networkx

    yield {"table": "graph"} | workload.facts()
    g = build_graph(with_weights(workload, session.options.data))
    backend = networkx.config.backends.rapidsgraph
    with (
        networkx.config(warnings_to_ignore={"cache"}),
        backend(device="gpu" if session.on_gpu else "cpu"),
    ):
        for name, arguments in calls(g).items():
            about = {"table": "NetworkX", "graph": workload.name, "function": name}
            yield from measure_function(about, g, arguments, session)


def measure_function(
    about: Record, g: Any, arguments: tuple[Any, ...], session: Session
) -> Iterable[Record]:
    """Return a record of a function per library; all take turns."""
    import networkx

    clock, name, info = session.clock, about["function"], networkx.utils.backends.backend_info
    expected = call(name, g, arguments, "networkx", is_first=True)
    rows, jobs = {}, {}
    for backend, library in LIBRARIES.items():
        if backend != "networkx" and name not in info.get(backend, {}).get("functions", {}):
            continue
        rows[backend] = row = about | {"library": library}
        run = partial(call, name, g, arguments, backend)
        result = harness.try_call(row, partial(run, is_first=True))
        if "check" not in row:
            is_same = comparable(name, result) == comparable(name, expected)
            row["check"] = "ok" if is_same else "differs from NetworkX"
            jobs[backend, "first"] = partial(clock.ms, partial(run, is_first=True))
            jobs[backend, "run"] = partial(clock.ms, partial(run, is_first=False))
    times = timing.rounds(jobs, session.effort.rounds, session.effort.budget)
    for (backend, column), values in times.items():
        rows[backend][f"{column}_ms"] = timing.summary(values)
        ratio = timing.paired_ratio(times["networkx", "run"], values)
        rows[backend][f"{column}_speedup"] = ratio
    return rows.values()


def comparable(name: str, result: Any) -> Any:
    """Return what correct results have in common: of several shortest paths, ends or lengths.

    Tests of the backend compare values of PageRank, here it is the order of the first ones.
    """
    if name == "pagerank":
        return sorted(result, key=result.get)[-3:]
    if name.endswith("components"):
        return set(map(frozenset, result))
    if name in ("dijkstra_path", "shortest_path"):
        return result[0], result[-1]
    if name == "single_source_shortest_path":
        return {node: len(path) for node, path in result.items()}
    return result


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    for workload in session.graphs(options.graphs or (["karate"] if options.quick else GRAPHS)):
        yield workload.name, partial(measure, workload, session)


SUITE = Suite("networkx-backend", measurements, effort=Effort(5, budget=8))
