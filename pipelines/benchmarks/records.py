"""What a benchmark leaves behind: JSON lines, one record each, and Markdown tables made of them.

    python pipelines/benchmarks/records.py results/pagerank-cpu-2core.jsonl

prints the tables and writes them beside the records. The first record says what ran, where and
with which versions; the others hold one measurement each, under the name of their table. A time
is {"median", "low", "high", "repeats"} in the unit that its name ends in.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import tables

RESULTS = Path(__file__).with_name("results")
LIBRARIES = {  # module: the distributions that hold it
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


def run_record(benchmark, **settings):
    """The first record: what ran, on which machine, with which versions."""
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


def versions():
    """Of Python, ours, and whichever LIBRARIES have been imported."""
    import rapidsgraph

    found = {"python": platform.python_version(), "rapidsgraph": rapidsgraph.__version__}
    return found | {name: version(name) for name in LIBRARIES if name in sys.modules}


def machine():
    """CPU and, where CuPy has been imported, GPU; no names of hosts or people."""
    import psutil

    from pipelines.benchmarks.timing import cores

    found = {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if "numba" in sys.modules:
        found["numba_threads"] = sys.modules["numba"].get_num_threads()
    if "cupy" in sys.modules:
        found |= gpu_facts()
    return found


def gpu_facts():
    runtime = sys.modules["cupy"].cuda.runtime
    try:
        name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
        gib = round(runtime.memGetInfo()[1] / 2**30)
        facts = {"gpu": name, "gpu_memory_gib": gib, "cuda": runtime.runtimeGetVersion()}
    except Exception as error:  # CuPy is there, and no GPU that it can use
        return {"gpu": f"none ({error})"}
    version_file = Path("/proc/driver/nvidia/version")
    words = version_file.read_text().split() if version_file.exists() else []
    numbers = [word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()]
    return facts | {"driver": numbers[0] if numbers else f"CUDA {runtime.driverGetVersion()}"}


def cpu_model():
    with_model = Path("/proc/cpuinfo")
    if with_model.exists():
        for line in with_model.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def version(name):
    for distribution in LIBRARIES[name]:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return getattr(sys.modules[name], "__version__", "unknown")


def commit():
    """The commit of this checkout, with a + where files differ from it; or "unknown"."""
    folder = Path(__file__).parent

    def git(*words):
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/rapidsgraph")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write(path, records):
    """Records as JSON lines and, beside them, as Markdown; never half a file."""
    path = Path(path)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    replace(path, lines)
    replace(path.with_suffix(".md"), tables.markdown(records, path.name))


def replace(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text)
    os.replace(draft, path)


def read(path):
    """The records of a file; ValueError names the line that holds none."""
    found = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: no record, {error}") from error
        if not isinstance(found[-1], dict):
            raise ValueError(f"{path}, line {number}: no record, but {found[-1]!r}")
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Print records as Markdown tables.")
    parser.add_argument("records", type=Path, nargs="+", help="files of JSON lines")
    for path in parser.parse_args(arguments).records:
        found = read(path)
        replace(path.with_suffix(".md"), tables.markdown(found, path.name))
        print(tables.markdown(found, path.name))


if __name__ == "__main__":
    main()
