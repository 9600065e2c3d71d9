"""What is installed, and what importing it costs."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement  # pytest brings it
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow

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
    names = {name: re.sub(r"-(cu|cuda)1\dx?$", "", name) for name in bounds}
    return {names[name].replace("nvidia-nccl", "nccl"): bound for name, bound in bounds.items()}


def conda_lines():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def conda_bounds():
    """Name -> bound, where conda's `cudf=26.10` is written as pip's `cudf==26.10.*`."""
    lines = [line for line in conda_lines()["dependencies"] if isinstance(line, str)]
    bounds = dict(re.match(r"([\w-]+)(.*)", line).groups() for line in lines)
    assert len(bounds) == len(lines)  # none twice
    return {name: re.sub(r"^=([\d.]+)$", r"==\1.*", bound) for name, bound in bounds.items()}


@pytest.mark.parametrize("cuda", ["cu12", "cu13"])
def test_one_rapids_release(cuda):
    bounds = pip_bounds(cuda)
    pinned = {name for name, bound in bounds.items() if bound == f"=={RAPIDS}.*"}
    assert pinned == RAPIDS_PACKAGES
    names = [split(line)[0] for line in PROJECT["optional-dependencies"][cuda]]
    assert [name for name in names if re.search(r"-cu(da)?\d", name) and cuda[2:] not in name] == []


def test_cuda_12_and_13_ask_for_the_same():
    assert pip_bounds("cu12") == pip_bounds("cu13")
    lines = {extra: PROJECT["optional-dependencies"][extra] for extra in ("cu12", "cu13")}
    assert [line.replace("12", "13") for line in lines["cu12"]] == lines["cu13"]


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
    assert [line for line in conda_lines()["dependencies"] if not isinstance(line, str)] == [
        {"pip": ["-e ."]}
    ]


def test_the_oldest_python_is_the_same_everywhere():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    makefile = (ROOT / "Makefile").read_text()
    assert f"sys.version_info < ({oldest.replace('.', ', ')})" in makefile
    assert set(re.findall(r"Python (3\.\d+) or newer", makefile)) == {oldest}
    assert f"Python {oldest} or newer" in (ROOT / "README.md").read_text()
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"


def test_classifiers_name_the_pythons_that_are_resolved():
    text = (ROOT / "docs/resolved_dependencies.jsonl").read_text()
    resolved = {json.loads(line)["python"] for line in text.splitlines()}
    prefix = "Programming Language :: Python :: 3."
    classified = {
        line.removeprefix(prefix[:-2]) for line in PROJECT["classifiers"] if line.startswith(prefix)
    }
    assert classified == resolved


FOLDERS = ("docker", "docs", "pipelines", "rapidsgraph", "tests")
FILES = (
    ".dockerignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "environment.yml",
    "pyproject.toml",
)
JUNK = (
    "docs/api/generated/rapidsgraph.bfs.rst",
    "pipelines/half.parquet.tmp",
    "rapidsgraph/__pycache__/graph.cpython-311.pyc",
    "tests/.hypothesis/examples",
    "tests/__pycache__/naive.cpython-311.pyc",
)
BUILD = """
import sys, setuptools.build_meta as backend
getattr(backend, "build_" + sys.argv[1])(sys.argv[2])
"""


def build(kind, tree, folder):
    """Setuptools is called as pip calls it, without pip, which an environment need not have."""
    pytest.importorskip("setuptools", minversion="77.0.3")
    folder.mkdir()
    command = [sys.executable, "-c", BUILD, kind, str(folder)]
    result = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (path,) = (path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return path


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Copy the project, because builds leave folders behind, and add typical leftovers."""
    tree = tmp_path_factory.mktemp("tree")
    for name in FILES:
        shutil.copy(ROOT / name, tree)
    unwanted = shutil.ignore_patterns("__pycache__", ".hypothesis", "generated")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=unwanted)
    for name in JUNK:
        (tree / name).parent.mkdir(exist_ok=True, parents=True)
        (tree / name).touch()
    return tree


def files_in(tree):
    """Names of what the tree holds, without what was left there."""
    files = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    return {name for name in files - set(JUNK) if re.match("build/|.*egg-info/", name) is None}


@pytest.fixture(scope="module")
def wheel_file(tree, tmp_path_factory):
    return build("wheel", tree, tmp_path_factory.mktemp("built") / "wheel")


