"""Build a graph from an edge frame: read its columns, name the vertices, sort the edges.

Memory is estimated before each phase from what is known by then. Arrays are freed as soon as the
next phase does not need them, which is why they are passed in lists that the callee empties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from .. import device, frames
from ..device.arrays import Array, ArrayModule
from ..errors import GraphError, MissingColumnError
from ..frames import Frame, Vertices
from ..validation import (
    MAX_VERTICES,
    as_list,
    check_choice,
    check_flag,
    check_free_memory,
    check_vertices,
    check_weights,
    vertex_labels,
)
from . import weight_sums
from .build_memory import build_bytes, csr_build_bytes, merge_bytes, name_column_stats
from .csr import MULTI_EDGES, MultiEdges, from_coo, symmetrize
from .labeling import Labeling
from .local_graph import LocalGraph
from .vertex_names import VertexNames, check_names, name_vertices

SelfLoops = Literal["keep", "drop"]

# The estimate of a build by integer names is below MAX_BASE_BYTES + MAX_BYTES_PER_NAME per row and
# name column.
MAX_BASE_BYTES = 2**26
MAX_BYTES_PER_NAME = 1024


@dataclass
class EdgeColumns:
    """The columns of an edge frame, and what result frames take over from it.

    Attributes
    ----------
    library : str
        Library of the frame, as `frames.normalize_frame` returns it.
    sources, destinations : list of arrays or Series
        The name columns of each endpoint, one value per row.
    weights : array or None
    xp : module
        NumPy or CuPy.
    labels : list of str
        Name columns of results.
    is_endpoint_specific : list of bool
        As in `Labeling`.
    source_columns : list of str
        Name columns of the sources.
    text_types : dict from str to Arrow type or None
        Types of the text columns of results.
    """

    library: str
    sources: list[Any]
    destinations: list[Any]
    weights: Array | None
    xp: ArrayModule
    labels: list[str]
    is_endpoint_specific: list[bool]
    source_columns: list[str]
    text_types: dict[str, Any]

    @property
    def num_rows(self) -> int:
        return len(self.sources[0])

    def labeling(self, names: VertexNames, xp: ArrayModule) -> Labeling:
        """Return the labeling of vertices that are named by these columns."""
        return Labeling(
            names, xp, self.library, self.is_endpoint_specific, self.source_columns, self.text_types
        )


def check_policies(directed: Any, multi_edges: Any, self_loops: Any) -> None:
    """Raise GraphError for a policy that `Graph` does not have."""
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    check_choice("self_loops", self_loops, get_args(SelfLoops))
    check_flag("directed", directed)


def read_columns(
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of an edge frame; parameters as for `Graph`."""
    library, edges = frames.normalize_frame(edges)
    endpoints = [as_list(source), as_list(destination)]
    if len(endpoints[0]) != len(endpoints[1]) or not endpoints[0]:
        raise GraphError(
            f"source names {len(endpoints[0])} columns and destination {len(endpoints[1])}; name "
            "as many columns for both",
            parameter="source",
        )
    try:
        sources, destinations = (
            [frames.get_column(edges, name, parameter) for name in names]
            for parameter, names in zip(("source", "destination"), endpoints, strict=True)
        )
    except MissingColumnError:
        names = [name for names in endpoints for name in names]
        if not all(isinstance(name, str) for name in names) or names != ["source", "destination"]:
            raise
        options = {} if weight is None else {"weight": weight, "multi_edges": multi_edges}
        raise frames.missing_endpoint_error(frames.column_names(edges), options) from None
    xp, num_rows = frames.common_array_module(sources + destinations), len(sources[0])
    lengths = {len(values) for values in sources + destinations}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}", parameter="edges")
    weights = None
    if weight is not None:
        weights = check_weights(frames.get_column(edges, weight, "weight"), weight, xp)
        if len(weights) != num_rows:
            raise GraphError(
                f"weights are {len(weights)}, rows {num_rows}", parameter="weight", column=weight
            )
    labels = vertex_labels(*endpoints)
    text_types: dict[str, Any] = {}
    for columns, names in zip((sources, destinations), endpoints, strict=True):
        for values, name in zip(columns, names, strict=True):
            check_names(values, name)
    for label, name in zip(labels, endpoints[0], strict=True):
        text_type = frames.arrow_text_type(edges, name)
        text_types |= {label: text_type, "predecessor" + label.removeprefix("vertex"): text_type}
    is_endpoint_specific = [a != b for a, b in zip(*endpoints, strict=True)]
    return EdgeColumns(
        library, sources, destinations, weights, xp, labels, is_endpoint_specific, endpoints[0],
        text_types,
    )  # fmt: skip


