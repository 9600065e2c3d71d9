#!/usr/bin/env python3
"""Which packages an installation would bring, for every extra and Python; nothing is installed.

    python3 installation/resolve.py                       prints a line for each
    python3 installation/resolve.py --extra cu13 --python 3.12
    python3 installation/resolve.py --output installation/resolved.jsonl

pip is asked where that Python is on this machine, since it knows no other than the one it runs in.
Elsewhere, and for the other processor, it is uv, from PyPI. Only wheels count: a package that has
to be compiled first is an error.
"""

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
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = "2_28"  # of the systems that RAPIDS is built for
PATIENCE = 600  # seconds


def extras():
    """Extra -> names of what pyproject.toml itself asks for; "" is no extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"] | {"": []}

    def asked(lines):
        for line in lines:
            own = re.match(r"rapidsgraph\[([\w,]+)\]", line)
            if own:
                for extra in own[1].split(","):
                    yield from asked(optional[extra])
            else:
                yield plain(line)

    return {
        extra: sorted({*asked(project["dependencies"]), *asked(lines)})
        for extra, lines in sorted(optional.items())
    }


def plain(requirement):
    """The name of a requirement, a wheel or a line of a list, as all of them spell it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def interpreter(python):
    """That Python on this machine, or None."""
    path = shutil.which(f"python{python}")
    if path is None:
        return None
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([path, "-c", question], capture_output=True, text=True)
    return path if answer.stdout.strip() == python else None


def run(command, **options):
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, **options
    )


def by_pip(pip, extra):
    """{name: version} of a dry run, or the error."""
    wanted = f".[{extra}]" if extra else "."
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        flags = ["--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
        done = run([pip, "-m", "pip", "install", *flags, "--report", str(report), wanted])
        if done.returncode:
            return None, problem(done.stderr)
        found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return {plain(item["name"]): item["version"] for item in found}, None


def by_uv(uv, python, machine, extra):
    """{name: version} of uv's resolution, or the error."""
    command = [*uv, "pip", "compile", "--quiet", "--only-binary=:all:", "--no-annotate"]
    command += ["--no-header", "--python-version", python, "pyproject.toml"]
    command += ["--python-platform", f"{machine}-manylinux_{GLIBC}"]
    command += ["--extra", extra] if extra else []
    done = run(command, env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"})
    if done.returncode:
        return None, problem(done.stderr)
    pairs = [line.split("==") for line in done.stdout.splitlines() if "==" in line]
    versions = {plain(name): version.split()[0] for name, version in pairs}
    return versions | {"rapidsgraph": None}, None  # pip counts it, too


def problem(text):
    """What the tool said went wrong, without addresses."""
    lines = [line for line in text.splitlines() if not line.startswith(("WARNING", "warning"))]
    return re.sub(r"\w+://\S+", "...", " ".join(" ".join(lines).split()))[:600]


def newest_pip(path, folder):
    """A Python of that kind with today's pip: older ones fetch whole wheels to read their names."""
    made = Path(folder, Path(path).name)
    for command in (
        [path, "-m", "venv", str(made)],
        [made / "bin/python", "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
    ):
        done = run(command)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return str(made / "bin/python")


def version_of(command):
    return " ".join(run([*command, "--version"]).stdout.split()[:2])


def rows(pythons, machines, wanted):
    """A dict for each Python, processor and extra."""
    here = platform.machine()
    uv = [shutil.which("uv") or "uv"]
    if not shutil.which("uv"):
        uv = [sys.executable, "-m", "uv"]
    with tempfile.TemporaryDirectory() as folder:
        for python in pythons:
            path = interpreter(python)
            pip = newest_pip(path, folder) if path and here in machines else None
            for machine in machines:
                asked = pip if machine == here else None
                tool = version_of([pip, "-m", "pip"] if asked else uv)
                if not tool:
                    sys.exit(f"neither Python {python} nor uv is here: pip install uv")
                for extra, names in wanted.items():
                    found, error = (
                        by_pip(pip, extra) if asked else by_uv(uv, python, machine, extra)
                    )
                    yield {
                        "date": date.today().isoformat(),
                        "tool": tool,
                        "python": python,
                        "machine": machine,
                        "extra": extra,
                        "packages": found and len(found),
                        "versions": found
                        and {name: found[name] for name in names if name in found},
                        "error": error,
                    }


def main():
    known = extras()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", help=f"one of {', '.join(PYTHONS)}")
    parser.add_argument("--machine", action="append", choices=MACHINES)
    parser.add_argument("--extra", action="append", choices=sorted(known))
    parser.add_argument("--output", type=Path, help="JSON lines")
    given = parser.parse_args()
    wanted = {name: known[name] for name in given.extra or known}
    lines = []
    for row in rows(given.python or PYTHONS, given.machine or MACHINES, wanted):
        how = row["error"] or f"{row['packages']} packages"
        what = f"Python {row['python']} {row['machine']} [{row['extra']}] by {row['tool']}"
        print(f"{what}: {how}", flush=True)
        lines.append(json.dumps(row))
    if given.output:
        given.output.write_text("\n".join(lines) + "\n")
    return any(json.loads(line)["error"] for line in lines)


if __name__ == "__main__":
    sys.exit(main())
