"""Kernels, twin beside twin; what the Numba twins share is how they are compiled."""

import numba

from .cache import KernelCache


def compiled(**options):
    """Return a decorator: numba.njit without the GIL, cached on disk by `KernelCache`."""

    def decorate(function):
        dispatcher = numba.njit(nogil=True, **options)(function)
        dispatcher._cache = KernelCache(function)  # what `cache=True` does with Numba's own
        return dispatcher

    return decorate


parallel, serial = compiled(parallel=True), compiled()
