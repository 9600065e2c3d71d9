"""The page that shows both forms of the algorithms refers to functions that exist."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/algorithms.md").read_text()


@pytest.fixture
def renderer():
    spec = importlib.util.spec_from_file_location("renderer", ROOT / "docs/render_algorithms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_source_of_all_functions_it_refers_to(renderer):
    page = renderer.render(PAGE)
    names = [name for name, _ in renderer.REFERENCE.findall(PAGE)]
    for name in names:
        assert f"def {name}(" in page
    for module in ("relational/pagerank", "relational/traversal", "relational/components"):
        assert f"rapidsgraph/{module}.py" in page


def test_a_reference_to_no_function_is_an_error(renderer):
    with pytest.raises(LookupError, match="has no function walk"):
        renderer.render("| [`walk`](../rapidsgraph/relational/traversal.py) | |")
