"""Sum weights by key, with the same result whatever the scheduling of threads."""

from __future__ import annotations

import numpy as np

from .. import device
from ..device.arrays import Array


def count_by_key(keys: Array, num_keys: int) -> Array:
    """Return the number of items of each key: float64.

    Parameters
    ----------
    keys : int32, shape (items,)
        At least 0 and below `num_keys`.
    num_keys : int
    """
    xp = device.array_module(keys)
    return _launch_sum(keys, device.no_values(float, xp), xp.zeros(num_keys))


def sum_by_key(keys: Array, weights: Array, num_keys: int) -> Array:
    """Return the sum of the weights of each key: float64, rounded.

    On a CPU weights are added in the order of the items. On a GPU the sum is that of the weights as
    multiples of 2^-62 of the power of 2 that the largest of their key reaches, in any order.

    Parameters
    ----------
    keys : int32, shape (items,)
        At least 0 and below `num_keys`.
    weights : shape (items,)
        Finite numbers.
    num_keys : int
    """
    if device.array_module(keys) is np:
        return _launch_sum(keys, weights, np.zeros(num_keys))
    return sum_in_parts(keys, weights, num_keys)


def sum_in_parts(keys: Array, weights: Array, num_keys: int) -> Array:
    """Return what `sum_by_key` does on a GPU, on any device."""
    xp, num_items = device.array_module(keys), keys.size
    sums = xp.zeros(num_keys)
    high, low = xp.zeros(num_keys, xp.int64), xp.zeros(num_keys, xp.int64)
    items = {"num_items": num_items, "keys": keys, "weights": weights}
    device.launch("key_sums", "find_largest", size=num_items, **items, largest=sums)
    device.launch(
        "key_sums", "add_parts", size=num_items, **items, largest=sums, high=high, low=low
    )
    device.launch(
        "key_sums", "join_parts", size=num_keys, num_keys=num_keys, high=high, low=low, sums=sums
    )
    return sums


def _launch_sum(keys: Array, weights: Array, sums: Array) -> Array:
    device.launch(
        "key_sums", "sum_by_key", size=keys.size, num_items=keys.size, keys=keys, weights=weights,
        weighted=weights.size > 0, sums=sums,
    )  # fmt: skip
    return sums
