"""Sweeps over a share of a layered edge list: the tasks of layered.py.

Means: parents of BFS, distances and predecessors of SSSP, what edges add to ranks; and rows of
  results. Arrays are by place, and None stands for what is not there.
Requires: as shares.py. What is sent from task to task is Swept, Terms or Ranks.
"""

import importlib
import math
from typing import NamedTuple

import numpy as np

from .. import device, frames, overflow
from ..algorithms import layered as sweeps
from ..algorithms.found import NO_VERTEX
from ..algorithms.pagerank import PARTS, dangling_weights, vertex_shares
from ..layers.layered import Run
from .shares import NOTHING, Swept

# BFS


def parents(share, last):
    """The place before each, from layers before `last`, as far as this share knows one."""
    layered = share.layered
    found = layered.xp.full(layered.num_vertices, NO_VERTEX, layered.xp.int32)
    if not sweeps.forward_partitions(layered, last).size:
        return Swept(found, NOTHING)

    def work(partitions):
        sweeps.find_parents(layered, partitions, last, found, lambda *_: None)
        return 1, found

    return share.sweep(work)


# SSSP


def first_distances(share):
    xp = share.layered.xp
    distances = xp.full(share.layered.num_vertices, math.inf)
    distances[0] = 0.0
    return Swept(distances, NOTHING)


def check_distances(share, distances):
    """Raise GraphError where a distance is beyond double precision; 0 else, as a small result."""
    layered = share.layered
    reached = distances.values[: int(layered.layer_starts[-1])]
    overflow.check_reached(reached, layered.order, layered)
    return 0


def first_steps(distances, before):
    """Steps of `relax_ties`; None where no end is open."""
    open_ends = sweeps.ends_without(before.values, distances.values)
    if not bool(open_ends.any()):
        return None
    xp = device.array_module(open_ends)
    return Swept(xp.where(open_ends, np.int32(NO_VERTEX), np.int32(0)), NOTHING)


def is_something(value):
    return value is not None


def relaxed(share, entry, given, before, constants):
    """What `given` is lowered to along the edges of a share, until nothing changes there.

    `before` is what this share gave the last time, or None: rows lower than there wait, at first
    those that have a value. `constants` is the cutoff, or for ties the distances.
    """
    layered, xp, values = share.layered, share.layered.xp, given.values
    if before is None:
        waits = values < (math.inf if entry == "relax" else NO_VERTEX)
    else:
        waits = values < before.values
    stamps = xp.where(waits, np.int32(0), np.int32(-1))
    values = values.copy()
    more = (constants,) if entry == "relax" else (constants.values,)

    def work(partitions):
        passes = sweeps.Sweeps(layered, partitions, False)
        passes.run(entry, stamps, *more, values, everywhere=False)
        return passes.passes, values

    return share.sweep(work)


def predecessors(share, distances, steps, before):
    """The smallest vertex before each that this share knows; with `steps` for ends left open."""
    layered, xp = share.layered, share.layered.xp
    found = xp.full(layered.num_vertices, NO_VERTEX, xp.int32)
    found = found if before is None else before.values.copy()
    tied = steps is not None
    rounds = steps.values if tied else xp.empty(0, xp.int32)

    def work(partitions):
        passes = sweeps.Sweeps(layered, partitions, False)
        if passes.reached.size:
            passes.look_back(distances.values, rounds, tied, found)
        return passes.passes, found

    return share.sweep(work)


# PageRank


class Terms(NamedTuple):
    """What the ranks are made of besides edges, by place, or one for all."""

    restart: object
    share: object
    start: object
    sinks: object


class Ranks(NamedTuple):
    """Ranks by place after some iterations.

    Attributes
    ----------
    values : float64, shape (vertices,)
    state : float64, shape (4,)
        Iterations, the last change, what sinks hold, whether they converged; as in rank.cu.
    run : Run
    """

    values: object
    state: object
    run: Run


def joined(*tables):
    """One frame of several partitions."""
    return importlib.import_module(frames.library_of(tables[0])).concat(tables)


