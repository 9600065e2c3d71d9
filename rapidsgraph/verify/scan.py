"""Similar cores share a cluster, each cluster hangs together, and roles are what the rest makes.

Neighbors that both ends of an edge have are found by looking up those of one end among those of
the other; edges whose ends' sizes alone keep them below epsilon are left out. What is near to
epsilon is compared in whole numbers.
"""

from dataclasses import dataclass

from .. import frames
from ..algorithms.scan import BORDER, CORE, HUB, OUTLIER, ROLES, check_epsilon, check_mu
from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import Array, array_module
from ..dispatch import in_memory
from ..errors import GraphError, VerificationError, format_value
from ..graph.csr import row_indices
from .clusters import LOW, ClusterRows, check_roles_fit, read_clusters
from .result_reader import check_order, smallest_joined, smallest_members, vertex_name

PIECE = 2**22  # arcs that are looked at together
PROBES = 2**21  # neighbors that are looked up together
NEAR = 1e-9  # relative; farther from epsilon floating point is sure
NAMES = [f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in ROLES]


def scan(graph, result, *, epsilon=0.5, mu=3):
    """Check that these are the clusters, hubs and outliers of SCAN.

    That cores and borders are those vertices that have as many similar neighbors, or a similar
    core; that cores of one similar edge are in one cluster; that the cores of a cluster hang
    together, by joining the ends of such edges until none are apart; that borders are in the
    cluster of their most similar core; that hubs have neighbors in several clusters and outliers
    have not; and that clusters are numbered from 0 by descending size, those of one size by their
    smallest vertex names. Similarities are compared exactly.

    Parameters
    ----------
    graph : Graph or edge frame
    result : frame
        As `rapidsgraph.scan` returns it: vertex names, `cluster` and `role`, one row a vertex. Or
        with memberships: where a vertex has several rows, every cluster with a core similar to a
        border must be there, its own first, then the others by number.
    epsilon, mu
        As they were given there.

    Returns
    -------
    int
        How many clusters there are.

    Raises
    ------
    GraphError
        epsilon or mu out of range.
    VerificationError
        One of these does not hold, or `result` lacks vertices, repeats others than borders, or
        holds something that is no cluster or role.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 0, 2]})
    >>> result = pandas.DataFrame({"vertex": range(4), "cluster": [0, 0, 0, None]})
    >>> rg.verify.scan(edges, result.assign(role=["core"] * 3 + ["outlier"]), epsilon=0.8)
    1
    """
    epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    graph = undirected_graph(in_memory(graph))
    try:
        rows = _read(graph, result)
    except GraphError as error:
        raise VerificationError(str(error)) from None
    if not graph.num_vertices:
        return 0
    xp, lists, roles = graph.xp, neighborhoods(graph), rows.roles[rows.first]
    sizes = xp.diff(lists.offsets) + 1
    first, second, common = _similar_edges(lists, sizes, epsilon)
    similar_to = 1 + sum(xp.bincount(ends, minlength=sizes.size) for ends in (first, second))
    is_core = similar_to >= min(mu, sizes.size + 1)
    touching = _touching(first, second, common, sizes, is_core)
    _check_cores_and_borders(graph, roles, is_core, similar_to, mu, touching)
    try:
        check_roles_fit(graph, rows, "cluster", "the result")
    except GraphError as error:
        raise VerificationError(str(error)) from None
    given = Given(rows, rows.places[rows.first].astype(xp.int32))
    joins = is_core[first] & is_core[second]
    _check_joined(graph, given, first[joins], second[joins], is_core)
    _check_borders(graph, given, touching)
    if rows.ids.size > sizes.size:
        _check_memberships(graph, given, touching)
    _check_numbers(graph, given)
    _check_hubs(graph, given, lists, roles)
    return rows.numbers.size


@dataclass(frozen=True)
class Given:
    """The clusters that a result gives.

    Attributes
    ----------
    rows : ClusterRows
    clusters : int32, shape (vertices,)
        Of the first row of each vertex, as places in rows.numbers; by id.
    """

    rows: ClusterRows
    clusters: Array

    def number(self, place):
        return int(self.rows.numbers[place])


