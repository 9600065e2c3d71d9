"""A graph in shards that Dask workers generate, its reference results, and their comparison.

A shard is a function of its number, so every cluster has the same graph, and no rows pass through
the client. `Reference` runs in the one process that holds the whole graph and writes result
columns as .npy files; `compare_partition` compares a partition of a result with them on the worker
that holds it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.graphs import SEED, random_weights
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from rapidsgraph import device, generate
from rapidsgraph.device.arrays import Array
from rapidsgraph.distributed.cluster import cluster
from rapidsgraph.frames import Frame

SHORT, LONG = 2, 20  # iterations of PageRank, whose difference gives the time of an iteration
PAGERANK = {"pagerank": "double", "pagerank_single": "single"}  # precision by task
PAGERANK_TOLERANCES = {"pagerank": 1e-9, "pagerank_single": 1e-4}  # relative; all else is exact
UNWEIGHTED = (*PAGERANK, "bfs", "components")  # tasks on the same graph
ROUNDS = {"cpu": 5, "gpu": 3, "quick": 1}


@dataclass(frozen=True)
class SharedRows:
    """The rows of a graph, R-MAT or uniform with 2^scale vertices, in shards of equal size.

    Attributes
    ----------
    edge_factor : int
        Rows per vertex, in all shards together.
    num_shards : int
    total_shards : int
        Those of the whole graph if this is a part of it, or 0.
    """

    kind: str
    scale: int
    edge_factor: int
    num_shards: int
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

    def shard(self, number: int, on_gpu: bool = False) -> Frame:
        """Return a pandas or cuDF frame of one shard."""
        xp = device.import_cupy() if on_gpu else np
        source, destination = self._edges(number, xp)
        columns = {"source": source, "destination": destination}
        if self.weighted:
            columns["weight"] = random_weights(xp, source, destination)
        if on_gpu:
            import cudf

            return cudf.DataFrame(columns)
        import pandas

        return pandas.DataFrame(columns, copy=False)

    def _edges(self, number: int, xp: Any) -> tuple[Array, Array]:
        seed, count = SEED + number, self.shard_rows
        if self.kind == "uniform":
            source, destination, *_ = generate.uniform_arrays(xp, 1 << self.scale, count, seed=seed)
            return source, destination
        edge_factor = -(-count >> self.scale)  # at least one row per vertex is drawn
        source, destination, *_ = generate.rmat_arrays(
            xp, self.scale, edge_factor, seed=seed, clean=False, permute=False
        )
        ids = _permuted_ids(xp, self.scale)
        return ids[source[:count]], ids[destination[:count]]

    def graph_options(self) -> dict[str, Any]:
        """Return the options of `Graph` for these rows."""
        weight = {"weight": "weight", "multi_edges": "min"} if self.weighted else {}
        return {"directed": self.directed} | weight

    def frame(self, on_gpu: bool = False) -> Any:
        """Return a Dask frame whose shards are generated where they are used."""
        import dask.dataframe

        if on_gpu:
            import dask_cudf  # noqa: F401  # registers cuDF's frames with Dask

        shard = functools.partial(self.shard, on_gpu=on_gpu)
        tiny = replace(self, scale=2, edge_factor=self.num_shards, total_shards=0)
        meta = tiny.shard(0, on_gpu).iloc[:0]
        return dask.dataframe.from_map(shard, range(self.num_shards), meta=meta)

    def write(self, folder: Path) -> Path:
        """Write the shards as Parquet files, unless they exist, and return their folder."""
        folder = Path(folder) / self.name.replace(", ", "-").replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(self.num_shards):
            path = folder / f"part.{number:03}.parquet"
            if not path.exists():
                self.shard(number).to_parquet(path, index=False)
        return folder


@functools.lru_cache(maxsize=1)
def _permuted_ids(xp: Any, scale: int) -> Array:
    return xp.asarray(np.random.default_rng(SEED).permutation(1 << scale).astype(np.int32))


def concatenate(rows: SharedRows, on_gpu: bool = False) -> Frame:
    """Return one frame of all shards."""
    shards = [rows.shard(number, on_gpu) for number in range(rows.num_shards)]
    if on_gpu:
        import cudf as library
    else:
        import pandas as library
    return library.concat(shards, ignore_index=True)


def calls(start: int, iterations: int = LONG) -> dict[str, Callable[[rg.Graph], Frame]]:
    """Return the calls by task, for a graph in one process or distributed."""
    options = {"tolerance": 0, "max_iterations": iterations, "progress": False}
    return {
        **{
            task: functools.partial(rg.pagerank, precision=precision, **options)
            for task, precision in PAGERANK.items()
        },
        "bfs": lambda graph: rg.bfs(graph, start),
        "sssp": lambda graph: rg.sssp(graph, start),
        "components": rg.connected_components,
        "scan": rg.scan,
    }


class Reference:
    """The graph in one process: the expected results, and the times of calls."""

    def __init__(self, rows: SharedRows, folder: Path, on_gpu: bool = False) -> None:
        self.xp = device.import_cupy() if on_gpu else np
        self.clock, self.folder = timing.Clock(self.xp), Path(folder)
        frame = concatenate(rows, on_gpu)
        self.start = int(frame["source"].iloc[0])
        build, self.graph = self.clock.timed(lambda: rg.Graph(frame, **rows.graph_options()))
        self.facts = {
            "vertices": self.graph.num_vertices, "rows": rows.num_rows,
            "edges": self.graph.num_edges, "memory_build_ms": timing.summary([build]),
        }  # fmt: skip

    def write_results(self, tasks: Iterable[str]) -> None:
        """Write result columns; these first calls also fill the caches of later calls."""
        for task in tasks:
            result = calls(self.start)[task](self.graph)
            for name in result.columns:
                np.save(column_path(self.folder, task, name), column_values(result[name]))

    def ms(self, task: str, iterations: int = LONG) -> float:
        """Return the milliseconds of a call."""
        return self.clock.ms(lambda: calls(self.start, iterations)[task](self.graph))


@dataclass
class ReferenceTimes:
    """Facts and times of the graph in one process.

    Attributes
    ----------
    start : int
        Source of searches.
    facts : dict
        Columns of records.
    times, iteration_times : dict
        Milliseconds by task, of a call and of an iteration; empty if `live` is given.
    live : Reference, optional
        The graph, if its calls take turns with those of workers.
    """

    start: int
    facts: Record
    times: dict[str, list[float]]
    iteration_times: dict[str, list[float]]
    live: Reference | None = None


def measure_reference(
    rows: SharedRows, folder: Path, tasks: Iterable[str], repeats: int, on_gpu: bool
) -> ReferenceTimes:
    """Build a graph in one process, write its results, and time its calls."""
    tasks = list(tasks)
    reference = Reference(rows, folder, on_gpu)
    reference.write_results(tasks)
    times = {task: [reference.ms(task) for _ in range(repeats)] for task in tasks}
    iteration_times = {
        task: per_iteration(times[task], [reference.ms(task, SHORT) for _ in range(repeats)])
        for task in PAGERANK
        if task in tasks
    }
    return ReferenceTimes(reference.start, reference.facts, times, iteration_times)


def per_iteration(long_times: Iterable[float], short_times: Iterable[float]) -> list[float]:
    """Return the milliseconds of an iteration, from runs of `LONG` and `SHORT` iterations."""
    pairs = zip(long_times, short_times, strict=False)
    return [(long - short) / (LONG - SHORT) for long, short in pairs]


def column_path(folder: Path, task: str, column: str) -> Path:
    """Return the file of a result column."""
    return Path(folder) / f"{task}.{column}.npy"


def column_values(column: Any) -> np.ndarray:
    """Return a column as numbers on the host: -1 for nulls, roles by their index."""
    if hasattr(column, "to_pandas"):
        column = column.to_pandas()
    if column.dtype == object or str(column.dtype) in ("str", "string", "category"):
        roles = {"core": 0, "border": 1, "hub": 2, "outlier": 3}
        return column.astype(object).map(roles).to_numpy(np.float64)
    values = column.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isnan(values), -1, values)


def compare_partition(partition: Frame, folder: Path, task: str) -> tuple[int, int]:
    """Return the numbers of rows and of wrong values of a partition of a result."""
    start = int(partition.index[0]) if len(partition) else 0
    num_wrong = 0
    for name in partition.columns:
        values = column_values(partition[name])
        column = np.load(column_path(folder, task, name), mmap_mode="r")
        expected = column[start : start + len(partition)]
        if expected.shape != values.shape:
            return len(partition), len(partition)
        is_equal = values == expected
        if name == "pagerank":
            is_equal = np.abs(values - expected) <= PAGERANK_TOLERANCES[task] * expected
        num_wrong += int((~is_equal).sum())
    return len(partition), num_wrong


def compare_partitions(result: Any, folder: Path, task: str, num_vertices: int) -> str | None:
    """Return the problem of a distributed result, or None."""
    counts = map_partitions(result, compare_partition, folder, task)
    num_rows, num_wrong = map(sum, zip(*counts, strict=True))
    if num_wrong or num_rows != num_vertices:
        return f"wrong: {num_wrong} values in {num_rows} rows"
    return None


def wait_for_partition(partition: Frame) -> int:
    """Return the number of rows of a partition after waiting for its computation."""
    if type(partition).__module__.startswith("cudf"):
        device.import_cupy().cuda.Device().synchronize()
    return len(partition)


def map_partitions(result: Any, function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """Call a function on each partition of a Dask frame, on its worker; return the results."""
    import dask

    function = dask.delayed(function, pure=False)
    return dask.compute(*(function(part, *arguments) for part in result.to_delayed()))


class Run:
    """A session whose records are printed and saved immediately."""

    def __init__(
        self, session: Session, kind: str, folder: str | Path, protocol: str | None
    ) -> None:
        self.session, self.kind, self.folder = session, kind, Path(folder)
        self.on_gpu, self.rounds, self.protocol = kind == "gpu", ROUNDS[kind], protocol

    def add(self, row: Record) -> None:
        """Print and save a record."""
        self.session.rows.append(row)
        columns = {name: value for name, value in row.items() if name not in ("table", "check")}
        texts = [
            f"{name} {value['median'] if isinstance(value, dict) else value}"
            for name, value in columns.items()
        ]
        print(f"{row.get('check', '')}: {', '.join(texts)}", flush=True)
        self.session.save()

    def attempt(self, columns: Record, measure: Callable[[Record], object]) -> None:
        """Add the record that ``measure(row)`` fills, or its failure as the check."""
        row = dict(columns)
        harness.try_call(row, lambda: measure(row))
        self.add(row)

    def frame(self, rows: SharedRows) -> Any:
        """Return a Dask frame of the rows: from files, or on GPUs generated by workers."""
        import dask.dataframe

        if self.on_gpu:
            return rows.frame(on_gpu=True)
        return dask.dataframe.read_parquet(rows.write(self.folder))

    def cluster(self, workers: int) -> AbstractContextManager[Any]:
        """Start a cluster on this machine, and yield its client."""
        return cluster("gpu" if self.on_gpu else "cpu", workers=workers, protocol=self.protocol)
