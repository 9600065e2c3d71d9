"""What runs under compute-sanitizer: every CUDA kernel, on graphs that reach each branch.

Each part compares the answers of both devices, so it needs a GPU and CuPy.
"""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from rapidsgraph.graph.local_graph import LocalGraph

LIST_BYTES = 2**15  # of a partition
METHODS = ("auto", "edge", "node", "contribution", "warp")


def edges(hub=7000, vertices=9001):
    """A hub that needs chunks, rows of every length, short lists, idle vertices, parallel edges."""
    random = np.random.default_rng(1)
    sources = [np.arange(1, hub), random.integers(0, vertices - 500, 30_000)]
    destinations = [np.zeros(hub - 1, int), random.integers(0, 1500, 30_000) ** 2 // 1600]
    sources += [random.integers(0, 3000, 1200), random.integers(0, vertices - 500, 4000)]
    destinations += [np.full(1200, 3), random.integers(0, 2000, 4000)]
    return np.concatenate(sources), np.concatenate(destinations), vertices


def on_both(columns, run):
    """What `run` makes of the columns on a CPU and on the GPU, as NumPy arrays."""
    import cupy

    for xp in (np, cupy):
        answer = run({name: xp.asarray(values) for name, values in columns.items()})
        yield {name: cupy.asnumpy(values) for name, values in answer.items()}


def same(columns, run):
    """Run on both devices; the answers must be equal."""
    on_cpu, on_gpu = on_both(columns, run)
    assert on_cpu.keys() == on_gpu.keys()
    for name, values in on_cpu.items():
        np.testing.assert_array_equal(values, on_gpu[name], err_msg=name)


def ranks():
    """PageRank, a few iterations of each method; and the generators, of which it takes a grid."""
    import cupy

    import rapidsgraph as rg
    from rapidsgraph import generate

    sources, destinations, vertices = edges()
    weights = np.random.default_rng(2).random(sources.size)
    everyone = np.arange(vertices) * 3 - 7  # gaps, so that names are looked up
    frame = {"source": everyone[sources], "destination": everyone[destinations], "weight": weights}
    start = {"vertex": everyone[:50], "value": np.arange(1.0, 51.0)}

    def same_ranks(frame, graph_options, **options):
        def run(columns):
            graph = LocalGraph(columns, **graph_options)
            return rg.pagerank(graph, tolerance=0, max_iterations=3, **options)

        found = [answer["pagerank"] for answer in on_both(frame, run)]
        single = options.get("precision") == "single"
        np.testing.assert_allclose(*found, atol=1e-6 if single else 1e-13, rtol=0)

    for weight, multi_edges in ((None, "first"), ("weight", "sum")):
        for directed in (True, False):
            graph_options = {
                "weight": weight, "directed": directed, "multi_edges": multi_edges,
                "vertices": everyone,
            }  # fmt: skip
            for method in METHODS:
                same_ranks(frame, graph_options, method=method)
    same_ranks(frame, graph_options, precision="single")
    same_ranks(frame, graph_options, personalization=start, start=start)
    same_ranks(lattice(), {})  # narrow lists alone
    generate.rmat_arrays(cupy, 10, 8, seed=4, weights=(1, 2))
    generate.uniform_arrays(cupy, 1000, 5000, seed=5)


def lattice():
    """A grid's columns, with weights that differ by orders of magnitude."""
    from rapidsgraph import generate

    sources, destinations, weights = generate.grid_arrays(
        np, 90, 90, keep=0.8, seed=3, weights=(0, 1)
    )
    return {"source": sources, "destination": destinations, "weight": weights**8}


def searches():
    """What traversals and components run on: {name: (columns, sources)}."""
    sources, destinations, vertices = edges()
    ends = {"source": sources, "destination": destinations}
    hub = ends | {"weight": np.random.default_rng(2).random(sources.size)}
    into, out_of = np.arange(300), np.arange(1, 301)
    path = {"source": into, "destination": out_of, "weight": np.ones(300, np.int64)}
    back = {"source": destinations, "destination": sources}
    return {
        "into the hub": (hub, [1]),
        "hub": (hub | back, [0]),
        "many sources": (hub | back, list(range(500, 4000))),
        "equal weights": (hub | {"weight": np.ones(sources.size, np.int32)}, [3, 8]),
        "no weight": (back | {"weight": np.where(hub["weight"] < 0.7, 0, hub["weight"])}, [0]),
        "path": (path, [0]),
        "path, no weight": (path | {"weight": np.zeros(300)}, [0]),
        "lattice": (lattice(), [0, 5]),
    }


def traversals():
    """BFS and SSSP of frames and of graphs, without direction and within limits."""
    import rapidsgraph as rg

    for columns, start in searches().values():
        graph_of = {
            "frame": lambda columns: columns,
            "directed": partial(LocalGraph, weight="weight", multi_edges="min"),
            "undirected": partial(LocalGraph, weight="weight", multi_edges="min", directed=False),
        }
        for make in graph_of.values():
            same(columns, lambda given: rg.bfs(make(given), start))  # noqa: B023
            same(columns, lambda given: rg.sssp(make(given), start))  # noqa: B023
        same(columns, lambda given: rg.bfs(given, start, depth_limit=2, predecessors=False))  # noqa: B023
        same(columns, lambda given: rg.sssp(given, start, cutoff=0.4, predecessors=False))  # noqa: B023


def components():
    """Components by lists of one direction, of both, and without direction."""
    import rapidsgraph as rg

    def with_both(columns):
        graph = LocalGraph(columns)
        _ = graph.csc
        return rg.connected_components(graph)

    for columns, _ in searches().values():
        same(columns, rg.connected_components)
        same(columns, with_both)
        same(columns, lambda given: rg.connected_components(LocalGraph(given, directed=False)))


def communities():
    """What similarities and SCAN run on: {name: columns}."""
    random = np.random.default_rng(7)
    spread, columns = random.integers(0, 3000, (2, 9000)), {}
    dense = random.integers(0, 400, (2, 40_000))  # lists of 150 and more
    ends = [np.concatenate(ends) for ends in zip(spread, dense)]
    columns["lists of every length"] = dict(zip(("source", "destination"), ends))
    for name, (given, _) in searches().items():
        if name in ("hub", "path", "lattice"):
            columns[name] = {end: given[end] for end in ("source", "destination")}
    return columns


def clusters():
    """Similarities by both methods, with tables of every size; SCAN, an index, and SSCA#2."""
    import cupy

    import rapidsgraph as rg
    from rapidsgraph import generate
    from rapidsgraph.algorithms import similarity

    ssca2 = [generate.ssca2_arrays(xp, 3000, 60, seed=4)[:2] for xp in (np, cupy)]
    for on_cpu, on_gpu in zip(*ssca2):
        np.testing.assert_array_equal(on_cpu, cupy.asnumpy(on_gpu))
    cases = communities() | {"cliques": dict(zip(("source", "destination"), ssca2[0]))}
    most = similarity.MOST_SLOTS
    for columns in cases.values():
        for slots in (most, 64):  # in small tables long lists have several parts
            similarity.MOST_SLOTS = slots
            same(columns, rg.structural_similarity)
        similarity.MOST_SLOTS = most
        same(columns, partial(rg.structural_similarity, method="gpuscan"))
        for epsilon, mu in ((0.2, 2), (0.5, 3), (0.7, 2), (0.9, 1)):
            chosen = {"epsilon": epsilon, "mu": mu, "memberships": True}
            same(columns, lambda given: codes(rg.scan(given, **chosen)))  # noqa: B023
            same(columns, lambda given: codes(rg.scan(given, **chosen, method="gpuscan")))  # noqa: B023
            same(columns, lambda given: codes(rg.ScanIndex(given).query(**chosen)))  # noqa: B023
        sweeps = on_both(columns, lambda given: rg.ScanIndex(given).sweep([0.3, 0.6], [2, 5]))
        on_cpu, on_gpu = sweeps
        for name, values in on_cpu.items():
            np.testing.assert_allclose(values, on_gpu[name], rtol=1e-12, atol=1e-12, err_msg=name)


def codes(answer):
    """A result of scan with roles by their places, as CuPy arrays have them."""
    from rapidsgraph.algorithms.clustering import ROLES

    roles = answer["role"]
    if roles.dtype == object:
        roles = np.array([ROLES.index(role) for role in roles], np.int8)
    return {**answer, "role": roles}


def layers(case):
    """Layered edge lists with weights and without: built, saved, opened, searched and ranked."""
    columns, (root, *_) = searches()[case]
    for weight, directed in ((None, True), ("weight", False)):
        how = {"root": root, "weight": weight, "directed": directed}
        same(columns, partial(of_layers, **how))
        on_cpu, on_gpu = on_both(columns, partial(ranks_of_layers, **how))
        for name, values in on_cpu.items():
            np.testing.assert_allclose(values, on_gpu[name], rtol=1e-12, err_msg=name)


def both_lists(columns, folder, root, weight, directed):
    """{how: (a layered edge list, whether a run of it is limited)}: as built, and from a store."""
    import rapidsgraph as rg
    from pipelines.benchmarks.streams import opened
    from rapidsgraph import device

    graph = LocalGraph(columns, weight=weight, multi_edges="min", directed=directed)
    built = rg.LayeredEdgeList.build(graph, root, partition_bytes=LIST_BYTES)
    built.save(Path(folder) / "store")
    stored = opened(Path(folder) / "store", device.array_module(columns["source"]))
    return {"built": (built, False), "stored": (stored, True)}


def of_layers(columns, algorithms=("bfs", "sssp"), **how):
    """Results of a list in memory, and of its store within the least memory; its edges."""
    from pipelines.benchmarks.streams import CALLS, arrays_of, limit_of
    from rapidsgraph import device

    xp, found = device.array_module(columns["source"]), {}

    def keep(name, answer):
        found.update((f"{name} {key}", each) for key, each in arrays_of(answer, xp).items())

    with tempfile.TemporaryDirectory() as folder:
        for name, (layered, is_limited) in both_lists(columns, folder, **how).items():
            for algorithm in algorithms:
                limit = limit_of(layered, algorithm) if is_limited else None
                keep(f"{name} {algorithm}", CALLS[algorithm](layered, memory_limit=limit))
            if algorithms != RANKED:
                keep(f"{name} edges", layered.edges())
    return found


RANKED = ("pagerank",)
ranks_of_layers = partial(of_layers, algorithms=RANKED)

PARTS = {
    "ranks": ranks,
    "traversals": traversals,
    "components": components,
    "clusters": clusters,
    "layers-hub": partial(layers, "hub"),
    "layers-free": partial(layers, "no weight"),
    "layers-path": partial(layers, "path, no weight"),
    "layers-lattice": partial(layers, "lattice"),
}


def work(parts, with_pool=True):
    import cupy

    from rapidsgraph import device

    # What a tool adds to a kernel takes registers: of blocks that would all be resident without it
    # some may not start, and the others wait for them at the barrier for ever. One a
    # multiprocessor always fits.
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    device.launcher.resident_blocks = lambda *_: multiprocessors
    if not with_pool:
        cupy.cuda.set_allocator(None)
    for part in parts:
        PARTS[part]()
    cupy.cuda.Device().synchronize()
