"""The graphs of the benchmarks, by name: generated ones, and real ones where their files are.

Names are `rmat18` (R-MAT of that scale), `grid1000` (lattice of that side), or one of FILES.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from rapidsgraph import device, generate

SEED = 1
KEEP = 0.72  # of a lattice's edges, which makes it look like a road network
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT.parent / "shared" / "data", ROOT / "shared" / "data")
FILES = {  # name: (file, is directed)
    "NY": ("USA-road-d.NY.parquet", True),
    "ego-Facebook": ("ego-Facebook.parquet", False),
    "cit-DBLP": ("cit-DBLP.parquet", True),
    "cnr-2000": ("cnr-2000.parquet", True),
}


class Missing(Exception):
    """A graph that cannot be had here; the message says why."""


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
        source, destination = self.source.astype(np.int64), self.destination.astype(np.int64)
        keys = (source << 32) | destination
        if not self.directed:
            keys = self.xp.concatenate([keys, (destination << 32) | source])
        keys = self.xp.unique(keys)
        return (keys >> 32).astype(np.int32), (keys & 0x7FFFFFFF).astype(np.int32)

    @cached_property
    def graph(self):
        return self.build()

    def build(self):
        weight = None if self.weight is None else "weight"
        return rg.Graph(
            self.frame, weight=weight, directed=self.directed, vertices=range(self.vertices)
        )

    def facts(self):
        """What is recorded of the graph."""
        return {
            "graph": self.name,
            "origin": self.origin,
            "vertices": self.vertices,
            "rows": int(self.rows),
            "arcs": int(self.arcs[0].size),
            "directed": self.directed,
        }


def load(name, xp=np, folder=None, edge_factor=16):
    """A Workload; raises Missing where a file is not there, or nobody knows the name."""
    if match := re.fullmatch(r"rmat(\d+)", name):
        scale = int(match[1])
        arrays = generate.rmat_arrays(xp, scale, edge_factor, seed=SEED)
        factor = "" if edge_factor == 16 else f", {edge_factor}"
        return Workload(name, f"rmat({scale}{factor}, seed={SEED})", xp, 1 << scale, *arrays[:2])
    if match := re.fullmatch(r"grid(\d+)", name):
        side = int(match[1])
        arrays = generate.grid_arrays(xp, side, side, keep=KEEP, seed=SEED)
        return Workload(
            name, f"grid({side}, keep={KEEP}, seed={SEED})", xp, side * side, *arrays[:2]
        )
    if name not in FILES:
        known = ", ".join(["rmat<scale>", "grid<side>", *FILES])
        raise Missing(f"{name}: there is no such graph; there are {known}")
    file, directed = FILES[name]
    paths = [Path(folder or at) / file for at in FOLDERS]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        where = "the folder given" if folder else "../shared/data"
        raise Missing(f"{name}: skipped, {file} is not in {where}; name another with --data")
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=["source", "destination"])
    columns = [table[column].to_numpy().astype(np.int32) for column in table.column_names]
    vertices = int(max(values.max() for values in columns)) + 1
    return Workload(name, file, xp, vertices, *map(xp.asarray, columns), directed=directed)
