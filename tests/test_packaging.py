"""What is installed, and what importing it costs."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "rapidsgraph/__init__.py").read_text())[1]
RAPIDS = "26.10"
RAPIDS_PACKAGES = {"cudf", "dask-cuda", "dask-cudf", "rmm"}

IMPORT = """
import json, sys, time
start = time.perf_counter()
import rapidsgraph
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted(sys.modules), rapidsgraph.__version__]))
"""


def split(requirement):
    """Name and version bound of a requirement, without extras and environment markers."""
    name, bound = re.match(r"([\w-]+)(?:\[[\w,]+\])?([^;]*)", requirement).groups()
    return name, bound.strip()


def pip_bounds(*extras):
    """Name -> bound of the runtime dependencies and some extras, named as in conda."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    bounds = dict(split(line) for line in lines)
    return {re.sub(r"-(cu|cuda)1\dx?$", "", name): bound for name, bound in bounds.items()}


def conda_lines():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def conda_bounds():
    """Name -> bound, where conda's `cudf=26.10` is written as pip's `cudf==26.10.*`."""
    lines = [line for line in conda_lines()["dependencies"] if isinstance(line, str)]
    bounds = dict(re.match(r"([\w-]+)(.*)", line).groups() for line in lines)
    return {name: re.sub(r"^=([\d.]+)$", r"==\1.*", bound) for name, bound in bounds.items()}


@pytest.mark.parametrize("cuda", ["cu12", "cu13"])
def test_one_rapids_release(cuda):
    bounds = pip_bounds(cuda)
    pinned = {name for name, bound in bounds.items() if bound == f"=={RAPIDS}.*"}
    assert pinned == RAPIDS_PACKAGES
    names = [split(line)[0] for line in PROJECT["optional-dependencies"][cuda]]
    assert [name for name in names if re.search(r"-cu(da)?\d", name) and cuda[2:] not in name] == []


def test_rapids_only_in_its_extras():
    others = set(PROJECT["optional-dependencies"]) - {"cu12", "cu13"}
    assert not RAPIDS_PACKAGES & set(pip_bounds(*others))


def test_conda_environment_has_the_bounds_of_pyproject():
    own = {"python", "pip", "cuda-version"}  # to pip these are not packages
    conda = {name: bound for name, bound in conda_bounds().items() if name not in own}
    assert conda == pip_bounds("cu13", "dask", "plot")


def test_conda_environment_fits_cuda_and_python():
    bounds = conda_bounds()
    assert bounds["cuda-version"] == "=13.*"
    assert bounds["python"] == "==3.12.*"
    assert PROJECT["requires-python"] == ">=3.11"
    assert conda_lines()["channels"] == ["rapidsai", "conda-forge"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, built from a copy because the build leaves folders behind.

    Setuptools is called as pip calls it, without pip, which an environment need not have.
    """
    pytest.importorskip("setuptools", minversion="77.0.3")
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(
        ROOT / "rapidsgraph", tree / "rapidsgraph", ignore=shutil.ignore_patterns("__pycache__")
    )
    build = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"
    result = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=tree, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_wheel_holds_every_module_kernel_and_dataset(wheel):
    endings = {".py", ".cu", ".cuh", ".parquet"}
    ours = [path for path in (ROOT / "rapidsgraph").rglob("*") if path.suffix in endings]
    expected = {path.relative_to(ROOT).as_posix() for path in ours}
    packed = set(wheel.namelist())
    assert expected - packed == set()
    assert "rapidsgraph/datasets/debian.parquet" in packed
    assert any(name.endswith(".cu") for name in packed)


def test_wheel_holds_the_package_alone(wheel):
    folders = {name.split("/")[0] for name in wheel.namelist()}
    assert folders == {"rapidsgraph", f"rapidsgraph-{VERSION}.dist-info"}


def test_wheel_metadata(wheel):
    folder = f"rapidsgraph-{VERSION}.dist-info"
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert f"Version: {VERSION}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert "rapidsgraph = rapidsgraph.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_import_is_light():
    """No GPU, Dask or plotting library, and under a second once the files are in memory."""
    runs = []
    for _ in range(4):
        output = subprocess.run(
            [sys.executable, "-c", IMPORT],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        runs.append(json.loads(output))
    for _, modules, version in runs:
        loaded = {name.partition(".")[0] for name in modules}
        assert loaded & {"cudf", "cupy", "dask", "distributed", "matplotlib", "rmm"} == set()
        assert version == VERSION
    assert min(seconds for seconds, _, _ in runs) < 1
