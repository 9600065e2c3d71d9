"""Compilation and launch of kernels.

A kernel is a pair of twins in `kernels/`, `stem.cu` and `stem.py`, with the same entry names and
the same parameters in the same order. `launch` runs the CUDA twin for CuPy arrays and the Python
twin, which Numba compiles unless it has no loop, for NumPy arrays.

In a `.cu` file scalars are `long long` or `double`. Element types that vary end in `_t`, such as
`value_t`; they are bound to the dtypes of the arrays, and each combination is compiled once.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..kernels.constants import BLOCK_THREADS, COOPERATIVE_THREADS, macros
from .arrays import Array, is_on_gpu
from .threads import kernel_lock, limit_threads

STATIC_SHARED_BYTES = 4 * 1024  # of a block that has much dynamic shared memory, too, at most
# Kernels without element types that the same call launches. Each group is one compilation, because
# even the smallest kernel takes 0.03 seconds.
GROUPS = {
    "build": (
        ("pack_pairs", "split_pairs", "mark_first"),
        ("mark_proper", "sort_endpoints", "count_upper", "expand_rows"),
    ),
    "coloring": (
        ("mark_active", "multiply_degrees", "find_smallest", "join_reached", "reset_colors"),
    ),
    "scan": (
        ("label_members", "measure_clusters", "list_clusters", "number_clusters",
         "assign_clusters", "find_hubs", "assign_roles"),
    ),
}  # fmt: skip
MAX_COMPILER_THREADS = 16
MINIMAL = ("--minimal",)  # without textures, the device runtime and dynamic parallelism
C_TYPES = {  # by name of the dtype
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
C_TYPE_OF = {np.dtype(name): c_type for name, c_type in C_TYPES.items()}  # faster than by name
KERNELS = Path(__file__).parents[1] / "kernels"
ENTRY_POINT = re.compile(
    r'extern "C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(([^)]*)\)'
)


# CUDA sources


@functools.cache
def signatures(stem: str) -> dict[str, list[tuple[str, str]]]:
    """Return the (type, name) pairs of the parameters of each entry of `kernels/stem.cu`."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", (KERNELS / f"{stem}.cu").read_text(), flags=re.S)
    return {
        entry: [_parse_parameter(parameter) for parameter in parameters.split(",")]
        for entry, parameters in ENTRY_POINT.findall(source)
    }


def _parse_parameter(text: str) -> tuple[str, str]:
    *words, name = re.findall(r"\w+", text)
    c_type = " ".join(word for word in words if word not in ("const", "__restrict__"))
    return c_type + ("*" if "*" in text else ""), name


def cuda_source(stem: str) -> str:
    """Return the text of `kernels/stem.cu` with its includes expanded once each.

    Line directives make compilers report the real file and line.
    """
    return _expand_includes(KERNELS / f"{stem}.cu", set())


def select_entries(source: str, *entries: str) -> str:
    """Return a CUDA source of which only some entries are compiled.

    The others become templates, for which compilers generate no code, so that a first call does
    not wait for kernels that it does not launch.
    """

    def replace(match: re.Match[str]) -> str:
        is_selected = match[1] in entries
        return match[0] if is_selected else match[0].replace('extern "C"', "template <int>")

    return ENTRY_POINT.sub(replace, source)


def _expand_includes(path: Path, included: set[Path]) -> str:
    text = path.read_text()
    included.add(path)

    def include(match: re.Match[str]) -> str:
        other, line = path.with_name(match[1]), text.count("\n", 0, match.end()) + 2
        expanded = "" if other in included else _expand_includes(other, included)
        return f'{expanded}\n#line {line} "{path.as_posix()}"'

    body = re.sub(r'^#include "(\w+\.cuh)"$', include, text, flags=re.M)
    return f'#line 1 "{path.as_posix()}"\n{body}'


def constants(source: str) -> dict[str, int]:
    """Return the values of the shared constants that a CUDA source uses, by name."""
    names = set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", source))
    return {name: value for name, value in macros().items() if name in names}


def constant_macros(source: str) -> tuple[str, ...]:
    """Return compiler options that define the shared constants a CUDA source uses."""
    return tuple(f"-D{name}={value}" for name, value in constants(source).items())


# Compilation


# Compiled modules by the arguments of `_module_key`, or futures of them.
_modules: dict[tuple, Any] = {}
_compiler = ThreadPoolExecutor(
    min(MAX_COMPILER_THREADS, os.cpu_count() or 1), thread_name_prefix="rapidsgraph-compiler"
)


def _cancel_compilations() -> None:
    _compiler.shutdown(wait=False, cancel_futures=True)


# The interpreter waits for all jobs of executors before it calls functions of `atexit`. Those of
# `threading` are called before that, but are private, and a later Python may have none.
getattr(threading, "_register_atexit", atexit.register)(_cancel_compilations)


