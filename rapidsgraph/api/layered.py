"""`LayeredEdgeList`, with the functions for Dask that `dispatch` registers."""

from __future__ import annotations

from .. import dispatch  # noqa: F401 - registers them
from ..layered.edge_list import LayeredEdgeList

__all__ = ["LayeredEdgeList"]
