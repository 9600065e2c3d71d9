"""Build, run and check a graph with more edges than the memory limit can hold.

`EdgeFile.write` writes rows chunk by chunk, and `FileReference` reads them again to check results
without any code of those that computed them. On a CPU, timed steps run in processes of
``memory_cgroup.py``; on a GPU they run in this process, within a `memory_limit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import memory_cgroup, timing
from pipelines.benchmarks.answers import result_arrays
from pipelines.benchmarks.graphs import SEED, GraphUnavailableError
from pipelines.benchmarks.harness import Session, Step, ignore_step
from pipelines.benchmarks.layered_streaming import largest_partition, open_store
from pipelines.benchmarks.records import Record
from rapidsgraph import generate
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.device.arrays import Array
from rapidsgraph.dispatch import storage_of
from rapidsgraph.frames import Frame
from rapidsgraph.layered.outofcore.file_array import OVERHEAD_BYTES

CHUNK_ROWS = 2**25  # drawn at once
ROW_GROUP = 2**20
BATCH_ROWS = {"cpu": 2**22, "gpu": 2**24}  # checked at once
DAMPING = 0.85
LIMIT_RATIO = 20  # minimum ratio of the edges to the limit
BUILD_LIMIT = 2**30  # of arrays, on a machine with a GPU
# On a CPU: what the system allows a process, and the share of its arrays; code takes the rest.
PROCESS_LIMIT, ARRAYS_LIMIT = 2**30, 600_000_000


class EdgeFile:
    """A Parquet file of edges, by a name like rmat22-128: kind, scale, edges drawn per vertex."""

    def __init__(self, name: str, folder: str | Path) -> None:
        match = re.fullmatch(r"(uniform|rmat)(\d+)-(\d+)", name)
        if not match:
            raise GraphUnavailableError(
                f"{name}: large graphs are uniform<scale>-<edges> or rmat<scale>-<edges>"
            )
        self.name, self.kind = name, match[1]
        self.vertices, edge_factor = 1 << int(match[2]), int(match[3])
        self.scale, self.rows = int(match[2]), edge_factor * self.vertices
        self.path = Path(folder) / f"{name}.parquet"

    def chunks(self, xp: Any) -> Iterator[tuple[Array, Array]]:
        """Draw (sources, destinations) chunk by chunk, each with a seed of its own."""
        ids = np.random.default_rng(SEED).permutation(self.vertices).astype(np.int32)
        ids = xp.asarray(ids)
        size = max(CHUNK_ROWS >> self.scale, 1) << self.scale
        for seed, start in enumerate(range(0, self.rows, size)):
            count = min(size, self.rows - start)
            if self.kind == "uniform":
                source, destination, *_ = generate.uniform_arrays(
                    xp, self.vertices, count, seed=seed
                )
                yield source, destination
                continue
            source, destination, *_ = generate.rmat_arrays(
                xp, self.scale, count >> self.scale, seed=seed, clean=False, permute=False
            )
            yield ids[source], ids[destination]

    def write(self, xp: Any, step: Step = ignore_step) -> None:
        """Write the file, unless it exists."""
        import pyarrow
        import pyarrow.parquet

        if self.path.exists() and pyarrow.parquet.read_metadata(self.path).num_rows == self.rows:
            return
        temporary = self.path.with_name(self.path.name + ".tmp")
        fields = [(name, pyarrow.int32()) for name in ("source", "destination")]
        options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with pyarrow.parquet.ParquetWriter(temporary, pyarrow.schema(fields), **options) as writer:
            num_rows = 0
            for chunk in self.chunks(xp):
                columns = [ids.get() if hasattr(ids, "get") else ids for ids in chunk]
                table = pyarrow.table(dict(zip(("source", "destination"), columns, strict=True)))
                writer.write_table(table, row_group_size=ROW_GROUP)
                num_rows += table.num_rows
                step(f"{self.name}: {num_rows:,} rows written")
        os.replace(temporary, self.path)

    def root(self) -> int:
        """Return the first source in the file."""
        return int(next(self.read(np, 1))[0][0])

    def read(self, xp: Any, batch_rows: int) -> Iterator[tuple[Array, Array]]:
        """Read (sources, destinations) batch by batch."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_rows, columns=["source", "destination"]):
                source, destination = (xp.asarray(column.to_numpy()) for column in batch.columns)
                yield source, destination


