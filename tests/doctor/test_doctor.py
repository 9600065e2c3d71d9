"""`rapidsgraph doctor` on machines with and without a GPU."""

# ruff: noqa: N818  # the names of pynvml

import json
import sys
import types
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rapidsgraph import __version__, cli, device, doctor

DRIVER = {"version": "580.65.06", "cuda": "13.0", "problem": None}
GPU = {
    "name": "Some GPU",
    "memory_total": 80 << 30,
    "memory_free": 60 << 30,
    "compute_capability": "9.0",
}
HARDWARE = {"present": False, "device_files": [], "inaccessible": [], "visibility": {}}


@pytest.fixture
def without_cupy(monkeypatch):
    problem = "CuPy cannot be imported (No module named 'cupy'); install rapidsgraph[cu13]"
    monkeypatch.setattr(device, "frame_library_problem", lambda: problem)
    monkeypatch.setattr(doctor, "_cuda_packages", dict)
    monkeypatch.setattr(doctor, "_container", lambda: None)


def run_doctor(*arguments):
    result = CliRunner().invoke(cli.app, ["doctor", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_without_a_gpu_the_cpu_works(monkeypatch, without_cupy):
    monkeypatch.setattr(doctor, "_driver", lambda hardware: (None, []))
    monkeypatch.setattr(doctor, "_hardware", lambda: HARDWARE)
    facts = json.loads(run_doctor("--json"))
    assert facts["rapidsgraph"] == __version__
    assert facts["works"] == {"cpu": True, "gpu": False}
    assert (facts["driver"], facts["gpus"], facts["cuda"]) == (None, [], None)
    assert facts["cpu"]["cores"] >= 1
    assert 0 < facts["cpu"]["memory_free"] <= facts["cpu"]["memory_total"]
    assert facts["numba"]["threads"] >= 1
    assert facts["numba"]["threading_layer"] in ("omp", "tbb", "workqueue")
    assert list(Path(facts["numba"]["cache"]).glob("generate.draw_uniform*.kernel"))
    assert facts["libraries"]["numba"]["version"][0].isdigit()
    assert facts["libraries"]["distributed"]["version"] == metadata.version("distributed")
    assert facts["version_conflicts"] == []
    assert [advice[:26] for advice in facts["advice"]] == ["No NVIDIA driver was found"]
    report = run_doctor()
    assert "runs on CPU   yes\nruns on GPU   no\n" in report
    assert "driver        not found\n" in report


@pytest.mark.slow
def test_no_advice_if_everything_works(monkeypatch):
    cuda = {"runtime": "13.0", "nvrtc": "13.0", "nvrtc_problem": None}
    library = doctor._library
    libraries = {"cupy": {"version": "14.2.0", "problem": None}}
    monkeypatch.setattr(doctor, "_library", lambda name: libraries.get(name) or library(name))
    monkeypatch.setattr(doctor, "_driver", lambda hardware: (DRIVER, [GPU]))
    monkeypatch.setattr(doctor, "_cuda", lambda: cuda)
    monkeypatch.setattr(device, "frame_library_problem", lambda: None)
    facts = json.loads(run_doctor("--json"))
    assert (facts["advice"], facts["works"]["gpu"]) == ([], True)
    report = run_doctor()
    assert "driver        580.65.06, CUDA up to 13.0\n" in report
    assert "CUDA runtime  13.0\nNVRTC         13.0, compiles\n" in report
    assert (
        "GPU           Some GPU, 60.0 of 80.0 GiB memory free, compute capability 9.0\n" in report
    )


def test_the_report_names_limits_and_extras():
    facts = doctor.collect()
    facts["cpu"] |= {"memory_total": 64 << 30, "memory_free": 6 << 30, "memory_limit": 8 << 30}
    facts["numba"] |= {"threads": 4, "threading_layer": "workqueue"}
    facts["container"] = "Podman"
    for name in ("dask", "matplotlib"):
        facts["libraries"][name] = {"version": None, "problem": "not installed"}
    report = dict(doctor.format_report(facts))
    assert report["CPU"].endswith("6.0 of 64.0 GiB memory free, limited to 8.0 GiB")
    assert report["Numba"].startswith("4 threads, threading layer workqueue (one calling thread at")
    assert report["container"] == "Podman"
    assert report["dask"] == "not installed; pip install 'rapidsgraph[dask]'"
    assert report["matplotlib"] == "not installed; pip install 'rapidsgraph[plot]'"
    facts["cpu"]["memory_limit"] = None
    facts["driver"] = {"version": "580.65.06", "cuda": None, "problem": None}
    facts["gpus"] = [GPU | {"memory_free": None, "compute_capability": None}]
    report = dict(doctor.format_report(facts))
    assert report["CPU"].endswith("6.0 of 64.0 GiB memory free")
    assert report["driver"] == "580.65.06, pynvml is not installed"
    assert report["GPU"] == "Some GPU, memory unknown, compute capability unknown"


class FakeNvml(types.ModuleType):
    """The part of `pynvml` that the doctor uses; handles are indices and UUIDs."""

    class NVMLError(Exception):
        """The base class."""

    class NVMLError_LibraryNotFound(NVMLError):
        """There is no driver."""

    def __init__(self, error=None, unsupported=()):
        super().__init__("pynvml")
        self.error = error
        self.unsupported = unsupported

    def nvmlInit(self):
        if self.error:
            raise self.error

    def nvmlSystemGetDriverVersion(self):
        return "580.65.06"

    def nvmlSystemGetCudaDriverVersion_v2(self):
        return 13000

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, index):
        if index >= 2:
            raise self.NVMLError("Invalid Argument")
        return index

    def nvmlDeviceGetHandleByUUID(self, name):
        if name != "MIG-1234":
            raise self.NVMLError("Not Found")
        return name

    def nvmlDeviceGetName(self, handle):
        return f"GPU {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle):
        if "memory" in self.unsupported:
            raise self.NVMLError("Not Supported")
        return types.SimpleNamespace(total=80 << 30, free=60 << 30)

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        return 9, 0


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["GPU 0", "GPU 1"]),
        ("1, 0", ["GPU 1", "GPU 0"]),
        ("MIG-1234", ["GPU MIG-1234"]),
        ("1,2,0", ["GPU 1"]),
        ("", []),
        ("-1", []),
    ],
)
def test_nvml_is_asked_for_visible_gpus(monkeypatch, visible, names):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert doctor._driver(HARDWARE) == (DRIVER, [GPU | {"name": name} for name in names])


