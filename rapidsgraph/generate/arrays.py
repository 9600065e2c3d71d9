"""The graphs without a frame library: sources, destinations and weights (or None).

Means: what __init__.py says, as arrays of `xp`, which is numpy or cupy; so for benchmarks, which
  want no frames, and for tests.
Requires: as there; parameters are checked here.
Reference: kernels/generate.cu, which draws; here is what happens between the draws.
"""

import math
import numbers
import operator

from ..device import device_name, launch
from ..errors import GraphError, format_value
from ..validation import MAX_VERTICES, check_flag, check_free_memory

QUARTERS = (0.57, 0.19, 0.19)  # what `rmat` has, too
ONE = 2**53  # probability 1 as a threshold on 53 random bits
WORD = 2**64 - 1
# What a seed is used for; each has random numbers of its own.
NAMES, EDGES, WEIGHTS, CLIQUES = range(4)


def rmat_arrays(
    xp, scale, edge_factor=16, quarters=QUARTERS, seed=0, weights=None, clean=True, permute=True
):
    scale = _whole("scale", scale, 0, 30)
    edges = _whole("edge_factor", edge_factor, 1) << scale
    a, b, c = (_probability(name, value) for name, value in zip("abc", quarters, strict=True))
    for name, value in (("clean", clean), ("permute", permute)):
        check_flag(name, value)
    if math.fsum((a, b, c)) > 1 + 1e-9:
        raise GraphError(f"a + b + c is {a:g} + {b:g} + {c:g}; together they can be at most 1")
    # Rounded once, and exactly 1 where the decimals meant it.
    thresholds = [round(math.fsum(terms) * ONE) for terms in ((a,), (a, b), (a, b, c))]
    key, weighing = _key(seed, EDGES), check_weights(weights)
    _check_memory("rmat", edges, 1 << scale, weights, xp)

    names = _names(xp, 1 << scale, seed, permute)
    keys = xp.empty(edges, xp.int64)
    a, ab, abc = thresholds
    launch(
        "generate", "draw_rmat", size=edges,
        edges=edges, scale=scale, key=key, a=a, ab=ab, abc=abc, names=names, keys=keys,
    )  # fmt: skip
    del names
    if clean:
        keys.sort()
        kept = xp.empty(edges, bool)
        launch("generate", "mark_clean", size=edges, edges=edges, keys=keys, kept=kept)
        keys = keys[kept]
        del kept
    return _unpack(xp, keys, seed, weighing, symmetrize=False)


def grid_arrays(xp, width, height=None, keep=1.0, seed=0, weights=None, permute=True):
    width = _whole("width", width, 1)
    height = width if height is None else _whole("height", height, 1)
    vertices = width * height
    if vertices > MAX_VERTICES:
        raise GraphError(
            f"width is {format_value(width)} and height {format_value(height)}, which makes {format_value(vertices)} "
            f"vertices; there can be at most {MAX_VERTICES}"
        )
    keep = _probability("keep", keep)
    check_flag("permute", permute)
    key, weighing = _key(seed, EDGES), check_weights(weights)
    _check_memory("grid", math.ceil(4 * vertices * keep), vertices, weights, xp)

    kept = xp.empty(2 * vertices, bool)
    launch(
        "generate", "draw_grid", size=vertices,
        vertices=vertices, width=width, key=key, threshold=int(keep * ONE), kept=kept,
    )  # fmt: skip
    chosen = xp.flatnonzero(kept)
    del kept
    names = _names(xp, vertices, seed, permute)
    keys = xp.empty(2 * chosen.size, xp.int64)
    launch(
        "generate", "pack_grid", size=chosen.size,
        edges=chosen.size, width=width, chosen=chosen, names=names, keys=keys,
    )  # fmt: skip
    del chosen, names
    keys.sort()
    return _unpack(xp, keys, seed, weighing, symmetrize=True)


def ssca2_arrays(xp, vertices, max_clique=7, inter_clique=0.5, seed=0, weights=None, permute=True):
    vertices = _whole("vertices", vertices, 1, MAX_VERTICES)
    max_clique = _whole("max_clique", max_clique, 1, MAX_VERTICES)
    inter_clique = _probability("inter_clique", inter_clique)
    check_flag("permute", permute)
    key, weighing = _key(seed, EDGES), check_weights(weights)
    _check_memory("ssca2", 0, 4 * vertices, weights, xp)
    begins = _cut_cliques(xp, vertices, max_clique, seed)
    sizes = xp.diff(begins)
    places = xp.zeros(begins.size, xp.int64)
    places[1:] = xp.cumsum(sizes * (sizes - 1))
    within = int(places[-1])
    rows = within + math.ceil(4 * vertices * inter_clique)
    _check_memory("ssca2", rows, 4 * vertices, weights, xp)

    clique_of = xp.zeros(vertices, xp.int32)
    clique_of[begins[1:-1]] = 1
    clique_of = xp.cumsum(clique_of, dtype=xp.int32)
    ends = xp.empty(2 * vertices, xp.int32)
    launch(
        "generate", "draw_bridges", size=vertices,
        vertices=vertices, cliques=sizes.size, key=key, threshold=int(inter_clique * ONE),
        clique_of=clique_of, begins=begins, ends=ends,
    )  # fmt: skip
    chosen = xp.flatnonzero(ends >= 0)
    names = _names(xp, vertices, seed, permute)
    keys = xp.empty(within + 2 * chosen.size, xp.int64)
    launch(
        "generate", "pack_cliques", size=vertices,
        vertices=vertices, clique_of=clique_of, begins=begins, places=places, names=names,
        keys=keys,
    )  # fmt: skip
    launch(
        "generate", "pack_bridges", size=chosen.size,
        edges=chosen.size, chosen=chosen, ends=ends, names=names, keys=keys[within:],
    )  # fmt: skip
    del begins, sizes, places, clique_of, ends, chosen, names
    keys.sort()
    return _unpack(xp, keys, seed, weighing, symmetrize=True)


