"""Edges in the order of two keys: the step every adjacency list starts from.

Means: rows sorted by (major, minor), equal pairs in their original order, as offsets by major
  and the minor keys; optionally the permutation, for weights.
Requires: keys are int32 in [0, bound).
Reference: counting sort per digit (least significant first) on a CPU, where rows are few beside
  keys NumPy's lexsort; on a GPU the keys are packed into 64 bits for CuPy's radix sort. None takes
  more than 20 bytes a row at its peak, the permutation included, besides counters for `bound` keys.
"""

import numpy as np

from . import device

FEW = 16  # keys a row, from which on counters of keys cost more than comparing rows


def sort_pairs(pairs, bound, *, with_order=False, minor_sorted=False):
    """Sort rows by (major, minor).

    Parameters
    ----------
    pairs : list of two int32 arrays of shape (rows,)
        [major, minor]; emptied, so that their memory is free once they are packed or moved.
    bound : int
        Both keys are below it.
    with_order : bool
        Also return which input row each output row is.
    minor_sorted : bool
        `minor` ascends already, so that a stable pass by `major` is all it takes.

    Returns
    -------
    offsets : int64, shape (bound + 1,)
    minor : int32, shape (rows,)
    order : integers, shape (rows,), or None
    """
    if not device.is_on_gpu(pairs[0]):
        return _sort_on_cpu(pairs, bound, with_order, minor_sorted)
    return (_order_on_gpu if with_order else _sort_on_gpu)(pairs, bound, minor_sorted)


def _sort_on_gpu(pairs, bound, _):
    cupy = device.array_module(pairs[0])
    keys = cupy.left_shift(pairs.pop(0), 32, dtype=cupy.int64)
    keys |= pairs.pop()
    keys.sort()
    return _offsets_of_sorted(keys, bound, cupy), keys.view(cupy.int32)[::2].copy(), None


def _order_on_gpu(pairs, bound, minor_sorted):
    major, minor = pairs
    pairs.clear()
    cupy = device.array_module(major)
    if major.size >= 2**32:
        raise ValueError(f"{major.size} weighted rows on one GPU; 2^32 is the most")
    order = None
    if not minor_sorted:
        order, _ = _positions_by(minor, bound, cupy)
        major = major[order]
    by_major, offsets = _positions_by(major, bound, cupy)
    del major
    order = by_major if order is None else order[by_major]
    return offsets, minor[order], order


def _positions_by(key, bound, cupy):
    """The stable order by `key`, as uint32, and offsets by key."""
    keys = cupy.left_shift(key, 32, dtype=cupy.int64)
    keys |= cupy.arange(key.size, dtype=cupy.uint32)
    keys.sort()
    return keys.view(cupy.uint32)[::2].copy(), _offsets_of_sorted(keys, bound, cupy)


def _offsets_of_sorted(keys, bound, cupy):
    """Where each major begins among sorted packed keys; a search a vertex beats an atomic an edge.

    (CuPy's bincount takes gigabytes for millions of bins: a histogram a block.)
    """
    majors = cupy.arange(bound + 1, dtype=cupy.int64)
    majors <<= 32
    return cupy.searchsorted(keys, majors)


def _sort_on_cpu(pairs, bound, with_order, minor_sorted):
    from .kernels import counting

    device.check_forked()
    major, minor = pairs
    pairs.clear()
    rows = major.size
    if rows < bound // FEW:
        order = np.lexsort((minor, major))
        offsets = np.zeros(bound + 1, np.int64)
        np.cumsum(np.bincount(major, minlength=bound), out=offsets[1:])
        return offsets, minor[order], order if with_order else None
    index = np.int32 if rows < 2**31 else np.int64
    # A counter for each part and key: parts are worth their counters only while keys repeat.
    parts = max(1, min(counting.threads(), rows // max(bound, 1)))
    order = np.arange(rows, dtype=index) if with_order else np.empty(0, index)
    # Files are often in order already, and finding out takes a fraction of sorting.
    offsets, disorder = np.empty(bound + 1, np.int64), np.zeros(counting.threads(), bool)
    with device.one_parallel_kernel:
        counting.sorted_offsets(major, minor, offsets, disorder)
    if not disorder.any():
        return offsets, minor.copy(), order if with_order else None
    if not minor_sorted:
        offsets, cursors = _counters(minor, bound, parts, index)
        moved = np.empty_like(major)
        moved_order = np.empty_like(order)
        with device.one_parallel_kernel:
            counting.move(minor, major, order, cursors, moved, moved_order)
        major, order = moved, moved_order
        del moved, moved_order, cursors
    else:
        offsets = None
    new_offsets, cursors = _counters(major, bound, parts, index)
    new_minor = np.empty(rows, np.int32)
    new_order = np.empty_like(order)
    with device.one_parallel_kernel:
        if offsets is None:
            counting.move(major, minor, order, cursors, new_minor, new_order)
        else:
            counting.move_rows(major, offsets, order, cursors, new_minor, new_order)
    return new_offsets, new_minor, new_order if with_order else None


def _counters(keys, bound, parts, index):
    """Offsets by key, and for each part where its first item of each key goes."""
    from .kernels import counting

    cursors = np.zeros((parts, bound), index)
    offsets = np.empty(bound + 1, np.int64)
    with device.one_parallel_kernel:
        counting.count(keys, cursors)
        counting.accumulate_parts(cursors, offsets)
    return offsets, cursors
