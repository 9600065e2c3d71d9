"""Build a layered edge list from a file of edges that does not fit in memory.

The stages are in `build`. Their Numba kernels are in `kernels`, which is imported when the first
of them runs, because importing Numba takes long.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ... import device

# Constants that kernels share with the host.
NO_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)  # no edge: the source of a key is below 2^31
KEEP_ALL = -1  # the merge policy that keeps parallel edges


def run_kernel(name: str, *arguments: Any) -> Any:
    """Run a kernel of `kernels`, with as many threads as its largest array is worth."""
    kernel = getattr(importlib.import_module(".kernels", __name__), name)
    size = max(each.size for each in arguments if isinstance(each, np.ndarray))
    with device.parallel_region(size):
        return kernel(*arguments)
