"""Verdicts on the claims of WolfPath's tables and figures, from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipelines.benchmarks.records import Record
from pipelines.benchmarks.wolfpath import (
    BY_FLAG,
    CUSHA_SPACE,
    EDGES,
    FLAG_COST,
    FLAG_PER_LAYER,
    IN_MEMORY,
    LAUNCH_PER_LAYER,
    NO_OVERLAP,
    ONE_LAUNCH,
    OVERLAPPED,
    PREPROCESSING,
    SHARED_MEMORY,
    SPACE,
    STREAMED,
    WITHOUT_OVERLAP,
    median,
)

NOTICEABLE = 1.05  # smaller ratios are not a difference

Verdict = tuple[str, bool]  # what was measured, whether the claim holds
Judgement = tuple[str, list[Verdict]]  # the claim, a verdict per measurement


def claims(rows: Iterable[Record], where: str) -> list[Record]:
    """Return a sentence on each table or figure that has measurements, with the verdict."""
    own = [row for row in rows if row.get("check", "ok") == "ok" and not row.get("of_paper")]
    claim_rows: list[Record] = []
    for about, judge in JUDGES.items():
        sentence, verdicts = judge(own)
        if verdicts:
            details = "; ".join(f"{text}: {verdict(holds)}" for text, holds in verdicts)
            text = f"{about}: {sentence} Here, on {where}, {details}."
            outcomes = {holds for _, holds in verdicts}
            holds = outcomes.pop() if len(outcomes) == 1 else "in part"
            claim_rows.append({"table": "WolfPath", "about": about, "claim": text, "holds": holds})
    return claim_rows


def judge_flag(rows: Sequence[Record]) -> Judgement:
    """Judge table 2."""
    ratios = sorted(with_flag[1] / without[1] for with_flag, without in BY_FLAG.values())
    sentence = (
        f"with a flag that the host looks at after each iteration BFS takes {ratios[0]:.0f} to "
        f"{ratios[-1]:.0f} times as long as with more iterations and without."
    )
    verdicts = []
    for graph, variants in rows_by_variant(rows).items():
        if FLAG_PER_LAYER not in variants or ONE_LAUNCH not in variants:
            continue
        times = ", ".join(
            f"with {how} {median(variants[how]['run_ms']):.3g} ms"
            for how in HOST_VARIANTS
            if how in variants
        )
        text = (
            f"{graph}, {variants[ONE_LAUNCH]['layers']:,} layers: {times}, the first "
            f"{variants[FLAG_PER_LAYER]['by_one']:.3g} times as long as the last"
        )
        verdicts.append((text, variants[FLAG_PER_LAYER]["by_one"] > NOTICEABLE))
    return sentence, verdicts


def judge_flag_copies(rows: Sequence[Record]) -> Judgement:
    """Judge table 3."""
    ratios = sorted(copy / compute for copy, compute in FLAG_COST.values())
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
                f"layers of the search in {count_launches(row)} {layer:.3g} µs"
            )
            verdicts.append((text, row["flag_us"] > layer))
    return sentence, verdicts


def rows_by_variant(rows: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """Return {graph: {variant: row}} of the searches by layers that have a time."""
    by_graph: dict[str, dict[str, Record]] = {}
    for row in rows:
        if row["table"] == "flag" and row.get("run_ms"):
            by_graph.setdefault(row["graph"], {})[row["how"]] = row
    return by_graph


def judge_iterations(rows: Sequence[Record]) -> Judgement:
    """Judge table 5."""
    speedups = sorted(peer[1] / own[1] for own, peer in IN_MEMORY["bfs"].values())
    sentence = (
        "BFS takes as many iterations as there are layers, more than others, and is "
        f"{speedups[0]:.1f} to {speedups[-1]:.1f} times as fast as CuSha."
    )
    by_graph: dict[str, list[Record]] = {}
    for row in rows:
        if row["table"] == "bfs" and row.get("ratio"):
            by_graph.setdefault(row["graph"], []).append(row)
    verdicts = []
    for row in rows:
        if row["table"] != "iterations" or row["algorithm"] != "bfs" or not row.get("run_ms"):
            continue
        ms = median(row["run_ms"])
        text = f"{row['graph']}: {row['layers']:,} layers, {count_launches(row)}, {ms:.3g} ms"
        others = [
            other for other in by_graph.get(row["graph"], []) if other["library"] != "rapidsgraph"
        ]
        if not others:
            continue
        best = min(others, key=lambda other: median(other["run_ms"]))
        ratio = median(best["run_ms"]) / ms
        text += (
            f" on the list of that root, {best['library']} {ratio:.3g} times as long without one"
        )
        verdicts.append((text, ratio > NOTICEABLE))
    return sentence, verdicts


def judge_streaming(rows: Sequence[Record]) -> Judgement:
    """Judge table 6."""
    rates = sorted(EDGES[graph] / seconds / 1e6 for graph, (_, seconds) in STREAMED["bfs"].items())
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


def judge_preprocessing(rows: Sequence[Record]) -> Judgement:
    """Judge table 7."""
    costs = sorted(seconds / EDGES[graph] * 1e9 for graph, seconds in PREPROCESSING.items())
    sentence = f"preprocessing takes {costs[0]:.0f} to {costs[-1]:.0f} ns an edge."
    costs_of: dict[str, list[float]] = {}
    for row in rows:
        if row["table"] == "preprocessing":
            costs_of.setdefault(row["who"].removeprefix("here, "), []).append(row["ns_per_edge"])
    verdicts = [
        (f"{where} {min(costs_here):.3g} to {max(costs_here):.3g}", max(costs_here) <= costs[-1])
        for where, costs_here in costs_of.items()
    ]
    return sentence, verdicts


def judge_space(rows: Sequence[Record]) -> Judgement:
    """Judge figure 8."""
    sentence = f"the layered list takes {SPACE} times as much as CSR, CuSha {CUSHA_SPACE} times."
    ratios = [
        row["by_csr"] for row in rows if row["table"] == "layered build" and row.get("by_csr")
    ]
    if not ratios:
        return sentence, []
    return sentence, [(f"{min(ratios):.3g} to {max(ratios):.3g} times", max(ratios) <= SPACE)]


def judge_overlap(rows: Sequence[Record]) -> Judgement:
    """Judge figure 9."""
    sentence = (
        f"without copying and computing at once, and without shared memory, BFS takes "
        f"{WITHOUT_OVERLAP / OVERLAPPED:.2g} times as long."
    )
    times = {
        (row["graph"], row["algorithm"], row["how"]): median(row["run_ms"])
        for row in rows
        if row["table"] == "streamed" and row.get("run_ms")
    }
    verdicts = []
    for (graph, algorithm, how), slower in times.items():
        if how == NO_OVERLAP and (graph, algorithm, "streamed") in times:
            ratio = slower / times[graph, algorithm, "streamed"]
            text = f"{algorithm} of {graph} with {NO_OVERLAP} {ratio:.3g} times as long"
            verdicts.append((text, ratio > NOTICEABLE))
    return sentence, verdicts


def judge_shared_memory(rows: Sequence[Record]) -> Judgement:
    """Judge shared memory in figure 9, which the paper does not measure alone."""
    sentence = (
        f"with that, and with the values of a block's vertices in its shared memory, BFS takes "
        f"{OVERLAPPED} ms instead of {WITHOUT_OVERLAP}."
    )
    verdicts = []
    for graph, variants in rows_by_variant(rows).items():
        if ONE_LAUNCH in variants and SHARED_MEMORY in variants:
            without = median(variants[ONE_LAUNCH]["run_ms"])
            staged = median(variants[SHARED_MEMORY]["run_ms"])
            text = (
                f"{graph}, in one launch: {staged:.3g} ms with shared memory alone, {without:.3g} "
                "ms with neither"
            )
            verdicts.append((text, staged < without))
    return sentence, verdicts


HOST_VARIANTS = FLAG_PER_LAYER, LAUNCH_PER_LAYER, ONE_LAUNCH  # by decreasing work of the host
JUDGES: dict[str, Callable[[Sequence[Record]], Judgement]] = {
    "WolfPath's table 2": judge_flag,
    "WolfPath's table 3": judge_flag_copies,
    "WolfPath's table 5": judge_iterations,
    "WolfPath's table 6": judge_streaming,
    "WolfPath's table 7": judge_preprocessing,
    "WolfPath's figure 8": judge_space,
    "WolfPath's figure 9": judge_overlap,
    "WolfPath's figure 9, shared memory": judge_shared_memory,
}


def verdict(holds: bool) -> str:
    """Return the verdict in words."""
    return "holds" if holds else "does not hold"


def count_launches(row: Record) -> str:
    """Return the number of launches in words."""
    count = row["launches"]
    return f"{count} launch" if count == 1 else f"{count} launches"
