"""Generated graphs: against slow loops over Python integers, closed forms, and each other."""

import doctest
import itertools
import math

import numba
import numpy as np
import pandas
import pytest

from rapidsgraph import device, generate
from rapidsgraph.errors import GpuUnavailableError, GraphError, InsufficientMemoryError

WORD = 2**64 - 1


# The definition again: SplitMix64 by number, and one loop an edge.


def splitmix(start, draw):
    bits = (start + (draw + 1) * 0x9E3779B97F4A7C15) & WORD
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & WORD
    return bits ^ (bits >> 31)


def chance(start, draw):
    return (splitmix(start, draw) >> 11) / 2**53


def slow_names(vertices, seed):
    start, bits = splitmix(seed, 0), (vertices - 1).bit_length()
    return sorted(range(vertices), key=lambda v: (splitmix(start, v) >> 1 >> bits, v))


def slow_weights(draws, seed, low, high):
    start = splitmix(seed, 2)
    return [low + (high - low) * chance(start, draw) for draw in draws]


def slow_rmat(scale, edge_factor, a, b, c, seed):
    start, edges = splitmix(seed, 1), []
    for edge in range(edge_factor * 2**scale):
        source = destination = 0
        for level in range(scale):
            draw = chance(start, edge * scale + level)
            down = draw >= a + b
            right = a <= draw < a + b or draw >= a + b + c
            source, destination = 2 * source + down, 2 * destination + right
        edges.append((source, destination))
    return edges


def slow_grid(width, height, keep, seed):
    start, edges = splitmix(seed, 1), []
    for y in range(height):
        for x in range(width):
            here = x + width * y
            if x + 1 < width and chance(start, 2 * here) < keep:
                edges.append((here, here + 1))
            if y + 1 < height and chance(start, 2 * here + 1) < keep:
                edges.append((here, here + width))
    return edges


def slow_cliques(vertices, max_clique, seed):
    start, cliques, begin = splitmix(seed, 3), [], 0
    while begin < vertices:
        size = 1 + (splitmix(start, len(cliques)) >> 1) % max_clique
        cliques.append(range(begin, min(begin + size, vertices)))
        begin += size
    return cliques


def slow_ssca2(vertices, max_clique, inter_clique, seed):
    start, edges = splitmix(seed, 1), []
    cliques = slow_cliques(vertices, max_clique, seed)
    for number, clique in enumerate(cliques):
        edges += itertools.combinations(clique, 2)
        for vertex in clique:
            bridges = set()
            for draw in (6 * vertex, 6 * vertex + 3):
                coins = bin(splitmix(start, draw + 1) >> 1)[:1:-1]  # the lowest bit first
                ahead = number + 2 ** (len(coins) - len(coins.lstrip("1")))
                if chance(start, draw) < inter_clique and ahead < len(cliques):
                    among = cliques[ahead]
                    bridges.add((vertex, among[(splitmix(start, draw + 2) >> 1) % len(among)]))
            edges += bridges
    return edges


def pairs(frame):
    return list(zip(frame["source"].tolist(), frame["destination"].tolist()))


def renamed(edges, names):
    return [(names[source], names[destination]) for source, destination in edges]


def test_splitmix_is_the_published_one():
    # The first outputs for seed 1234567, as Vigna's C program prints them.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [splitmix(1234567, draw) for draw in range(4)] == known


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize(("a", "b", "c"), [(0.57, 0.19, 0.19), (0.25, 0.25, 0.25), (0, 0.5, 0.5)])
def test_rmat_is_the_slow_loop(a, b, c, seed):
    drawn = slow_rmat(5, 4, a, b, c, seed)
    frame = generate.rmat(5, 4, a=a, b=b, c=c, seed=seed, clean=False, permute=False, device="cpu")
    assert pairs(frame) == drawn

    drawn = renamed(drawn, slow_names(32, seed))
    frame = generate.rmat(
        5, 4, a=a, b=b, c=c, seed=seed, clean=False, weights=(-1, 2), device="cpu"
    )
    assert pairs(frame) == drawn
    assert frame["weight"].tolist() == slow_weights(range(128), seed, -1, 2)

    cleaned = sorted({edge for edge in drawn if edge[0] != edge[1]})
    frame = generate.rmat(5, 4, a=a, b=b, c=c, seed=seed, device="cpu")
    assert pairs(frame) == cleaned


