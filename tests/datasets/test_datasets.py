"""The graph that ships with the package, and the parser that makes it."""

import doctest
import gzip
import hashlib
import lzma

import pyarrow.parquet as pq
import pytest

from pipelines import make_debian_dataset as pipeline
from rapidsgraph import datasets

pytestmark = pytest.mark.slow

PACKAGES = """\
Package: editor
Version: 2.0
Depends: libc6 (>= 2.34), libtext1 (>= 1), libtext1 (<= 2), perl:any
Pre-Depends: libc6 (>= 2.36)
Recommends: spell-fast | spell-slow (>= 3),
 fonts-plain [amd64] | fonts,
\ticons
Suggests: manual
Description: an editor
 Depends: this line belongs to the description
Tag: role::program

Package: libtext1
Version: 1.5
Depends: libstdc++6

Package: manual
Version: 1.0
Description: needs nothing

Package: libtext1
Version: 1.6
Depends: libother
"""

EDGES = [
    ("editor", "fonts-plain", "Recommends"),
    ("editor", "icons", "Recommends"),
    ("editor", "libc6", "Depends"),
    ("editor", "libc6", "Pre-Depends"),
    ("editor", "libtext1", "Depends"),
    ("editor", "perl", "Depends"),
    ("editor", "spell-fast", "Recommends"),
    ("libtext1", "libstdc++6", "Depends"),
]


@pytest.fixture(scope="module")
def edges():
    return datasets.debian()


def test_counts(edges):
    assert list(edges.columns) == ["source", "destination", "kind"]
    assert len(edges) == 303_335
    assert len(set(edges["source"]) | set(edges["destination"])) == 64_971
    assert edges["kind"].value_counts().to_dict() == {
        "Depends": 273_919,
        "Recommends": 28_453,
        "Pre-Depends": 963,
    }


def test_rows_are_sorted_and_distinct(edges):
    rows = list(zip(edges["source"], edges["destination"], edges["kind"]))
    assert rows == sorted(set(rows))
    assert not edges.isna().any(axis=None)


def test_the_c_library_has_the_most_dependants(edges):
    dependants = edges.drop_duplicates(["source", "destination"])["destination"].value_counts()
    assert dependants.index[0] == "libc6"
    assert dependants.iloc[0] == 21_809


def test_facts_that_the_docstring_states(edges):
    assert len(set(edges["destination"]) - set(edges["source"])) == 8_045
    assert edges.duplicated(["source", "destination"]).sum() == 96
    assert (edges["source"] == edges["destination"]).sum() == 2


def test_names_have_nothing_but_the_name(edges):
    names = set(edges["source"]) | set(edges["destination"])
    assert [name for name in names if not pipeline.NAME.fullmatch(name)] == []


def test_kinds_filters():
    edges = datasets.debian(kinds=["Pre-Depends"])
    assert len(edges) == 963
    assert list(edges.index[:2]) == [0, 1]
    assert set(edges["kind"]) == {"Pre-Depends"}
    assert len(datasets.debian(kinds="Pre-Depends")) == 963
    assert len(datasets.debian(kinds=["Depends", "Recommends"])) == 273_919 + 28_453
    assert len(datasets.debian(kinds=[])) == 0


def test_unknown_kind_is_an_error_that_names_the_known():
    with pytest.raises(
        ValueError, match="'Suggests'; the kinds are Depends, Pre-Depends, Recommends"
    ):
        datasets.debian(kinds=["Depends", "Suggests"])


def test_file_says_how_old_the_archive_is():
    metadata = pq.read_schema(datasets.debian_path()).metadata
    assert metadata[b"archive_date"] == b"Sat, 11 Jul 2026 10:16:37 UTC"
    assert metadata[b"archive_version"] == b"12.15"
    assert "11 July 2026, 10:16:37 UTC" in datasets.__doc__
    assert datasets.debian_path().stat().st_size < 3_000_000


