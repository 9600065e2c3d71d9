"""The graphs of the benchmarks, by name: generated ones, and real ones where their files are.

Names are `rmat18` (R-MAT of that scale), `rmat18u` (the same without direction), `rmat18u-3` (with
3 edges a vertex drawn instead of 16), `grid1000` (lattice of that side), `ssca18-7` (SSCA#2 of that
scale, cliques of at most 7), `uniform21-128` (2^21 vertices, 128 times as many edges anywhere), or
one of FILES, or of those that downloads.py can get.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import downloads
from pipelines.benchmarks.downloads import Missing
from rapidsgraph import device, generate
from rapidsgraph.graph import build_memory
from rapidsgraph.graph.local_graph import LocalGraph

SEED = 1
KEEP = 0.72  # of a lattice's edges, which makes it look like a road network
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
WEIGHTED = ("NY",)  # files with a column `weight`


@dataclass
class Workload:
    """Rows of an edge list over vertices 0 to vertices - 1, as int32 arrays of `xp`."""

    name: str
    origin: str
    xp: object
    vertices: int
    source: object
    destination: object
    directed: bool = True
    weight: object = None
    multi_edges: str = "first"
    sha256: str | None = None  # of a file that was downloaded

    @property
    def rows(self):
        return self.source.size

    @cached_property
    def frame(self):
        """What a caller would hold: pandas, cuDF where it works, or else the arrays."""
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
    def arcs(self):
        """(sources, destinations) as peers take them: each arc once, both ways if undirected."""
        keys = self.xp.unique(self._keys())
        return (keys >> 32).astype(np.int32), (keys & 0x7FFFFFFF).astype(np.int32)

    def _keys(self):
        source, destination = self.source.astype(np.int64), self.destination.astype(np.int64)
        keys = (source << 32) | destination
        if self.directed:
            return keys
        return self.xp.concatenate([keys, (destination << 32) | source])

    @cached_property
    def arc_weights(self):
        """The least weight of the rows of each of `arcs`, float64."""
        keys, places = self.xp.unique(self._keys(), return_inverse=True)
        least = self.xp.full(keys.size, np.inf)
        weights = self.weight.astype(np.float64)
        weights = weights if self.directed else self.xp.concatenate([weights, weights])
        self.xp.minimum.at(least, places, weights)
        return least

    @cached_property
    def symmetric(self):
        """Does every arc go both ways?"""
        sources, destinations = (ids.astype(np.int64) for ids in self.arcs)
        backwards = self.xp.sort((destinations << 32) | sources)
        return bool((backwards == (sources << 32) | destinations).all())

    @property
    def is_road(self):
        return self.name == "NY" or self.name.startswith(("grid", "roadNet"))

    @cached_property
    def start(self):
        """The vertex where a search begins."""
        if self.is_road:
            component = self.xp.asarray(rg.connected_components(self.graph)["component"])
            return int((component == 0).argmax())
        return int(self.xp.bincount(self.arcs[0]).argmax())

    def start_facts(self):
        rule = "first of the largest component" if self.is_road else "first of greatest out-degree"
        return {"start": self.start, "start_rule": rule}

    @cached_property
    def graph(self):
        return self.build()

    @property
    def declared(self):
        """Vertices that the graph has with or without edges, or None."""
        return range(self.vertices)

    def build(self):
        return LocalGraph(
            self.frame,
            weight=None if self.weight is None else "weight",
            directed=self.directed,
            multi_edges=self.multi_edges,
            vertices=self.declared,
        )

    def estimate_build(self):
        """Return the estimate of the bytes that `build` takes above the frame."""
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

    def facts(self):
        """What is recorded of the graph."""
        found = {
            "graph": self.name,
            "origin": self.origin,
            "vertices": self.vertices,
            "rows": int(self.rows),
            "arcs": int(self.arcs[0].size),
            "directed": self.directed,
        }
        return found | ({"sha256": self.sha256} if self.sha256 else {})


def load(name, xp=np, folder=None, edge_factor=16, fetch=False):
    """A Workload; raises Missing where a file is not there, or nobody knows the name.

    Where a file is not there and `fetch`, it is downloaded.
    """
    if match := re.fullmatch(r"rmat(\d+)(u?)(?:-(\d+))?", name):
        scale, edge_factor = int(match[1]), int(match[3] or edge_factor)
        arrays = generate.rmat_arrays(xp, scale, edge_factor, seed=SEED)
        factor = "" if edge_factor == 16 else f", {edge_factor}"
        origin = f"rmat({scale}{factor}, seed={SEED})"
        return Workload(name, origin, xp, 1 << scale, *arrays[:2], directed=not match[2])
    if match := re.fullmatch(r"grid(\d+)", name):
        side = int(match[1])
        arrays = generate.grid_arrays(xp, side, side, keep=KEEP, seed=SEED)
        return Workload(
            name, f"grid({side}, keep={KEEP}, seed={SEED})", xp, side * side, *arrays[:2]
        )
    if match := re.fullmatch(r"ssca(\d+)-(\d+)", name):
        vertices, max_clique = 1 << int(match[1]), int(match[2])
        arrays = generate.ssca2_arrays(xp, vertices, max_clique, seed=SEED)
        origin = f"ssca2({vertices}, max_clique={max_clique}, seed={SEED})"
        return Workload(name, origin, xp, vertices, *arrays[:2], directed=False)
    if match := re.fullmatch(r"uniform(\d+)-(\d+)", name):
        vertices, rows = 1 << int(match[1]), int(match[2]) << int(match[1])
        arrays = generate.uniform_arrays(xp, vertices, rows, seed=SEED)
        return Workload(
            name, f"uniform({vertices}, {rows}, seed={SEED})", xp, vertices, *arrays[:2]
        )
    path = path_of(name, folder, fetch)
    source, destination = map(xp.asarray, columns_of(path, ["source", "destination"]))
    directed = FILES[name][1] if name in FILES else downloads.SNAP[name].directed
    vertices = 1 + max(int(values.max()) for values in (source, destination))
    seen = xp.unique(xp.concatenate([source, destination]))
    if seen.size < vertices:  # ids that nobody has are left out
        source, destination = (
            xp.searchsorted(seen, values).astype(np.int32) for values in (source, destination)
        )
    sha256, ends = downloads.checksum(path), (source, destination)
    return Workload(name, path.name, xp, int(seen.size), *ends, directed=directed, sha256=sha256)


def with_weights(workload, folder=None):
    """The same graph with the weights of its file, or else uniform ones in (0, 1].

    Those are float32 and drawn by the two ends of an edge, so they are the same both ways.
    """
    xp, ends = workload.xp, (workload.source, workload.destination)
    if workload.name in WEIGHTED:
        weight = xp.asarray(*columns_of(path_of(workload.name, folder), ["weight"]))
    else:
        unit = generate.arrays.check_weight_range((0.0, 1.0))
        drawn = generate.arrays.draw_weights(xp, SEED, unit, True, *ends)
        weight = (1 - drawn).astype(np.float32)
    return replace(workload, weight=weight, multi_edges="min")


def path_of(name, folder, fetch=False):
    """A graph's file."""
    if name not in FILES and name not in downloads.SNAP:
        known = ", ".join(
            [
                "rmat<scale>",
                "rmat<scale>u",
                "grid<side>",
                "ssca<scale>-<clique>",
                "uniform<scale>-<edges>",
                *FILES,
                *(other for other in downloads.SNAP if other not in FILES),
            ]
        )
        raise Missing(f"{name}: there is no such graph; there are {known}")
    file = FILES[name][0] if name in FILES else f"{name}.parquet"
    paths = [Path(folder or at) / file for at in FOLDERS]
    path = next((path for path in paths if path.exists()), None)
    if path is None and fetch and name in downloads.SNAP:
        return downloads.fetched(name)
    if path is None:
        where = "the folder given" if folder else "../shared/data"
        cure = " or get it with --fetch" if name in downloads.SNAP else ""
        raise Missing(f"{name}: skipped, {file} is not in {where}; name another with --data{cure}")
    return path


def columns_of(path, wanted):
    """int32 arrays of a Parquet file."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=wanted)
    return [table[column].to_numpy().astype(np.int32) for column in wanted]
