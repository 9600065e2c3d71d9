"""Records of benchmarks: files of JSON lines, and the Markdown tables generated from them.

The first record says what ran, on which machine and with which versions; each of the others holds
one measurement, under the name of its table. A time is {"median", "low", "high", "repeats"} in the
unit that its name ends in. `performance.py` regenerates the tables of the recorded results.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.benchmarks import timing
from rapidsgraph import __version__, device

Record = dict[str, Any]
RESULTS = Path(__file__).with_name("results")
MODULES = (  # whose versions are recorded, if they have been imported
    "numpy", "numba", "pandas", "scipy", "igraph", "networkit", "networkx", "graphblas",
    "suitesparse_graphblas", "duckdb", "polars", "cupy", "cudf", "rmm", "dask", "distributed",
    "dask_cuda", "dask_cudf", "distributed_ucxx", "pylibcugraph",
)  # fmt: skip
UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "bytes": ", bytes", "mb": ", MB"}
BRANDS = ("nvidia", "geforce", "tesla", "quadro", "rtx", "gtx", "titan")  # of GPUs, not models


def run_record(benchmark: str, **settings: Any) -> Record:
    """Return the first record: what runs, on which machine, with which versions."""
    return {
        "table": "run", "benchmark": benchmark,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit(),
        "load": round(os.getloadavg()[0], 2), "machine": machine(), "versions": versions(),
    } | settings  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions of Python, of rapidsgraph, and of those of `MODULES` in use."""
    used = {name: sys.modules[name] for name in MODULES if name in sys.modules}
    return {"python": platform.python_version(), "rapidsgraph": __version__} | {
        name: str(getattr(module, "__version__", "unknown")) for name, module in used.items()
    }


def machine() -> dict[str, Any]:
    """Describe the CPU and, if CuPy has been imported, the GPU; names of hosts are left out."""
    import psutil

    models = re.findall(r"model name\s*: (.*)", read_if_present("/proc/cpuinfo"))
    facts: dict[str, Any] = {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": timing.cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if "numba" in sys.modules:
        facts["numba_threads"] = sys.modules["numba"].get_num_threads()
    if "cupy" in sys.modules and not device.gpu_problem():
        runtime = sys.modules["cupy"].cuda.runtime
        drivers = re.findall(r" (\d+\.[\d.]+) ", read_if_present("/proc/driver/nvidia/version"))
        facts |= {
            "gpu": runtime.getDeviceProperties(runtime.getDevice())["name"].decode(),
            "gpu_memory_gib": round(runtime.memGetInfo()[1] / 2**30),
            "cuda": runtime.runtimeGetVersion(),
            "driver": drivers[0] if drivers else f"CUDA {runtime.driverGetVersion()}",
        }
    return facts


def read_if_present(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def machine_label(machine: Mapping[str, Any]) -> str:
    """Return the label of a machine in file names, such as gpu-h100 or cpu-2core."""
    words = [word for word in machine.get("gpu", "").lower().split() if word not in BRANDS]
    if words:
        return "gpu-" + re.sub(r"[^a-z0-9]+", "", words[0])
    return f"cpu-{machine['cores']}core"


def commit() -> str:
    """Return the commit of this checkout, with "+" if the package was changed, or "unknown"."""

    def git(*arguments: str) -> str:
        line = ["git", *arguments]
        return subprocess.run(
            line, cwd=RESULTS.parent, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--untracked-files=no", "--", ":/rapidsgraph")
        return git("rev-parse", "--short", "HEAD") + ("+" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def claim_row(claim: str, ratios: Sequence[float], holds: bool | None = None) -> Record:
    """Return the record of a paper's claim beside our ratios; by default all must be above 1."""
    low, high = (f"{value:.3g}" for value in (min(ratios), max(ratios)))
    return {
        "table": "claim", "claim": claim,
        "here": f"{low if low == high else f'{low} to {high}'} times",
        "holds": min(ratios) > 1 if holds is None else holds,
    }  # fmt: skip


def claim_rows(claims: Iterable[tuple[Any, ...]], rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the records of claims: (text, slower implementation, faster one, conditions ...).

    A claim is about the rows that meet its conditions.
    """
    for text, slow, fast, *conditions in claims:
        times = {(row["table"], row["graph"], row["implementation"]): row["run_ms"]["median"]
                 for row in rows if {"implementation", "run_ms"} <= row.keys()
                 and all(meets(row) for meets in conditions)}  # fmt: skip
        ratios = [ms / times[(*about, fast)] for (*about, system), ms in times.items()
                  if system == slow and (*about, fast) in times]  # fmt: skip
        if ratios:
            yield claim_row(text, ratios)


def write(path: str | Path, rows: Iterable[Record]) -> None:
    """Write records as JSON lines and, beside them, as Markdown, both atomically."""
    path, rows = Path(path), list(rows)
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    write_text(path.with_suffix(".md"), markdown(rows, path.stem))


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text)
    os.replace(temporary, path)


def read(path: str | Path) -> list[Record]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


# Markdown: a table per value of `table`, with the keys as columns


def markdown(records: Iterable[Record], name: str) -> str:
    """Return all tables of a file of records."""
    rows_of: dict[str, list[Record]] = {}
    for record in records:
        rows_of.setdefault(record["table"], []).append(record)
    parts = [f"# {name}", "Generated from the records; do not edit."]
    for record in rows_of.pop("run", []):
        facts = {
            key.replace("_", " "): ", ".join(f"{name} {item}" for name, item in value.items())
            if isinstance(value, dict) else value for key, value in record.items()
        }  # fmt: skip
        parts.append("\n".join(f"- {key}: {value}" for key, value in list(facts.items())[1:]))
    notes = rows_of.pop("note", [])
    for title, rows in rows_of.items():
        parts += [f"## {title[:1].upper()}{title[1:]}", grid(rows)]
    if notes:
        parts += ["## Left out", "\n".join(f"- {note['note']}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def grid(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table, without columns that no row fills."""
    names = dict.fromkeys(name for row in rows for name in row if name != "table")
    columns = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    lines = [[*map(heading, columns)], ["---"] * len(columns)]
    lines += [[cell(row.get(name)) for name in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def heading(name: str) -> str:
    """Return a key as a heading, with the unit that it ends in."""
    words, _, unit = name.rpartition("_")
    text = words + UNITS[unit] if words and unit in UNITS else name
    return text.replace("_", " ")


def cell(value: Any) -> str:
    """Return a value as text, a repeated time with its range."""
    match value:
        case {"median": median, **rest}:
            low, high = rest.get("low"), rest.get("high")
            text = number(median)
            return text if low == high else f"{text} ({number(low)} to {number(high)})"
        case None | bool():
            return {None: "", True: "yes", False: "no"}[value]
        case float():
            return number(value)
        case list():
            return " to ".join(map(str, value))
        case int():
            return f"{value:,}"
    return str(value).replace("|", "/").replace("\n", " ")


def number(value: float) -> str:
    """Return a number with three significant digits and without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")
