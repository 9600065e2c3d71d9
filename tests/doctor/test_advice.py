"""The advice for each problem that a machine can have."""

import os
import subprocess
import sys

import pytest
from test_doctor import DRIVER, GPU, HARDWARE

from rapidsgraph.doctor.advice import CAPABILITIES, DRIVERS, advise

GIB = 1 << 30
NO_CUPY = "CuPy cannot be imported (No module named 'cupy')"
NUMBA = {
    "problem": None,
    "setting": None,
    "cache": "/somewhere",
    "is_temporary": False,
    "entries": 0,
    "entry_bytes": 0,
    "damaged": [],
    "unsafe": {},
}
CU13 = {"cudf-cu13": 13, "cupy-cuda13x": 13}


def facts_with(**changes):
    """Return the facts of a machine without CuPy, with the changes applied."""
    facts = {
        "numba": NUMBA,
        "version_conflicts": [],
        "gpu_problem": NO_CUPY,
        "container": None,
        "driver": DRIVER,
        "gpus": [GPU],
        "hardware": HARDWARE,
        "cuda": None,
        "libraries": {"dask_cuda": {"version": "26.10.0", "problem": None}},
        "cuda_packages": {},
    }
    assert set(changes) <= set(facts)
    return facts | changes


def advice_for(**changes):
    """Return the only advice."""
    (sentence,) = advise(facts_with(**changes))
    return sentence


def test_none_where_all_works():
    assert list(advise(facts_with(gpu_problem=None))) == []


@pytest.mark.parametrize(
    ("cuda", "capability", "extra"),
    [
        ("13.2", "9.0", "cu13"),
        ("14.0", "7.5", "cu13"),
        ("12.4", "12.0", "cu12"),
        ("13.0", "7.0", "cu12"),
    ],
)
def test_what_to_install_follows_from_driver_and_gpu(cuda, capability, extra):
    gpus = [GPU | {"compute_capability": capability}]
    sentence = advice_for(driver=DRIVER | {"cuda": cuda}, gpus=gpus)
    assert sentence == f"{NO_CUPY}. For this driver: pip install 'rapidsgraph[{extra}]'"


def test_a_driver_too_old_for_any():
    assert advice_for(driver=DRIVER | {"cuda": "11.8"}) == (
        "The driver supports CUDA 11.8; update it to version 535 or newer for CUDA 12, or to 580 "
        "or newer for CUDA 13"
    )


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("580.65.06", f"{NO_CUPY}. For this driver: pip install 'rapidsgraph[cu13]'"),
        ("550.54", f"{NO_CUPY}. For this driver: pip install 'rapidsgraph[cu12]'"),
        (
            "470.1",
            "The driver is too old; update it to version 535 or newer for CUDA 12, or to 580 or "
            "newer for CUDA 13",
        ),
    ],
)
def test_without_pynvml_the_version_of_the_driver_counts(version, expected):
    driver = {"version": version, "cuda": None, "problem": None}
    assert advice_for(driver=driver, gpus=[]) == expected


def test_a_driver_too_old_for_the_installed_packages():
    driver = {"version": "550.54", "cuda": "12.4", "problem": None}
    problem = "CuPy 14 cannot use the GPU"
    assert advice_for(driver=driver, cuda_packages=CU13, gpu_problem=problem) == (
        "Packages for CUDA 13 are installed, but driver 550.54 and GPU need those for one CUDA "
        "version up to 12: update the driver to 580 or newer, or pip uninstall cudf-cu13 "
        "cupy-cuda13x, then pip install 'rapidsgraph[cu12]'"
    )


def test_packages_for_two_cuda_versions():
    packages = {"cupy-cuda12x": 12, "cupy-cuda13x": 13}
    assert advice_for(cuda_packages=packages) == (
        "Packages for CUDA 12 and 13 are installed, but driver 580.65.06 and GPU need those for "
        "one CUDA version up to 13: pip uninstall cupy-cuda12x cupy-cuda13x, then pip install "
        "'rapidsgraph[cu13]'"
    )


