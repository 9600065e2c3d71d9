"""The doctor's report on machines with and without a GPU."""

import ctypes
import json
import sys
import types
import uuid
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rapidsgraph import __version__, cli, device, doctor
from rapidsgraph.doctor import containers, driver, libraries

DRIVER = {"version": "580.1", "cuda": "13.0", "problem": None}
GPU = {
    "name": "Some GPU",
    "memory_total": 80 << 30,
    "memory_free": 60 << 30,
    "compute_capability": "9.0",
}
NO_TRACES = {"card": False, "nodes": [], "closed": [], "hidden": {}}


@pytest.fixture
def without_cupy(monkeypatch):
    problem = "CuPy cannot be imported (No module named 'cupy'); install rapidsgraph[cu13]"
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: problem)
    monkeypatch.setattr(libraries, "cuda_packages", dict)
    monkeypatch.setattr(libraries, "nvrtc", lambda: None)
    monkeypatch.setattr(doctor, "container", lambda: None)


def report(*arguments):
    done = CliRunner().invoke(cli.app, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_without_a_gpu_the_cpu_works(monkeypatch, without_cupy):
    monkeypatch.setattr(doctor, "nvidia", lambda: (None, []))
    monkeypatch.setattr(doctor, "traces", lambda: NO_TRACES)
    found = json.loads(report("--json"))
    assert found["rapidsgraph"] == __version__
    assert found["works"] == {"cpu": True, "gpu": False}
    assert (found["driver"], found["gpus"], found["nvrtc"]) == (None, [], None)
    assert found["cpu"]["cores"] >= 1
    assert 0 < found["cpu"]["memory_free"] <= found["cpu"]["memory_total"]
    assert found["numba"]["threads"] >= 1
    assert found["numba"]["threading_layer"] in ("omp", "tbb", "workqueue")
    assert list(Path(found["numba"]["cache"]).glob("generate.draw_uniform*.kernel"))
    assert found["libraries"]["numba"]["version"][0].isdigit()
    assert found["libraries"]["distributed"]["version"] == metadata.version("distributed")
    assert found["misfits"] == []
    assert [advice[:28] for advice in found["advice"]] == ["There is no NVIDIA driver (l"]
    shown = report()
    assert "runs on CPU   yes\nruns on GPU   no\n" in shown
    assert "driver        none found\n" in shown


def test_nothing_to_advise_where_all_works(monkeypatch):
    monkeypatch.setattr(doctor, "nvidia", lambda: (DRIVER, [GPU]))
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: None)
    monkeypatch.setattr(device.arrays, "cudf_problem", lambda: None)
    monkeypatch.setattr(libraries, "runtime", lambda: "13.0")
    monkeypatch.setattr(libraries, "nvrtc", lambda: {"version": "13.0", "problem": None})
    found = json.loads(report("--json"))
    assert (found["advice"], found["works"]["gpu"]) == ([], True)
    shown = report()
    assert "NVRTC         13.0, compiles\n" in shown
    assert "GPU           Some GPU, 60.0 of 80.0 GiB free, compute capability 9.0\n" in shown


def test_lines_tell_of_limits_and_of_what_can_be_added():
    found = doctor.facts()
    found["cpu"] |= {"memory_total": 64 << 30, "memory_free": 6 << 30, "memory_limit": 8 << 30}
    found["numba"] |= {"threads": 4, "threading_layer": "workqueue"}
    found["container"] = "Podman"
    for name in ("dask", "matplotlib"):
        found["libraries"][name] = {"version": None, "problem": "not installed"}
    shown = dict(doctor.lines(found))
    assert shown["CPU"].endswith("6.0 of 64.0 GiB memory free, limited to 8.0 GiB")
    assert shown["Numba"].startswith("works, 4 threads by workqueue (for one thread at a time;")
    assert shown["container"] == "Podman"
    assert shown["dask"] == "not installed; pip install 'rapidsgraph[dask]' brings it"
    assert shown["matplotlib"] == "not installed; pip install 'rapidsgraph[plot]' brings it"
    found["cpu"]["memory_limit"] = None
    assert dict(doctor.lines(found))["CPU"].endswith("6.0 of 64.0 GiB memory free")


class Library:
    """What the two driver libraries answer."""

    number = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")

    def __init__(self, status=0, known="GPU"):
        self.status = status
        self.known = known

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

    def cuDeviceGetUuid_v2(self, number, handle):
        number.raw = self.number.bytes
        return 0

    def nvmlInit_v2(self):
        return 0

    def nvmlSystemGetDriverVersion(self, text, size):
        text.value = b"580.1"
        return 0

    def nvmlDeviceGetHandleByUUID(self, name, handle):
        handle._obj.value = 7
        return 0 if name.decode() == f"{self.known}-{self.number}" else 6

    def nvmlDeviceGetMemoryInfo(self, handle, memory):
        memory._obj.free = 60 << 30 if handle.value == 7 else 0
        return 0


@pytest.mark.parametrize("known", ["GPU", "MIG"])
def test_the_driver_is_asked_without_cupy(monkeypatch, known):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(known=known))
    assert doctor.nvidia() == (DRIVER | {"cuda": "12.4"}, [GPU])


def test_free_memory_of_a_gpu_is_unknown_without_nvml(monkeypatch):
    def library(name):
        if name != "libcuda.so.1":
            raise OSError(name)
        return Library()

    monkeypatch.setattr(ctypes, "CDLL", library)
    expected = DRIVER | {"cuda": "12.4", "version": None}, [GPU | {"memory_free": None}]
    assert doctor.nvidia() == expected


