"""The one CPU/GPU switch: which array module, launching a kernel's twin, memory facts.

A kernel is a pair of twins beside each other in `kernels/`: `stem.cu` and `stem.py`, with the
same entry names and the same parameters in the same order. `launch` looks at the arrays it is
given: CuPy arrays run the CUDA twin, NumPy arrays the Numba twin. Nothing else in the package
asks where it runs, except `array_module`, `gpu_problem` and the memory facts below.

In a `.cu` file scalars are `long long` or `double`; the element types that vary end in `_t`
(`value_t`), are bound here from the dtypes of the arrays, and are compiled once a combination.
"""

import contextlib
import functools
import importlib
import os
import re
import shutil
import sys
import threading
import warnings
from pathlib import Path

import numpy as np

from ..errors import GpuUnavailableError, GraphError, format_value
from . import cgroup

CUDA_CACHE_BYTES = 2**24  # free on the disk of CuPy's cache, below which it is not used
FEW = 2**15  # work items that one CPU thread does alone
KERNELS = Path(__file__).parents[1] / "kernels"
C_TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
# Numba's workqueue layer aborts the process when two threads enter parallel kernels at once.
one_parallel_kernel = threading.Lock()
_ran_parallel = _forked_after = False


def _after_fork():
    """A child has the lock as it was, held perhaps by a thread that it does not have."""
    global one_parallel_kernel, _forked_after
    one_parallel_kernel = threading.Lock()
    _forked_after = _ran_parallel


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_forked():
    """Raise where a parallel kernel would kill the process: GNU OpenMP does not survive a fork."""
    global _ran_parallel
    if _forked_after and sys.modules["numba"].threading_layer() == "omp":
        raise GraphError(
            "this process was forked from one that had already run parallel kernels, which GNU "
            "OpenMP does not survive; start processes by 'spawn' or 'forkserver', or set "
            "NUMBA_THREADING_LAYER=workqueue before the first call"
        )
    _ran_parallel = True


def is_on_gpu(array):
    """Whether `array` is a CuPy array; never imports CuPy to find out."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def is_array(values):
    """Whether `values` is a NumPy or CuPy array."""
    return isinstance(values, np.ndarray) or is_on_gpu(values)


def array_module(array):
    """`cupy` for a CuPy array, `numpy` for everything else."""
    if not is_on_gpu(array):
        return np
    check_cuda_cache()
    return sys.modules["cupy"]


def import_cupy():
    """CuPy, imported now if nobody has."""
    return importlib.import_module("cupy")


def finish(xp):
    """Wait until arrays of `xp` are as they were told to become."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()


def name_of(xp):
    """ "gpu" for CuPy, "cpu" for NumPy."""
    return "cpu" if xp is np else "gpu"


@functools.cache
def check_cuda_cache():
    """Cache CUDA kernels in memory if the disk of CuPy's cache is full; warn once.

    CuPy detects damaged entries, and raises OSError from any kernel that it cannot write.
    """
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if os.environ.get("CUPY_CACHE_IN_MEMORY") or shutil.disk_usage(folder).free >= CUDA_CACHE_BYTES:
        return
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # CuPy reads it at each compilation
    warnings.warn(
        f"compiled CUDA kernels are not cached, because the disk of {folder} is full; they are "
        "compiled again in the next process. Free disk space, or set CUPY_CACHE_DIR to another "
        "folder of your own",
        stacklevel=2,
    )


@functools.cache
def gpu_problem():
    """What keeps this machine from running CUDA kernels, in one sentence; None when nothing does.

    Runs a kernel, because a GPU whose driver or compiler library is too old shows only then.
    """
    try:
        import cupy
    except ImportError as error:
        return f"CuPy cannot be imported ({error}); install rapidsgraph[cu13] or rapidsgraph[cu12]"
    except Exception as error:  # a broken installation raises whatever it likes
        return f"CuPy fails to import: {error}"
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "the driver reports no GPU"
        check_cuda_cache()
        if int((cupy.arange(3) + 1).sum()) != 6:
            return "a test kernel gave a wrong sum"
    except Exception as error:  # driver, NVRTC and allocation errors have no common base
        return f"CuPy {cupy.__version__} cannot use the GPU: {error}"
    return None