def test_file_has_the_digests_that_the_pipeline_records(edges):
    digest = hashlib.sha256(datasets.debian_path().read_bytes()).hexdigest()
    assert digest == pipeline.FILE_SHA256
    rows = zip(edges["source"], edges["destination"], edges["kind"])
    assert pipeline.hash_rows(rows) == pipeline.ROWS_SHA256


def test_pipeline_makes_the_file_again(tmp_path):
    """On a system whose apt has the index of the same point release."""
    try:
        index = pipeline.find_index()
        digest = pipeline.hash_lines(pipeline.read_lines(index))
    except (SystemExit, OSError) as error:
        pytest.skip(str(error))
    if digest != pipeline.INDEX_SHA256:
        pytest.skip("apt has the index of another point release")
    output = tmp_path / "again.parquet"
    pipeline.main(["--packages", str(index), "--output", str(output), "--check"])
    assert pq.read_table(output).equals(pq.read_table(datasets.debian_path()), check_metadata=True)


def test_pipeline_refuses_another_index_under_check(tmp_path):
    index, output = tmp_path / "Packages", tmp_path / "edges.parquet"
    index.write_text(PACKAGES)
    with pytest.raises(SystemExit, match="index is not that of the shipped file: SHA-256 [0-9a-f]"):
        pipeline.main(["--packages", str(index), "--output", str(output), "--check"])
    assert not output.exists()


def test_docstring_examples():
    failed, tried = doctest.testmod(datasets)
    assert (failed, tried > 0) == (0, True)


def test_parser():
    stanzas = pipeline.read_stanzas(PACKAGES.splitlines(keepends=True))
    assert pipeline.collect_edges(stanzas) == EDGES


def test_stanzas_need_no_empty_line_at_the_end_and_may_have_several_between():
    lines = ["\n", "Package: a\n", "\n", " \n", "Package: b\n", "Depends:\n", " c,\n", " d"]
    assert list(pipeline.read_stanzas(lines)) == [
        {"Package": "a"},
        {"Package": "b", "Depends": " c, d"},
    ]


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        ("", []),
        ("libc6", ["libc6"]),
        ("a|b", ["a"]),
        ("a(>= 1:2.3-4~deb12u1)", ["a"]),
        ("python3:any (>= 3.11~)", ["python3"]),
        ("a <!nocheck>, b [linux-any]", ["a", "b"]),
        ("libstdc++6, 0ad-data, libgtk2.0-0", ["libstdc++6", "0ad-data", "libgtk2.0-0"]),
        ("a, , b,", ["a", "b"]),
    ],
)
def test_names(dependencies, expected):
    assert list(pipeline.parse_names(dependencies)) == expected


@pytest.mark.parametrize(("ending", "pack"), [("", None), (".gz", gzip), (".xz", lzma)])
def test_pipeline_writes_what_it_read(tmp_path, ending, pack):
    index = tmp_path / f"mirror_dists_bookworm_main_binary-amd64_Packages{ending}"
    index.write_bytes(pack.compress(PACKAGES.encode()) if pack else PACKAGES.encode())
    signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nCodename: bookworm\nDate: today\n"
    (tmp_path / "mirror_dists_bookworm_InRelease").write_text(signed)
    output = tmp_path / "edges.parquet"

    pipeline.main(["--packages", str(index), "--output", str(output)])

    table = pq.read_table(output)
    assert [tuple(row.values()) for row in table.to_pylist()] == EDGES
    assert table.schema.metadata[b"archive_date"] == b"today"
    assert not list(tmp_path.glob("*.tmp"))


def test_pipeline_says_what_to_do_without_an_index(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="apt-get update.*--packages"):
        pipeline.main([])
    with pytest.raises(SystemExit, match="does not exist"):
        pipeline.main(["--packages", str(tmp_path / "missing")])
    (tmp_path / "empty").write_text("Package: alone\n")
    with pytest.raises(SystemExit, match="may not be a Packages index"):
        pipeline.main(["--packages", str(tmp_path / "empty")])
