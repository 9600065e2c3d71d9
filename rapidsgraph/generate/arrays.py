"""Generate the graphs of `rapidsgraph.generate` as arrays: sources, destinations and weights.

`xp` is the module numpy or cupy; the kernels ``generate`` run on its device. Parameters are checked
here. Weights are None where none are asked for.
"""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, TypeAlias

from ..device import Array, ArrayModule, device_name, launch
from ..errors import GraphError, format_value
from ..validation import MAX_VERTICES, check_flag, check_free_memory, suggest_parameters

EdgeArrays: TypeAlias = tuple[Array, Array, Array | None]
WeightRange: TypeAlias = tuple[float, float, float]  # low, width, the largest float below high

GRAPH500 = (0.57, 0.19, 0.19)  # probabilities of R-MAT's quadrants
ONE = 2**53  # probability 1 as a threshold on 53 random bits
WORD = 2**64 - 1
# Each use of a seed has a stream of random numbers of its own.
VERTICES, EDGES, WEIGHTS, CLIQUES = range(4)


@suggest_parameters
def rmat_arrays(
    xp: ArrayModule,
    scale: int,
    edge_factor: int = 16,
    quadrants: tuple[float, float, float] = GRAPH500,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    clean: bool = True,
    permute: bool = True,
) -> EdgeArrays:
    """Generate the arrays of `rapidsgraph.generate.rmat`.

    Parameters
    ----------
    xp : module
        numpy or cupy: where the arrays are generated.
    quadrants : (float, float, float), default (0.57, 0.19, 0.19)
        The probabilities `a`, `b` and `c` of `rapidsgraph.generate.rmat`.
    scale, edge_factor, seed, weights, clean, permute
        As for `rapidsgraph.generate.rmat`.

    Returns
    -------
    sources, destinations : int32 arrays, shape (rows,)
    weights : float64 array, shape (rows,), or None
        None if no weights are asked for.

    Raises
    ------
    GraphError
        If a parameter is invalid.
    InsufficientMemoryError
        If the estimated memory is not free.
    """
    scale = _check_integer("scale", scale, 0, 30)
    edges = _check_integer("edge_factor", edge_factor, 1) << scale
    a, b, c = (_check_probability(*pair) for pair in zip("abc", quadrants, strict=True))
    for name, value in (("clean", clean), ("permute", permute)):
        check_flag(name, value)
    if math.fsum((a, b, c)) > 1 + 1e-9:
        raise GraphError(
            f"a + b + c is {a:g} + {b:g} + {c:g}; the sum must be at most 1",
            parameter="a, b, c",
            value=(a, b, c),
        )
    # Rounded once, and exactly ONE where the decimals add up to 1.
    a, ab, abc = (round(math.fsum(terms) * ONE) for terms in ((a,), (a, b), (a, b, c)))
    key, weight_range = _key(seed, EDGES), check_weight_range(weights)
    _check_memory("rmat", edges, 1 << scale, weights, xp)

    vertex_ids = _vertex_ids(xp, 1 << scale, seed, permute)
    keys = xp.empty(edges, xp.int64)
    launch(
        "generate", "draw_rmat", size=edges,
        num_edges=edges, scale=scale, key=key, a=a, ab=ab, abc=abc, names=vertex_ids, keys=keys,
    )  # fmt: skip
    del vertex_ids
    if clean:
        keys.sort()
        is_clean = xp.empty(edges, bool)
        launch(
            "generate", "mark_simple", size=edges, num_edges=edges, keys=keys, is_simple=is_clean
        )
        keys = keys[is_clean]
        del is_clean
    return _unpack(xp, keys, seed, weight_range, symmetrize=False)


@suggest_parameters
def grid_arrays(
    xp: ArrayModule,
    width: int,
    height: int | None = None,
    keep: float = 1.0,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    permute: bool = True,
) -> EdgeArrays:
    """Generate the arrays of `rapidsgraph.generate.grid`.

    Parameters
    ----------
    xp : module
        numpy or cupy: where the arrays are generated.
    width, height, keep, seed, weights, permute
        As for `rapidsgraph.generate.grid`.

    Returns
    -------
    sources, destinations : int32 arrays, shape (rows,)
    weights : float64 array, shape (rows,), or None
        None if no weights are asked for.

    Raises
    ------
    GraphError
        If a parameter is invalid.
    InsufficientMemoryError
        If the estimated memory is not free.
    """
    width = _check_integer("width", width, 1)
    height = width if height is None else _check_integer("height", height, 1)
    vertices = width * height
    if vertices > MAX_VERTICES:
        raise GraphError(
            f"width {format_value(width)} and height {format_value(height)} make "
            f"{format_value(vertices)} vertices; the maximum is {MAX_VERTICES}",
            parameter="width",
            value=width,
        )
    keep = _check_probability("keep", keep)
    check_flag("permute", permute)
    key, weight_range = _key(seed, EDGES), check_weight_range(weights)
    _check_memory("grid", math.ceil(4 * vertices * keep), vertices, weights, xp)

    is_selected = xp.empty(2 * vertices, bool)
    launch(
        "generate", "draw_grid", size=vertices,
        num_vertices=vertices, width=width, key=key, threshold=int(keep * ONE),
        is_selected=is_selected,
    )  # fmt: skip
    selected = xp.flatnonzero(is_selected)
    del is_selected
    vertex_ids = _vertex_ids(xp, vertices, seed, permute)
    keys = xp.empty(2 * selected.size, xp.int64)
    launch(
        "generate", "pack_grid", size=selected.size,
        num_edges=selected.size, width=width, lattice_edges=selected, names=vertex_ids, keys=keys,
    )  # fmt: skip
    del selected, vertex_ids
    keys.sort()
    return _unpack(xp, keys, seed, weight_range, symmetrize=True)


