"""Graphs of the benchmarks by name: generated graphs, and real graphs whose files are present.

======================  ==========================================================================
``rmat18``              R-MAT of scale 18, 16 edges drawn per vertex
``rmat18u-3``           with 3 edges drawn per vertex, undirected
``rmat18w``             with log-normal weights, sigma 8, where a task has weights
``grid1000``            lattice of side 1000
``ssca18-7``            SSCA#2 of scale 18, cliques of at most 7 vertices
``uniform21-128``       2^21 vertices, 128 times as many edges between uniform pairs
``NY``, ``karate`` ...  a file NAME.parquet or NAME.txt[.gz] of the folder of ``--data``
======================  ==========================================================================
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy.special

import rapidsgraph as rg
from rapidsgraph import device, generate
from rapidsgraph.algorithms import similarity
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.generate.arrays import draw_weights
from rapidsgraph.graph.build import build_graph
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph

SEED = 1
SIGMA = 8  # of log-normal weights
NUM_FILES = 8  # of a graph that is read from files
GRID_KEEP = 0.72  # share of a lattice's edges, which makes it resemble a road network
ROOT = Path(__file__).resolve().parents[2]
GENERATED = re.compile(r"(rmat|grid|ssca|uniform)(\d+)(u?)w?(?:-(\d+))?")  # names
FOLDERS = (ROOT.parent / "shared" / "data", ROOT / "shared" / "data")
STEMS = {"NY": "USA-road-d.NY"}  # of files that have other names than their graphs
UNDIRECTED = (
    "ca-CondMat", "ca-GrQc", "com-DBLP", "com-LiveJournal", "com-Orkut", "com-Youtube",
    "ego-Facebook", "email-Enron", "football", "karate", "loc-brightkite", "loc-gowalla",
    "netscience", "polbooks", "roadNet-CA", "roadNet-PA", "roadNet-TX",
)  # fmt: skip
ROADS = ("NY", "grid", "roadNet")  # beginnings of names


class GraphUnavailableError(Exception):
    """A graph is unknown, or its file is not available; the message says why."""


@dataclass
class Workload:
    """Rows of an edge list over vertices 0 to vertices - 1, as int32 arrays of `xp`."""

    name: str
    origin: str
    xp: Any
    vertices: int
    source: Array
    destination: Array
    directed: bool = True
    weight: Array | None = None
    multi_edges: str = "first"
    case: str = ""  # of builds
    built: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def rows(self) -> int:
        return self.source.size

    @property
    def columns(self) -> dict[str, Array]:
        columns = {"source": self.source, "destination": self.destination}
        return columns if self.weight is None else columns | {"weight": self.weight}

    @cached_property
    def host_frame(self) -> pandas.DataFrame:
        columns = {name: device.to_host(values) for name, values in self.columns.items()}
        return pandas.DataFrame(columns, copy=False)

    @cached_property
    def frame(self) -> Frame:
        """The rows as pandas or cuDF, or as arrays on a GPU without cuDF."""
        if self.xp is np:
            return self.host_frame
        if device.frame_library_problem():
            return self.columns
        import cudf

        return cudf.DataFrame(self.columns)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `Graph` for the rows."""
        weight = None if self.weight is None else "weight"
        return {"weight": weight, "directed": self.directed, "multi_edges": self.multi_edges}

    def build(self, **options: Any) -> LocalGraph:
        return build_graph(
            self.frame, **{"vertices": range(self.vertices), **self.options, **options}
        )

    @cached_property
    def graph(self) -> LocalGraph:
        _ = self.frame  # a caller holds it before the build
        return self.build()

    def write(self, folder: Path) -> list[Path]:
        """Write the rows as `NUM_FILES` Parquet files to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"part.{number:03}.parquet" for number in range(NUM_FILES)]
        bounds = np.linspace(0, self.rows, NUM_FILES + 1).astype(int)
        for path, (start, stop) in zip(paths, itertools.pairwise(bounds), strict=True):
            self.host_frame.iloc[start:stop].to_parquet(path, index=False)
        return paths

    def shared(self, build: Callable[[Workload], Any]) -> Any:
        """Return what libraries run on, which is built on first use."""
        if build not in self.built:
            self.built[build] = build(self)
        return self.built[build]

    # As peers take it: each arc once, both arcs if undirected

    @cached_property
    def arcs(self) -> tuple[Array, Array]:
        """(sources, destinations), sorted."""
        return row_indices(self.graph.csr), self.graph.csr.neighbors

    @cached_property
    def arc_weights(self) -> Array | None:
        """The weights of `arcs`."""
        return None if self.weight is None else self.graph.csr.weights.astype(np.float64)

    @cached_property
    def edges_once(self) -> tuple[tuple[Array, Array], Array | None]:
        """((sources, destinations), weights or None), with each undirected edge once."""
        (sources, destinations), weights = self.arcs, self.arc_weights
        keep = slice(None) if self.directed else sources <= destinations
        return (sources[keep], destinations[keep]), None if weights is None else weights[keep]

    @cached_property
    def symmetric(self) -> bool:
        """Whether the reverse of every arc is an arc."""
        return bool((self.xp.sort(pack(*self.arcs[::-1])) == pack(*self.arcs)).all())

    @property
    def is_road(self) -> bool:
        return self.name.startswith(ROADS)

    @cached_property
    def start(self) -> int:
        """The source of searches: the vertex of largest out-degree.

        Of a road network, it is the first vertex of the largest component.
        """
        if self.is_road:
            component = self.xp.asarray(rg.connected_components(self.graph)["component"])
            return int((component == 0).argmax())
        return int(self.xp.bincount(self.arcs[0]).argmax())

    def facts(self) -> dict[str, Any]:
        return {
            "graph": self.name, "origin": self.origin, "vertices": self.vertices,
            "rows": int(self.rows), "arcs": int(self.arcs[0].size), "directed": self.directed,
            "start": self.start,
        }  # fmt: skip

    # Undirected, without self-loops and parallel edges

    @cached_property
    def lists(self) -> Any:
        return similarity.neighborhoods(replace(self, directed=False, weight=None).build())

    @cached_property
    def degrees(self) -> Array:
        return self.xp.diff(self.lists.offsets)

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Both ends of every edge once, sorted, the smaller id first."""
        sources, neighbors = row_indices(self.lists), self.lists.neighbors
        is_forward = sources < neighbors
        return sources[is_forward], neighbors[is_forward]

    @cached_property
    def common_neighbors(self) -> Array:
        """The common neighbors of every arc of `lists`, closed: both ends count."""
        return similarity.count_by_triangles(self.lists)

    def coefficients(self, triangles: Array) -> Array:
        """Return the clustering coefficients of vertices with so many triangles."""
        return 2 * triangles / self.xp.maximum(self.degrees * (self.degrees - 1.0), 1)

    def jaccard(self, first: Array, second: Array, triangles: Array) -> Array:
        """Return the Jaccard coefficients of edges with so many triangles."""
        return triangles / (self.degrees[first] + self.degrees[second] - triangles)

    def by_edge(self, first: Array, second: Array, values: Array) -> Array:
        """Return values of pairs in the order of `edges`, zero where there is none."""
        xp, keys = self.xp, pack(*self.edges)
        pairs = pack(xp.minimum(first, second), xp.maximum(first, second))
        result, index = xp.zeros(keys.size), xp.searchsorted(keys, pairs)
        if not bool((keys[index] == pairs).all()):
            raise ValueError("values of pairs that are not edges")
        result[index] = values
        return result


