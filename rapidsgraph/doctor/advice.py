"""From the facts to the next step: one sentence or two for each thing that is wrong."""

from .containers import how_to_start

GIB = 1 << 30
DRIVERS = {12: 535, 13: 580}  # CUDA: the driver that RAPIDS needs for it
CAPABILITIES = {12: 7.0, 13: 7.5}
LEAST = 0.5 * GIB  # what CUDA itself takes of a GPU, and then some
EXTRA_OF = {"dask": "dask", "distributed": "dask", "matplotlib": "plot"}


def advice(found):
    """Sentences, for the facts of `doctor.facts`."""
    yield from _numba(found["numba"])
    for name, version, bound, extra in found["misfits"]:
        of_gpu = (extra or "").startswith("cu") and found["driver"]
        wanted = _extra(found) if of_gpu else f"rapidsgraph[{extra}]" if extra else "rapidsgraph"
        yield f"{name} {version} is installed, and {bound} is needed: pip install '{wanted}'"
    if found["problem"]:
        yield _gpu(found)
    else:
        yield from _room(found)
        yield from _several(found)


def _numba(numba):
    if numba["problem"]:
        yield f"Numba cannot run ({numba['problem']}): pip install --force-reinstall numba"
    elif numba["cache"] is None:
        yield (
            "Compiled kernels are not cached, because there is no folder for them that only you "
            "can write to: each run compiles them again, which takes seconds. Set NUMBA_CACHE_DIR "
            "to a folder that only you can write to (mkdir -m 700)"
        )
    for path in numba["damaged"]:
        yield f"The cached kernel {path} is damaged; the next call that needs it replaces it"
    for folder, why in numba["unsafe"].items():
        yield (
            f"Kernels cached in {folder} are not used, because {why}: code in it would run as you. "
            "Set NUMBA_CACHE_DIR to a folder that only you can write to (mkdir -m 700)"
        )


def _gpu(found):
    """Why no GPU is used, from the hardware up: the first that is wrong hides the others."""
    for cause in (_without_driver, _without_gpu, _too_old, _packages, _full, _compiler):
        sentence = cause(found)
        if sentence:
            return sentence
    return f"{found['problem']}. With this driver: {_install(found)}"


def _without_driver(found):
    if found["driver"] is not None:
        return None
    kind, card = found["container"], found["traces"]["card"]
    start = "There is no NVIDIA driver (libcuda.so.1), so everything runs on the CPU"
    if kind and card:
        return (
            f"This container ({kind}) was not given the GPU that the machine has, so everything "
            f"runs on the CPU; to use it, {how_to_start(kind)}"
        )
    if kind:
        return f"{start}. Where there is an NVIDIA GPU outside this container, {how_to_start(kind)}"
    if card:
        return (
            f"{start}, though an NVIDIA card is there. Install its driver, {DRIVERS[13]} or newer "
            "for CUDA 13: apt install nvidia-driver on Debian, ubuntu-drivers install on Ubuntu"
        )
    return f"{start}. Where there is an NVIDIA GPU, install its driver"


def _without_gpu(found):
    driver, traces = found["driver"], found["traces"]
    if found["gpus"] and not driver["problem"]:
        return None
    problem = driver["problem"] or "the driver sees no GPU"
    for name, value in traces["hidden"].items():
        if value.strip() in ("", "-1", "void", "none", "NoDevFiles"):
            how = "unset it" if name.startswith("CUDA") else "start the container with all"
            return f"{problem}; {name} is {value!r}, which hides every GPU: {how}"
    if traces["closed"]:
        nodes = ", ".join(traces["closed"])
        return f"{problem}; you may not open {nodes}: the group of that file is the one to join"
    if found["container"] and not traces["nodes"]:
        kind = found["container"]
        return f"{problem}; this container was given no GPU: {how_to_start(kind)}"
    chosen = [f"{name} is {value!r}" for name, value in traces["hidden"].items() if value != "all"]
    if chosen and not driver["problem"]:
        return f"{problem}; {' and '.join(chosen)}: nvidia-smi -L lists the names that there are"
    return f"{problem}; nvidia-smi may tell why"


