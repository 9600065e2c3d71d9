"""Records of benchmarks: files of JSON lines, and the Markdown tables generated from them.

    python pipelines/benchmarks/records.py pipelines/benchmarks/results/*.jsonl

prints the tables and writes them beside the records. The first record says what ran, on which
machine and with which versions; each of the others holds one measurement, under the name of its
table. A time is {"median", "low", "high", "repeats"} in the unit that its name ends in.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import timing
from rapidsgraph import __version__

Record = dict[str, Any]
RESULTS = Path(__file__).with_name("results")
MODULES = (  # whose versions are recorded, if they have been imported
    "numpy", "numba", "pandas", "scipy", "igraph", "networkit", "networkx", "graphblas",
    "suitesparse_graphblas", "duckdb", "polars", "cupy", "cudf", "rmm", "dask", "distributed",
    "dask_cuda", "dask_cudf", "distributed_ucxx", "pylibcugraph",
)  # fmt: skip
UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "bytes": ", bytes", "mb": ", MB"}
BRANDS = ("nvidia", "geforce", "tesla", "quadro", "rtx", "gtx", "titan")  # of GPUs, not models
HIDDEN = ("table", "of_paper", "holds", "key")  # keys that are not columns


def run_record(benchmark: str, **settings: Any) -> Record:
    """Return the first record: what runs, on which machine, with which versions."""
    record = {
        "table": "run",
        "benchmark": benchmark,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "machine": machine(),
        "versions": versions(),
    }
    return record | settings


def claim_row(paper: str, claim: str, ratios: Sequence[float], holds: bool | None = None) -> Record:
    """Return the record of a paper's claim beside our ratios; by default all must be above 1."""
    holds = min(ratios) > 1 if holds is None else holds
    low, high = (f"{value:.3g}" for value in (min(ratios), max(ratios)))
    here = low if low == high else f"{low} to {high}"
    text = f"{paper}: {claim}. Here {here} times: {'holds' if holds else 'does not hold'}."
    return {"table": "claim", "claim": text, "holds": holds}


def claim_rows(
    paper: str,
    claims: Iterable[tuple[str, str, str]],
    times: Mapping[tuple[str, str], float],
) -> Iterator[Record]:
    """Yield the record of each claim (text, slower system, faster one) by {(graph, system): ms}."""
    for text, slow, fast in claims:
        ratios = [ms / times[graph, fast] for (graph, system), ms in times.items()
                  if system == slow and (graph, fast) in times]  # fmt: skip
        if ratios:
            yield claim_row(paper, text, ratios)


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    """Return the distributions of each module."""
    return importlib.metadata.packages_distributions()


def versions() -> dict[str, str]:
    """Return the versions of Python, of rapidsgraph, and of those of `MODULES` in use."""
    found = {"python": platform.python_version(), "rapidsgraph": __version__}
    used = {name: distributions().get(name) for name in MODULES if name in sys.modules}
    return found | {name: importlib.metadata.version(own[0]) for name, own in used.items() if own}


def machine() -> dict[str, Any]:
    """Describe the CPU and, if CuPy has been imported, the GPU; names of hosts are left out."""
    import psutil

    cpuinfo = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", cpuinfo.read_text() if cpuinfo.exists() else "")
    facts: dict[str, Any] = {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": timing.cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if "numba" in sys.modules:
        facts["numba_threads"] = sys.modules["numba"].get_num_threads()
    return facts | (gpu_facts() if "cupy" in sys.modules else {})


def gpu_facts() -> dict[str, Any]:
    """Describe the GPU: name, memory, versions of CUDA and of the driver."""
    runtime = sys.modules["cupy"].cuda.runtime
    try:
        name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
        gib = round(runtime.memGetInfo()[1] / 2**30)
        facts = {"gpu": name, "gpu_memory_gib": gib, "cuda": runtime.runtimeGetVersion()}
    except Exception as error:  # CuPy is installed, and there is no GPU that it can use
        return {"gpu": f"none ({error})"}
    driver = Path("/proc/driver/nvidia/version")
    numbers = re.findall(r" (\d+\.[\d.]+) ", driver.read_text() if driver.exists() else "")
    return facts | {"driver": numbers[0] if numbers else f"CUDA {runtime.driverGetVersion()}"}


def machine_label(machine: Mapping[str, Any]) -> str:
    """Return the label of a machine in file names, such as gpu-h100 or cpu-2core."""
    gpu = machine.get("gpu", "")
    if gpu and not gpu.startswith("none"):
        words = [word for word in gpu.lower().split() if word not in BRANDS]
        return "gpu-" + re.sub(r"[^a-z0-9]+", "", "".join(words[:1]))
    return f"cpu-{machine['cores']}core"


def commit() -> str:
    """Return the commit of this checkout, with "+" if the package was changed, or "unknown"."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=RESULTS.parent, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--untracked-files=no", "--", ":/rapidsgraph")
        return git("rev-parse", "--short", "HEAD") + ("+" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write(path: str | Path, rows: Iterable[Record]) -> None:
    """Write records as JSON lines and, beside them, as Markdown, both atomically."""
    path, rows = Path(path), list(rows)
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    write_text(path.with_suffix(".md"), markdown(rows, path.name))


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text)
    os.replace(temporary, path)


def read(path: str | Path) -> list[Record]:
    """Read the records of a file; ValueError names a line that is not a record."""
    rows = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        try:
            rows += [dict(json.loads(line).items())] if line.strip() else []
        except (json.JSONDecodeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: not a record: {line[:80]}") from error
    return rows


# Markdown: a table per value of `table`, with the keys as columns


def markdown(records: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return all tables of a file of records."""
    rows_of: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        rows_of.setdefault(record.get("table", "records"), []).append(record)
    parts = [f"# {name.removesuffix('.jsonl')}", "Generated from the records; do not edit."]
    for record in rows_of.pop("run", []):
        facts = {
            key.replace("_", " "): ", ".join(f"{name} {item}" for name, item in value.items())
            if isinstance(value, dict) else value for key, value in record.items()
        }  # fmt: skip
        parts.append("\n".join(f"- {key}: {value}" for key, value in list(facts.items())[1:]))
    notes = rows_of.pop("note", [])
    for title, rows in rows_of.items():
        claims = [f"- {row['claim']}" for row in rows if "claim" in row]
        body = "\n".join(claims) if claims else grid(rows)
        parts += [f"## {title[:1].upper()}{title[1:]}", body]
    if notes:
        parts += ["## Left out", "\n".join(f"- {note['note']}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def grid(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table, without columns that no row fills."""
    names = dict.fromkeys(name for row in rows for name in row if name not in HIDDEN)
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
    if isinstance(value, dict) and "median" in value:
        text = number(value["median"])
        same = value.get("low") == value.get("high")
        return text if same else f"{text} ({number(value['low'])} to {number(value['high'])})"
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return " to ".join(map(str, value))
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "/").replace("\n", " ")


def number(value: float) -> str:
    """Return a number with three significant digits and without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print files of records as tables."""
    parser = argparse.ArgumentParser(description="Print records as Markdown tables.")
    parser.add_argument("records", type=Path, nargs="+", help="files of JSON lines")
    for path in parser.parse_args(arguments).records:
        text = markdown(read(path), path.name)
        write_text(path.with_suffix(".md"), text)
        print(text)


if __name__ == "__main__":
    main()