def pack(first: Array, second: Array) -> Array:
    """Return pairs of ids as int64."""
    return first.astype(np.int64) << 32 | second.astype(np.int64)


def build_cases(workload: Workload) -> Iterator[Workload]:
    """Yield the rows as they are passed to builders."""
    random = np.random.default_rng(SEED)
    order = workload.xp.asarray(random.permutation(workload.rows))
    source, destination = workload.source[order], workload.destination[order]
    shuffled = replace(workload, case="shuffled", source=source, destination=destination)
    yield replace(workload, case="in order")
    yield shuffled
    yield replace(shuffled, case="weighted", weight=workload.xp.asarray(random.random(order.size)))


def load(name: str, xp: Any = np, folder: Path | None = None, *, clean: bool = True) -> Workload:
    """Generate or read a graph; the module docstring has the names.

    The rows of R-MAT are sorted and differ, unless they are not `clean`.
    """
    match = GENERATED.fullmatch(name)
    if not match:
        return read(name, xp, find_file(name, folder))
    kind, size, factor = match[1], int(match[2]), int(match[4] or 16)
    vertices = size * size if kind == "grid" else 1 << size
    arrays = {
        "rmat": lambda: generate.rmat_arrays(xp, size, factor, seed=SEED, clean=clean),
        "grid": lambda: generate.grid_arrays(xp, size, size, keep=GRID_KEEP, seed=SEED),
        "ssca": lambda: generate.ssca2_arrays(xp, vertices, factor, seed=SEED),
        "uniform": lambda: generate.uniform_arrays(xp, vertices, factor << size, seed=SEED),
    }[kind]()
    is_directed = kind != "ssca" and not match[3]
    origin = f"rapidsgraph.generate, seed={SEED}"
    return Workload(name, origin, xp, vertices, *arrays[:2], directed=is_directed)


