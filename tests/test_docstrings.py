"""Docstrings of all modules, also of internal functions."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "rapidsgraph"


def docstrings(path):
    """Yield the name and docstring of a module and of its classes and functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield getattr(node, "name", "module"), ast.get_docstring(node) or ""


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_reference_is_cited(path):
    for name, text in docstrings(path):
        listed = set(re.findall(r"^\.\. \[(\w+)\]", text, flags=re.M))
        cited = set(re.findall(r"\[(\w+)\]_", text))
        assert listed <= cited, f"{name}: cite [{min(listed - cited)}]_ in the text"
