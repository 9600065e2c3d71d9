"""The next step, for each thing that can be wrong."""

import os
import subprocess
import sys

import pytest
from test_doctor import DRIVER, GPU, NO_TRACES

from rapidsgraph.doctor.advice import CAPABILITIES, DRIVERS, advice

GIB = 1 << 30
NO_CUPY = "CuPy cannot be imported (No module named 'cupy')"
NUMBA = {"problem": None, "cache": "/somewhere", "damaged": [], "unsafe": {}}
CU13 = {"cudf-cu13": 13, "cupy-cuda13x": 13}


def found(**changes):
    """The facts of a machine whose GPU works but for the changes."""
    facts = {
        "numba": NUMBA,
        "misfits": [],
        "problem": NO_CUPY,
        "container": None,
        "driver": DRIVER,
        "gpus": [GPU],
        "traces": NO_TRACES,
        "nvrtc": None,
        "libraries": {"dask_cuda": {"version": "26.10.0", "problem": None}},
        "cuda_packages": {},
    }
    assert set(changes) <= set(facts)
    return facts | changes


def advised(**changes):
    """The one sentence of advice."""
    (sentence,) = advice(found(**changes))
    return sentence


def test_none_where_all_works():
    assert list(advice(found(problem=None))) == []


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
    sentence = advised(driver=DRIVER | {"cuda": cuda}, gpus=gpus)
    assert sentence == f"{NO_CUPY}. With this driver: pip install 'rapidsgraph[{extra}]'"


def test_a_driver_too_old_for_any():
    assert advised(driver=DRIVER | {"cuda": "11.8"}) == (
        "The driver is for CUDA 11.8; update it to one for CUDA 12 or 13 (version 535 or 580, or "
        "newer)"
    )


def test_a_driver_too_old_for_what_is_installed():
    driver = {"version": "550.54", "cuda": "12.4", "problem": None}
    assert advised(driver=driver, cuda_packages=CU13, problem="CuPy 14 cannot use the GPU") == (
        "The driver 550.54 runs CUDA up to 12.4, and what is installed is for CUDA 13. Update the "
        "driver to 580 or newer, or: pip uninstall cudf-cu13 cupy-cuda13x, then pip install "
        "'rapidsgraph[cu12]'"
    )


def test_packages_of_two_cudas():
    packages = {"cupy-cuda12x": 12, "cupy-cuda13x": 13}
    assert advised(cuda_packages=packages) == (
        "Packages for CUDA 12 and 13 are installed, of which one must go: pip uninstall "
        "cupy-cuda12x cupy-cuda13x, then pip install 'rapidsgraph[cu13]'"
    )


def test_a_gpu_too_old():
    pascal = GPU | {"name": "P100", "compute_capability": "6.0"}
    assert advised(gpus=[pascal]) == (
        "P100 has compute capability 6.0, and RAPIDS needs 7.0 or more: everything runs on the CPU"
    )
    volta = GPU | {"compute_capability": "7.0"}
    assert advised(gpus=[pascal, volta], cuda_packages=CU13) == (
        "No GPU here is new enough for CUDA 13, which is installed: pip uninstall cudf-cu13 "
        "cupy-cuda13x, then pip install 'rapidsgraph[cu12]'"
    )


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("Docker", "docker run --gpus all"),
        ("Podman", "podman run --device nvidia.com/gpu=all"),
        ("Kubernetes", "nvidia.com/gpu: 1"),
        ("lxc", "the machine's /dev/nvidia* and libcuda.so.1"),
    ],
)
def test_a_container_without_a_gpu(kind, how):
    sentence = advised(driver=None, gpus=[], container=kind)
    assert sentence.startswith("There is no NVIDIA driver (libcuda.so.1), so everything runs on")
    assert f"outside this container, start the container with it: {how}" in sentence
    assert sentence.endswith(
        "where the NVIDIA Container Toolkit is installed outside the container"
    )
    sentence = advised(driver=None, gpus=[], container=kind, traces=NO_TRACES | {"card": True})
    assert sentence.startswith(f"This container ({kind}) was not given the GPU that the machine")
    assert f"to use it, start the container with it: {how}" in sentence
    # The image has the library of a driver, and the container no device.
    problem = "the driver does not start: CUDA error 100, no GPU"
    driver = DRIVER | {"problem": problem}
    sentence = advised(driver=driver, gpus=[], container=kind)
    assert sentence.startswith(f"{problem}; this container was given no GPU: start the container")
    assert how in sentence


def test_apptainer_needs_no_toolkit():
    sentence = advised(driver=None, gpus=[], container="Apptainer")
    assert sentence.endswith("start the container with it: apptainer run --nv")


def test_no_driver_on_the_machine_itself():
    none = "There is no NVIDIA driver (libcuda.so.1), so everything runs on the CPU"
    sentence = advised(driver=None, gpus=[])
    assert sentence == f"{none}. Where there is an NVIDIA GPU, install its driver"
    sentence = advised(driver=None, gpus=[], traces=NO_TRACES | {"card": True})
    assert sentence.startswith(f"{none}, though an NVIDIA card is there. Install its driver, 580")