def _module_key(
    stem: str, entry: str, types: tuple[tuple[str, str], ...], cooperative: bool, device_id: int
) -> tuple:
    """Return what identifies a compilation; entries of one group have the same key."""
    group = next((group for group in GROUPS.get(stem, ()) if entry in group), (entry,))
    return stem, group, types, cooperative, device_id


def compile_in_thread(
    stem: str, entry: str, types: tuple[tuple[str, str], ...], cooperative: bool, device_id: int
) -> None:
    """Start to compile a CUDA entry in a thread, unless another one has or the process ends.

    Parameters
    ----------
    stem, entry, cooperative
        As for `launch`.
    types : tuple of (str, str)
        Names of element types and their C types, sorted.
    device_id : int
    """
    import cupy

    key = _module_key(stem, entry, types, cooperative, device_id)
    if key in _modules:
        return

    def compile_on_device() -> Any:
        with cupy.cuda.Device(device_id):
            return _compile(*key[:-1])

    with suppress(RuntimeError):  # at exit, when other threads may still launch kernels
        _modules[key] = _compiler.submit(compile_on_device)


def wait_for_compilations() -> None:
    """Wait until threads have compiled all entries that they were given."""
    wait([module for module in list(_modules.values()) if isinstance(module, Future)])


def _cuda_function(
    stem: str, entry: str, types: tuple[tuple[str, str], ...], cooperative: bool, device_id: int
) -> Any:
    key = _module_key(stem, entry, types, cooperative, device_id)
    module = _modules.get(key)
    if isinstance(module, Future):
        # This thread compiles what no other one has begun. It also tries again what has failed,
        # because of a full disk or of memory.
        is_missing = module.cancel() or module.exception() is not None
        module = None if is_missing else module.result()
    if module is None:
        module = _compile(*key[:-1])
    _modules[key] = module
    return module.get_function(entry)


@functools.cache
def _compiler_options() -> tuple[str, ...]:
    """Return the options of NVRTC, which from 12.4 on can omit features that no kernel uses."""
    import cupy

    is_minimal = tuple(cupy.cuda.nvrtc.getVersion()) >= (12, 4)
    return ("-std=c++17", *MINIMAL) if is_minimal else ("-std=c++17",)


def _compile(
    stem: str, group: tuple[str, ...], types: tuple[tuple[str, str], ...], cooperative: bool
) -> Any:
    """Return the compiled module of a group of entries."""
    import cupy

    source = select_entries(cuda_source(stem), *group)
    # Definitions are part of the source: CuPy runs the preprocessor once for each set of options.
    definitions = {**constants(source), **dict(types)}
    lines = [f"#define {name} {value}\n" for name, value in definitions.items()]
    module = cupy.RawModule(
        code="".join([*lines, source]),
        options=_compiler_options(),
        enable_cooperative_groups=cooperative,
    )
    module.get_function(group[0])  # compiles the module
    return module


def _bind(stem: str, entry: str, arrays: list[Array]) -> tuple[tuple[str, str], ...]:
    """Return the type of each element type of an entry; check those of its arrays."""
    types: dict[str, str] = {}
    parameters = [parameter for parameter in signatures(stem)[entry] if parameter[0].endswith("*")]
    for (c_type, name), array in zip(parameters, arrays, strict=True):
        parameter_type, actual = c_type[:-1], C_TYPE_OF[array.dtype]
        is_generic = parameter_type.endswith("_t")
        expected = types.setdefault(parameter_type, actual) if is_generic else parameter_type
        if actual != expected or not array.flags.c_contiguous:
            raise TypeError(f"{stem}.{entry}: {name} is {actual}, not contiguous {expected}")
    return tuple(sorted(types.items()))


# Launches


@functools.cache
def resident_blocks(function: Any, threads: int, shared_bytes: int) -> int:
    """Return how many blocks of `threads` the GPU holds at once, the limit of a grid barrier."""
    import cupy

    blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        function.kernel.ptr, threads, shared_bytes
    )
    return blocks * cupy.cuda.Device().attributes["MultiProcessorCount"]


def max_cooperative_blocks() -> int:
    """Return an upper bound on the blocks of `COOPERATIVE_THREADS` that the current GPU holds."""
    return _max_cooperative_blocks(current_gpu())


def num_multiprocessors() -> int:
    """Return the number of multiprocessors of the current GPU."""
    return _num_multiprocessors(current_gpu())


def max_shared_bytes() -> int:
    """Return the dynamic shared memory that a block may have on the current GPU, in bytes."""
    return _max_shared_bytes_per_block(current_gpu()) - STATIC_SHARED_BYTES


@functools.cache
def _max_shared_bytes_per_block(device_id: int) -> int:
    import cupy

    return cupy.cuda.Device(device_id).attributes["MaxSharedMemoryPerBlockOptin"]


def current_gpu() -> int:
    """Return the number of the current GPU; CuPy has been imported."""
    return sys.modules["cupy"].cuda.runtime.getDevice()


@functools.cache
def _max_cooperative_blocks(device_id: int) -> int:
    import cupy

    threads = cupy.cuda.Device(device_id).attributes["MaxThreadsPerMultiProcessor"]
    return threads // COOPERATIVE_THREADS * _num_multiprocessors(device_id)