def rank_terms(share, damping, personalization, dangling, start):
    layered = share.layered
    leaving = layered.out_weights
    if layered.weighted:
        overflow.check_out_weights(leaving, layered, layered.order)
    teleport = vertex_shares(layered, personalization, "personalization")
    by_id = (
        (1 - damping) * teleport,
        damping * dangling_weights(layered, dangling, teleport),
        vertex_shares(layered, start, "start"),
    )
    order = layered.order
    return Terms(*(each if each.size == 1 else each[order] for each in by_id), leaving == 0)


def first_ranks(terms):
    xp = device.array_module(terms.sinks)
    ranks = xp.empty(terms.sinks.size)
    ranks[...] = terms.start
    mass = float(ranks[terms.sinks].sum())
    return Ranks(ranks, xp.asarray([0.0, math.inf, mass, 0.0]), NOTHING)


def scattered(share, ranks, damping):
    """What the edges of a share add to the ranks of the next iteration; no values at the end."""
    if bool(ranks.state[3]):
        return Swept(None, NOTHING)
    layered = share.layered

    def work(partitions):
        scatter = sweeps.scattering(
            layered, partitions, damping, share.leaving, ranks.values, ranks.state
        )
        return 1, scatter(layered.xp.zeros(layered.num_vertices))

    return share.sweep(work)


def settled(terms, ranks, added, tolerance):
    """Ranks of the next iteration, of what edges add; the same ones where they converged."""
    if added.values is None:
        return ranks
    xp, vertices = device.array_module(ranks.values), ranks.values.size
    values, state = xp.empty(vertices), ranks.state.copy()
    device.launch(
        "rank", "start_ranks", vertices, terms.restart, terms.restart.size, terms.share,
        terms.share.size, state, values, size=vertices,
    )  # fmt: skip
    values += added.values
    blocks = PARTS if xp is np else 4 * xp.cuda.Device().attributes["MultiProcessorCount"]
    partials = xp.zeros(2 * blocks)
    device.launch(
        "rank", "measure", vertices, False, values, terms.sinks, state, ranks.values, partials,
        size=vertices, geometry=(blocks, 256),
    )  # fmt: skip
    device.launch(
        "rank", "settle", blocks, tolerance, partials, state, size=blocks, geometry=(1, 256)
    )
    return Ranks(values, state, Run(*(a + b for a, b in zip(ranks.run, added.run))))


def standing(ranks):
    """(iterations, the last change, whether they converged, what it took)."""
    done, residual, _, converged = ranks.state.tolist()
    return int(done), residual, converged != 0, ranks.run


# Rows of results, by id from `first` to before `stop`


def level_rows(share, first, stop, last, found, as_weights):
    """Of BFS, or as SSSP gives distances in edges; `found` may be None, for no predecessors."""
    layered = share.layered
    before = layered.xp.empty(0, layered.xp.int32) if found is None else found.values
    levels = sweeps.levels(layered, last, before)
    distances = levels.distances[first:stop]
    known = distances >= 0
    if as_weights:
        distances = layered.xp.where(known, distances.astype(np.float64), math.inf)
    else:
        distances = distances, known
    before = None if found is None else levels.predecessors[first:stop]
    return _found_rows(layered, first, stop, distances, before)


def path_rows(share, first, stop, distances, before):
    layered = share.layered
    distances = sweeps.by_id(layered, distances.values)[first:stop]
    before = None if before is None else sweeps.by_id(layered, before.values)[first:stop]
    return _found_rows(layered, first, stop, distances, before)


def _found_rows(layered, first, stop, distances, before):
    columns = {"distance": distances}
    if before is not None:
        columns |= layered.named(before, before < NO_VERTEX, "predecessor")
    return _rows(layered, first, stop, columns)


def rank_rows(share, first, stop, ranks, value_type):
    layered = share.layered
    values = sweeps.by_id(layered, ranks.values)[first:stop].astype(value_type)
    return _rows(layered, first, stop, {"pagerank": values})


def _rows(layered, first, stop, columns):
    frame = layered.label(columns, layered.xp.arange(first, stop, dtype=np.int32))
    frame.index = importlib.import_module(frames.library_of(frame)).RangeIndex(first, stop)
    return frame


def no_rows(frame):
    return frame.iloc[:0]
