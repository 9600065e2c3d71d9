"""Graphs of the benchmarks by name: generated graphs, and real graphs whose files are present.

======================  ==========================================================================
``rmat18``              R-MAT of scale 18, 16 edges drawn per vertex
``rmat18u``             the same, undirected
``rmat18u-3``           with 3 edges drawn per vertex
``grid1000``            lattice of side 1000
``ssca18-7``            SSCA#2 of scale 18, cliques of at most 7 vertices
``uniform21-128``       2^21 vertices, 128 times as many edges between uniform pairs
``NY``, ``karate`` ...  a file of `FILES`, or a graph of SNAP that ``--fetch`` downloads
======================  ==========================================================================
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from rapidsgraph import device, generate
from rapidsgraph.algorithms import similarity
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.graph import build_memory
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph, build_graph

SEED = 1
GRID_KEEP = 0.72  # share of a lattice's edges, which makes it resemble a road network
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT.parent / "shared" / "data", ROOT / "shared" / "data")
FILES = {  # name: (file, is directed)
    "NY": ("USA-road-d.NY.parquet", True),
    "ego-Facebook": ("ego-Facebook.parquet", False),
    "cit-DBLP": ("cit-DBLP.parquet", True),
    "cnr-2000": ("cnr-2000.parquet", True),
    "karate": ("karate.parquet", False),
    "polbooks": ("polbooks.parquet", False),
    "football": ("football.parquet", False),
    "netscience": ("netscience.parquet", False),
    "email-Eu-core": ("email-Eu-core.parquet", True),
    "ca-GrQc": ("ca-GrQc.parquet", False),
    "ca-CondMat": ("ca-CondMat.parquet", False),
    "email-Enron": ("email-Enron.parquet", False),
    "wiki-Vote": ("wiki-Vote.parquet", True),
    "cit-HepPh": ("cit-HepPh.parquet", True),
    "soc-Slashdot0902": ("soc-Slashdot0902.parquet", True),
}
SITE, CACHE = "https://snap.stanford.edu/data/", "rapidsgraph-benchmarks"
SNAP = {  # name: (address below SITE, is directed); Leskovec and Krevl, SNAP Datasets, 2014
    "amazon0601": ("amazon0601.txt.gz", True),
    "ca-CondMat": ("ca-CondMat.txt.gz", False),
    "ca-GrQc": ("ca-GrQc.txt.gz", False),
    "cit-HepPh": ("cit-HepPh.txt.gz", True),
    "cit-Patents": ("cit-Patents.txt.gz", True),
    "com-DBLP": ("bigdata/communities/com-dblp.ungraph.txt.gz", False),
    "com-LiveJournal": ("bigdata/communities/com-lj.ungraph.txt.gz", False),
    "com-Orkut": ("bigdata/communities/com-orkut.ungraph.txt.gz", False),
    "com-Youtube": ("bigdata/communities/com-youtube.ungraph.txt.gz", False),
    "ego-Facebook": ("facebook_combined.txt.gz", False),
    "email-Enron": ("email-Enron.txt.gz", False),
    "email-Eu-core": ("email-Eu-core.txt.gz", True),
    "loc-brightkite": ("loc-brightkite_edges.txt.gz", False),
    "loc-gowalla": ("loc-gowalla_edges.txt.gz", False),
    "roadNet-CA": ("roadNet-CA.txt.gz", False),
    "roadNet-PA": ("roadNet-PA.txt.gz", False),
    "roadNet-TX": ("roadNet-TX.txt.gz", False),
    "soc-LiveJournal1": ("soc-LiveJournal1.txt.gz", True),
    "soc-Pokec": ("soc-pokec-relationships.txt.gz", True),
    "soc-Slashdot0902": ("soc-Slashdot0902.txt.gz", True),
    "web-Google": ("web-Google.txt.gz", True),
    "web-Stanford": ("web-Stanford.txt.gz", True),
    "wiki-Talk": ("wiki-Talk.txt.gz", True),
    "wiki-Vote": ("wiki-Vote.txt.gz", True),
}
WEIGHTED = ("NY",)  # files with a column `weight`
BUILD_CASES = ("in order", "shuffled", "gaps", "far apart", "weighted", "undirected")


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
    sha256: str | None = None  # of a file that was downloaded
    build_ms: dict[Any, float] = field(default_factory=dict)  # of `shared` objects by key
    last_shared: Any = None  # the key of the last one

    @property
    def rows(self) -> int:
        return self.source.size

    @cached_property
    def frame(self) -> Frame:
        """The rows as pandas or cuDF, or as arrays on a GPU without cuDF."""
        columns = {"source": self.source, "destination": self.destination}
        if self.weight is not None:
            columns["weight"] = self.weight
        if self.xp is np:
            import pandas

            return pandas.DataFrame(columns, copy=False)
        if device.frame_library_problem():
            return columns
        import cudf

        return cudf.DataFrame(columns)

    @cached_property
    def arcs(self) -> tuple[Array, Array]:
        """(sources, destinations) as peers take them: each arc once, both arcs if undirected."""
        keys = self.xp.unique(self._keys())
        return (keys >> 32).astype(np.int32), (keys & 0x7FFFFFFF).astype(np.int32)

    def _keys(self) -> Array:
        source, destination = self.source.astype(np.int64), self.destination.astype(np.int64)
        keys = (source << 32) | destination
        if self.directed:
            return keys
        return self.xp.concatenate([keys, (destination << 32) | source])

    @cached_property
    def arc_weights(self) -> Array:
        """The minimum weight of the rows of each of `arcs`, float64."""
        keys, arc_ids = self.xp.unique(self._keys(), return_inverse=True)
        minimum = self.xp.full(keys.size, np.inf)
        assert self.weight is not None
        weights = self.weight.astype(np.float64)
        weights = weights if self.directed else self.xp.concatenate([weights, weights])
        self.xp.minimum.at(minimum, arc_ids, weights)
        return minimum

    @cached_property
    def symmetric(self) -> bool:
        """Whether the reverse of every arc is an arc."""
        sources, destinations = (ids.astype(np.int64) for ids in self.arcs)
        reverse = self.xp.sort((destinations << 32) | sources)
        return bool((reverse == (sources << 32) | destinations).all())

    @property
    def is_road(self) -> bool:
        return self.name == "NY" or self.name.startswith(("grid", "roadNet"))

    @cached_property
    def start(self) -> int:
        """The source of searches.

        The vertex of largest out-degree; of a road network, the first vertex of the largest
        component.
        """
        if self.is_road:
            component = self.xp.asarray(rg.connected_components(self.graph)["component"])
            return int((component == 0).argmax())
        return int(self.xp.bincount(self.arcs[0]).argmax())

    def start_facts(self) -> dict[str, Any]:
        """Return the recorded facts about the source of traversals."""
        rule = "first of the largest component" if self.is_road else "first of greatest out-degree"
        return {"start": self.start, "start_rule": rule}

    def shared(self, key: Any, build: Callable[[], Any]) -> Any:
        """Return what a library runs on, which is built on first use, and timed."""
        self.last_shared = key
        if key not in self._shared:
            start = time.perf_counter()
            self._shared[key] = build()
            if self.xp is not np:
                self.xp.cuda.Device().synchronize()
            self.build_ms[key] = (time.perf_counter() - start) * 1e3
        return self._shared[key]

    @cached_property
    def _shared(self) -> dict[Any, Any]:
        return {}

    @property
    def graph(self) -> LocalGraph:
        _ = self.frame  # a caller holds it before the build
        return self.shared("rapidsgraph", self.build)

    @cached_property
    def edges_once(self) -> tuple[tuple[Array, Array], Array | None]:
        """((sources, destinations), weights or None), with each undirected edge once."""
        (sources, destinations), weights = self.arcs, None
        weights = None if self.weight is None else self.arc_weights
        if self.directed:
            return (sources, destinations), weights
        keep = sources <= destinations
        return (sources[keep], destinations[keep]), None if weights is None else weights[keep]

    @cached_property
    def lists(self) -> Any:
        """The adjacency of the undirected graph without self-loops and parallel edges."""
        return similarity.neighborhoods(replace(self, directed=False, weight=None).build())

    @cached_property
    def degrees(self) -> Array:
        """Degrees in `lists`."""
        return self.xp.diff(self.lists.offsets)

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Both ends of every edge of `lists` once, sorted, the smaller id first."""
        sources, neighbors = row_indices(self.lists), self.lists.neighbors
        is_forward = sources < neighbors
        return sources[is_forward], neighbors[is_forward]

    @cached_property
    def squared_degree_sum(self) -> int:
        degrees = self.degrees.astype(np.int64)
        return int((degrees * degrees).sum())

    @cached_property
    def common_neighbors(self) -> Array:
        """The common neighbors of every arc of `lists`, closed: both ends count."""
        return similarity.count_by_triangles(self.lists)

    def by_edge(self, first: Array, second: Array, values: Array) -> Array:
        """Return values of pairs in the order of `edges`, zero where there is none."""
        xp = self.xp
        keys = self.edges[0].astype(np.int64) << 32 | self.edges[1]
        first, second = (ends.astype(np.int64) for ends in (first, second))
        pairs = xp.minimum(first, second) << 32 | xp.maximum(first, second)
        index = xp.minimum(xp.searchsorted(keys, pairs), max(keys.size - 1, 0))
        if not bool((keys[index] == pairs).all()):
            raise ValueError("values of pairs that are not edges")
        result = xp.zeros(keys.size)
        result[index] = values
        return result

    @property
    def declared(self) -> range | None:
        """The vertices that are passed to `Graph`, or None where names are derived from edges."""
        return range(self.vertices)

    def build(self) -> LocalGraph:
        """Build a new graph."""
        return build_graph(
            self.frame,
            weight=None if self.weight is None else "weight",
            directed=self.directed,
            multi_edges=self.multi_edges,
            vertices=self.declared,
        )

    def estimate_build(self) -> int:
        """Return the estimated bytes that `build` takes above the frame."""
        return build_memory.build_bytes(
            int(self.rows),
            self.vertices,
            weighted=self.weight is not None,
            directed=self.directed,
            columns=build_memory.name_column_stats(
                [self.source], [self.destination], self.declared
            ),
            multi_edges=self.multi_edges,
            xp=self.xp,
        )

    def facts(self) -> dict[str, Any]:
        """Return the recorded facts about the graph."""
        facts = {
            "graph": self.name,
            "origin": self.origin,
            "vertices": self.vertices,
            "rows": int(self.rows),
            "arcs": int(self.arcs[0].size),
            "directed": self.directed,
        }
        return facts | ({"sha256": self.sha256} if self.sha256 else {})