@pytest.mark.parametrize("keep", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 6), (6, 1), (5, 3), (4, 4)])
def test_grid_is_the_slow_loop(width, height, keep):
    kept = slow_grid(width, height, keep, 7)
    options = {"keep": keep, "seed": 7, "weights": (2, 5), "device": "cpu"}
    for permute in (False, True):
        names = slow_names(width * height, 7) if permute else range(width * height)
        named = renamed(kept, names)
        edges = sorted(named + [edge[::-1] for edge in named])
        frame = generate.grid(width, height, permute=permute, **options)
        assert pairs(frame) == edges
        draws = [(min(edge) << 32) + max(edge) for edge in edges]
        assert frame["weight"].tolist() == slow_weights(draws, 7, 2, 5)


@pytest.mark.parametrize("inter_clique", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(
    ("vertices", "max_clique"), [(1, 7), (2, 1), (5, 2**31 - 1), (30, 3), (64, 1), (200, 12)]
)
def test_ssca2_is_the_slow_loop(vertices, max_clique, inter_clique):
    drawn = slow_ssca2(vertices, max_clique, inter_clique, 7)
    options = {"max_clique": max_clique, "inter_clique": inter_clique, "seed": 7}
    for permute in (False, True):
        names = slow_names(vertices, 7) if permute else range(vertices)
        named = renamed(drawn, names)
        edges = sorted(named + [edge[::-1] for edge in named])
        frame = generate.ssca2(vertices, permute=permute, weights=(2, 5), device="cpu", **options)
        assert pairs(frame) == edges
        draws = [(min(edge) << 32) + max(edge) for edge in edges]
        assert frame["weight"].tolist() == slow_weights(draws, 7, 2, 5)


@pytest.mark.parametrize("vertices", [1, 10, 2**31 - 1])
def test_uniform_is_the_slow_loop(vertices):
    start = splitmix(3, 1)
    frame = generate.uniform(vertices, 50, seed=3, weights=(0, 1), device="cpu")
    ends = [(splitmix(start, draw) >> 1) % vertices for draw in range(100)]
    assert pairs(frame) == list(zip(ends[::2], ends[1::2]))
    assert frame["weight"].tolist() == slow_weights(range(50), 3, 0, 1)


# Properties


def test_columns():
    frame = generate.rmat(6, weights=(0, 1), device="cpu")
    assert isinstance(frame, pandas.DataFrame)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "source": "int32",
        "destination": "int32",
        "weight": "float64",
    }
    assert list(generate.rmat(0, device="cpu").columns) == ["source", "destination"]
    assert len(generate.rmat(0, device="cpu")) == 0
    assert len(generate.uniform(5, 0, weights=(0, 1), device="cpu")) == 0


def test_rmat_chooses_each_half_with_its_probability():
    """At every level the upper half has a + b of the edges and the left half a + c."""
    frame = generate.rmat(12, a=0.5, b=0.3, c=0.1, clean=False, permute=False, device="cpu")
    five_sigma = 5 * math.sqrt(0.25 / len(frame))
    for level in range(12):
        down, right = (frame[name].to_numpy() >> level & 1 for name in ("source", "destination"))
        assert 1 - down.mean() == pytest.approx(0.5 + 0.3, abs=five_sigma)
        assert 1 - right.mean() == pytest.approx(0.5 + 0.1, abs=five_sigma)
        assert (down & right).mean() == pytest.approx(0.1, abs=five_sigma)


