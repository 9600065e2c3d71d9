"""The layered edge list: vertices by BFS layer, edges in packed partitions that stream.

Attributes are imported when they are first used (PEP 562), because some modules import Numba.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .edge_list import LayeredEdgeList

__all__ = ["LayeredEdgeList"]


def __getattr__(name: str) -> Any:
    """Import `LayeredEdgeList` from `edge_list`, any other name as a module."""
    if name == "LayeredEdgeList":
        return importlib.import_module(f"{__name__}.edge_list").LayeredEdgeList
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
