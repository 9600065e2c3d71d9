"""Strong components by trimming and coloring: the twins of coloring.cu, which documents them.

A CPU finds strong components by depth-first search (strong_components.py), which reads every arc
once. Tests run these twins.
"""

import numpy as np

from .constants import NO_VERTEX
from .jit import serial


@serial
def _has_active(vertex, offsets, neighbors, roots):
    """Return whether a vertex has an active neighbor other than itself."""
    for arc in range(offsets[vertex], offsets[vertex + 1]):
        neighbor = neighbors[arc]
        if neighbor != vertex and roots[neighbor] == NO_VERTEX:
            return True
    return False


@serial
def trim(num_active, active, offsets, neighbors, in_offsets, in_neighbors, roots):
    for index in range(num_active):
        vertex = active[index]
        if roots[vertex] != NO_VERTEX:
            continue
        if not _has_active(vertex, offsets, neighbors, roots) or not _has_active(
            vertex, in_offsets, in_neighbors, roots
        ):
            roots[vertex] = vertex


@serial
def lower_colors(num_active, active, offsets, neighbors, roots, colors, has_changed):
    for index in range(num_active):
        vertex = active[index]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[arc]
            if roots[neighbor] == NO_VERTEX and colors[vertex] < colors[neighbor]:
                colors[neighbor] = colors[vertex]
                has_changed[0] = 1


@serial
def join_roots(num_active, active, offsets, neighbors, colors, roots, has_changed):
    for index in range(num_active):
        vertex = active[index]
        if roots[vertex] != NO_VERTEX:
            continue
        color = colors[vertex]
        is_member = np.bool_(color == vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if is_member:
                break
            is_member = roots[neighbors[arc]] == color
        if is_member:
            roots[vertex] = color
            has_changed[0] = 1


def mark_active(num_active, active, roots, is_active):
    np.equal(roots[active], NO_VERTEX, out=is_active)


def multiply_degrees(num_active, active, offsets, in_offsets, products):
    products[:] = np.diff(offsets)[active]
    products *= np.diff(in_offsets)[active]


def find_smallest(num_vertices, distances, in_distances, smallest):
    smallest[0] = np.flatnonzero((distances >= 0) & (in_distances >= 0))[0]


def join_reached(num_vertices, distances, in_distances, smallest, roots):
    roots[(distances >= 0) & (in_distances >= 0)] = smallest[0]


def reset_colors(num_active, active, colors):
    colors[active] = active
