"""Whether what WolfPath's tables and figures say holds here, a sentence each, from the records."""

from pipelines.benchmarks.wolfpath import (
    ALONE,
    BY_FLAG,
    CUSHA_SPACE,
    EDGES,
    FLAG,
    FLAG_COST,
    IN_MEMORY,
    LAUNCHES,
    ONE,
    OVERLAPPED,
    PREPROCESSING,
    SHARED,
    SPACE,
    STREAMED,
    WITHOUT_OVERLAP,
    median,
)

NOTICEABLE = 1.05  # times as long: what is less is no difference


def claims(rows, where):
    """A sentence on each table or figure that there are figures on, and whether it holds here."""
    made, good = [], [row for row in rows if row.get("check", "ok") == "ok"]
    for about, judge in JUDGES.items():
        sentence, verdicts = judge([row for row in good if not row.get("of_paper")])
        if verdicts:
            said = "; ".join(f"{text}: {verdict(holds)}" for text, holds in verdicts)
            text = f"{about}: {sentence} Here, on {where}, {said}."
            found = {holds for _, holds in verdicts}
            holds = found.pop() if len(found) == 1 else "in part"
            made.append({"table": "WolfPath", "about": about, "claim": text, "holds": holds})
    return made


def of_flag(rows):
    """Table 2."""
    ratios = sorted(with_flag[1] / without[1] for with_flag, without in BY_FLAG.values())
    sentence = (
        f"with a flag that the host looks at after each iteration BFS takes {ratios[0]:.0f} to "
        f"{ratios[-1]:.0f} times as long as with more iterations and without."
    )
    verdicts = []
    for graph, ways in by_way(rows).items():
        if FLAG not in ways or ONE not in ways:
            continue
        found = ", ".join(
            f"with {how} {median(ways[how]['run_ms']):.3g} ms" for how in HOSTS if how in ways
        )
        text = (
            f"{graph}, {ways[ONE]['layers']:,} layers: {found}, the first "
            f"{ways[FLAG]['by_one']:.3g} times as long as the last"
        )
        verdicts.append((text, ways[FLAG]["by_one"] > NOTICEABLE))
    return sentence, verdicts


def of_copies(rows):
    """Table 3."""
    ratios = sorted(copying / computing for copying, computing in FLAG_COST.values())
    sentence = (
        f"copying a flag to the host takes {ratios[0]:.0f} to {ratios[-1]:.0f} times as long as "
        "computing an iteration."
    )
    verdicts = []
    for row in rows:
        if row["table"] == "iterations" and row.get("flag_us") and row["algorithm"] == "bfs":
            layer = median(row["run_ms"]) / row["layers"] * 1e3
            text = (
                f"{row['graph']}: a copy takes {row['flag_us']:.3g} µs, one of {row['layers']:,} "
                f"layers of the search in {launched(row)} {layer:.3g} µs"
            )
            verdicts.append((text, row["flag_us"] > layer))
    return sentence, verdicts


def by_way(rows):
    """{graph: {way: row}} of the searches by layers that have a time."""
    found = {}
    for row in rows:
        if row["table"] == "flag" and row.get("run_ms"):
            found.setdefault(row["graph"], {})[row["how"]] = row
    return found


def of_iterations(rows):
    """Table 5."""
    speedups = sorted(them[1] / us[1] for us, them in IN_MEMORY["bfs"].values())
    sentence = (
        "BFS takes as many iterations as there are layers, more than others, and is "
        f"{speedups[0]:.1f} to {speedups[-1]:.1f} times as fast as CuSha."
    )
    by_graph = {}
    for row in rows:
        if row["table"] == "bfs" and row.get("ratio"):
            by_graph.setdefault(row["graph"], []).append(row)
    verdicts = []
    for row in rows:
        if row["table"] != "iterations" or row["algorithm"] != "bfs" or not row.get("run_ms"):
            continue
        taken = median(row["run_ms"])
        text = f"{row['graph']}: {row['layers']:,} layers, {launched(row)}, {taken:.3g} ms"
        others = [
            other for other in by_graph.get(row["graph"], []) if other["library"] != "rapidsgraph"
        ]
        if not others:
            continue
        best = min(others, key=lambda other: median(other["run_ms"]))
        ratio = median(best["run_ms"]) / taken
        text += (
            f" on the list of that root, {best['library']} {ratio:.3g} times as long without one"
        )
        verdicts.append((text, ratio > NOTICEABLE))
    return sentence, verdicts


