"""The documentation site: its reference lists all public names, and its links lead somewhere.

`make docs` builds the pages, runs the notebooks and fails on a warning. These tests need no Sphinx.
"""

import importlib
import inspect
import os
import re
import tomllib
from pathlib import Path

import pytest

import rapidsgraph as rg

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
GITHUB, SITE = URLS["Homepage"], f"{URLS['Documentation']}/en/latest"
RAW = f"{GITHUB.replace('github.com', 'raw.githubusercontent.com')}/main/"
FOLDERS = [ROOT, *(ROOT / name for name in (".github", "docker", "pipelines", "rapidsgraph"))]
PAGES = sorted(path for folder in FOLDERS for path in folder.glob("*.md"))
PAGES += sorted(DOCS.rglob("*.md"))
ENTRY = re.compile(r"^(?:   |\.\. auto\w+:: )(~?[A-Za-z_][\w.]*)$", re.MULTILINE)
MODULE = re.compile(r"^\.\. (?:current)?module:: ([\w.]+)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^( *)(```+|~~~+).*?^\1\2", re.MULTILINE | re.DOTALL)


def documented_names():
    """Yield the full names in the lists of the API pages, and the modules that these describe."""
    for page in (DOCS / "api").glob("*.md"):
        parts = MODULE.split(page.read_text())
        for module, text in zip(parts[1::2], parts[2::2]):
            yield module
            yield from (f"{module}.{name}" for name in ENTRY.findall(text))


def test_the_reference_lists_all_public_names():
    public = {f"rapidsgraph.{name}" for name in rg.__all__}
    for name in rg.__all__:
        module = getattr(rg, name)
        if inspect.ismodule(module):
            public |= {f"rapidsgraph.{name}.{member}" for member in module.__all__}
    listed = [*documented_names()]
    assert public - set(listed) == set()
    internal = {name for name in set(listed) - public if name != "rapidsgraph"}
    for name in internal:  # types of results
        module, _, attribute = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), attribute)), name


def find_anchors(page):
    """Return the anchors of headings as GitHub and MyST name them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def find_file(page, target):
    """Return the path of the file that a link leads to, None if it is of another project."""
    if target.startswith(SITE):
        return DOCS / target.removeprefix(f"{SITE}/").replace(".html", ".md")
    for address in (f"{GITHUB}/blob/main/", f"{GITHUB}/tree/main/", RAW):
        if target.startswith(address):
            return ROOT / target.removeprefix(address)
    if re.match(r"\w+:", target):
        return None
    assert page != ROOT / "README.md", f"{target} does not work on PyPI"
    return Path(os.path.normpath(page.parent / target)) if target else page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        path = find_file(page, target)
        if path is None:
            continue
        if ROOT / ".github" in path.parents and not (ROOT / ".github").exists():
            continue  # an sdist has none
        assert path.exists(), link
        if anchor and path.suffix == ".md":
            assert anchor in find_anchors(path), link
