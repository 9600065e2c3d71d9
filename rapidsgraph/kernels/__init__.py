"""CUDA kernels and their Numba twins.

`stem.cu` and `stem.py` define the same entries with the same parameters in the same order; the
`.cu` file documents both. `jit` compiles the twins and caches them on disk, in `cache_folders`;
`outline` makes their parallel loops functions of their own, and `subroutine` compiles the kernels
that others call. `intrinsics`, `disjoint_sets`, `searches` and `sections` are functions that twins
share; CUDA has them built in or in `.cuh` files. `clustering`, `counting`, `edge_similarity`,
`ordered_bfs`, `outofcore`, `pruned_scan`, `quotes`, `radix_heap`, `reachability`,
`strong_components`, `text` and `zero_weight_edges` run on CPUs only: `clustering` does in one
launch what takes a GPU several on large graphs, CuPy, `radix_sort` and `bucket_sort` sort on a GPU,
threads that prune diverge there, files are read and written by the host, heaps, queues and searches
of long paths are sequential, and cuDF gathers text itself.

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