def _cut_cliques(xp, vertices, max_clique, seed):
    """The first vertex of each clique, and the number of vertices.

    Clique k has a size of its own, so more may be drawn than are used.
    """
    count = 2 * vertices // (max_clique + 1) + 1  # as many as it takes on average
    ends = xp.zeros(1, xp.int64)
    while ends[-1] < vertices:
        count += 4 * math.isqrt(count) + 4  # seven standard deviations, so once will do
        sizes = xp.empty(count, xp.int64)
        launch(
            "generate", "draw_cliques", size=count,
            cliques=count, max_clique=max_clique, key=_key(seed, CLIQUES), sizes=sizes,
        )  # fmt: skip
        ends = xp.cumsum(sizes)
    begins = xp.zeros(2 + int((ends < vertices).sum()), xp.int64)
    begins[1:] = ends[: begins.size - 1]
    begins[-1] = vertices
    return begins


def uniform_arrays(xp, vertices, edges, seed=0, weights=None):
    vertices = _whole("vertices", vertices, 1, MAX_VERTICES)
    edges = _whole("edges", edges, 0)
    key, weighing = _key(seed, EDGES), check_weights(weights)
    _check_memory("uniform", edges, 0, weights, xp)
    sources, destinations = xp.empty(edges, xp.int32), xp.empty(edges, xp.int32)
    launch(
        "generate", "draw_uniform", size=edges,
        edges=edges, vertices=vertices, key=key, sources=sources, destinations=destinations,
    )  # fmt: skip
    return sources, destinations, weigh(xp, seed, weighing, False, sources, destinations)


def _names(xp, vertices, seed, permute):
    """The id of each vertex: its place in the order of random numbers, or itself."""
    if not permute:
        return xp.arange(vertices, dtype=xp.int32)
    bits = (vertices - 1).bit_length()
    order = xp.empty(vertices, xp.int64)
    launch(
        "generate", "draw_order", size=vertices,
        vertices=vertices, key=_key(seed, NAMES), bits=bits, order=order,
    )  # fmt: skip
    order.sort()
    order &= (1 << bits) - 1
    return order.astype(xp.int32)


def _unpack(xp, keys, seed, weighing, symmetrize):
    sources, destinations = xp.empty(keys.size, xp.int32), xp.empty(keys.size, xp.int32)
    launch(
        "generate", "unpack", size=keys.size,
        edges=keys.size, keys=keys, sources=sources, destinations=destinations,
    )  # fmt: skip
    return sources, destinations, weigh(xp, seed, weighing, symmetrize, sources, destinations)


def weigh(xp, seed, weighing, symmetrize, sources, destinations):
    """Uniform weights, drawn by row or, `both_ways` the same, by the two ends; None for none."""
    if weighing is None:
        return None
    weights = xp.empty(sources.size, xp.float64)
    low, width, highest = weighing
    launch(
        "generate", "weigh", size=sources.size,
        edges=sources.size, key=_key(seed, WEIGHTS), both_ways=int(symmetrize), low=low,
        width=width, highest=highest, sources=sources, destinations=destinations, weights=weights,
    )  # fmt: skip
    return weights


def _key(seed, purpose):
    """SplitMix64's output `purpose` for a seed, as a signed word: where a stream starts."""
    bits = (_whole("seed", seed, 0, WORD) + (purpose + 1) * 0x9E3779B97F4A7C15) & WORD
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & WORD
    bits ^= bits >> 31
    return bits - (bits >> 63 << 64)


def _whole(name, value, least, most=None):
    """`value` as an int, if it is one from `least` to `most`."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or whole < least or (most is not None and whole > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise GraphError(f"{name} is {format_value(value)}; it can be a whole number {bounds}")
    return whole


def _probability(name, value):
    """`value` as a float, if it is a number from 0 to 1."""
    if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
        raise GraphError(f"{name} is {format_value(value)}; it can be a probability from 0 to 1")
    return float(value)


def check_weights(weights):
    """(low, width, the largest number below high), or None."""
    if weights is None:
        return None
    try:
        low, high = map(float, weights)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not low < high or not math.isfinite(high - low):
        raise GraphError(
            f"weights is {format_value(weights)}; it can be a pair (low, high), low below high"
        )
    return low, high - low, math.nextafter(high, low)


def _check_memory(what, edges, vertices, weights, xp):
    each = 32 if weights is not None else 17 if device_name(xp) == "cpu" else 26
    check_free_memory(what, each * edges + 14 * vertices, xp)
