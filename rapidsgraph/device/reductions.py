"""Reductions of arrays on either device."""

from __future__ import annotations

import numpy as np

from .arrays import Array, array_module, is_on_gpu
from .launcher import launch


def count_nonzero(values: Array) -> int:
    """Return the number of values that are not 0, or true.

    `sum`, `any` and `all` of CuPy compile kernels for Boolean arrays that take seconds.

    Parameters
    ----------
    values : array of bool or numbers, any shape, C-contiguous
    """
    if not is_on_gpu(values):
        return int(np.count_nonzero(values))
    count = array_module(values).zeros(1, "int64")
    launch(
        "reduce", "count_nonzero", size=values.size,
        num_values=values.size, values=values, count=count,
    )  # fmt: skip
    return int(count[0])
