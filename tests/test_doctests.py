"""The examples in docstrings, and in the pages of the reference, are true."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rapidsgraph

pytestmark = pytest.mark.slow

REFERENCE = Path(__file__).parents[1] / "docs/api"
EXAMPLE = re.compile(r"^```python\n(>>> .*?)^```$", re.MULTILINE | re.DOTALL)

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(rapidsgraph.__path__, "rapidsgraph.")
)


def examples(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [test for test in finder.find(module) if test.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, capsys):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples(module):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.stem)
def test_examples_of_pages(page, capsys):
    source = "\n".join(EXAMPLE.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out


def test_public_functions_have_examples():
    without = []
    for name in rapidsgraph.__all__:
        thing = getattr(rapidsgraph, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            continue
        if not any(test.examples for test in doctest.DocTestFinder().find(thing, name)):
            without.append(name)
    assert without == []
