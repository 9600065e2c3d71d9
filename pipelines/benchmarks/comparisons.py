"""Comparisons with the peers that compute the same, from records.

A comparison is on one graph; its ratio is the median of the ratios within a round, as recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.benchmarks.records import Record

BENCHMARKS = ("pagerank", "traversal", "scan", "build", "structure")  # those that run peers


@dataclass(frozen=True)
class Contest:
    """Rows of one table that compute the same.

    Attributes
    ----------
    title : str
    table, time : str
        The table of the rows, and the key of their time.
    columns : tuple of (key, value)
        What all its rows have.
    own_columns : tuple of (key, value)
        What ours have besides.
    excluded : tuple of str
        Implementations of peers that compute less.
    """

    title: str
    table: str
    time: str
    columns: tuple[tuple[str, Any], ...] = ()
    own_columns: tuple[tuple[str, Any], ...] = ()
    excluded: tuple[str, ...] = ()

    def select(self, rows: Iterable[Record]) -> list[Record]:
        """Return the rows of correct answers with a time."""
        wanted = {"table": self.table, **dict(self.columns)}
        return [
            row
            for row in rows
            if all(row.get(key) == value for key, value in wanted.items())
            and row.get(self.time)
            and row[self.time]["median"] > 0  # in a quick run differences may be negative
            and row.get("check", "ok") == "ok"
        ]

    def is_ours(self, row: Record) -> bool:
        own = {"library": "rapidsgraph", **dict(self.own_columns)}
        return all(row.get(key) == value for key, value in own.items())

    def is_peer(self, row: Record) -> bool:
        """Return whether a row is of a peer that computes the same."""
        return (
            row["library"] not in ("rapidsgraph", "serial")
            and row["implementation"] not in self.excluded
            and bool(row.get("ratio"))
            # Of builds, ours is by source.
            and (self.table != "build" or "destination" not in row["implementation"])
        )


def pagerank_contest(precision: str) -> Contest:
    """Return the contest of PageRank iterations in a precision."""
    return Contest(
        f"PageRank iteration, {precision}", "pagerank", "iteration_ms",
        (("precision", precision),), (("implementation", "auto"),), ("CSR product",),
    )  # fmt: skip


CONTESTS = (
    pagerank_contest("single"),
    pagerank_contest("double"),
    Contest("BFS with predecessors", "bfs", "run_ms", (("predecessors", True),),
            (("implementation", "bfs"),)),
    Contest("BFS, distances", "bfs", "run_ms", (("predecessors", False),),
            (("implementation", "bfs"),)),
    Contest("SSSP with predecessors", "sssp", "run_ms", (("predecessors", True),),
            (("implementation", "sssp"),)),
    Contest("SSSP, distances", "sssp", "run_ms", (("predecessors", False),),
            (("implementation", "sssp"),)),
    Contest("Weak components", "components", "run_ms"),
    Contest("Similarity of all edges", "similarity", "run_ms", (("gives", "similarity"),),
            (("implementation", "auto"),)),
    Contest("Common neighbors of all edges", "similarity", "run_ms", (("gives", "counts"),),
            (("implementation", "auto"),)),
    Contest("Build by source, rows shuffled", "build", "build_ms", (("case", "shuffled"),),
            (("implementation", "by source"),)),
    Contest("Strong components", "strong components", "run_ms"),
    Contest("Triangles of vertices", "triangle_count", "run_ms"),
    Contest("Clustering coefficients", "clustering_coefficient", "run_ms"),
    Contest("Jaccard similarity of all edges", "neighbor_similarity", "run_ms"),
    Contest("Core numbers", "core_number", "run_ms"),
    Contest("Label propagation (CDLP)", "label_propagation", "run_ms"),
)  # fmt: skip


def peer_records(rows: Iterable[Record]) -> Iterator[Record]:
    """Yield the records of the runs that have peers."""
    has_peers = False
    for row in rows:
        if row["table"] == "run":
            has_peers = row["benchmark"] in BENCHMARKS
        if has_peers:
            yield row


def compare(rows: Iterable[Record]) -> list[Record]:
    """Return a record for each contest and graph: our time, and peers by their ratio to ours."""
    rows = list(peer_records(rows))
    graphs = {row["graph"]: row for row in rows if row["table"] == "graph"}
    comparisons = []
    for contest in CONTESTS:
        selected = contest.select(rows)
        for graph in dict.fromkeys(row["graph"] for row in selected):
            on_graph = [row for row in selected if row["graph"] == graph]
            own = next((row for row in on_graph if contest.is_ours(row)), None)
            if own is None:
                continue
            num_edges = graphs.get(graph, {}).get("arcs") or own.get("edges")
            comparisons.append(
                {
                    "table": "comparison", "task": contest.title, "graph": graph,
                    "edges": num_edges, "ours_ms": own[contest.time],
                    "floor_ms": own.get("floor_ms"),
                    "others": rank_peers(filter(contest.is_peer, on_graph), contest.time),
                }
            )  # fmt: skip
    return comparisons


def rank_peers(rows: Iterable[Record], time: str) -> Sequence[Record]:
    """Return peers with their times, the fastest first."""
    peers = [
        {
            "library": row["library"],
            "implementation": row["implementation"],
            "ms": row[time]["median"],
            "ratio": row["ratio"],
        }
        for row in rows
    ]
    return sorted(peers, key=lambda peer: peer["ratio"])
