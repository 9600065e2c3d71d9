"""The definitions once more, as slow loops over lists; nothing here comes from the package.

Edges are lists of (source, destination, weight). Every row counts, also parallel ones, unless
`merged` has made one of them.
"""

import math
from collections import Counter
from fractions import Fraction


def merged(edges, multi_edges="first", self_loops="keep", directed=True):
    """The rows that the policies leave, parallel ones combined in the order of rows."""
    groups = {}
    for source, destination, weight in edges:
        if self_loops == "drop" and source == destination:
            continue
        if not directed and destination < source:
            source, destination = destination, source
        groups.setdefault((source, destination), []).append(weight)
    combine = {"first": lambda weights: weights[0], "sum": math.fsum, "min": min, "max": max}
    if multi_edges == "keep":
        return [(*ends, weight) for ends, weights in groups.items() for weight in weights]
    return [(*ends, combine[multi_edges](weights)) for ends, weights in groups.items()]


def pagerank(
    edges,
    vertices=(),
    *,
    damping=0.85,
    iterations=None,
    personalization=None,
    dangling=None,
    start=None,
    directed=True,
):
    """{vertex: rank}, sorted by vertex, after `iterations`, or once nothing changes any more."""
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    even = {name: 1 / len(names) for name in names}
    restart = even if personalization is None else _shares(personalization, names)
    if dangling == "drop":
        share = dict.fromkeys(names, 0.0)
    elif dangling is None:
        share = restart
    else:
        share = even if dangling == "uniform" else _shares(dangling, names)
    ranks = even if start is None else _shares(start, names)
    arcs = list(edges)
    if not directed:
        arcs += [(b, a, weight) for a, b, weight in edges if a != b]
    leaving = dict.fromkeys(names, 0.0)
    for source, _, weight in arcs:
        leaving[source] += weight
    sinks = [name for name in names if leaving[name] == 0]
    arriving = {name: [] for name in names}
    for source, destination, weight in arcs:
        if leaving[source] > 0:
            arriving[destination].append((source, weight / leaving[source]))
    for _ in range(10_000 if iterations is None else iterations):
        held = math.fsum(ranks[name] for name in sinks)
        new = {}
        for name in names:
            arrives = math.fsum(ranks[source] * part for source, part in arriving[name])
            arrives += held * share[name]
            new[name] = (1 - damping) * restart[name] + damping * arrives
        change = math.fsum(abs(new[name] - ranks[name]) for name in names)
        ranks = new
        if iterations is None and change < 1e-14:
            break
    return ranks


def _shares(values, names):
    total = math.fsum(values.values())
    return {name: values.get(name, 0.0) / total for name in names}


def bfs(edges, sources, vertices=(), *, depth_limit=None, directed=True):
    """{vertex: distance or None} and {vertex: predecessor or None}, sorted by vertex."""
    edges = [(a, b, 1) for a, b, _ in edges]
    limit = math.inf if depth_limit is None else depth_limit
    distance, predecessor = sssp(edges, sources, vertices, cutoff=limit, directed=directed)
    levels = {name: None if d == math.inf else int(d) for name, d in distance.items()}
    return levels, predecessor


def sssp(edges, sources, vertices=(), *, cutoff=math.inf, directed=True):
    """{vertex: distance} and {vertex: predecessor or None}, sorted by vertex."""
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    arcs = {name: [] for name in names}
    for a, b, weight in edges:
        arcs[a].append((b, float(weight)))
        if not directed:
            arcs[b].append((a, float(weight)))
    distance = dict.fromkeys(names, math.inf)
    distance.update(dict.fromkeys(sources, 0.0))
    changed = sorted(set(sources))
    while changed:
        again = set()
        for a in changed:
            for b, weight in arcs[a]:
                if distance[a] + weight < distance[b] and distance[a] + weight <= cutoff:
                    distance[b] = distance[a] + weight
                    again.add(b)
        changed = sorted(again, key=distance.get)
    return distance, _predecessors(arcs, distance, set(sources))


def _predecessors(arcs, distance, sources):
    """The smallest of those nearer to a source; else of the equals fewest steps from such."""
    valid = {name: [] for name in distance}
    equals = {name: [] for name in distance}
    for a, ends in arcs.items():
        for b, weight in ends:
            if distance[a] < math.inf and distance[a] + weight == distance[b] < math.inf:
                (valid if distance[a] < distance[b] else equals)[b].append(a)
    best = {b: min(a) for b, a in valid.items() if a and b not in sources}
    rooted = {*best, *sources}
    while True:
        # Only those that were rooted before this round count in it.
        new = {b: [a for a in equals[b] if a in rooted] for b in distance if b not in rooted}
        new = {b: min(a) for b, a in new.items() if a}
        if not new:
            return {name: best.get(name) for name in distance}
        best.update(new)
        rooted.update(new)