def test_rmat_degrees_are_skewed_and_uniform_ones_are_not():
    # The busiest row of R-MAT expects (a + b)^scale of the edges, here 1,660 of 16 a vertex.
    skewed = generate.rmat(14, clean=False, device="cpu")["source"].value_counts()
    assert skewed.max() == pytest.approx(16 * 2**14 * 0.76**14, rel=0.1)
    even = generate.uniform(2**14, 16 * 2**14, device="cpu")["source"].value_counts()
    assert even.max() < 16 + 8 * math.sqrt(16)


def test_rmat_is_clean_and_sorted():
    frame = generate.rmat(10, 64, device="cpu")
    edges = pairs(frame)
    assert edges == sorted(set(edges))
    assert (frame["source"] != frame["destination"]).all()
    assert 0 < len(edges) < 64 * 2**10


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 9), (7, 4), (50, 50), (64, 33)])
def test_whole_grid_has_every_edge_both_ways(width, height):
    frame = generate.grid(width, height, device="cpu")
    edges = set(pairs(frame))
    assert len(frame) == len(edges) == 2 * (width * (height - 1) + height * (width - 1))
    assert {(destination, source) for source, destination in edges} == edges


def test_grid_keeps_the_share_asked_for_and_weighs_both_ways_the_same():
    frame = generate.grid(300, keep=0.72, weights=(1, 10), device="cpu")
    most = 2 * 2 * 300 * 299
    five_sigma = 5 * math.sqrt(2 * most * 0.72 * 0.28)
    assert len(frame) == pytest.approx(0.72 * most, abs=five_sigma)
    there_and_back = frame.merge(
        frame, left_on=["source", "destination"], right_on=["destination", "source"]
    )
    assert len(there_and_back) == len(frame)
    assert (there_and_back["weight_x"] == there_and_back["weight_y"]).all()


@pytest.mark.parametrize(
    ("vertices", "max_clique", "inter_clique"),
    [(1_024, 7, 0.5), (65_536, 7, 0.5), (32_768, 13, 0.5), (32_768, 43, 0.2), (32_768, 148, 0.5)],
)
def test_ssca2_has_the_degree_that_its_parameters_say(vertices, max_clique, inter_clique):
    options = {"max_clique": max_clique, "inter_clique": inter_clique}
    frame = generate.ssca2(vertices, device="cpu", **options)
    degree = 2 / 3 * (max_clique - 1) + 4 * inter_clique
    # Of n uniform sizes, sum of squares by sum has a relative deviation of sqrt(2 / 15 / n).
    deviation = math.sqrt(2 / 15 / (2 * vertices / (max_clique + 1)))
    assert len(frame) / vertices == pytest.approx(degree, rel=0.02 + 5 * deviation)


def test_ssca2_has_whole_cliques_and_every_edge_both_ways_once():
    vertices, max_clique = 20_000, 9
    frame = generate.ssca2(vertices, max_clique=max_clique, permute=False, seed=3, device="cpu")
    edges = pairs(frame)
    assert edges == sorted(set(edges))
    assert {edge[::-1] for edge in edges} == set(edges)
    assert all(source != destination for source, destination in edges)
    cliques = slow_cliques(vertices, max_clique, 3)
    sizes = np.array([len(clique) for clique in cliques])
    # Uniform sizes: each is there as often as the others, up to five standard deviations.
    most = 5 * math.sqrt(len(cliques) / max_clique)
    assert np.bincount(sizes)[1:] == pytest.approx(len(cliques) / max_clique, abs=most)
    clique_of = np.repeat(np.arange(len(cliques)), sizes)
    apart = clique_of[frame["destination"]] - clique_of[frame["source"]]
    assert (apart == 0).sum() == (sizes * (sizes - 1)).sum()
    within = {pair for clique in cliques for pair in itertools.permutations(clique, 2)}
    assert within <= set(edges)
    # Half as many for twice the distance, each counted from both ends.
    distances, counts = np.unique(abs(apart[apart != 0]), return_counts=True)
    assert distances.tolist() == [2**level for level in range(len(distances))]
    for level, count in enumerate(counts[:5] / 2):
        assert count == pytest.approx(vertices * 0.5 / 2**level, rel=0.1)


