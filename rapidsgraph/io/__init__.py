"""Files: edge lists, values of vertices and results, and arrays in Arrow files.

`edge_files` reads and `writers` writes, by the classes of `formats` and `text_files`.
"""

from .edge_files import (
    column_names,
    declared_vertices,
    measure_text,
    read_edge_metadata,
    read_edges,
    read_vertex_values,
    read_vertices,
)
from .writers import check_writable, write_frame

__all__ = [
    "check_writable",
    "column_names",
    "declared_vertices",
    "measure_text",
    "read_edge_metadata",
    "read_edges",
    "read_vertex_values",
    "read_vertices",
    "write_frame",
]