@functools.cache
def frame_library_problem():
    """What keeps cuDF from being used here, in one sentence; None when nothing does."""
    problem = gpu_problem()
    if problem:
        return problem
    try:
        import cudf  # noqa: F401
    except Exception as error:  # cuDF checks driver and libraries while it is imported
        return f"cuDF cannot be imported ({error}); install rapidsgraph[cu13] or rapidsgraph[cu12]"
    return None


def choose(device):
    """Turn `"auto"`, `"cpu"` or `"gpu"` into `"cpu"` or `"gpu"`.

    Raises
    ------
    GraphError
        Another word.
    GpuUnavailableError
        `"gpu"` where none works; the message says what is missing.
    """
    if not isinstance(device, str) or device not in ("auto", "cpu", "gpu"):
        raise GraphError(f"device is {format_value(device)}; it can be 'auto', 'cpu' or 'gpu'")
    if device == "cpu":
        return "cpu"
    problem = frame_library_problem()
    if device == "gpu" and problem:
        raise GpuUnavailableError(
            f"device='gpu' was asked for, but {problem}. `rapidsgraph doctor` tells more"
        )
    return "cpu" if problem else "gpu"


# Memory


def free_memory(xp):
    """Bytes that arrays of `xp` can still take on this machine, container or GPU.

    What an RMM or CuPy pool holds without using counts as free; RMM does not say how much of
    its pool is in use, so all of it counts, and a full pool is found out only by its own error.
    A limit of RMM's around its pool counts; the pool's own maximum it does not say either.
    On a CPU the limits of control groups and of the process (RLIMIT_AS, RLIMIT_DATA) count.
    """
    if xp is np:
        import psutil

        free, limits = psutil.virtual_memory().available, cgroup.memory()
        free = free if limits is None else min(free, limits[1])
        return min([free, *_free_of_process()])
    free = xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes()
    rmm = sys.modules.get("rmm")
    if rmm is None:
        return free
    resource, limits = rmm.mr.get_current_device_resource(), []
    while not hasattr(resource, "pool_size") and hasattr(resource, "get_upstream"):
        if hasattr(resource, "get_allocation_limit"):
            limits.append(resource.get_allocation_limit() - resource.get_allocated_bytes())
        resource = resource.get_upstream()  # what counts or logs is wrapped around a pool
    free += resource.pool_size() if hasattr(resource, "pool_size") else 0
    return max(0, min([free, *limits]))


def _free_of_process():
    """What the resource limits of this process leave of its memory, in bytes; Linux only."""
    if not sys.platform.startswith("linux"):
        return []
    import resource

    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if all(limit == resource.RLIM_INFINITY for limit in limits):
        return []
    pages = Path("/proc/self/statm").read_text().split()
    used = [int(pages[place]) * resource.getpagesize() for place in (0, 5)]
    return [
        max(limit - taken, 0)
        for limit, taken in zip(limits, used)
        if limit != resource.RLIM_INFINITY
    ]


# Kernels


