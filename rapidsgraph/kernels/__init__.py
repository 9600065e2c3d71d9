"""CUDA kernels and their Numba twins.

`stem.cu` and `stem.py` define the same entries with the same parameters in the same order; the
`.cu` file documents both. `jit` compiles the twins and caches them on disk. `intrinsics`,
`disjoint_sets` and `sections` are functions that twins share; CUDA has them built in or in `.cuh`
files. `counting`, `outofcore` and `quotes` run on CPUs only: CuPy sorts on a GPU, and
files are read and written by the host.

Modules are imported when they are first used (PEP 562), because importing Numba takes longer than
anything else in the package.
"""

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a module of kernels."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
