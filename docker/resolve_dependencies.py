#!/usr/bin/env python3
"""Resolve the dependencies of every extra for every Python version, without installing anything.

    python3 docker/resolve_dependencies.py                       print one line per resolution
    python3 docker/resolve_dependencies.py --extra cu13 --python 3.12
    python3 docker/resolve_dependencies.py --output docs/resolved_dependencies.jsonl

pip resolves for the Python that it runs in, so it is used for the Python versions of this machine.
uv resolves for the others and for the other processor. Only wheels count: a package that would have
to be compiled is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = "2_28"  # the oldest that RAPIDS supports
TIMEOUT = 600  # seconds

Versions = dict[str, str | None]


def read_extras() -> dict[str, list[str]]:
    """Return the direct dependencies of each extra; the key "" stands for no extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"] | {"": []}

    def expand(requirements):
        for requirement in requirements:
            own = re.match(r"rapidsgraph\[([\w,]+)\]", requirement)
            if own:
                for extra in own[1].split(","):
                    yield from expand(optional[extra])
            else:
                yield normalize(requirement)

    return {
        extra: sorted({*expand(project["dependencies"]), *expand(requirements)})
        for extra, requirements in sorted(optional.items())
    }


def normalize(requirement: str) -> str:
    """Return the normalized name in a requirement."""
    name = re.match(r"[\w.-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def find_interpreter(python: str) -> str | None:
    """Return the path of that Python version on this machine."""
    path = shutil.which(f"python{python}")
    if path is None:
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    result = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return path if result.stdout.strip() == python else None


def run(command: list[str], **options) -> subprocess.CompletedProcess:
    """Run a command in the repository and capture its output."""
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False, **options
    )


def resolve_with_pip(pip: str, extra: str) -> tuple[Versions | None, str | None]:
    """Return the versions that a dry run of pip reports, or the error."""
    requirement = f".[{extra}]" if extra else "."
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        flags = ["--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
        result = run([pip, "-m", "pip", "install", *flags, "--report", str(report), requirement])
        if result.returncode:
            return None, summarize_error(result.stderr)
        packages = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return {normalize(package["name"]): package["version"] for package in packages}, None


def resolve_with_uv(
    uv: list[str], python: str, machine: str, extra: str
) -> tuple[Versions | None, str | None]:
    """Return the versions that uv resolves for another Python or processor, or the error."""
    command = [*uv, "pip", "compile", "--quiet", "--only-binary=:all:", "--no-annotate"]
    command += ["--no-header", "--python-version", python, "pyproject.toml"]
    command += ["--python-platform", f"{machine}-manylinux_{GLIBC}"]
    command += ["--extra", extra] if extra else []
    result = run(command, env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"})
    if result.returncode:
        return None, summarize_error(result.stderr)
    pairs = [line.split("==") for line in result.stdout.splitlines() if "==" in line]
    versions: Versions = {normalize(name): version.split()[0] for name, version in pairs}
    return versions | {"rapidsgraph": None}, None  # pip lists it, too


def summarize_error(text: str) -> str:
    """Return the error message of a tool without warnings and URLs."""
    lines = [line for line in text.splitlines() if not line.startswith(("WARNING", "warning"))]
    return re.sub(r"\w+://\S+", "...", " ".join(" ".join(lines).split()))[:600]


def create_environment(path: str, folder: str) -> str:
    """Create an environment with the newest pip; older ones download wheels for their metadata."""
    environment = Path(folder, Path(path).name)
    python = str(environment / "bin/python")
    for command in (
        [path, "-m", "venv", str(environment)],
        [python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
    ):
        result = run(command)
        if result.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    return python


def tool_version(command: list[str]) -> str:
    """Return the name and version that a tool prints."""
    return " ".join(run([*command, "--version"]).stdout.split()[:2])


def resolve(
    pythons: Sequence[str], machines: Sequence[str], extras: dict[str, list[str]]
) -> Iterator[dict]:
    """Yield one record per Python version, processor and extra."""
    uv = [shutil.which("uv") or ""] if shutil.which("uv") else [sys.executable, "-m", "uv"]
    with tempfile.TemporaryDirectory() as folder:
        for python in pythons:
            path = find_interpreter(python)
            has_pip = path and platform.machine() in machines
            pip = create_environment(path, folder) if path and has_pip else None
            for machine in machines:
                local_pip = pip if machine == platform.machine() else None
                tool = tool_version([local_pip, "-m", "pip"] if local_pip else uv)
                if not tool:
                    sys.exit(f"neither Python {python} nor uv is installed: pip install uv")
                for extra, names in extras.items():
                    versions, error = (
                        resolve_with_pip(local_pip, extra)
                        if local_pip
                        else resolve_with_uv(uv, python, machine, extra)
                    )
                    direct = versions and {
                        name: versions[name] for name in names if name in versions
                    }
                    yield {
                        "date": date.today().isoformat(),
                        "tool": tool,
                        "python": python,
                        "machine": machine,
                        "extra": extra,
                        "packages": versions and len(versions),
                        "versions": direct,
                        "error": error,
                    }


def main() -> bool:
    """Resolve, print and record; return whether a resolution failed."""
    extras = read_extras()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", help=f"one of {', '.join(PYTHONS)}")
    parser.add_argument("--machine", action="append", choices=MACHINES)
    parser.add_argument("--extra", action="append", choices=sorted(extras))
    parser.add_argument("--output", type=Path, help="file to write, one JSON object per line")
    options = parser.parse_args()
    selected = {name: extras[name] for name in options.extra or extras}
    records = []
    for record in resolve(options.python or PYTHONS, options.machine or MACHINES, selected):
        result = record["error"] or f"{record['packages']} packages"
        case = f"Python {record['python']} {record['machine']} [{record['extra']}]"
        print(f"{case}, {record['tool']}: {result}", flush=True)
        records.append(record)
    if options.output:
        options.output.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return any(record["error"] for record in records)


if __name__ == "__main__":
    sys.exit(main())
