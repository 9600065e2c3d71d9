"""A real graph that ships with the package: the package dependencies of Debian 12.

Debian 12.15 (bookworm), section main, amd64, as archived on Saturday, 11 July 2026, 10:16:37 UTC
(the metadata of the Parquet file has the same date): 303,335 edges between 64,971 vertices, made by
``pipelines/make_debian_dataset.py``.

An edge leads from a package (``source``) to one that it depends on (``destination``). ``kind`` is
the field of the dependency: Depends and Pre-Depends are mandatory, and Recommends is installed by
default. Of alternatives ("a | b") only the first counts; versions and architectures are omitted.
8,045 destinations have no dependencies; some of them are virtual packages, names that other
packages provide. 96 pairs of packages occur with two kinds, as two rows, and two packages recommend
themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GraphError, format_value

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["debian", "debian_path"]


def __dir__() -> list[str]:
    return __all__


def debian_path() -> Path:
    """Return the path of the Parquet file that `debian` reads.

    Returns
    -------
    pathlib.Path
        A file with the columns `source`, `destination` and `kind`.

    Examples
    --------
    >>> from rapidsgraph.datasets import debian_path
    >>> debian_path().name
    'debian.parquet'
    """
    return Path(str(files(__name__) / "debian.parquet"))


def debian(kinds: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Load the dependencies between the binary packages of Debian 12 as an edge frame.

    Parameters
    ----------
    kinds : str or sequence of str, optional
        Load only edges of these kinds: "Depends", "Pre-Depends", "Recommends". The default is all.

    Returns
    -------
    pandas.DataFrame
        One row per edge, without duplicates, sorted by all columns. `source` and `destination` are
        strings, `kind` is categorical. To load the graph into GPU memory, read the file:
        ``rg.read_edges(debian_path(), device="gpu")``.

    Raises
    ------
    GraphError
        If a kind does not exist.

    Examples
    --------
    >>> from rapidsgraph.datasets import debian
    >>> edges = debian()
    >>> edges.shape
    (303335, 3)
    >>> edges = debian(kinds=["Depends", "Pre-Depends"])
    >>> print(edges[edges["source"] == "grep"].to_string(index=False))
    source  destination        kind
      grep         dpkg     Depends
      grep        libc6 Pre-Depends
      grep libpcre2-8-0 Pre-Depends
    """
    import pyarrow.parquet as pq

    edges = pq.read_table(debian_path()).to_pandas()
    if kinds is None:
        return edges
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    known = list(edges["kind"].cat.categories)
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise GraphError(
            f"kinds contains {format_value(unknown[0])}; the kinds are {', '.join(known)}",
            parameter="kinds",
            value=unknown[0],
        )
    return edges[edges["kind"].isin(kinds)].reset_index(drop=True)
