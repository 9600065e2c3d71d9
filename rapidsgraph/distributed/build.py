"""Build of a distributed graph: the function that every rank runs on its partitions of the frame.

A rank reads the columns of its frames, all ranks number the vertices together, and each arc goes to
the rank that owns its source (or, for the layout "csc", its destination), which sorts what it gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from ..errors import GraphError
from ..frames import Frame
from ..graph import weight_sums
from ..graph.csr import count_upper
from ..graph.edge_columns import (
    EdgeColumns,
    EdgeSchema,
    choose_partition_error,
    read_partition_columns,
)
from ..graph.local_graph import SelfLoops
from ..graph.multi_edges import MultiEdges
from ..graph.vertex_arguments import check_vertices
from ..graph.vertex_names import check_names
from ..graph.vertex_naming import check_name_kind, name_kinds
from ..progress import Report
from .communicator import Communicator
from .partition import Partition, build_partition, choose_bounds, exchange_arcs
from .vertex_names import NameStats, compute_name_stats, merge_name_stats, number_vertices


@dataclass(frozen=True)
class BuildOptions:
    """The parameters of a graph that its build needs on every rank.

    Attributes
    ----------
    source, destination, weight, multi_edges, self_loops, directed, layout
        As in `DistributedGraph`.
    labels : list of str
        Name columns of the vertices.
    vertices : range or None
        The names of all vertices, where the caller passed a number or a range from 0.
    is_on_gpu : bool
    """

    source: str | list[str]
    destination: str | list[str]
    weight: str | None
    multi_edges: MultiEdges
    self_loops: SelfLoops
    directed: bool
    layout: str
    labels: list[str]
    vertices: range | None
    is_on_gpu: bool

    @property
    def xp(self) -> ArrayModule:
        """The array module of the graph."""
        return device.import_cupy() if self.is_on_gpu else np


@dataclass(frozen=True)
class BuildInfo:
    """Info of one rank for the client: the graph and the sizes of the rank's partition.

    Attributes
    ----------
    bounds : list of int
        Rank r has the vertices ``bounds[r]`` to ``bounds[r + 1]``.
    schema : EdgeSchema
        The columns' description without the columns: how vertices are named.
    num_rows : int
        Rows of the frame.
    total_weight : int or float
        Of all rows; exact for integers.
    num_dropped : int
        Self-loops that this rank has dropped.
    num_arcs, num_edges, nbytes : int
        Of the partition. An undirected edge counts where its smaller endpoint is.
    """

    bounds: list[int]
    schema: EdgeSchema
    num_rows: int
    total_weight: int | float
    num_dropped: int
    num_arcs: int
    num_edges: int
    nbytes: int


@dataclass(frozen=True)
class _FrameStats:
    """Statistics of a partition of the frame, which every rank receives."""

    num_rows: int
    weight_type: np.dtype | None
    total_weight: int | float


def build(
    communicator: Communicator,
    report: Report,
    numbers: list[int],
    frames: list[Frame],
    vertices: list[Any],
    options: BuildOptions,
) -> tuple[Partition, BuildInfo]:
    """Build the partition of a rank.

    Parameters
    ----------
    communicator : Communicator
    report : callable
        Not used.
    numbers : list of int
        Which partitions of the edge frame this rank reads, ascending.
    frames : list of frames
        These partitions.
    vertices : list
        Frames or arrays of vertices that may have no edges.
    options : BuildOptions
    """
    xp, multi_edges = options.xp, options.multi_edges
    columns, extra, names, stats, schema = _read(communicator, numbers, frames, vertices, options)
    num_rows = sum(entry.num_rows for entry in stats)
    vertex_names, ids = number_vertices(
        communicator, columns + extra, names, options.labels, options.vertices, xp
    )
    bounds = choose_bounds(communicator, ids, num_rows, vertex_names.count)
    blocks = {
        number: len(edge_columns.sources[0])
        for number, edge_columns in zip(numbers, columns, strict=True)
    }
    num_local_rows = sum(blocks.values())
    sources, destinations = ids[:num_local_rows], ids[ids.size - num_local_rows :]
    arcs = [sources, destinations, _concatenate_weights(columns, stats, xp)]
    del columns, extra, ids
    if options.layout == "csc" and options.directed:
        arcs[0], arcs[1] = destinations, sources
    drop_loops = options.self_loops == "drop"
    num_dropped = device.count_nonzero(sources == destinations) if drop_loops else 0
    del sources, destinations
    arcs = exchange_arcs(
        communicator, arcs, bounds, blocks, directed=options.directed, drop_loops=drop_loops
    )
    total_weight = sum(entry.total_weight for entry in stats)
    if multi_edges == "sum":
        arcs[2] = _convert_to_sums(arcs, stats, total_weight, xp)
    labeling = schema.labeling(vertex_names, xp)
    partition = build_partition(arcs, bounds, communicator.rank, labeling, multi_edges)
    adjacency = partition.adjacency
    if multi_edges == "sum" and options.weight is not None:
        weight_sums.check_merged_weights(adjacency, labeling)
    num_edges = partition.num_arcs if options.directed else int(count_upper(adjacency).sum())
    return partition, BuildInfo(
        bounds, schema, num_rows, total_weight, num_dropped, partition.num_arcs, num_edges,
        adjacency.nbytes,
    )  # fmt: skip


def _read(
    communicator: Communicator,
    numbers: list[int],
    frames: list[Frame],
    vertices: list[Any],
    options: BuildOptions,
) -> tuple[list[EdgeColumns], list[EdgeColumns], list[NameStats], list[_FrameStats], EdgeSchema]:
    """Read the columns of this rank.

    Returns
    -------
    columns : list of EdgeColumns
        Of `frames`.
    extra : list of EdgeColumns
        Of `vertices`, which are sources without destinations.
    names : list of NameStats
        Of each name column on all ranks.
    stats : list of _FrameStats
        Of each partition of the frame.
    schema : EdgeSchema
        Of the first partition, without columns.

    Raises
    ------
    GraphError
        The columns are invalid; every rank raises the error of the same partition.
    """
    columns: list[EdgeColumns] = []
    extra: list[EdgeColumns] = []
    errors, rank_stats = [], None
    for number, frame in zip(numbers, frames, strict=True):
        try:
            columns.append(
                read_partition_columns(
                    number, frame, options.source, options.destination, options.weight,
                    options.multi_edges,
                )
            )  # fmt: skip
        except GraphError as error:
            errors.append(error)
    try:
        extra += [_read_vertices(values, options.labels, options.xp) for values in vertices]
        if not errors:
            rank_stats = _compute_stats(numbers, columns, extra, options)
    except GraphError as error:
        errors.append(error)
    gathered = communicator.all_gather_object((errors, rank_stats))
    errors = [error for errors, _ in gathered for error in errors]
    if errors:
        raise choose_partition_error(errors)
    names_by_rank, kinds_by_rank, stats_by_rank, schemas = zip(
        *(stats for _, stats in gathered), strict=True
    )
    for label, kinds in zip(options.labels, zip(*kinds_by_rank, strict=True), strict=True):
        vertex_kinds, edge_kinds = (set().union(*sets) for sets in zip(*kinds, strict=True))
        check_name_kind(vertex_kinds, edge_kinds, label)
    names = list(map(merge_name_stats, zip(*names_by_rank, strict=True)))
    by_number = {number: entry for stats in stats_by_rank for number, entry in stats.items()}
    [schema] = [schema for schema in schemas if schema is not None]
    return columns, extra, names, [by_number[number] for number in sorted(by_number)], schema


def _read_vertices(vertices: Any, labels: list[str], xp: ArrayModule) -> EdgeColumns:
    """Read names in the parameter `vertices` of a graph, as sources without destinations."""
    columns = check_vertices(vertices, len(labels), labels, xp)
    assert isinstance(columns, list)  # counts and ranges from 0 have no names to read
    for values in columns:
        check_names(values, parameter="vertices")
    no_names = [values[:0] for values in columns]
    return EdgeColumns(EdgeSchema("", labels, [], [], {}), columns, no_names, None, xp)


def _compute_stats(
    numbers: list[int], columns: list[EdgeColumns], extra: list[EdgeColumns], options: BuildOptions
) -> tuple[
    list[NameStats], list[tuple[set[str], set[str]]], dict[int, _FrameStats], EdgeSchema | None
]:
    """Return what other ranks need to know: the values that `_read` returns, of this rank.

    The second value has the kinds of the names in `extra` and in `columns`, by name column.
    """
    names, kinds = [], []
    for i in range(len(options.labels)):
        vertices, endpoints = (
            [
                values[i]
                for edge_columns in group
                for values in (edge_columns.sources, edge_columns.destinations)
            ]
            for group in (extra, columns)
        )
        names.append(compute_name_stats(endpoints + vertices))
        kinds.append((name_kinds(vertices), name_kinds(endpoints)))
    stats, schema = {}, None
    for number, edge_columns in zip(numbers, columns, strict=True):
        weights, num_rows = edge_columns.weights, len(edge_columns.sources[0])
        if weights is None:
            stats[number] = _FrameStats(num_rows, None, 0)
        else:
            total = weight_sums.total_weight(weights)
            stats[number] = _FrameStats(num_rows, weights.dtype, total)
        if number == 0:
            schema = edge_columns.schema
    return names, kinds, stats, schema


def _concatenate_weights(
    columns: list[EdgeColumns], stats: list[_FrameStats], xp: ArrayModule
) -> Array | None:
    """Return the weights of all rows of this rank, in the type of all ranks."""
    types = [entry.weight_type for entry in stats if entry.weight_type is not None]
    if not types:
        return None
    arrays: list[Array] = [edge_columns.weights for edge_columns in columns]
    weights = arrays[0] if len(arrays) == 1 else xp.concatenate([xp.empty(0, types[0]), *arrays])
    return xp.ascontiguousarray(weights.astype(np.result_type(*types), copy=False))


def _convert_to_sums(
    arcs: list[Any], stats: list[_FrameStats], total_weight: int | float, xp: ArrayModule
) -> Array:
    """Return weights in the type of their sums; 1 for arcs without weights."""
    if arcs[2] is None:
        return xp.ones(arcs[0].size)
    types = [entry.weight_type for entry in stats if entry.num_rows and entry.weight_type]
    kinds = {weight_type.kind for weight_type in types or [arcs[2].dtype]}
    sum_type = weight_sums.sum_type(total_weight) if kinds == {"i"} else np.float64
    return arcs[2].astype(sum_type, copy=False)
