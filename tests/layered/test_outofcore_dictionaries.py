"""Dictionary encoding out of core gives what NumPy's unique gives in memory."""

import numpy as np
import pyarrow
import pytest

from rapidsgraph import validation
from rapidsgraph.errors import GraphError
from rapidsgraph.layered.outofcore.dictionaries import DictionaryEncoder, encode_pairs
from rapidsgraph.layered.outofcore.file_array import TempFiles

TEXT = ["", "a", "a\0", "a\0\0", "aa", "Z", "ä", "\N{MUSICAL SYMBOL G CLEF}", "\uffff", "a" * 999]


def texts(random, rows):
    names = [*TEXT, *(f"https://example.org/{i}" for i in range(400))]
    return np.array(names, object)[random.integers(0, len(names), rows)]


VALUES = {
    "text": texts,
    "int64": lambda random, rows: random.integers(-(2**63), 2**63 - 1, 500)[
        random.integers(0, 500, rows)
    ],
    "uint64": lambda random, rows: random.integers(0, 2**64, 500, np.uint64)[
        random.integers(0, 500, rows)
    ],
    "int8": lambda random, rows: random.integers(-128, 128, rows).astype(np.int8),
}


def to_arrow(values):
    if values.dtype == object:
        return pyarrow.array([value.encode() for value in values], pyarrow.large_binary())
    return pyarrow.array(values)


def to_numpy(array):
    if pyarrow.types.is_large_binary(array.type):
        return np.array([value.decode() for value in array.to_pylist()], object)
    return array.to_numpy()


@pytest.mark.parametrize("memory", [0, 40_000, 10**9], ids=["minimal", "runs", "all"])
@pytest.mark.parametrize("kind", VALUES)
def test_encoder_matches_unique(tmp_path, kind, memory):
    random = np.random.default_rng(3)
    batches = [VALUES[kind](random, rows) for rows in (1, 700, 0, 1500, 64, 900)]
    expected, ranks = np.unique(np.concatenate(batches), return_inverse=True)
    with TempFiles(tmp_path) as files:
        encoder = DictionaryEncoder(files, memory)
        for values in batches:
            half = len(values) // 2
            encoder.add([to_arrow(values[:half]), to_arrow(values[half:])])
        column = encoder.finish("vertex")
        assert (len(encoder.runs) > 1) == (memory < 10**9)
        np.testing.assert_array_equal(to_numpy(column.read(0, len(column))), expected)
        found = list(encoder.ids())
        assert [ids.size for ids in found] == list(map(len, batches))
        np.testing.assert_array_equal(np.concatenate(found), ranks)
        for place in (0, len(expected) // 2, len(expected) - 1):
            value = expected[place]
            value = value.encode() if kind == "text" else int(value)
            assert column.find(value) == place
        assert column.find(b"absent" if kind == "text" else 10**30) == -1
        np.testing.assert_array_equal(column.take([0, -1 % len(expected)]), expected[[0, -1]])
        whole = column.to_arrow()
        assert len(whole) == len(expected)
        column.release()
        encoder.close()
    assert list(tmp_path.iterdir()) == []


def test_pairs_are_ranked_like_tuples(tmp_path):
    random = np.random.default_rng(4)
    batches = [(random.integers(0, 40, rows), texts(random, rows)) for rows in (900, 1100)]
    with TempFiles(tmp_path) as files:
        first, second = (DictionaryEncoder(files, 40_000) for _ in range(2))
        for numbers, words in batches:
            first.add([to_arrow(numbers)])
            second.add([to_arrow(words)])
        first.finish("a")
        pairs = encode_pairs(first, second, len(second.finish("b")), files, 40_000)
        count = len(pairs.finish("a, b"))
        found = np.concatenate(list(pairs.ids()))
    rows = [row for columns in batches for row in zip(*columns, strict=True)]
    expected = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    assert count == len(expected)
    assert found.tolist() == [expected[row] for row in rows]


def test_too_many_values(tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "MAX_VERTICES", 99)
    for memory in (0, 10**9):
        with TempFiles(tmp_path) as files:
            encoder = DictionaryEncoder(files, memory)
            for start in range(0, 100, 50):
                encoder.add([pyarrow.array(np.arange(start, start + 50))])
            with pytest.raises(GraphError, match="city: 100 vertices; 99 is the most"):
                encoder.finish("city")
