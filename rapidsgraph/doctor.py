"""What this machine has, what works, and the next step for what does not."""

import ctypes
import importlib
import os
import platform

import numpy as np

from . import device

GIB = 1 << 30
CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
KERNEL = 'extern "C" __global__ void nothing() {}'


def facts():
    """Everything the doctor knows, as plain values.

    Returns
    -------
    dict
        ``python``, ``rapidsgraph``, ``cpu`` (cores, memory in bytes), ``numba``, ``driver``,
        ``gpus``, ``libraries`` (versions, or why there is none), ``nvrtc``, ``works`` (cpu, gpu)
        and ``advice``, a list of sentences. None stands for what is not there.
    """
    import psutil

    from . import __version__

    driver, gpus = nvidia()
    names = ("pandas", "pyarrow", "numba", "cupy", "cudf", "rmm", "matplotlib")
    libraries = {name: _version(name) for name in names}
    problem, frame_problem, numba = device.gpu_problem(), device.frame_library_problem(), _numba()
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "rapidsgraph": __version__,
        "cpu": {
            "cores": _cores(),
            "memory_free": device.free_memory(np),
            "memory_total": psutil.virtual_memory().total,
        },
        "numba": numba,
        "driver": driver,
        "gpus": gpus,
        "cuda_runtime": None if problem else _runtime(),
        "nvrtc": None if problem else _nvrtc(),
        "libraries": libraries,
        "works": {"cpu": numba["problem"] is None, "gpu": frame_problem is None},
    }
    return found | {"advice": list(_advice(found, frame_problem))}


def nvidia():
    """The driver and its GPUs, asked without CuPy.

    Returns
    -------
    driver : dict or None
        ``version``, ``cuda`` (the newest it can run, as in "13.0") and ``problem``; None where
        there is no driver.
    gpus : list of dict
        ``name``, ``memory_total`` (bytes), ``compute_capability``.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, []
    number, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    driver = {
        "version": _driver_version(),
        "cuda": f"{number.value // 1000}.{number.value % 1000 // 10}",
        "problem": None,
    }
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status:
        driver["problem"] = f"the driver does not start: CUDA error {status}"
    return driver, [_gpu(cuda, place) for place in range(count.value)]


def _cores():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _gpu(cuda, place):
    handle, name, size = ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_size_t()
    cuda.cuDeviceGet(ctypes.byref(handle), place)
    cuda.cuDeviceGetName(name, len(name), handle)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
    capability = []
    for attribute in CAPABILITY:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        capability.append(str(value.value))
    return {
        "name": name.value.decode(),
        "memory_total": size.value,
        "compute_capability": ".".join(capability),
    }


def _driver_version():
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    text = ctypes.create_string_buffer(100)
    failed = library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(text, len(text))
    return None if failed else text.value.decode()


def _version(name):
    """{"version": ..., "problem": ...}; a broken library raises whatever it likes."""
    try:
        version = str(importlib.import_module(name).__version__)
    except ModuleNotFoundError as error:
        return {"version": None, "problem": "not installed" if error.name == name else str(error)}
    except Exception as error:
        return {"version": None, "problem": f"{type(error).__name__}: {error}"}
    return {"version": version, "problem": None}


def _numba():
    """Runs a parallel kernel, because Numba chooses its threading layer only then."""
    try:
        import numba

        from . import generate

        generate.uniform(8, 8, device="cpu")
        return {
            "threads": numba.get_num_threads(),
            "threading_layer": numba.threading_layer(),
            "problem": None,
        }
    except Exception as error:
        return {"threads": None, "threading_layer": None, "problem": str(error)}


def _runtime():
    import cupy

    version = cupy.cuda.runtime.runtimeGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}"


def _nvrtc():
    import cupy

    version = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
    try:
        cupy.RawModule(code=KERNEL, options=("-std=c++17",)).compile()
    except Exception as error:
        return {"version": version, "problem": str(error)}
    return {"version": version, "problem": None}


def _advice(found, problem):
    """What to do next about the CPU and the GPU."""
    if found["numba"]["problem"]:
        yield f"Numba cannot run ({found['numba']['problem']}): pip install --force-reinstall numba"
    if problem is None:
        return
    driver = found["driver"]
    if driver is None:
        yield (
            "There is no NVIDIA driver (libcuda.so.1), so everything runs on the CPU. Where there "
            "is an NVIDIA GPU, install its driver; a container must be started with --gpus all"
        )
    elif driver["problem"] or not found["gpus"]:
        yield f"{driver['problem'] or 'the driver sees no GPU'}; nvidia-smi may tell why"
    elif int(driver["cuda"].split(".")[0]) < 12:
        yield f"The driver is for CUDA {driver['cuda']}; update it to one for CUDA 12 or 13"
    else:
        major = min(int(driver["cuda"].split(".")[0]), 13)
        yield f"{problem}. With this driver: pip install 'rapidsgraph[cu{major}]'"


def lines(found):
    """The facts as (what, how it is) pairs for people."""
    cpu, numba, driver = found["cpu"], found["numba"], found["driver"]
    yield "rapidsgraph", f"{found['rapidsgraph']}, Python {found['python']}, {found['system']}"
    free, total = cpu["memory_free"] / GIB, cpu["memory_total"] / GIB
    yield "CPU", f"{cpu['cores']} cores, {free:.1f} of {total:.1f} GiB memory free"
    layer = f"{numba['threads']} threads by {numba['threading_layer']}"
    yield "Numba", numba["problem"] or f"works, {layer}"
    if driver is None:
        yield "driver", "none found"
    else:
        version = driver["version"] or "of unknown version"
        yield "driver", driver["problem"] or f"{version}, for CUDA up to {driver['cuda']}"
    for gpu in found["gpus"]:
        size, capability = gpu["memory_total"] / GIB, gpu["compute_capability"]
        yield "GPU", f"{gpu['name']}, {size:.1f} GiB, compute capability {capability}"
    if found["cuda_runtime"]:
        yield "CUDA runtime", found["cuda_runtime"]
    if found["nvrtc"]:
        nvrtc = found["nvrtc"]
        yield "NVRTC", nvrtc["problem"] or f"{nvrtc['version']}, compiles"
    for name, library in found["libraries"].items():
        yield name, library["version"] or library["problem"]
    works = found["works"]
    yield "runs on CPU", "yes" if works["cpu"] else "no"
    yield "runs on GPU", "yes" if works["gpu"] else "no"
