"""The layered edge list: vertices by BFS layer, edges in packed partitions that stream."""

from .layered import LayeredEdgeList

__all__ = ["LayeredEdgeList"]