@dataclass
class BuildCase(Workload):
    """An edge list in some order and naming, as it is passed to builders."""

    case: str = ""
    has_names: bool = False  # the ids are names, not 0 to vertices - 1

    @cached_property
    def expected(self) -> tuple[Array | None, Array, Array | None]:
        """(names or None, sorted packed pairs of ids, first row of each pair if directed).

        Made by `numpy.unique` of packed pairs, which shares no code with any builder.
        """
        xp, ends, names = self.xp, [self.source, self.destination], None
        if self.has_names:
            names = xp.unique(xp.concatenate(ends))
            ends = [xp.searchsorted(names, values) for values in ends]
        source, destination = (values.astype(np.int64) for values in ends)
        keys = (source << 32) | destination
        if not self.directed:
            return names, xp.unique(xp.concatenate([keys, (destination << 32) | source])), None
        return names, *xp.unique(keys, return_index=True)

    @property
    def declared(self) -> range | None:
        return None if self.has_names else super().declared


def make_build_case(workload: Workload, name: str) -> BuildCase:
    """Return the rows of a workload as one of `BUILD_CASES`."""
    xp = workload.xp
    values = {field.name: getattr(workload, field.name) for field in fields(Workload)}
    case = BuildCase(**values, case=name)
    if name in ("shuffled", "weighted"):
        random = np.random.default_rng(SEED)
        order = xp.asarray(random.permutation(case.rows))
        case.source, case.destination = case.source[order], case.destination[order]
        if name == "weighted":
            case.weight = xp.asarray(random.random(case.rows))
    elif name in ("gaps", "far apart"):
        step, case.has_names = (3 if name == "gaps" else 1_000_003), True
        case.source, case.destination = (
            ids.astype(np.int64) * step + 7 for ids in (case.source, case.destination)
        )
    elif name == "undirected":
        case.directed = False
    return case