def test_a_driver_that_does_not_start(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(803))
    found, gpus = doctor.nvidia()
    assert gpus == []
    assert found["problem"].startswith("the driver does not start: CUDA error 803, its library and")


def test_traces_of_a_gpu(monkeypatch, tmp_path):
    card = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x10de\n")
    (card / "class").write_text("0x030200\n")
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidiactl", "null"):
        (tmp_path / "dev" / name).touch()
    monkeypatch.setattr(driver, "Path", lambda path: tmp_path / path.lstrip("/"))
    monkeypatch.setattr(driver.os, "access", lambda path, mode: False)
    monkeypatch.delenv("NVIDIA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    node = str(tmp_path / "dev/nvidia0")
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    expected = {"card": True, "nodes": [node], "closed": [node], "hidden": hidden}
    assert driver.traces() == expected
    (card / "class").write_text("0x040300\n")  # the sound of a screen's cable
    assert not driver.traces()["card"]
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").touch()
    assert driver.traces()["card"]


@pytest.mark.parametrize(
    ("mark", "variable", "kind"),
    [
        ("/.dockerenv", None, "Docker"),
        ("/run/.containerenv", None, "Podman"),
        ("/.dockerenv", "KUBERNETES_SERVICE_HOST", "Kubernetes"),
        (None, "APPTAINER_CONTAINER", "Apptainer"),
        (None, "container", "some-name"),
        (None, None, None),
    ],
)
def test_which_container(monkeypatch, tmp_path, mark, variable, kind):
    for name in ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("container", raising=False)
    if variable:
        monkeypatch.setenv(variable, "some-name")
    if mark:
        (tmp_path / mark[1:]).parent.mkdir(exist_ok=True)
        (tmp_path / mark[1:]).touch()
    monkeypatch.setattr(containers, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert containers.container() == kind


def test_a_broken_library_is_told_apart_from_a_missing_one(monkeypatch):
    missing = {"version": None, "problem": "not installed"}
    assert libraries.version("no_such_library") == missing

    def broken(name):
        raise RuntimeError("wrong driver")

    monkeypatch.setattr(libraries.importlib, "import_module", broken)
    assert libraries.version("cudf") == {"version": None, "problem": "RuntimeError: wrong driver"}


def test_versions_are_compared_with_those_asked_for(monkeypatch):
    bounds = libraries.bounds()
    assert bounds["dask"] == bounds["distributed"] == (">=2025.1", "dask")
    assert bounds["pandas"] == (">=2.2.2", None)
    assert bounds["cudf"] == ("==26.10.*", "cu12")
    assert set(bounds) == set(libraries.NAMES)
    there = {
        "dask": "2024.12.1",
        "distributed": "2025.1",
        "pandas": "2.10.0",
        "cudf": "26.08.00",
        "rmm": "26.10.02",
        "cupy": None,
    }
    found = {name: {"version": version} for name, version in there.items()}
    assert list(libraries.misfits(found)) == [
        ("dask", "2024.12.1", ">=2025.1", "dask"),
        ("cudf", "26.08.00", "==26.10.*", "cu12"),
    ]

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert libraries.bounds() == {}


def test_cuda_packages(monkeypatch):
    names = ["CuPy-cuda13x", "cudf-cu12", "pandas", "dask-cudf-cu13", "nvidia-cublas-cu12", None]
    found = [types.SimpleNamespace(name=name) for name in names]
    monkeypatch.setattr(metadata, "distributions", lambda: found)
    expected = {"cudf-cu12": 12, "cupy-cuda13x": 13, "dask-cudf-cu13": 13}
    assert libraries.cuda_packages() == expected


def fake_cupy(monkeypatch, version, compile):
    nvrtc, runtime = types.SimpleNamespace(getVersion=version), types.SimpleNamespace()
    runtime.runtimeGetVersion = lambda: 13020
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(nvrtc=nvrtc, runtime=runtime))
    cupy.RawModule = lambda code, options: types.SimpleNamespace(compile=compile)
    monkeypatch.setitem(sys.modules, "cupy", cupy)


def fail(text):
    def failing(*arguments):
        raise RuntimeError(text)

    return failing


def test_the_compiler_of_cuda(monkeypatch):
    fake_cupy(monkeypatch, lambda: (13, 2), lambda: None)
    assert libraries.nvrtc() == {"version": "13.2", "problem": None}
    assert libraries.runtime() == "13.2"
    fake_cupy(monkeypatch, lambda: (13, 2), fail("no\nheaders"))
    assert libraries.nvrtc() == {"version": "13.2", "problem": "no headers"}
    fake_cupy(monkeypatch, fail('Failure finding "libnvrtc.so.13"'), None)
    assert libraries.nvrtc()["problem"] == 'Failure finding "libnvrtc.so.13"'
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert (libraries.nvrtc(), libraries.runtime()) == (None, None)


@pytest.mark.gpu
def test_on_a_machine_with_a_gpu():
    found = json.loads(report("--json"))
    assert found["works"] == {"cpu": True, "gpu": True}
    advice = [line for line in found["advice"] if "GiB free" not in line]  # others may hold some
    assert (found["problem"], advice) == (None, [])
    assert found["driver"]["problem"] is None
    assert found["driver"]["version"] is not None
    gpu = found["gpus"][0]
    assert 0 < gpu["memory_free"] <= gpu["memory_total"]
    assert gpu["memory_total"] > 1 << 30
    assert found["nvrtc"]["problem"] is None
    assert found["traces"]["nodes"] != []
    for name in ("cupy", "cudf", "rmm"):
        assert found["libraries"][name]["problem"] is None
