"""A real graph that ships with the package: what Debian's packages need from one another.

Debian 12.15 (bookworm), section main, amd64, as archived on Saturday, 11 July 2026, 10:16:37 UTC;
the same date is in the Parquet file's metadata. 303 335 edges between 64 971 vertices, made by
``pipelines/make_debian_dataset.py``.

An edge leads from a package (``source``) to one that it needs (``destination``), and ``kind`` is
the field that asks for it: Depends and Pre-Depends are necessary, Recommends is installed unless
declined. Of alternatives ("a | b") the first is taken, versions and architectures are left out.
8 045 destinations need nothing themselves; some are virtual, names that other packages provide.
96 pairs are asked for by two fields and so are two rows, and two packages recommend themselves.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["debian", "debian_path"]


def debian_path() -> Path:
    """The Parquet file that :func:`debian` reads, for whatever reads files itself.

    Returns
    -------
    pathlib.Path
        Columns ``source``, ``destination`` and ``kind``.

    Examples
    --------
    >>> from rapidsgraph.datasets import debian_path
    >>> debian_path().name
    'debian.parquet'
    """
    return Path(str(files(__name__) / "debian.parquet"))


def debian(kinds: Sequence[str] | None = None) -> "pd.DataFrame":
    """What the binary packages of Debian 12 need from one another, as an edge frame.

    Parameters
    ----------
    kinds : sequence of str, optional
        Keep the edges of these kinds only, of "Depends", "Pre-Depends" and "Recommends".
        All three by default.

    Returns
    -------
    pandas.DataFrame
        One row an edge, without duplicates, sorted by all columns: ``source`` and ``destination``
        are strings, ``kind`` is a categorical. For a GPU read the file instead:
        ``rg.read_edges(debian_path(), device="gpu")``.

    Raises
    ------
    ValueError
        For a kind that there is not.

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
        raise ValueError(f"no edges of kind {unknown[0]!r}; there are {', '.join(known)}")
    return edges[edges["kind"].isin(kinds)].reset_index(drop=True)
