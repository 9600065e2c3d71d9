"""What this machine has, what works, and the next step for what does not."""

import os
import platform
import warnings

import numpy as np

from .. import device
from ..device import cgroup
from . import libraries
from .advice import EXTRA_OF, GIB, advice
from .containers import container
from .driver import nvidia, traces


def facts():
    """Everything the doctor knows, as plain values.

    Returns
    -------
    dict
        ``python``, ``system``, ``rapidsgraph``, ``container`` (its kind), ``cpu`` (cores, memory in
        bytes, and the limit that a container sets to it), ``numba``, ``driver``, ``gpus``,
        ``traces`` (of GPUs that the driver does not show), ``cuda_runtime``, ``nvrtc``,
        ``libraries`` (versions, or why there is none), ``cuda_packages`` (of pip, and the CUDA each
        is for), ``misfits`` (versions that were not asked for), ``problem`` (why no GPU is used),
        ``works`` (cpu, gpu) and ``advice``, a list of sentences. None stands for what is not there.
    """
    import psutil

    from .. import __version__

    driver, gpus = nvidia()
    numba, problem = _numba(), device.frame_library_problem()
    limits, versions = cgroup.memory(), libraries.versions()
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "rapidsgraph": __version__,
        "container": container(),
        "cpu": {
            "cores": _cores(),
            "memory_free": device.free_memory(np),
            "memory_total": psutil.virtual_memory().total,
            "memory_limit": limits and limits.limit,
        },
        "numba": numba,
        "driver": driver,
        "gpus": gpus,
        "traces": traces(),
        "cuda_runtime": libraries.runtime() if gpus else None,
        "nvrtc": libraries.nvrtc() if gpus else None,
        "libraries": versions,
        "cuda_packages": libraries.cuda_packages(),
        "misfits": list(libraries.misfits(versions)),
        "problem": problem,
        "works": {"cpu": numba["problem"] is None, "gpu": problem is None},
    }
    return found | {"advice": list(advice(found))}


def _cores():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _numba():
    """Runs a parallel kernel, because Numba chooses its threading layer only then."""
    found = dict.fromkeys(("threads", "threading_layer", "cache", "problem"))
    found |= {"damaged": [], "unsafe": {}}
    try:
        import numba

        from .. import generate
        from ..kernels import cache

        with warnings.catch_warnings():  # the advice says the same
            warnings.simplefilter("ignore", cache.KernelCacheWarning)
            found["unsafe"] = {str(path): reason for path, reason in cache.unsafe_folders().items()}
            found["damaged"] = list(map(str, cache.damaged_entries()))
            generate.uniform(8, 8, device="cpu")
            folder = cache.write_folder()
        found["threads"] = numba.get_num_threads()
        found["threading_layer"] = numba.threading_layer()
        found["cache"] = folder and str(folder)
    except Exception as error:
        found["problem"] = str(error)
    return found


def lines(found):
    """The facts as (what, how it is) pairs for people."""
    yield "rapidsgraph", f"{found['rapidsgraph']}, Python {found['python']}, {found['system']}"
    if found["container"]:
        yield "container", found["container"]
    yield "CPU", _cpu(found["cpu"])
    yield "Numba", _threads(found["numba"])
    if found["works"]["cpu"]:
        folder = found["numba"]["cache"]
        yield "kernels", f"kept in {folder}" if folder else "compiled in each run, and not kept"
    driver = found["driver"]
    if driver is None:
        yield "driver", "none found"
    else:
        version = driver["version"] or "of unknown version"
        yield "driver", driver["problem"] or f"{version}, for CUDA up to {driver['cuda']}"
    for gpu in found["gpus"]:
        size, capability = _memory(gpu), gpu["compute_capability"]
        yield "GPU", f"{gpu['name']}, {size}, compute capability {capability}"
    if found["cuda_runtime"]:
        yield "CUDA runtime", found["cuda_runtime"]
    if found["nvrtc"]:
        nvrtc = found["nvrtc"]
        yield "NVRTC", nvrtc["problem"] or f"{nvrtc['version']}, compiles"
    for name, library in found["libraries"].items():
        yield name, library["version"] or _missing(name, library["problem"])
    works = found["works"]
    yield "runs on CPU", "yes" if works["cpu"] else "no"
    yield "runs on GPU", "yes" if works["gpu"] else "no"


def _cpu(cpu):
    free, total = cpu["memory_free"] / GIB, cpu["memory_total"] / GIB
    text = f"{cpu['cores']} cores, {free:.1f} of {total:.1f} GiB memory free"
    if cpu["memory_limit"] is not None and cpu["memory_limit"] < cpu["memory_total"]:
        text += f", limited to {cpu['memory_limit'] / GIB:.1f} GiB"
    return text


def _threads(numba):
    if numba["problem"]:
        return numba["problem"]
    text = f"works, {numba['threads']} threads by {numba['threading_layer']}"
    if numba["threading_layer"] == "workqueue":
        # Its threads abort the process where other code runs a parallel kernel at the same time.
        text += " (for one thread at a time; with libgomp1 installed, OpenMP is for several)"
    return text


def _memory(gpu):
    if gpu["memory_free"] is None:
        return f"{gpu['memory_total'] / GIB:.1f} GiB"
    return f"{gpu['memory_free'] / GIB:.1f} of {gpu['memory_total'] / GIB:.1f} GiB free"


def _missing(name, problem):
    extra = EXTRA_OF.get(name)
    if extra and problem == "not installed":
        return f"{problem}; pip install 'rapidsgraph[{extra}]' brings it"
    return problem
