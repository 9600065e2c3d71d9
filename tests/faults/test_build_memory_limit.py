"""A build from a file grows its process by no more than memory_limit.

The peak is that of the resident set (VmHWM) in a process that has built a small file of the same
kind before, less what was resident then.
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

import rapidsgraph as rg
from rapidsgraph.layered.outofcore.file_array import (
    MIN_WORK_BYTES,
    OPEN_VERTEX_BYTES,
    OVERHEAD_BYTES,
    VERTEX_BYTES,
)

pytestmark = pytest.mark.slow

RESET = Path("/proc/self/clear_refs")
needs_linux = pytest.mark.skipif(not RESET.exists(), reason="/proc/self/clear_refs is of Linux")

BUILD = """
import ctypes, gc, json, sys
from pathlib import Path
import rapidsgraph as rg
from rapidsgraph.layered.outofcore.build import build_from_file

warm, path, folder, limit, root, options = sys.argv[1:]
root, options = json.loads(root), json.loads(options)
root = tuple(root) if isinstance(root, list) else root

def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) * 1024

for small in ("50MB", "1GB"):
    rg.LayeredEdgeList.build(
        warm, root, store=folder, memory_limit=small, device="cpu", progress=False, **options
    )
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
found = rg.LayeredEdgeList.build(
    path, root, store=folder, memory_limit=int(limit), device="cpu", progress=False, **options
)
print(json.dumps({"peak": resident("VmHWM") - before, "vertices": found.num_vertices}))
"""


def named(kind, ids):
    if kind == "text":
        return pc.binary_join_element_wise("vertex ", pyarrow.array(ids).cast("string"), "")
    return pyarrow.array(ids * 7919 - 5 if kind == "integers with gaps" else ids)


def write(kind, path, rows, vertices):
    random, columns = np.random.default_rng(17), {}
    for end in ("source", "destination"):
        ids = random.integers(0, vertices, rows)
        ids[:vertices] = random.permutation(vertices)[:rows]
        ids[0] = 0
        if kind == "several columns":
            columns |= {end: named("text", ids % 1000), f"{end}_2": pyarrow.array(ids // 1000)}
        else:
            columns[end] = named(kind, ids)
    table = pyarrow.table({**columns, "weight": random.random(rows)})
    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)


KINDS = {  # root, options
    "integers": (0, {}),
    "integers with gaps": (-5, {"weight": "weight", "directed": False}),
    "text": ("vertex 0", {}),
    "several columns": (
        ["vertex 0", 0],
        {
            "source": ["source", "source_2"],
            "destination": ["destination", "destination_2"],
            "weight": "weight",
        },
    ),
}


def peak(folder, kind, ending, limit):
    """Return the growth of the process in bytes."""
    root, options = KINDS[kind]
    paths = [folder / f"{name}.{ending}" for name in ("small", "large")]
    command = [sys.executable, "-c", BUILD, *paths, folder / "layers", limit]
    done = subprocess.run(
        [*map(str, command), json.dumps(root), json.dumps(options)],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-2000:]
    assert sorted(entry.name for entry in folder.iterdir()) == [
        f"large.{ending}", "layers", f"small.{ending}"
    ]  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])["peak"]


SHORT = [("text", "csv"), ("integers with gaps", "parquet")]
LONG = list(itertools.product(KINDS, ("parquet", "csv")))
SIZES = [  # rows, vertices, limits by the least
    (4_000_000, 3_000_000, [1, 1.1, 1.5, 2, 4]),
    (600_000, 400_000, [1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2, 3, 4, 5]),
]


@needs_linux
@pytest.mark.parametrize(
    ("kind", "ending", "rows", "vertices", "shares"),
    [
        *((*case, 300_000, 200_000, [1.2]) for case in SHORT),
        *(pytest.param(*case, *sizes, marks=pytest.mark.long) for case in LONG for sizes in SIZES),
    ],
)
def test_peak(tmp_path, kind, ending, rows, vertices, shares, record_faults):
    write(kind, tmp_path / f"small.{ending}", 3000, 300)
    write(kind, tmp_path / f"large.{ending}", rows, vertices)
    name_bytes = 8 * vertices * (1 + (kind == "several columns")) + 14 * vertices
    arrays = max(VERTEX_BYTES * vertices, OPEN_VERTEX_BYTES * vertices + 2 * name_bytes)
    least = OVERHEAD_BYTES + MIN_WORK_BYTES + arrays
    wrong = []
    for share in shares:
        limit = int(least * share)
        found = peak(tmp_path, kind, ending, limit)
        row = {
            "fault": "memory limit", "target": f"{kind}, {ending}", "rows": rows,
            "vertices": vertices, "limit_bytes": limit, "peak_bytes": found,
        }  # fmt: skip
        record_faults("limits", row)
        wrong += [row] if found > limit else []
    assert not wrong


def test_advice_for_cnr_2000(tmp_path):
    path = Path(__file__).resolve().parents[3] / "shared" / "data" / "cnr-2000.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in ../shared/data, so no layers were built of it")
    options = {"store": tmp_path / "layers", "device": "cpu", "multi_edges": "keep"}
    with pytest.raises(rg.InsufficientMemoryError) as caught:
        rg.LayeredEdgeList.build(path, 0, memory_limit="1MB", **options)
    advice = re.search(r"needs about ([\d.]+ MB)", str(caught.value))[1]
    found = rg.LayeredEdgeList.build(path, 0, memory_limit=advice, **options)
    assert found.num_edges == parquet.read_metadata(path).num_rows
