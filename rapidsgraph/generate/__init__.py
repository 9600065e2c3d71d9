"""Seeded random graphs as edge frames: R-MAT, lattice, cliques, uniform.

Means: edge k of a graph is a function of (parameters, seed, k) and of nothing else, so the same
  call gives the same rows on a CPU and on a GPU, whatever the number of threads.
Requires: fewer than 2^31 vertices; ids are int32, from 0.
Reference: arrays.py makes the same graphs as arrays, by the kernels `generate`.
"""

import numpy as np

from .. import frames
from ..device import choose, import_cupy
from .arrays import grid_arrays, rmat_arrays, ssca2_arrays, uniform_arrays


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
    GraphError, and its children GpuUnavailableError and InsufficientMemoryError

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


def ssca2(
    vertices,
    *,
    max_clique=7,
    inter_clique=0.5,
    seed=0,
    weights=None,
    permute=True,
    device="auto",
):
    """Cliques of random sizes and edges between them, fewer the farther: known communities.

    The cliques stand in a row. From each vertex two edges to other cliques are drawn; each is
    there with probability `inter_clique`, and leads to any vertex of the clique 1 place ahead in
    half of the cases, 2 places in a quarter, 4 in an eighth, and so on.

    Parameters
    ----------
    vertices : int
        Those of a clique of one may have no edge, and are in no row then.
    max_clique : int
        Sizes of cliques are uniform from 1 to this. The last clique is cut at the end.
    inter_clique : float
    weights : (low, high), optional
        Adds a float64 column `weight`, uniform in [low, high), the same in both directions.
    permute : bool
        Give vertices random ids. Otherwise a clique is a run of ids.
    seed, device
        As in `rmat`, and so are the errors.

    Returns
    -------
    frame, as `rmat` returns
        Every edge in both directions, once each, sorted by source and destination.

    Notes
    -----
    The average degree, rows by vertices, is about 2 / 3 (max_clique - 1) + 4 inter_clique, and
    less where cliques are few or small (by a sixth of the second term where all have one vertex).
    With inter_clique=0.5, max_clique = 1.5 degree - 2 makes a degree: 7 for 6, 13 for 10, 148
    for 100. Few cliques of chance sizes are off by a few in a hundred.

    Takes as much memory for each row as `rmat` for each edge drawn, and 56 bytes for each vertex.
    The model: SSCA#2 as in GTgraph (Bader and Madduri, 2006), which has directed edges, several
    of them between two vertices, and distances counted in vertices instead of cliques.

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.generate.ssca2(4, max_clique=3, permute=False, device="cpu")
       source  destination
    0       0            1
    1       0            2
    2       1            0
    3       1            2
    4       1            3
    5       2            0
    6       2            1
    7       3            1
    """
    options = (max_clique, inter_clique, seed, weights, permute)
    return _frame(device, ssca2_arrays, vertices, *options)


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


def _frame(device, make_arrays, *arguments):
    """A pandas or cuDF frame of what `make_arrays` returns on that device."""
    kind, xp = ("cudf", import_cupy()) if choose(device) == "gpu" else ("pandas", np)
    columns = zip(("source", "destination", "weight"), make_arrays(xp, *arguments), strict=True)
    return frames.make(kind, {name: array for name, array in columns if array is not None})