def of_streaming(rows):
    """Table 6."""
    rates = sorted(EDGES[graph] / taken / 1e6 for graph, (_, taken) in STREAMED["bfs"].items())
    sentence = (
        f"BFS of graphs that the GPU cannot hold works off {rates[0]:,.0f} to {rates[-1]:,.0f} "
        "edges a microsecond."
    )
    verdicts = [
        (
            f"{row['graph']}: {row['edges_per_us']:.4g} in {row['passes']} pass",
            row["edges_per_us"] >= rates[0],
        )
        for row in rows
        if row["table"] == "out of memory" and row["algorithm"] == "bfs"
    ]
    return sentence, verdicts


def of_preprocessing(rows):
    """Table 7."""
    costs = sorted(seconds / EDGES[graph] * 1e9 for graph, seconds in PREPROCESSING.items())
    sentence = f"preprocessing takes {costs[0]:.0f} to {costs[-1]:.0f} ns an edge."
    by_way = {}
    for row in rows:
        if row["table"] == "preprocessing":
            by_way.setdefault(row["who"].removeprefix("here, "), []).append(row["ns_per_edge"])
    verdicts = [
        (f"{way} {min(found):.3g} to {max(found):.3g}", max(found) <= costs[-1])
        for way, found in by_way.items()
    ]
    return sentence, verdicts


def of_space(rows):
    """Figure 8."""
    sentence = f"the layered list takes {SPACE} times as much as CSR, CuSha {CUSHA_SPACE} times."
    found = [row["by_csr"] for row in rows if row["table"] == "layered build" and row.get("by_csr")]
    if not found:
        return sentence, []
    return sentence, [(f"{min(found):.3g} to {max(found):.3g} times", max(found) <= SPACE)]


def of_overlap(rows):
    """Figure 9."""
    sentence = (
        f"without copying and computing at once, and without shared memory, BFS takes "
        f"{WITHOUT_OVERLAP / OVERLAPPED:.2g} times as long."
    )
    taken = {
        (row["graph"], row["algorithm"], row["how"]): median(row["run_ms"])
        for row in rows
        if row["table"] == "streamed" and row.get("run_ms")
    }
    verdicts = []
    for (graph, algorithm, how), slower in taken.items():
        if how == ALONE and (graph, algorithm, "streamed") in taken:
            ratio = slower / taken[graph, algorithm, "streamed"]
            text = f"{algorithm} of {graph} with {ALONE} {ratio:.3g} times as long"
            verdicts.append((text, ratio > NOTICEABLE))
    return sentence, verdicts


def of_shared_memory(rows):
    """Figure 9, its other half, which the paper does not measure alone."""
    sentence = (
        f"with that, and with the values of a block's vertices in its shared memory, BFS takes "
        f"{OVERLAPPED} ms instead of {WITHOUT_OVERLAP}."
    )
    verdicts = []
    for graph, ways in by_way(rows).items():
        if ONE in ways and SHARED in ways:
            without, staged = (median(ways[how]["run_ms"]) for how in (ONE, SHARED))
            text = (
                f"{graph}, in one launch: {staged:.3g} ms with shared memory alone, {without:.3g} "
                "ms with neither"
            )
            verdicts.append((text, staged < without))
    return sentence, verdicts


HOSTS = FLAG, LAUNCHES, ONE  # ways, the least of the host last
JUDGES = {
    "WolfPath's table 2": of_flag,
    "WolfPath's table 3": of_copies,
    "WolfPath's table 5": of_iterations,
    "WolfPath's table 6": of_streaming,
    "WolfPath's table 7": of_preprocessing,
    "WolfPath's figure 8": of_space,
    "WolfPath's figure 9": of_overlap,
    "WolfPath's figure 9, shared memory": of_shared_memory,
}


def verdict(holds):
    return "holds" if holds else "does not hold"


def launched(row):
    count = row["launches"]
    return f"{count} launch" if count == 1 else f"{count} launches"
