"""A stable sort of integers by some of their bits, which takes no more passes than these need."""

from __future__ import annotations

import numpy as np

from .. import device
from ..device import Array
from ..kernels.constants import BLOCK_THREADS, SORT_DIGITS, SORT_PASSES, SORT_TILE

DIGIT_BITS = SORT_DIGITS.bit_length() - 1
BLOCKS_PER_MULTIPROCESSOR = 2048 // BLOCK_THREADS  # that are resident, at most
MAX_SHORT_STATES = 2**29  # keys that a state of 32 bits counts


def count_digits(keys: Array, first_bit: int, num_bits: int) -> Array:
    """Return how many keys have each digit in each pass of `sort_by_bits`.

    Returns
    -------
    int64, shape (passes * SORT_DIGITS,)
    """
    size = _count_passes(num_bits) * SORT_DIGITS
    histograms = device.array_module(keys).zeros(size, np.int64)
    _add_digits(keys, first_bit, num_bits, histograms)
    return histograms


def _add_digits(keys: Array, first_bit: int, num_bits: int, histograms: Array) -> None:
    num_passes = _count_passes(num_bits)
    # More blocks than a GPU holds at once would only add to the histograms more often.
    max_blocks = BLOCKS_PER_MULTIPROCESSOR * device.num_multiprocessors()
    geometry = max(1, min(max_blocks, -(-keys.size // BLOCK_THREADS))), BLOCK_THREADS
    device.launch(
        "radix_sort", "count_digits", size=keys.size, geometry=geometry, num_keys=keys.size,
        first_bit=first_bit, num_bits=num_bits, digit_bits=-(-num_bits // num_passes),
        num_passes=num_passes, keys=keys, histograms=histograms,
    )  # fmt: skip


def _count_passes(num_bits: int) -> int:
    return max(1, -(-num_bits // DIGIT_BITS))


def sort_by_bits(
    keys: Array,
    first_bit: int,
    num_bits: int,
    *,
    with_positions: bool = False,
    histograms: Array | None = None,
) -> tuple[Array, Array]:
    """Return the keys in the stable order of some of their bits, and their former positions.

    Parameters
    ----------
    keys : int64, shape (keys,)
        At least 0; overwritten.
    first_bit, num_bits : int
        The keys are compared by `num_bits` bits from `first_bit` on.
    with_positions : bool, default False
        Whether to return positions, of fewer than 2^32 keys.
    histograms : array, optional
        From `count_digits` of the same keys and bits, if it has been called.

    Returns
    -------
    keys : int64, shape (keys,)
    positions : uint32, shape (keys,), or (0,) without positions
    """
    xp, num_keys = device.array_module(keys), keys.size
    positions = new_positions = device.no_values(np.uint32, xp)
    if not num_keys:
        return keys, positions
    num_passes = _count_passes(num_bits)
    if with_positions:
        new_positions = xp.empty(num_keys, xp.uint32)
    if with_positions and num_passes > 1:  # the first pass reads none
        positions = xp.empty(num_keys, xp.uint32)
    digit_bits, num_tiles = -(-num_bits // num_passes), -(-num_keys // SORT_TILE)
    assert num_passes <= SORT_PASSES
    assert num_keys < 2**32 or not with_positions
    state_type = xp.int32 if num_keys < MAX_SHORT_STATES else xp.int64
    counters = device.allocate(
        xp, zeroed=("states", "tickets", "histograms"),
        states=(num_tiles * SORT_DIGITS, state_type), tickets=(num_passes, np.uint64),
        histograms=(num_passes * SORT_DIGITS if histograms is None else 0, np.int64),
    )  # fmt: skip
    states, tickets = counters["states"], counters["tickets"]
    if histograms is None:
        histograms = counters["histograms"]
        _add_digits(keys, first_bit, num_bits, histograms)
    new_keys = xp.empty_like(keys)
    for number in range(num_passes):
        bit = number * digit_bits
        if number:
            states.fill(0)
        device.launch(
            "radix_sort", "sort_by_digit", size=num_keys, geometry=(num_tiles, SORT_DIGITS),
            num_keys=num_keys, shift=first_bit + bit, digit_bits=min(digit_bits, num_bits - bit),
            with_positions=with_positions, is_first=number == 0,
            histogram=histograms[number * SORT_DIGITS :], keys=keys, positions=positions,
            new_keys=new_keys, new_positions=new_positions,
            states=states, ticket=tickets[number:],
        )  # fmt: skip
        keys, new_keys = new_keys, keys
        positions, new_positions = new_positions, positions
    return keys, positions
