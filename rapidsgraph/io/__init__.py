"""Read and write files: edge lists, values of vertices, results, and arrays in Arrow files."""

from .edge_files import (
    choose_weight_column,
    column_names,
    declared_vertices,
    list_weight_candidates,
    locate_error,
    measure_text,
    read_edge_metadata,
    read_edges,
    read_vertex_values,
    read_vertices,
)
from .writers import check_writable, write_frame

__all__ = [
    "check_writable",
    "choose_weight_column",
    "column_names",
    "declared_vertices",
    "list_weight_candidates",
    "locate_error",
    "measure_text",
    "read_edge_metadata",
    "read_edges",
    "read_vertex_values",
    "read_vertices",
    "write_frame",
]
