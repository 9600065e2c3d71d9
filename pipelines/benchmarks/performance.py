"""What beats what, in a table, a picture and README.md's section, made of records alone.

python pipelines/benchmarks/performance.py          # README's section and pictures, made again
python pipelines/benchmarks/performance.py --check  # 1 where README is not what records say
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import records, tables
from pipelines.benchmarks.comparisons import comparisons

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN = "<!-- made by pipelines/benchmarks/performance.py of its results; do not edit -->"
END = "<!-- end of what is made -->"
MAKES = ("nvidia", "geforce", "tesla", "quadro", "rtx", "gtx", "titan")  # of GPUs, not models
SHOWN = ("rmat22", "rmat22u", "grid1400", "rmat18", "rmat16u", "NY", "cnr-2000")  # in README


def label(machine):
    """How files of records name a machine: gpu-h100, or cpu-2core."""
    gpu = machine.get("gpu", "")
    if gpu and not gpu.startswith("none"):
        words = [word for word in gpu.lower().split() if word not in MAKES]
        return "gpu-" + re.sub(r"[^a-z0-9]+", "", "".join(words[:1]))
    return f"cpu-{machine['cores']}core"


def claims(found):
    """What the papers claim: {claim: [(sentence, whether it holds, or of which methods), ...]}."""
    made = {}
    for row in found:
        if row["table"] in ("WolfPath", "claim", "Kim says", "Reddy says"):
            claim = row["claim"].partition(" Here")[0]
            if row["table"] == "claim":
                claim = f"GPUSCAN's table {row['of_table']}: " + claim.removeprefix("GPUSCAN ")
            made.setdefault(claim, []).append((row["claim"], row["holds"]))
    return made


def in_short(said):
    """Whether a claim holds, of its sentences from all runs."""
    verdicts = list(dict.fromkeys(verdict(holds) for _, holds in said))
    return verdicts[0] if len(verdicts) == 1 else "holds in part"


def verdict(holds):
    """Whether a claim holds, in words; of several methods whether it does for each."""
    if isinstance(holds, dict):
        if len(set(holds.values())) > 1:
            return ", ".join(f"{verdict(each)} by {name}" for name, each in holds.items())
        holds = all(holds.values())
    if holds == "in part":
        return "holds in part"
    return "not judged" if holds is None else "holds" if holds else "does not hold"


CLAIMS = """The papers are Kim's and Reddy's on PageRank, WolfPath and GPUSCAN. *In part* is where
it holds on some graphs or ways alone; blank, where it was not or cannot be measured; *not judged*,
where what it speaks of is not there. The full sentences, with our figures, are in the tables of the
results."""
DASK = """Beside the same call of a `Graph` in one memory, with as many threads or on one of the
GPUs: above 1 Dask takes longer. PageRank has 20 iterations, graphs are R-MAT of a scale and edges
for each vertex, *no client* is without a cluster, in the calling process. Calls are of a `Graph`
that is kept, and not the first ones. The scheduler is asked many times before and after the work,
and searches by several workers only push, where those of one memory pull as well: several workers
are for what one memory does not hold."""
GROWING = """Time below 1 is where fixed costs still count. *streamed bfs* reads a layered edge list
within the vertices and a tenth of it."""
HEADINGS = [
    "task", "graph", "edges", "ours, ms", "best of the others", "its, ms", "times ours",
    "floor, ms",
]  # fmt: skip


def table_of(made, shown=None):
    """Comparisons as a table of Markdown; `shown` are the graphs that it has."""
    lines = [HEADINGS]
    for row in made:
        if (shown and row["graph"] not in shown) or not row["others"]:
            continue
        best = row["others"][0]
        ratio = tables.number(best["ratio"])
        lines.append(
            [
                row["task"], row["graph"], f"{row['edges']:,}" if row["edges"] else "",
                tables.number(row["ours_ms"]["median"]), best["library"],
                tables.number(best["ms"]), ratio if best["ratio"] >= 1 else f"**{ratio}**",
                tables.number(row["floor_ms"]) if row["floor_ms"] else "",
            ]
        )  # fmt: skip
    return tables.table(lines) if len(lines) > 1 else "There is nothing to compare."


def summary(found):
    """Markdown of the comparisons and claims of one machine's records."""
    parts = ["## Ours and the fastest of the others", table_of(comparisons(found))]
    said = claims(found)
    if said:
        parts += ["## What the papers claim"]
        parts += ["\n".join(f"- {sentence}" for each in said.values() for sentence, _ in each)]
    return "\n\n".join(parts) + "\n"


