"""JSON Lines: the rules of types are those of CSV, and errors name the line."""

import datetime
import decimal
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rapidsgraph as rg
from rapidsgraph.errors import GraphError
from rapidsgraph.io import json_lines, read_edge_metadata, read_edges, write_frame


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"source":1,"destination":2}', ([1], [2])),
        ('\ufeff{"source":1,"destination":2}\r\n\r\n{"destination":4,"source":3,"x":[{}]}\r\n',
         ([1, 3], [2, 4])),
        ('{"source":"1","destination":2}\n', ([1], [2])),
        ('{"source":1,"destination":2}\n{"source":"x","destination":3}\n',
         (["1", "x"], ["2", "3"])),
        ('{"source":1,"destination":"x"}\n{"source":2,"destination":"y"}\n',
         (["1", "2"], ["x", "y"])),
        ('{"source":1.5,"destination":2}\n', (["1.5"], ["2"])),
        ('{"source":99999999999999999999,"destination":2}\n', (["99999999999999999999"], ["2"])),
        ('{"source":"0x10","destination":"2020-01-01"}\n', (["0x10"], ["2020-01-01"])),
        ('{"source":"\\u00e4","destination":"\\"\\n"}\n', (["ä"], ['"\n'])),
        ('{"source":-9223372036854775808,"destination":2}\n', ([-(2**63)], [2])),
    ],
)  # fmt: skip
def test_names(put, text, expected):
    for name in ("a.jsonl", "a.ndjson.gz"):
        source, destination = expected
        assert columns(read(put(name, text))) == {"source": source, "destination": destination}


