"""Real graphs of SNAP, downloaded with Pooch on request (``--fetch``).

A text file is stored in Pooch's cache, read once by rapidsgraph, and kept beside it as Parquet with
the SHA-256 of the download, which is part of the graph's record. Pooch comes with
``pip install '.[benchmark]'``.

References
----------
.. [1] J. Leskovec and A. Krevl, "SNAP Datasets: Stanford Large Network Dataset Collection", 2014,
   https://snap.stanford.edu/data
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rapidsgraph as rg

SITE = "https://snap.stanford.edu/data/"
CACHE = "rapidsgraph-benchmarks"
COMMUNITIES = "bigdata/communities/"


class GraphUnavailableError(Exception):
    """A graph is unknown, or its file is not available; the message says why."""


@dataclass(frozen=True)
class Source:
    """A file of SNAP: its address below `SITE`, and its checksum if that is known."""

    file: str
    directed: bool
    sha256: str | None = None


SNAP = {
    "amazon0601": Source("amazon0601.txt.gz", True),
    "ca-CondMat": Source("ca-CondMat.txt.gz", False),
    "ca-GrQc": Source("ca-GrQc.txt.gz", False),
    "cit-HepPh": Source("cit-HepPh.txt.gz", True),
    "cit-Patents": Source("cit-Patents.txt.gz", True),
    "com-DBLP": Source(COMMUNITIES + "com-dblp.ungraph.txt.gz", False),
    "com-LiveJournal": Source(COMMUNITIES + "com-lj.ungraph.txt.gz", False),
    "com-Orkut": Source(COMMUNITIES + "com-orkut.ungraph.txt.gz", False),
    "com-Youtube": Source(COMMUNITIES + "com-youtube.ungraph.txt.gz", False),
    "ego-Facebook": Source("facebook_combined.txt.gz", False),
    "email-Enron": Source("email-Enron.txt.gz", False),
    "email-Eu-core": Source("email-Eu-core.txt.gz", True),
    "loc-brightkite": Source("loc-brightkite_edges.txt.gz", False),
    "loc-gowalla": Source("loc-gowalla_edges.txt.gz", False),
    "roadNet-CA": Source("roadNet-CA.txt.gz", False),
    "roadNet-PA": Source("roadNet-PA.txt.gz", False),
    "roadNet-TX": Source("roadNet-TX.txt.gz", False),
    "soc-LiveJournal1": Source("soc-LiveJournal1.txt.gz", True),
    "soc-Pokec": Source("soc-pokec-relationships.txt.gz", True),
    "soc-Slashdot0902": Source("soc-Slashdot0902.txt.gz", True),
    "web-Google": Source("web-Google.txt.gz", True),
    "web-Stanford": Source("web-Stanford.txt.gz", True),
    "wiki-Talk": Source("wiki-Talk.txt.gz", True),
    "wiki-Vote": Source("wiki-Vote.txt.gz", True),
}


def fetch(name: str) -> Path:
    """Return the Parquet file of a graph of SNAP, and download it unless it is in the cache."""
    try:
        import pooch
    except ImportError as error:
        reason = f"--fetch needs pooch ({error}); pip install '.[benchmark]'"
        raise GraphUnavailableError(f"{name}: skipped, {reason}") from error
    source, folder = SNAP[name], Path(pooch.os_cache(CACHE))
    parquet = folder / f"{name}.parquet"
    if parquet.exists() and source.sha256 in (None, checksum(parquet)):
        return parquet
    pooch.get_logger().setLevel("WARNING")
    file = source.file.rpartition("/")[2]
    try:
        text = pooch.retrieve(SITE + source.file, source.sha256, fname=file, path=folder)
        convert_to_parquet(text, parquet, pooch.file_hash(text))
    except Exception as error:  # a network error, or a file with unexpected contents
        raise GraphUnavailableError(
            f"{name}: skipped, download from {SITE}{source.file} failed: "
            f"{type(error).__name__}: {error}"[:400]
        ) from error
    return parquet


def convert_to_parquet(text: str, path: Path, sha256: str) -> None:
    """Write an edge list in a text file as Parquet, with the checksum in its metadata."""
    import pyarrow
    import pyarrow.parquet

    frame = rg.read_edges(text, weight=None, device="cpu")
    columns = {name: frame[name].to_numpy() for name in ("source", "destination")}
    max_id = max(int(ids.max()) for ids in columns.values())
    if max_id > np.iinfo(np.int32).max:
        raise ValueError(f"id {max_id} is above 2^31 - 1, the maximum that benchmarks read")
    table = pyarrow.table({name: ids.astype(np.int32) for name, ids in columns.items()})
    temporary = path.with_suffix(".tmp")
    pyarrow.parquet.write_table(table.replace_schema_metadata({"sha256": sha256}), temporary)
    os.replace(temporary, path)


def checksum(path: Path) -> str | None:
    """Return the SHA-256 of the text file that a Parquet file was converted from, if any."""
    import pyarrow.parquet

    value = (pyarrow.parquet.read_schema(path).metadata or {}).get(b"sha256")
    return value.decode() if value else None
