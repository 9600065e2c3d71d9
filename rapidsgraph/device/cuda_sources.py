"""Sources of CUDA kernels: their entries and parameters, and the text that is compiled."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ..kernels.constants import macros

KERNELS = Path(__file__).parents[1] / "kernels"
ENTRY_POINT = re.compile(
    r'extern "C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(([^)]*)\)'
)


@functools.cache
def signatures(stem: str) -> dict[str, list[tuple[str, str]]]:
    """Return the (type, name) pairs of the parameters of each entry of `kernels/stem.cu`."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", (KERNELS / f"{stem}.cu").read_text(), flags=re.S)
    return {
        entry: [_parse_parameter(parameter) for parameter in parameters.split(",")]
        for entry, parameters in ENTRY_POINT.findall(source)
    }


def _parse_parameter(text: str) -> tuple[str, str]:
    *words, name = re.findall(r"\w+", text)
    c_type = " ".join(word for word in words if word not in ("const", "__restrict__"))
    return c_type + ("*" if "*" in text else ""), name


def cuda_source(stem: str) -> str:
    """Return the text of `kernels/stem.cu` with its includes expanded once each.

    Line directives make compilers report the real file and line.
    """
    return _expand_includes(KERNELS / f"{stem}.cu", set())


def select_entry(source: str, entry: str) -> str:
    """Return a CUDA source of which only one entry is compiled.

    The others become templates, for which compilers generate no code, so that a first call does
    not wait for kernels that it does not launch.
    """

    def replace(match: re.Match[str]) -> str:
        return match[0] if match[1] == entry else match[0].replace('extern "C"', "template <int>")

    return ENTRY_POINT.sub(replace, source)


def _expand_includes(path: Path, included: set[Path]) -> str:
    text = path.read_text()
    included.add(path)

    def include(match: re.Match[str]) -> str:
        other, line = path.with_name(match[1]), text.count("\n", 0, match.end()) + 2
        expanded = "" if other in included else _expand_includes(other, included)
        return f'{expanded}\n#line {line} "{path.as_posix()}"'

    body = re.sub(r'^#include "(\w+\.cuh)"$', include, text, flags=re.M)
    return f'#line 1 "{path.as_posix()}"\n{body}'


def constant_macros(source: str) -> tuple[str, ...]:
    """Return compiler options that define the shared constants a CUDA source uses."""
    names = set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", source))
    return tuple(f"-D{name}={value}" for name, value in macros().items() if name in names)
