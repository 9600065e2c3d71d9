"""Array modules, GPU availability and free memory of the CPU and GPU.

The package runs on NumPy or CuPy arrays, and the type of an array decides where a computation runs.
CuPy is never imported to classify an array: an array of it exists only if it has been imported.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard, get_args

import numpy as np

from ..errors import GpuUnavailableError, GraphError, format_value

Array: TypeAlias = Any  # numpy.ndarray or cupy.ndarray, which have the same interface
ArrayModule: TypeAlias = Any  # the module numpy or cupy, by convention called xp
Device = Literal["auto", "cpu", "gpu"]

logger = logging.getLogger(__name__)
# Pairs of page-locked memory and an event by device id, which no copy uses.
_idle_buffers: dict[int, list[tuple[Any, Any]]] = {}

CGROUP_MOUNT, CGROUP_MEMBERSHIP = "/sys/fs/cgroup", "/proc/self/cgroup"
# Of each version of control groups: the files of the limit and the usage of memory, and the field
# of memory.stat that counts reclaimable memory.
CGROUP_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
CGROUP_V2 = ("memory.max", "memory.current", "inactive_file")
NO_CGROUP_LIMIT = 1 << 60  # version 1 reports a number near 2^63 for an unlimited group

ALIGNMENT = 256  # bytes, of arrays that share an allocation
MAX_MERGED_BYTES = 2**16  # of groups of arrays that are kept longer than needed
MAX_READ_BYTES = 64  # of values that `start_reading` copies
MIN_CUDA_CACHE_BYTES = 2**24  # CuPy's kernel cache is not used on a disk with less free space


def is_on_gpu(array: object) -> bool:
    """Return whether `array` is a CuPy array, without importing CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def is_array(values: object) -> TypeGuard[Array]:
    """Return whether `values` is a NumPy or CuPy array."""
    return isinstance(values, np.ndarray) or is_on_gpu(values)


def array_module(array: object) -> ArrayModule:
    """Return the module `cupy` for a CuPy array and `numpy` for anything else."""
    if not is_on_gpu(array):
        return np
    check_cuda_cache()
    return sys.modules["cupy"]


def to_host(array: Any) -> np.ndarray:
    """Return an array in host memory: a copy of a CuPy array, or a NumPy array itself."""
    return array.get() if is_on_gpu(array) else array


def import_cupy() -> ArrayModule:
    """Import CuPy and return it."""
    return importlib.import_module("cupy")


def allocate(
    xp: ArrayModule, *, zeroed: Collection[str] = (), **sizes: tuple[int, Any]
) -> dict[str, Array]:
    """Return one-dimensional arrays by name, which share one allocation on a GPU.

    An allocation takes as long as a launch there. The memory is freed with the last array.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    zeroed : collection of str, default ()
        Names of the arrays whose values are 0; other values are undefined.
    **sizes : (int, dtype)
        Number and type of the values of each array.
    """
    return allocate_groups(xp, sizes, zeroed=zeroed)


def allocate_groups(
    xp: ArrayModule, *groups: dict[str, tuple[int, Any]], zeroed: Collection[str] = ()
) -> dict[str, Array]:
    """Return arrays by name as `allocate` does, with one allocation for each group on a GPU.

    If the groups after the first are small, they are placed in its allocation, and their memory is
    freed with it.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    *groups : dict from str to (int, dtype)
        Number and type of the values of each array. The first group should live longest.
    zeroed : collection of str, default ()
        As for `allocate`.
    """
    if xp is np:
        _check_names(zeroed, *groups)
        return {
            name: np.zeros(size, dtype) if name in zeroed else np.empty(size, dtype)
            for group in groups
            for name, (size, dtype) in group.items()
        }
    arrays: dict[str, Array] = {}
    for allocation in _plan_allocations(tuple(zeroed), *[tuple(group.items()) for group in groups]):
        memory = xp.cuda.alloc(allocation.num_bytes)
        if allocation.num_zeroed_bytes:
            memory.memset_async(0, allocation.num_zeroed_bytes)
        for name, size, dtype, start in allocation.places:
            arrays[name] = xp.ndarray(size, dtype, memory + start)
    return arrays


