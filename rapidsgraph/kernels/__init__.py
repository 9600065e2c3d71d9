"""Kernels: a CUDA file and a Numba module with the same entries for every inner loop.

Attributes are imported when they are first used (PEP 562), because importing Numba takes longer
than anything else in the package.
"""

import importlib
from types import ModuleType
from typing import Any


def __getattr__(name: str) -> ModuleType | Any:
    """Import `compiled`, `parallel` and `serial` from `compiler`, any other name as a module."""
    if name in ("compiled", "parallel", "serial"):
        return getattr(importlib.import_module(f"{__name__}.compiler"), name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
