"""What GitHub and Read the Docs run, and what the repository says of itself.

`make lint` compares these files with their schemas.
"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
in_repository = pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no .github")


def load(path):
    return yaml.safe_load((ROOT / path).read_text())


@in_repository
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_their_version(path):
    uses = re.findall(r"uses: *(.+)", path.read_text())
    assert uses
    for action in uses:
        if action.startswith("./.github/workflows/"):
            assert (ROOT / action).is_file()
            continue
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


@in_repository
def test_one_commit_per_action():
    text = "".join(path.read_text() for path in WORKFLOWS)
    pins = set(re.findall(r"uses: *(\S+)@(\S+)", text))
    assert len(pins) == len(dict(pins))


@in_repository
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_permissions_are_minimal(path):
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "cancel-in-progress" in workflow["concurrency"]
    for name, job in workflow["jobs"].items():
        expected = {"id-token": "write"} if (path.stem, name) == ("release", "publish") else None
        assert job.get("permissions") == expected
        if "uses" in job:  # another workflow, which this test checks by itself
            continue
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@in_repository
def test_job_that_publishes_runs_nothing_of_the_repository():
    publish = load(".github/workflows/release.yml")["jobs"]["publish"]
    assert publish["needs"] == ["tests", "build"]
    assert not [step for step in publish["steps"] if "run" in step or "checkout" in step["uses"]]


@in_repository
def test_every_supported_python_is_tested():
    prefix = "Programming Language :: Python :: 3."
    pythons = [line[len(prefix) - 2 :] for line in PROJECT["classifiers"] if prefix in line]
    (job,) = load(".github/workflows/tests.yml")["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == pythons
    assert f">={pythons[0]}" == PROJECT["requires-python"]


@in_repository
def test_workflows_run_targets_of_the_makefile():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = "".join(path.read_text() for path in WORKFLOWS)
    used = re.findall(r"run: make ([a-z-]+)", text)
    assert set(used) <= set(targets)
    assert {"lint", "types", "imports", "test", "docs", "package"} <= set(used)


@in_repository
def test_site_is_built_with_an_extra_that_exists():
    settings = load(".readthedocs.yaml")
    (install,) = settings["python"]["install"]
    assert set(install["extra_requirements"]) <= set(PROJECT["optional-dependencies"])
    assert (ROOT / settings["sphinx"]["configuration"]).exists()


def test_citation_has_the_four_papers():
    """DOIs as in the docstrings; the metadata as in pyproject.toml."""
    citation = load("CITATION.cff")
    assert len(citation["references"]) == 4
    assert citation["license"] == PROJECT["license"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert f"{citation['repository-code']}.git" == PROJECT["urls"]["Repository"]
    sources = "".join(path.read_text() for path in (ROOT / "rapidsgraph/api").glob("*.py"))
    for paper in citation["references"]:
        if "doi" in paper:
            assert paper["doi"] in sources
        assert re.sub(r"\W+", " ", paper["title"]).lower() in re.sub(r"\W+", " ", sources).lower()


def test_version_is_in_one_place():
    """Tools read it from the package; the changelog has the released ones."""
    assert "version" in PROJECT["dynamic"]
    assert "version" not in load("CITATION.cff")
    version = re.search(
        r'^__version__ = "(.+)"', (ROOT / "rapidsgraph/__init__.py").read_text(), re.MULTILINE
    )[1]
    sections = re.findall(r"^## \[(.+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert len(sections) == 1 or sections[1] == version
