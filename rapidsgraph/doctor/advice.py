"""Derive the next step for each problem from the report of `doctor.collect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Report = dict[str, Any]

GIB = 1 << 30
# CUDA major version: the driver and the compute capability that RAPIDS requires for it.
DRIVERS = {12: 535, 13: 580}
CAPABILITIES = {12: 7.0, 13: 7.5}
MIN_FREE = 0.5 * GIB  # bytes of a GPU; the CUDA context alone takes most of them
EXTRAS = {"dask": "dask", "distributed": "dask", "matplotlib": "plot"}
CONTAINER_GPU = {
    "Docker": "docker run --gpus all (in Compose: deploy.resources.reservations.devices)",
    "Podman": "podman run --device nvidia.com/gpu=all",
    "Kubernetes": "nvidia.com/gpu: 1 under resources.limits of the container",
    "Apptainer": "apptainer run --nv",
}
CACHE_FOLDER = "Set NUMBA_CACHE_DIR to a folder that only you can write to (mkdir -m 700)"


def advise(report: Report) -> Iterator[str]:
    """Yield one or two sentences for each problem."""
    yield from _numba(report["numba"])
    package, gpus = f"rapidsgraph[cu{_best_cuda(report)}]", report["gpus"]
    for name, version, specifier, extra in report["version_conflicts"]:
        wanted = f"rapidsgraph[{extra}]" if extra else "rapidsgraph"
        wanted = package if extra in ("cu12", "cu13") and report["driver"] else wanted
        yield (
            f"{name} {version} is installed, but rapidsgraph requires {name}{specifier}: "
            f"pip install '{wanted}'"
        )
    if report["gpu_problem"]:
        # From the hardware up: the first cause explains the ones after it.
        causes = (_no_driver, _no_gpu, _too_old, _wrong_packages, _memory_full, _broken_nvrtc)
        default = f"{report['gpu_problem']}. For this driver: pip install '{package}'"
        yield next(filter(None, (cause(report, package) for cause in causes)), default)
        return
    for text in _gpus_below(gpus, lambda total: total / 2):
        yield (
            f"{text}, which graphs and memory pools must fit into. To free more, end the processes "
            "that nvidia-smi lists, or select another GPU with CUDA_VISIBLE_DEVICES"
        )
    problem = report["libraries"]["dask_cuda"]["problem"]
    if len(gpus) > 1 and problem:
        yield (
            f"{len(gpus)} GPUs are available, and a call uses one. rg.cluster() uses all of them, "
            f"with Dask-CUDA ({problem}): pip install '{package}'"
        )


def _numba(numba: Report) -> Iterator[str]:
    if numba["setting"]:
        yield numba["problem"]
    elif numba["problem"]:
        yield f"Numba does not work ({numba['problem']}): pip install --force-reinstall numba"
    elif numba["cache"] is None:
        yield (
            "Compiled kernels are not cached, because no cache folder is private to you; every "
            f"process compiles them again, which takes seconds. {CACHE_FOLDER}"
        )
    elif numba["is_temporary"]:
        yield (
            f"Compiled kernels are cached in {numba['cache']}, which is temporary: no other "
            f"cache folder is writable and private to you. {CACHE_FOLDER}"
        )
    for path in numba["damaged"]:
        yield f"The cached kernel {path} is damaged; the next call that needs it replaces it"
    for folder, reason in numba["unsafe"].items():
        yield (
            f"Kernels cached in {folder} are ignored, because {reason}: code in it would run with "
            f"your permissions. {CACHE_FOLDER}"
        )


def _no_driver(report: Report, package: str) -> str | None:
    if report["driver"] is not None:
        return None
    container, is_present = report["container"], report["hardware"]["present"]
    text = "No NVIDIA driver was found, so everything runs on the CPU"
    if container:
        host = "The host has an NVIDIA GPU" if is_present else "If the host has an NVIDIA GPU"
        return f"{text}. {host}: {_start_with_gpu(container)}"
    if is_present:
        return (
            f"{text}, although an NVIDIA GPU is present. Install its driver, version {DRIVERS[13]} "
            "or newer for CUDA 13 (Debian: apt install nvidia-driver, Ubuntu: ubuntu-drivers "
            "install)"
        )
    return f"{text}. If the machine has an NVIDIA GPU, install its driver"


def _no_gpu(report: Report, package: str) -> str | None:
    driver, hardware = report["driver"], report["hardware"]
    if report["gpus"] or not (driver["cuda"] or driver["problem"]):  # or NVML was not asked
        return None
    problem = driver["problem"] or "The driver reports no GPU"
    for name, value in hardware["visibility"].items():
        if value.strip() in ("", "-1", "void", "none", "NoDevFiles"):
            fix = "unset it" if name.startswith("CUDA") else "start the container with 'all'"
            return f"{problem}; {name} is {value!r}, which hides every GPU: {fix}"
    if hardware["inaccessible"]:
        files = ", ".join(hardware["inaccessible"])
        return f"{problem}; you have no access to {files}: join the group of that file"
    if report["container"] and not hardware["device_files"]:
        return f"{problem}; this container has no GPU: {_start_with_gpu(report['container'])}"
    chosen = [f"{name} is {text!r}" for name, text in hardware["visibility"].items()]
    chosen = [text for text in chosen if not text.endswith("'all'")]
    if chosen and not driver["problem"]:
        return f"{problem}; {' and '.join(chosen)}: nvidia-smi -L lists the valid names"
    return f"{problem}; run nvidia-smi for details"


def _too_old(report: Report, package: str) -> str | None:
    driver = report["driver"]
    if _driver_cuda(driver) < min(DRIVERS):
        supported = f"supports CUDA {driver['cuda']}" if driver["cuda"] else "is too old"
        return (
            f"The driver {supported}; update it to version {DRIVERS[12]} or newer for CUDA 12, or "
            f"to {DRIVERS[13]} or newer for CUDA 13"
        )
    if _capability(report["gpus"]) < min(CAPABILITIES.values()):
        return (
            f"No GPU of this machine has compute capability {CAPABILITIES[12]} or higher, which "
            "RAPIDS requires, so everything runs on the CPU"
        )
    return None


def _wrong_packages(report: Report, package: str) -> str | None:
    packages, driver, best = report["cuda_packages"], report["driver"], _best_cuda(report)
    majors = sorted(set(packages.values()))
    if not majors or (len(majors) == 1 and majors[0] <= best):
        return None
    update = ""
    if majors[-1] > _driver_cuda(driver):
        update = f"update the driver to {DRIVERS[majors[-1]]} or newer, or "
    return (
        f"Packages for CUDA {' and '.join(map(str, majors))} are installed, but driver "
        f"{driver['version'] or driver['cuda']} and GPU need those for one CUDA version up to "
        f"{best}: {update}pip uninstall {' '.join(packages)}, then pip install '{package}'"
    )


def _memory_full(report: Report, package: str) -> str | None:
    texts = list(_gpus_below(report["gpus"], lambda total: MIN_FREE))
    text = f"{report['gpu_problem']}. {'; '.join(texts)}: end the processes that nvidia-smi lists"
    return text if texts else None


def _broken_nvrtc(report: Report, package: str) -> str | None:
    problem = report["cuda"] and report["cuda"]["nvrtc_problem"]
    if not problem:
        return None
    command = "conda install cuda-nvrtc cuda-cudart-dev"
    if report["cuda_packages"]:
        command = f"pip install --force-reinstall '{package}'"
    return f"NVRTC, the CUDA compiler, does not work ({problem}): {command}"


def _start_with_gpu(container: str) -> str:
    how = CONTAINER_GPU.get(container, "/dev/nvidia* and libcuda.so.1 of the host")
    toolkit = " (the host needs the NVIDIA Container Toolkit)" if container != "Apptainer" else ""
    return f"start the container with it{toolkit}: {how}"


def _gpus_below(gpus: list[Report], minimum: Any) -> Iterator[str]:
    for index, gpu in enumerate(gpus):
        free, total = gpu["memory_free"], gpu["memory_total"]
        if free is not None and free < minimum(total):
            yield f"GPU {index} has {free / GIB:.1f} of {total / GIB:.1f} GiB free"


def _driver_cuda(driver: Report) -> int:
    """Return the newest CUDA major version that the driver supports."""
    if driver["cuda"]:
        return int(driver["cuda"].split(".")[0])
    version = int((driver["version"] or "0").split(".")[0])
    return max((cuda for cuda, minimum in DRIVERS.items() if version >= minimum), default=0)


def _capability(gpus: list[Report]) -> float:
    known = (gpu["compute_capability"] for gpu in gpus)
    return max(map(float, filter(None, known)), default=float("inf"))


def _best_cuda(report: Report) -> int:
    """Return the newest CUDA major version that has an extra and that driver and GPU support."""
    driver = _driver_cuda(report["driver"]) if report["driver"] else max(DRIVERS)
    capability = _capability(report["gpus"])
    fitting = [cuda for cuda in DRIVERS if cuda <= driver and CAPABILITIES[cuda] <= capability]
    return max(fitting, default=min(DRIVERS))
