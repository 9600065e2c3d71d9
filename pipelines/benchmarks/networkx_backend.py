"""Time NetworkX's functions by this package's backend, by NetworkX itself and by other backends.

A time includes the conversion of the graph, or is that of a graph that has been converted before.
nx-parallel and graphblas-algorithms take part if they are installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import Entry
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import Task

GRAPHS = ("email-Eu-core", "ca-CondMat", "NY")
LIBRARIES = {"rapidsgraph": "rapidsgraph", "networkx": "NetworkX", "parallel": "nx-parallel",
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
            yield from comparisons.measure(make_task(name, g, arguments), workload, session)


def make_task(name: str, g: Any, arguments: tuple[Any, ...]) -> Task:
    """Return the task of a function, whose result by NetworkX itself is right."""
    import networkx

    info, entries = networkx.utils.backends.backend_info, []
    for backend, library in LIBRARIES.items():
        if backend == "networkx" or name in info.get(backend, {}).get("functions", {}):
            for converts in (True, False):
                run = partial(call, name, g, arguments, backend, is_first=converts)
                entries.append(Entry(library, name, name, lambda _, case, run=run: run(),
                                     columns={"conversion": converts}))  # fmt: skip
    expected = comparable(name, call(name, g, arguments, "networkx", is_first=True))
    return Task(
        "NetworkX", "networkx-backend", lambda case: (expected, {}),
        lambda answer, reference, _: (
            None if comparable(name, answer) == reference else "wrong: NetworkX's result differs"),
        (), (), entries=entries,
    )  # fmt: skip


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
    for workload in session.graphs(options.graphs or (["rmat6u"] if options.quick else GRAPHS)):
        yield workload.name, partial(measure, workload, session)


SUITE = Suite("networkx-backend", measurements, effort=Effort(5, budget=8))
