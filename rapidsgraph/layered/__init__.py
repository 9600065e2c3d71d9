"""The layered edge list: vertices by BFS layer, edges in packed partitions that stream."""

from .edge_list import LayeredEdgeList

__all__ = ["LayeredEdgeList"]
