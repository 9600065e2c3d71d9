"""Seeded random graphs as edge frames: R-MAT, lattice, uniform.

Means: edge k of a graph is a function of (parameters, seed, k) and of nothing else, so the same
  call gives the same rows on a CPU and on a GPU, whatever the number of threads.
Requires: fewer than 2^31 vertices; ids are int32, from 0.
Reference: kernels/generate.cu, which draws; here is what happens between the draws.
"""

import math
import numbers
import operator

import numpy as np

from . import frames
from .device import choose, import_cupy, launch, name_of
from .errors import GraphError
from .memory import check_fits

MOST_VERTICES = 2**31 - 1
QUARTERS = (0.57, 0.19, 0.19)  # what `rmat` has, too
ONE = 2**53  # probability 1 as a threshold on 53 random bits
WORD = 2**64 - 1
# What a seed is used for; each has random numbers of its own.
NAMES, EDGES, WEIGHTS = range(3)


def rmat(
    scale,
    edge_factor=16,
    *,
    a=0.57,
    b=0.19,
    c=0.19,
    seed=0,
    weights=None,
    clean=True,
    permute=True,
    device="auto",
):
    """A scale-free directed graph by the recursive matrix model (R-MAT).

    An edge is placed by choosing a quarter of the adjacency matrix, `scale` times over. The
    default probabilities are those of Graph500.

    Parameters
    ----------
    scale : int, from 0 to 30
        There are 2**scale vertices. Some may have no edge.
    edge_factor : int
        Edges drawn for each vertex.
    a, b, c : float
        Probabilities of the quarters top left, top right and bottom left; the rest is d.
    seed : int, from 0 to 2**64 - 1
    weights : (low, high), optional
        Adds a float64 column `weight`, uniform in [low, high).
    clean : bool
        Drop self-loops and repeated edges, which leaves fewer than were drawn, and sort the rows
        by source and destination. Otherwise the rows are the edges as drawn.
    permute : bool
        Give vertices random ids. Otherwise the degrees fall with the number of ones in the id.
    device : {"auto", "cpu", "gpu"}

    Returns
    -------
    frame of `source`, `destination` (int32) and, if asked for, `weight` (float64)
        pandas on a CPU, cuDF on a GPU.

    Raises
    ------
    GraphError, and its children NoGPU and NotEnoughMemory

    Notes
    -----
    Takes at most 17 bytes for each edge drawn on a CPU and 26 on a GPU, 32 with weights, and 14
    for each vertex: 1.2 GB for scale 22 (67 million edges drawn), of which the frame keeps 0.5.
    The model: Chakrabarti, Zhan and Faloutsos, SDM 2004.

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> len(rg.generate.rmat(10, device="cpu"))
    12064
    """
    options = ((a, b, c), seed, weights, clean, permute)
    return _frame(device, rmat_arrays, scale, edge_factor, *options)


def grid(width, height=None, *, keep=1.0, seed=0, weights=None, permute=True, device="auto"):
    """A lattice with some of its edges, like a road network: low degrees, great depth.

    Parameters
    ----------
    width, height : int
        There are width * height vertices; height is width if not given. Vertices that lose all
        their edges are in no row.
    keep : float
        Probability with which each edge of the lattice is there.
    weights : (low, high), optional
        Adds a float64 column `weight`, uniform in [low, high), the same in both directions.
    permute : bool
        Give vertices random ids. Otherwise vertex x + width * y stands in column x of row y.
    seed, device
        As in `rmat`, and so are the errors.

    Returns
    -------
    frame, as `rmat` returns
        Every edge in both directions, sorted by source and destination.

    Notes
    -----
    Takes as much memory for each row as `rmat` for each edge drawn, and 14 bytes for each vertex:
    0.13 GB for a width of 1400 with keep=0.72 (5.6 million rows).

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.generate.grid(2, 1, weights=(1, 2), permute=False, device="cpu")
       source  destination    weight
    0       0            1  1.813872
    1       1            0  1.813872
    """
    return _frame(device, grid_arrays, width, height, keep, seed, weights, permute)


def uniform(vertices, edges, *, seed=0, weights=None, device="auto"):
    """Directed edges whose ends are any two vertices, all with the same chance.

    Ends are drawn with replacement, so self-loops and repeated edges are there, as many as chance
    makes: about edges / vertices loops. `Graph` drops them if asked to.

    Parameters
    ----------
    vertices, edges : int
        `edges` is the number of rows. Some vertices may be in none.
    seed, weights, device
        As in `rmat`; so are the errors. Repeated edges have weights of their own.

    Returns
    -------
    frame, as `rmat` returns
        In no order. With more edges the same seed and vertices give these rows and then others.

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.generate.uniform(10, 2, device="cpu")
       source  destination
    0       0            9
    1       8            3
    """
    return _frame(device, uniform_arrays, vertices, edges, seed, weights)


# The same without a frame library: sources, destinations and weights (or None), arrays of `xp`.


