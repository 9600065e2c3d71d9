"""Errors about values that are no frames, with the call that converts them."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from .. import device
from ..errors import GraphError

ENDPOINTS = '"source", "destination"'


def no_frame_error(value: Any) -> GraphError:
    """Return the error for a value that is no edge frame, with the line to write instead."""
    if isinstance(value, (str, os.PathLike)):
        return GraphError(
            f"{os.fspath(value)!r} is no edge frame; read a file by rg.read_edges(path), open a "
            "layered edge list by rg.LayeredEdgeList.open(path)",
            path=value,
        )
    remedy = "give a pandas, cuDF or Polars frame, an Arrow table, or a mapping of column names to "
    remedy += "arrays"
    hint = _conversion(value)
    if hint:
        remedy = f"convert it: {hint}"
    kind = type(value)
    return GraphError(
        f"{kind.__module__}.{kind.__name__} is no edge frame; {remedy}",
        parameter="edges",
        hint=hint,
    )


def _conversion(value: Any) -> str | None:
    """Return the call that turns a graph, matrix or list of edges into a Graph, or None."""
    packages = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    if "networkx" in packages and hasattr(value, "adjacency"):
        return "rg.from_networkx(g)"
    if "igraph" in packages and hasattr(value, "get_edgelist"):
        return "rg.from_igraph(g)"
    if "scipy" in packages and hasattr(value, "tocsr"):
        return "rg.from_scipy(matrix)"
    if device.is_array(value):
        return _array_conversion(value)
    if not isinstance(value, Collection):
        return None
    first: Any = next(iter(value), None)
    is_edge = isinstance(first, (tuple, list)) and len(first) in (2, 3)
    if not is_edge or (len(first) == 3 and not isinstance(first[2], (int, float))):
        return None
    return _frame_call("edges" if isinstance(value, list) else "list(edges)", len(first))


def _array_conversion(array: device.Array) -> str | None:
    if array.ndim != 2:
        return None
    num_rows, num_columns = array.shape
    is_on_gpu = device.is_on_gpu(array)
    options = {"library": "cudf" if is_on_gpu else "pandas", "is_float": array.dtype.kind == "f"}
    if num_columns in (2, 3):
        return _frame_call("edges", num_columns, **options)
    if num_rows in (2, 3):
        return _frame_call("edges.T", num_rows, **options)
    if num_rows == num_columns and not is_on_gpu:
        return "rg.from_scipy(scipy.sparse.csr_array(matrix))"
    return None


def _frame_call(
    edges: str, num_columns: int, *, library: str = "pandas", is_float: bool = False
) -> str:
    """Return the call that builds a Graph from rows of two endpoints and perhaps a weight."""
    weight, option = (', "weight"', ', weight="weight"') if num_columns == 3 else ("", "")
    frame = f"{library}.DataFrame({edges}, columns=[{ENDPOINTS}{weight}])"
    if is_float:
        frame += '.astype({"source": "int64", "destination": "int64"})'
    return f"rg.Graph({frame}{option})"