def check_available(name: str, folder: Path | None = None) -> None:
    """Raise GraphUnavailableError if a graph can neither be generated nor read."""
    if not GENERATED.fullmatch(name):
        find_file(name, folder)


def find_file(name: str, folder: Path | None) -> Path:
    """Return the path of a graph's file, or raise GraphUnavailableError."""
    stem, folders = STEMS.get(name, name), [folder] if folder else FOLDERS
    for path in (Path(place) / f"{stem}{end}" for place in folders
                 for end in (".parquet", ".txt", ".txt.gz")):  # fmt: skip
        if path.exists():
            return path
    raise GraphUnavailableError(
        f"{name}: there is no such generator, and neither {stem}.parquet nor "
        f"{stem}.txt.gz (of snap.stanford.edu) is in {folders[0]}; name another folder with --data"
    )


def read(name: str, xp: Any, path: Path) -> Workload:
    """Read the rows of a file."""
    frame = rg.read_edges(path, weight=None, device="cpu")
    ends = [xp.asarray(frame[column].to_numpy()) for column in ("source", "destination")]
    return without_isolated(Workload(name, path.name, xp, 0, *ends, name not in UNDIRECTED))


def without_isolated(workload: Workload) -> Workload:
    """Return the same rows with ids from 0 on, none of which is missing."""
    xp, ends = workload.xp, (workload.source, workload.destination)
    ids, index = xp.unique(xp.concatenate(ends), return_inverse=True)
    source, destination = xp.split(index.astype(np.int32), 2)
    return replace(workload, vertices=int(ids.size), source=source, destination=destination)


def with_weights(workload: Workload, folder: Path | None = None) -> Workload:
    """Return the same graph with the weights of its file, or else with random ones in (0, 1]."""
    if workload.name == "NY":
        frame = rg.read_edges(find_file("NY", folder), device="cpu")
        weight = workload.xp.asarray(frame["weight"].to_numpy())
    else:
        ends, unit = (workload.source, workload.destination), (0.0, 1.0, 1 - 2**-53)
        weight = 1 - draw_weights(workload.xp, SEED, unit, True, *ends)
        if re.search(r"\du?w", workload.name):
            quantiles = scipy.special.ndtri(device.to_host(weight).clip(2**-53, 1 - 2**-53))
            weight = workload.xp.asarray(np.exp(SIGMA * quantiles))
        weight = weight.astype(np.float32)
    return replace(workload, weight=weight, multi_edges="min")
