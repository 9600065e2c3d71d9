"""Tests of NetworkX that fail with this backend, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PATHS = "the test demands one of several shortest paths, and the backend may find another"
REASONS = {
    "TestMinimumCycleBasis::test_unweighted_diamond": PATHS,
    "TestMinimumCycleBasis::test_weighted_diamond": PATHS,
    "TestMinimumCycleBasis::test_petersen_graph": PATHS,
    "TestMinimumCycleBasis::test_gh6787_and_edge_attribute_names": PATHS,
}


def on_start_tests(items: Sequence[Any]) -> None:
    """Mark the tests of NetworkX that are expected to fail; NetworkX calls this with all tests."""
    import pytest

    for item in items:
        reason = REASONS.get("::".join(item.nodeid.split("::")[1:]))
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason))