def load(
    name: str,
    xp: Any = np,
    folder: Path | None = None,
    edge_factor: int = 16,
    fetch: bool = False,
) -> Workload:
    """Generate or read a graph.

    Parameters
    ----------
    name : str
        See the module docstring.
    xp : module
        NumPy or CuPy.
    folder : Path, optional
        Where files are looked for first.
    edge_factor : int
        Edges drawn per vertex of an R-MAT graph whose name does not say it.
    fetch : bool
        Download a missing file of SNAP.

    Raises
    ------
    GraphUnavailableError
        Unknown name, or missing file.
    """
    if match := re.fullmatch(r"rmat(\d+)(u?)(?:-(\d+))?", name):
        scale, edge_factor = int(match[1]), int(match[3] or edge_factor)
        arrays = generate.rmat_arrays(xp, scale, edge_factor, seed=SEED)
        factor = "" if edge_factor == 16 else f", {edge_factor}"
        origin = f"rmat({scale}{factor}, seed={SEED})"
        return Workload(name, origin, xp, 1 << scale, *arrays[:2], directed=not match[2])
    if match := re.fullmatch(r"grid(\d+)", name):
        side = int(match[1])
        arrays = generate.grid_arrays(xp, side, side, keep=GRID_KEEP, seed=SEED)
        origin = f"grid({side}, keep={GRID_KEEP}, seed={SEED})"
        return Workload(name, origin, xp, side * side, *arrays[:2])
    if match := re.fullmatch(r"ssca(\d+)-(\d+)", name):
        vertices, max_clique = 1 << int(match[1]), int(match[2])
        arrays = generate.ssca2_arrays(xp, vertices, max_clique, seed=SEED)
        origin = f"ssca2({vertices}, max_clique={max_clique}, seed={SEED})"
        return Workload(name, origin, xp, vertices, *arrays[:2], directed=False)
    if match := re.fullmatch(r"uniform(\d+)-(\d+)", name):
        vertices, rows = 1 << int(match[1]), int(match[2]) << int(match[1])
        arrays = generate.uniform_arrays(xp, vertices, rows, seed=SEED)
        origin = f"uniform({vertices}, {rows}, seed={SEED})"
        return Workload(name, origin, xp, vertices, *arrays[:2])
    return _read(name, xp, find_file(name, folder, fetch))