@dataclass(frozen=True)
class Touching:
    """Pairs of similar neighbors of which one, and only one, is a core.

    Attributes
    ----------
    borders, cores : int32
    whole, rest : int64
        Squared similarity times the size of the border's closed neighborhood, as by `quotients`.
    """

    borders: Array
    cores: Array
    whole: Array
    rest: Array


def _read(graph, result):
    _, table = frames.normalize_frame(in_memory(result))
    rows = read_clusters(graph, table, "cluster", "the result")
    if rows.roles is None:
        raise frames.missing_column_error("role", frames.column_names(table), "role", "the result")
    return rows


# Similarity


def _similar_edges(lists, sizes, epsilon):
    """(smaller ends, larger ends, common neighbors) of similar edges, by the smaller end."""
    xp, neighbors = array_module(sizes), lists.neighbors
    tails = row_indices(lists)
    keys = tails.astype(xp.int64) << 32 | neighbors
    found = []
    for start in range(0, max(tails.size, 1), PIECE):
        ends = tails[start : start + PIECE], neighbors[start : start + PIECE]
        once = ends[0] < ends[1]
        first, second = (values[once] for values in ends)
        fewer = xp.minimum(sizes[first], sizes[second])
        product = sizes[first] * sizes[second]
        able = is_similar(fewer, product, epsilon)
        first, second, product = first[able], second[able], product[able]
        common = _common_neighbors(first, second, lists, keys)
        are = is_similar(common, product, epsilon)
        found.append((first[are], second[are], common[are]))
    return [xp.concatenate(columns) for columns in zip(*found)]


def _common_neighbors(first, second, lists, keys):
    """|N[u] & N[v]| of edges (u, v): int64. `keys` are all arcs, row << 32 | neighbor."""
    xp, offsets = array_module(keys), lists.offsets
    common = xp.full(first.size, 2, xp.int64)  # both ends are in both
    if not first.size:
        return common
    lengths = [offsets[1:][ends] - offsets[ends] for ends in (first, second)]
    is_first = lengths[0] <= lengths[1]
    asked, other = xp.where(is_first, first, second), xp.where(is_first, second, first)
    lengths = xp.where(is_first, *lengths)
    ends = xp.cumsum(lengths)
    begins = ends - lengths
    total = int(ends[-1])
    for start in range(0, total, PROBES):
        stop = min(start + PROBES, total)
        bounds = xp.searchsorted(ends, xp.asarray([start, stop - 1]), side="right")
        low, high = bounds.tolist()
        edges = slice(low, high + 1)
        owner = xp.zeros(stop - start, xp.int32)
        owner[begins[low + 1 : high + 1] - start] = 1  # no list is empty
        owner = xp.cumsum(owner)
        places = xp.arange(start, stop) + (offsets[asked[edges]] - begins[edges])[owner]
        probes = (other[edges].astype(xp.int64) << 32)[owner] | lists.neighbors[places]
        at = xp.minimum(xp.searchsorted(keys, probes), keys.size - 1)
        common[edges] += xp.bincount(owner[keys[at] == probes], minlength=high + 1 - low)
    return common