@suggest_parameters
def ssca2_arrays(
    xp: ArrayModule,
    vertices: int,
    max_clique: int = 7,
    inter_clique: float = 0.5,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    permute: bool = True,
) -> EdgeArrays:
    """Generate the arrays of `rapidsgraph.generate.ssca2`.

    Parameters
    ----------
    xp : module
        numpy or cupy: where the arrays are generated.
    vertices, max_clique, inter_clique, seed, weights, permute
        As for `rapidsgraph.generate.ssca2`.

    Returns
    -------
    sources, destinations : int32 arrays, shape (rows,)
    weights : float64 array, shape (rows,), or None
        None if no weights are asked for.

    Raises
    ------
    GraphError
        If a parameter is invalid.
    InsufficientMemoryError
        If the estimated memory is not free.
    """
    vertices = _check_integer("vertices", vertices, 1, MAX_VERTICES)
    max_clique = _check_integer("max_clique", max_clique, 1, MAX_VERTICES)
    inter_clique = _check_probability("inter_clique", inter_clique)
    check_flag("permute", permute)
    key, weight_range = _key(seed, EDGES), check_weight_range(weights)
    _check_memory("ssca2", 0, 4 * vertices, weights, xp)
    clique_offsets = _draw_clique_offsets(xp, vertices, max_clique, seed)
    sizes = xp.diff(clique_offsets)
    row_offsets = xp.zeros(clique_offsets.size, xp.int64)
    row_offsets[1:] = xp.cumsum(sizes * (sizes - 1))
    num_inner = int(row_offsets[-1])
    rows = num_inner + math.ceil(4 * vertices * inter_clique)
    _check_memory("ssca2", rows, 4 * vertices, weights, xp)

    clique_of = xp.zeros(vertices, xp.int32)
    clique_of[clique_offsets[1:-1]] = 1
    clique_of = xp.cumsum(clique_of, dtype=xp.int32)
    bridge_ends = xp.empty(2 * vertices, xp.int32)
    launch(
        "generate", "draw_bridges", size=vertices,
        num_vertices=vertices, num_cliques=sizes.size, key=key, threshold=int(inter_clique * ONE),
        clique_of=clique_of, clique_offsets=clique_offsets, bridge_ends=bridge_ends,
    )  # fmt: skip
    selected = xp.flatnonzero(bridge_ends >= 0)
    vertex_ids = _vertex_ids(xp, vertices, seed, permute)
    keys = xp.empty(num_inner + 2 * selected.size, xp.int64)
    launch(
        "generate", "pack_cliques", size=vertices,
        num_vertices=vertices, clique_of=clique_of, clique_offsets=clique_offsets,
        key_offsets=row_offsets, names=vertex_ids, keys=keys,
    )  # fmt: skip
    launch(
        "generate", "pack_bridges", size=selected.size,
        num_edges=selected.size, bridges=selected, bridge_ends=bridge_ends, names=vertex_ids,
        keys=keys[num_inner:],
    )  # fmt: skip
    del clique_offsets, sizes, row_offsets, clique_of, bridge_ends, selected, vertex_ids
    keys.sort()
    return _unpack(xp, keys, seed, weight_range, symmetrize=True)


def _draw_clique_offsets(xp: ArrayModule, vertices: int, max_clique: int, seed: int) -> Array:
    """Return the first vertex of each clique, followed by the number of vertices.

    The size of clique k depends on k and the seed only, so more sizes may be drawn than are used.
    """
    count = 2 * vertices // (max_clique + 1) + 1  # the expected number
    stops = xp.zeros(1, xp.int64)
    while stops[-1] < vertices:
        count += 4 * math.isqrt(count) + 4  # seven standard deviations: one round is enough
        sizes = xp.empty(count, xp.int64)
        launch(
            "generate", "draw_cliques", size=count,
            num_cliques=count, max_clique=max_clique, key=_key(seed, CLIQUES), sizes=sizes,
        )  # fmt: skip
        stops = xp.cumsum(sizes)
    offsets = xp.zeros(2 + int((stops < vertices).sum()), xp.int64)
    offsets[1:] = stops[: offsets.size - 1]
    offsets[-1] = vertices
    return offsets