def build_graph(
    edges: Frame,
    source: str | list[str] = "source",
    destination: str | list[str] = "destination",
    weight: str | None = None,
    *,
    directed: bool = True,
    multi_edges: MultiEdges = "first",
    self_loops: SelfLoops = "keep",
    vertices: int | Vertices | None = None,
    layout: str = "csr",
) -> LocalGraph:
    """Build a graph in the memory of this process.

    Parameters
    ----------
    edges, source, destination, weight, directed, multi_edges, self_loops, vertices
        As for `Graph`.
    layout : {"csr", "csc"}
        The adjacency to build from the frame; the other one is derived from it on first use.
    """
    check_policies(directed, multi_edges, self_loops)
    columns = read_columns(edges, source, destination, weight, multi_edges)
    num_rows, xp = columns.num_rows, columns.xp
    check = _MemoryCheck(columns, vertices, directed, multi_edges, self_loops)
    labeling, coo = _name_vertices(columns, vertices, check)
    del columns
    check.csr(labeling.num_vertices)
    if self_loops == "drop":
        _drop_self_loops(coo)
    num_kept, is_summed = coo[0].size, multi_edges == "sum"
    if is_summed:
        coo[2] = _summable_weights(coo[2], num_kept, xp)
    weighted = coo[2] is not None
    if not directed:
        coo[:2] = [xp.minimum(*coo[:2]), xp.maximum(*coo[:2])]
    elif layout == "csc":
        coo[:2] = coo[1::-1]
    adjacency = from_coo(coo, labeling.num_vertices, multi_edges)
    if is_summed:
        weight_sums.check_merged_weights(adjacency, labeling)
    num_edges = adjacency.neighbors.size
    return LocalGraph(
        labeling,
        adjacency if directed else symmetrize(adjacency),
        layout,
        directed=directed,
        weighted=weighted,
        multi_edges=multi_edges,
        self_loops=self_loops,
        num_rows=num_rows,
        num_loops_dropped=num_rows - num_kept,
        num_edges=num_edges,
    )


class _MemoryCheck:
    """Checks of free memory before the phases of a build; off where memory surely suffices.

    Estimates need statistics of the name columns, which for a small graph take longer than the
    build.
    """

    def __init__(
        self,
        columns: EdgeColumns,
        vertices: Any,
        directed: bool,
        multi_edges: MultiEdges,
        self_loops: SelfLoops,
    ) -> None:
        self._num_rows, self._xp = columns.num_rows, columns.xp
        self._options = {
            "weighted": columns.weights is not None, "directed": directed, "xp": columns.xp,
            "multi_edges": multi_edges, "self_loops": self_loops,
        }  # fmt: skip
        names = columns.sources + columns.destinations
        bound = MAX_BASE_BYTES + MAX_BYTES_PER_NAME * self._num_rows * len(names)
        self._is_off = (
            vertices is None
            and all(isinstance(values, columns.xp.ndarray) for values in names)
            and bound <= device.free_memory(columns.xp)
        )

    def _check(self, num_bytes: int) -> None:
        check_free_memory(f"building a graph of {self._num_rows:,} rows", num_bytes, self._xp)

    def build(self, num_vertices: int, sources: Any, destinations: Any, vertices: Any) -> None:
        """Check the whole build; with a lower bound of the number of vertices, a lower bound."""
        if not self._is_off:
            stats = name_column_stats(sources, destinations, vertices)
            self._check(build_bytes(self._num_rows, num_vertices, columns=stats, **self._options))

    def table(self, count: int, nbytes: int) -> None:
        """Check a table of `count` names with `nbytes` bytes of text."""
        if not self._is_off:
            self._check(merge_bytes("arrow" if nbytes else "hash", count, nbytes))

    def csr(self, num_vertices: int) -> None:
        """Check the build of the adjacency from vertex ids."""
        if not self._is_off:
            self._check(csr_build_bytes(self._num_rows, num_vertices, **self._options))


def _name_vertices(
    columns: EdgeColumns, vertices: Any, check: _MemoryCheck
) -> tuple[Labeling, list[Any]]:
    """Return the labeling, and [source ids, destination ids, weights or None]."""
    endpoints = columns.sources, columns.destinations
    is_range = isinstance(vertices, range)
    if is_range and 0 < vertices.start < vertices.stop <= vertices.start + MAX_VERTICES:
        check.build(len(vertices), *endpoints, None)  # before the names of the range are listed
    if vertices is not None:
        vertices = check_vertices(vertices, len(endpoints[0]), columns.labels, columns.xp)
    check.build(len(vertices) if isinstance(vertices, range) else 0, *endpoints, vertices)
    names, *ids = name_vertices(*endpoints, vertices, columns.labels, columns.xp, check.table)
    return columns.labeling(names, columns.xp), [*ids, columns.weights]


def _drop_self_loops(coo: list[Any]) -> None:
    """Remove the self-loops of [source ids, destination ids, weights or None] in place."""
    keep = coo[0] != coo[1]
    if not bool(keep.all()):
        coo[:] = [values if values is None else values[keep] for values in coo]


def _summable_weights(weights: Array | None, num_rows: int, xp: ArrayModule) -> Array:
    """Return weights of a type that holds the sums of parallel edges; 1 each without weights."""
    if weights is None:
        return xp.ones(num_rows)
    total = weight_sums.sum_exactly(weights) if weights.dtype.kind == "i" else None
    return weights.astype(weight_sums.sum_type(total), copy=False)
