"""No edge crosses components, each hangs together, and their numbers go by size."""

from ..dispatch import in_memory
from ..errors import VerificationError
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from .result_reader import Result, check_order, smallest_joined, smallest_members, vertex_name


def components(graph, result):
    """Check that these are the weakly connected components.

    That both ends of every edge are in one component; that a component hangs together, by
    joining the ends of edges until none are apart; and that components are numbered from 0 by
    descending size, those of one size by their smallest vertex names.

    Parameters
    ----------
    graph : Graph or edge frame
    result : frame
        As `rapidsgraph.connected_components` returns it: vertex names and `component`, one row a
        vertex.

    Returns
    -------
    int
        How many components there are.

    Raises
    ------
    VerificationError
        One of these does not hold, or `result` lacks vertices, repeats them, or holds something
        that is no component.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 3, 5], "destination": [1, 4, 3]})
    >>> rg.verify.components(edges, rg.connected_components(edges))
    2
    """
    graph = as_local_graph(in_memory(graph))
    xp, lists, count = graph.xp, graph.csr, graph.num_vertices
    given = Result(graph, result).numbers("component")
    if not count:
        return 0
    bad = (given < 0) | (given >= count) | (given != xp.floor(given))
    if bool(bad.any()):
        wrong = int(bad.argmax())
        raise VerificationError(
            f"{vertex_name(graph, wrong)} is in component {float(given[wrong]):g}; components are "
            "numbered from 0"
        )
    given = given.astype(xp.int32)
    tails, heads = row_indices(lists), lists.neighbors
    crosses = given[tails] != given[heads]
    if bool(crosses.any()):
        arc = int(crosses.argmax())
        tail, head = int(tails[arc]), int(heads[arc])
        raise VerificationError(
            f"the edge from {vertex_name(graph, tail)}, in component {int(given[tail])}, leads to "
            f"{vertex_name(graph, head)}, in component {int(given[head])}"
        )
    del crosses
    sizes, smallest = _sizes(given, xp)
    joined = smallest_joined(tails, heads, count, xp)
    apart = joined != smallest[given]
    if bool(apart.any()):
        wrong = int(apart.argmax())
        raise VerificationError(
            f"component {int(given[wrong])} does not hang together: nothing joins "
            f"{vertex_name(graph, wrong)} and {vertex_name(graph, int(smallest[given[wrong]]))}"
        )
    check_order(sizes, smallest, graph, "component")
    return sizes.size


def _sizes(given, xp):
    """Of each component the number of vertices and the smallest one; every number is in use."""
    in_order = xp.sort(given)
    number = int(in_order[-1]) + 1
    ends = xp.searchsorted(in_order, xp.arange(number + 1, dtype=xp.int32))
    sizes = ends[1:] - ends[:-1]
    if not bool(sizes.all()):
        raise VerificationError(
            f"there is no component {int((sizes == 0).argmax())}, and there is {number - 1}"
        )
    vertices = xp.arange(given.size, dtype=xp.int32)
    return sizes, smallest_members(given, vertices, number, given.size, xp)
