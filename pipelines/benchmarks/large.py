"""A file of more edges than memory is allowed to hold: made, built out of core, run, checked.

Means: `make_file` writes rows chunk by chunk, `check` reads them again and looks whether results
  are right, without anything of what gave them. On a CPU what is timed runs in processes of
  limited.py, on a GPU here, within a `memory_limit`.
"""

import os
import re
from pathlib import Path

import numpy as np

from pipelines.benchmarks import limited, timing
from pipelines.benchmarks.streams import arrays_of, opened
from pipelines.benchmarks.workloads import SEED, Missing
from rapidsgraph import generate
from rapidsgraph.dispatch import storage_of
from rapidsgraph.layered.outofcore.limits import OVERHEAD_BYTES
from rapidsgraph.layered.packing import COLUMN
from rapidsgraph.memory import ALGORITHM_BYTES

CHUNK = 2**25  # rows that are drawn at once
GROUP = 2**20  # rows of a row group
BATCH = {"cpu": 2**22, "gpu": 2**24}  # rows that are looked at together
DAMPING = 0.85
TIMES = 20  # that edges should exceed the limit
BUILD_LIMIT = 2**30  # of arrays, on a machine with a GPU
# Of a process on a CPU: what the system lets it have, and of that its arrays; code takes the rest.
PROCESS_LIMIT, ARRAYS_LIMIT = 2**30, 600_000_000