class FileReference:
    """Checks of results against the rows of a file, over vertices 0 to n - 1.

    Vertices without edges are absent from results.
    """

    def __init__(self, file: EdgeFile, root: int, xp: Any) -> None:
        self.file, self.root, self.xp = file, root, xp
        self.batch_rows = BATCH_ROWS["cpu" if xp is np else "gpu"]
        self.degrees: Array | None = None
        self.is_present: Array | None = None

    def by_vertex(self, answer: Frame, name: str, missing: float) -> Array:
        """Return a column of a result in the order of vertex ids."""
        columns = result_arrays(answer, self.xp)
        values = self.xp.full(self.file.vertices, missing)
        values[columns["vertex"].astype(np.int64)] = columns[name]
        return values

    def check_bfs(self, answer: Frame) -> str | None:
        """Return the problem of distances and predecessors, or None; count degrees."""
        xp, n = self.xp, self.file.vertices
        distance = self.by_vertex(answer, "distance", -1.0)
        predecessor = self.by_vertex(answer, "predecessor", -1.0)
        min_source = xp.full(n, 2**31 - 1, np.int32)
        degrees, is_destination = xp.zeros(n, np.int64), xp.zeros(n, bool)
        num_skips = 0
        for sources, destinations in self.file.read(xp, self.batch_rows):
            degrees += xp.bincount(sources, minlength=n)
            is_destination[destinations] = True
            level, next_level = distance[sources], distance[destinations]
            is_reached = level >= 0
            num_skips += int((is_reached & ((next_level < 0) | (next_level > level + 1))).sum())
            is_tree_edge = is_reached & (next_level == level + 1)
            xp.minimum.at(min_source, destinations[is_tree_edge], sources[is_tree_edge])
        self.degrees, self.is_present = degrees, is_destination | (degrees > 0)
        if num_skips:
            return f"wrong: {num_skips} edges skip a level"
        if num_wrong := int(((distance == 0) != (xp.arange(n) == self.root)).sum()):
            return f"wrong: {num_wrong} vertices are wrongly at distance 0 or not"
        expected = xp.where(min_source < 2**31 - 1, min_source, -1)
        if num_wrong := int(((distance > 0) != (expected >= 0)).sum()):
            return f"wrong: {num_wrong} vertices have no edge from the previous level"
        num_wrong = int((predecessor != expected).sum())
        return f"wrong: {num_wrong} predecessors" if num_wrong else None

    def check_pagerank(self, answer: Frame, iterations: int) -> str | None:
        """Return the problem of PageRank values, or None; call it after `check_bfs`."""
        xp, n = self.xp, self.file.vertices
        assert self.degrees is not None and self.is_present is not None
        values = self.by_vertex(answer, "pagerank", 0.0)
        if not abs(float(values.sum()) - 1) <= 1e-9:
            return f"wrong: PageRank sums to {float(values.sum())!r}"
        count = int(self.is_present.sum())
        expected = xp.where(self.is_present, 1 / count, 0.0)
        is_dangling = self.is_present & (self.degrees == 0)
        for _ in range(iterations):
            contributions = xp.where(self.degrees > 0, expected / xp.maximum(self.degrees, 1), 0.0)
            sums = xp.zeros(n)
            for sources, destinations in self.file.read(xp, self.batch_rows):
                sums += xp.bincount(destinations, weights=contributions[sources], minlength=n)
            dangling_mass = float(expected[is_dangling].sum())
            expected = DAMPING * (sums + dangling_mass / count) + (1 - DAMPING) / count
            expected = xp.where(self.is_present, expected, 0.0)
        num_wrong = int((xp.abs(values - expected) > 1e-9 * expected).sum())
        return f"wrong: {num_wrong} values of pagerank" if num_wrong else None


