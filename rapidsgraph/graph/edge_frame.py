"""The columns of an edge frame, checked.

Means: names of both ends and weights as arrays and text Series, and what results take over from
  the frame: its library, what name columns are called, types of text.
Requires: nothing; what the frame lacks is an error that names it.
"""

from dataclasses import dataclass

from .. import frames
from ..errors import GraphError
from ..validation import as_list, check_choice, check_flag, check_weights, vertex_labels
from .csr import MULTI_EDGES
from .vertex_names import check_names


@dataclass
class EdgeColumns:
    """What an edge frame holds.

    Attributes
    ----------
    kind : str
        The frame's library.
    sources, destinations : lists of arrays or Series
        One or more columns each, all with a value a row.
    weights : array or None
    xp : module
    labels : list of str
        What name columns are called in results.
    own : list of bool
        Which of them both ends do not share.
    source_columns : list of str
    text_types : {column of a result: Arrow type or None}
    """

    kind: str
    sources: list
    destinations: list
    weights: object
    xp: object
    labels: list
    own: list
    source_columns: list
    text_types: dict

    @property
    def rows(self):
        return len(self.sources[0])


def read_columns(edges, source, destination, weight, multi_edges):
    """The EdgeColumns of a frame, as Graph takes its parameters."""
    kind, edges = frames.opened(edges)
    ends = [as_list(source), as_list(destination)]
    if len(ends[0]) != len(ends[1]) or not ends[0]:
        raise GraphError(
            f"source names {len(ends[0])} columns and destination {len(ends[1])}; "
            "both ends are named by as many"
        )
    if all(
        isinstance(given[0], str) and given == [name]
        for name, given in zip(("source", "destination"), ends, strict=True)
    ):
        more = {} if weight is None else {"weight": weight, "multi_edges": multi_edges}
        frames.check_ends(edges, more)
    sources, destinations = (
        [frames.column(edges, name, what) for name in names]
        for what, names in zip(("source", "destination"), ends)
    )
    lengths = {len(values) for values in sources + destinations}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}")
    rows, xp = lengths.pop(), frames.module_of(sources + destinations)
    weights = None if weight is None else frames.column(edges, weight, "weight")
    weights = None if weights is None else check_weights(weights, weight, xp)
    if weights is not None and len(weights) != rows:
        raise GraphError(f"weights are {len(weights)}, rows {rows}")
    labels, types = vertex_labels(*ends), {}
    for columns, names in zip((sources, destinations), ends, strict=True):
        for values, label, name in zip(columns, labels, names, strict=True):
            check_names(values, label, name)
    for label, name in zip(labels, ends[0]):
        for column in (label, "predecessor" + label.removeprefix("vertex")):
            types[column] = frames.text_type(edges, name)
    own = [a != b for a, b in zip(*ends)]
    return EdgeColumns(kind, sources, destinations, weights, xp, labels, own, ends[0], types)


def check_policies(directed, multi_edges, self_loops):
    """Raise GraphError for what Graph does not take."""
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    check_choice("self_loops", self_loops, ("keep", "drop"))
    check_flag("directed", directed)
