"""Read and check the columns of an edge frame.

The result holds names and weights as arrays or text Series, and what result frames take over from
the edge frame: its library, the name columns and the types of text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import frames
from ..device.arrays import Array, ArrayModule
from ..errors import GraphError
from ..validation import as_list, check_choice, check_flag, check_weights, vertex_labels
from .csr import MULTI_EDGES
from .labeling import Labeling
from .vertex_names import VertexNames, check_names


@dataclass
class EdgeColumns:
    """The columns of an edge frame.

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
    def rows(self) -> int:
        return len(self.sources[0])

    def labeling(self, names: VertexNames, xp: ArrayModule) -> Labeling:
        """Return the labeling of vertices that are named by these columns."""
        return Labeling(
            names, xp, self.library, self.is_endpoint_specific, self.source_columns, self.text_types
        )


def read_columns(
    edges: Any,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: str,
) -> EdgeColumns:
    """Return the columns of an edge frame; parameters as for `Graph`."""
    library, edges = frames.normalize_frame(edges)
    endpoints = [as_list(source), as_list(destination)]
    if len(endpoints[0]) != len(endpoints[1]) or not endpoints[0]:
        raise GraphError(
            f"source names {len(endpoints[0])} columns and destination {len(endpoints[1])}; name "
            "as many columns for both",
            parameter="source",
        )
    # The error for a missing column can only show a call where the default columns are meant.
    if all(
        isinstance(names[0], str) and names == [default]
        for default, names in zip(("source", "destination"), endpoints, strict=True)
    ):
        more = {} if weight is None else {"weight": weight, "multi_edges": multi_edges}
        frames.check_edge_columns(edges, more)
    sources, destinations = (
        [frames.get_column(edges, name, parameter) for name in names]
        for parameter, names in zip(("source", "destination"), endpoints, strict=True)
    )
    lengths = {len(values) for values in sources + destinations}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}", parameter="edges")
    num_rows, xp = lengths.pop(), frames.common_array_module(sources + destinations)
    weights = None
    if weight is not None:
        weights = check_weights(frames.get_column(edges, weight, "weight"), weight, xp)
    if weights is not None and len(weights) != num_rows:
        raise GraphError(
            f"weights are {len(weights)}, rows {num_rows}", parameter="weight", column=weight
        )
    labels, text_types = vertex_labels(*endpoints), {}
    for columns, names in zip((sources, destinations), endpoints, strict=True):
        for values, label, name in zip(columns, labels, names, strict=True):
            check_names(values, label, name)
    for label, name in zip(labels, endpoints[0], strict=True):
        for column in (label, "predecessor" + label.removeprefix("vertex")):
            text_types[column] = frames.arrow_text_type(edges, name)
    is_endpoint_specific = [a != b for a, b in zip(*endpoints, strict=True)]
    return EdgeColumns(
        library, sources, destinations, weights, xp, labels, is_endpoint_specific, endpoints[0],
        text_types,
    )  # fmt: skip


def check_policies(directed: Any, multi_edges: Any, self_loops: Any) -> None:
    """Raise GraphError for a policy that `Graph` does not have."""
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    check_choice("self_loops", self_loops, ("keep", "drop"))
    check_flag("directed", directed)