class _Allocation(NamedTuple):
    """An allocation of several arrays, of which those that are zeroed come first.

    Attributes
    ----------
    num_bytes, num_zeroed_bytes : int
    places : tuple of (str, int, dtype, int)
        Name, number and type of values, and offset in bytes of each array.
    """

    num_bytes: int
    num_zeroed_bytes: int
    places: tuple[tuple[str, int, Any, int], ...]


@functools.lru_cache(1024)  # in calls on small graphs, this would take longer than an allocation
def _plan_allocations(
    zeroed: tuple[str, ...], *groups: tuple[tuple[str, tuple[int, Any]], ...]
) -> tuple[_Allocation, ...]:
    """Return the allocations of `allocate_groups`, given the items of the groups."""
    _check_names(zeroed, *[[name for name, _ in group] for group in groups])
    first, *others = groups
    num_bytes = [sum(_aligned_bytes(*size) for _, size in group) for group in others]
    are_small = sum(num_bytes) <= MAX_MERGED_BYTES
    merged, separate = [*first], []
    for group, count in zip(others, num_bytes, strict=True):
        if are_small or not count:
            merged += group
        else:
            separate.append([*group])
    return tuple(_plan_allocation(zeroed, group) for group in [merged, *separate])


def _plan_allocation(
    zeroed: tuple[str, ...], group: list[tuple[str, tuple[int, Any]]]
) -> _Allocation:
    """Return the allocation of a group, given its items."""
    starts, num_bytes, num_zeroed_bytes = {}, 0, 0
    for name, size in sorted(group, key=lambda item: item[0] not in zeroed):
        starts[name] = num_bytes
        num_bytes += _aligned_bytes(*size)
        if name in zeroed:
            num_zeroed_bytes = num_bytes
    places = [(name, size, dtype, starts[name]) for name, (size, dtype) in group]
    return _Allocation(num_bytes, num_zeroed_bytes, tuple(places))


def _check_names(zeroed: Collection[str], *groups: Collection[str]) -> None:
    names = [name for group in groups for name in group]
    assert len(set(names)) == len(names)
    assert set(zeroed) <= set(names)


