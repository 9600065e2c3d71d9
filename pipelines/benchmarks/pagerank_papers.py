"""Kim's figures 4 to 6 and Reddy's table 6.2: their figures, and verdicts on their claims.

Kim [1]_ prints no times, only the largest ratios of its bars. Reddy [2]_ uses the same formula (1),
which loses dangling mass.

References
----------
.. [1] M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale networks",
   Daegu Gyeongbuk Institute of Science and Technology (DGIST), section 5.
.. [2] C. S. Reddy, "GPU Programming", B.Tech. project report, Indian Institute of Technology
   Palakkad, chapters 3 to 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.benchmarks.records import Record
from rapidsgraph.device.arrays import Array

DAMPING = 0.85
# Kim: a K5000M and an i7 3940XM with four cores and eight threads. The speedups are maxima.
KIM_NODE_OVER_EDGE = 2.82  # section 5.2, figure 4
KIM_NODE_OVER_CPU = 1.96  # against Green-Marl on eight threads, figure 4
KIM_DENSITIES = {"sparse": 1, "normal": 5, "dense": 10}  # edges a vertex
KIM_MILLIONS = {2: "4", 4: "text", 8: "5"}  # million vertices: the figure
KIM_REAL = {"roadNet-CA": "NY", "cit-Patents": "cit-HepPh"}  # figure 6: what stands in for it
# Reddy: seconds of 1000 iterations on an RTX 2080 Ti, table 6.2.
REDDY_SECONDS = {
    "ego-Facebook": {"serial": 0.657086, "I": 0.200191, "II": 0.161187},
    "cit-DBLP": {"serial": 0.689932, "I": 0.200105, "II": 0.160348},
}


# Implementation III, as records name it.
CHILD_PER_VERTEX = "III, a child kernel a vertex"
CHILD_PER_LONG_LIST = "III, child kernels for long lists"
NO_CHILDREN = "III, without child kernels"


def pagerank_formula(
    xp: Any, vertices: int, sources: Array, destinations: Array, iterations: int
) -> Array:
    """Evaluate formula (1) edge by edge in double precision; answers are compared with it."""
    degrees = xp.bincount(sources, minlength=vertices)
    values = xp.full(vertices, 1 / vertices)
    for _ in range(iterations):
        contributions = (values / xp.maximum(degrees, 1))[sources]
        sums = xp.bincount(destinations, weights=contributions, minlength=vertices)
        values = DAMPING * sums + (1 - DAMPING) / vertices
    return values


def span(values: Sequence[float]) -> str:
    """Return a range in words, "2.1 to 3.4 times", or "2.1 times"."""
    low, high = (f"{value:.3g}" for value in (min(values), max(values)))
    return f"{low} times" if low == high else f"{low} to {high} times"


def verdict(holds: bool) -> str:
    """Return the verdict in words."""
    return "holds" if holds else "does not hold"


def kim_claims(rows: Sequence[Record], where: str) -> list[Record]:
    """Return a sentence on each claim of Kim's that the rows can judge."""
    claims: list[Record] = []

    def add(text: str, holds: bool) -> None:
        claims.append({"table": "Kim says", "claim": f"{text}: {verdict(holds)}.", "holds": holds})

    device = "the GPU" if any("gpu_node_ms" in row for row in rows) else "one thread of the CPU"
    if ratios := [row["edge_by_node"] for row in rows if row.get("edge_by_node")]:
        add(
            f"Kim: node is faster than edge, up to {KIM_NODE_OVER_EDGE:g} times. Here, on {device} "
            f"({where}), edge takes {span(ratios)} as long as node",
            min(ratios) > 1,
        )
    if ratios := [row["cpu_by_node"] for row in rows if row.get("cpu_by_node")]:
        add(
            "Kim: node on the GPU is faster than all threads of the CPU, transfers included, up to "
            f"{KIM_NODE_OVER_CPU:g} times. Here ({where}) the CPU takes {span(ratios)} as long",
            min(ratios) > 1,
        )
    for real, what in ((False, "slower than all threads of the CPU on random graphs"),
                       (True, "faster than them on real graphs")):  # fmt: skip
        ratios = [
            row["cpu_node_all_ms"]["median"] / row["gpu_edge_ms"]["median"]
            for row in rows
            if (row["figure"] == "6") == real and "gpu_edge_ms" in row and "cpu_node_all_ms" in row
        ]
        if ratios:
            add(
                f"Kim: edge on the GPU is {what}. Here the CPU takes {span(ratios)} as long",
                min(ratios) > 1 if real else max(ratios) < 1,
            )
    times = [(row.get("cpu_node_1_ms"), row.get("cpu_node_all_ms")) for row in rows]
    ratios = [one["median"] / many["median"] for one, many in times if one and many]
    if ratios:
        add(
            "Kim: the CPU's time falls with the number of threads. Here one thread takes "
            f"{span(ratios)} as long as all",
            min(ratios) > 1,
        )
    return claims


def reddy_claims(rows: Iterable[Record], where: str) -> list[Record]:
    """Return a sentence on each step from one implementation to the next."""
    rows = list(rows)
    claims: list[Record] = []
    times: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.get("thousand_ms"):
            times[row["graph"], row["implementation"]] = row["thousand_ms"]["median"]
    graphs = list(dict.fromkeys(row["graph"] for row in rows))

    def ratios(slow: str, fast: str) -> list[float]:
        pairs = [(times.get((graph, slow)), times.get((graph, fast))) for graph in graphs]
        return [a / b for a, b in pairs if a and b]

    for slow, fast in (("serial", "I"), ("I", "II")):
        own = ratios(slow, fast)
        paper = [seconds[slow] / seconds[fast] for seconds in REDDY_SECONDS.values()]
        if own:
            is_faster = min(own) > 1
            text = (
                f"Reddy: {fast} is faster than {slow}, {span(paper)}. Here, on {where}, {slow} "
                f"takes {span(own)} as long as {fast}: {verdict(is_faster)}."
            )
            claims.append({"table": "Reddy says", "claim": text, "holds": is_faster})
    planned = ratios(CHILD_PER_VERTEX, "II")
    holds = max(planned) < 1 if planned else None
    details = []
    for name, what in (
        (CHILD_PER_VERTEX, "a child kernel for each vertex"),
        (CHILD_PER_LONG_LIST, "child kernels for long lists alone"),
        (NO_CHILDREN, "the same sums without child kernels"),
        ("III", "our method warp, which has no child kernels,"),
    ):
        if own := ratios(name, "II"):
            details.append(f"{what} {span(own)}")
    if details:
        outcome = "not judged, there are no child kernels" if holds is None else verdict(holds)
        text = (
            "Reddy plans III, sums by warps in child kernels, and expects it to be faster than II. "
            f"Here, on {where}, {', '.join(details)} the time of II: {outcome}."
        )
        claims.append({"table": "Reddy says", "claim": text, "holds": holds})
    return claims
