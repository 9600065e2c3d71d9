"""Make the dataset that ships with the package: the dependencies between Debian's packages.

    python pipelines/make_debian_dataset.py [--packages FILE] [--output FILE] [--check]

Reads the index of binary packages that apt stores on a Debian 12 system, or a given file (plain,
.gz, .xz or .lz4), and writes an edge list: `source` depends on `destination`, and `kind` is the
field of the index.

Debian's mirrors have the index of the latest point release only. To make the shipped file again,
take dists/bookworm/main/binary-amd64/Packages.xz of Debian 12.15 from snapshot.debian.org:

    python pipelines/make_debian_dataset.py --packages Packages.xz --output again.parquet --check

`--check` compares index and rows with the recorded digests, which are those of the shipped file.
Without Debian's file of the release beside the index, the metadata lacks the archive's date.

References
----------
Debian Policy Manual, chapter 5 (format of an index: one stanza per package) and chapter 7 (syntax
of dependencies). https://www.debian.org/doc/debian-policy/
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
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

# SHA-256 of what ships. The index has the digest that Debian's signed InRelease file lists. PyArrow
# 26.0.1 wrote the file; another version may write the same rows as other bytes.
INDEX_SHA256 = "515e692f2c4121c6fcec444ef100cc18f79a991910615f3a88c8b7becfc94d2f"
ROWS_SHA256 = "5753b3b074f6852ae06c7ca5dac91135b74d84fa5379844968581c5744091349"
FILE_SHA256 = "059322125167b22ab24a36caf99df5a01abaf42accd1222e4650341037b93961"

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


def hash_lines(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines of text in UTF-8."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()


def hash_rows(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return the SHA-256 of the rows as tab-separated lines, whatever file format holds them."""
    return hash_lines("\t".join(row) + "\n" for row in rows)


def compare_digests(lines: Iterable[str], rows: list[tuple[str, str, str]]) -> None:
    """Exit with a message if index or rows are not those of the shipped file."""
    for difference, digest, recorded in (
        ("index is not that", hash_lines(lines), INDEX_SHA256),
        ("rows are not those", hash_rows(rows), ROWS_SHA256),
    ):
        if digest != recorded:
            raise SystemExit(f"The {difference} of the shipped file: SHA-256 {digest}.")
    print("index and rows are those of the shipped file", file=sys.stderr)


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
    parser.add_argument(
        "--check", action="store_true", help="fail unless index and rows are those that ship"
    )
    options = parser.parse_args(arguments)

    index = options.packages or find_index()
    if not index.exists():
        raise SystemExit(f"File {index} does not exist.")
    rows = collect_edges(read_stanzas(read_lines(index)))
    if not rows:
        raise SystemExit(
            f"{index} has no stanza with dependencies; it may not be a Packages index."
        )
    if options.check:
        compare_digests(read_lines(index), rows)
    release = read_release(index)
    write(rows, release, options.output)

    vertices = {row[0] for row in rows} | {row[1] for row in rows}
    print(f"{options.output}: {len(rows)} rows, {len(vertices)} vertices", file=sys.stderr)
    print(f"from the archive of {release.get('Date', 'an unknown date')}", file=sys.stderr)


if __name__ == "__main__":
    main()
