"""Time and peak memory against edges, on logarithmic axes, made of records alone.

    python pipelines/benchmarks/scaling_plot.py results/scaling-cpu-2core.jsonl

writes scaling-cpu-2core.png beside it.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import records

PANELS = {  # column of slopes -> title, label, value of a row
    "time_slope": ("Time of a run", "seconds", lambda row: row["run_ms"]["median"] / 1e3),
    "memory_slope": (
        "Peak memory of a run",
        "MiB",
        lambda row: row.get("peak_bytes", 0) / 2**20,
    ),
}


def plot(found, path):
    """Write the picture of a run's records to `path`; a line for each task, its slope beside it."""
    from matplotlib.figure import Figure

    sizes = [row for row in found if row["table"] == "size" and row["check"] == "ok"]
    slopes = {row["task"]: row for row in found if row["table"] == "slope"}
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    for axes, (slope, (title, unit, value)) in zip(
        figure.subplots(1, 2), PANELS.items(), strict=True
    ):
        for number, task in enumerate(dict.fromkeys(row["task"] for row in sizes)):
            points = [(row["edges"], value(row)) for row in sizes if row["task"] == task]
            points = [(edges, at) for edges, at in points if at > 0]
            power = slopes.get(task, {}).get(slope)
            label = task if power is None else f"{task}, slope {power:.2f}"
            axes.plot(
                *zip(*points, strict=True) if points else ((), ()),
                color=f"C{number}", marker="os^Dv<>P"[number % 8], markersize=4, linewidth=1.2,
                label=label,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="edges", ylabel=unit, title=title)
        axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
        axes.legend(fontsize="small", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Draw records of growing graphs.")
    parser.add_argument("records", type=Path, nargs="+", help="files of JSON lines")
    for path in parser.parse_args(arguments).records:
        plot(records.read(path), path.with_suffix(".png"))


if __name__ == "__main__":
    main()