@suggest_parameters
def uniform_arrays(
    xp: ArrayModule,
    vertices: int,
    edges: int,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
) -> EdgeArrays:
    """Generate the arrays of `rapidsgraph.generate.uniform`.

    Parameters
    ----------
    xp : module
        numpy or cupy: where the arrays are generated.
    vertices, edges, seed, weights
        As for `rapidsgraph.generate.uniform`.

    Returns
    -------
    sources, destinations : int32 arrays, shape (rows,)
    weights : float64 array, shape (rows,), or None
        None if no weights are asked for.

    Raises
    ------
    GraphError
        If a parameter is invalid.
    InsufficientMemoryError
        If the estimated memory is not free.
    """
    vertices = _check_integer("vertices", vertices, 1, MAX_VERTICES)
    edges = _check_integer("edges", edges, 0)
    key, weight_range = _key(seed, EDGES), check_weight_range(weights)
    _check_memory("uniform", edges, 0, weights, xp)
    sources, destinations = xp.empty(edges, xp.int32), xp.empty(edges, xp.int32)
    launch(
        "generate", "draw_uniform", size=edges,
        num_edges=edges, num_vertices=vertices, key=key, sources=sources, destinations=destinations,
    )  # fmt: skip
    return sources, destinations, draw_weights(xp, seed, weight_range, False, sources, destinations)


def _vertex_ids(xp: ArrayModule, vertices: int, seed: int, permute: bool) -> Array:
    """Return the id of each vertex: a random permutation, or the identity."""
    if not permute:
        return xp.arange(vertices, dtype=xp.int32)
    bits = (vertices - 1).bit_length()
    order = xp.empty(vertices, xp.int64)
    launch(
        "generate", "draw_order", size=vertices,
        num_vertices=vertices, key=_key(seed, VERTICES), bits=bits, order=order,
    )  # fmt: skip
    order.sort()
    order &= (1 << bits) - 1
    return order.astype(xp.int32)


def _unpack(
    xp: ArrayModule, keys: Array, seed: int, weight_range: WeightRange | None, symmetrize: bool
) -> EdgeArrays:
    sources, destinations = xp.empty(keys.size, xp.int32), xp.empty(keys.size, xp.int32)
    launch(
        "generate", "unpack", size=keys.size,
        num_edges=keys.size, keys=keys, sources=sources, destinations=destinations,
    )  # fmt: skip
    weights = draw_weights(xp, seed, weight_range, symmetrize, sources, destinations)
    return sources, destinations, weights


def draw_weights(
    xp: ArrayModule,
    seed: int,
    weight_range: WeightRange | None,
    symmetrize: bool,
    sources: Array,
    destinations: Array,
) -> Array | None:
    """Draw a uniform weight per edge; with `symmetrize` both arcs of an edge have the same."""
    if weight_range is None:
        return None
    weights = xp.empty(sources.size, xp.float64)
    low, width, highest = weight_range
    launch(
        "generate", "draw_weights", size=sources.size,
        num_edges=sources.size, key=_key(seed, WEIGHTS), symmetrize=int(symmetrize), min_weight=low,
        weight_range=width, max_weight=highest, sources=sources, destinations=destinations,
        weights=weights,
    )  # fmt: skip
    return weights


def _key(seed: int, stream: int) -> int:
    """Return output number `stream` of SplitMix64 for a seed, as a signed word."""
    bits = (_check_integer("seed", seed, 0, WORD) + (stream + 1) * 0x9E3779B97F4A7C15) & WORD
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & WORD
    bits ^= bits >> 31
    return bits - (bits >> 63 << 64)


def _check_integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    try:
        integer = operator.index(value)
    except TypeError:
        integer = None
    if integer is None or integer < minimum or (maximum is not None and integer > maximum):
        bounds = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise GraphError(
            f"{name} is {format_value(value)}; it must be an integer {bounds}",
            parameter=name,
            value=value,
        )
    return integer


def _check_probability(name: str, value: Any) -> float:
    is_real = isinstance(value, numbers.Real)
    if not is_real or not 0 <= value <= 1:
        raise GraphError(
            f"{name} is {format_value(value)}; it must be a probability from 0 to 1",
            parameter=name,
            value=value,
        )
    return float(value)


def check_weight_range(weights: Any) -> WeightRange | None:
    """Return (low, width, the largest float below high) of the parameter `weights`."""
    if weights is None:
        return None
    try:
        low, high = map(float, weights)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not low < high or not math.isfinite(high - low):
        raise GraphError(
            f"weights is {format_value(weights)}; it must be a pair (low, high) with low < high",
            parameter="weights",
            value=weights,
        )
    return low, high - low, math.nextafter(high, low)


def _check_memory(generator: str, edges: int, vertices: int, weights: Any, xp: ArrayModule) -> None:
    edge_bytes = 32 if weights is not None else 17 if device_name(xp) == "cpu" else 26
    check_free_memory(generator, edge_bytes * edges + 14 * vertices, xp)