def test_memory_of_an_integrated_gpu_is_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(unsupported={"memory"}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    expected = GPU | {"name": "GPU 0", "memory_total": None, "memory_free": None}
    assert doctor._driver(HARDWARE) == (DRIVER, [expected])


def test_a_driver_that_does_not_answer(monkeypatch):
    error = FakeNvml.NVMLError("Driver/library version mismatch")
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(error))
    problem = "the NVIDIA driver does not answer (Driver/library version mismatch)"
    assert doctor._driver(HARDWARE) == ({"version": None, "cuda": None, "problem": problem}, [])
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(FakeNvml.NVMLError_LibraryNotFound()))
    assert doctor._driver(HARDWARE) == (None, [])


def test_without_pynvml_the_kernel_tells_the_driver_version(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(doctor, "DRIVER_FILE", tmp_path / "version")
    hardware = HARDWARE | {"device_files": ["/dev/nvidia0"]}
    assert doctor._driver(hardware) == (None, [])
    for text in (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 2025\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n",
    ):
        (tmp_path / "version").write_text(text)
        assert doctor._driver(hardware) == (DRIVER | {"cuda": None}, [])
        assert doctor._driver(HARDWARE) == (None, [])  # a container that was given no GPU


def test_signs_of_a_gpu(monkeypatch, tmp_path):
    card = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n")
    (card / "class").write_text("0x030200\n")
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidiactl", "null"):
        (tmp_path / "dev" / name).touch()
    monkeypatch.setattr(doctor, "Path", lambda path: tmp_path / path.lstrip("/"))
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    monkeypatch.delenv("NVIDIA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    file = str(tmp_path / "dev/nvidia0")
    assert doctor._hardware() == {
        "present": True,
        "device_files": [file],
        "inaccessible": [file],
        "visibility": {"CUDA_VISIBLE_DEVICES": ""},
    }
    (card / "class").write_text("0x040300\n")  # the audio device of a graphics card
    assert not doctor._hardware()["present"]
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").touch()
    assert doctor._hardware()["present"]


@pytest.mark.parametrize(
    ("file", "variable", "kind"),
    [
        ("/.dockerenv", None, "Docker"),
        ("/run/.containerenv", None, "Podman"),
        ("/.dockerenv", "KUBERNETES_SERVICE_HOST", "Kubernetes"),
        (None, "APPTAINER_CONTAINER", "Apptainer"),
        (None, "container", "some-name"),
        (None, None, None),
    ],
)
def test_which_container(monkeypatch, tmp_path, file, variable, kind):
    for name in ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("container", raising=False)
    if variable:
        monkeypatch.setenv(variable, "some-name")
    if file:
        (tmp_path / file[1:]).parent.mkdir(exist_ok=True)
        (tmp_path / file[1:]).touch()
    monkeypatch.setattr(doctor, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert doctor._container() == kind


def test_a_broken_library_is_told_apart_from_a_missing_one(monkeypatch):
    missing = {"version": None, "problem": "not installed"}
    assert doctor._library("no_such_library") == missing

    def fail(name):
        raise RuntimeError("wrong driver")

    monkeypatch.setattr(doctor.importlib, "import_module", fail)
    assert doctor._library("cudf") == {"version": None, "problem": "RuntimeError: wrong driver"}


def test_versions_are_compared_with_the_requirements(monkeypatch):
    requirements = doctor._requirements()
    assert requirements["dask"] == requirements["distributed"] == (">=2025.1", "dask")
    assert requirements["pandas"] == (">=2.2.2", None)
    assert requirements["cudf"] == ("==26.10.*", "cu12")
    assert set(requirements) == set(doctor.LIBRARIES)
    versions = {
        "dask": "2024.12.1",
        "distributed": "2025.1",
        "pandas": "2.10.0",
        "cudf": "26.08.00",
        "rmm": "26.10.02",
        "cupy": None,
    }
    libraries = {name: {"version": version} for name, version in versions.items()}
    assert sorted(doctor._version_conflicts(libraries)) == [
        ("cudf", "26.08.00", "==26.10.*", "cu12"),
        ("dask", "2024.12.1", ">=2025.1", "dask"),
    ]

    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", not_installed)
    assert doctor._requirements() == {}


def test_cuda_packages(monkeypatch):
    names = ["CuPy-cuda13x", "cudf-cu12", "pandas", "dask-cudf-cu13", "nvidia-cublas-cu12", None]
    distributions = [types.SimpleNamespace(name=name) for name in names]
    monkeypatch.setattr(metadata, "distributions", lambda: distributions)
    expected = {"cudf-cu12": 12, "cupy-cuda13x": 13, "dask-cudf-cu13": 13}
    assert doctor._cuda_packages() == expected


def fake_cupy(monkeypatch, get_version, compile_kernel):
    nvrtc, runtime = types.SimpleNamespace(getVersion=get_version), types.SimpleNamespace()
    runtime.runtimeGetVersion = lambda: 13020
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(nvrtc=nvrtc, runtime=runtime))
    cupy.RawModule = lambda code, options: types.SimpleNamespace(compile=compile_kernel)
    monkeypatch.setitem(sys.modules, "cupy", cupy)


def raise_error(text):
    def function(*arguments):
        raise RuntimeError(text)

    return function


def test_the_cuda_compiler(monkeypatch):
    works = {"runtime": "13.2", "nvrtc": "13.2", "nvrtc_problem": None}
    fake_cupy(monkeypatch, lambda: (13, 2), lambda: None)
    assert doctor._cuda() == works
    fake_cupy(monkeypatch, lambda: (13, 2), raise_error("no\nheaders"))
    assert doctor._cuda() == works | {"nvrtc_problem": "no headers"}
    problem = 'Failure finding "libnvrtc.so.13"'
    fake_cupy(monkeypatch, raise_error(problem), None)
    assert doctor._cuda() == works | {"nvrtc": None, "nvrtc_problem": problem}


@pytest.mark.gpu
def test_on_a_machine_with_a_gpu():
    facts = json.loads(run_doctor("--json"))
    assert facts["works"] == {"cpu": True, "gpu": True}
    advice = [text for text in facts["advice"] if "GiB free" not in text]  # other processes' share
    assert (facts["gpu_problem"], advice) == (None, [])
    assert facts["driver"]["problem"] is None
    assert facts["driver"]["version"] is not None
    assert facts["cuda"]["nvrtc_problem"] is None
    assert facts["hardware"]["device_files"] != []
    for name in ("cupy", "cudf", "rmm"):
        assert facts["libraries"][name]["problem"] is None
    pytest.importorskip("pynvml")
    gpu = facts["gpus"][0]
    assert 0 < gpu["memory_free"] <= gpu["memory_total"]
    assert gpu["memory_total"] > 1 << 30
