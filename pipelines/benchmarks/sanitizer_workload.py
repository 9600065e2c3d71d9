"""The workloads that run under compute-sanitizer: every CUDA kernel, with inputs for each branch.

Each workload compares the results of both devices. Without a GPU both are the CPU, so that the
calls themselves can be tested: ``sanitizer.py --work`` runs them without a tool.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.answers import result_arrays
from pipelines.benchmarks.layers import CALLS, memory_limit, open_store
from rapidsgraph import device, generate
from rapidsgraph.algorithms import similarity, triangles
from rapidsgraph.algorithms.neighbor_similarity import KINDS, Kind
from rapidsgraph.algorithms.scan import ROLES
from rapidsgraph.device.arrays import Array
from rapidsgraph.distributed.core_number import find_core_numbers
from rapidsgraph.distributed.host import HostCommunicator
from rapidsgraph.distributed.partition import Partition, group_by_owner
from rapidsgraph.distributed.traversal import Search, Traversal
from rapidsgraph.graph.csr import Adjacency
from rapidsgraph.graph.local_graph import build_graph

PARTITION_BYTES = 2**15
METHODS = ("auto", "edge", "node", "contribution", "warp")

Columns = dict[str, Array]
Run = Callable[[Columns], Any]


def draw_edges(hub: int = 7000, vertices: int = 9001) -> tuple[np.ndarray, np.ndarray, int]:
    """Return edges with a hub, lists of every length, isolated vertices and parallel edges."""
    random = np.random.default_rng(1)
    sources = [np.arange(1, hub), random.integers(0, vertices - 500, 30_000)]
    destinations = [np.zeros(hub - 1, int), random.integers(0, 1500, 30_000) ** 2 // 1600]
    sources += [random.integers(0, 3000, 1200), random.integers(0, vertices - 500, 4000)]
    destinations += [np.full(1200, 3), random.integers(0, 2000, 4000)]
    return np.concatenate(sources), np.concatenate(destinations), vertices


def gpu_module() -> Any:
    """Return CuPy, or NumPy without a GPU."""
    return np if device.gpu_problem() else device.import_cupy()


def run_on_both(columns: Columns, run: Run) -> Iterator[Columns]:
    """Yield the result of a function on a CPU and on the GPU, as NumPy arrays."""
    for xp in (np, gpu_module()):
        answer = run({name: xp.asarray(values) for name, values in columns.items()})
        yield {name: device.to_host(values) for name, values in answer.items()}


def compare(columns: Columns, run: Run) -> None:
    """Run on both devices, whose results must be equal."""
    on_cpu, on_gpu = run_on_both(columns, run)
    assert on_cpu.keys() == on_gpu.keys()
    for name, values in on_cpu.items():
        np.testing.assert_array_equal(values, on_gpu[name], err_msg=name)


def run_pagerank() -> None:
    """Run a few iterations of each PageRank method, and the generators."""
    sources, destinations, vertices = draw_edges()
    weights = np.random.default_rng(2).random(sources.size)
    names = np.arange(vertices) * 3 - 7  # gaps, so that names are looked up
    frame = {"source": names[sources], "destination": names[destinations], "weight": weights}
    start = {"vertex": names[:50], "value": np.arange(1.0, 51.0)}

    def compare_methods(frame: Columns, graph_options: dict, **options: Any) -> None:
        def run(columns: Columns) -> Columns:
            graph = build_graph(columns, **graph_options)
            return rg.pagerank(graph, tolerance=0, max_iterations=3, **options)

        on_cpu, on_gpu = (answer["pagerank"] for answer in run_on_both(frame, run))
        single = options.get("precision") == "single"
        np.testing.assert_allclose(on_cpu, on_gpu, atol=1e-6 if single else 1e-13, rtol=0)

    for weight, multi_edges in ((None, "first"), ("weight", "sum")):
        for directed in (True, False):
            graph_options = {
                "weight": weight, "directed": directed, "multi_edges": multi_edges,
                "vertices": names,
            }  # fmt: skip
            for method in METHODS:
                compare_methods(frame, graph_options, method=method)
    compare_methods(frame, graph_options, precision="single")
    compare_methods(frame, graph_options, personalization=start, start=start)
    compare_methods(lattice_columns(), {})  # narrow lists alone
    generate.rmat_arrays(gpu_module(), 10, 8, seed=4, weights=(1, 2))
    generate.uniform_arrays(gpu_module(), 1000, 5000, seed=5)


def lattice_columns() -> Columns:
    """Return a grid whose weights differ by orders of magnitude."""
    sources, destinations, weights = generate.grid_arrays(
        np, 90, 90, keep=0.8, seed=3, weights=(0, 1)
    )
    return {"source": sources, "destination": destinations, "weight": weights**8}


def search_inputs() -> dict[str, tuple[Columns, list[int]]]:
    """Return the inputs of traversals and components: {name: (columns, sources)}."""
    sources, destinations, _vertices = draw_edges()
    ends = {"source": sources, "destination": destinations}
    hub = ends | {"weight": np.random.default_rng(2).random(sources.size)}
    sources_on_path, destinations_on_path = np.arange(300), np.arange(1, 301)
    path = {
        "source": sources_on_path, "destination": destinations_on_path,
        "weight": np.ones(300, np.int64),
    }  # fmt: skip
    reverse = {"source": destinations, "destination": sources}
    return {
        "into the hub": (hub, [1]),
        "hub": (hub | reverse, [0]),
        "many sources": (hub | reverse, list(range(500, 4000))),
        "equal weights": (hub | {"weight": np.ones(sources.size, np.int32)}, [3, 8]),
        "no weight": (reverse | {"weight": np.where(hub["weight"] < 0.7, 0, hub["weight"])}, [0]),
        "path": (path, [0]),
        "path, no weight": (path | {"weight": np.zeros(300)}, [0]),
        "lattice": (lattice_columns(), [0, 5]),
    }


def run_traversals() -> None:
    """Run BFS and SSSP of frames and graphs, undirected and within limits."""
    for columns, start in search_inputs().values():
        graph_of = {
            "frame": lambda columns: columns,
            "directed": partial(build_graph, weight="weight", multi_edges="min"),
            "undirected": partial(build_graph, weight="weight", multi_edges="min", directed=False),
        }
        for make in graph_of.values():
            compare(columns, lambda edges: rg.bfs(make(edges), start))  # noqa: B023
            compare(columns, lambda edges: rg.sssp(make(edges), start))  # noqa: B023
        compare(columns, lambda edges: rg.bfs(edges, start, depth_limit=2, predecessors=False))  # noqa: B023
        compare(columns, lambda edges: rg.sssp(edges, start, cutoff=0.4, predecessors=False))  # noqa: B023


def run_components() -> None:
    """Run components on adjacency in one direction, in both, and undirected."""

    def with_both(columns: Columns) -> Any:
        graph = build_graph(columns)
        _ = graph.csc
        return rg.connected_components(graph)

    for columns, _ in search_inputs().values():
        compare(columns, rg.connected_components)
        compare(columns, with_both)
        compare(columns, lambda edges: rg.connected_components(build_graph(edges, directed=False)))
        compare(columns, lambda edges: rg.connected_components(edges, strong=True))


def clustering_inputs() -> dict[str, Columns]:
    """Return the inputs of similarities and SCAN: {name: columns}."""
    random = np.random.default_rng(7)
    spread, columns = random.integers(0, 3000, (2, 9000)), {}
    dense = random.integers(0, 400, (2, 40_000))  # lists of 150 and more
    ends = [np.concatenate(ends) for ends in zip(spread, dense)]
    columns["lists of every length"] = dict(zip(("source", "destination"), ends))
    for name, (search_columns, _) in search_inputs().items():
        if name in ("hub", "path", "lattice"):
            columns[name] = {end: search_columns[end] for end in ("source", "destination")}
    return columns


def run_cores_and_labels() -> None:
    """Run core numbers, and label propagation with lists of every length and parallel arcs."""
    for columns in clustering_inputs().values():
        compare(columns, rg.core_number)
        for policies in ({}, {"directed": False}, {"multi_edges": "keep"}):
            compare(columns, lambda edges: rg.label_propagation(build_graph(edges, **policies)))  # noqa: B023


def run_triangles() -> None:
    """Run triangles, coefficients, and similarities of edges and of pairs."""
    most = triangles.MAX_BLOCK_TABLE_SIZE
    for columns in clustering_inputs().values():
        for slots in (most, 64):  # in small tables long lists have several parts
            triangles.MAX_BLOCK_TABLE_SIZE = slots
            compare(columns, rg.triangle_count)
            for policies in ({}, {"directed": False}, {"multi_edges": "keep"}):
                compare(columns, partial(compute_coefficients, **policies))
        triangles.MAX_BLOCK_TABLE_SIZE = most
        for kind in KINDS:
            compare(columns, partial(rg.neighbor_similarity, kind=kind))
            compare(columns, partial(compare_pairs, kind=kind))


def compute_coefficients(columns: Columns, **policies: Any) -> Columns:
    """Return the clustering coefficients of a graph with these policies."""
    return rg.clustering_coefficient(build_graph(columns, **policies))


def compare_pairs(columns: Columns, kind: Kind) -> Columns:
    """Return the similarity of pairs of a source and a destination of different edges."""
    pairs = {"source": columns["source"][:5000], "destination": columns["destination"][-5000:]}
    return rg.neighbor_similarity(columns, pairs, kind=kind)


def run_clustering() -> None:
    """Run similarities by both methods and table sizes, SCAN, an index, and SSCA#2."""
    ssca2 = [generate.ssca2_arrays(xp, 3000, 60, seed=4)[:2] for xp in (np, gpu_module())]
    for on_cpu, on_gpu in zip(*ssca2):
        np.testing.assert_array_equal(on_cpu, device.to_host(on_gpu))
    cases = clustering_inputs() | {"cliques": dict(zip(("source", "destination"), ssca2[0]))}
    most = similarity.MAX_BLOCK_TABLE_SIZE
    for columns in cases.values():
        for slots in (most, 64):  # in small tables long lists have several parts
            similarity.MAX_BLOCK_TABLE_SIZE = slots
            compare(columns, rg.structural_similarity)
        similarity.MAX_BLOCK_TABLE_SIZE = most
        compare(columns, partial(rg.structural_similarity, method="gpuscan"))
        for epsilon, mu in ((0.2, 2), (0.5, 3), (0.7, 2), (0.9, 1)):
            options = {"epsilon": epsilon, "mu": mu, "memberships": True}
            compare(columns, lambda edges: role_codes(rg.scan(edges, **options)))  # noqa: B023
            compare(columns, lambda edges: role_codes(rg.scan(edges, **options, method="gpuscan")))  # noqa: B023
            compare(columns, lambda edges: role_codes(rg.ScanIndex(edges).query(**options)))  # noqa: B023
        sweeps = run_on_both(columns, lambda edges: rg.ScanIndex(edges).sweep([0.3, 0.6], [2, 5]))
        on_cpu, on_gpu = sweeps
        for name, values in on_cpu.items():
            np.testing.assert_allclose(values, on_gpu[name], rtol=1e-12, atol=1e-12, err_msg=name)


