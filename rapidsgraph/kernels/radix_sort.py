"""The twins of radix_sort.cu, of NumPy operations. A CPU sorts by `counting` instead."""

import numpy as np

from .constants import SORT_DIGITS


def count_digits(num_keys, first_bit, num_bits, digit_bits, num_passes, keys, histograms):
    compared = keys >> first_bit & ((1 << num_bits) - 1)
    digits = compared[:, None] >> digit_bits * np.arange(num_passes) & ((1 << digit_bits) - 1)
    cells = (np.arange(num_passes) * SORT_DIGITS + digits).ravel()
    histograms += np.bincount(cells, minlength=histograms.size)


def sort_by_digit(
    num_keys,
    shift,
    digit_bits,
    with_positions,
    is_first,
    histogram,
    keys,
    positions,
    new_keys,
    new_positions,
    states,
    ticket,
):
    order = np.argsort(keys >> shift & ((1 << digit_bits) - 1), kind="stable")
    new_keys[:] = keys[order]
    if with_positions:
        new_positions[:] = order if is_first else positions[order]
