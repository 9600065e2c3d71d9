"""The files of docker/ are consistent with the package. docker/test.sh builds and runs them."""

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rapidsgraph as rg
from rapidsgraph.distributed import cluster, monitor

yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
spec = importlib.util.spec_from_file_location("services", DOCKER / "services.py")
services = importlib.util.module_from_spec(spec)
spec.loader.exec_module(services)


def stage(name):
    """Return the instructions of a stage, with continued lines joined, without comments."""
    text = re.search(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S)[1]
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M)
    return re.sub(r"\\\n\s*", "", text).splitlines()


def arguments_of(stage_name, instruction):
    return [
        line.partition(" ")[2] for line in stage(stage_name) if line.startswith(f"{instruction} ")
    ]


def environment(stage_name):
    return dict(
        word.split("=", 1) for line in arguments_of(stage_name, "ENV") for word in shlex.split(line)
    )


def in_build(path):
    """Return whether .dockerignore admits a path: the last matching line decides."""
    is_included = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!").removeprefix("**/")
            parts = Path(path).parts
            parents = ["/".join(parts[: i + 1]) for i in range(len(parts))]
            candidates = list(parts) if "**/" in line else parents
            if any(fnmatch(name, pattern) for name in candidates):
                is_included = line.startswith("!")
    return is_included


def load_services(variables=None, gpu=False):
    """Return services by name; with `gpu`, the overrides of compose.gpu.yaml alone."""
    name = "compose.gpu.yaml" if gpu else "compose.yaml"
    return services.load_services(variables or {}, DOCKER / name)


def test_bases_are_pinned_by_arguments():
    bases = dict(re.findall(r"^ARG (\w+)=(\S+)$", DOCKERFILE, re.M))
    python, _ = re.fullmatch(r"python:(3\.\d+)-slim-(\w+)", bases["PYTHON_IMAGE"]).groups()
    rapids, cuda, its_python = re.fullmatch(
        r"rapidsai/base:([\d.]+)-cuda(\d+)-py(3\.\d+)", bases["RAPIDS_IMAGE"]
    ).groups()
    pins = PROJECT["optional-dependencies"][f"cu{cuda}"]
    assert f"cudf-cu{cuda}=={rapids}.*" in pins
    oldest = PROJECT["requires-python"].removeprefix(">=")
    for version in (python, its_python):
        assert int(version.split(".")[1]) >= int(oldest.split(".")[1])
    used = set(re.findall(r"^FROM (\S+) AS", DOCKERFILE, re.M))
    assert used == {"${PYTHON_IMAGE}", "${RAPIDS_IMAGE}", "dependencies"}


def test_requirements_are_those_of_pyproject():
    (command,) = [line for line in arguments_of("requirements", "RUN") if "requirements.py" in line]
    extras = re.search(r"pyproject.toml (.*) >", command)[1].split()
    assert extras == ["dask", "plot"]
    program = [sys.executable, DOCKER / "requirements.py", ROOT / "pyproject.toml", *extras]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    optional = PROJECT["optional-dependencies"]
    assert printed.splitlines() == PROJECT["dependencies"] + optional["dask"] + optional["plot"]


def test_dependencies_do_not_depend_on_the_source():
    sources = [words.split()[-2] for words in arguments_of("dependencies", "COPY")]
    assert sources == ["/requirements.txt"]
    assert arguments_of("requirements", "COPY") == [
        "pyproject.toml docker/requirements.py /source/"
    ]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_targets(target):
    assert arguments_of(target, "ENTRYPOINT") == ['["rapidsgraph"]']
    assert "rapidsgraph" in PROJECT["scripts"]
    assert arguments_of(target, "USER")[-1] == "10001:10001"
    assert arguments_of(target, "WORKDIR") == ["/data"]
    assert arguments_of(target, "STOPSIGNAL") == ["SIGINT"]
    (labels,) = arguments_of(target, "LABEL")
    labels = dict(word.split("=", 1) for word in shlex.split(labels))
    assert labels["org.opencontainers.image.version"] == rg.__version__
    assert labels["org.opencontainers.image.licenses"] == PROJECT["license"]
    base = {"cpu": "${PYTHON_IMAGE}", "gpu": "${RAPIDS_IMAGE}"}[target]
    assert labels["org.opencontainers.image.base.name"] == base


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_any_user_has_a_home_and_caches(target):
    variables = environment(target)
    (setup,) = [line for line in arguments_of(target, "RUN") if "useradd" in line]
    assert 'chmod 1777 "$HOME" "$HOME/.cache" "$MPLCONFIGDIR"' in setup
    if target == "gpu":
        assert variables["CUPY_CACHE_DIR"] == f"{variables['HOME']}/.cache/cupy"


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_only_root_can_write_to_cached_kernels(target):
    assert not [
        line for line in arguments_of(target, "RUN") if "a+rwX" in line or "chmod 777" in line
    ]
    if target == "cpu":
        (warm,) = [line for line in arguments_of(target, "RUN") if "warm.sh" in line]
        assert 'chmod -R go=rX "$NUMBA_CACHE_DIR"' in warm
        assert environment(target)["NUMBA_CACHE_DIR"].startswith("/var/cache/rapidsgraph/")


def test_packages_of_the_rapids_base_stay():
    (installs,) = [line for line in arguments_of("gpu", "RUN") if "pip install" in line]
    assert "pip list --format=freeze >/tmp/installed.txt" in installs
    assert "--constraint /tmp/installed.txt" in installs