def test_weights(put):
    text = '{"source":1,"destination":2,"weight":3}\n{"source":1,"destination":2,"weight":"0.5"}\n'
    assert columns(read(put("a.jsonl", text)))["weight"] == [3.0, 0.5]
    later = '{"source":1,"destination":2}\n' + text  # no weight is dropped
    with pytest.raises(GraphError, match="line 1: there is no value in column 'weight'"):
        read(put("a.jsonl", later))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of an eighth of the size, so that files of several blocks are read sooner."""
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 2**17)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_weights_after_the_first_block(put, tmp_path, name):
    row = '{"source":1,"destination":2}\n'
    nested = '{"source":1,"destination":2,"x":{"weight":1},"y":"\\"weight\\":"}\n'
    path = put(name, row * 5000 + nested * 10 + row[:-2] + ',"weight" : 3}\n' + row)
    for options in ({}, {"weight": "weight"}):
        with pytest.raises(GraphError, match="line 1: there is no value in column 'weight'"):
            read(path, **options)
    with pytest.raises(GraphError, match="line 1: there is no value in column 'weight'"):
        rg.LayeredEdgeList.build(path, 1, store=tmp_path / "s", device="cpu")
    assert len(read(path, weight=None)) == 5012
    path = put(name, row * 5000 + nested * 10)
    assert list(read(path)) == ["source", "destination"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source":1}', "there is no value in column 'destination'"),
        ('{"source":null,"destination":1}', "there is no value in column 'source'"),
        ('{"source":"","destination":1}', "there is no value in column 'source'"),
        ('{"source":1,"destination":2,"weight":"far"}', "'far' in column 'weight' is not a number"),
        ('{"source":1,"destination":2,"weight":true}', "a boolean in column 'weight' is not a"),
        ('{"source":[1],"destination":2,"weight":1}', "an array in column 'source' is not text or"),
        ('{"source":{},"destination":2,"weight":1}', "an object in column 'source' is not text"),
        (
            '{"source":"\\ud800","destination":2,"weight":1}',
            r"'\\ud800' in column 'source' is not valid Unicode \(a lone surrogate\)",
        ),
        ("[1, 2]", r"it is not a JSON object \(it is \[1, 2\]\)"),
        ('{"source":1,', "it is not a JSON object"),
        ("source,destination", "it is not a JSON object"),
        ("[" * 100_000, "it is not a JSON object"),
        ('{"source":"\udcff"}', "the text is not UTF-8"),
        ('{"source":"' + "x" * 2**20 + '"}', "it is longer than the maximum"),
    ],
)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("num_rows", [2, 4000])  # in the first block, and after it
def test_errors_name_the_line(put, line, message, num_rows):
    good = b'{"source":1,"destination":2,"weight":3}\n'
    content = good * num_rows + line.encode(errors="surrogateescape") + b"\n" + good
    path = put("a.jsonl", content)
    with pytest.raises(GraphError, match=f"a.jsonl, line {num_rows + 1}: {message}") as caught:
        read(path)
    assert caught.value.path == path


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_empty_files(put, text):
    with pytest.raises(GraphError, match="the file is empty"):
        read(put("a.jsonl", text))


def test_missing_columns(put):
    with pytest.raises(GraphError, match="no columns 'source' and 'destination'; .*from, to"):
        read(put("a.jsonl", '{"from":1,"to":2}\n'))


def test_a_block_that_begins_with_no_object(put, monkeypatch):
    row = '{"source": 1, "destination": 2}\n'
    num_rows = json_lines.BLOCK_BYTES // len(row) + 1  # in the sample that determines the types
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", num_rows * len(row))
    path = put("a.jsonl", num_rows * row + "[1, 2]\n" + row)
    with pytest.raises(GraphError, match=f"line {num_rows + 1}: it is not a JSON object"):
        read(path)


@pytest.mark.parametrize("kind", ["integers", "text", "mixed"])
def test_many_blocks(put, monkeypatch, kind):
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", 1000)
    ids = np.arange(3000)
    sources = [f"v{each}" if kind == "text" or (kind == "mixed" and each > 1500) else int(each)
               for each in ids]  # fmt: skip
    rows = [{"source": source, "destination": 7} for source in sources]
    path = put("a.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    frame = read(path)
    expected = sources if kind == "integers" else list(map(str, sources))
    assert frame["source"].tolist() == expected
    assert frame["destination"].tolist() == [7 if kind == "integers" else "7"] * 3000
    assert read_edge_metadata(path)[:2] == (3000, "string" if kind == "text" else "integer")


def test_several_files_have_the_keys_of_all(tmp_path, put):
    put("a.jsonl", '{"source":1,"destination":2}\n')
    put("b.jsonl", '{"destination":4,"source":3}')
    put("c.jsonl", '{"destination":4,"source":"x"}')
    assert columns(read(tmp_path)) == {"source": ["1", "3", "x"], "destination": ["2", "4", "4"]}
    put("d.jsonl", '\n{"destination":4,"weight":1}\n')
    with pytest.raises(GraphError, match=r"d\.jsonl, line 2: there is no value in column 'source'"):
        read(tmp_path, weight=None)


def test_what_is_written(tmp_path):
    frame = pd.DataFrame({"vertex": ['a"b', None, "ä"], "distance": [1 / 3, np.inf, np.nan]})
    write_frame(frame.assign(hops=pd.array([1, None, 3], "Int64")), tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"vertex": 'a"b', "distance": 1 / 3, "hops": 1},
        {"vertex": None, "distance": None, "hops": None},
        {"vertex": "ä", "distance": None, "hops": 3},
    ]
    assert lines[0] == '{"vertex": "a\\"b", "distance": 0.3333333333333333, "hops": 1}'


def test_temporal_columns_are_quoted():
    table = pa.table({
        "day": [datetime.date(2026, 1, 2), None], "at": [datetime.datetime(2026, 1, 2, 3), None],
        "time": [datetime.time(3), None], "n": [1, None], "x": [0.5, None], "b": [True, None],
        "d": [decimal.Decimal("1.50"), None], "none": pa.nulls(2),
    })  # fmt: skip
    file = io.BytesIO()
    write_frame(table, file, "jsonl")
    first, second = map(json.loads, file.getvalue().splitlines())
    assert first == {
        "day": "2026-01-02", "at": "2026-01-02 03:00:00.000000", "time": "03:00:00.000000", "n": 1,
        "x": 0.5, "b": True, "d": "1.50", "none": None,
    }  # fmt: skip
    assert second == dict.fromkeys(first)


def test_a_streamed_build(tmp_path, put):
    path = put("a.jsonl", '{"source":"a","destination":"b"}\n{"source":"b","destination":1}\n')
    layered = rg.LayeredEdgeList.build(path, "a", store=tmp_path / "s", device="cpu")
    assert rg.bfs(layered, "a")["vertex"].tolist() == ["1", "a", "b"]
