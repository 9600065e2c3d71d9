"""Generate seeded random graphs as edge frames: R-MAT, lattice, cliques, uniform.

Edge k of a graph is a function of the parameters, the seed and k alone, so the same call returns
the same rows on a CPU and on a GPU, whatever the number of threads. There can be up to 2^31 - 1
vertices; ids are int32 and start at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import frames
from ..device import Device, choose, import_cupy
from ..frames import Frame
from ..validation import suggest_parameters
from .arrays import EdgeArrays, grid_arrays, rmat_arrays, ssca2_arrays, uniform_arrays

__all__ = [
    "grid",
    "grid_arrays",
    "rmat",
    "rmat_arrays",
    "ssca2",
    "ssca2_arrays",
    "uniform",
    "uniform_arrays",
]


def __dir__() -> list[str]:
    return __all__


@suggest_parameters
def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    clean: bool = True,
    permute: bool = True,
    device: Device = "auto",
) -> Frame:
    """Generate a scale-free directed graph with the recursive matrix model (R-MAT).

    An edge is placed by selecting a quadrant of the adjacency matrix `scale` times [1]_. The
    default probabilities are those of Graph500.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices, from 0 to 30. Some vertices may have no edge.
    edge_factor : int, default 16
        Edges drawn per vertex.
    a, b, c : float
        Probabilities of the top left, top right and bottom left quadrant; the rest is the
        probability of the bottom right one.
    seed : int, default 0
        From 0 to 2**64 - 1.
    weights : (float, float), optional
        Add a column `weight` with uniform random numbers in [low, high).
    clean : bool, default True
        Drop self-loops and parallel edges, so that fewer rows remain than were drawn, and sort the
        rows by source and destination. Otherwise the rows are the edges in the order drawn.
    permute : bool, default True
        Assign random ids to the vertices. Otherwise the degree of a vertex decreases with the
        number of ones in the binary representation of its id.
    device : {"auto", "cpu", "gpu"}
        Device that generates and holds the graph.

    Returns
    -------
    DataFrame
        A pandas or, on a GPU, a cuDF frame with the columns `source` and `destination` (int32)
        and, if requested, `weight` (float64).

    Raises
    ------
    GraphError
        If a parameter is invalid.
    GpuUnavailableError
        If `device` is "gpu" and no GPU can be used.
    InsufficientMemoryError
        If the estimated memory is not free.

    Notes
    -----
    Peak memory is at most 17 bytes per edge drawn on a CPU, 26 on a GPU and 32 with weights, plus
    14 per vertex. Scale 22 draws 67 million edges in 1.2 GB; the frame takes 0.5 GB of them.

    References
    ----------
    .. [1] D. Chakrabarti, Y. Zhan and C. Faloutsos, "R-MAT: A Recursive Model for Graph Mining",
       SIAM International Conference on Data Mining, 2004.
       https://doi.org/10.1137/1.9781611972740.43

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> len(rg.generate.rmat(10, device="cpu"))
    12064
    """
    options = ((a, b, c), seed, weights, clean, permute)
    return _to_frame(device, rmat_arrays, scale, edge_factor, *options)


@suggest_parameters
def grid(
    width: int,
    height: int | None = None,
    *,
    keep: float = 1.0,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    permute: bool = True,
    device: Device = "auto",
) -> Frame:
    """Generate a lattice with a random subset of its edges.

    Like a road network, the graph has low degrees and a large diameter.

    Parameters
    ----------
    width, height : int
        The graph has width * height vertices; `height` defaults to `width`. Vertices that lose all
        of their edges are in no row.
    keep : float, default 1.0
        Probability that an edge of the lattice is kept.
    seed : int, default 0
        From 0 to 2**64 - 1.
    weights : (float, float), optional
        Add a column `weight` with uniform random numbers in [low, high), equal in both directions.
    permute : bool, default True
        Assign random ids to the vertices. Otherwise vertex x + width * y is in column x of row y.
    device : {"auto", "cpu", "gpu"}
        Device that generates and holds the graph.

    Returns
    -------
    DataFrame
        As returned by `rmat`: every edge in both directions, sorted by source and destination.

    Raises
    ------
    GraphError
        If a parameter is invalid; `rmat` lists the subclasses.

    Notes
    -----
    Peak memory is that of `rmat`, per row instead of per edge drawn, plus 14 bytes per vertex:
    0.13 GB for a width of 1400 with ``keep=0.72`` (5.6 million rows).

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.generate.grid(2, 1, weights=(1, 2), permute=False, device="cpu")
       source  destination    weight
    0       0            1  1.813872
    1       1            0  1.813872
    """
    return _to_frame(device, grid_arrays, width, height, keep, seed, weights, permute)


@suggest_parameters
def ssca2(
    vertices: int,
    *,
    max_clique: int = 7,
    inter_clique: float = 0.5,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    permute: bool = True,
    device: Device = "auto",
) -> Frame:
    """Generate cliques of random sizes and random edges between them (SSCA#2).

    The graph has known communities. The cliques form a sequence. Each vertex draws two edges to
    other cliques; each of them exists with probability `inter_clique` and leads to a random vertex
    of the clique 1 position ahead with probability 1/2, 2 positions with 1/4, 4 with 1/8, and so
    on.

    Parameters
    ----------
    vertices : int
        Number of vertices. The vertex of a clique of size 1 may have no edge and is in no row then.
    max_clique : int, default 7
        Clique sizes are uniform from 1 to this number; the last clique is truncated.
    inter_clique : float, default 0.5
        Probability of each of the two edges that a vertex draws.
    seed : int, default 0
        From 0 to 2**64 - 1.
    weights : (float, float), optional
        Add a column `weight` with uniform random numbers in [low, high), equal in both directions.
    permute : bool, default True
        Assign random ids to the vertices. Otherwise the ids of a clique are consecutive.
    device : {"auto", "cpu", "gpu"}
        Device that generates and holds the graph.

    Returns
    -------
    DataFrame
        As returned by `rmat`: every edge once in each direction, sorted by source and destination.

    Raises
    ------
    GraphError
        If a parameter is invalid; `rmat` lists the subclasses.

    Notes
    -----
    The average degree (rows per vertex) is about 2/3 (max_clique - 1) + 4 inter_clique, and less
    if the cliques are few or small (by a sixth of the second term if all of them have one vertex).
    With ``inter_clique=0.5``, ``max_clique = 1.5 * degree - 2`` yields a given degree: 7 for 6, 13
    for 10, 148 for 100. A small number of cliques deviates by a few percent.

    Peak memory is that of `rmat`, per row instead of per edge drawn, plus 56 bytes per vertex.

    GTgraph's generator of the same model [1]_ differs: its edges are directed and may be parallel,
    and it counts distances in vertices instead of cliques.

    References
    ----------
    .. [1] D. A. Bader and K. Madduri, "GTgraph: A Synthetic Graph Generator Suite", 2006.

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
    return _to_frame(device, ssca2_arrays, vertices, *options)


@suggest_parameters
def uniform(
    vertices: int,
    edges: int,
    *,
    seed: int = 0,
    weights: tuple[float, float] | None = None,
    device: Device = "auto",
) -> Frame:
    """Generate directed edges between uniformly random vertices.

    Endpoints are drawn with replacement, so there are self-loops (about edges / vertices) and
    parallel edges; `Graph` can drop them.

    Parameters
    ----------
    vertices : int
        Number of vertices. Some may be in no row.
    edges : int
        Number of rows.
    seed : int, default 0
        From 0 to 2**64 - 1.
    weights : (float, float), optional
        Add a column `weight` with uniform random numbers in [low, high). Parallel edges have
        different weights.
    device : {"auto", "cpu", "gpu"}
        Device that generates and holds the graph.

    Returns
    -------
    DataFrame
        As returned by `rmat`, in random order. With more edges and the same seed and vertices, the
        first rows stay the same.

    Raises
    ------
    GraphError
        If a parameter is invalid; `rmat` lists the subclasses.

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.generate.uniform(10, 2, device="cpu")
       source  destination
    0       0            9
    1       8            3
    """
    return _to_frame(device, uniform_arrays, vertices, edges, seed, weights)


def _to_frame(device: Device, generate_arrays: Callable[..., EdgeArrays], *arguments: Any) -> Frame:
    """Return the arrays generated on a device as a pandas or cuDF frame."""
    kind, xp = ("cudf", import_cupy()) if choose(device) == "gpu" else ("pandas", np)
    columns = zip(("source", "destination", "weight"), generate_arrays(xp, *arguments), strict=True)
    return frames.make_frame(kind, {name: array for name, array in columns if array is not None})
