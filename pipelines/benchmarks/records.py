"""Records of benchmarks: files of JSON lines, and the Markdown tables generated from them.

    python pipelines/benchmarks/records.py results/pagerank-cpu-2core.jsonl

prints the tables and writes them beside the records. The first record says what ran, on which
machine and with which versions; each of the others holds one measurement, under the name of its
table. A time is {"median", "low", "high", "repeats"} in the unit that its name ends in.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import rapidsgraph
from pipelines.benchmarks import tables, timing

Record = dict[str, Any]
RESULTS = Path(__file__).with_name("results")
DISTRIBUTIONS = {  # module: the distributions that may contain it
    "numpy": ["numpy"],
    "numba": ["numba"],
    "pandas": ["pandas"],
    "scipy": ["scipy"],
    "igraph": ["igraph"],
    "networkit": ["networkit"],
    "networkx": ["networkx"],
    "graphblas": ["python-graphblas"],
    "suitesparse_graphblas": ["suitesparse-graphblas"],
    "pooch": ["pooch"],
    "cupy": ["cupy-cuda13x", "cupy-cuda12x", "cupy"],
    "cudf": ["cudf-cu13", "cudf-cu12", "cudf"],
    "rmm": ["rmm-cu13", "rmm-cu12", "rmm"],
    "dask": ["dask"],
    "distributed": ["distributed"],
    "dask_cuda": ["dask-cuda"],
    "dask_cudf": ["dask-cudf-cu13", "dask-cudf-cu12", "dask-cudf"],
    "distributed_ucxx": ["distributed-ucxx-cu13", "distributed-ucxx-cu12", "distributed-ucxx"],
    "pylibcugraph": ["pylibcugraph-cu13", "pylibcugraph-cu12", "pylibcugraph"],
}


def run_record(benchmark: str, **settings: Any) -> Record:
    """Return the first record: what runs, on which machine, with which versions."""
    record = {
        "table": "run",
        "benchmark": benchmark,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
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


def versions() -> dict[str, str]:
    """Return the versions of Python, of rapidsgraph, and of all imported DISTRIBUTIONS."""
    own = {"python": platform.python_version(), "rapidsgraph": rapidsgraph.__version__}
    return own | {name: version(name) for name in DISTRIBUTIONS if name in sys.modules}


def machine() -> dict[str, Any]:
    """Describe the CPU and, if CuPy has been imported, the GPU; names of hosts are left out."""
    import psutil

    facts: dict[str, Any] = {
        "cpu": cpu_model(),
        "cores": timing.cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if "numba" in sys.modules:
        facts["numba_threads"] = sys.modules["numba"].get_num_threads()
    if "cupy" in sys.modules:
        facts |= gpu_facts()
    return facts


def gpu_facts() -> dict[str, Any]:
    """Describe the GPU: name, memory, versions of CUDA and of the driver."""
    runtime = sys.modules["cupy"].cuda.runtime
    try:
        name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
        gib = round(runtime.memGetInfo()[1] / 2**30)
        facts = {"gpu": name, "gpu_memory_gib": gib, "cuda": runtime.runtimeGetVersion()}
    except Exception as error:  # CuPy is installed, and there is no GPU that it can use
        return {"gpu": f"none ({error})"}
    version_file = Path("/proc/driver/nvidia/version")
    words = version_file.read_text().split() if version_file.exists() else []
    numbers = [word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()]
    return facts | {"driver": numbers[0] if numbers else f"CUDA {runtime.driverGetVersion()}"}


def cpu_model() -> str:
    """Return the name of the CPU."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def version(name: str) -> str:
    """Return the version of an imported module."""
    for distribution in DISTRIBUTIONS[name]:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return getattr(sys.modules[name], "__version__", "unknown")


def commit() -> str:
    """Return the commit of this checkout, with "+" if the package was changed, or "unknown"."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
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
    write_text(path.with_suffix(".md"), tables.markdown(rows, path.name))


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
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not a record: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: not a record: {row!r}")
        rows.append(row)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print files of records as tables."""
    parser = argparse.ArgumentParser(description="Print records as Markdown tables.")
    parser.add_argument("records", type=Path, nargs="+", help="files of JSON lines")
    for path in parser.parse_args(arguments).records:
        text = tables.markdown(read(path), path.name)
        write_text(path.with_suffix(".md"), text)
        print(text)


if __name__ == "__main__":
    main()