def role_codes(answer: Any) -> Columns:
    """Return a result of scan with roles as codes, which CuPy arrays have."""
    roles = answer["role"]
    if roles.dtype == object:
        roles = np.array([ROLES.index(role) for role in roles], np.int8)
    return {**answer, "role": roles}


def run_distributed() -> None:
    """Distribute arcs among ranks, search partitions in supersteps, and peel them in rounds."""
    inputs = search_inputs()
    for directed, num_ranks in ((True, 3), (False, 2)):
        arcs = partial(arcs_by_owner, directed=directed, num_ranks=num_ranks)
        compare(inputs["into the hub"][0], arcs)
    columns, (start, *_) = inputs["hub"]
    for weight in (None, "weight"):
        for layout in ("csr", "csc"):
            options = {"start": start, "weight": weight, "layout": layout}
            compare(columns, partial(search_in_supersteps, **options))
    for columns in clustering_inputs().values():
        compare(columns, peel_in_rounds)


def arcs_by_owner(columns: Columns, directed: bool, num_ranks: int) -> Columns:
    """Return the arcs of a graph, sorted; parallel arcs keep the order that owners receive."""
    sources, destinations = columns["source"], columns["destination"]
    num_vertices = int(max(sources.max(), destinations.max())) + 1
    bounds = [num_vertices * rank // num_ranks for rank in range(num_ranks + 1)]
    edges = [sources.astype(np.int32), destinations.astype(np.int32), columns["weight"]]
    arcs, counts = group_by_owner(edges, bounds, [sources.size], directed, drop_loops=True)
    keys, neighbors, weights = map(device.to_host, arcs)
    order = np.lexsort([neighbors, keys])
    columns = {"source": keys, "destination": neighbors, "weight": weights}
    return {name: values[order] for name, values in columns.items()} | {"counts": counts}


def search_in_supersteps(columns: Columns, start: int, weight: str | None, layout: str) -> Columns:
    """Return distances and predecessors of a search by two ranks, which are threads.

    Ranks have the adjacency by destination, too, unless `layout` is "csr".
    """
    graph = build_graph(columns, weight=weight, multi_edges="min")
    num_vertices, is_weighted = graph.num_vertices, weight is not None
    csr, csc = graph.csr, graph.csc if layout == "csc" else None
    bounds, ids = (0, num_vertices // 2, num_vertices), graph.xp.asarray([start], np.int32)
    search = Search(is_weighted, is_weighted, True, np.inf, False, 0)

    def search_rank(communicator: HostCommunicator) -> Columns:
        own = slice(*bounds[communicator.rank : communicator.rank + 2])
        rows = select_rows(csr, own, is_weighted)
        columns = None if csc is None else select_rows(csc, own, is_weighted)
        traversal = Traversal(communicator, rows, columns, bounds, search)
        traversal.find_distances(ids, lambda step, text: None)
        distances = communicator.all_gather(traversal.distances[own])
        predecessors = traversal.find_predecessors(ids, distances)
        return {"distance": distances, "predecessor": communicator.all_gather(predecessors)}

    return run_two_ranks(search_rank)


def peel_in_rounds(columns: Columns) -> Columns:
    """Return the core numbers that two ranks compute, which are threads."""
    graph = build_graph(columns, directed=False)
    adjacency, middle = similarity.neighborhoods(graph), graph.num_vertices // 2

    def peel_rank(communicator: HostCommunicator) -> Columns:
        own = (slice(0, middle), slice(middle, graph.num_vertices))[communicator.rank]
        cores = find_core_numbers(communicator, select_rows(adjacency, own, False))
        return {"core": communicator.all_gather(cores[own])}

    return run_two_ranks(peel_rank)


def run_two_ranks(run_rank: Callable[[HostCommunicator], Columns]) -> Columns:
    """Return the result of rank 0 of two threads."""

    def serve(rank: int, connections: list[socket.socket | None]) -> Columns:
        communicator = HostCommunicator(rank, connections)
        with communicator.serve(1):
            return run_rank(communicator)

    first, second = socket.socketpair()
    with first, second, ThreadPoolExecutor(2) as threads:
        result, _ = threads.map(serve, range(2), ([None, first], [second, None]))
    return result


def select_rows(adjacency: Adjacency, rows: slice, weighted: bool) -> Partition:
    """Return the partition that has some rows of an adjacency."""
    first, last = device.to_host(adjacency.offsets[[rows.start, rows.stop]]).tolist()
    arcs = slice(first, last)
    selection = Adjacency(
        adjacency.offsets.clip(first, last) - first,
        adjacency.neighbors[arcs],
        adjacency.weights[arcs],
    )
    return Partition(selection, rows.start, rows.stop, weighted)


def run_layered(case: str) -> None:
    """Build, save, open, search and rank layered edge lists, with and without weights."""
    columns, (root, *_) = search_inputs()[case]
    for weight, directed in ((None, True), ("weight", False)):
        how = {"root": root, "weight": weight, "directed": directed}
        compare(columns, partial(layered_results, **how))
        on_cpu, on_gpu = run_on_both(columns, partial(layered_pagerank, **how))
        for name, values in on_cpu.items():
            np.testing.assert_allclose(values, on_gpu[name], rtol=1e-12, err_msg=name)


def layered_lists(
    columns: Columns, folder: str, root: int, weight: str | None, directed: bool
) -> dict[str, tuple[rg.LayeredEdgeList, bool]]:
    """Return {name: (layered edge list, whether it runs within a limit)}."""
    graph = build_graph(columns, weight=weight, multi_edges="min", directed=directed)
    built = rg.LayeredEdgeList.build(graph, root, partition_bytes=PARTITION_BYTES)
    built.save(Path(folder) / "store")
    stored = open_store(Path(folder) / "store", device.array_module(columns["source"]))
    return {"built": (built, False), "stored": (stored, True)}


def layered_results(
    columns: Columns, algorithms: tuple[str, ...] = ("bfs", "sssp"), **how: Any
) -> Columns:
    """Return the results and edges of a list in memory, and of its store within a limit."""
    xp = device.array_module(columns["source"])
    results: Columns = {}

    def add(name: str, answer: Any) -> None:
        arrays = result_arrays(answer, xp)
        results.update((f"{name} {key}", values) for key, values in arrays.items())

    with tempfile.TemporaryDirectory() as folder:
        for name, (layered, is_limited) in layered_lists(columns, folder, **how).items():
            for algorithm in algorithms:
                limit = memory_limit(layered, algorithm) if is_limited else None
                add(f"{name} {algorithm}", CALLS[algorithm](layered, memory_limit=limit))
            if algorithms != PAGERANK_ONLY:
                add(f"{name} edges", layered.edges())
    return results


PAGERANK_ONLY = ("pagerank",)
layered_pagerank = partial(layered_results, algorithms=PAGERANK_ONLY)

WORKLOADS = {
    "pagerank": run_pagerank,
    "traversals": run_traversals,
    "components": run_components,
    "clusters": run_clustering,
    "cores and labels": run_cores_and_labels,
    "triangles": run_triangles,
    "distributed": run_distributed,
    "layers-hub": partial(run_layered, "hub"),
    "layers-free": partial(run_layered, "no weight"),
    "layers-path": partial(run_layered, "path, no weight"),
    "layers-lattice": partial(run_layered, "lattice"),
}


def run_workloads(names: Iterable[str], with_pool: bool = True) -> None:
    """Run some of `WORKLOADS`, without CuPy's memory pool on request."""
    cupy = gpu_module()
    if cupy is not np:
        # The tools' instrumentation takes registers, so that some of the blocks that fit without
        # it may never start, and the others would wait for them at the barrier. One block per
        # multiprocessor always fits.
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        device.launcher.resident_blocks = lambda *_: multiprocessors
        if not with_pool:
            cupy.cuda.set_allocator(None)
    for name in names:
        WORKLOADS[name]()
    if cupy is not np:
        cupy.cuda.Device().synchronize()
