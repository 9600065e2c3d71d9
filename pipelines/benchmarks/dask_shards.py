"""A graph in shards that Dask workers generate, and the comparison of results where they are.

A shard is a function of its number, so every cluster has the same graph, and no rows pass through
the client. One process with the whole graph writes result columns as .npy files, and workers
compare the partitions of a distributed result with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import timing
from pipelines.benchmarks.graphs import SEED, random_weights
from rapidsgraph import device, generate
from rapidsgraph.algorithms.scan import ROLES

SHORT, LONG = 2, 20  # iterations of PageRank, whose difference gives the time of an iteration
PAGERANK = {"pagerank": "double", "pagerank_single": "single"}  # precision by task
TOLERANCES = {"pagerank": 1e-9, "pagerank_single": 1e-4}  # relative; all else is exact


@dataclass(frozen=True)
class SharedRows:
    """The rows of a graph, R-MAT or uniform with 2^scale vertices, in shards of equal size.

    `total_shards` are those of the whole graph if this is a part of it, or 0.
    """

    kind: str
    scale: int
    edge_factor: int
    num_shards: int = 8
    total_shards: int = 0
    weighted: bool = False
    directed: bool = True

    @property
    def name(self) -> str:
        part = f", {self.num_shards} of {self.total_shards} shards" if self.total_shards else ""
        kind = ("" if self.directed else "u") + ("w" if self.weighted else "")
        return f"{self.kind}{self.scale}-{self.edge_factor}{kind}{part}"

    @property
    def shard_rows(self) -> int:
        return (self.edge_factor << self.scale) // (self.total_shards or self.num_shards)

    @property
    def num_rows(self) -> int:
        return self.shard_rows * self.num_shards

    def half(self) -> SharedRows:
        """Return the first half of the shards."""
        total = self.total_shards or self.num_shards
        return replace(self, num_shards=self.num_shards // 2, total_shards=total)

    def edges(self, number: int, xp: Any) -> tuple[Any, Any]:
        """Return the ends of the edges of a shard."""
        seed, count = SEED + number, self.shard_rows
        if self.kind == "uniform":
            return generate.uniform_arrays(xp, 1 << self.scale, count, seed=seed)[:2]
        factor = -(-count >> self.scale)  # at least one row per vertex is drawn
        options = {"seed": seed, "clean": False, "permute": False}
        source, destination = generate.rmat_arrays(xp, self.scale, factor, **options)[:2]
        ids = permuted_ids(xp, self.scale)
        return ids[source[:count]], ids[destination[:count]]

    def shard(self, number: int, on_gpu: bool = False) -> Any:
        """Return a pandas or cuDF frame of one shard."""
        xp = device.import_cupy() if on_gpu else np
        source, destination = self.edges(number, xp)
        columns = {"source": source, "destination": destination}
        if self.weighted:
            columns["weight"] = random_weights(xp, source, destination)
        return library(on_gpu).DataFrame(columns)

    def whole(self, on_gpu: bool = False) -> Any:
        """Return one frame of all shards."""
        shards = [self.shard(number, on_gpu) for number in range(self.num_shards)]
        return library(on_gpu).concat(shards, ignore_index=True)

    def graph_options(self) -> dict[str, Any]:
        """Return the options of `Graph` for these rows."""
        weight = {"weight": "weight", "multi_edges": "min"} if self.weighted else {}
        return {"directed": self.directed} | weight

    def frame(self, on_gpu: bool = False, folder: Path | None = None) -> Any:
        """Return a Dask frame: of Parquet files in a folder, or generated where it is used."""
        import dask.dataframe

        if folder is not None:
            path = Path(folder) / self.name.replace(", ", "-").replace(" ", "-")
            path.mkdir(exist_ok=True)
            for number in range(self.num_shards):
                file = path / f"part.{number:03}.parquet"
                if not file.exists():
                    self.shard(number).to_parquet(file, index=False)
            return dask.dataframe.read_parquet(path)
        if on_gpu:
            import dask_cudf  # noqa: F401  # registers cuDF's frames with Dask
        tiny = replace(self, scale=2, edge_factor=self.num_shards, total_shards=0)
        shard = functools.partial(self.shard, on_gpu=on_gpu)
        meta = tiny.shard(0, on_gpu).iloc[:0]
        return dask.dataframe.from_map(shard, range(self.num_shards), meta=meta)


def library(on_gpu: bool) -> Any:
    """Return cuDF or pandas."""
    if on_gpu:
        import cudf

        return cudf
    import pandas

    return pandas


@functools.lru_cache(maxsize=1)
def permuted_ids(xp: Any, scale: int) -> Any:
    """Return vertex ids in an order that all shards share."""
    return xp.asarray(np.random.default_rng(SEED).permutation(1 << scale).astype(np.int32))


def calls(start: int, iterations: int = LONG) -> dict[str, Callable[[Any], Any]]:
    """Return the calls by task, for a graph in one process or distributed."""
    options = {"tolerance": 0, "max_iterations": iterations, "progress": False}
    pagerank = {task: functools.partial(rg.pagerank, precision=precision, **options)
                for task, precision in PAGERANK.items()}  # fmt: skip
    return pagerank | {
        "bfs": lambda graph: rg.bfs(graph, start), "sssp": lambda graph: rg.sssp(graph, start),
        "components": rg.connected_components, "scan": rg.scan,
    }  # fmt: skip


class Reference:
    """The graph in one process: the expected results, and the times of calls."""

    def __init__(self, rows: SharedRows, on_gpu: bool = False) -> None:
        self.clock = timing.Clock(device.import_cupy() if on_gpu else np)
        frame = rows.whole(on_gpu)
        self.start = int(frame["source"].iloc[0])
        build, self.graph = self.clock.timed(lambda: rg.Graph(frame, **rows.graph_options()))
        self.facts = {
            "vertices": self.graph.num_vertices, "rows": rows.num_rows,
            "edges": self.graph.num_edges, "memory_build_ms": timing.summary([build]),
        }  # fmt: skip

    def write(self, task: str, folder: Path, result: Any = None) -> None:
        """Write result columns; the first call also fills the caches of later calls."""
        result = calls(self.start)[task](self.graph) if result is None else result
        for name in result.columns:
            np.save(Path(folder) / f"{task}.{name}.npy", column_values(result[name]))

    def ms(self, task: str, iterations: int = LONG) -> float:
        """Return the milliseconds of a call."""
        return self.clock.ms(lambda: calls(self.start, iterations)[task](self.graph))


def measure_reference(
    rows: SharedRows, folder: Path, tasks: Iterable[str], rounds: int, on_gpu: bool
) -> tuple[int, dict[str, Any], dict[tuple[str, int], list[float]]]:
    """Return (start, facts, times by task and iterations) of one process; write its results."""
    reference = Reference(rows, on_gpu)
    times = {}
    for task in tasks:
        reference.write(task, folder)
        for iterations in (LONG, *([SHORT] if task in PAGERANK else [])):
            times[task, iterations] = [reference.ms(task, iterations) for _ in range(rounds)]
    return reference.start, reference.facts, times


def per_iteration(long_times: Iterable[float], short_times: Iterable[float]) -> list[float]:
    """Return the milliseconds of an iteration, from runs of `LONG` and `SHORT` iterations."""
    pairs = zip(long_times, short_times, strict=False)
    return [(long - short) / (LONG - SHORT) for long, short in pairs]


def column_values(column: Any) -> np.ndarray:
    """Return a column as numbers on the host: -1 for nulls, roles by their index."""
    if hasattr(column, "to_pandas"):
        column = column.to_pandas()
    if column.dtype == object or str(column.dtype) in ("str", "string", "category"):
        codes = {role: code for code, role in enumerate(ROLES)}
        return column.astype(object).map(codes).to_numpy(np.float64)
    values = column.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isnan(values), -1, values)


def compare_partition(partition: Any, folder: Path, task: str) -> tuple[int, int]:
    """Return the numbers of rows and of wrong values of a partition of a result."""
    start = int(partition.index[0]) if len(partition) else 0
    num_wrong = 0
    for name in partition.columns:
        values = column_values(partition[name])
        column = np.load(Path(folder) / f"{task}.{name}.npy", mmap_mode="r")
        expected = column[start : start + len(partition)]
        is_equal = values == expected
        if name == "pagerank":
            is_equal = np.abs(values - expected) <= TOLERANCES[task] * expected
        num_wrong += int((~is_equal).sum())
    return len(partition), num_wrong


def compare_partitions(result: Any, folder: Path, task: str, num_vertices: int) -> str | None:
    """Compare a distributed result on its workers; return the problem or None."""
    import dask

    function = dask.delayed(compare_partition, pure=False)
    counts = dask.compute(*(function(part, folder, task) for part in result.to_delayed()))
    num_rows, num_wrong = map(sum, zip(*counts, strict=True))
    is_correct = not num_wrong and num_rows == num_vertices
    return None if is_correct else f"wrong: {num_wrong} values in {num_rows} rows"
