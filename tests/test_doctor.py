"""The doctor's report on machines with and without a GPU."""

import ctypes
import json

import pytest
from typer.testing import CliRunner

from rapidsgraph import __version__, cli, device, doctor

DRIVER = {"version": "580.1", "cuda": "13.0", "problem": None}
GPU = {"name": "Some GPU", "memory_total": 80 << 30, "compute_capability": "9.0"}


@pytest.fixture
def without_cupy(monkeypatch):
    problem = "CuPy cannot be imported (No module named 'cupy'); install rapidsgraph[cu13]"
    monkeypatch.setattr(device, "gpu_problem", lambda: problem)
    monkeypatch.setattr(device, "frame_library_problem", lambda: problem)


def report(*arguments):
    done = CliRunner().invoke(cli.app, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_without_a_gpu_the_cpu_works(monkeypatch, without_cupy):
    monkeypatch.setattr(doctor, "nvidia", lambda: (None, []))
    found = json.loads(report("--json"))
    assert found["rapidsgraph"] == __version__
    assert found["works"] == {"cpu": True, "gpu": False}
    assert (found["driver"], found["gpus"], found["nvrtc"]) == (None, [], None)
    assert found["cpu"]["cores"] >= 1
    assert 0 < found["cpu"]["memory_free"] <= found["cpu"]["memory_total"]
    assert found["numba"]["threads"] >= 1
    assert found["numba"]["threading_layer"] in ("omp", "tbb", "workqueue")
    assert found["libraries"]["numba"]["version"][0].isdigit()
    assert [advice[:28] for advice in found["advice"]] == ["There is no NVIDIA driver (l"]
    shown = report()
    assert "runs on CPU   yes\nruns on GPU   no\n" in shown
    assert "driver        none found\n" in shown


@pytest.mark.parametrize(
    ("cuda", "advice"),
    [
        ("13.2", "pip install 'rapidsgraph[cu13]'"),
        ("14.0", "pip install 'rapidsgraph[cu13]'"),
        ("12.4", "pip install 'rapidsgraph[cu12]'"),
        ("11.8", "The driver is for CUDA 11.8; update it to one for CUDA 12 or 13"),
    ],
)
def test_what_to_install_follows_from_the_driver(monkeypatch, without_cupy, cuda, advice):
    monkeypatch.setattr(doctor, "nvidia", lambda: (DRIVER | {"cuda": cuda}, [GPU]))
    shown = report()
    assert f"driver        580.1, for CUDA up to {cuda}\n" in shown
    assert "GPU           Some GPU, 80.0 GiB, compute capability 9.0\n" in shown
    assert shown.rstrip().endswith(advice)


def test_a_driver_that_does_not_start(monkeypatch, without_cupy):
    problem = "the driver does not start: CUDA error 999"
    monkeypatch.setattr(doctor, "nvidia", lambda: (DRIVER | {"problem": problem}, []))
    assert f"{problem}; nvidia-smi may tell why" in report()


def test_nothing_to_advise_where_all_works(monkeypatch):
    monkeypatch.setattr(doctor, "nvidia", lambda: (DRIVER, [GPU]))
    monkeypatch.setattr(device, "gpu_problem", lambda: None)
    monkeypatch.setattr(device, "frame_library_problem", lambda: None)
    monkeypatch.setattr(doctor, "_runtime", lambda: "13.0")
    monkeypatch.setattr(doctor, "_nvrtc", lambda: {"version": "13.0", "problem": None})
    found = json.loads(report("--json"))
    assert (found["advice"], found["works"]["gpu"]) == ([], True)
    assert "NVRTC         13.0, compiles\n" in report()


class Library:
    """What the two driver libraries answer."""

    def __init__(self, status):
        self.status = status

    def cuInit(self, flags):
        return self.status

    def cuDriverGetVersion(self, number):
        number._obj.value = 12040

    def cuDeviceGetCount(self, count):
        count._obj.value = 1
        return 0

    def cuDeviceGet(self, handle, place):
        handle._obj.value = place

    def cuDeviceGetName(self, name, size, handle):
        name.value = b"Some GPU"

    def cuDeviceTotalMem_v2(self, size, handle):
        size._obj.value = 80 << 30

    def cuDeviceGetAttribute(self, value, attribute, handle):
        value._obj.value = {75: 9, 76: 0}[attribute]

    def nvmlInit_v2(self):
        return 0

    def nvmlSystemGetDriverVersion(self, text, size):
        text.value = b"580.1"
        return 0


def test_the_driver_is_asked_without_cupy(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(0))
    assert doctor.nvidia() == (DRIVER | {"cuda": "12.4"}, [GPU])
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(100))
    driver, gpus = doctor.nvidia()
    assert (driver["problem"], gpus) == ("the driver does not start: CUDA error 100", [])


def test_a_broken_library_is_told_apart_from_a_missing_one(monkeypatch):
    assert doctor._version("no_such_library") == {"version": None, "problem": "not installed"}

    def broken(name):
        raise RuntimeError("wrong driver")

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    assert doctor._version("cudf") == {"version": None, "problem": "RuntimeError: wrong driver"}


@pytest.mark.gpu
def test_on_a_machine_with_a_gpu():
    found = json.loads(report("--json"))
    assert found["works"] == {"cpu": True, "gpu": True}
    assert found["advice"] == []
    assert found["driver"]["problem"] is None
    assert found["gpus"][0]["memory_total"] > 1 << 30
    assert found["nvrtc"]["problem"] is None
    for name in ("cupy", "cudf", "rmm"):
        assert found["libraries"][name]["problem"] is None
