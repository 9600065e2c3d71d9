"""Compilation of the Numba twins: `numba.njit` without the GIL, cached by `KernelCache`."""

import numba

from .cache import KernelCache


def compiled(**options):
    """Return a decorator that compiles a function with Numba and caches the code on disk."""

    def decorate(function):
        dispatcher = numba.njit(nogil=True, **options)(function)
        dispatcher._cache = KernelCache(function)  # what `cache=True` does with Numba's own
        return dispatcher

    return decorate


parallel, serial = compiled(parallel=True), compiled()