@functools.cache
def _num_multiprocessors(device_id: int) -> int:
    import cupy

    return cupy.cuda.Device(device_id).attributes["MultiProcessorCount"]


class _Entry(NamedTuple):
    """What every launch of an entry needs.

    Attributes
    ----------
    names : tuple of str
        The parameters in order.
    select : callable
        Returns their values as a tuple, given a dict of arguments.
    scalars : list of (int, type)
        Positions and Python types of scalars: both Numba and CuPy take their types from values.
    arrays : list of int
        Positions of the arrays.
    """

    names: tuple[str, ...]
    select: Callable[[dict[str, Any]], tuple[Any, ...]]
    scalars: list[tuple[int, type]]
    arrays: list[int]


@functools.cache
def _find_entry(stem: str, entry: str) -> _Entry:
    types: dict[str, type] = {"long long": int, "double": float}
    kinds = [types.get(c_type) for c_type, _ in signatures(stem)[entry]]
    names = tuple(name for _, name in signatures(stem)[entry])
    assert len(names) > 1  # for one, itemgetter does not return a tuple
    return _Entry(
        names,
        itemgetter(*names),
        [(position, kind) for position, kind in enumerate(kinds) if kind is not None],
        [position for position, kind in enumerate(kinds) if kind is None],
    )


@functools.cache
def _find_twin(stem: str, entry: str) -> Any:
    return getattr(importlib.import_module(f"rapidsgraph.kernels.{stem}"), entry)


# Compiled functions by stem, entry, cooperative, device and types of the arrays.
_bound_functions: dict[tuple, Any] = {}
_with_shared_memory: set[tuple] = set()  # those that may have all the shared memory of a block


def launch(
    stem: str,
    entry: str,
    /,
    *,
    size: int,
    geometry: tuple[int, int] | None = None,
    threads: int = BLOCK_THREADS,
    cooperative: bool = False,
    shared_bytes: int = 0,
    **arguments: Any,
) -> None:
    """Run an entry of the kernel `stem` on the device of its arrays.

    Parameters
    ----------
    stem, entry : str
        File name in `kernels/` without its suffix, and the function in it.
    size : int
        Number of work items. On a GPU each gets a thread, within 64 blocks per multiprocessor;
        kernels stride over the rest. On a CPU it decides between one thread and all.
    geometry : (blocks, threads), optional
        Grid of a CUDA launch, instead of one that follows from `size` and `threads`.
    threads : int, default `BLOCK_THREADS`
        Threads per block.
    cooperative : bool, default False
        Whether the kernel synchronizes the whole grid, which is limited to resident blocks then.
    shared_bytes : int, default 0
        Dynamic shared memory of a block, in bytes.
    **arguments
        All parameters of the kernel by name: NumPy or CuPy arrays and scalars.

    Raises
    ------
    TypeError
        If an argument is missing or unexpected, or on a GPU has another element type.
    """
    names, select, scalars, array_positions = _find_entry(stem, entry)
    try:
        values = [*select(arguments)]
    except KeyError:
        values = []
    if len(values) != len(arguments):
        missing = [name for name in names if name not in arguments]
        unexpected = [name for name in arguments if name not in names]
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unexpected {', '.join(unexpected)}"] if unexpected else []
        raise TypeError(f"{stem}.{entry}: {'; '.join(problems)}")
    for position, kind in scalars:
        if type(values[position]) is not kind:
            values[position] = kind(values[position])
    if not is_on_gpu(values[array_positions[0]]):
        twin = _find_twin(stem, entry)
        if isinstance(twin, FunctionType):  # operations of NumPy, on one thread
            twin(*values)
            return
        with kernel_lock(), limit_threads(size):
            twin(*values)
        return
    device_id = current_gpu()
    arrays = [values[position] for position in array_positions]
    key = (stem, entry, cooperative, device_id, *[array.dtype for array in arrays])
    is_contiguous = all([array.flags.c_contiguous for array in arrays])  # faster than by iterator
    function = _bound_functions.get(key) if is_contiguous else None
    if function is None:
        types = _bind(stem, entry, arrays)
        function = _cuda_function(stem, entry, types, cooperative, device_id)
        _bound_functions[key] = function
    if shared_bytes and key not in _with_shared_memory:
        # CUDA requires a request for more than 48 KiB; all threads make the same.
        limit = _max_shared_bytes_per_block(device_id)
        function.max_dynamic_shared_size_bytes = limit - function.shared_size_bytes
        _with_shared_memory.add(key)
    if geometry is None:
        max_blocks = (
            resident_blocks(function, threads, shared_bytes)
            if cooperative
            else 64 * _num_multiprocessors(device_id)
        )
        geometry = (max(1, min(max_blocks, -(-size // threads))), threads)
    blocks, threads = geometry
    function((int(blocks),), (int(threads),), tuple(values), shared_mem=shared_bytes)
