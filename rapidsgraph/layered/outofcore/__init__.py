"""Build a layered edge list from a file of edges that does not fit in memory; see `build`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import device, kernels


def run_kernel(name: str, *arguments: Any) -> Any:
    """Run a kernel of `kernels.outofcore`, with as many threads as its largest array is worth."""
    kernel = getattr(kernels.outofcore, name)
    size = max(argument.size for argument in arguments if isinstance(argument, np.ndarray))
    with device.kernel_lock(), device.limit_threads(size):
        return kernel(*arguments)
