"""Sums of weights by key on a CPU: the twins of key_sums.cu, which documents them."""

import numpy as np

from .constants import SUM_HIGH_BITS, SUM_LOW_BITS
from .jit import serial


@serial
def sum_by_key(num_items, keys, weights, weighted, sums):
    for i in range(num_items):
        sums[np.uint32(keys[i])] += weights[i] if weighted else 1.0


def find_largest(num_items, keys, weights, largest):
    np.maximum.at(largest, keys, np.abs(weights.astype(np.float64)))


def add_parts(num_items, keys, weights, largest, high, low):
    exponents = np.frexp(largest[keys])[1] - 1
    scaled = np.ldexp(weights.astype(np.float64), SUM_HIGH_BITS - exponents)
    whole = np.rint(scaled)
    np.add.at(high, keys, whole.astype(np.int64))
    np.add.at(low, keys, np.rint(np.ldexp(scaled - whole, SUM_LOW_BITS)).astype(np.int64))


def join_parts(num_keys, high, low, sums):
    exponents = np.frexp(sums)[1] - 1 - SUM_HIGH_BITS
    whole, rest = high + (low >> SUM_LOW_BITS), low & (2**SUM_LOW_BITS - 1)
    sums[:] = np.ldexp(whole + np.ldexp(rest.astype(np.float64), -SUM_LOW_BITS), exponents)
