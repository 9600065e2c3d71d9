"""The twins of radix_sort.cu, of NumPy operations. A CPU sorts by `counting` instead."""

import numpy as np

from .constants import SORT_TILE


def _cells(shift, num_digits, keys, num_cells):
    """Return the index of each item's digit and tile in `counts` and `starts`."""
    digits, tiles = keys >> shift & (num_digits - 1), np.arange(keys.size) // SORT_TILE
    return digits * np.int64(num_cells // num_digits) + tiles


def count_digits(num_items, shift, num_digits, keys, counts):
    counts[:] = np.bincount(_cells(shift, num_digits, keys, counts.size), minlength=counts.size)


def move_items(num_items, shift, num_digits, keys, values, starts, new_keys, new_values):
    cells = _cells(shift, num_digits, keys, starts.size)
    order, sizes = np.argsort(cells, kind="stable"), np.bincount(cells, minlength=starts.size)
    ranks = np.arange(num_items) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    to = np.repeat(starts, sizes) + ranks
    new_keys[to], new_values[to] = keys[order], values[order]


def find_key_offsets(num_keys, num_items, keys, offsets):
    offsets[:] = np.searchsorted(keys, np.arange(num_keys + 1))
