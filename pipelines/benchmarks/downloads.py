"""Real graphs by name from SNAP, with Pooch: only where somebody asks for it.

Means: a file of text comes into Pooch's cache, is read once by rapidsgraph, and lies beside as
  Parquet with the SHA-256 of what came. That goes into the record of the graph.
Requires: pooch, which `pip install '.[benchmark]'` brings, and a network.
Reference: Leskovec and Krevl, SNAP Datasets, https://snap.stanford.edu/data, 2014.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rapidsgraph as rg

SITE = "https://snap.stanford.edu/data/"
CACHE = "rapidsgraph-benchmarks"
COMMUNITIES = "bigdata/communities/"


class Missing(Exception):
    """A graph that cannot be had here; the message says why."""


@dataclass(frozen=True)
class Source:
    """A file of SNAP.

    Attributes
    ----------
    file : str
        Its address below SITE.
    directed : bool
    sha256 : str, or None where nobody has checked it yet
    """

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


def fetched(name):
    """The Parquet file of a graph of SNAP, downloaded if it is not in the cache yet."""
    try:
        import pooch
    except ImportError as error:
        why = f"--fetch needs pooch ({error}); pip install '.[benchmark]'"
        raise Missing(f"{name}: skipped, {why}") from error
    source, folder = SNAP[name], Path(pooch.os_cache(CACHE))
    table = folder / f"{name}.parquet"
    if table.exists() and source.sha256 in (None, checksum(table)):
        return table
    pooch.get_logger().setLevel("WARNING")
    file = source.file.rpartition("/")[2]
    try:
        text = pooch.retrieve(SITE + source.file, source.sha256, fname=file, path=folder)
        keep(text, table, pooch.file_hash(text))
    except Exception as error:  # of the network, or a file that is not what it should be
        raise Missing(
            f"{name}: skipped, it could not be had from {SITE}{source.file}: "
            f"{type(error).__name__}: {error}"[:400]
        ) from error
    return table


def keep(text, path, sha256):
    """Write a file of text as Parquet, with the checksum in its metadata."""
    import pyarrow
    import pyarrow.parquet

    frame = rg.read_edges(text, device="cpu")
    columns = {name: frame[name].to_numpy() for name in ("source", "destination")}
    greatest = max(int(values.max()) for values in columns.values())
    if greatest > np.iinfo(np.int32).max:
        raise ValueError(f"id {greatest} is above 2^31 - 1, which is the most that is read here")
    table = pyarrow.table({name: values.astype(np.int32) for name, values in columns.items()})
    draft = path.with_suffix(".tmp")
    pyarrow.parquet.write_table(table.replace_schema_metadata({"sha256": sha256}), draft)
    os.replace(draft, path)


def checksum(path):
    """SHA-256 of the text that a Parquet file was made of; None for one that was not fetched."""
    import pyarrow.parquet

    found = (pyarrow.parquet.read_schema(path).metadata or {}).get(b"sha256")
    return found.decode() if found else None
