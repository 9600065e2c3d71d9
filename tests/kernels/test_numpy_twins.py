"""Twins of a few operations of NumPy, which the CPU paths do not launch, against plain Python.

The same tests run the CUDA twins, so that both compute one thing.
"""

import math
import pickle

import networkx
import numpy as np
import pytest

from rapidsgraph import device, kernels
from rapidsgraph.algorithms import pagerank_layout
from rapidsgraph.algorithms.neighbor_similarity import CODES, compare
from rapidsgraph.algorithms.scan import number_clusters
from rapidsgraph.frames import NullableIntegers
from rapidsgraph.graph.key_sums import sum_in_parts
from rapidsgraph.graph.multi_edges import count_conflicts
from rapidsgraph.kernels.constants import PAGERANK_CHUNK, WORD_FLAGS

pytestmark = pytest.mark.sanitizer

SEEDS = range(5)


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    return pytest.importorskip(request.param)


def random_forest(seed):
    """Return the root of every vertex, and the number of vertices of every root."""
    random = np.random.default_rng(seed)
    num_vertices = int(random.integers(1, 300))
    candidates = random.integers(0, num_vertices, num_vertices)
    roots = np.where(random.random(num_vertices) < 0.4, np.arange(num_vertices), candidates)
    roots[np.unique(roots)] = np.unique(roots)
    return roots.astype(np.int32), np.bincount(roots, minlength=num_vertices).astype(np.int32)


@pytest.mark.parametrize("seed", SEEDS)
def test_components_are_numbered_by_size_and_root(xp, seed):
    roots, sizes = random_forest(seed)
    num_vertices = roots.size
    own_sizes = xp.asarray(sizes)
    keys, num_keys = xp.zeros(num_vertices, xp.int64), xp.zeros(1, xp.int32)
    device.launch(
        "union_find", "list_large", size=num_vertices,
        num_vertices=num_vertices, sizes=own_sizes, keys=keys, num_keys=num_keys,
    )  # fmt: skip
    large = sorted(
        (root for root in range(num_vertices) if sizes[root] > 1),
        key=lambda root: (-sizes[root], root),
    )
    assert int(num_keys[0]) == len(large)
    keys = xp.sort(keys[: len(large)])
    assert [int(key) & 0xFFFFFFFF for key in keys] == large

    device.launch(
        "union_find", "number_large", size=len(large),
        num_keys=len(large), keys=keys, sizes=own_sizes,
    )  # fmt: skip
    assert [-int(own_sizes[root]) for root in large] == list(range(len(large)))

    numbers = xp.empty(num_vertices, xp.int32)
    num_single = device.accumulate(xp.asarray(sizes == 1), xp.int32)
    device.launch(
        "union_find", "number_vertices", size=num_vertices,
        num_vertices=num_vertices, num_large=len(large), roots=xp.asarray(roots), sizes=own_sizes,
        num_single=num_single, numbers=numbers,
    )  # fmt: skip
    order = large + [root for root in range(num_vertices) if sizes[root] == 1]
    assert [int(number) for number in numbers] == [order.index(root) for root in roots]


@pytest.mark.parametrize("seed", SEEDS)
def test_clusters_are_labeled_in_one_kernel_or_several(xp, seed):
    """The kernel of a CPU against those of a GPU."""
    roots, _ = random_forest(seed)
    random, num_vertices = np.random.default_rng(seed), roots.size
    is_core = roots == np.arange(num_vertices)  # of clusters of one core, and of others
    is_core |= random.random(num_vertices) < 0.3
    is_border = ~is_core & (random.random(num_vertices) < 0.5)
    nearest = random.choice(np.flatnonzero(is_core), num_vertices).astype(np.int32)
    given = {"is_core": is_core, "is_border": is_border, "roots": roots, "nearest": nearest}
    clusters, members, labels, work_space = np.empty((4, num_vertices), np.int32)
    roles = np.empty(num_vertices, np.int8)
    own = {**given, "nearest": nearest.copy()}  # it is overwritten
    num_clusters, num_members = kernels.clustering.label_vertices(
        num_vertices, *own.values(), labels, work_space, clusters, roles, members
    )
    arrays = {name: xp.asarray(values) for name, values in given.items()}
    labels, is_member = xp.empty(num_vertices, xp.int32), xp.empty(num_vertices, bool)
    device.launch(
        "scan", "label_members", size=num_vertices,
        num_vertices=num_vertices, labels=labels, is_member=is_member, **arrays,
    )  # fmt: skip
    expected_members = device.flatnonzero(is_member)
    expected_clusters, expected_count = number_clusters(labels, expected_members)
    expected_roles = xp.empty(num_vertices, xp.int8)
    device.launch(
        "scan", "assign_roles", size=num_vertices,
        num_vertices=num_vertices, is_core=arrays["is_core"], is_border=arrays["is_border"],
        is_hub=xp.zeros(num_vertices, bool), roles=expected_roles,
    )  # fmt: skip
    assert num_clusters == expected_count
    assert np.array_equal(members[:num_members], device.to_host(expected_members))
    assert np.array_equal(clusters, device.to_host(expected_clusters))
    assert np.array_equal(roles, device.to_host(expected_roles))


