"""Draw time and peak memory against edges from records, on logarithmic axes.

    python pipelines/benchmarks/scaling_plot.py results/scaling-cpu-2core.jsonl

writes scaling-cpu-2core.png beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import records
from pipelines.benchmarks.records import Record

# Column of slopes: (title, label, value of a row).
PANELS: dict[str, tuple[str, str, Callable[[Record], float]]] = {
    "time_slope": ("Time of a run", "seconds", lambda row: row["run_ms"]["median"] / 1e3),
    "memory_slope": (
        "Peak memory of a run",
        "MiB",
        lambda row: row.get("peak_bytes", 0) / 2**20,
    ),
}


def plot(rows: Iterable[Record], path: Path) -> Any:
    """Draw the records of a run, one line per task with its exponent, and return the figure."""
    from matplotlib.figure import Figure

    rows = list(rows)
    sizes = [row for row in rows if row["table"] == "size" and row["check"] == "ok"]
    slopes = {row["task"]: row for row in rows if row["table"] == "slope"}
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    for axes, (slope, (title, unit, value)) in zip(
        figure.subplots(1, 2), PANELS.items(), strict=True
    ):
        for number, task in enumerate(dict.fromkeys(row["task"] for row in sizes)):
            points = [(row["edges"], value(row)) for row in sizes if row["task"] == task]
            points = [(edges, y) for edges, y in points if y > 0]
            exponent = slopes.get(task, {}).get(slope)
            label = task if exponent is None else f"{task}, exponent {exponent:.2f}"
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw files of records."""
    parser = argparse.ArgumentParser(description="Draw the records of scaling.py.")
    parser.add_argument("records", type=Path, nargs="+", help="files of JSON lines")
    for path in parser.parse_args(arguments).records:
        plot(records.read(path), path.with_suffix(".png"))


if __name__ == "__main__":
    main()