def test_a_gpu_too_old():
    pascal = GPU | {"name": "P100", "compute_capability": "6.0"}
    assert advice_for(gpus=[pascal]) == (
        "No GPU of this machine has compute capability 7.0 or higher, which RAPIDS requires, so "
        "everything runs on the CPU"
    )
    volta = GPU | {"compute_capability": "7.0"}
    assert advice_for(gpus=[pascal, volta], cuda_packages=CU13) == (
        "Packages for CUDA 13 are installed, but driver 580.65.06 and GPU need those for one CUDA "
        "version up to 12: pip uninstall cudf-cu13 cupy-cuda13x, then pip install "
        "'rapidsgraph[cu12]'"
    )


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("Docker", "docker run --gpus all"),
        ("Podman", "podman run --device nvidia.com/gpu=all"),
        ("Kubernetes", "nvidia.com/gpu: 1"),
        ("lxc", "/dev/nvidia* and libcuda.so.1 of the host"),
    ],
)
def test_a_container_without_a_gpu(kind, how):
    start = f"start the container with it (the host needs the NVIDIA Container Toolkit): {how}"
    cpu = "No NVIDIA driver was found, so everything runs on the CPU"
    sentence = advice_for(driver=None, gpus=[], container=kind)
    assert sentence.startswith(f"{cpu}. If the host has an NVIDIA GPU: {start}")
    hardware = HARDWARE | {"present": True}
    sentence = advice_for(driver=None, gpus=[], container=kind, hardware=hardware)
    assert sentence.startswith(f"{cpu}. The host has an NVIDIA GPU: {start}")
    # The image contains the library of a driver, and the container has no device.
    problem = "the NVIDIA driver does not answer (Driver Not Loaded)"
    driver = DRIVER | {"problem": problem}
    sentence = advice_for(driver=driver, gpus=[], container=kind)
    assert sentence.startswith(f"{problem}; this container has no GPU: {start}")


def test_apptainer_needs_no_toolkit():
    sentence = advice_for(driver=None, gpus=[], container="Apptainer")
    assert sentence.endswith("GPU: start the container with it: apptainer run --nv")


def test_no_driver_on_the_machine_itself():
    start = "No NVIDIA driver was found, so everything runs on the CPU"
    sentence = advice_for(driver=None, gpus=[])
    assert sentence == f"{start}. If the machine has an NVIDIA GPU, install its driver"
    sentence = advice_for(driver=None, gpus=[], hardware=HARDWARE | {"present": True})
    assert sentence.startswith(f"{start}, although an NVIDIA GPU is present. Install its driver, ")
    assert "version 580 or newer" in sentence


def test_hidden_and_inaccessible_gpus():
    def without_gpu(problem=None, **hardware):
        driver = DRIVER | {"problem": problem}
        return advice_for(driver=driver, gpus=[], hardware=HARDWARE | hardware)

    silent = "the NVIDIA driver does not answer (Insufficient Permissions)"
    reports_none = "The driver reports no GPU"
    sentence = without_gpu(visibility={"CUDA_VISIBLE_DEVICES": ""})
    hides = "which hides every GPU"
    assert sentence == f"{reports_none}; CUDA_VISIBLE_DEVICES is '', {hides}: unset it"
    sentence = without_gpu(silent, visibility={"NVIDIA_VISIBLE_DEVICES": "void"})
    assert sentence.endswith(f"'void', {hides}: start the container with 'all'")
    visibility = {"CUDA_VISIBLE_DEVICES": "MIG-1", "NVIDIA_VISIBLE_DEVICES": "all"}
    assert without_gpu(visibility=visibility) == (
        f"{reports_none}; CUDA_VISIBLE_DEVICES is 'MIG-1': nvidia-smi -L lists the valid names"
    )
    files = ["/dev/nvidia0"]
    sentence = without_gpu(silent, device_files=files, inaccessible=files)
    assert sentence.startswith(f"{silent}; you have no access to /dev/nvidia0: join the group")
    assert without_gpu("it burns") == "it burns; run nvidia-smi for details"
    assert without_gpu() == f"{reports_none}; run nvidia-smi for details"


def test_a_compiler_that_does_not_work():
    problem = 'Failure finding "libnvrtc.so.13"'
    cuda = {"runtime": None, "nvrtc": None, "nvrtc_problem": problem}
    start = f"NVRTC, the CUDA compiler, does not work ({problem}): "
    sentence = advice_for(cuda=cuda, cuda_packages=CU13)
    assert sentence == f"{start}pip install --force-reinstall 'rapidsgraph[cu13]'"
    assert advice_for(cuda=cuda) == f"{start}conda install cuda-nvrtc cuda-cudart-dev"


