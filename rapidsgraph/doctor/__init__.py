"""Report the devices and libraries of this machine, and what prevents the use of a GPU.

`collect` gathers a report, `format_report` shows them to people, and `advice.advise` derives the
next steps. GPUs are queried through NVML (`pynvml`), which allocates no GPU memory.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, device, generate, kernels
from ..errors import GraphError
from .advice import EXTRAS, GIB, Report, advise

__all__ = ["collect", "format_report"]

CPU_LIBRARIES = ("pandas", "pyarrow", "numba", "dask", "distributed", "matplotlib")
LIBRARIES = (*CPU_LIBRARIES, "cupy", "cudf", "rmm", "dask_cudf", "dask_cuda")
CUDA_SUFFIX = re.compile(r"-cu(?:da)?(\d\d)x?$")  # cudf-cu13, cupy-cuda13x
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;.*extra == \W(\w+))?")
CONTAINER_FILES = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
VISIBILITY = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
DRIVER_FILE = "/proc/driver/nvidia/version"


def collect() -> Report:
    """Collect a report on this machine, as JSON-compatible values, and the advice on them.

    None stands for what is absent or unknown; sizes of memory are in bytes.
    """
    import psutil

    hardware, numba, gpu_problem = _hardware(), _numba(), device.frame_library_problem()
    driver, gpus = _driver(hardware)
    libraries = {name: _library(name) for name in LIBRARIES}
    cgroup = device.cgroup_memory()
    has_affinity = hasattr(os, "sched_getaffinity")
    report = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "rapidsgraph": __version__,
        "container": _container(),
        "cpu": {
            "cores": len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
            "memory_free": device.free_memory(np),
            "memory_total": psutil.virtual_memory().total,
            "memory_limit": cgroup and cgroup[0],
        },
        "numba": numba,
        "driver": driver,
        "gpus": gpus,
        "hardware": hardware,
        "cuda": _cuda() if gpus and libraries["cupy"]["version"] else None,
        "libraries": libraries,
        "cuda_packages": _cuda_packages(),
        "version_conflicts": list(_version_conflicts(libraries)),
        "gpu_problem": gpu_problem,
        "works": {"cpu": numba["problem"] is None, "gpu": gpu_problem is None},
    }
    return report | {"advice": list(advise(report))}


def _hardware() -> Report:
    """Look in the file system for an NVIDIA GPU, and in the environment for what may hide it."""
    present = Path(DRIVER_FILE).exists()
    for folder in Path("/sys/bus/pci/devices").glob("*"):
        with contextlib.suppress(OSError):
            vendor, kind = ((folder / name).read_text() for name in ("vendor", "class"))
            present |= vendor.strip() == "0x10de" and kind.startswith("0x03")  # NVIDIA, display
    files = sorted(map(str, [*Path("/dev").glob("nvidia[0-9]*"), *Path("/dev").glob("dxg")]))
    return {
        "present": present,
        "device_files": files,
        "inaccessible": [file for file in files if not os.access(file, os.R_OK | os.W_OK)],
        "visibility": {name: os.environ[name] for name in VISIBILITY if name in os.environ},
    }


def _driver(hardware: Report) -> tuple[Report | None, list[Report]]:
    """Query NVML for the driver and for the GPUs that CUDA shows to this process."""
    driver: Report = {"version": None, "cuda": None, "problem": None}
    try:
        import pynvml as nvml
    except ImportError:  # part of the GPU extras; the kernel knows the version of its driver
        with contextlib.suppress(OSError):
            version = re.search(r"\s(\d{3,}\.[\d.]+)\s", Path(DRIVER_FILE).read_text())
            if version and hardware["device_files"]:
                return driver | {"version": version[1]}, []
        return None, []
    try:
        nvml.nvmlInit()
        driver["version"] = nvml.nvmlSystemGetDriverVersion()
        driver["cuda"] = _cuda_version(nvml.nvmlSystemGetCudaDriverVersion_v2())
        return driver, [_gpu(nvml, handle) for handle in _visible_handles(nvml)]
    except nvml.NVMLError_LibraryNotFound:
        return None, []
    except nvml.NVMLError as error:
        return driver | {"problem": f"the NVIDIA driver does not answer ({error})"}, []


def _visible_handles(nvml: Any) -> Iterator[Any]:
    """Yield NVML handles of GPUs and MIG instances as CUDA_VISIBLE_DEVICES selects them."""
    selected = os.environ.get("CUDA_VISIBLE_DEVICES")
    if selected is None:
        yield from map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
        return
    for entry in map(str.strip, selected.split(",")):
        is_index = entry.isdigit()
        get = nvml.nvmlDeviceGetHandleByIndex if is_index else nvml.nvmlDeviceGetHandleByUUID
        try:
            handle = get(int(entry) if is_index else entry)
        except nvml.NVMLError:
            return  # CUDA ignores what follows an invalid entry
        yield handle


def _gpu(nvml: Any, handle: Any) -> Report:
    def query(name):
        with contextlib.suppress(nvml.NVMLError):  # an integrated GPU has no memory of its own
            return getattr(nvml, f"nvmlDeviceGet{name}")(handle)

    memory, capability = query("MemoryInfo"), query("CudaComputeCapability")
    return {
        "name": query("Name"),
        "memory_total": memory and memory.total,
        "memory_free": memory and memory.free,
        "compute_capability": capability and "{}.{}".format(*capability),
    }


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _cuda() -> Report:
    """Ask CuPy for the CUDA runtime, and compile an empty kernel with NVRTC."""
    import cupy

    report = dict.fromkeys(("runtime", "nvrtc", "nvrtc_problem"))
    with contextlib.suppress(Exception):  # `gpu_problem` has the reason
        report["runtime"] = _cuda_version(cupy.cuda.runtime.runtimeGetVersion())
    try:
        report["nvrtc"] = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
        source = 'extern "C" __global__ void empty() {}'
        cupy.RawModule(code=source, options=("-std=c++17",)).compile()
    except Exception as error:  # the library is missing, cannot be loaded, or lacks headers
        report["nvrtc_problem"] = " ".join(str(error).split())
    return report


def _container() -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "Kubernetes"
    if "APPTAINER_CONTAINER" in os.environ or "SINGULARITY_CONTAINER" in os.environ:
        return "Apptainer"
    kinds = (kind for file, kind in CONTAINER_FILES.items() if Path(file).exists())
    return next(kinds, os.environ.get("container"))  # noqa: SIM112  as systemd-nspawn and LXC set it


def _numba() -> Report:
    """Run a parallel kernel, since Numba selects its threading layer only then."""
    report: Report = dict.fromkeys(("threads", "threading_layer", "cache", "problem", "setting"))
    report |= {"entries": 0, "entry_bytes": 0, "damaged": [], "unsafe": {}, "is_temporary": False}
    try:
        device.check_num_threads()
        import numba

        cache_folders, jit = kernels.cache_folders, kernels.jit
        with warnings.catch_warnings():  # the advice has the same content
            warnings.simplefilter("ignore", cache_folders.KernelCacheWarning)
            unsafe_folders = cache_folders.unsafe_folders().items()
            report["unsafe"] = {str(path): reason for path, reason in unsafe_folders}
            report["damaged"] = list(map(str, jit.damaged_entries()))
            generate.uniform(8, 8, device="cpu")
            folder = cache_folders.write_folder()
            paths = jit.entries(folder) if folder else []
        report["cache"] = folder and str(folder)
        report["is_temporary"] = folder is not None and folder == cache_folders.temporary_folder()
        report["entries"] = len(paths)
        report["entry_bytes"] = sum(path.stat().st_size for path in paths)
        report["threads"] = device.num_threads()
        report["threading_layer"] = numba.threading_layer()
    except GraphError as error:
        report["problem"], report["setting"] = str(error), error.parameter
    except Exception as error:  # a broken installation may raise anything
        report["problem"] = str(error)
    return report


def _library(name: str) -> Report:
    try:
        with warnings.catch_warnings():  # of settings, which are reported
            warnings.simplefilter("ignore", RuntimeWarning)
            return {"version": str(importlib.import_module(name).__version__), "problem": None}
    except ModuleNotFoundError as error:
        return {"version": None, "problem": "not installed" if error.name == name else str(error)}
    except Exception as error:  # a broken library may raise anything
        return {"version": None, "problem": f"{type(error).__name__}: {error}"}


def _cuda_packages() -> dict[str, int]:
    """Return {package: CUDA major version} of CuPy and RAPIDS as pip installed them."""
    names = sorted((distribution.name or "").lower() for distribution in metadata.distributions())
    suffixes = {name: CUDA_SUFFIX.search(name) for name in names}
    return {
        name: int(suffix[1])
        for name, suffix in suffixes.items()
        if suffix and name[: suffix.start()].replace("-", "_") in LIBRARIES
    }


def _version_conflicts(libraries: dict[str, Report]) -> Iterator[tuple]:
    """Yield (library, version, specifier, extra) where the metadata of rapidsgraph differ."""
    for library, (specifier, extra) in _requirements().items():
        version = libraries.get(library, {}).get("version")
        # pyproject.toml has `>=2.2.2` and `==26.10.*` only.
        bound, numbers = (re.findall(r"\d+", text or "") for text in (specifier, version))
        bound, numbers = list(map(int, bound)), list(map(int, numbers))
        is_exact = specifier.startswith("==")
        if version and (numbers[: len(bound)] != bound if is_exact else numbers < bound):
            yield library, version, specifier, extra


def _requirements() -> dict[str, tuple[str, str | None]]:
    """Return {library: (version specifier, extra)}; empty in a source tree not installed."""
    requirements: dict[str, tuple[str, str | None]] = {}
    with contextlib.suppress(metadata.PackageNotFoundError):
        for match in filter(None, map(REQUIREMENT.match, metadata.requires("rapidsgraph") or [])):
            name, specifier, extra = match.groups()
            name = CUDA_SUFFIX.sub("", name.lower()).replace("-", "_")
            if name in LIBRARIES:
                requirements.setdefault(name, (specifier.strip(), extra))
    return requirements


def format_report(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the report as (label, text) pairs."""
    cpu, numba, driver, cuda = (report[name] for name in ("cpu", "numba", "driver", "cuda"))
    yield "rapidsgraph", f"{report['rapidsgraph']}, Python {report['python']}, {report['system']}"
    if report["container"]:
        yield "container", report["container"]
    is_limited = cpu["memory_limit"] is not None and cpu["memory_limit"] < cpu["memory_total"]
    limit = f", limited to {cpu['memory_limit'] / GIB:.1f} GiB" if is_limited else ""
    yield "CPU", f"{cpu['cores']} cores, {_format_memory(cpu)}{limit}"
    text = f"{numba['threads']} threads, threading layer {numba['threading_layer']}"
    if numba["threading_layer"] == "workqueue":  # aborts if two threads enter parallel kernels
        text += " (one calling thread at a time; install libgomp1 for OpenMP)"
    yield "Numba", numba["problem"] or text
    text = f"cached in {numba['cache']}, which is "
    text += "temporary" if numba["is_temporary"] else "writable"
    if numba["cache"] is None:
        text = "not cached, compiled by every process"
    if numba["entries"]:
        noun = "file" if numba["entries"] == 1 else "files"
        text += f"; {numba['entries']} {noun}, {numba['entry_bytes'] / 2**20:.1f} MiB"
    yield "kernels", text
    if driver is None:
        yield "driver", "not found"
    else:
        maximum = f"CUDA up to {driver['cuda']}" if driver["cuda"] else "pynvml is not installed"
        yield "driver", driver["problem"] or f"{driver['version']}, {maximum}"
    for gpu in report["gpus"]:
        capability = f"compute capability {gpu['compute_capability'] or 'unknown'}"
        yield "GPU", f"{gpu['name']}, {_format_memory(gpu)}, {capability}"
    if cuda:
        yield "CUDA runtime", cuda["runtime"] or "unknown"
        yield "NVRTC", cuda["nvrtc_problem"] or f"{cuda['nvrtc']}, compiles"
    for name, library in report["libraries"].items():
        text = library["version"] or library["problem"]
        is_extra = text == "not installed" and name in EXTRAS
        yield name, text + (f"; pip install 'rapidsgraph[{EXTRAS[name]}]'" if is_extra else "")
    yield "runs on CPU", "yes" if report["works"]["cpu"] else "no"
    yield "runs on GPU", "yes" if report["works"]["gpu"] else "no"


def _format_memory(memory: Report) -> str:
    if memory["memory_free"] is None:
        return "memory unknown"
    free, total = memory["memory_free"] / GIB, memory["memory_total"] / GIB
    return f"{free:.1f} of {total:.1f} GiB memory free"