@pytest.mark.parametrize("num_arcs", [0, 1, 40, 400])
@pytest.mark.parametrize("num_vertices", [1, 5, 300, 4000])
def test_components_of_small_graphs_are_numbered_in_one_block(xp, num_vertices, num_arcs):
    random = np.random.default_rng(num_arcs)
    rows = np.sort(random.integers(0, num_vertices, num_arcs))
    neighbors = random.integers(0, num_vertices, num_arcs).astype(np.int32)
    offsets = np.searchsorted(rows, np.arange(num_vertices + 1))
    components = xp.empty(num_vertices, xp.int32)
    device.launch(
        "union_find", "number_in_block", size=num_vertices, geometry=(1, 1024),
        num_vertices=num_vertices, num_arcs=num_arcs, offsets=xp.asarray(offsets),
        neighbors=xp.asarray(neighbors), work_space=xp.empty(2 * num_vertices, xp.int64),
        components=components,
    )  # fmt: skip
    graph = networkx.Graph(zip(rows.tolist(), neighbors.tolist(), strict=True))
    graph.add_nodes_from(range(num_vertices))
    expected = np.empty(num_vertices, np.int32)
    ordered = sorted(networkx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    for number, vertices in enumerate(ordered):
        expected[list(vertices)] = number
    assert np.array_equal(device.to_host(components), expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_marked_names_and_their_range(xp, seed, dtype):
    random = np.random.default_rng(seed)
    low = 0 if dtype == "uint64" else -50
    first, num_flags = int(random.integers(low, 50)), int(random.integers(1, 100))
    names = random.integers(low, 100, int(random.integers(1, 200))).astype(dtype)
    names[random.integers(names.size)] = np.iinfo(dtype).max
    is_present, limits = xp.zeros(num_flags, bool), xp.zeros(2, xp.uint64)
    parts = [xp.asarray(part) for part in np.split(names, [int(random.integers(names.size + 1))])]
    device.launch(
        "build", "mark_names", size=max(part.size for part in parts), num_names=parts[0].size,
        names=parts[0], num_others=parts[1].size, others=parts[1], is_signed=dtype != "uint64",
        min_name=first, num_flags=num_flags, is_present=is_present, limits=limits,
    )  # fmt: skip
    marked = [name - first for name in names.tolist() if first <= name < first + num_flags]
    assert np.flatnonzero(device.to_host(is_present)).tolist() == sorted(set(marked))
    extremes = device.decode_limits(*limits.tolist(), dtype != "uint64")
    assert extremes == (min(names.tolist()), max(names.tolist()))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize(
    ("low", "span", "size"),
    [(0, 1, 1), (0, 5, 300), (7, 40, 20), (-9, 3000, 900), (3, 2**18, 70), (3, 2**18, 300_000)],
)
def test_ids_of_names(xp, low, span, size, dtype):
    low = abs(low) if dtype == "uint64" else low
    names = np.random.default_rng(span).integers(low, low + span, size).astype(dtype)
    on_device, num_words = xp.asarray(names), -(-span // WORD_FLAGS)
    is_present, totals = xp.zeros(num_words * WORD_FLAGS, bool), xp.zeros(4, np.int64)
    options = {"is_signed": dtype != "uint64", "min_name": low, "num_flags": span}
    limits, id_words = totals[:2].view(np.uint64), xp.zeros(num_words, np.uint64)
    device.launch(
        "build", "mark_names", size=size, num_names=size, names=on_device, num_others=0,
        others=on_device[:0], is_present=is_present, limits=limits, **options,
    )  # fmt: skip
    device.launch(
        "build", "number_names", size=num_words, threads=1024, cooperative=True,
        is_present=is_present, limits=limits, arrived_blocks=totals[2:3].view(np.uint64),
        sums=xp.empty(1 if xp is np else device.max_cooperative_blocks(), np.int64),
        id_words=id_words, num_names=totals[3:], **options,
    )  # fmt: skip
    distinct, expected = np.unique(names, return_inverse=True)
    assert int(totals[3]) == distinct.size
    is_dense = low == 0 and distinct.size == int(distinct[-1]) + 1
    for window_words, num_blocks in ((num_words, 1), (num_words, 5), (-(-num_words // 3), 7)):
        others, counts = xp.zeros(num_words, np.uint64), xp.zeros(4, np.int64)
        device.launch(
            "build", "number_in_shared_memory", size=size, geometry=(num_blocks, 1024),
            cooperative=True, shared_bytes=4 * window_words, num_names=size // 3,
            names=on_device[: size // 3], num_others=size - size // 3,
            others=on_device[size // 3 :], window_words=window_words, max_words=num_words,
            bitmaps=xp.empty(num_blocks * num_words, np.uint32),
            sums=xp.empty(num_blocks, np.int64), arrived_blocks=counts[2:3].view(np.uint64),
            id_words=others, limits=counts[:2].view(np.uint64), num_distinct=counts[3:], **options,
        )  # fmt: skip
        assert counts[[0, 1, 3]].tolist() == totals[[0, 1, 3]].tolist()
        used = (int(distinct[-1]) - low) // WORD_FLAGS + 1
        flags = np.uint64(2**32 - 1 if is_dense else 2**64 - 1)  # the other half is undefined
        assert (others[:used] & flags).tolist() == (id_words[:used] & flags).tolist()
    if is_dense:
        return
    ids, listed = xp.empty(size, np.int32), xp.empty(distinct.size, dtype)
    device.launch(
        "build", "look_up_ids", size=size,
        num_names=size, names=on_device, min_name=low, id_words=id_words, ids=ids,
    )  # fmt: skip
    num_words = (int(distinct[-1]) - low) // WORD_FLAGS + 1
    device.launch(
        "build", "list_names", size=span,
        num_words=num_words, id_words=id_words[:num_words], min_name=low, names=listed,
    )  # fmt: skip
    assert ids.tolist() == expected.tolist()
    assert listed.tolist() == distinct.tolist()


@pytest.mark.parametrize("beyond", [-1, 100])
def test_no_ids_if_a_name_has_no_flag(xp, beyond):
    names, empty = xp.asarray([5, beyond, 7]), xp.empty(0, np.int64)
    is_present, totals = xp.zeros(128, bool), xp.zeros(4, np.int64)
    id_words, limits = xp.zeros(4, np.uint64), totals[:2].view(np.uint64)
    options = {"is_signed": True, "min_name": 0, "num_flags": 100, "limits": limits}
    synchronized = {
        "sums": xp.empty(1 if xp is np else device.max_cooperative_blocks(), np.int64),
        "arrived_blocks": totals[2:3].view(np.uint64),
        "id_words": id_words,
    }
    device.launch(
        "build", "mark_names", size=3, num_names=3, names=names, num_others=0, others=empty,
        is_present=is_present, **options,
    )  # fmt: skip
    device.launch(
        "build", "number_names", size=128, threads=1024, cooperative=True, is_present=is_present,
        num_names=totals[3:], **options, **synchronized,
    )  # fmt: skip
    assert not id_words.any() and int(totals[3]) == 0
    totals[:] = 0
    device.launch(
        "build", "number_in_shared_memory", size=3, geometry=(2, 1024), cooperative=True,
        shared_bytes=16, num_names=3, names=names, num_others=0, others=empty, window_words=4,
        max_words=4, bitmaps=xp.empty(8, np.uint32), num_distinct=totals[3:], **options,
        **synchronized,
    )  # fmt: skip
    assert not id_words.any() and int(totals[3]) == 0
    assert device.decode_limits(*totals[:2].tolist(), True) == (min(5, beyond), max(7, beyond))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_count_of_values_other_than_zero(xp, seed, dtype):
    random = np.random.default_rng(seed)
    values = random.integers(-1, 2, int(random.integers(0, 500))).astype(dtype)
    values = values[int(random.integers(0, 9)) :]
    count = xp.full(1, 3, xp.int64)
    device.launch(
        "arrays", "count_nonzero", size=values.size,
        num_values=values.size, values=xp.asarray(values), count=count,
    )  # fmt: skip
    assert int(count[0]) == 3 + sum(1 for value in values if value)


@pytest.mark.parametrize("seed", SEEDS)
def test_marked_neighbors_are_copied(xp, seed):
    random = np.random.default_rng(seed)
    neighbors = random.integers(0, 100, 200).astype(np.int32)
    keep = random.random(neighbors.size) < 0.5
    num_before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int32)
    kept = xp.empty(np.count_nonzero(keep), xp.int32)
    device.launch(
        "build", "filter_neighbors", size=keep.size,
        num_arcs=keep.size, keep=xp.asarray(keep), num_before=xp.asarray(num_before),
        neighbors=xp.asarray(neighbors), new_neighbors=kept,
    )  # fmt: skip
    assert device.to_host(kept).tolist() == [
        neighbor for neighbor, is_kept in zip(neighbors, keep, strict=True) if is_kept
    ]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_range_of_integers(xp, seed, dtype):
    random, info = np.random.default_rng(seed), np.iinfo(dtype)
    values = random.integers(info.min, info.max, int(random.integers(2, 500)), dtype, endpoint=True)
    arrays = [xp.asarray(values[:1]), xp.asarray(values[1:]), xp.asarray(values)[::-2]]
    assert device.value_range(arrays) == (min(values.tolist()), max(values.tolist()))
    ends = [xp.asarray([info.max], dtype), xp.asarray([info.min], dtype)]
    assert device.value_range(ends) == (info.min, info.max)


def test_twin_of_the_range():
    for values in (np.array([-5, 3], np.int32), np.array([7, 2**64 - 1], np.uint64)):
        limits, is_signed = np.zeros(2, np.uint64), values.dtype.kind == "i"
        device.launch(
            "arrays", "measure_range", size=values.size,
            num_values=values.size, values=values, is_signed=is_signed, limits=limits,
        )  # fmt: skip
        low, high = values.tolist()
        offset = 2**63 if is_signed else 0
        assert limits.tolist() == [2**64 - 1 - low - offset, high + offset]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
@pytest.mark.parametrize("size", [0, 1, 1000, 40_000, 3_000_000])
def test_sums_of_the_values_before_each_position(xp, size, dtype):
    values = np.random.default_rng(size).integers(0, 2, size).astype(dtype)
    for total_type in (np.int32, np.int64):
        totals = device.accumulate(xp.asarray(values), total_type)
        assert totals.dtype == total_type
        expected = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        assert np.array_equal(device.to_host(totals), expected)


@pytest.mark.parametrize("density", [0, 0.01, 0.5, 1])
@pytest.mark.parametrize("size", [0, 1, 1000, 40_000, 3_000_000])
def test_positions_of_flags(xp, size, density):
    flags = np.random.default_rng(size).random(size) < density
    positions = device.flatnonzero(xp.asarray(flags))
    assert positions.dtype == np.int32
    assert np.array_equal(device.to_host(positions), np.flatnonzero(flags))


@pytest.mark.parametrize("num_ranges", [1, 2, 7])
@pytest.mark.parametrize("size", [0, 1, 5, 1000])
def test_ranges_of_values(xp, size, num_ranges):
    flags = np.random.default_rng(size).random(size) < 0.5
    expected = np.flatnonzero(flags)
    sums, positions = xp.full(num_ranges, -1, xp.int64), xp.full(size + 1, -1, xp.int32)
    totals = xp.full(size + 1, -1, xp.int32)
    arguments = {"size": size, "num_values": size, "num_ranges": num_ranges, "sums": sums}
    arguments["values"] = xp.asarray(flags)
    device.launch("arrays", "sum_ranges", **arguments)
    width = -(-size // num_ranges)
    assert device.to_host(sums).tolist() == [
        sum(1 for flag in flags[number * width : (number + 1) * width] if flag)
        for number in range(num_ranges)
    ]
    device.launch("arrays", "accumulate", totals=totals, **arguments)
    assert device.to_host(totals).tolist() == [sum(flags[:stop]) for stop in range(size + 1)]
    device.launch(
        "arrays", "list_nonzero", positions=positions, num_positions=positions[size:], **arguments,
    )  # fmt: skip
    if expected.size < size:
        assert device.to_host(positions[: expected.size]).tolist() == expected.tolist()
    assert int(positions[size]) == expected.size


@pytest.mark.parametrize("value_type", [np.float32, np.float64])
@pytest.mark.parametrize("weight_type", ["int32", "float32", "float64"])
def test_weights_are_divided_by_those_that_leave_the_source(xp, value_type, weight_type):
    random = np.random.default_rng(1)
    sources = random.integers(0, 50, 3000).astype(np.int32)
    weights = (random.random(3000) * 9).astype(weight_type)
    out_weights = np.bincount(sources, weights, 50)
    out_weights[:2] = 0
    normalized = xp.empty(3000, value_type)
    device.launch(
        "pagerank_layout", "normalize_weights", size=3000, num_arcs=3000,
        neighbors=xp.asarray(sources), weights=xp.asarray(weights),
        out_weights=xp.asarray(out_weights), new_weights=normalized,
    )  # fmt: skip
    expected = weights / np.where(out_weights > 0, out_weights, 1)[sources]
    assert np.array_equal(device.to_host(normalized), expected.astype(value_type))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("sizes", [(1, 9), (3000, 6000)], ids=["short", "long"])
def test_conflicts_are_counted_in_runs(xp, dtype, sizes):
    """Runs of several rows, three of which are empty."""
    random = np.random.default_rng(1)
    runs = random.integers(*sizes, 60)
    neighbors = np.repeat(np.tile([2, 5, 6], 20), runs).astype(np.int32)
    arcs_of_rows = np.zeros(23, int)
    arcs_of_rows[[*range(1, 10), *range(11, 22)]] = runs.reshape(20, 3).sum(axis=1)
    offsets = np.append(0, np.cumsum(arcs_of_rows))
    weights = random.integers(0, 3, neighbors.size).astype(dtype)
    first = np.repeat(np.cumsum(runs) - runs, runs)
    is_first = first == np.arange(neighbors.size)
    count = count_conflicts(*map(xp.asarray, (offsets, neighbors, is_first, weights)))
    assert count == (weights != weights[first]).sum()


def test_values_are_filled_converted_and_taken(xp):
    assert device.to_host(device.full(3, np.inf, np.float64, xp)).tolist() == [np.inf] * 3
    assert device.to_host(device.full(2, 2**31 - 1, np.int32, xp)).tolist() == [2**31 - 1] * 2
    numbers = device.arange(70_000, np.int32, xp)
    assert numbers.dtype == np.int32
    assert np.array_equal(device.to_host(numbers), np.arange(70_000))
    assert device.astype(numbers, np.int32) is numbers
    copied = device.copy(numbers)
    device.put(copied, numbers[5:7].copy(), 0)
    assert device.to_host(copied[4:8]).tolist() == [4, 0, 0, 7]
    assert int(numbers[5]) == 5
    halves = device.astype(numbers, np.float64) / 2
    assert np.array_equal(device.to_host(halves), np.arange(70_000) / 2)
    values = device.take(halves, numbers[::-1].copy())
    assert np.array_equal(device.to_host(values), np.arange(70_000)[::-1] / 2)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_orders_are_inverted(xp, dtype):
    order = np.random.default_rng(1).permutation(70_000).astype(dtype)
    positions = device.invert_order(xp.asarray(order))
    assert positions.dtype == np.int32
    assert np.array_equal(device.to_host(positions), np.argsort(order))


def test_values_are_put_and_compared_with_bounds(xp):
    numbers = device.arange(10, np.float64, xp)
    device.put(numbers, xp.asarray([9, 2], np.int32), np.inf)
    assert device.to_host(numbers).tolist() == [0, 1, np.inf, 3, 4, 5, 6, 7, 8, np.inf]
    values = xp.asarray([3, -2, 7, 4, 8, 0], np.int64)
    for low, high in ((-np.inf, 4), (4, np.inf), (1, 8)):
        flags = device.mark_range(values, low, high)
        expected = [low <= value < high for value in device.to_host(values).tolist()]
        assert device.to_host(flags).tolist() == expected
    ids = xp.asarray([-1, 3, 2**31 - 1], np.int32)
    assert device.to_host(device.mark_range(ids, low=0)).tolist() == [False, True, True]
    assert device.to_host(device.mark_range(ids, high=2**31 - 1)).tolist() == [True, True, False]


def test_twins_of_operations_that_a_cpu_has_in_numpy():
    values, flags = np.zeros(4), np.zeros(4, bool)
    device.launch(
        "arrays", "put", size=2,
        num_indices=2, indices=np.array([3, 1], np.int32), value=2.5, values=values,
    )  # fmt: skip
    assert values.tolist() == [0, 2.5, 0, 2.5]
    device.launch(
        "arrays", "mark_range", size=4, num_values=4, values=values, low=1, high=3, flags=flags
    )
    assert flags.tolist() == [False, True, False, True]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float64"])
def test_values_that_are_not_selected_become_another_one(xp, dtype):
    random = np.random.default_rng(0)
    flags, values = random.random(300) < 0.5, random.integers(0, 2**31, 300).astype(dtype)
    arrays = [xp.asarray(flags), xp.asarray(values)]
    expected = np.where(flags, values, np.array(-1).astype(dtype))
    assert np.array_equal(device.to_host(device.where(*arrays, -1)), expected)
    selected = xp.empty(300, dtype)
    device.launch(
        "arrays", "where", size=300,
        num_values=300, flags=arrays[0], values=arrays[1], other=-1, new_values=selected,
    )  # fmt: skip
    assert np.array_equal(device.to_host(selected), expected)


@pytest.mark.parametrize("dtype", [None, "int8", "int64", "uint64"])
@pytest.mark.parametrize("null", [-1, 2**31 - 1])
@pytest.mark.parametrize("size", [1, 32, 1001])
def test_columns_and_masks_of_nullable_integers(xp, size, null, dtype):
    random = np.random.default_rng(size)
    names = None if dtype is None else random.integers(0, 100, 50).astype(dtype)
    integers = random.integers(0, 50, size).astype(np.int32)
    integers[random.random(size) < 0.4] = null
    valid = integers != null
    column = integers if names is None else names[np.where(valid, integers, 0)]
    for value in (-1, 7):
        filled = xp.empty(size, column.dtype)
        words, count = xp.zeros(size // 32 + 1, xp.uint32), xp.full(1, 5, xp.int64)
        device.launch(
            "arrays", "fill_nulls", size=size, num_values=size, integers=xp.asarray(integers),
            null=null, with_names=names is not None,
            names=filled if names is None else xp.asarray(names), other=value, with_column=True,
            column=filled, with_words=True, words=words, count=count,
        )  # fmt: skip
        other = np.array(value).astype(column.dtype)
        assert filled.tolist() == np.where(valid, column, other).tolist()
        bits = np.unpackbits(device.to_host(words).view(np.uint8), bitorder="little")
        assert bits.tolist() == valid.tolist() + [0] * (bits.size - size)
        assert int(count[0]) == 5 + np.count_nonzero(valid)
        nullable = NullableIntegers(
            xp.asarray(integers), null, names if names is None else xp.asarray(names)
        )
        assert nullable.fill(value).tolist() == filled.tolist()
        assert nullable.fill(value).dtype == column.dtype
        assert nullable[5:].fill(value).tolist() == filled[5:].tolist()
        masked = nullable.write_mask(words[:] * 0, count)
        assert device.to_host(masked)[valid].tolist() == column[valid].tolist()
    if names is None:
        assert masked is nullable.integers
        wide = NullableIntegers(xp.asarray(integers), null, dtype=np.dtype(np.int64))
        assert wide.fill(-1).tolist() == np.where(valid, integers, -1).tolist()
        assert wide.fill(-1).dtype == np.int64
    if xp is np:
        values, is_valid = nullable.split()
        assert is_valid.tolist() == valid.tolist()
        assert values[valid].tolist() == column[valid].tolist()


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1000])
def test_flags_are_packed_into_words(xp, size):
    flags = np.random.default_rng(size).random(size) < 0.3
    words, count = xp.zeros(size // 32 + 2, xp.uint32), xp.full(1, 5, xp.int64)
    device.launch(
        "arrays", "pack_flags", size=size,
        num_flags=size, flags=xp.asarray(flags), words=words, count=count,
    )  # fmt: skip
    bits = np.unpackbits(device.to_host(words).view(np.uint8), bitorder="little")
    assert bits.tolist() == flags.tolist() + [0] * (bits.size - size)
    assert int(count[0]) == 5 + np.count_nonzero(flags)


@pytest.mark.parametrize("num_starts", [0, 1, 4])
@pytest.mark.parametrize("index", [[], [3, 0, 2, 1]], ids=["rows", "index"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_initial_values_of_pagerank(xp, num_starts, index, dtype):
    """Four rows and five contributions, of which one has no row."""
    starts = np.array([0.25, 0.5, 0.125, 0.75])
    inverse = np.array([0.5, 0, 2, 1], dtype)
    contributions, pagerank = xp.full(12, 9, dtype), xp.full(4, 9, dtype)
    teleport, dangling, state = xp.full(4, 7.0), xp.full(4, 8.0), xp.full(5, -1.0)
    device.launch(
        "pagerank", "initialize_rows", size=6, num_vertices=4, num_contributions=5,
        start=xp.asarray(starts[:num_starts]), num_starts=num_starts, uniform_start=0.375,
        uniform_teleport=0.0375, uniform_dangling_weight=0.2125, dangling_mass=0.5,
        inverse_weights=xp.asarray(inverse), contribution_index=xp.asarray(index, np.int32),
        has_contribution_index=len(index) > 0, contributions=contributions, pagerank=pagerank,
        teleport=teleport, dangling_weights=dangling, state=state,
    )  # fmt: skip
    values = {0: np.full(4, 0.375), 1: np.full(4, 0.25), 4: starts}[num_starts]
    expected = np.zeros(12)
    expected[index or range(4)] = values * inverse
    assert pagerank.tolist() == values.tolist()
    assert contributions.tolist() == expected.tolist()
    assert teleport.tolist() == [7.0 if num_starts else 0.0375, 7, 7, 7]
    assert dangling.tolist() == [8.0 if num_starts else 0.2125, 8, 8, 8]
    assert state.tolist() == [0, math.inf, 0.5, 0, 0.375]


def test_arrays_without_values_are_shared(xp):
    arrays = [device.no_values(dtype, xp) for dtype in (float, np.float64, np.int32)]
    assert arrays[0] is arrays[1]
    assert [(values.size, values.dtype) for values in arrays[1:]] == [(0, "f8"), (0, "i4")]
    assert pickle.loads(pickle.dumps(arrays[2])).size == 0
    assert xp.concatenate([arrays[2], xp.arange(3)]).tolist() == [0, 1, 2]
    assert device.to_host(arrays[2]).dtype == np.int32


@pytest.mark.parametrize("keys", [[], [0], [99], [5, 5, 5], [0, 31, 32, 64, 99], [3, 80] * 200])
@pytest.mark.parametrize("num_keys", [100, 10_000])
def test_offsets_of_keys_without_pairs(xp, keys, num_keys):
    major = np.sort(np.array(keys, np.int64) * (num_keys // 100))
    packed, offsets = xp.asarray(major << 3 | 5), xp.full(num_keys + 1, -1, np.int64)
    minor, num_distinct = xp.empty(major.size, np.int32), xp.zeros(1, np.int64)
    device.launch(
        "build", "split_pairs", size=max(major.size, num_keys + 1), num_keys=num_keys,
        num_pairs=major.size, minor_bits=3, packed=packed, offsets=offsets, minor=minor,
        num_distinct=num_distinct,
    )  # fmt: skip
    assert offsets.tolist() == np.searchsorted(major, np.arange(num_keys + 1)).tolist()
    assert minor.tolist() == [5] * major.size
    assert int(num_distinct[0]) == len(set(keys))


@pytest.mark.parametrize("minor_bits", [0, 1, 21, 31])
def test_pairs_are_packed_and_split(xp, minor_bits):
    random = np.random.default_rng(minor_bits)
    major = np.sort(random.integers(0, 50, 300)).astype(np.int32)
    minor = random.integers(0, 2**minor_bits, 300).astype(np.int32)
    packed, offsets, halves = xp.empty(300, xp.int64), xp.empty(51, xp.int64), xp.empty(300, "i4")
    pairs = {"size": 300, "num_pairs": 300, "minor_bits": minor_bits}
    device.launch(
        "build", "pack_pairs", **pairs,
        major=xp.asarray(major), minor=xp.asarray(minor), packed=packed,
    )  # fmt: skip
    keys = [int(row) << minor_bits | int(value) for row, value in zip(major, minor, strict=True)]
    assert packed.tolist() == keys
    packed.sort()
    num_distinct = xp.zeros(1, xp.int64)
    device.launch(
        "build", "split_pairs", **pairs, num_keys=50, packed=packed, offsets=offsets, minor=halves,
        num_distinct=num_distinct,
    )  # fmt: skip
    assert int(num_distinct[0]) == len(set(keys))
    assert halves.tolist() == minor[np.lexsort((minor, major))].tolist()
    assert offsets.tolist() == [sum(row < stop for row in major.tolist()) for stop in range(51)]


@pytest.mark.parametrize("kind", ["jaccard", "overlap", "cosine"])
def test_similarities_of_pairs(xp, kind):
    random = np.random.default_rng(0)
    degrees, others = random.integers(0, 50, (2, 300)).astype(np.int32)
    common = random.integers(0, np.minimum(degrees, others) + 1).astype(np.int32)
    arrays = [xp.asarray(values) for values in (common, degrees, others)]
    values = xp.empty(300)
    device.launch(
        "common_neighbors", "compare", size=300, num_pairs=300, kind=CODES[kind], common=arrays[0],
        degrees=arrays[1], other_degrees=arrays[2], similarities=values,
    )  # fmt: skip
    assert np.array_equal(device.to_host(values), compare(kind, common, degrees, others))
    assert np.array_equal(device.to_host(compare(kind, *arrays)), device.to_host(values))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_weight_keys_are_in_the_order_of_weights_rounded_down(xp, dtype):
    random = np.random.default_rng(1)
    weights = random.random(500) * 2.0 ** random.integers(-140, 50, 500)
    if dtype == "float64":
        weights[:4] = -0.0, 1e308, 5e-324, 1 + 2**-40
    weights = weights.astype(dtype)
    keys = xp.empty(weights.size, xp.int32)
    device.launch(
        "sssp", "find_weight_keys", size=weights.size,
        num_arcs=weights.size, weights=xp.asarray(weights), keys=keys,
    )  # fmt: skip
    rounded = device.to_host(keys).view(np.float32)
    assert (rounded >= 0).all()
    assert (rounded <= weights).all()
    # CuPy has NVRTC flush subnormal numbers to 0.
    with np.errstate(over="ignore"):
        above = np.nextafter(rounded, np.float32(np.inf))
    assert (np.maximum(above, np.finfo(np.float32).tiny) > weights).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sums_in_parts_are_those_of_fractions(xp, dtype):
    random = np.random.default_rng(2)
    keys = random.integers(0, 40, 2000).astype(np.int32)
    keys[keys == 7] = 8  # without items
    exponents = random.integers(-4, 60, 2000) if dtype == "int64" else 25 * (keys - 20)
    if dtype == "float32":
        exponents = exponents // 5
    weights = (random.standard_normal(2000) * 2.0**exponents).astype(dtype)
    weights[keys == 9] = 0
    if dtype == "float64":
        weights[keys == 11] = 5e-324
    of_keys = [weights[keys == key] for key in range(40)]
    expected = np.array([math.fsum(values.tolist()) for values in of_keys])
    largest = np.array([abs(values).max(initial=0) for values in of_keys], float)
    orders = np.arange(2000), random.permutation(2000)
    sums = [
        device.to_host(sum_in_parts(xp.asarray(keys[order]), xp.asarray(weights[order]), 40))
        for order in orders
    ]
    assert sums[0].tobytes() == sums[1].tobytes()
    assert (abs(sums[0] - expected) <= 2.0**-53 * (2 * abs(expected) + largest)).all()


def test_classes_of_rows(xp):
    """Thresholds of lengths are bounds of classes, which ascend with the length."""
    lengths = np.r_[0:3000, 2 ** np.arange(12, 31), 2 ** np.arange(12, 31) + 1, 2**31 - 1]
    lengths.sort()
    out_weights = np.arange(lengths.size) % 2 * 0.5
    layout = pagerank_layout
    first, second, third = layout.WHOLE_ROW_LENGTHS
    thresholds = [layout.NARROW_LENGTH, PAGERANK_CHUNK, first, second, third]
    keys, counts = xp.empty(lengths.size, np.int64), xp.zeros(8, np.int64)
    device.launch(
        "pagerank_layout", "classify_rows", size=lengths.size, num_rows=lengths.size,
        narrow_length=layout.NARROW_LENGTH, first_length=first, second_length=second,
        third_length=third,
        offsets=xp.asarray(np.r_[0, np.cumsum(lengths)]), out_weights=xp.asarray(out_weights),
        keys=keys, counts=counts,
    )  # fmt: skip
    classes = 255 - device.to_host(keys)
    assert (classes.min(), classes.max()) == (0, 248)
    for threshold in [*range(65), *thresholds, *2 ** np.arange(8, 31)]:
        is_longer = lengths > threshold
        assert classes[is_longer].min() > classes[~is_longer].max()
    is_exact = lengths <= 64
    assert (classes[is_exact] % 2 == (out_weights[is_exact] > 0)).all()
    ascending = np.diff(classes[~is_exact])
    assert (ascending >= 0).all()
    longer = [np.count_nonzero(lengths > threshold) for threshold in thresholds]
    num_narrow_arcs = int(lengths[lengths <= layout.NARROW_LENGTH].sum())
    assert counts.tolist() == [*longer, num_narrow_arcs, 1, np.count_nonzero(out_weights == 0)]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_classes_of_values(xp, dtype):
    values = np.unique(np.r_[0:3000, 2 ** np.arange(12, 31), 2 ** np.arange(12, 31) - 1])
    keys = xp.empty(values.size, np.int64)
    device.launch(
        "pagerank_layout", "classify_values", size=values.size,
        num_values=values.size, values=xp.asarray(values.astype(dtype)), keys=keys,
    )  # fmt: skip
    leading = [value >> max(value.bit_length() - 4, 0) << max(value.bit_length() - 4, 0)
               for value in values.tolist()]  # fmt: skip
    _, expected = np.unique(leading, return_inverse=True)
    _, classes = np.unique(-device.to_host(keys), return_inverse=True)
    assert classes.tolist() == expected.tolist()
    assert (device.to_host(keys) >= 0).all() and (device.to_host(keys) < 256).all()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_numbers_are_in_a_range(xp, dtype):
    for values, is_valid in (([], True), ([0, 7], True), ([3, -1, 4], False), ([9] * 999, True)):
        assert device.all_in_range(xp.array(values, dtype), 0, math.inf) == is_valid
    assert not device.all_in_range(xp.array([1, 5], dtype), 0, 5)
    if dtype.startswith("float"):
        for invalid in (math.nan, math.inf, -math.inf):
            assert not device.all_in_range(xp.array([2, invalid, 2], dtype), 0, math.inf)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_one_name_is_found(xp, dtype):
    names = [-7, 0, 3, 2**31 - 1]
    limits = [-(2**63), 2**63 - 1, 2**32 + 3]
    for value in (*names, *limits, -8, 1, 4):
        ids = xp.empty(1, np.int32)
        device.launch(
            "build", "find_name", size=1, value=value, num_names=4, names=xp.asarray(names, dtype),
            ids=ids,
        )  # fmt: skip
        assert int(ids[0]) == (names.index(value) if value in names else -1)


@pytest.mark.parametrize("num_names", [0, 1, 255, 256, 257, 70_000])
def test_one_of_many_names_is_found(xp, num_names):
    names, ids = xp.arange(num_names) * 3, xp.empty(1, np.int32)
    for position in {0, 1, 128, num_names - 2, num_names - 1, num_names}:
        for value in (3 * position - 1, 3 * position):
            device.launch(
                "build", "find_name", size=1,
                value=value, num_names=num_names, names=names, ids=ids,
            )  # fmt: skip
            is_found = value % 3 == 0 and 0 <= value < 3 * num_names
            assert int(ids[0]) == (value // 3 if is_found else -1)