def layers(edges, root, vertices=(), directed=True):
    """([(vertices, forward edges, backward edges)] a layer, edges that leave what is unreached).

    Forward edges go to the same layer or beyond. Lists are sorted; without direction an edge
    between two vertices counts both ways.
    """
    arcs = list(edges)
    if not directed:
        arcs += [(b, a, weight) for a, b, weight in edges if a != b]
    distance, _ = bfs(edges, [root], vertices, directed=directed)
    depth = max(d for d in distance.values() if d is not None)
    found = [([v for v, d in distance.items() if d == layer], [], []) for layer in range(depth + 1)]
    others = []
    for arc in sorted(arcs):
        a, b, _ = arc
        if distance[a] is None:
            others.append(arc)
        else:
            found[distance[a]][1 if distance[b] >= distance[a] else 2].append(arc)
    return found, others


def components(edges, vertices=()):
    """{vertex: component}, sorted by vertex; 0 is the largest, then by smallest vertex."""
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    near = {name: [] for name in names}
    for a, b, _ in edges:
        near[a].append(b)
        near[b].append(a)
    groups, seen = [], set()
    for name in names:
        group, new = [], [name] if name not in seen else []
        seen.update(new)
        while new:
            group += new
            new = list(dict.fromkeys(b for a in new for b in near[a] if b not in seen))
            seen.update(new)
        if group:
            groups.append(group)
    groups.sort(key=lambda group: (-len(group), group[0]))
    number = {name: place for place, group in enumerate(groups) for name in group}
    return {name: number[name] for name in names}


def labels(edges, iterations, vertices=(), directed=True):
    """{vertex: label} of LDBC's CDLP: all take the most frequent label, the smallest of several."""
    near = {name: [] for name in sorted({*vertices, *(end for edge in edges for end in edge[:2])})}
    for a, b, _ in edges:
        near[a].append(b)
        if directed or a != b:
            near[b].append(a)
    result = {name: name for name in near}
    for _ in range(iterations):
        counts = {name: Counter(result[neighbor] for neighbor in near[name]) for name in near}
        result = {
            name: min(counts[name], key=lambda label: (-counts[name][label], label))
            if near[name]
            else result[name]
            for name in near
        }
    return result


def core_numbers(edges, vertices=()):
    """{vertex: core number}: remove a vertex with the fewest neighbors, again and again."""
    near = {
        name: around - {name} for name, around in _closed_neighborhoods(edges, vertices).items()
    }
    result, level = {}, 0
    while near:
        vertex = min(near, key=lambda name: (len(near[name]), name))
        level = max(level, len(near[vertex]))
        result[vertex] = level
        for neighbor in near.pop(vertex):
            near[neighbor].remove(vertex)
    return dict(sorted(result.items()))


def similarities(edges, vertices=()):
    """{(u, v): (|N[u] & N[v]|, |N[u]|, |N[v]|)} of neighbors u < v; N[u] is u and its neighbors."""
    near = _closed_neighborhoods(edges, vertices)
    return {
        (u, v): (len(near[u] & near[v]), len(near[u]), len(near[v]))
        for u in near
        for v in sorted(near[u])
        if u < v
    }


def scan(edges, epsilon, mu, vertices=(), memberships=False):
    """{vertex: (cluster or None, role)}, sorted by vertex.

    With memberships also {vertex: clusters}: of a core its own; of a border that of its role and
    then the others with a core similar to it, by number; [None] of any other.
    """
    near = _closed_neighborhoods(edges, vertices)
    epsilon = Fraction(repr(float(epsilon))) if isinstance(epsilon, float) else Fraction(epsilon)
    squares = {}  # of similarities, both ways
    for (u, v), (common, du, dv) in similarities(edges, vertices).items():
        squares[u, v] = squares[v, u] = Fraction(common**2, du * dv)
    least = epsilon**2
    similar = {u: {v for v in near[u] if u == v or squares[u, v] >= least} for u in near}
    cores = {u for u in near if len(similar[u]) >= mu}
    found = components([(u, v, 1) for u in cores for v in similar[u] & cores])

    candidates = {u: sorted(similar[u] & cores) for u in near if u not in cores}
    for u, around in candidates.items():
        if around:  # the first of the greatest is the smallest of them
            found[u] = found[max(around, key=lambda core: squares[u, core])]
    number = _numbers(found)
    found = {u: number[cluster] for u, cluster in found.items()}

    result, all_of = {}, {}
    for u in near:
        around = {found[v] for v in near[u] if v in found}
        if u in cores:
            role = "core"
        elif u in found:
            role = "border"
        else:
            role = "hub" if len(around) >= 2 else "outlier"
        result[u] = found.get(u), role
        others = {found[core] for core in candidates.get(u, [])} - {found.get(u)}
        all_of[u] = [found.get(u), *sorted(others)]
    return (result, all_of) if memberships else result


def _closed_neighborhoods(edges, vertices):
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    near = {name: {name} for name in names}
    for a, b, _ in edges:
        near[a].add(b)
        near[b].add(a)
    return near


def _numbers(found):
    """{group: number} of {member: group}: the largest is 0, then by smallest member."""
    members = {}
    for member, group in sorted(found.items()):
        members.setdefault(group, []).append(member)
    order = sorted(members, key=lambda group: (-len(members[group]), members[group][0]))
    return {group: number for number, group in enumerate(order)}