def memory_limit(layered: rg.LayeredEdgeList, algorithm: str, csr_bytes: int) -> int:
    """Return a limit that edges exceed 20 times, if the vertices and 3 partitions fit into it."""
    vertex_bytes = ALGORITHM_BYTES[algorithm].per_vertex * layered.num_vertices
    minimum = vertex_bytes + 3 * largest_partition(layered)
    return max(minimum, min(csr_bytes, layered.nbytes) // LIMIT_RATIO)


def measure(
    name: str,
    session: Session,
    folder: str | Path,
    limits: tuple[int, int] | None = None,
    rate: float | None = None,
    iterations: int = 3,
    step: Step = ignore_step,
) -> Iterator[Record]:
    """Yield the records of a large graph: its build, then BFS and PageRank, checked.

    Parameters
    ----------
    limits : (int, int), optional
        Bytes that a process, and its arrays, may take; each step is then a process of its own.
    rate : float, optional
        Bytes per second of pinned copies.
    """
    xp, clock = session.xp, session.clock
    file = EdgeFile(name, folder)
    step(f"{name}: writing the file")
    write_ms, _ = clock.timed(lambda: file.write(xp, step))
    root, store = file.root(), Path(folder) / f"{name}.layers"
    executor: memory_cgroup.InProcess | memory_cgroup.LimitedProcess
    executor = (
        memory_cgroup.InProcess(xp) if limits is None else memory_cgroup.LimitedProcess(limits[0])
    )
    about: Record = {
        "table": "large", "graph": name, "vertices": file.vertices, "edges": file.rows,
        "file_bytes": file.path.stat().st_size, "how": "streamed" if limits is None else "limited",
    }  # fmt: skip
    step(f"{name}: building out of core")
    array_limit = BUILD_LIMIT if limits is None else limits[1]
    row = about | {
        "algorithm": "build", "limit_bytes": array_limit, "write_ms": rounded(write_ms),
    }  # fmt: skip
    arguments = file.path, store, root, array_limit + OVERHEAD_BYTES
    if not executor.run(row, "build", *arguments).is_done:
        yield row
        return
    layered = open_store(store, xp)
    csr_bytes = 4 * file.rows + 8 * layered.num_vertices
    sizes = {
        "csr_bytes": csr_bytes, "list_bytes": layered.nbytes, "layers": layered.depth + 1,
        "partitions": len(storage_of(layered).table),
    }  # fmt: skip
    is_complete = layered.num_edges == file.rows
    row |= sizes | {"check": "ok" if is_complete else f"wrong: {layered.num_edges} edges"}
    if not is_complete:
        row.pop("run_ms", None)
    yield row
    reference = FileReference(file, root, xp)
    for algorithm in ("bfs", "pagerank"):
        step(f"{name}: {algorithm}")
        limit = memory_limit(layered, algorithm, csr_bytes) if limits is None else limits[1]
        row = about | sizes | {
            "algorithm": algorithm, "limit_bytes": limit,
            "csr_by_limit": rounded(csr_bytes / limit),
            "list_by_limit": rounded(layered.nbytes / limit),
        }  # fmt: skip
        if limits is not None:
            row["list_by_process"] = rounded(layered.nbytes / limits[0])
        result = executor.run(row, algorithm, store, limit, iterations)
        if result.is_done:
            step(f"{name}: checking {algorithm}")
            if algorithm == "bfs":
                problem = reference.check_bfs(result.answer)
            else:
                problem = reference.check_pagerank(result.answer, iterations)
            row["check"] = problem or "ok"
            if problem:
                row.pop("run_ms")
            else:
                add_rates(row, rate, iterations)
        yield row
        if reference.degrees is None:
            return  # PageRank could not be checked


def add_rates(row: Record, rate: float | None, iterations: int) -> None:
    """Add the rates that follow from the time and the bytes of a run."""
    seconds = row["run_ms"]["median"] / 1e3
    if row["algorithm"] == "pagerank":
        row["iteration_ms"] = rounded(seconds / iterations * 1e3)
    row["gb_per_s"] = rounded(row["bytes"] / seconds / 1e9)
    if rate:
        row["share"] = rounded(row["bytes"] / seconds / rate)
        row["by_floor"] = rounded(seconds * rate / row["bytes"])


def rounded(value: float) -> float:
    """Round to four significant digits."""
    return timing.summary([value])["median"]
