"""The report of a graph build."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BuildReport:
    """What became of the rows. Counts, and bytes."""

    rows: int
    self_loops_dropped: int
    rows_merged: int
    edges: int
    vertices: int
    isolates: int
    nbytes: int

    def __str__(self):
        return (
            f"{self.rows:,} rows: {self.self_loops_dropped:,} self-loops dropped, "
            f"{self.rows_merged:,} merged into others, {self.edges:,} edges left; "
            f"{self.vertices:,} vertices, {self.isolates:,} of them without an edge; "
            f"{self.nbytes:,} bytes"
        )
