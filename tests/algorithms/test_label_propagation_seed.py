"""Label propagation with ties that a seed breaks: one result everywhere."""

import numpy as np
import pytest
from conftest import columns_of, listed, random_edges

import rapidsgraph as rg
from rapidsgraph.algorithms.label_propagation import MAX_LABEL, LabelOrder


def labels_by_hand(edges, num_vertices, iterations, seed):
    """Labels, with counts in dictionaries and ties by `LabelOrder`."""
    neighbors = {vertex: [] for vertex in range(num_vertices)}
    for source, destination, _ in dict.fromkeys(edges):
        neighbors[source].append(destination)
        neighbors[destination].append(source)
    labels = list(range(num_vertices))
    for iteration in range(iterations):
        numbers = LabelOrder(seed, iteration).apply(np.arange(num_vertices)).tolist()
        new = []
        for vertex in range(num_vertices):
            votes = [labels[neighbor] for neighbor in neighbors[vertex]]
            new.append(
                min(votes, key=lambda label: (-votes.count(label), numbers[label]))
                if votes
                else labels[vertex]
            )
        labels = new
    return labels


@pytest.mark.parametrize("seed", [0, 1, 2**62])
@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_agrees_with_counts_in_dictionaries(make_arrays, seed, iterations):
    edges = [(s, d, 1.0) for s, d, _ in random_edges(120, 50, 130)]
    edges = list(dict.fromkeys(edges))
    graph = rg.Graph(make_arrays(columns_of(edges)), vertices=55, weight=None)
    found = rg.label_propagation(graph, iterations=iterations, seed=seed)
    expected = labels_by_hand(edges, 55, iterations, seed)
    assert listed(found)["label"] == expected
    count = rg.verify.label_propagation(graph, found, iterations=iterations, seed=seed)
    assert count == len(set(expected))


def test_frames_give_the_same(make_held_frame):
    frame = make_held_frame(columns_of(random_edges(121, 50, 130)))
    found = rg.label_propagation(frame, seed=5, method="frames")
    assert listed(found) == listed(rg.label_propagation(frame, seed=5))


def test_names_of_text(make_held_frame):
    """Labels are numbered in the order of the names, whatever the order of the rows."""
    edges = columns_of(random_edges(122, 50, 130))
    names = {key: np.array([f"v{v:03}" for v in edges[key]]) for key in ("source", "destination")}
    expected = listed(rg.label_propagation(make_held_frame(edges), seed=5))["label"]
    for order in (slice(None), slice(None, None, -1)):
        frame = make_held_frame({key: values[order] for key, values in names.items()})
        for method in ("auto", "frames"):
            found = listed(rg.label_propagation(frame, seed=5, method=method))
            assert [int(label[1:]) for label in found["label"]] == expected


def test_seeds_break_ties_differently():
    """The leaves of a star take the hub's label; the hub that of any leaf."""
    star = rg.Graph({"source": np.zeros(50, int), "destination": np.arange(1, 51)})
    first = {
        listed(rg.label_propagation(star, iterations=1, seed=seed))["label"][0]
        for seed in range(40)
    }
    assert len(first) > 20


def test_orders_are_bijective(make_arrays):
    xp_labels = make_arrays({"label": np.arange(100_000, dtype=np.int32)})["label"]
    for seed, iteration in ((0, 0), (0, 1), (9, 0)):
        order = LabelOrder(seed, iteration)
        numbers = order.apply(xp_labels)
        assert int(numbers.min()) >= 0
        assert (order.invert(numbers) == xp_labels).all()
    limits = np.array([0, 1, MAX_LABEL - 1, MAX_LABEL], np.int32)
    order = LabelOrder(3, 4)
    assert order.invert(order.apply(limits)).tolist() == limits.tolist()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, 2**63])
def test_no_seed(seed):
    edges = {"source": [0], "destination": [1]}
    with pytest.raises(rg.GraphError, match="seed is .*; it must be None or an integer") as caught:
        rg.label_propagation(edges, seed=seed)
    assert (caught.value.parameter, caught.value.value) == ("seed", seed)