def rmat_arrays(
    xp, scale, edge_factor=16, quarters=QUARTERS, seed=0, weights=None, clean=True, permute=True
):
    scale = _whole("scale", scale, 0, 30)
    edges = _whole("edge_factor", edge_factor, 1) << scale
    for name, value in zip("abc", quarters, strict=True):
        _check_probability(name, value)
    a, b, c = quarters
    if math.fsum((a, b, c)) > 1 + 1e-9:
        raise GraphError(f"a + b + c is {a:g} + {b:g} + {c:g}; together they can be at most 1")
    # Rounded once, and exactly 1 where the decimals meant it.
    thresholds = [round(math.fsum(terms) * ONE) for terms in ((a,), (a, b), (a, b, c))]
    key, weighing = _key(seed, EDGES), _check_weights(weights)
    _check_memory("rmat", edges, 1 << scale, weights, xp)

    names = _names(xp, 1 << scale, seed, permute)
    keys = xp.empty(edges, xp.int64)
    _run("draw_rmat", edges, scale, key, *thresholds, names, keys)
    del names
    if clean:
        keys.sort()
        kept = xp.empty(edges, bool)
        _run("mark_clean", edges, keys, kept)
        keys = keys[kept]
        del kept
    return _unpack(xp, keys, seed, weighing, both_ways=False)


def grid_arrays(xp, width, height=None, keep=1.0, seed=0, weights=None, permute=True):
    width = _whole("width", width, 1)
    height = width if height is None else _whole("height", height, 1)
    vertices = width * height
    if vertices > MOST_VERTICES:
        size = f"width is {width} and height {height}, which makes {vertices} vertices"
        raise GraphError(f"{size}; there can be at most {MOST_VERTICES}")
    _check_probability("keep", keep)
    key, weighing = _key(seed, EDGES), _check_weights(weights)
    _check_memory("grid", math.ceil(4 * vertices * keep), vertices, weights, xp)

    kept = xp.empty(2 * vertices, bool)
    _run("draw_grid", vertices, width, key, int(keep * ONE), kept)
    chosen = xp.flatnonzero(kept)
    del kept
    names = _names(xp, vertices, seed, permute)
    keys = xp.empty(2 * chosen.size, xp.int64)
    _run("pack_grid", chosen.size, width, chosen, names, keys)
    del chosen, names
    keys.sort()
    return _unpack(xp, keys, seed, weighing, both_ways=True)


def uniform_arrays(xp, vertices, edges, seed=0, weights=None):
    vertices = _whole("vertices", vertices, 1, MOST_VERTICES)
    edges = _whole("edges", edges, 0)
    key, weighing = _key(seed, EDGES), _check_weights(weights)
    _check_memory("uniform", edges, 0, weights, xp)
    sources, destinations = xp.empty(edges, xp.int32), xp.empty(edges, xp.int32)
    _run("draw_uniform", edges, vertices, key, sources, destinations)
    return sources, destinations, _weigh(xp, seed, weighing, False, sources, destinations)


def _names(xp, vertices, seed, permute):
    """The id of each vertex: its place in the order of random numbers, or itself."""
    if not permute:
        return xp.arange(vertices, dtype=xp.int32)
    bits = (vertices - 1).bit_length()
    order = xp.empty(vertices, xp.int64)
    _run("draw_order", vertices, _key(seed, NAMES), bits, order)
    order.sort()
    order &= (1 << bits) - 1
    return order.astype(xp.int32)


def _unpack(xp, keys, seed, weighing, both_ways):
    sources, destinations = xp.empty(keys.size, xp.int32), xp.empty(keys.size, xp.int32)
    _run("unpack", keys.size, keys, sources, destinations)
    return sources, destinations, _weigh(xp, seed, weighing, both_ways, sources, destinations)


def _weigh(xp, seed, weighing, both_ways, sources, destinations):
    """Uniform weights, drawn by row or, `both_ways` the same, by the two ends; None for none."""
    if weighing is None:
        return None
    weights = xp.empty(sources.size, xp.float64)
    how = (_key(seed, WEIGHTS), int(both_ways), *weighing)
    _run("weigh", sources.size, *how, sources, destinations, weights)
    return weights


def _run(entry, count, *arguments):
    launch("generate", entry, count, *arguments, size=count)


def _key(seed, purpose):
    """SplitMix64's output `purpose` for a seed, as a signed word: where a stream starts."""
    bits = (_whole("seed", seed, 0, WORD) + (purpose + 1) * 0x9E3779B97F4A7C15) & WORD
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & WORD
    bits ^= bits >> 31
    return bits - (bits >> 63 << 64)


def _frame(device, make_arrays, *arguments):
    """A pandas or cuDF frame of what `make_arrays` returns on that device."""
    kind, xp = ("cudf", import_cupy()) if choose(device) == "gpu" else ("pandas", np)
    columns = zip(("source", "destination", "weight"), make_arrays(xp, *arguments), strict=True)
    return frames.make(kind, {name: array for name, array in columns if array is not None})


def _whole(name, value, least, most=None):
    """`value` as an int, if it is one from `least` to `most`."""
    whole = operator.index(value) if hasattr(value, "__index__") else None
    if whole is None or whole < least or (most is not None and whole > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise GraphError(f"{name} is {value!r}; it can be a whole number {bounds}")
    return whole


def _check_probability(name, value):
    if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
        raise GraphError(f"{name} is {value!r}; it can be a probability from 0 to 1")


def _check_weights(weights):
    """(low, width, the largest number below high), or None."""
    if weights is None:
        return None
    try:
        low, high = map(float, weights)
    except (TypeError, ValueError):
        low = high = math.nan
    if not low < high or not math.isfinite(high - low):
        raise GraphError(f"weights is {weights!r}; it can be a pair (low, high), low below high")
    return low, high - low, math.nextafter(high, low)


def _check_memory(what, edges, vertices, weights, xp):
    each = 32 if weights is not None else 17 if name_of(xp) == "cpu" else 26
    check_fits(what, each * edges + 14 * vertices, xp)
