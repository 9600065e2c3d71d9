"""Make the dataset that ships with the package: the dependencies between Debian's packages.

    python pipelines/make_debian_dataset.py [--packages FILE] [--output FILE]

Reads the index of binary packages that apt stores on a Debian 12 system, or a given file (plain,
.gz, .xz or .lz4), and writes an edge list: `source` depends on `destination`, and `kind` is the
field of the index.

References
----------
Debian Policy Manual, chapter 5 (format of an index: one stanza per package) and chapter 7 (syntax
of dependencies). https://www.debian.org/doc/debian-policy/
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

KINDS = ("Depends", "Pre-Depends", "Recommends")
APT_HELPER = "/usr/lib/apt/apt-helper"  # reads every compression that apt itself uses
INDEX = ("Codename: bookworm", "Component: main", "Architecture: amd64", "Created-By: Packages")
OUTPUT = Path(__file__).parents[1] / "rapidsgraph" / "datasets" / "debian.parquet"

# A name may be followed by an architecture (":any"), a version ("(>= 1.2)") or a restriction
# ("[amd64]", "<!nocheck>").
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")


def find_index() -> Path:
    """Return the index of bookworm's main section that apt has downloaded."""
    advice = "run `apt-get update` on Debian 12, or name an index with --packages"
    command = ["apt-get", "indextargets", "--format", "$(FILENAME)", "Origin: Debian", *INDEX]
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise SystemExit(f"This system has no apt: {advice}.") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"apt-get failed ({error.stderr.strip()}): {advice}.") from None
    paths = [Path(name) for name in output.split() if Path(name).exists()]
    if not paths:
        raise SystemExit(f"apt has no index of bookworm's main section for amd64: {advice}.")
    return paths[0]


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file with any of the compressions of apt."""
    openers = {".gz": gzip.open, ".xz": lzma.open}
    if path.suffix == ".lz4":
        command = [APT_HELPER, "cat-file", str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, text=True, encoding="utf-8") as helper:
            yield from helper.stdout
        if helper.returncode:
            raise SystemExit(f"{APT_HELPER} could not read {path}.")
    else:
        with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
            yield from file


def read_stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield a dict per stanza. An empty line ends a stanza; an indented line continues a field."""
    stanza, field = {}, None
    for line in lines:
        if not line.strip():
            if stanza:
                yield stanza
            stanza, field = {}, None
        elif line[0] in " \t":
            if field is not None:
                stanza[field] += " " + line.strip()
        else:
            field, _, value = line.partition(":")
            stanza[field] = value.strip()
    if stanza:
        yield stanza


def parse_names(dependencies: str) -> Iterator[str]:
    """Yield the packages in a field of dependencies: of alternatives "a | b", the first.

    The first alternative is installed by default.
    """
    for clause in dependencies.split(","):
        match = NAME.match(clause.strip())
        if match:
            yield match[0]


def collect_edges(stanzas: Iterable[dict[str, str]]) -> list[tuple[str, str, str]]:
    """Return the distinct (source, destination, kind), sorted.

    Of a package in two versions the first counts. An archive has both while it replaces one by the
    other (linux-source in Debian 12.15), and their dependencies are the same.
    """
    seen: set[str] = set()
    edges: set[tuple[str, str, str]] = set()
    for stanza in stanzas:
        source = stanza.get("Package")
        if source is None or source in seen:
            continue
        seen.add(source)
        for kind in KINDS:
            edges.update((source, name, kind) for name in parse_names(stanza.get(kind, "")))
    return sorted(edges)


def read_release(index: Path) -> dict[str, str]:
    """Return version and date of the archive from the signed file that apt stores beside the index.

    The dict is empty if there is no such file.
    """
    stem = index.name.partition("_main_binary-")[0]
    for path in (index.with_name(f"{stem}_InRelease"), index.with_name(f"{stem}_Release")):
        if path != index and path.exists():
            head = (line for line in read_lines(path) if not line.startswith("-----BEGIN"))
            fields = {key: value for stanza in read_stanzas(head) for key, value in stanza.items()}
            return {key: fields[key] for key in ("Codename", "Version", "Date") if key in fields}
    return {}


def write(rows: list[tuple[str, str, str]], release: dict[str, str], path: Path) -> None:
    """Write the edge list to Parquet, with the archive's date in the metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source, destination, kind = zip(*rows)
    table = pa.table(
        {
            "source": pa.array(source, pa.string()),
            "destination": pa.array(destination, pa.string()),
            "kind": pa.array(kind, pa.string()).dictionary_encode(),
        },
        metadata={"title": "Dependencies of Debian's binary packages, main, amd64"}
        | {f"archive_{key.lower()}": value for key, value in release.items()},
    )
    temporary = path.with_name(path.name + ".tmp")
    try:
        pq.write_table(table, temporary, compression="zstd", compression_level=19)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Make the graph of dependencies between Debian's packages."
    )
    parser.add_argument("--packages", type=Path, help="an index (default: that of apt)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args(arguments)

    index = options.packages or find_index()
    if not index.exists():
        raise SystemExit(f"File {index} does not exist.")
    rows = collect_edges(read_stanzas(read_lines(index)))
    if not rows:
        raise SystemExit(
            f"{index} has no stanza with dependencies; it may not be a Packages index."
        )
    release = read_release(index)
    write(rows, release, options.output)

    vertices = {row[0] for row in rows} | {row[1] for row in rows}
    print(f"{options.output}: {len(rows)} rows, {len(vertices)} vertices", file=sys.stderr)
    print(f"from the archive of {release.get('Date', 'an unknown date')}", file=sys.stderr)


if __name__ == "__main__":
    main()
