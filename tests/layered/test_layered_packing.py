"""Partitions: what is packed comes out again, bit by bit, and is cut where it should be."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from conftest import build_storage, columns_of, listed, on_host, random_edges
from hypothesis import given, settings

from rapidsgraph.device import array_module
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.packing import (
    COLUMN,
    PARTITION_BYTES,
    TABLE,
    checksum,
    describe_invalid,
    pack_partition,
    section_layouts,
    split_rows,
    unpack_partition,
)


def moved(make_arrays, values):
    return make_arrays({"values": values})["values"]


def number_at(words, bits, place):
    """What `bits` bits hold, by long integers."""
    whole = int.from_bytes(np.asarray(words, "<u4").tobytes(), "little")
    return whole >> bits * place & (1 << bits) - 1


def packed(make_arrays, first, lists, weight_dtype, partition_bytes=PARTITION_BYTES):
    """[(words, row)] of lists on the host, packed on a device."""
    lists = [[moved(make_arrays, values) for values in part] for part in lists]
    size = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    return list(pack_partition(first, lists, size, partition_bytes))


def section_of(degrees, neighbors, weight_dtype=None, seed=0):
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    weights = np.random.default_rng(seed).uniform(0, 5, len(neighbors))
    weights = weights.astype(weight_dtype or np.float64)
    return offsets, np.asarray(neighbors, np.int32), weights[: None if weight_dtype else 0]


def check_unpacked(words, row, first, lists, weight_dtype):
    for part, (offsets, neighbors, weights) in zip(
        unpack_partition(words, row, weight_dtype), lists
    ):
        own = neighbors[offsets[0] : offsets[-1]]
        sources = first + np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        for found, expected in zip(part, (sources, own, weights[offsets[0] : offsets[-1]])):
            np.testing.assert_array_equal(on_host(found), expected)


NOTHING = (np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))


@pytest.mark.parametrize("bits", range(32))
def test_neighbors_of_every_width(make_arrays, bits):
    random = np.random.default_rng(bits)
    top = 2**bits - 1
    for count in (1, 2, 31, 32, 33, 95):
        if count == 1 and bits:
            continue  # a single one takes no bits
        base = int(random.integers(0, 2**31 - top))
        neighbors = base + random.integers(0, top + 1, count)
        neighbors[[0, -1]] = base, base + top
        lists = [section_of([count], neighbors), NOTHING]
        ((words, row),) = packed(make_arrays, 9, lists, None)
        facts = dict(zip(TABLE, row.tolist()))
        assert (facts["forward_edges"], facts["forward_bits"]) == (count, bits)
        assert (facts["forward_base"], facts["first"], facts["rows"]) == (base, 9, 1)
        assert facts["words"] == facts["forward_words"] == words.size
        assert facts["backward_edges"] == facts["backward_checksum"] == 0
        check_unpacked(words, row, 9, lists, None)
        layout, _ = section_layouts(row, 0)
        own = on_host(words)[layout.neighbors : layout.weights]
        found = [base + number_at(own, bits, place) for place in range(count)]
        assert found == neighbors.tolist()


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 8, 40])
@pytest.mark.parametrize("weight_dtype", [None, np.float32, np.float64])
def test_rows_of_every_number_and_width(make_arrays, rows, most, weight_dtype):
    random = np.random.default_rng(rows)
    lists = []
    for seed in range(2):
        degrees = random.integers(0, most + 1, rows)
        degrees[rows // 2] = most
        neighbors = random.integers(1000, 5000, degrees.sum())
        lists.append(section_of(degrees, neighbors, weight_dtype, seed))
    ((words, row),) = packed(make_arrays, 1000, lists, weight_dtype, 8 if rows > 1 else 2**20)
    facts = dict(zip(TABLE, row.tolist()))
    check_unpacked(words, row, 1000, lists, weight_dtype)
    size, begin = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize, 0
    for part, layout, (offsets, _, weights) in zip(
        ("forward", "backward"), section_layouts(row, size), lists
    ):
        own = on_host(words)[begin : begin + layout.words]
        assert facts[f"{part}_degree_bits"] == most.bit_length()
        assert layout.words % 4 == 0 and layout.weights % 2 == 0
        starts = own[: layout.degrees].tolist()
        assert starts == [*offsets[:-1:32].tolist(), offsets[-1]]
        degrees = own[layout.degrees : layout.neighbors]
        found = [number_at(degrees, most.bit_length(), place) for place in range(rows)]
        assert found == np.diff(offsets).tolist()
        if weight_dtype:
            behind = layout.weights + layout.edges * size // 4
            assert own[layout.weights : behind].view(weight_dtype).tolist() == weights.tolist()
        assert facts[f"{part}_checksum"] == checksum(words[begin : begin + layout.words])
        begin += layout.words
    assert begin == words.size == facts["words"]


def test_lists_that_begin_in_the_middle(make_arrays):
    """Of partitions behind the first the offsets go on, and neighbors are those of all."""
    random = np.random.default_rng(3)
    lists = []
    for seed in range(2):
        degrees = random.integers(0, 9, 90)
        neighbors = random.integers(0, 90, degrees.sum())
        offsets, *rest = section_of(degrees, neighbors, np.float32, seed)
        lists.append((offsets[40:75], *rest))
    ((words, row),) = packed(make_arrays, 40, lists, np.float32)
    check_unpacked(words, row, 40, lists, np.float32)


@pytest.mark.parametrize("edges", [(10, 0), (0, 10), (7, 9), (1, 1), (5, 10)])
@pytest.mark.parametrize("room", [1, 3, 5, 100])
def test_a_long_row_is_split(make_arrays, edges, room):
    """First what goes forward, then what goes back, so many edges a partition."""
    neighbors = [np.arange(100, 100 + count)[::-1] for count in edges]
    lists = [section_of([len(part)], part) for part in neighbors]
    found = packed(make_arrays, 5, lists, None, 4 * room)
    fits = sum(edges) <= room
    assert len(found) == (1 if fits else sum(-(-count // room) for count in edges))
    parts, seen = [[], []], []
    for words, row in found:
        both = unpack_partition(words, row, None)
        for part, (sources, ends, _) in enumerate(both):
            assert on_host(sources).tolist() == [5] * ends.size
            parts[part] += on_host(ends).tolist()
            seen += [part] * bool(ends.size)
        assert fits or row[COLUMN["forward_edges"]] + row[COLUMN["backward_edges"]] <= room
    assert parts == [part.tolist() for part in neighbors]
    assert seen == sorted(seen)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=80),
    st.sampled_from([0, 4, 8]),
    st.sampled_from([1, 8, 64, 100, 1000, 10**6]),
)
@settings(max_examples=200)
def test_cuts_cover_all_rows_within_the_size(degrees, weight_bytes, size):
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    found = split_rows(offsets, weight_bytes, size)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == len(degrees)
    each = 4 + weight_bytes
    for first, last in found:
        cost = (offsets[last] - offsets[first]) * each + last - first
        assert last > first and (cost <= size or last == first + 1)
        if last < len(degrees):  # one more would not fit
            assert cost + degrees[last] * each + 1 > size


def test_every_changed_word_changes_the_checksum(make_arrays):
    values = np.random.default_rng(0).integers(0, 2**32, 300).astype(np.uint32)
    sums = {checksum(moved(make_arrays, values))}
    for place in range(300):
        changed = values.copy()
        changed[place] ^= np.uint32(1 << place % 32)
        sums.add(checksum(moved(make_arrays, changed)))
    sums.add(checksum(moved(make_arrays, np.roll(values, 1))))
    sums.add(checksum(moved(make_arrays, values[:-1])))
    assert len(sums) == 303
    expected = sum(
        (int(value) + 1) * (2 * place + 1) * 0x9E3779B97F4A7C15
        for place, value in enumerate(values)
    )
    assert checksum(moved(make_arrays, values)) % 2**64 == expected % 2**64


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([0.5, 3, 2**24], "float32"),
        ([0.1], "float64"),
        ([2.0**24 + 1], "float64"),
        ([1e-300], "float64"),
        ([1e300], "float64"),
        ([2.0**-126, 2.0**127], "float32"),
        ([2.0**-149, 2.0**127], "float64"),
        ([0, 0], "float32"),
    ],
)
def test_weights_take_single_precision_where_it_holds_them(make_arrays, weights, dtype):
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights)]
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layered = LayeredEdgeList.build(graph, 0)
    assert np.dtype(storage_of(layered).weight_dtype).name == dtype
    assert listed(layered.edges())["weight"] == weights


def test_positions_and_sizes_of_partitions(make_arrays):
    graph = build_storage(make_arrays(columns_of(random_edges(73))), weight="weight")
    layered = LayeredEdgeList.build(graph, 5, partition_bytes=300)
    table = storage_of(layered).table
    sizes = table[:, COLUMN["words"]]
    assert table[:, COLUMN["position"]].tolist() == (np.cumsum(sizes) - sizes).tolist()
    assert layered.nbytes == 4 * sizes.sum() == storage_of(layered).words.nbytes
    assert array_module(storage_of(layered).words) is graph.xp
    first, rows = table[:, COLUMN["first"]], table[:, COLUMN["rows"]]
    assert first[0] == 0 and first[-1] + rows[-1] == graph.num_vertices
    assert ((first[1:] == first[:-1] + rows[:-1]) | (first[1:] == first[:-1])).all()


def test_degrees_that_do_not_sum_to_the_edges_are_named():
    lists = [section_of([1, 3, 2], [7, 8, 9, 7, 8, 9]), NOTHING]
    ((words, row),) = packed(dict, 0, lists, None)
    layout, _ = section_layouts(row, 0)
    assert describe_invalid(words, row, 10, None) is None
    place = layout.degrees * 32 + layout.degree_bits  # of the second degree, of bits 0b11
    words[place // 32] ^= np.uint32(1 << place % 32)
    words[layout.degrees - 1] = 5  # the end of the last group
    assert describe_invalid(words, row, 10, None) == "forward degrees sum to 5, not 6"
