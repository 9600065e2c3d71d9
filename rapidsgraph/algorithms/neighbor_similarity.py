"""Similarity of the open neighborhoods of two vertices: of edges, or of pairs that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from .. import device, frames
from ..device import Array
from ..errors import GraphError, MissingColumnError
from ..frames import Frame
from ..graph.csr import Adjacency
from ..graph.local_graph import GraphLike
from ..graph.vertex_names import Labeling
from ..kernels.constants import (
    SIMILARITY_COMMON,
    SIMILARITY_COSINE,
    SIMILARITY_JACCARD,
    SIMILARITY_OVERLAP,
    WARP,
)
from ..validation import check_free_memory, reject
from .parameters import SimilarityParameters
from .run_memory import PAIR_BYTES, check_run_memory
from .similarity import (
    closed_sizes,
    common_neighbors,
    compare_endpoints,
    edge_offsets,
    measure_degrees,
    neighborhoods,
    undirected_graph,
)

Kind = Literal["jaccard", "overlap", "cosine", "common"]
KINDS = get_args(Kind)
PAIRS_REQUIREMENT = "it must be a frame, or a list of tuples of two vertices"
CODES = {
    "jaccard": SIMILARITY_JACCARD,
    "overlap": SIMILARITY_OVERLAP,
    "cosine": SIMILARITY_COSINE,
    "common": SIMILARITY_COMMON,
}


def neighbor_similarity(graph: GraphLike, parameters: SimilarityParameters) -> Frame:
    """Compare the neighborhoods of pairs; see `rapidsgraph.neighbor_similarity`."""
    stages = ["neighbor pairs"]
    if parameters.pairs is None:
        stages = ["list similarities", "common neighbors"]
    graph, kind = undirected_graph(graph, *stages), parameters.kind
    labeling = graph.labeling
    labeling.check_edge_collisions(kind)
    check_run_memory(graph, "neighbor_similarity", f"similarity of {graph.num_edges:,} edges")
    adjacency = neighborhoods(graph)
    if parameters.pairs is None:
        sizes, common = closed_sizes(graph), common_neighbors(graph)
        starts = edge_offsets(graph)
        sources, destinations, values = compare_edges(adjacency, common, sizes, starts, kind)
    else:
        sources, destinations = find_pairs(labeling, parameters.pairs)
        check_free_memory(
            f"similarity of {sources.size:,} pairs", PAIR_BYTES * sources.size, graph.xp
        )
        common, degrees = count_pairs(adjacency, sources, destinations), measure_degrees(adjacency)
        values = compare(
            kind, common, device.take(degrees, sources), device.take(degrees, destinations)
        )
    return labeling.edge_frame(sources, destinations, {kind: values})


def compare_edges(
    adjacency: Adjacency, common: Array, sizes: Array, starts: Array, kind: str
) -> tuple[Array, Array, Array]:
    """Return the sources and destinations of all edges, int32, and their similarity.

    Parameters are those of `compare_endpoints`, but `kind` is one of `KINDS`.
    """
    sources, destinations, values = compare_endpoints(adjacency, common, sizes, starts, CODES[kind])
    return sources, destinations, values.astype(np.int32) if kind == "common" else values


def find_pairs(labeling: Labeling, pairs: Any, parameter: str = "pairs") -> tuple[Array, Array]:
    """Return the ids of the sources and destinations of pairs; see `tabulate_pairs`."""
    table = tabulate_pairs(labeling, pairs, parameter)
    sources, destinations = (
        labeling.ids(table, parameter, columns) for columns in pair_columns(labeling)
    )
    return sources, destinations


def tabulate_pairs(labeling: Labeling, pairs: Any, parameter: str = "pairs") -> Any:
    """Return a table of a caller's pairs: a frame with the name columns of a result, or a list."""
    columns = [name for names in pair_columns(labeling) for name in names]
    pairs = frames.compute_if_dask(pairs)
    if isinstance(pairs, (list, tuple, set, frozenset)):
        rows = list(pairs)
        if len(columns) != 2:
            reject(parameter, pairs, f"pass a frame with the columns {', '.join(columns)}")
        if not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in rows):
            reject(parameter, pairs, PAIRS_REQUIREMENT)
        return dict(zip(columns, map(list, zip(*rows)) if rows else ([], []), strict=True))
    if not (frames.is_frame(pairs) or hasattr(pairs, "collect")):  # of lazy frames below
        reject(parameter, pairs, PAIRS_REQUIREMENT)
    _, table = frames.normalize_frame(pairs, parameter)
    names = list(map(str, frames.column_names(table)))
    if len(names) == len(columns) == 2 and not {*names} & {*columns}:
        hint = f"rename {names[0]!r} to {columns[0]!r} and {names[1]!r} to {columns[1]!r}"
        raise MissingColumnError(
            f"{{parameter}}: there is no column {columns[0]!r}; the columns are "
            f"{', '.join(names)}; {hint}",
            parameter=parameter, column=columns[0], columns=names,
            candidates=dict(zip(columns, names, strict=True)), hint=hint,
        )  # fmt: skip
    if isinstance(table, Mapping):
        lengths = {len(table[name]) for name in columns if hasattr(table.get(name), "__len__")}
        if len(lengths) > 1:
            message = f"{{parameter}}: columns have different lengths: {sorted(lengths)}"
            raise GraphError(message, parameter=parameter)
    return table


def pair_columns(labeling: Labeling) -> list[list[str]]:
    """Return the name columns of both endpoints in a frame of pairs, as in results."""
    endpoints = (labeling.endpoint_columns(end) for end in ("source", "destination"))
    return [[names.get(label, label) for label in labeling.names.labels] for names in endpoints]


def count_pairs(adjacency: Adjacency, sources: Array, destinations: Array) -> Array:
    """Return the number of common neighbors of pairs of vertices: int32."""
    common = device.array_module(sources).empty(sources.size, sources.dtype)
    device.launch(
        "common_neighbors", "count_pairs", size=WARP * sources.size,
        num_pairs=sources.size, sources=sources, destinations=destinations,
        offsets=adjacency.offsets, neighbors=adjacency.neighbors, common=common,
    )  # fmt: skip
    return common


def compare(kind: str, common: Any, degrees: Any, other_degrees: Any) -> Any:
    """Return the similarity of neighborhoods by their sizes and that of their intersection.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    common, degrees, other_degrees : arrays or Series of integers
    """
    if kind == "common":
        return common
    if device.is_on_gpu(common):
        values = device.array_module(common).empty(common.size)
        device.launch(
            "common_neighbors", "compare", size=common.size, num_pairs=common.size,
            kind=CODES[kind], common=common, degrees=degrees, other_degrees=other_degrees,
            similarities=values,
        )  # fmt: skip
        return values
    if kind == "jaccard":
        denominators = degrees + (other_degrees - common)  # no overflow of the union
    elif kind == "overlap":
        is_less = degrees < other_degrees
        denominators = degrees * is_less + other_degrees * ~is_less
    else:
        denominators = np.sqrt(degrees.astype("float64") * other_degrees.astype("float64"))
    return common / denominators.clip(1)  # where one is 0, nothing is common