def test_a_gpu_whose_memory_others_use():
    half = GPU | {"memory_free": 40 * GIB}
    less = GPU | {"memory_free": 10 * GIB}
    unknown = GPU | {"memory_free": None, "memory_total": None}
    sentence = advice_for(gpu_problem=None, gpus=[GPU, half, less, unknown])
    assert sentence == (
        "GPU 2 has 10.0 of 80.0 GiB free, which graphs and memory pools must fit into. To free "
        "more, end the processes that nvidia-smi lists, or select another GPU with "
        "CUDA_VISIBLE_DEVICES"
    )


def test_a_gpu_without_memory_for_cuda_itself():
    problem = "CuPy 14 cannot use the GPU: cudaErrorMemoryAllocation: out of memory"
    gpus = [GPU | {"memory_free": GIB // 10}]
    # NVRTC compiles, but its result cannot be loaded.
    cuda = {"runtime": "13.2", "nvrtc": "13.2", "nvrtc_problem": "out of memory"}
    assert advice_for(gpu_problem=problem, gpus=gpus, cuda=cuda, cuda_packages=CU13) == (
        f"{problem}. GPU 0 has 0.1 of 80.0 GiB free: end the processes that nvidia-smi lists"
    )


def test_several_gpus_without_dask_cuda():
    libraries = {"dask_cuda": {"version": None, "problem": "not installed"}}
    assert list(advise(facts_with(gpu_problem=None, libraries=libraries))) == []
    assert advice_for(gpu_problem=None, libraries=libraries, gpus=[GPU, GPU]) == (
        "2 GPUs are available, and a call uses one. rg.cluster() uses all of them, with Dask-CUDA "
        "(not installed): pip install 'rapidsgraph[cu13]'"
    )


def test_versions_that_violate_the_requirements():
    conflicts = [
        ("dask", "2024.1", ">=2025.1", "dask"),
        ("pandas", "2.1", ">=2.2.2", None),
        ("cudf", "26.8", "==26.10.*", "cu12"),
    ]
    requires = "is installed, but rapidsgraph requires"
    assert list(advise(facts_with(gpu_problem=None, version_conflicts=conflicts))) == [
        f"dask 2024.1 {requires} dask>=2025.1: pip install 'rapidsgraph[dask]'",
        f"pandas 2.1 {requires} pandas>=2.2.2: pip install 'rapidsgraph'",
        f"cudf 26.8 {requires} cudf==26.10.*: pip install 'rapidsgraph[cu13]'",
    ]


def test_numba_that_does_not_work():
    sentence = advice_for(gpu_problem=None, numba=NUMBA | {"problem": "no LLVM", "cache": None})
    assert sentence == "Numba does not work (no LLVM): pip install --force-reinstall numba"
    problem = {"problem": "NUMBA_NUM_THREADS is '0'; unset it", "setting": "NUMBA_NUM_THREADS"}
    assert advice_for(gpu_problem=None, numba=NUMBA | problem) == problem["problem"]


def test_damaged_and_unsafe_kernel_caches():
    reason = "other users can write to /tmp/b"
    numba = NUMBA | {"damaged": ["/a.kernel"], "unsafe": {"/tmp/b": reason}}
    damaged, unsafe = advise(facts_with(gpu_problem=None, numba=numba))
    assert damaged.startswith("The cached kernel /a.kernel is damaged; the next call that needs it")
    assert unsafe.startswith("Kernels cached in /tmp/b are ignored, because other users can write")
    assert "Set NUMBA_CACHE_DIR to a folder that only you can write to" in unsafe


@pytest.mark.slow
@pytest.mark.parametrize("is_private", [True, False])
def test_kernels_of_a_user_without_a_home(tmp_path, is_private):
    """A container user who owns no file and has no home directory."""
    environment = os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME"), "/dev/null")
    environment |= {"TMPDIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    tmp_path.chmod(0o700 if is_private else 0o777)
    result = subprocess.run(
        [sys.executable, "-m", "rapidsgraph", "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cache = "not cached, compiled by every process\n"
    if is_private:
        cache = (
            f"cached in {tmp_path / f'rapidsgraph-{os.getuid()}' / 'kernels'}, which is temporary"
        )
    lines = " ".join(result.stdout.split())  # the path may wrap
    assert "kernels " + " ".join(cache.split()) in lines
    assert "Set NUMBA_CACHE_DIR to a folder that only you can write to" in lines
    assert "ompiled kernels" not in result.stderr  # only the advice says it


def test_every_cuda_version_has_an_extra():
    assert set(DRIVERS) == set(CAPABILITIES) == {12, 13}