def is_similar(common, product, epsilon):
    """Whether common / sqrt(product) >= epsilon, a Fraction; exactly.

    Parameters
    ----------
    common, product : int64, shape (edges,)
        From 1 to 2**31 - 1, and to the square of that.
    """
    xp, level = array_module(common), float(epsilon)
    similarity = common / xp.sqrt(product)
    answer = similarity >= level
    near = xp.flatnonzero(xp.abs(similarity - level) <= NEAR * similarity)
    if near.size:
        products, place = xp.unique(product[near], return_inverse=True)
        wide = int(common[near].max()) + 1
        packed, which = xp.unique(place * wide + common[near], return_inverse=True)
        pairs = zip((packed % wide).tolist(), products[packed // wide].tolist())
        p, q = epsilon.as_integer_ratio()
        exact = [c * c * q * q >= p * p * d for c, d in pairs]
        answer[near] = xp.asarray(exact)[which]
    return answer


def quotients(common, size):
    """(whole, rest), whose order is exactly that of common**2 / size.

    Fractions whose denominators are below 2**31 and that differ do so by more than 2**-62, so
    62 binary places after the point tell them apart.

    Parameters
    ----------
    common, size : int64
        From 1 to 2**31 - 1.
    """
    whole, left = common * common // size, common * common % size
    rest = (left << 31) // size
    left = (left << 31) % size
    return whole, rest << 31 | (left << 31) // size


def _touching(first, second, common, sizes, is_core):
    xp = array_module(sizes)
    one = is_core[first] != is_core[second]
    first, second, common = first[one], second[one], common[one]
    is_first = is_core[first]
    cores, borders = xp.where(is_first, first, second), xp.where(is_first, second, first)
    return Touching(borders, cores, *quotients(common, sizes[cores]))


# Checks


def _check_cores_and_borders(graph, roles, is_core, similar_to, mu, touching):
    """Cores are cores, borders are borders, and the others are hubs or outliers."""
    xp, count = graph.xp, graph.num_vertices
    core_beside = smallest_members(touching.borders, touching.cores, count, count, xp)
    expected = xp.where(is_core, CORE, xp.where(core_beside < count, BORDER, HUB))
    wrong = xp.minimum(roles, HUB) != expected
    if not bool(wrong.any()):
        return
    vertex = int(wrong.argmax())
    must_be = int(expected[vertex])
    name = NAMES[must_be] if must_be != HUB else f"{NAMES[HUB]} or {NAMES[OUTLIER]}"
    number = int(similar_to[vertex])
    says = (
        f"{number} {'vertices are' if number > 1 else 'vertex is'} similar to it, itself included"
    )
    says += f", and mu is {format_value(mu)}"
    if must_be == BORDER:
        says += f"; {vertex_name(graph, int(core_beside[vertex]))} is a core and similar to it"
    elif must_be == HUB:
        says += "; no core is similar to it"
    raise VerificationError(
        f"{vertex_name(graph, vertex)} is {NAMES[int(roles[vertex])]}; it must be {name}: {says}"
    )


def _check_joined(graph, given, tails, heads, is_core):
    """Ends of similar edges between cores are in one cluster, and others are not."""
    xp, clusters, count = graph.xp, given.clusters, graph.num_vertices
    crosses = clusters[tails] != clusters[heads]
    if bool(crosses.any()):
        edge = int(crosses.argmax())
        ends = [int(tails[edge]), int(heads[edge])]
        one, other = (
            f"{vertex_name(graph, end)}, in cluster {given.number(clusters[end])}" for end in ends
        )
        raise VerificationError(
            f"an edge joins {one}, and {other}; they are cores and similar, so they must be in one "
            "cluster"
        )
    cores = xp.flatnonzero(is_core).astype(xp.int32)
    of_core = clusters[cores]
    smallest = smallest_members(of_core, cores, given.rows.numbers.size, count, xp)
    apart = smallest_joined(tails, heads, count, xp)[cores] != smallest[of_core]
    if bool(apart.any()):
        place = int(apart.argmax())
        names = [vertex_name(graph, int(v)) for v in (cores[place], smallest[of_core[place]])]
        raise VerificationError(
            f"cluster {given.number(of_core[place])} does not hang together: no similar cores "
            f"join {names[0]} and {names[1]}; they must be in different clusters"
        )


def _check_borders(graph, given, touching):
    """Borders are in the cluster of their most similar core, of equals the smallest."""
    xp, clusters = graph.xp, given.clusters
    keys = (touching.cores, -touching.rest, -touching.whole, touching.borders)  # the last is first
    order = xp.lexsort(xp.stack([key.astype(xp.int64) for key in keys]))
    borders, cores = touching.borders[order], touching.cores[order]
    is_best = xp.ones(borders.size, bool)
    xp.not_equal(borders[1:], borders[:-1], out=is_best[1:])
    borders, cores = borders[is_best], cores[is_best]
    wrong = clusters[borders] != clusters[cores]
    if bool(wrong.any()):
        place = int(wrong.argmax())
        border, core = int(borders[place]), int(cores[place])
        raise VerificationError(
            f"{vertex_name(graph, border)} is a border and in cluster "
            f"{given.number(clusters[border])}; it must be in cluster "
            f"{given.number(clusters[core])}, that of the core most similar to it, "
            f"{vertex_name(graph, core)}"
        )


def _check_memberships(graph, given, touching):
    """Rows after the first of a border are those of the other clusters it touches, ascending."""
    xp, rows, none = graph.xp, given.rows, given.rows.numbers.size
    is_more = xp.ones(rows.ids.size, bool)
    is_more[rows.first] = False
    ids = rows.ids[is_more]
    listed = ids.astype(xp.int64) << 32 | rows.places[is_more]
    listed = listed[xp.argsort(ids, kind="stable")]
    others = given.clusters[touching.cores]
    is_other = others != given.clusters[touching.borders]
    touched = touching.borders[is_other].astype(xp.int64) << 32 | others[is_other]
    extra = listed[~xp.isin(listed, touched)]
    if extra.size:
        name, place = vertex_name(graph, int(extra[0] >> 32)), int(extra[0] & LOW)
        if place == none:
            raise VerificationError(f"{name} has a row without a cluster after that of its own")
        raise VerificationError(
            f"{name} has a row for cluster {given.number(place)}, and no core of that is similar "
            "to it"
        )
    missing = ~xp.isin(touched, listed)
    if bool(missing.any()):
        place = int(missing.argmax())
        border, core = (int(v[is_other][place]) for v in (touching.borders, touching.cores))
        raise VerificationError(
            f"{vertex_name(graph, border)} has no row for cluster "
            f"{given.number(given.clusters[core])}; it must have one, because "
            f"{vertex_name(graph, core)} is a core of that and similar to it"
        )
    falls = listed[1:] < listed[:-1]  # which can only be inside the rows of one vertex
    if bool(falls.any()):
        place = int(falls.argmax())
        late, early = (given.number(int(key & LOW)) for key in listed[place : place + 2])
        raise VerificationError(
            f"{vertex_name(graph, int(listed[place] >> 32))} has a row for cluster {late} before "
            f"that for cluster {early}; after its own cluster the others must ascend"
        )


def _check_numbers(graph, given):
    xp, numbers, clusters = graph.xp, given.rows.numbers, given.clusters
    gap = numbers != xp.arange(numbers.size)
    if bool(gap.any()):
        raise VerificationError(
            f"there is no cluster {int(gap.argmax())}, and there is {int(numbers[-1])}"
        )
    members = xp.flatnonzero(clusters < numbers.size).astype(xp.int32)
    of_member = clusters[members]
    smallest = smallest_members(of_member, members, numbers.size, clusters.size, xp)
    check_order(xp.bincount(of_member, minlength=numbers.size), smallest, graph, "cluster")


def _check_hubs(graph, given, lists, roles):
    """Vertices that are in no cluster are hubs if neighbors of them are in several."""
    xp, clusters, none = graph.xp, given.clusters, given.rows.numbers.size
    tails, heads = row_indices(lists), clusters[lists.neighbors]
    counts = (clusters[tails] == none) & (heads < none)
    tails, heads = tails[counts], heads[counts]
    least = smallest_members(tails, heads, clusters.size, none, xp)
    greatest = xp.full(clusters.size, -1, xp.int32)
    xp.maximum.at(greatest, tails, heads)
    expected = xp.where(least < greatest, HUB, OUTLIER)
    wrong = (clusters == none) & (roles != expected)
    if bool(wrong.any()):
        vertex = int(wrong.argmax())
        said, must_be = NAMES[int(roles[vertex])], NAMES[int(expected[vertex])]
        if int(expected[vertex]) == HUB:
            found = given.number(least[vertex]), given.number(greatest[vertex])
            says = f"neighbors of it are in clusters {found[0]} and {found[1]}"
        elif int(least[vertex]) < none:
            says = f"its neighbors are in cluster {given.number(least[vertex])} alone"
        else:
            says = "no neighbor of it is in a cluster"
        raise VerificationError(
            f"{vertex_name(graph, vertex)} is {said}; it must be {must_be}: {says}"
        )