def test_ssca2_of_more_vertices_has_the_same_cliques_and_edges():
    few, many = (
        set(pairs(generate.ssca2(vertices, seed=8, permute=False, device="cpu")))
        for vertices in (500, 5_000)
    )
    uncut = slow_cliques(500, 7, 8)[-1].start  # the last clique may be cut
    assert uncut > 480
    kept = {edge for edge in few if max(edge) < uncut}
    assert kept == {edge for edge in many if max(edge) < uncut}
    assert len(kept) > 2_000


@pytest.mark.parametrize("call", ["grid", "ssca2"])
def test_threads_do_not_matter(call):
    """There are more than device.MIN_PARALLEL_SIZE work items, so several threads run."""
    sizes = {"grid": (300, 300), "ssca2": (90_000,)}[call]
    frame = getattr(generate, call)(*sizes, device="cpu")
    most = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        pandas.testing.assert_frame_equal(getattr(generate, call)(*sizes, device="cpu"), frame)
    finally:
        numba.set_num_threads(most)


@pytest.mark.parametrize("vertices", [1, 2, 3, 1000, 1024, 1025])
def test_permutation_is_a_bijection(vertices):
    names = generate.arrays._vertex_ids(np, vertices, 11, True)
    assert names.dtype == np.int32
    assert names.tolist() == slow_names(vertices, 11)
    assert sorted(names.tolist()) == list(range(vertices))
    if vertices >= 1000:
        assert (names == np.arange(vertices)).sum() < 10


