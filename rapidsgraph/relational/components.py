"""Connected components as frame operations; `algorithms.components` has the kernel form."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..algorithms.parameters import ComponentParameters
from ..device import to_host
from ..frames import Frame
from ..graph.csr import from_coo
from .distances import find_distances
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table, distinct, drop_index, find_rows, index_rows

MAX_KERNEL_ARCS = 2**21  # that one task gets of a Dask table; it takes 80 bytes per arc


def connected_components(graph: Any, parameters: ComponentParameters) -> Frame:
    """Find components by joins; see `rapidsgraph.connected_components`."""
    graph = as_frame_graph(graph, algorithm="connected_components")
    graph.check_name_collisions("component")
    roots = find_strong_roots(graph) if parameters.strong else find_roots(graph)
    return graph.make_result(number_components(graph, roots), {"component": None})


def find_roots(graph: FrameGraph) -> Table:
    """Return the smallest vertex of every vertex's component, in columns `root`.

    In a round, every vertex links to the smallest of itself and its neighbors, and the trees of
    these links are contracted to their roots. Two rounds at least halve the number of vertices
    with edges: a root that no other vertex links to has only neighbors that are not roots, and is
    linked in the next round. So the number of rounds is logarithmic, even for a path.
    """
    vertex, source, destination, root = map(
        graph.name_columns, ("vertex", "source", "destination", "root")
    )
    vertices, roots = graph.vertices, graph.vertices.copy_columns(vertex, root)
    arcs = graph.arcs.select([*source, *destination])
    edges = arcs.union(arcs.rename([*source, *destination], [*destination, *source]))
    edges = _simplify(edges, source, destination)
    while edges.count():
        loops = vertices.rename(vertex, source).copy_columns(source, destination)
        links = loops.union(edges).smallest(source, order=destination)
        links = _compress(links.rename([*source, *destination], [*vertex, *root]), vertex, root)
        roots = _replace(roots, root, links, vertex, root).persist()
        edges = _replace(edges, source, links, vertex, root)
        edges = _simplify(_replace(edges, destination, links, vertex, root), source, destination)
        vertices = links.filter(functools.partial(_are_equal, left=vertex, right=root))
        vertices = vertices.select(vertex).persist()
    return roots


def find_strong_roots(graph: FrameGraph) -> Table:
    """Return the smallest vertex of every vertex's strong component, in columns `root`.

    Every vertex takes the smallest vertex that reaches it as its color. A vertex of its own color
    is the smallest of its component, whose other vertices are those of its color that reach it.
    These are removed, and the remaining vertices are colored again [1]_.

    Colors follow a path by one arc per round, so that a cycle of n vertices takes n rounds of
    joins. Once the remaining arcs fit in one process, a kernel finds the other components in
    one pass over them.

    References
    ----------
    .. [1] S. Orzan, "On distributed verification and verified distribution", PhD thesis, Vrije
       Universiteit Amsterdam, 2004.
    """
    vertex, source, destination, root = map(
        graph.name_columns, ("vertex", "source", "destination", "root")
    )
    vertices, roots = graph.vertices, graph.vertices.copy_columns(vertex, root)
    roots = roots.difference(vertices, vertex)  # an empty table of these columns
    is_loop = functools.partial(_are_equal, left=source, right=destination)
    arcs = graph.arcs.select([*source, *destination]).filter(lambda rows: ~is_loop(rows)).persist()
    while not _fit_one_process(arcs):
        # A vertex without incoming or without outgoing arcs is a component of its own.
        ends = [arcs.distinct(end).rename(end, vertex) for end in (source, destination)]
        candidates = ends[0].join(ends[1], vertex)
        members = vertices.difference(candidates, vertex).copy_columns(vertex, root).persist()
        if not members.count():
            colors = _color(graph, vertices, arcs)
            inner_arcs = arcs.join(colors.rename(vertex, source), source)
            other = _with_suffix(root, "other")
            inner_arcs = inner_arcs.lookup(
                colors.rename([*vertex, *root], [*destination, *other]), destination
            )
            inner_arcs = inner_arcs.filter(functools.partial(_are_equal, left=root, right=other))
            reverse = inner_arcs.select([*source, *destination]).rename(
                [*source, *destination], [*destination, *source]
            )
            first = colors.filter(functools.partial(_are_equal, left=vertex, right=root))
            others = colors.select(vertex).difference(first, vertex)
            distances = find_distances(graph, reverse.partition(source), first, others)
            connected = distances.filter(lambda rows: rows["distance"] < math.inf)
            members = colors.join(connected.select(vertex), vertex)
        roots = roots.union(members).persist()
        vertices = vertices.difference(members, vertex).persist()
        arcs = arcs.join(vertices.rename(vertex, source), source)
        arcs = arcs.lookup(vertices.rename(vertex, destination), destination).persist()
    return roots.union(_search_depth_first(graph, vertices, arcs)).persist()


def _fit_one_process(arcs: Table) -> bool:
    """Return whether all arcs fit in one process; those of a pandas or cuDF frame do."""
    return arcs.num_partitions == 1 or arcs.count() <= MAX_KERNEL_ARCS


def _search_depth_first(graph: FrameGraph, vertices: Table, arcs: Table) -> Table:
    """Return the smallest vertex of every vertex's strong component, found by a kernel."""
    vertex, source, destination, root = map(
        graph.name_columns, ("vertex", "source", "destination", "root")
    )
    loops = vertices.rename(vertex, source).copy_columns(source, destination)
    arcs = arcs.union(loops).gather()  # every vertex is a source
    return arcs.map(_run_kernel, columns=(vertex, source, destination, root)).partition(vertex)