@functools.cache
def signatures(stem):
    """{entry: [(type, parameter), ...]} of `kernels/stem.cu`, read from its text."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", (KERNELS / f"{stem}.cu").read_text(), flags=re.S)
    found = {}
    entry_point = re.compile(
        r'extern "C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(([^)]*)\)'
    )
    for entry, parameters in entry_point.findall(source):
        found[entry] = [
            (re.sub(r"\bconst\b|\*", "", kind).strip() + ("*" if "*" in parameter else ""), name)
            for parameter in parameters.split(",")
            for kind, name in [re.match(r"\s*(.*?)\s*(\w+)\s*$", parameter, re.S).groups()]
        ]
    return found


def cuda_source(stem):
    """The text of `kernels/stem.cu` and, once each, what it includes; compilers name real lines."""
    return _with_lines(KERNELS / f"{stem}.cu", set())


def _with_lines(path, included):
    text = path.read_text()
    included.add(path)

    def include(match):
        other, line = path.with_name(match[1]), text.count("\n", 0, match.end()) + 2
        inner = "" if other in included else _with_lines(other, included)
        return f'{inner}\n#line {line} "{path.as_posix()}"'

    body = re.sub(r'^#include "(\w+\.cuh)"$', include, text, flags=re.M)
    return f'#line 1 "{path.as_posix()}"\n{body}'


@functools.cache
def _cuda_module(stem, types, cooperative):
    import cupy

    options = ("-std=c++17", *(f"-D{name}={c_type}" for name, c_type in types))
    return cupy.RawModule(
        code=cuda_source(stem), options=options, enable_cooperative_groups=cooperative
    )


@functools.cache
def _cuda_function(stem, entry, types, cooperative, _device):
    return _cuda_module(stem, types, cooperative).get_function(entry)


def _bind(stem, entry, arguments):
    """Check arguments against the CUDA signature; return them converted, and the bound types."""
    parameters = signatures(stem)[entry]
    if len(parameters) != len(arguments):
        raise TypeError(f"{stem}.{entry} takes {len(parameters)} arguments, not {len(arguments)}")
    types, converted = {}, []
    for (kind, name), argument in zip(parameters, arguments, strict=True):
        if not kind.endswith("*"):
            converted.append(np.int64(argument) if kind == "long long" else np.float64(argument))
            continue
        kind, given = kind[:-1], C_TYPES[argument.dtype.name]
        expected = types.setdefault(kind, given) if kind.endswith("_t") else kind
        if given != expected or not argument.flags.c_contiguous:
            raise TypeError(f"{stem}.{entry}: {name} is {given}, not contiguous {expected}")
        converted.append(argument)
    return converted, tuple(sorted(types.items()))


def resident_blocks(function, threads, shared_bytes):
    """Blocks of `threads` that all multiprocessors hold at once: the most a barrier can span."""
    import cupy

    each = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        function.kernel.ptr, threads, shared_bytes
    )
    return each * cupy.cuda.Device().attributes["MultiProcessorCount"]


def most_blocks():
    """More blocks than any cooperative launch on the current GPU has."""
    import cupy

    return 32 * cupy.cuda.Device().attributes["MultiProcessorCount"]


@contextlib.contextmanager
def _threads_for(size):
    """One thread for little work: others would take longer to come than it takes."""
    import numba

    most = numba.get_num_threads()
    numba.set_num_threads(1 if size < FEW else most)
    try:
        yield
    finally:
        numba.set_num_threads(most)


def launch(
    stem,
    entry,
    *arguments,
    size,
    geometry=None,
    threads=256,
    cooperative=False,
    shared_bytes=0,
):
    """Run the twin of `kernels/stem`'s `entry` that fits the arrays among `arguments`.

    Parameters
    ----------
    size : int
        Work items; on the GPU there are enough threads for one each, up to 64 blocks a
        multiprocessor (kernels stride over the rest). On a CPU little work is for one thread.
    geometry : (blocks, threads), optional
        Overrides both.
    cooperative : bool
        The kernel synchronises its whole grid: no more blocks than fit at once.
    shared_bytes : int
        Dynamic shared memory of a block.
    """
    if not any(is_on_gpu(argument) for argument in arguments):
        twin = getattr(importlib.import_module(f"rapidsgraph.kernels.{stem}"), entry)
        # Numba compiles anew for every type; a tolerance of 0 is no reason to.
        scalars = {"long long": int, "double": float}
        arguments = [
            scalars.get(kind, lambda array: array)(argument)
            for (kind, _), argument in zip(signatures(stem)[entry], arguments, strict=True)
        ]
        check_forked()
        with one_parallel_kernel, _threads_for(size):
            twin(*arguments)
        return
    import cupy

    converted, types = _bind(stem, entry, arguments)
    device = cupy.cuda.Device()
    function = _cuda_function(stem, entry, types, cooperative, device.id)
    if shared_bytes + function.shared_size_bytes > 48 * 1024:  # more has to be asked for
        function.max_dynamic_shared_size_bytes = shared_bytes
    if geometry is None:
        most = (
            resident_blocks(function, threads, shared_bytes)
            if cooperative
            else 64 * device.attributes["MultiProcessorCount"]
        )
        geometry = (max(1, min(most, -(-size // threads))), threads)
    function((int(geometry[0]),), (int(geometry[1]),), tuple(converted), shared_mem=shared_bytes)
