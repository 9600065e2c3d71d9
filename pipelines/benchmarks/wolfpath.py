"""WolfPath's tables 2, 3 and 5 to 7 and its figures 8 and 9, and whether what they say holds here.

Reference: Zhu et al., WolfPath, 2017, sections 2 and 5: a GTX 780 Ti with 3 GB. Of figure 8 there
  are the means that the text gives, of figure 9 the one pair of times.
"""

EDGES = {  # tables 1 and 4
    "RoadNet-CA": 5_533_214,
    "amazon0601": 3_387_388,
    "web-Google": 5_105_039,
    "LiveJournal": 68_993_773,
    "orkut": 117_185_083,
    "hollywood2011": 228_985_632,
    "arabic2005": 639_999_458,
    "uk2002": 298_113_762,
}
IN_MEMORY = {  # table 5: iterations and milliseconds in all of WolfPath, of CuSha
    "bfs": {
        "RoadNet-CA": ((554, 8.1), (551, 203.75)),
        "amazon0601": ((35, 2.21), (35, 26.68)),
        "web-Google": ((32, 3.27), (21, 19.58)),
        "LiveJournal": ((14, 48.22), (9, 159.82)),
    },
    "sssp": {
        "RoadNet-CA": ((554, 8.71), (550, 278.78)),
        "amazon0601": ((35, 2.33), (35, 51.92)),
        "web-Google": ((32, 3.84), (20, 24.93)),
        "LiveJournal": ((14, 49.79), (9, 307.31)),
    },
}
BY_FLAG = {  # table 2: iterations and milliseconds of CuSha with the flag, and without it
    "RoadNet-CA": ((551, 195.97), (554, 1.98)),
    "amazon0601": ((35, 22.3), (35, 0.15)),
    "web-Google": ((21, 12.83), (32, 0.14)),
    "LiveJournal": ((9, 70.96), (14, 0.076)),
}
FLAG = {  # table 3: milliseconds an iteration of copying the flag, of computing
    "RoadNet-CA": (0.36, 0.004),
    "amazon0601": (0.63, 0.004),
    "web-Google": (0.6, 0.004),
    "LiveJournal": (7.9, 0.005),
}
STREAMED = {  # table 6: iterations and seconds
    "bfs": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.09),
        "arabic2005": (51, 0.2),
        "uk2002": (49, 0.15),
    },
    "sssp": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.1),
        "arabic2005": (51, 0.23),
        "uk2002": (49, 0.16),
    },
}
PREPROCESSING = {  # table 7, seconds
    "amazon0601": 0.79,
    "LiveJournal": 14.68,
    "web-Google": 1.46,
    "orkut": 21.4,
    "hollywood2011": 38.6,
    "uk2002": 59.78,
    "arabic2005": 120.3,
}
SPACE, CUSHA_SPACE = 1.37, 2.81  # figure 8: times CSR
WITHOUT_OVERLAP, OVERLAPPED = 71, 48  # figure 9: milliseconds of BFS, LiveJournal


def paper_rows(tasks):
    """What the tables say, as rows beside ours."""
    rows = []

    def add(table, who, graph, **columns):
        about = {"table": table, "who": who, "graph": graph, "edges": EDGES[graph]}
        rows.append(about | columns | {"of_paper": True})

    if "iterations" in tasks:
        for graph, both in BY_FLAG.items():
            for how, (iterations, taken) in zip(("with the flag", "without it"), both, strict=True):
                add("iterations", f"CuSha {how}, table 2", graph, algorithm="bfs",
                    layers=iterations, run_ms=taken)  # fmt: skip
        for graph, (copying, computing) in FLAG.items():
            add("iterations", "CuSha, table 3", graph, algorithm="bfs", flag_us=copying * 1e3,
                compute_us=computing * 1e3)  # fmt: skip
        for algorithm, graphs in IN_MEMORY.items():
            for graph, both in graphs.items():
                for who, (iterations, taken) in zip(("WolfPath", "CuSha"), both, strict=True):
                    add("iterations", f"{who}, table 5", graph, algorithm=algorithm,
                        layers=iterations, run_ms=taken)  # fmt: skip
    if {"streamed", "large"} & set(tasks):
        for algorithm, graphs in STREAMED.items():
            for graph, (iterations, seconds) in graphs.items():
                add("out of memory", "WolfPath, table 6", graph, algorithm=algorithm,
                    layers=iterations, seconds=seconds,
                    edges_per_us=rounded(EDGES[graph] / seconds / 1e6))  # fmt: skip
    if "build" in tasks:
        for graph, seconds in PREPROCESSING.items():
            add("preprocessing", "WolfPath, table 7", graph, seconds=seconds,
                ns_per_edge=rounded(seconds / EDGES[graph] * 1e9))  # fmt: skip
    return rows