def _run_kernel(arcs: Frame, columns: tuple[list[str], ...]) -> Frame:
    """Return the vertices of arcs and their roots.

    The kernel reads each arc once, where joins read those on a path in one round per arc of it.
    """
    vertex, source, destination, root = columns
    names = distinct(arcs, source).rename(columns=dict(zip(source, vertex, strict=True)))
    names = index_rows(names, vertex)
    ids = [to_host(find_rows(names, arcs[end])).astype(np.int32) for end in (source, destination)]
    adjacency = from_coo([*ids, None], len(names), "first")
    components = np.empty(len(names), np.int32)
    kernels.strong_components.find_components(adjacency.offsets, adjacency.neighbors, components)
    first = np.full(len(names), len(names))  # row of each component
    np.minimum.at(first, components, np.arange(len(names)))
    names = drop_index(names, vertex)
    roots = names.take(first[components]).reset_index(drop=True)
    return names.assign(**{new: roots[old] for old, new in zip(vertex, root, strict=True)})


def _color(graph: FrameGraph, vertices: Table, arcs: Table) -> Table:
    """Return the smallest vertex that reaches each vertex along arcs, in columns `root`."""
    vertex, source, destination, root = map(
        graph.name_columns, ("vertex", "source", "destination", "root")
    )
    old = _with_suffix(root, "old")
    is_same = functools.partial(_are_equal, left=root, right=old)
    colors = changed = vertices.copy_columns(vertex, root)
    while changed.count():
        offers = arcs.join(changed.rename(vertex, source), source)
        offers = offers.select([*destination, *root]).rename(destination, vertex)
        new_colors = colors.union(offers).smallest(vertex, order=root).persist()
        changed = new_colors.join(colors.rename(root, old), vertex)
        changed = changed.filter(lambda rows: ~is_same(rows)).select([*vertex, *root]).persist()
        colors = new_colors
    return colors


def _simplify(edges: Table, source: list[str], destination: list[str]) -> Table:
    """Drop self-loops and parallel edges."""
    is_loop = functools.partial(_are_equal, left=source, right=destination)
    return edges.filter(lambda rows: ~is_loop(rows)).distinct([*source, *destination]).persist()


def _compress(links: Table, vertex: list[str], root: list[str]) -> Table:
    """Link every vertex to the root of its tree, by pointer jumping."""
    parent = _with_suffix(root, "parent")
    while True:
        links = links.persist()
        parents = links.rename([*vertex, *root], [*root, *parent])
        grandparents = links.lookup(parents, root).persist()
        num_equal = grandparents.filter(
            functools.partial(_are_equal, left=root, right=parent)
        ).count()
        if num_equal == grandparents.count():
            return links
        links = grandparents.select([*vertex, *parent]).rename(parent, root)


def _replace(
    rows: Table, columns: list[str], links: Table, vertex: list[str], root: list[str]
) -> Table:
    """Return rows with the roots of the vertices in `columns`."""
    new = _with_suffix(columns, "new")
    rows = rows.lookup(links.rename([*vertex, *root], [*columns, *new]), columns)
    return rows.map(_overwrite, old=columns, new=new)


def _overwrite(rows: Frame, old: list[str], new: list[str]) -> Frame:
    return rows.drop(columns=old).rename(columns=dict(zip(new, old, strict=True)))


def _with_suffix(columns: Sequence[str], suffix: str) -> list[str]:
    return [f"{column}_{suffix}" for column in columns]


def _are_equal(rows: Frame, left: Sequence[str], right: Sequence[str]) -> Any:
    """Return whether two names of each row are equal."""
    return functools.reduce(
        operator.and_, (rows[a] == rows[b] for a, b in zip(left, right, strict=True))
    )


def number_components(graph: FrameGraph, roots: Table) -> Table:
    """Add a column `component`, numbered by descending size, ties by root."""
    root = graph.name_columns("root")
    sizes = roots.assign(negative_size=-1).aggregate(root, negative_size="sum")
    numbers = sizes.enumerate(["negative_size", *root], "component").partition(root)
    return roots.lookup(numbers, root).map(_cast_component)


def _cast_component(rows: Frame) -> Frame:
    return rows.astype({"component": "int32"})
