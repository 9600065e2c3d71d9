"""Groups of vertices, which components and clusters are: hanging together, numbered by size."""

from ..errors import VerificationError
from .result_reader import vertex_name


def smallest_members(groups, vertices, number, count, xp):
    """Of each of `number` groups the smallest vertex; `count` where it has none.

    `groups` has that of each of the `vertices`; both are int32.
    """
    smallest = xp.full(number, count, xp.int32)
    xp.minimum.at(smallest, groups, vertices)
    return smallest


def smallest_joined(tails, heads, count, xp):
    """Of every vertex the smallest one that it hangs together with.

    Where arcs join two trees, the root of one is hung below the smaller root of the other, and
    then all vertices below their roots.
    """
    parent = xp.arange(count, dtype=xp.int32)
    while True:
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
        if not tails.size:
            return parent
        xp.minimum.at(parent, xp.maximum(tails, heads), xp.minimum(tails, heads))
        while True:
            above = parent[parent]
            if bool((above == parent).all()):
                break
            parent = above
        tails, heads = parent[tails], parent[heads]


def check_order(sizes, smallest, graph, what):
    """Raise VerificationError unless sizes fall and, where they stay, smallest members rise."""
    wrong = sizes[:-1] < sizes[1:]
    wrong |= (sizes[:-1] == sizes[1:]) & (smallest[:-1] > smallest[1:])
    if bool(wrong.any()):
        first = int(wrong.argmax())
        described = [
            f"{group} ({int(sizes[group])} vertices from "
            f"{vertex_name(graph, int(smallest[group]))} on)"
            for group in (first, first + 1)
        ]
        raise VerificationError(f"{what} {described[0]} must come after {described[1]}")
