"""Random graphs in shards, which every process can generate: no rows pass through a client."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from pipelines.benchmarks.graphs import SEED, random_weights
from rapidsgraph import device, generate

SHORT, LONG = 2, 20  # iterations of PageRank, whose difference gives the time of an iteration


@dataclass(frozen=True)
class SharedRows:
    """The rows of a graph, R-MAT or uniform with 2^scale vertices, in shards of equal size."""

    kind: str
    scale: int
    edge_factor: int
    num_shards: int = 8
    weighted: bool = False
    directed: bool = True

    @property
    def name(self) -> str:
        kind = ("" if self.directed else "u") + ("w" if self.weighted else "")
        return f"{self.kind}{self.scale}-{self.edge_factor}{kind}"

    @property
    def shard_rows(self) -> int:
        return (self.edge_factor << self.scale) // self.num_shards

    @property
    def num_rows(self) -> int:
        return self.shard_rows * self.num_shards

    @property
    def graph_options(self) -> dict[str, Any]:
        """The options of `Graph` for these rows."""
        weight = {"weight": "weight", "multi_edges": "min"} if self.weighted else {"weight": None}
        return {"directed": self.directed} | weight

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

    def columns(self, number: int, xp: Any) -> dict[str, Any]:
        """Return the columns of a shard."""
        source, destination = self.edges(number, xp)
        columns = {"source": source, "destination": destination}
        if self.weighted:
            columns["weight"] = random_weights(xp, source, destination)
        return columns

    def whole(self, xp: Any) -> dict[str, Any]:
        """Return the columns of all shards."""
        shards = [self.columns(number, xp) for number in range(self.num_shards)]
        return {
            name: xp.concatenate([shard.pop(name) for shard in shards]) for name in [*shards[0]]
        }

    def shard(self, number: int, on_gpu: bool = False) -> Any:
        """Return a pandas or cuDF frame of one shard."""
        if on_gpu:
            import cudf

            return cudf.DataFrame(self.columns(number, device.import_cupy()))
        return pandas.DataFrame(self.columns(number, np))

    def write(self, folder: Path) -> Path:
        """Write shards that are missing as Parquet files; return their folder."""
        path = Path(folder) / self.name
        path.mkdir(exist_ok=True)
        for number in range(self.num_shards):
            file = path / f"part.{number:03}.parquet"
            if not file.exists():
                self.shard(number).to_parquet(file.with_suffix(".tmp"), index=False)
                file.with_suffix(".tmp").rename(file)
        return path

    def frame(self, on_gpu: bool, folder: Path) -> Any:
        """Return a Dask frame: of Parquet files, or on GPUs generated where it is used."""
        import dask.dataframe

        if not on_gpu:
            return dask.dataframe.read_parquet(self.write(folder))
        import dask_cudf  # noqa: F401  # registers cuDF's frames with Dask

        meta = replace(self, scale=2, edge_factor=self.num_shards).shard(0, on_gpu).iloc[:0]
        shard = functools.partial(self.shard, on_gpu=on_gpu)
        return dask.dataframe.from_map(shard, range(self.num_shards), meta=meta).persist()


@functools.lru_cache(maxsize=1)
def permuted_ids(xp: Any, scale: int) -> Any:
    """Return vertex ids in an order that all shards share."""
    return xp.asarray(np.random.default_rng(SEED).permutation(1 << scale).astype(np.int32))


def per_iteration(long_times: Iterable[float], short_times: Iterable[float]) -> list[float]:
    """Return the milliseconds of an iteration, from runs of `LONG` and `SHORT` iterations."""
    pairs = zip(long_times, short_times, strict=False)
    return [(long - short) / (LONG - SHORT) for long, short in pairs]
