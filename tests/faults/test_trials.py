"""The runner of trials itself: each way to end is told from the others."""

import os
import time

import pytest
import trials

import rapidsgraph as rg

pytestmark = pytest.mark.slow


def _trial(kind):
    if kind == "crash":
        os.abort()
    if kind == "hang":
        time.sleep(60)
    if kind == "raise":
        raise KeyError(kind)
    if kind == "refuse":
        raise rg.GraphError(kind)
    return kind


def test_every_outcome_is_classified_and_the_rest_of_a_batch_still_runs():
    kinds = ["right", "crash", "right", "hang", "raise", "refuse", "other", "right"]
    outcomes = trials.run_trials(_trial, kinds, timeout=1.5)
    assert outcomes.counts == {"right": 3, "refused": 1, "crashed": 1, "hung": 1, "wrong": 2}
    assert [argument for argument, _ in outcomes.failures] == ["crash", "hang", "raise", "other"]