def draw(found, folder):
    """Pictures of the comparisons of each machine, of its records; their paths."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    paths = []
    for name, rows in by_machine(found).items():
        made = [row for row in comparisons(rows) if row["others"]]
        if not made:
            continue
        libraries = sorted({other["library"] for row in made for other in row["others"]})
        colors = dict(zip(libraries, pyplot.get_cmap("tab10").colors))
        figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.24 * len(made)))
        for place, row in enumerate(made):
            for library in libraries:
                own = [other["ratio"] for other in row["others"] if other["library"] == library]
                if own:
                    axes.plot(min(own), place, "o", color=colors[library], markersize=5)
        axes.set_yticks(range(len(made)), [f"{row['task']}: {row['graph']}" for row in made])
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(len(made) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.axvline(1, color="black", linewidth=0.8)
        axes.grid(axis="x", which="both", alpha=0.25)
        axes.set_xlabel(f"times as long as rapidsgraph ({name}); left of 1 they are ahead")
        handles = [
            pyplot.Line2D([], [], marker="o", linestyle="", color=colors[one], label=one)
            for one in libraries
        ]
        axes.legend(handles=handles, fontsize=7, loc="lower right")
        figure.tight_layout()
        paths.append(Path(folder) / f"performance-{name}.png")
        figure.savefig(paths[-1], dpi=110, metadata={"Software": None})
        pyplot.close(figure)
    return paths


def by_machine(found):
    """{label: records} of records that follow the run that they are of."""
    made, rows = {}, None
    for row in found:
        if row["table"] == "run":
            rows = made.setdefault(label(row["machine"]), [])
        rows.append(row)
    return made


def recorded(folder=records.RESULTS):
    """All records of the results, file by file; those of larger runs of Dask aside."""
    found = []
    for path in sorted(Path(folder).glob("*.jsonl")):
        rows = records.read(path)
        if rows and rows[0].get("table") == "run":
            found += rows
    return found


def section(found):
    """README's section."""
    parts = [BEGIN]
    for name, rows in sorted(by_machine(found).items(), reverse=True):
        runs = [row for row in rows if row["table"] == "run"]
        made = [row for row in comparisons(rows) if row["others"]]
        if not made:
            continue
        machine = runs[0]["machine"]
        parts += [f"### {heading(machine)}", table_of(made, SHOWN)]
        behind = [row for row in made if row["others"][0]["ratio"] < 1]
        ahead = len(made) - len(behind)
        text = (
            f"Of {len(made)} comparisons in the records, of which the table has those on "
            f"{', '.join(name for name in SHOWN if any(row['graph'] == name for row in made))}, "
            f"ours is faster in {ahead}."
        )
        if behind:
            text += " It is slower in " + ", ".join(map(of_behind, behind)) + "."
        parts.append(text)
        parts.append(f"![{name}](pipelines/benchmarks/results/performance-{name}.png)")
    with_scheduler = with_dask(by_machine(found))
    if with_scheduler:
        parts += ["### With Dask", DASK, with_scheduler, *on_several(found)]
    grown = [line for name, rows in by_machine(found).items() for line in growth_of(name, rows)]
    if grown:
        parts += ["### Growing graphs", *grown, GROWING]
    judged = {}
    for name, rows in by_machine(found).items():
        for about, said in claims(rows).items():
            judged.setdefault(about, {})[name] = in_short(said)
    if judged:
        names = sorted({name for verdicts in judged.values() for name in verdicts})
        lines = [["claim", *names]]
        lines += [[about, *(judged[about].get(name, "") for name in names)]
                  for about in sorted(judged)]  # fmt: skip
        parts += ["### The papers' claims, on this hardware", CLAIMS, tables.table(lines)]
    return "\n\n".join([*parts, END])


def with_dask(machines):
    """Calls on Dask frames beside those of one memory, as a table of Markdown; None of none."""
    lines = [["machine", "call", "graph", "edges", "workers", "a call, ms", "times one memory"]]
    for name, rows in machines.items():
        for row in rows:
            if row["table"] != "cluster" or row["algorithm"] == "build" or row["check"] != "ok":
                continue
            if "in this process" in row["how"] or "shares" in row["graph"]:
                continue  # where the time goes, and what weak scaling starts from
            lines.append(
                [
                    name, row["algorithm"], row["graph"], f"{row['edges']:,}", row["how"],
                    tables.number(row["run_ms"]["median"]), tables.number(row["by_memory"]),
                ]
            )  # fmt: skip
    return tables.table(lines) if len(lines) > 1 else None


def on_several(found):
    """A sentence on whether more workers are faster with the same graph."""
    strong = [row for row in found if row["table"] == "scaling" and row["scaling"] == "strong"]
    speedups = [row["speedup"] for row in strong if row["algorithm"] != "build"]
    if speedups:
        faster = sum(speedup > 1 for speedup in speedups)
        yield (
            f"With the same graph on two workers instead of one, {faster} of {len(speedups)} calls "
            f"are faster: {min(speedups):.2g} to {max(speedups):.2g} times as fast (PageRank by "
            "the time of an iteration)."
        )


def growth_of(name, rows):
    """A paragraph on how time and memory grow with the edges, and its picture."""
    slopes = [row for row in rows if row["table"] == "slope"]
    if not slopes:
        return
    each = [f"{row['task']} {row['time_slope']:.2f}" for row in slopes]
    memory = [row["memory_slope"] for row in slopes if row["memory_slope"] is not None]
    peak = f", peak memory with {min(memory):.2f} to {max(memory):.2f}" if memory else ""
    most = max(row["to_edges"] for row in slopes)
    yield (
        f"{name}, R-MAT graphs of up to {most:,} edges: over the larger half of them time grows "
        f"with the edges to the power of ({', '.join(each)}){peak}."
    )
    yield f"![{name}](pipelines/benchmarks/results/scaling-{name}.png)"


def of_behind(row):
    best = row["others"][0]
    return f"{row['task']} of {row['graph']} ({best['library']}, {tables.number(best['ratio'])})"


def heading(machine):
    gpu = label(machine).startswith("gpu")
    return f"On one {machine['gpu']}" if gpu else f"On {machine['cores']} cores ({machine['cpu']})"


def inserted(text, made):
    """A README with this section in place of the one that it has."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"README.md must have {BEGIN!r} and {END!r} once")
    return pattern.sub(lambda _: made, text)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args(arguments)
    found = recorded()
    if not found:
        raise SystemExit(f"{records.RESULTS} holds no records, and README is left as it is")
    text = README.read_text()
    made = inserted(text, section(found))
    if given.check:
        return int(made != text)
    records.replace(README, made)
    draw(found, records.RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