CALLS = {
    "rmat": lambda **options: generate.rmat(9, **options),
    "rmat as drawn": lambda **options: generate.rmat(9, clean=False, permute=False, **options),
    "grid": lambda **options: generate.grid(40, 30, keep=0.7, **options),
    "ssca2": lambda **options: generate.ssca2(1234, **options),
    "uniform": lambda **options: generate.uniform(777, 4000, **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_seed_decides(call):
    options = {"weights": (0.1, 0.7), "device": "cpu"}
    frame = call(seed=5, **options)
    pandas.testing.assert_frame_equal(frame, call(seed=5, **options))
    pandas.testing.assert_frame_equal(frame[["source", "destination"]], call(seed=5, device="cpu"))
    assert not frame.equals(call(seed=6, **options))
    assert not frame["weight"].head(100).equals(call(seed=6, **options)["weight"].head(100))


def test_weights_stay_below_their_upper_bound():
    low, high = 1.0, 1.0 + 2 * math.ulp(1.0)  # where low + (high - low) u rounds to high
    weights = generate.uniform(9, 1000, weights=(low, high), device="cpu")["weight"]
    assert set(weights) == {low, math.nextafter(high, low)}
    weights = generate.uniform(9, 10**5, weights=(-5, 15), device="cpu")["weight"]
    assert weights.min() >= -5 and weights.max() < 15
    assert weights.mean() == pytest.approx(5, abs=5 * 20 / math.sqrt(12 * 10**5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate.rmat(31), "scale is 31; it must be an integer from 0 to 30"),
        (lambda: generate.rmat(-1), "scale is -1"),
        (lambda: generate.rmat(4.0), r"scale is 4\.0"),
        (lambda: generate.rmat(4, 0), "edge_factor is 0; it must be an integer >= 1"),
        (lambda: generate.rmat(4, a=1.5), "a is 1.5; it must be a probability from 0 to 1"),
        (lambda: generate.rmat(4, c=math.nan), "c is nan"),
        (lambda: generate.rmat(4, b="0.1"), "b is '0.1'"),
        (lambda: generate.rmat(4, b=0.5), r"a \+ b \+ c is 0.57 \+ 0.5 \+ 0.19; .* at most 1"),
        (lambda: generate.rmat(4, seed=-1), "seed is -1; .* from 0 to 18446744073709551615"),
        (lambda: generate.grid(0), "width is 0; it must be an integer >= 1"),
        (lambda: generate.grid(3, 0), "height is 0"),
        (
            lambda: generate.grid(2**16),
            "width 65536 and height 65536 make 4294967296 .* maximum is 2147483647",
        ),
        (lambda: generate.grid(3, keep=-0.1), "keep is -0.1"),
        (lambda: generate.ssca2(0), "vertices is 0; .* from 1 to 2147483647"),
        (lambda: generate.ssca2(2**31), "vertices is 2147483648"),
        (lambda: generate.ssca2(9, max_clique=0), "max_clique is 0; .* from 1 to 2147483647"),
        (lambda: generate.ssca2(9, max_clique=2.5), r"max_clique is 2\.5"),
        (lambda: generate.ssca2(9, inter_clique=1.1), "inter_clique is 1.1; .* from 0 to 1"),
        (lambda: generate.ssca2(9, seed=2**64), "seed is 18446744073709551616"),
        (lambda: generate.ssca2(9, weights=(2, 1)), r"weights is \(2, 1\)"),
        (lambda: generate.uniform(0, 1), "vertices is 0; .* from 1 to 2147483647"),
        (lambda: generate.uniform(1, -1), "edges is -1"),
        (lambda: generate.grid(3, weights=(1, 1)), r"weights is \(1, 1\); .* low < high"),
        (lambda: generate.grid(3, weights=5), "weights is 5"),
        (lambda: generate.grid(3, weights=(0, math.inf)), "weights is"),
        (lambda: generate.grid(3, weights=("a", "b")), "weights is"),
        (lambda: generate.grid(3, device="tpu"), "device is 'tpu'"),
    ],
)
def test_errors_name_parameter_value_and_what_works(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_errors_are_of_the_package():
    with pytest.raises(GraphError):
        generate.rmat(31)
    with pytest.raises(InsufficientMemoryError, match="rmat needs about 19599"):
        generate.rmat(30, 2**30, device="cpu")
    with pytest.raises(InsufficientMemoryError, match="ssca2 needs about"):
        generate.ssca2(10**7, max_clique=10**7, device="cpu")
    if device.gpu_problem():
        with pytest.raises(GpuUnavailableError):
            generate.rmat(4, device="gpu")


def test_docstring_examples():
    failed, tried = doctest.testmod(generate, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert (failed, tried > 0) == (0, True)


@pytest.mark.gpu
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gpu_makes_the_same_rows(call):
    options = {"seed": 2**63 + 5, "weights": (0.1, 0.7)}
    there = call(device="gpu", **options)
    assert type(there).__module__.startswith("cudf")
    pandas.testing.assert_frame_equal(there.to_pandas(), call(device="cpu", **options))


@pytest.mark.sanitizer
@pytest.mark.gpu
@pytest.mark.parametrize(
    ("make_arrays", "arguments"),
    [
        (generate.rmat_arrays, (0,)),
        (generate.rmat_arrays, (18,)),
        (generate.grid_arrays, (1,)),
        (generate.grid_arrays, (700, 300, 0.72, 1, (1, 7.7))),
        (generate.ssca2_arrays, (1,)),
        (generate.ssca2_arrays, (3, 1, 1.0)),
        (generate.ssca2_arrays, (32_768, 148)),
        (generate.ssca2_arrays, (500_000, 7, 0.5, 2, (1, 7.7))),
        (generate.ssca2_arrays, (100_000, 1, 0.9, 2**64 - 1, None, False)),
        (generate.uniform_arrays, (2**31 - 1, 10**6, 4, (-3.3, 1e3))),
        (generate.uniform_arrays, (5, 0, 4, (0, 1))),
    ],
)
def test_gpu_makes_the_same_arrays_without_a_frame_library(make_arrays, arguments):
    there = make_arrays(device.import_cupy(), *arguments)
    for array, expected in zip(there, make_arrays(np, *arguments), strict=True):
        assert (array is None) == (expected is None)
        if array is not None:
            assert array.dtype == expected.dtype
            assert array.get().tobytes() == expected.tobytes()