def _read(name: str, xp: Any, path: Path) -> Workload:
    source, destination = map(xp.asarray, _read_columns(path, ["source", "destination"]))
    directed = FILES[name][1] if name in FILES else SNAP[name][1]
    vertices = 1 + max(int(ids.max()) for ids in (source, destination))
    used_ids = xp.unique(xp.concatenate([source, destination]))
    if used_ids.size < vertices:  # close the gaps
        source, destination = (
            xp.searchsorted(used_ids, ids).astype(np.int32) for ids in (source, destination)
        )
    sha256, vertices = checksum(path), int(used_ids.size)
    return Workload(
        name, path.name, xp, vertices, source, destination, directed=directed, sha256=sha256
    )


def with_weights(workload: Workload, folder: Path | None = None) -> Workload:
    """Return the same graph with the weights of its file, or else with uniform ones in (0, 1].

    The latter are float32 and depend on the two endpoints alone, so that both arcs of an edge have
    the same weight.
    """
    xp, endpoints = workload.xp, (workload.source, workload.destination)
    if workload.name in WEIGHTED:
        weight = xp.asarray(*_read_columns(find_file(workload.name, folder), ["weight"]))
    else:
        weight = random_weights(xp, *endpoints)
    return replace(workload, weight=weight, multi_edges="min")