def _too_old(found):
    cuda, gpus = found["driver"]["cuda"], found["gpus"]
    if _major(cuda) < min(DRIVERS):
        return (
            f"The driver is for CUDA {cuda}; update it to one for CUDA 12 or 13 (version "
            f"{DRIVERS[12]} or {DRIVERS[13]}, or newer)"
        )
    newest = max(gpus, key=lambda gpu: float(gpu["compute_capability"]))
    capability = float(newest["compute_capability"])
    if capability < min(CAPABILITIES.values()):
        return (
            f"{newest['name']} has compute capability {capability}, and RAPIDS needs "
            f"{CAPABILITIES[12]} or more: everything runs on the CPU"
        )
    return None


def _packages(found):
    """Packages for two CUDAs side by side, or for one that driver or GPU is too old for."""
    packages = found["cuda_packages"]
    if not packages:
        return None
    names, majors = " ".join(packages), set(packages.values())
    fresh = f"pip uninstall {names}, then {_install(found)}"
    if len(majors) > 1:
        return f"Packages for CUDA {_and(majors)} are installed, of which one must go: {fresh}"
    (major,) = majors
    driver = found["driver"]
    if major > _major(driver["cuda"]):
        version = f" {driver['version']}" if driver["version"] else ""
        return (
            f"The driver{version} runs CUDA up to {driver['cuda']}, and what is installed is for "
            f"CUDA {major}. Update the driver to {DRIVERS[major]} or newer, or: {fresh}"
        )
    if major > _fitting(found):
        return f"No GPU here is new enough for CUDA {major}, which is installed: {fresh}"
    return None


def _compiler(found):
    if not (found["nvrtc"] and found["nvrtc"]["problem"]):
        return None
    problem, packages = found["nvrtc"]["problem"], found["cuda_packages"]
    cuda = next((cuda for name, cuda in packages.items() if name.startswith("cupy")), None)
    if found["nvrtc"]["version"] or cuda is None:
        how = "conda install cuda-nvrtc cuda-cudart-dev"
        if packages:
            how = _install(found, "--force-reinstall ")
        return f"NVRTC, CUDA's compiler, does not compile ({problem}). Install it anew: {how}"
    name = "'nvidia-cuda-nvrtc==13.*'" if cuda == 13 else f"nvidia-cuda-nvrtc-cu{cuda}"
    return f"NVRTC, CUDA's compiler, is missing ({problem}): pip install {name}"


def _full(found):
    tight = [_used(place, gpu) for place, gpu in _with_less(found, lambda total: LEAST)]
    if not tight:
        return None
    return f"{found['problem']}. {'; '.join(tight)}: end the processes that nvidia-smi lists"


def _room(found):
    """GPUs of which other processes hold more than half."""
    for place, gpu in _with_less(found, lambda total: total / 2):
        yield (
            f"{_used(place, gpu)}, which graphs and pools must fit into. For more end the "
            "processes that nvidia-smi lists, or choose another GPU by CUDA_VISIBLE_DEVICES"
        )


def _several(found):
    problem = found["libraries"]["dask_cuda"]["problem"]
    if len(found["gpus"]) > 1 and problem:
        yield (
            f"{len(found['gpus'])} GPUs work, and calls take one. rg.cluster() takes all with "
            f"Dask-CUDA ({problem}): {_install(found)}"
        )


def _with_less(found, least):
    for place, gpu in enumerate(found["gpus"]):
        if gpu["memory_free"] is not None and gpu["memory_free"] < least(gpu["memory_total"]):
            yield place, gpu


def _used(place, gpu):
    free, total = gpu["memory_free"] / GIB, gpu["memory_total"] / GIB
    return f"GPU {place} has {free:.1f} of {total:.1f} GiB free"


def _install(found, how=""):
    return f"pip install {how}'{_extra(found)}'"


def _extra(found):
    return f"rapidsgraph[cu{_fitting(found)}]"


def _fitting(found):
    """The newest CUDA of an extra that driver and GPUs allow."""
    newest = max((float(gpu["compute_capability"]) for gpu in found["gpus"]), default=99)
    driver = _major(found["driver"]["cuda"])
    fits = [cuda for cuda, least in CAPABILITIES.items() if cuda <= driver and newest >= least]
    return max(fits, default=min(CAPABILITIES))


def _major(version):
    return int(version.split(".")[0])


def _and(numbers):
    return " and ".join(map(str, sorted(numbers)))
