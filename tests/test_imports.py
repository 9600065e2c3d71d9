"""Imports within the package point down, and stand at the top of their files."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "rapidsgraph"
# Optional packages, and those whose import takes long and that few calls need.
OPTIONAL = {
    "IPython",
    "cuda",
    "cudf",
    "cupy",
    "cupyx",
    "dask",
    "dask_cuda",
    "dask_cudf",
    "distributed",
    "fsspec",
    "lz4",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "psutil",
    "pyarrow",
    "pynvml",
    "pytest",
    "rich",
    "rmm",
    "scipy",
    "zstandard",
}
STANDARD = {"bz2", "grp", "lzma", "pwd", "resource"}  # where the platform has them
OWN = {
    "__main__.py": "signals are handled before anything else is imported",
    "cli/__init__.py": "the doctor imports Numba, which --help must not wait for",
}


def function_local_imports(path):
    """Yield the line and the top-level package of every import inside a function."""
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom):
                own = node.level or node.module.startswith("rapidsgraph")
                yield node.lineno, "rapidsgraph" if own else node.module.partition(".")[0]


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.stem)
def test_only_optional_packages_are_imported_in_functions(path):
    found = {(line, name) for line, name in function_local_imports(path)}
    allowed = OPTIONAL | STANDARD
    if str(path.relative_to(ROOT)) in OWN:
        allowed |= {"rapidsgraph"}
    wrong = sorted((line, name) for line, name in found if name not in allowed)
    assert not wrong, f"{path.relative_to(ROOT)}: {wrong}"


def test_exceptions_are_needed():
    for name in OWN:
        assert "rapidsgraph" in {package for _, package in function_local_imports(ROOT / name)}