@pytest.fixture
def wheel(wheel_file):
    with zipfile.ZipFile(wheel_file) as archive:
        yield archive


@pytest.fixture(scope="module")
def unpacked(tree, tmp_path_factory):
    """Unpack an sdist and return its folder."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", tree, folder / "built")) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in 3.11.2
        archive.extractall(folder, **safely)
    return folder / f"rapidsgraph-{VERSION}"


def test_wheel_holds_the_package_alone(tree, wheel):
    """All of it: modules, kernels, the graph."""
    expected = {name for name in files_in(tree) if name.startswith("rapidsgraph/")}
    packed = set(wheel.namelist())
    assert {name for name in packed if not name.startswith("rapidsgraph-")} == expected
    assert {"rapidsgraph/datasets/debian.parquet", "rapidsgraph/kernels/pagerank.cu"} <= packed
    folders = {name.split("/")[0] for name in packed}
    assert folders == {"rapidsgraph", f"rapidsgraph-{VERSION}.dist-info"}


def test_wheel_is_small(wheel_file):
    assert wheel_file.name == f"rapidsgraph-{VERSION}-py3-none-any.whl"
    assert 10**6 < wheel_file.stat().st_size < 5 * 10**6  # the graph alone takes the first


def test_wheel_metadata(wheel):
    folder = f"rapidsgraph-{VERSION}.dist-info"
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert f"Version: {VERSION}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    for name, url in PROJECT["urls"].items():
        assert f"Project-URL: {name}, {url}\n" in metadata
    scripts = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "rapidsgraph = rapidsgraph.__main__:main" in scripts
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_wheel_runs_outside_the_source_tree(wheel, tmp_path):
    wheel.extractall(tmp_path / "site")
    question = """
import rapidsgraph as rg
from rapidsgraph import device
print(rg.__file__, len(rg.datasets.debian()), "extern" in device.cuda_source("pagerank"))
"""
    answer = subprocess.run(
        [sys.executable, "-c", question],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    place = tmp_path / "site/rapidsgraph/__init__.py"
    assert answer.split() == [str(place), "303335", "True"]


def test_sdist_can_be_built_and_tested_from(tree, unpacked):
    made = {"PKG-INFO", "setup.cfg"}
    assert files_in(unpacked) - made == files_in(tree)
    assert {"tests/naive.py", "tests/conftest.py", "pipelines/rank.py"} <= files_in(unpacked)


def test_a_wheel_of_the_sdist_is_that_of_the_tree(unpacked, wheel, tmp_path):
    with zipfile.ZipFile(build("wheel", unpacked, tmp_path / "wheel")) as again:
        assert sorted(again.namelist()) == sorted(wheel.namelist())
        for name in wheel.namelist():
            assert again.read(name) == wheel.read(name), name


def test_every_extra_was_resolved_for_every_python():
    """The record of docker/resolve_dependencies.py agrees with pyproject.toml."""
    text = (ROOT / "docs/resolved_dependencies.jsonl").read_text()
    assert "://" not in text
    rows = [json.loads(line) for line in text.splitlines()]
    cases = [(row["python"], row["machine"], row["extra"]) for row in rows]
    pythons, machines = ("3.11", "3.12", "3.13", "3.14"), ("x86_64", "aarch64")
    extras = sorted(["", *PROJECT["optional-dependencies"]])
    assert cases == list(itertools.product(pythons, machines, extras))
    assert [row for row in rows if row["error"]] == []
    for row in rows:
        lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get(row["extra"], [])]
        asked = [Requirement(line) for line in lines if not line.startswith("rapidsgraph[")]
        here = {"python_version": row["python"], "sys_platform": "linux"}
        asked = [one for one in asked if one.marker is None or one.marker.evaluate(here)]
        for requirement in asked:
            version = row["versions"][canonicalize_name(requirement.name)]
            assert version in requirement.specifier, (row["extra"], str(requirement), version)
        assert len(asked) <= len(row["versions"]) < row["packages"]
    assert {row["tool"].split()[0] for row in rows if row["machine"] == "aarch64"} == {"uv"}
    pip = {row["python"] for row in rows if row["tool"].startswith("pip")}
    assert pip >= {"3.11", "3.12", "3.13"}


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
