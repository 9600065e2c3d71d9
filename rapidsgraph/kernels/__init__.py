"""Kernels, twin beside twin; what the Numba twins share is how they are compiled."""

import numba


def compiled(**options):
    """numba.njit without the GIL, cached on disk where Numba finds a folder that it may write."""

    def decorate(function):
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except (
            RuntimeError
        ):  # "no locator available": an installation and a home that are read-only
            return numba.njit(nogil=True, **options)(function)

    return decorate


parallel, serial = compiled(parallel=True), compiled()
