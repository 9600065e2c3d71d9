"""Decorators that compile the Numba twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from .cache import KernelCache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that applies numba.njit without the GIL, cached by `KernelCache`."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, **options)(function)
        dispatcher._cache = KernelCache(function)  # replaces the cache of `cache=True`
        return dispatcher

    return decorate


parallel, serial = compiled(parallel=True), compiled()
