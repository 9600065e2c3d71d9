"""A graph in shares that workers make, and what its results in memory are, kept in files.

Means: a share is a function of its number, so every cluster has the same graph, and no rows pass
  through the client. `reference` runs in the one process that holds the whole graph; it leaves
  columns as .npy files, and `compared` looks at a part of a result beside them.
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import timing
from pipelines.benchmarks.workloads import SEED
from rapidsgraph import device, generate

FEW, MANY = 2, 20  # iterations of PageRank: what 20 take beyond 2 is the time of 18
CLOSE = 1e-9  # of a rank; all else is exact
PLAIN = ("pagerank", "bfs", "components")


@dataclass(frozen=True)
class Rows:
    """The rows of a graph: R-MAT or uniform, 2^scale vertices, in shares of equal size."""

    kind: str
    scale: int
    factor: int  # rows for each vertex, in all shares together
    count: int  # of shares
    of: int = 0  # how many there would be in the whole graph; 0: these are all
    weighted: bool = False
    directed: bool = True

    @property
    def name(self):
        share = f", {self.count} of {self.of} shares" if self.of else ""
        return f"{self.kind}{self.scale}-{self.factor}{'' if self.directed else 'u'}{share}"

    @property
    def size(self):
        """Rows of a share."""
        return (self.factor << self.scale) // (self.of or self.count)

    @property
    def total(self):
        return self.size * self.count

    def half(self):
        return replace(self, count=self.count // 2, of=self.of or self.count)

    def share(self, number, on_gpu=False):
        """A pandas or cuDF frame of one share."""
        xp = device.import_cupy() if on_gpu else np
        columns = self.ends(number, xp)
        if self.weighted:
            unit = generate.arrays.check_weight_range((0.0, 1.0))
            drawn = generate.arrays.draw_weights(xp, SEED, unit, True, *columns.values())
            columns["weight"] = (1 - drawn).astype(np.float32)
        if on_gpu:
            import cudf

            return cudf.DataFrame(columns)
        import pandas

        return pandas.DataFrame(columns, copy=False)

    def ends(self, number, xp):
        seed, size = SEED + number, self.size
        if self.kind == "uniform":
            found = generate.uniform_arrays(xp, 1 << self.scale, size, seed=seed)
        else:
            factor = -(-size >> self.scale)  # at least one row for each vertex is drawn
            drawn = generate.rmat_arrays(
                xp, self.scale, factor, seed=seed, clean=False, permute=False
            )
            names = _names(xp, self.scale)
            found = [names[ends[:size]] for ends in drawn[:2]]
        return dict(zip(("source", "destination"), found[:2], strict=True))

    def options(self):
        """How a Graph of them is made."""
        weight = {"weight": "weight", "multi_edges": "min"} if self.weighted else {}
        return {"directed": self.directed} | weight

    def frame(self, on_gpu=False):
        """A Dask frame whose shares are made where they are used."""
        import dask.dataframe

        if on_gpu:
            import dask_cudf  # noqa: F401, so that Dask knows cuDF's frames

        make = functools.partial(self.share, on_gpu=on_gpu)
        meta = replace(self, scale=2, factor=self.count, of=0).share(0, on_gpu).iloc[:0]
        return dask.dataframe.from_map(make, range(self.count), meta=meta)

    def write(self, folder):
        """Parquet files of the shares, once."""
        folder = Path(folder) / self.name.replace(", ", "-").replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(self.count):
            path = folder / f"part.{number:03}.parquet"
            if not path.exists():
                self.share(number).to_parquet(path, index=False)
        return folder


@functools.lru_cache(maxsize=1)
def _names(xp, scale):
    return xp.asarray(np.random.default_rng(SEED).permutation(1 << scale).astype(np.int32))


def whole(rows, on_gpu=False):
    """One frame of all shares."""
    parts = [rows.share(number, on_gpu) for number in range(rows.count)]
    if on_gpu:
        import cudf as library
    else:
        import pandas as library
    return library.concat(parts, ignore_index=True)


def calls(start, iterations=MANY):
    """{algorithm: call(graph)}, of a graph in memory or in parts."""
    return {
        "pagerank": functools.partial(
            rg.pagerank, tolerance=0, max_iterations=iterations, progress=False
        ),
        "bfs": lambda graph: rg.bfs(graph, start),
        "sssp": lambda graph: rg.sssp(graph, start),
        "components": rg.connected_components,
        "scan": rg.scan,
    }


class Held:
    """The graph in one memory: the results that others must have, and times of its calls."""

    def __init__(self, rows, folder, on_gpu=False):
        self.xp = device.import_cupy() if on_gpu else np
        self.clock, self.folder = timing.Clock(self.xp), Path(folder)
        frame = whole(rows, on_gpu)
        self.start = int(frame["source"].iloc[0])
        build, self.graph = self.clock.timed(lambda: rg.Graph(frame, **rows.options()))
        self.facts = {
            "vertices": self.graph.num_vertices, "rows": rows.total,
            "edges": self.graph.num_edges, "memory_build_ms": timing.summary([build]),
        }  # fmt: skip

    def keep(self, algorithms):
        """Write the columns of results; the first calls, which make what others share."""
        for algorithm in algorithms:
            found = calls(self.start)[algorithm](self.graph)
            for name in found.columns:
                np.save(path_of(self.folder, algorithm, name), values_of(found[name]))

    def run(self, algorithm, iterations=MANY):
        """Milliseconds of a call."""
        return self.clock.ms(lambda: calls(self.start, iterations)[algorithm](self.graph))


def reference(rows, folder, algorithms, repeats, on_gpu):
    """(start, facts, {algorithm: times}, times of an iteration) of a graph held in one memory."""
    held = Held(rows, folder, on_gpu)
    held.keep(algorithms)
    times = {name: [held.run(name) for _ in range(repeats)] for name in algorithms}
    short = [held.run("pagerank", FEW) for _ in range(repeats if "pagerank" in algorithms else 0)]
    each = [(long - few) / (MANY - FEW) for long, few in zip(times.get("pagerank", []), short)]
    return held.start, held.facts, times, each


def path_of(folder, algorithm, column):
    return Path(folder) / f"{algorithm}.{column}.npy"


def values_of(column):
    """A column as numbers on the host: -1 where there is nothing, roles by their place."""
    if hasattr(column, "to_pandas"):
        column = column.to_pandas()
    if column.dtype == object or str(column.dtype) in ("str", "string", "category"):
        roles = {"core": 0, "border": 1, "hub": 2, "outlier": 3}
        return column.astype(object).map(roles).to_numpy(np.float64)
    values = column.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isnan(values), -1, values)


def compared(part, folder, algorithm):
    """(rows, values that are not those in memory) of a part of a result, by its index."""
    first = int(part.index[0]) if len(part) else 0
    wrong = 0
    for name in part.columns:
        values = values_of(part[name])
        truth = np.load(path_of(folder, algorithm, name), mmap_mode="r")
        truth = truth[first : first + len(part)]
        if truth.shape != values.shape:
            return len(part), len(part)
        same = values == truth
        if name == "pagerank":
            same = np.abs(values - truth) <= CLOSE * truth
        wrong += int((~same).sum())
    return len(part), wrong


def settled(part):
    """Rows of a part of a result, once all that was started for it is done."""
    if type(part).__module__.startswith("cudf"):
        device.import_cupy().cuda.Device().synchronize()
    return len(part)


def map_partitions(result, work, *arguments):
    """What `work(part, ...)` gives of each part of a Dask frame, where the part is."""
    import dask

    work = dask.delayed(work, pure=False)
    return dask.compute(*(work(part, *arguments) for part in result.to_delayed()))