def test_gpus_that_are_hidden_or_closed():
    def without_gpu(problem=None, **traces):
        driver = DRIVER | {"problem": problem}
        return advised(driver=driver, gpus=[], traces=NO_TRACES | traces)

    nothing = "the driver does not start: CUDA error 100, no GPU"
    hidden = "which hides every GPU"
    sentence = without_gpu(nothing, hidden={"CUDA_VISIBLE_DEVICES": ""})
    assert sentence == f"{nothing}; CUDA_VISIBLE_DEVICES is '', {hidden}: unset it"
    sentence = without_gpu(nothing, hidden={"NVIDIA_VISIBLE_DEVICES": "void"})
    assert sentence.endswith(f"'void', {hidden}: start the container with all")
    sentence = without_gpu(
        hidden={"CUDA_VISIBLE_DEVICES": "MIG-1", "NVIDIA_VISIBLE_DEVICES": "all"}
    )
    assert sentence == (
        "the driver sees no GPU; CUDA_VISIBLE_DEVICES is 'MIG-1': nvidia-smi -L lists the names "
        "that there are"
    )
    sentence = without_gpu(nothing, nodes=["/dev/nvidia0"], closed=["/dev/nvidia0"])
    assert sentence.startswith(f"{nothing}; you may not open /dev/nvidia0: the group")
    assert without_gpu("it burns") == "it burns; nvidia-smi may tell why"
    assert without_gpu() == "the driver sees no GPU; nvidia-smi may tell why"


def test_a_missing_compiler():
    problem = 'Failure finding "libnvrtc.so.13"'
    nvrtc = {"version": None, "problem": problem}
    start = f"NVRTC, CUDA's compiler, is missing ({problem}): pip install "
    sentence = advised(nvrtc=nvrtc, cuda_packages=CU13)
    assert sentence == f"{start}'nvidia-cuda-nvrtc==13.*'"
    sentence = advised(nvrtc=nvrtc, cuda_packages={"cupy-cuda12x": 12})
    assert sentence == f"{start}nvidia-cuda-nvrtc-cu12"
    assert advised(nvrtc=nvrtc).endswith("conda install cuda-nvrtc cuda-cudart-dev")
    sentence = advised(nvrtc={"version": "13.2", "problem": "no headers"}, cuda_packages=CU13)
    assert sentence == (
        "NVRTC, CUDA's compiler, does not compile (no headers). Install it anew: pip install "
        "--force-reinstall 'rapidsgraph[cu13]'"
    )


def test_a_gpu_of_which_others_hold_the_most():
    half = GPU | {"memory_free": 40 * GIB}
    less = GPU | {"memory_free": 10 * GIB}
    unknown = GPU | {"memory_free": None}
    sentence = advised(problem=None, gpus=[GPU, half, less, unknown])
    assert sentence == (
        "GPU 2 has 10.0 of 80.0 GiB free, which graphs and pools must fit into. For more end the "
        "processes that nvidia-smi lists, or choose another GPU by CUDA_VISIBLE_DEVICES"
    )


def test_a_gpu_without_room_for_cuda_itself():
    problem = "CuPy 14 cannot use the GPU: cudaErrorMemoryAllocation: out of memory"
    gpus = [GPU | {"memory_free": GIB // 10}]
    nvrtc = {"version": "13.2", "problem": "out of memory"}  # where its result is loaded
    assert advised(problem=problem, gpus=gpus, nvrtc=nvrtc, cuda_packages=CU13) == (
        f"{problem}. GPU 0 has 0.1 of 80.0 GiB free: end the processes that nvidia-smi lists"
    )


def test_several_gpus_without_dask_cuda():
    libraries = {"dask_cuda": {"version": None, "problem": "not installed"}}
    assert list(advice(found(problem=None, libraries=libraries))) == []
    assert advised(problem=None, libraries=libraries, gpus=[GPU, GPU]) == (
        "2 GPUs work, and calls take one. rg.cluster() takes all with Dask-CUDA (not installed): "
        "pip install 'rapidsgraph[cu13]'"
    )


def test_versions_that_do_not_fit():
    misfits = [
        ("dask", "2024.1", ">=2025.1", "dask"),
        ("pandas", "2.1", ">=2.2.2", None),
        ("cudf", "26.8", "==26.10.*", "cu12"),
    ]
    assert list(advice(found(problem=None, misfits=misfits))) == [
        "dask 2024.1 is installed, and >=2025.1 is needed: pip install 'rapidsgraph[dask]'",
        "pandas 2.1 is installed, and >=2.2.2 is needed: pip install 'rapidsgraph'",
        "cudf 26.8 is installed, and ==26.10.* is needed: pip install 'rapidsgraph[cu13]'",
    ]


def test_numba_that_does_not_run():
    sentence = advised(problem=None, numba=NUMBA | {"problem": "no LLVM", "cache": None})
    assert sentence == "Numba cannot run (no LLVM): pip install --force-reinstall numba"


def test_damaged_and_unsafe_caches_of_kernels():
    reason = "other users can write to /tmp/b"
    numba = NUMBA | {"damaged": ["/a.kernel"], "unsafe": {"/tmp/b": reason}}
    damaged, unsafe = advice(found(problem=None, numba=numba))
    assert damaged.startswith("The cached kernel /a.kernel is damaged; the next call that needs it")
    assert unsafe.startswith("Kernels cached in /tmp/b are not used, because other users can write")
    assert "Set NUMBA_CACHE_DIR to a folder that only you can write to" in unsafe


def test_kernels_that_cannot_be_kept():
    """As for a user of a container who owns no file of it and has no home."""
    environment = os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME"), "/dev/null")
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-m", "rapidsgraph", "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\nkernels       compiled in each run, and not kept\n" in done.stdout
    assert "Set NUMBA_CACHE_DIR to a folder that only you can write to" in done.stdout
    assert "kernel" not in done.stderr  # said once, by the advice


def test_there_is_an_extra_for_each_cuda():
    assert set(DRIVERS) == set(CAPABILITIES) == {12, 13}
