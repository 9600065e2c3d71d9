"""Which rows of records give as much, and how ours stands to the others among them.

Means: a comparison is ours against all others that give as much, on one graph. Its ratio is the
  median of those within a round, as the record has it.
"""

from dataclasses import dataclass

COMPARED = ("pagerank", "traversal", "scan", "build")


@dataclass(frozen=True)
class Contest:
    """Rows of one table that give as much.

    Attributes
    ----------
    title : str
    table, value : str
        Whose rows, and where their time is.
    where : dict
        What its rows have.
    ours : dict
        What ours has, beside.
    not_theirs : tuple of str
        Implementations that do less.
    """

    title: str
    table: str
    value: str
    where: tuple = ()
    ours: tuple = ()
    not_theirs: tuple = ()

    def rows(self, found):
        wanted = {"table": self.table, **dict(self.where)}
        return [
            row
            for row in found
            if all(row.get(key) == value for key, value in wanted.items())
            and row.get(self.value)
            and row[self.value]["median"] > 0  # in a quick run differences may be below
            and row.get("check", "ok") == "ok"
        ]

    def is_ours(self, row):
        own = {"library": "rapidsgraph", **dict(self.ours)}
        return all(row.get(key) == value for key, value in own.items())


def ranks(precision):
    return Contest(
        f"PageRank, an iteration, {precision}", "pagerank", "iteration_ms",
        (("precision", precision),), (("implementation", "auto"),), ("CSR product",),
    )  # fmt: skip


CONTESTS = (
    ranks("single"),
    ranks("double"),
    Contest("BFS, predecessors too", "bfs", "run_ms", (("predecessors", True),),
            (("implementation", "bfs"),)),
    Contest("BFS, distances", "bfs", "run_ms", (("predecessors", False),),
            (("implementation", "bfs"),)),
    Contest("SSSP, predecessors too", "sssp", "run_ms", (("predecessors", True),),
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
)  # fmt: skip


def compared(found):
    """Rows of the runs that compare libraries."""
    kept = False
    for row in found:
        if row["table"] == "run":
            kept = row["benchmark"] in COMPARED
        if kept:
            yield row


def comparisons(found):
    """A record for each contest and graph: ours, the others, and how many times as long they take.

    The fastest of the others is the first of them.
    """
    found = list(compared(found))
    graphs = {row["graph"]: row for row in found if row["table"] == "graph"}
    made = []
    for contest in CONTESTS:
        rows = contest.rows(found)
        for graph in dict.fromkeys(row["graph"] for row in rows):
            here = [row for row in rows if row["graph"] == graph]
            own = next((row for row in here if contest.is_ours(row)), None)
            others = [
                row
                for row in here
                if row["library"] not in ("rapidsgraph", "serial")
                and row["implementation"] not in contest.not_theirs
                and row.get("ratio")
                and of_a_side(row, contest)
            ]
            if own is None:
                continue
            made.append(
                {
                    "table": "comparison", "task": contest.title, "graph": graph,
                    "edges": graphs.get(graph, {}).get("arcs") or own.get("edges"),
                    "ours_ms": own[contest.value], "floor_ms": own.get("floor_ms"),
                    "others": sorted(
                        (
                            {
                                "library": row["library"],
                                "implementation": row["implementation"],
                                "ms": row[contest.value]["median"],
                                "ratio": row["ratio"],
                            }
                            for row in others
                        ),
                        key=lambda other: other["ratio"],
                    ),
                }
            )  # fmt: skip
    return made


def of_a_side(row, contest):
    """Of builds: does the peer build the side that ours does?"""
    return contest.table != "build" or "destination" not in row["implementation"]
