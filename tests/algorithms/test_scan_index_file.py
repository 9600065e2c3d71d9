"""ScanIndex in a file: what was saved comes back, and whatever else is there is an error."""

import os
import re
import resource
import signal

import numpy as np
import pandas
import pytest
from clusterings import star
from pyarrow import feather

import rapidsgraph as rg
from rapidsgraph.algorithms.scan_index_file import NO_CHECKSUM

TWO_TRIANGLES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (5, 6)]
PARAMETERS = [(0.3, 2), (0.7, 3), (0.8, 1), (1, 2)]


def edges(names=range(7)):
    source, destination = zip(*[(names[a], names[b]) for a, b in TWO_TRIANGLES])
    return pandas.DataFrame({"source": source, "destination": destination})


def networks():
    frame = pandas.concat([edges().assign(network="ü"), edges().assign(network="a, b")])
    columns = ["network", "source"], ["network", "destination"]
    return rg.Graph(frame, *columns)


GRAPHS = {
    "ids": edges,
    "gaps": lambda: edges([-5, 2**40, 7, 8, 10, 100, 10**9]),
    "unsigned": lambda: edges(np.array([2**63 + i for i in range(7)], np.uint64)),
    "int8": lambda: edges(np.arange(7, dtype=np.int8)),
    "text": lambda: edges(["b", "", "ä", "a b", '"', "\n", "z"]),
    "networks": networks,
    "no edge": lambda: rg.Graph(edges().head(0), vertices=range(3)),
    "no vertex": lambda: rg.Graph(edges().head(0)),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("ending", [".arrow", ".feather"])
def test_what_is_opened_answers_as_what_was_saved(tmp_path, graph, ending):
    index, path = rg.ScanIndex(GRAPHS[graph]()), tmp_path / f"index{ending}"
    index.save(path)
    opened = rg.ScanIndex.open(path, device="cpu")
    assert (opened.num_vertices, opened.num_edges) == (index.num_vertices, index.num_edges)
    assert opened.nbytes == index.nbytes and repr(opened) == repr(index)
    for epsilon, mu in PARAMETERS:
        for memberships in (False, True):
            found = opened.query(epsilon, mu, memberships)
            pandas.testing.assert_frame_equal(found, index.query(epsilon, mu, memberships))
    pandas.testing.assert_frame_equal(opened.sweep(), index.sweep())
    opened.save(tmp_path / "again.arrow")
    assert (tmp_path / "again.arrow").read_bytes() == path.read_bytes()


@pytest.mark.gpu
def test_to_a_gpu_and_back(tmp_path):
    import cudf

    for name in ("ids", "gaps", "text"):
        index, path = rg.ScanIndex(GRAPHS[name]()), tmp_path / f"{name}.arrow"
        index.save(path)
        on_gpu = rg.ScanIndex.open(path, device="gpu")
        assert on_gpu.device == "gpu"
        found = on_gpu.query(0.7)
        assert isinstance(found, cudf.DataFrame)
        expected = index.query(0.7)
        assert (
            found.to_pandas()
            .astype(object)
            .where(found.to_pandas().notna(), None)
            .equals(expected.astype(object).where(expected.notna(), None))
        )
        rg.ScanIndex(cudf.DataFrame(GRAPHS[name]())).save(tmp_path / "gpu.arrow")
        assert (tmp_path / "gpu.arrow").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_one_changed_byte_is_an_error(tmp_path):
    path, changed = tmp_path / "index.arrow", tmp_path / "changed.arrow"
    rg.ScanIndex(networks()).save(path)
    saved, random = path.read_bytes(), np.random.default_rng(0)
    for place in range(len(saved)):
        data = bytearray(saved)
        data[place] ^= random.integers(1, 256)
        changed.write_bytes(data)
        with pytest.raises(rg.GraphError, match="changed.arrow: .*index"):
            rg.ScanIndex.open(changed, device="cpu")


def test_a_part_of_a_file_is_an_error(tmp_path):
    path = tmp_path / "index.arrow"
    rg.ScanIndex(edges()).save(path)
    saved = path.read_bytes()
    for length in range(0, len(saved), 7):
        path.write_bytes(saved[:length])
        with pytest.raises(rg.GraphError, match="index.arrow: "):
            rg.ScanIndex.open(path, device="cpu")
    path.write_bytes(saved + b"\0")
    with pytest.raises(rg.GraphError, match="damaged"):
        rg.ScanIndex.open(path, device="cpu")


def test_other_files_are_no_index(tmp_path):
    feather.write_feather(edges(), tmp_path / "edges.arrow")
    (tmp_path / "text.arrow").write_text("source,destination\n")
    for name in ("edges.arrow", "text.arrow"):
        with pytest.raises(rg.GraphError, match=f"{name}: it is not an index"):
            rg.ScanIndex.open(tmp_path / name, device="cpu")
    with pytest.raises(rg.GraphError, match=r"absent\.arrow: there is no such file"):
        rg.ScanIndex.open(tmp_path / "absent.arrow", device="cpu")
    with pytest.raises(rg.GraphError, match="it is a folder"):
        rg.ScanIndex.open(tmp_path, device="cpu")


def test_where_an_index_cannot_go(tmp_path):
    index = rg.ScanIndex(edges())
    for path, message in (
        (tmp_path / "index.csv", "ending '.csv'"),
        (tmp_path / "absent" / "index.arrow", "does not exist"),
    ):
        with pytest.raises(rg.GraphError, match=message):
            index.save(path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_index(tmp_path):
    path = tmp_path / "index.arrow"
    rg.ScanIndex(edges()).save(path)
    saved, large = path.read_bytes(), rg.ScanIndex(
        pandas.DataFrame(star(5000), columns=["source", "destination", "weight"])
    )  # fmt: skip
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(rg.GraphError, match=r"index\.arrow: the limit of .* are needed"):
            large.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == saved and len(list(tmp_path.iterdir())) == 1


def test_what_happens_to_the_file_does_not_change_an_open_index(tmp_path):
    path = tmp_path / "index.arrow"
    rg.ScanIndex(edges()).save(path)
    opened = rg.ScanIndex.open(path, device="cpu")
    expected = opened.query(0.7)
    os.truncate(path, 100)
    assert opened.query(0.7).equals(expected)


def test_the_checksum_stands_in_both_copies_of_the_metadata(tmp_path):
    path = tmp_path / "index.arrow"
    rg.ScanIndex(edges()).save(path)
    found = re.findall(NO_CHECKSUM.replace(b"00000000", b"([0-9a-f]{8})"), path.read_bytes())
    assert len(found) == 2 and len(set(found)) == 1 and found[0] != b"00000000"