class File:
    """A file of edges, by a name like rmat22-128: kind, scale, edges drawn a vertex."""

    def __init__(self, name, folder):
        match = re.fullmatch(r"(uniform|rmat)(\d+)-(\d+)", name)
        if not match:
            raise Missing(f"{name}: large graphs are uniform<scale>-<edges> or rmat<scale>-<edges>")
        self.name, self.kind = name, match[1]
        self.vertices, factor = 1 << int(match[2]), int(match[3])
        self.scale, self.rows = int(match[2]), factor * self.vertices
        self.path = Path(folder) / f"{name}.parquet"

    def chunks(self, xp):
        """(sources, destinations) as they are drawn; each chunk has a seed of its own."""
        names = np.random.default_rng(SEED).permutation(self.vertices).astype(np.int32)
        names = xp.asarray(names)
        size = max(CHUNK >> self.scale, 1) << self.scale
        for seed, start in enumerate(range(0, self.rows, size)):
            count = min(size, self.rows - start)
            if self.kind == "uniform":
                yield generate.uniform_arrays(xp, self.vertices, count, seed=seed)[:2]
                continue
            factor = count >> self.scale
            found = generate.rmat_arrays(
                xp, self.scale, factor, seed=seed, clean=False, permute=False
            )
            yield tuple(names[ends] for ends in found[:2])

    def make(self, xp, step=lambda text: None):
        """Write the file, unless it is there."""
        import pyarrow
        import pyarrow.parquet

        if self.path.exists() and pyarrow.parquet.read_metadata(self.path).num_rows == self.rows:
            return
        draft = self.path.with_name(self.path.name + ".tmp")
        fields = [(name, pyarrow.int32()) for name in ("source", "destination")]
        options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with pyarrow.parquet.ParquetWriter(draft, pyarrow.schema(fields), **options) as writer:
            done = 0
            for ends in self.chunks(xp):
                ends = [each.get() if hasattr(each, "get") else each for each in ends]
                table = pyarrow.table(dict(zip(("source", "destination"), ends, strict=True)))
                writer.write_table(table, row_group_size=GROUP)
                done += table.num_rows
                step(f"{self.name}: {done:,} rows written")
        os.replace(draft, self.path)

    def root(self):
        """The first source in the file."""
        return int(next(self.read(np, 1))[0][0])

    def read(self, xp, batch):
        """(sources, destinations) of the rows, as arrays of `xp`."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            for rows in file.iter_batches(batch, columns=["source", "destination"]):
                yield tuple(xp.asarray(column.to_numpy()) for column in rows.columns)


class Truth:
    """What the rows of a file say about results, by vertices 0 to n - 1 of which some may lack."""

    def __init__(self, file, root, xp):
        self.file, self.root, self.xp = file, root, xp
        self.batch = BATCH["cpu" if xp is np else "gpu"]
        self.degrees = None

    def by_vertex(self, answer, name, missing):
        columns = arrays_of(answer, self.xp)
        found = self.xp.full(self.file.vertices, missing)
        found[columns["vertex"].astype(np.int64)] = columns[name]
        return found

    def of_bfs(self, answer):
        """What is wrong with distances and predecessors, or None; counts what leaves vertices."""
        xp, n = self.xp, self.file.vertices
        depth = self.by_vertex(answer, "distance", -1.0)
        before = self.by_vertex(answer, "predecessor", -1.0)
        least = xp.full(n, 2**31 - 1, np.int32)
        degrees, seen = xp.zeros(n, np.int64), xp.zeros(n, bool)
        skipped = 0
        for sources, destinations in self.file.read(xp, self.batch):
            degrees += xp.bincount(sources, minlength=n)
            seen[destinations] = True
            down, up = depth[sources], depth[destinations]
            reached = down >= 0
            skipped += int((reached & ((up < 0) | (up > down + 1))).sum())
            last = reached & (up == down + 1)
            xp.minimum.at(least, destinations[last], sources[last])
        self.degrees, self.seen = degrees, seen | (degrees > 0)
        if skipped:
            return f"wrong: {skipped} edges skip a level"
        if wrong := int(((depth == 0) != (xp.arange(n) == self.root)).sum()):
            return f"wrong: {wrong} vertices of distance 0 or not"
        expected = xp.where(least < 2**31 - 1, least, -1)
        if wrong := int(((depth > 0) != (expected >= 0)).sum()):
            return f"wrong: {wrong} vertices that no edge of the level before reaches"
        wrong = int((before != expected).sum())
        return f"wrong: {wrong} predecessors" if wrong else None

    def of_pagerank(self, answer, iterations):
        """What is wrong with the ranks, or None; after `of_bfs`."""
        xp, n = self.xp, self.file.vertices
        given = self.by_vertex(answer, "pagerank", 0.0)
        if not abs(float(given.sum()) - 1) <= 1e-9:
            return f"wrong: ranks sum to {float(given.sum())!r}"
        count = int(self.seen.sum())
        ranks = xp.where(self.seen, 1 / count, 0.0)
        for _ in range(iterations):
            shares = xp.where(self.degrees > 0, ranks / xp.maximum(self.degrees, 1), 0.0)
            sums = xp.zeros(n)
            for sources, destinations in self.file.read(xp, self.batch):
                sums += xp.bincount(destinations, weights=shares[sources], minlength=n)
            sinks = float(ranks[self.seen & (self.degrees == 0)].sum())
            ranks = xp.where(
                self.seen, DAMPING * (sums + sinks / count) + (1 - DAMPING) / count, 0.0
            )
        wrong = int((xp.abs(given - ranks) > 1e-9 * ranks).sum())
        return f"wrong: {wrong} ranks" if wrong else None


def limit_of(layered, algorithm, csr_bytes):
    """A limit that edges exceed 20 times, if the vertices and three partitions fit into it."""
    largest = int(storage_of(layered).table[:, COLUMN["words"]].max(initial=1)) * 4
    least = ALGORITHM_BYTES[algorithm].per_vertex * layered.num_vertices + 3 * largest
    return max(least, min(csr_bytes, layered.nbytes) // TIMES)


def measure(name, session, folder, limits=None, rate=None, iterations=3, step=lambda text: None):
    """Records of a large graph, as they come: its build, then BFS and PageRank, checked.

    With `limits` (of a process, of its arrays) each of these is a process of its own.
    """
    xp, clock = session.xp, session.clock
    file = File(name, folder)
    step(f"{name}: writing the file")
    writing, _ = clock.timed(lambda: file.make(xp, step))
    root, store = file.root(), Path(folder) / f"{name}.layers"
    where = limited.Here(xp) if limits is None else limited.Processes(limits[0])
    truth = Truth(file, root, xp)
    about = {
        "table": "large", "graph": name, "vertices": file.vertices, "edges": file.rows,
        "file_bytes": file.path.stat().st_size, "how": "streamed" if limits is None else "limited",
    }  # fmt: skip
    step(f"{name}: building out of core")
    arrays = BUILD_LIMIT if limits is None else limits[1]
    row = about | {"algorithm": "build", "limit_bytes": arrays, "write_ms": rounded(writing)}
    facts, _ = where.run(row, "build", file.path, store, root, arrays + OVERHEAD_BYTES)
    if facts is None:
        yield row
        return
    layered = opened(store, xp)
    csr_bytes = 4 * file.rows + 8 * layered.num_vertices
    sizes = {
        "csr_bytes": csr_bytes, "list_bytes": layered.nbytes, "layers": layered.depth + 1,
        "partitions": len(storage_of(layered).table),
    }  # fmt: skip
    same = layered.num_edges == file.rows
    row |= sizes | {"check": "ok" if same else f"wrong: {layered.num_edges} edges"}
    if not same:
        row.pop("run_ms", None)
    yield row
    for algorithm in ("bfs", "pagerank"):
        step(f"{name}: {algorithm}")
        limit = limit_of(layered, algorithm, csr_bytes) if limits is None else limits[1]
        row = about | sizes | {
            "algorithm": algorithm, "limit_bytes": limit,
            "csr_by_limit": rounded(csr_bytes / limit),
            "list_by_limit": rounded(layered.nbytes / limit),
        }  # fmt: skip
        if limits is not None:
            row["list_by_process"] = rounded(layered.nbytes / limits[0])
        facts, answer = where.run(row, algorithm, store, limit, iterations)
        if facts is not None:
            step(f"{name}: checking {algorithm}")
            wrong = (
                truth.of_bfs(answer)
                if algorithm == "bfs"
                else truth.of_pagerank(answer, iterations)
            )
            row["check"] = wrong or "ok"
            taken = row["run_ms"]["median"] / 1e3
            if wrong:
                row.pop("run_ms")
            else:
                if algorithm == "pagerank":
                    row["iteration_ms"] = rounded(taken / iterations * 1e3)
                row["gb_per_s"] = rounded(row["bytes"] / taken / 1e9)
                if rate:
                    row["share"] = rounded(row["bytes"] / taken / rate)
                    row["by_floor"] = rounded(taken * rate / row["bytes"])
        yield row
        if truth.degrees is None:
            return  # the ranks could not be checked


def rounded(value):
    return timing.summary([value])["median"]
