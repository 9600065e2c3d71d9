"""Kim's figures 4 to 6 and Reddy's table 6.2: their figures, our tables, and what holds here.

Reference: Kim, Towards Exploiting GPUs for Fast PageRank Computation of Large-Scale Networks,
  section 5; Reddy, GPU Programming, chapters 3 to 7. Kim prints no times, only the greatest ratios
  of its bars. Both follow formula (1), which loses the rank of sinks.
"""

import numpy as np

DAMPING = 0.85
# Kim: a K5000M and an i7 3940XM with four cores and eight threads. "Up to" so many times.
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

PAPER_TABLES = {  # kind of records: title, columns
    "Kim": (
        "Kim's figures 4 to 6: ten iterations, transfers included",
        [
            "figure", "graph", "vertices", "edges", "gpu_edge_ms", "gpu_node_ms", "gpu_auto_ms",
            "cpu_edge_1_ms", "cpu_node_1_ms", "cpu_node_all_ms", "cpu_auto_all_ms", "edge_by_node",
            "paper_edge_by_node", "cpu_by_node", "paper_cpu_by_node",
        ],
    ),
    "Kim says": ("What Kim says", ["claim"]),
    "Kim runs": (
        "Kim's figures, run by run",
        [
            "figure", "graph", "kind", "runs_on", "ten_ms", "resident_ms", "transfer_ms",
            "transferred_bytes", "build_ms", "check", "note",
        ],
    ),
    "Reddy": (
        "Reddy's table 6.2: 1000 iterations",
        [
            "graph", "vertices", "edges", "implementation", "kind", "thousand_ms", "paper_ms",
            "by_serial", "paper_by_serial", "by_auto", "children", "build_ms", "check", "note",
        ],
    ),
    "Reddy says": ("What Reddy says", ["claim"]),
}  # fmt: skip
PAPER_HEADINGS = {
    "figure": "figure",
    "runs_on": "runs on",
    "gpu_edge_ms": "edge, GPU, ms",
    "gpu_node_ms": "node, GPU, ms",
    "gpu_auto_ms": "auto, GPU, ms",
    "cpu_edge_1_ms": "edge, CPU, 1 thread, ms",
    "cpu_node_1_ms": "node, CPU, 1 thread, ms",
    "cpu_node_all_ms": "node, CPU, all threads, ms",
    "cpu_auto_all_ms": "auto, CPU, all threads, ms",
    "edge_by_node": "edge by node",
    "paper_edge_by_node": "its edge by node",
    "cpu_by_node": "CPU by GPU, node",
    "paper_cpu_by_node": "its CPU by GPU",
    "resident_ms": "10 iterations alone, ms",
    "transfer_ms": "transfers alone, ms",
    "transferred_bytes": "bytes transferred",
    "kind": "method",
    "paper_ms": "its time, ms",
    "by_serial": "serial by it",
    "paper_by_serial": "its serial by it",
    "by_auto": "times auto",
    "children": "child kernels an iteration",
}


def plain_ranks(xp, vertices, sources, destinations, iterations):
    """Formula (1) in double precision, edge by edge: what every answer is compared with."""
    degrees = xp.bincount(sources, minlength=vertices)
    ranks = xp.full(vertices, 1 / vertices)
    for _ in range(iterations):
        shares = (ranks / xp.maximum(degrees, 1))[sources]
        gathered = xp.bincount(destinations, weights=shares, minlength=vertices)
        ranks = DAMPING * gathered + (1 - DAMPING) / vertices
    return ranks


def problem(ranks, truth, most):
    """What is wrong with ranks, or None; `most` is the greatest total difference allowed."""
    if ranks.shape != truth.shape:
        return f"wrong: {ranks.size} ranks for {truth.size} vertices"
    distance = float(np.abs(ranks.astype(np.float64) - truth).sum())
    return None if distance <= most else f"wrong: {distance:.2g} away in total from formula (1)"


def span(values):
    """ "2.1 to 3.4 times", or "2.1 times"."""
    low, high = (f"{value:.3g}" for value in (min(values), max(values)))
    return f"{low} times" if low == high else f"{low} to {high} times"


def verdict(holds):
    return "holds" if holds else "does not hold"


def kim_claims(rows, where):
    """A sentence on each claim of Kim's that these rows can judge."""
    made = []

    def say(text, holds):
        made.append({"table": "Kim says", "claim": f"{text}: {verdict(holds)}.", "holds": holds})

    device = "the GPU" if any("gpu_node_ms" in row for row in rows) else "one thread of the CPU"
    if ratios := [row["edge_by_node"] for row in rows if row.get("edge_by_node")]:
        say(
            f"Kim: node is faster than edge, up to {KIM_NODE_OVER_EDGE:g} times. Here, on {device} "
            f"({where}), edge takes {span(ratios)} as long as node",
            min(ratios) > 1,
        )
    if ratios := [row["cpu_by_node"] for row in rows if row.get("cpu_by_node")]:
        say(
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
            say(
                f"Kim: edge on the GPU is {what}. Here the CPU takes {span(ratios)} as long",
                min(ratios) > 1 if real else max(ratios) < 1,
            )
    pairs = [(row.get("cpu_node_1_ms"), row.get("cpu_node_all_ms")) for row in rows]
    ratios = [one["median"] / many["median"] for one, many in pairs if one and many]
    if ratios:
        say(
            "Kim: the CPU's time falls with the number of threads. Here one thread takes "
            f"{span(ratios)} as long as all",
            min(ratios) > 1,
        )
    return made


def reddy_claims(rows, where):
    """A sentence on each step from one implementation to the next."""
    made, times = [], {}
    for row in rows:
        if row.get("thousand_ms"):
            times[row["graph"], row["implementation"]] = row["thousand_ms"]["median"]
    graphs = list(dict.fromkeys(row["graph"] for row in rows))

    def ratios(slow, fast):
        pairs = [(times.get((graph, slow)), times.get((graph, fast))) for graph in graphs]
        return [a / b for a, b in pairs if a and b]

    for slow, fast in (("serial", "I"), ("I", "II")):
        here = ratios(slow, fast)
        theirs = [seconds[slow] / seconds[fast] for seconds in REDDY_SECONDS.values()]
        if here:
            holds = min(here) > 1
            text = (
                f"Reddy: {fast} is faster than {slow}, {span(theirs)}. Here, on {where}, {slow} "
                f"takes {span(here)} as long as {fast}: {verdict(holds)}."
            )
            made.append({"table": "Reddy says", "claim": text, "holds": holds})
    planned = ratios(III_EACH, "II")
    parts, holds = [], max(planned) < 1 if planned else None
    for name, what in (
        (III_EACH, "a child kernel for each vertex"),
        (III_LONG, "child kernels for long lists alone"),
        (III_BLOCKS, "the same sums without child kernels"),
        ("III", "our method warp, which has no child kernels,"),
    ):
        if found := ratios(name, "II"):
            parts.append(f"{what} {span(found)}")
    if parts:
        end = "not judged, there are no child kernels" if holds is None else verdict(holds)
        text = (
            "Reddy plans III, sums by warps in child kernels, and expects it to be faster than II. "
            f"Here, on {where}, {', '.join(parts)} the time of II: {end}."
        )
        made.append({"table": "Reddy says", "claim": text, "holds": holds})
    return made


III_EACH = "III, a child kernel a vertex"
III_LONG = "III, child kernels for long lists"
III_BLOCKS = "III, without child kernels"
