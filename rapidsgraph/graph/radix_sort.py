"""A stable sort of integer pairs by one of them, which takes no more passes than its bits need."""

from __future__ import annotations

from .. import device
from ..device import Array
from ..kernels.constants import SORT_DIGITS, SORT_TILE


def sort_by_key(keys: Array, num_keys: int, values: Array) -> tuple[Array, Array]:
    """Return the keys in ascending order, and the values in the stable order of their keys.

    Parameters
    ----------
    keys : int32, shape (items,)
        From 0 to ``num_keys - 1``.
    num_keys : int
    values : int32, shape (items,)
    """
    xp, num_items = device.array_module(keys), keys.size
    num_bits, digit_bits = max(1, (num_keys - 1).bit_length()), SORT_DIGITS.bit_length() - 1
    num_passes = -(-num_bits // digit_bits)
    digit_bits = -(-num_bits // num_passes)
    num_digits, num_tiles = 1 << digit_bits, -(-num_items // SORT_TILE)
    starts = xp.zeros(num_digits * num_tiles + 1, xp.int32 if num_items < 2**31 else xp.int64)
    counts = xp.empty(num_digits * num_tiles, starts.dtype)
    for shift in range(0, num_passes * digit_bits, digit_bits):
        tiles = {
            "size": num_items, "geometry": (num_tiles, SORT_DIGITS), "num_items": num_items,
            "shift": shift, "num_digits": num_digits,
        }  # fmt: skip
        device.launch("radix_sort", "count_digits", **tiles, keys=keys, counts=counts)
        xp.cumsum(counts, out=starts[1:])
        new_keys, new_values = xp.empty_like(keys), xp.empty_like(values)
        device.launch(
            "radix_sort", "move_items", **tiles, keys=keys, values=values, starts=starts[:-1],
            new_keys=new_keys, new_values=new_values,
        )  # fmt: skip
        keys, values = new_keys, new_values
    return keys, values


def find_offsets(keys: Array, num_keys: int) -> Array:
    """Return the number of sorted `keys` below each of 0 to `num_keys`: int64."""
    offsets = device.array_module(keys).empty(num_keys + 1, "int64")
    device.launch(
        "radix_sort", "find_key_offsets", size=num_keys + 1,
        num_keys=num_keys, num_items=keys.size, keys=keys, offsets=offsets,
    )  # fmt: skip
    return offsets
