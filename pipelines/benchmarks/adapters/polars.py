"""Polars: the joins of the frame forms of PageRank and BFS."""

from __future__ import annotations

import pandas
import polars

from pipelines.benchmarks.adapters import Library, scatter
from pipelines.benchmarks.graphs import Workload

ITERATIONS = 10  # of PageRank
library = Library("Polars")


def pagerank(edges: pandas.DataFrame, case: Workload) -> pandas.DataFrame:
    arcs = polars.from_pandas(edges[["source", "destination"]]).unique()
    vertices = polars.concat([arcs["source"], arcs["destination"]]).unique().alias("vertex")
    degrees = arcs.group_by(vertex="source").agg(degree=polars.len())
    state = vertices.to_frame().join(degrees, on="vertex", how="left")
    state = state.with_columns(pagerank=polars.lit(1 / len(state)))
    for _ in range(ITERATIONS):
        contributions = state.select(
            source="vertex", contribution=polars.col("pagerank") / polars.col("degree")
        )
        received = arcs.join(contributions, on="source").group_by(vertex="destination")
        received = received.agg(received=polars.col("contribution").sum())
        dangling = state.filter(polars.col("degree").is_null())["pagerank"].sum()
        constant = 0.15 / len(state) + 0.85 * dangling / len(state)
        state = state.join(received, on="vertex", how="left").select(
            "vertex", "degree", pagerank=constant + 0.85 * polars.col("received").fill_null(0)
        )
    return state.select("vertex", "pagerank").sort("vertex").to_pandas()


def bfs(edges: pandas.DataFrame, case: Workload) -> pandas.DataFrame:
    arcs = polars.from_pandas(edges[["source", "destination"]])
    root = polars.Series([case.start], dtype=arcs["source"].dtype)
    frontier = polars.DataFrame({"vertex": root, "distance": [0]})
    reached = frontier
    while len(frontier):
        level = frontier["distance"][0] + 1
        found = arcs.join(frontier.select(source="vertex"), on="source").select("destination")
        found = found.unique().rename({"destination": "vertex"})
        frontier = found.join(reached, on="vertex", how="anti").with_columns(
            distance=polars.lit(level, polars.Int64)
        )
        reached = polars.concat([reached, frontier])
    return reached.sort("vertex").to_pandas()


for task, run, column in (("pagerank", pagerank, "pagerank"), ("bfs", bfs, "distance")):
    library.add(task, "joins", run, lambda case: case.host_frame, scatter(column), engine="pandas")