def _aligned_bytes(size: int, dtype: Any) -> int:
    return -(-size * np.dtype(dtype).itemsize // ALIGNMENT) * ALIGNMENT


def start_reading(values: Array) -> Callable[[], list[Any]]:
    """Start to copy a few values to the host; return a function that waits for them.

    The host waits for the work before this call, not for what is launched afterwards.

    Parameters
    ----------
    values : array, C-contiguous, of at most `MAX_READ_BYTES`
    """
    assert values.nbytes <= MAX_READ_BYTES
    assert values.flags.c_contiguous
    if not is_on_gpu(values):
        numbers: list[Any] = values.tolist()
        return lambda: numbers
    cuda = import_cupy().cuda
    # Page-locked memory and an event take longer to make than to use.
    idle = _idle_buffers.setdefault(cuda.runtime.getDevice(), [])
    try:
        memory, has_arrived = idle.pop()
    except IndexError:
        memory = cuda.alloc_pinned_memory(MAX_READ_BYTES)
        has_arrived = cuda.Event(disable_timing=True)
    stream = cuda.get_current_stream()
    cuda.runtime.memcpyAsync(
        memory.ptr, values.data.ptr, values.nbytes, cuda.runtime.memcpyDeviceToHost, stream.ptr
    )
    has_arrived.record(stream)
    return _PendingRead(memory, has_arrived, idle, values.dtype, values.size)


class _PendingRead:
    """A copy of values to page-locked memory, which returns to a pool with the last reference.

    It has no reference to the values, which may share a large allocation: memory is reused in the
    order of the stream, so it may be freed before the copy has run.
    """

    __slots__ = "_has_arrived", "_idle", "_memory", "_numbers", "_values"

    def __init__(
        self, memory: Any, has_arrived: Any, idle: list[tuple[Any, Any]], dtype: Any, size: int
    ) -> None:
        self._memory, self._has_arrived, self._idle = memory, has_arrived, idle
        self._values = np.frombuffer(memory, dtype, size)
        self._numbers: list[Any] | None = None

    def __call__(self) -> list[Any]:
        if self._numbers is None:
            self._has_arrived.synchronize()
            self._numbers = self._values.tolist()
        return self._numbers

    def __del__(self) -> None:
        try:
            self._has_arrived.synchronize()  # an error may have prevented a call
            self._idle.append((self._memory, self._has_arrived))
        except Exception:  # CUDA has failed or shut down; at exit, `suppress` may be gone
            pass


def synchronize(xp: ArrayModule) -> None:
    """Wait until all work on the current stream of `xp` has completed; a no-op for NumPy."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()


def device_name(xp: ArrayModule) -> str:
    """Return "gpu" for CuPy and "cpu" for NumPy."""
    return "cpu" if xp is np else "gpu"


@functools.cache
def check_cuda_cache() -> None:
    """Cache CUDA kernels in memory, with a warning, if the disk of CuPy's cache is full.

    CuPy recovers from damaged cache entries, but raises OSError from every kernel launch if it
    cannot write one.
    """
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if (
        os.environ.get("CUPY_CACHE_IN_MEMORY")
        or shutil.disk_usage(folder).free >= MIN_CUDA_CACHE_BYTES
    ):
        return
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # CuPy reads the variable at each compilation
    warnings.warn(
        f"compiled CUDA kernels are not cached, because the disk of {folder} is full; every "
        "process compiles them again. Free disk space, or set CUPY_CACHE_DIR to a folder on "
        "another disk",
        stacklevel=2,
    )


@functools.cache
def gpu_problem() -> str | None:
    """Return why CUDA kernels cannot run on this machine, or None if they can.

    Runs a kernel, because an outdated driver or compiler library does not show before.
    """
    try:
        import cupy
    except ImportError as error:
        return f"CuPy cannot be imported ({error}); install rapidsgraph[cu13] or rapidsgraph[cu12]"
    except Exception as error:  # a broken installation can raise anything
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
def cudf_problem() -> str | None:
    """Return why cuDF cannot be imported, or None if it can."""
    try:
        import cudf  # noqa: F401
    except Exception as error:  # cuDF checks driver and libraries during its import
        return f"cuDF cannot be imported ({error}); install rapidsgraph[cu13] or rapidsgraph[cu12]"
    return None


def frame_library_problem() -> str | None:
    """Return why cuDF frames cannot be used on this machine, or None if they can."""
    return gpu_problem() or cudf_problem()


def choose(device: Device) -> Literal["cpu", "gpu"]:
    """Resolve `"auto"`, `"cpu"` or `"gpu"` to `"cpu"` or `"gpu"`.

    Raises
    ------
    GraphError
        If `device` is none of the three.
    GpuUnavailableError
        If `device` is `"gpu"` and no GPU with cuDF works; the message says what is missing.
    """
    if not isinstance(device, str) or device not in get_args(Device):
        raise GraphError(
            f"device is {format_value(device)}; it can be 'auto', 'cpu' or 'gpu'",
            parameter="device",
            value=device,
        )
    if device == "cpu":
        return "cpu"
    problem = frame_library_problem()
    if device == "gpu" and problem:
        raise GpuUnavailableError(
            f"device='gpu' was requested, but {problem}. `rapidsgraph doctor` reports details",
            parameter="device",
            value=device,
            hint="run `rapidsgraph doctor`",
        )
    if problem:
        logger.debug("device 'auto' is the CPU: %s", problem)
    return "cpu" if problem else "gpu"


def free_memory(xp: ArrayModule) -> int:
    """Return how many bytes new arrays of `xp` can take.

    On a CPU this is the least of the available physical memory, the limits of the control groups
    and the resource limits of the process (RLIMIT_AS, RLIMIT_DATA). On a GPU it is the free device
    memory plus the unused part of CuPy's and RMM's pools, within the allocation limits of RMM.

    RMM does not report how much of its pool is in use, so the whole pool counts as free, and not
    its maximum size either.
    """
    if xp is np:
        import psutil

        bounds, cgroup = [psutil.virtual_memory().available], cgroup_memory()
        if cgroup is not None:
            bounds.append(cgroup[1])
        return min(bounds + _free_address_space())
    free = xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes()
    rmm = sys.modules.get("rmm")
    if rmm is None:
        return free
    resource, free_below_limits = rmm.mr.get_current_device_resource(), []
    # Resources that count, log or limit allocations wrap the pool.
    while not hasattr(resource, "pool_size") and hasattr(resource, "get_upstream"):
        if hasattr(resource, "get_allocation_limit"):
            free_below_limits.append(
                resource.get_allocation_limit() - resource.get_allocated_bytes()
            )
        resource = resource.get_upstream()
    free += resource.pool_size() if hasattr(resource, "pool_size") else 0
    return max(0, min([free, *free_below_limits]))


def _free_address_space() -> list[int]:
    """Return the bytes below each finite resource limit of this process; Linux only."""
    if not sys.platform.startswith("linux"):
        return []
    import resource

    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if all(limit == resource.RLIM_INFINITY for limit in limits):
        return []
    statm = Path("/proc/self/statm").read_text().split()
    used = [int(statm[field]) * resource.getpagesize() for field in (0, 5)]  # size, data
    return [
        max(limit - num_bytes, 0)
        for limit, num_bytes in zip(limits, used, strict=True)
        if limit != resource.RLIM_INFINITY
    ]


def cgroup_memory() -> tuple[int, int] | None:
    """Return the limit and the free bytes of the Linux control groups around this process.

    A container, a batch job or a service limits the memory of its processes by a control group
    [1]_, and the groups that contain it may be limited too: the result is the tightest limit and
    the least free memory, or None if no group is limited. Cached file pages count as used by a
    group, but the inactive ones are reclaimed before the limit takes effect, so they count as free
    here.

    References
    ----------
    .. [1] Linux kernel documentation, Documentation/admin-guide/cgroup-v2.rst and
       Documentation/admin-guide/cgroup-v1/memory.rst.
    """
    # In a container the mount point usually is the container's own group, and the paths in
    # CGROUP_MEMBERSHIP do not exist.
    first, second = (f"{CGROUP_MOUNT}/memory", CGROUP_V1), (str(CGROUP_MOUNT), CGROUP_V2)
    groups = [second, first]
    with contextlib.suppress(OSError):
        for line in os.fsdecode(_read(CGROUP_MEMBERSHIP)).splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if controllers and "memory" not in controllers.split(","):
                continue
            folder, fields = first if controllers else second
            for component in filter(None, path.split("/")):
                folder = f"{folder}/{component}"
                groups.append((folder, fields))
    limits: list[int] = []
    free: list[int] = []
    for folder, (limit_file, usage_file, field) in groups:
        with contextlib.suppress(OSError, ValueError):  # no such group, or its limit is "max"
            limit = _read_integer(f"{folder}/{limit_file}")
            if 0 <= limit < NO_CGROUP_LIMIT:  # version 1 also reports -1
                usage = _read_integer(f"{folder}/{usage_file}")
                with contextlib.suppress(OSError, ValueError):
                    usage -= _read_integer(f"{folder}/memory.stat", field)
                limits.append(limit)
                free.append(min(limit, max(limit - usage, 0)))
    return (min(limits), min(free)) if limits else None


def _read_integer(path: str, field: str = "") -> int:
    """Return the number in a file, or behind the name of a field, which begins a line."""
    text = _read(path)
    if field:
        _, _, text = (b"\n" + text).partition(f"\n{field} ".encode())
        text = text.partition(b"\n")[0]
    return int(text)


def _read(path: str) -> bytes:
    """Return the content of a small file, without the buffers that take longer than the read."""
    with open(path, "rb", buffering=0) as file:
        return file.read()