def random_weights(xp: Any, source: Array, destination: Array) -> Array:
    """Return float32 weights in (0, 1] that depend on the endpoints of an edge alone."""
    unit = generate.arrays.check_weight_range((0.0, 1.0))
    values = generate.arrays.draw_weights(xp, SEED, unit, True, source, destination)
    return (1 - values).astype(np.float32)


def find_file(name: str, folder: Path | None, fetch: bool = False) -> Path:
    """Return the path of a graph's file, or raise GraphUnavailableError."""
    if name not in FILES and name not in SNAP:
        patterns = ("rmat<scale>", "rmat<scale>u", "grid<side>", "ssca<scale>-<clique>")
        known = ", ".join(dict.fromkeys([*patterns, "uniform<scale>-<edges>", *FILES, *SNAP]))
        raise GraphUnavailableError(f"unknown graph {name!r}; known graphs are {known}")
    file = FILES[name][0] if name in FILES else f"{name}.parquet"
    for candidate in FOLDERS:
        path = Path(folder or candidate) / file
        if path.exists():
            return path
    if fetch and name in SNAP:
        return fetch_graph(name)
    where = str(folder) if folder else "../shared/data"
    remedy = " or download it with --fetch" if name in SNAP else ""
    raise GraphUnavailableError(
        f"{name}: skipped, {file} is not in {where}; name another folder with --data{remedy}"
    )


def _read_columns(path: Path, columns: list[str]) -> list[np.ndarray]:
    """Return int32 arrays of a Parquet file."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=columns)
    return [table[column].to_numpy().astype(np.int32) for column in columns]


def fetch_graph(name: str) -> Path:
    """Return the Parquet file of a graph of SNAP, and download it unless it is in the cache."""
    try:
        import pooch
    except ImportError as error:
        reason = f"--fetch needs pooch ({error}); pip install '.[benchmark]'"
        raise GraphUnavailableError(f"{name}: skipped, {reason}") from error
    address, folder = SNAP[name][0], Path(pooch.os_cache(CACHE))
    parquet = folder / f"{name}.parquet"
    if parquet.exists():
        return parquet
    pooch.get_logger().setLevel("WARNING")
    file = address.rpartition("/")[2]
    try:
        text = pooch.retrieve(SITE + address, None, fname=file, path=folder)
        convert_to_parquet(text, parquet, pooch.file_hash(text))
    except Exception as error:  # a network error, or a file with unexpected contents
        raise GraphUnavailableError(
            f"{name}: skipped, download from {SITE}{address} failed: "
            f"{type(error).__name__}: {error}"[:400]
        ) from error
    return parquet


def convert_to_parquet(text: str, path: Path, sha256: str) -> None:
    """Write an edge list in a text file as Parquet, with the checksum in its metadata."""
    import pyarrow
    import pyarrow.parquet

    frame = rg.read_edges(text, weight=None, device="cpu")
    columns = {name: frame[name].to_numpy() for name in ("source", "destination")}
    max_id = max(int(ids.max()) for ids in columns.values())
    if max_id > np.iinfo(np.int32).max:
        raise ValueError(f"id {max_id} is above 2^31 - 1, the maximum that benchmarks read")
    table = pyarrow.table({name: ids.astype(np.int32) for name, ids in columns.items()})
    temporary = path.with_suffix(".tmp")
    pyarrow.parquet.write_table(table.replace_schema_metadata({"sha256": sha256}), temporary)
    os.replace(temporary, path)


def checksum(path: Path) -> str | None:
    """Return the SHA-256 of the text file that a Parquet file was converted from, if any."""
    import pyarrow.parquet

    value = (pyarrow.parquet.read_schema(path).metadata or {}).get(b"sha256")
    return value.decode() if value else None