def test_the_build_context_is_what_builds_copy():
    names = ["requirements", "wheel", "dependencies", "cpu-package", "cpu", "gpu-package", "gpu"]
    copied = [
        source
        for name in names
        for words in arguments_of(name, "COPY")
        if not words.startswith("--from")
        for source in words.split()[:-1]
    ]
    assert {"rapidsgraph", "pipelines", "pyproject.toml"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert in_build(source), source
    for path in (
        "rapidsgraph/kernels/pagerank.cu",
        "pipelines/runtime.py",
        "rapidsgraph/cli/app.py",
    ):
        assert in_build(path), path
    for path in (
        ".git/config", ".venv/bin/python", "tests/naive.py", "dist/a.whl", "docker/test.sh",
        "pipelines/benchmarks/results/a.jsonl", "pipelines/__pycache__/job.pyc",
        "rapidsgraph/kernels/__pycache__/rank.nbi", "rapidsgraph/a.tmp", "build/lib/a.py",
        "rapidsgraph.egg-info/PKG-INFO", "edges.parquet",
    ):  # fmt: skip
        assert not in_build(path), path


def test_services_run_existing_scripts():
    all_services = load_services()
    assert set(all_services) == {"scheduler", "worker", "rank", "communities", "reach"}
    targets = re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.M)
    for name, service in all_services.items():
        build = service["build"]
        assert (DOCKER / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()
        assert build["target"] in targets
        assert set(service.get("depends_on", {})) <= {"scheduler", "worker"} - {name}
    for name in ("rank", "communities", "reach"):
        program, script, scheduler = all_services[name]["entrypoint"]
        assert program == "python"
        assert (ROOT / Path(script).relative_to("/opt/rapidsgraph")).is_file()
        port = all_services["scheduler"]["command"][0].removeprefix("--port=")
        assert scheduler == f"--scheduler=tcp://scheduler:{port}"
        assert all_services[name]["depends_on"]["worker"] == {"condition": "service_healthy"}
    assert all_services["worker"]["entrypoint"][-1] == f"tcp://scheduler:{port}"


@pytest.mark.parametrize("name", ["rank", "communities", "reach"])
def test_jobs_have_the_options_they_are_given(name):
    service = load_services()[name]
    app = importlib.import_module(f"pipelines.{name}").app
    options = [word for word in service["entrypoint"] + service["command"] if word.startswith("--")]
    output = CliRunner().invoke(app, ["--help"]).stdout
    for option in options:
        assert re.search(rf"{option.partition('=')[0]}\b", output), option


@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_dask_has_the_options_of_services(name):
    pytest.importorskip("distributed")
    service = load_services()[name]
    module = importlib.import_module(f"distributed.cli.dask_{name}")
    known = {option for parameter in module.main.params for option in parameter.opts}
    assert {word.partition("=")[0] for word in service["command"]} <= known
    (address,) = [word for word in service["command"] if word.startswith("--dashboard-address=")]
    port = address.rpartition(":")[2]
    assert f"http://127.0.0.1:{port}/health" in service["healthcheck"]["test"][-1]


def test_workers_have_the_settings_of_a_local_cluster():
    pytest.importorskip("distributed")
    worker = load_services({"WORKER_THREADS": "3", "WORKERS": "5", "WORKER_MEMORY": "7GB"})[
        "worker"
    ]
    assert "--nthreads=3" in worker["command"]
    assert "--memory-limit=7GB" in worker["command"]
    assert worker["deploy"]["replicas"] == 5
    before = "distributed.nanny.pre-spawn-environ."
    expected = {
        name.removeprefix(before): value
        for name, value in cluster.DASK_SETTINGS.items()
        if name.startswith(before)
    }
    assert len(expected) == 2
    expected |= {"NUMBA_NUM_THREADS": 3, "DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False"}
    assert worker["environment"] == expected


def test_settings_reach_dask():
    config = pytest.importorskip("dask.config")
    from dask.utils import parse_timedelta

    all_services = load_services()
    read = config.collect_env(
        all_services["scheduler"]["environment"] | all_services["worker"]["environment"]
    )
    limit = config.get("distributed.scheduler.no-workers-timeout", config=read)
    assert parse_timedelta(limit) == parse_timedelta(monitor.DEFAULT_TIMEOUT)
    assert config.get("distributed.worker.memory.pause", config=read) is False


def test_results_belong_to_run_as():
    for service in load_services({"RUN_AS": "7:8", "DATA": "/mine"}).values():
        assert service["user"] == "7:8"
        assert service["volumes"] == [{"type": "bind", "source": "/mine", "target": "/data"}]
    assert load_services({"PWD": "/here"})["rank"]["volumes"][0]["source"] == "/here"


def test_services_on_gpus():
    overrides = load_services(gpu=True)
    assert set(overrides) == set(load_services())
    for name, service in overrides.items():
        assert service["build"] == {"target": "gpu"}
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}, name
    worker = overrides["worker"]
    assert worker["entrypoint"] == ["dask", "cuda", "worker", "tcp://scheduler:8786"]
    assert f"--rmm-pool-size={cluster.INITIAL_POOL_FRACTION}" in worker["command"]
    assert "--set-rmm-allocator-for-libs=cupy" in worker["command"]
    assert {"--memory-limit=0", "--device-memory-limit=0", "--nthreads=1"} <= set(worker["command"])
    assert worker["deploy"]["replicas"] == 1


def test_services_as_words_of_a_shell():
    output = subprocess.run(
        [sys.executable, DOCKER / "services.py", "worker", "healthcheck"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shlex.split(output) == load_services()["worker"]["healthcheck"]["test"][1:]
    assert services.interpolate("${A:-${B:-c}} ${A:-d}", {"B": "b"}) == "b d"


@pytest.mark.parametrize("path", sorted(DOCKER.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_have_valid_syntax(path):
    shell = "sh" if path.name == "warm.sh" else "bash"
    result = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
