"""Libraries on this machine: versions, what is wrong with them, which versions were asked for."""

import importlib
import re
from importlib import metadata

NAMES = (
    *("pandas", "pyarrow", "numba", "dask", "distributed", "matplotlib"),
    *("cupy", "cudf", "rmm", "dask_cudf", "dask_cuda"),
)
CUDA_PACKAGE = re.compile(r"-cu(?:da)?(\d\d)x?$")  # cudf-cu13, cupy-cuda13x
KERNEL = 'extern "C" __global__ void nothing() {}'


def version(name):
    """{"version": ..., "problem": ...}; a broken library raises whatever it likes."""
    try:
        found = str(importlib.import_module(name).__version__)
    except ModuleNotFoundError as error:
        return {"version": None, "problem": "not installed" if error.name == name else str(error)}
    except Exception as error:
        return {"version": None, "problem": f"{type(error).__name__}: {error}"}
    return {"version": found, "problem": None}


def versions():
    return {name: version(name) for name in NAMES}


def cuda_packages():
    """{package: CUDA} of the packages of CuPy and RAPIDS that pip installed, each for one CUDA."""
    found = {}
    for distribution in metadata.distributions():
        name = (distribution.name or "").lower()
        major = CUDA_PACKAGE.search(name)
        if major and re.sub(CUDA_PACKAGE, "", name).replace("-", "_") in NAMES:
            found[name] = int(major[1])
    return dict(sorted(found.items()))


def bounds():
    """{library: (bound, extra)} of what rapidsgraph asks for, as in (">=2025.1", "dask")."""
    try:
        lines = metadata.requires("rapidsgraph") or []
    except metadata.PackageNotFoundError:  # not installed, but run in its folder
        return {}
    found = {}
    for line in lines:
        named = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;.*extra == \W(\w+))?", line)
        name = re.sub(CUDA_PACKAGE, "", named[1].lower()).replace("-", "_")
        if name in NAMES:
            found.setdefault(name, (named[2].strip(), named[3]))
    return found


def misfits(libraries):
    """(library, version, bound, extra) where an installed version is not one asked for."""
    asked = bounds()
    for name, library in libraries.items():
        bound, extra = asked.get(name, ("", None))
        if library["version"] and not _fits(library["version"], bound):
            yield name, library["version"], bound, extra


def _fits(there, bound):
    """Whether a version is in bounds like ">=2.2.2" and "==26.10.*", the only kinds there are."""
    least = _numbers(bound)
    if bound.startswith("=="):
        return _numbers(there)[: len(least)] == least
    return _numbers(there) >= least


def _numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def runtime():
    """The CUDA that CuPy runs on, or None."""
    try:
        import cupy

        number = cupy.cuda.runtime.runtimeGetVersion()
    except Exception:  # the reason is among the libraries, or that of the GPU
        return None
    return f"{number // 1000}.{number % 1000 // 10}"


def nvrtc():
    """CUDA's compiler, as CuPy finds it; None without CuPy."""
    try:
        import cupy
    except Exception:
        return None
    try:
        found = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
    except Exception as error:  # the library is not there, or not to be loaded
        return {"version": None, "problem": " ".join(str(error).split())}
    try:
        cupy.RawModule(code=KERNEL, options=("-std=c++17",)).compile()
    except Exception as error:
        return {"version": found, "problem": " ".join(str(error).split())}
    return {"version": found, "problem": None}