def derived(rows):
    """Rows of tables 6 and 7 that follow from what was measured."""
    made = []
    for row in rows:
        how, taken = row.get("how"), row.get("run_ms")
        if row["table"] == "layered build":
            for column, who in (("whole_ms", "in memory"), ("external_ms", "out of core")):
                if row.get(column):
                    made.append(prepared_row(row, median(row[column]), who))
        if row["table"] not in ("streamed", "large") or not taken:
            continue
        if row["algorithm"] == "build":
            made.append(prepared_row(row, median(taken), "out of core"))
        elif row["algorithm"] in STREAMED and how in ("streamed", "mapped", "limited"):
            seconds = median(taken) / 1e3
            made.append(
                {
                    "table": "out of memory", "who": "here", "graph": row["graph"],
                    "edges": row["edges"], "algorithm": row["algorithm"], "layers": row["layers"],
                    "passes": row["passes"], "seconds": rounded(seconds),
                    "edges_per_us": rounded(row["edges"] / seconds / 1e6),
                }
            )  # fmt: skip
    return made


def prepared_row(row, taken, who):
    return {
        "table": "preprocessing", "who": f"here, {who}", "graph": row["graph"],
        "edges": row["edges"], "weighted": row.get("weighted", False),
        "seconds": rounded(taken / 1e3), "ns_per_edge": rounded(taken * 1e6 / row["edges"]),
    }  # fmt: skip


def claims(rows, where):
    """A sentence on each table or figure that there are figures on, and whether it holds here."""
    made, good = [], [row for row in rows if row.get("check", "ok") == "ok"]
    for about, judge in JUDGES.items():
        sentence, verdicts = judge([row for row in good if not row.get("of_paper")])
        if verdicts:
            said = "; ".join(f"{text}: {verdict(holds)}" for text, holds in verdicts)
            text = f"{about}: {sentence} Here, on {where}, {said}."
            holds = all(holds for _, holds in verdicts)
            made.append({"table": "WolfPath", "about": about, "claim": text, "holds": holds})
    return made


def of_flag(rows):
    """Tables 2 and 3."""
    ratios = sorted(copying / computing for copying, computing in FLAG.values())
    sentence = (
        f"copying a flag to the host after each iteration takes {ratios[0]:.0f} to "
        f"{ratios[-1]:.0f} times as long as computing it, so more iterations without are faster."
    )
    verdicts = []
    for row in rows:
        if row["table"] == "iterations" and row.get("flag_ms") and row["algorithm"] == "bfs":
            taken, copies = median(row["run_ms"]), row["flag_ms"]
            text = (
                f"{row['graph']}: {row['layers']:,} such copies alone take {copies:.3g} ms, the "
                f"search in {launched(row)} {taken:.3g} ms"
            )
            verdicts.append((text, copies > taken))
    return sentence, verdicts


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
        verdicts.append((f"{text}, {best['library']} {ratio:.3g} times as long", ratio > 1))
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
            row["edges_per_us"] > rates[-1],
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
            verdicts.append((text, ratio > 1))
    return sentence, verdicts


ALONE = "one thread, one buffer"
JUDGES = {
    "WolfPath's tables 2 and 3": of_flag,
    "WolfPath's table 5": of_iterations,
    "WolfPath's table 6": of_streaming,
    "WolfPath's table 7": of_preprocessing,
    "WolfPath's figure 8": of_space,
    "WolfPath's figure 9": of_overlap,
}


def verdict(holds):
    return "holds" if holds else "does not hold"


def launched(row):
    count = row["launches"]
    return f"{count} launch" if count == 1 else f"{count} launches"


def median(value):
    return value["median"] if isinstance(value, dict) else value


def rounded(value):
    return float(f"{value:.4g}")
