"""Tasks of SPMD calls: what a rank changes in its process."""

import sys

import pytest

from rapidsgraph.distributed.spmd_worker import SWITCH_INTERVAL, switch_threads_often


@pytest.mark.parametrize("interval", [0.005, SWITCH_INTERVAL / 2])
def test_ranks_restore_the_switch_interval(interval):
    original = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        first, second = switch_threads_often(), switch_threads_often()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # ranks of a process end in any order
        assert sys.getswitchinterval() == pytest.approx(min(interval, SWITCH_INTERVAL))
        second.__exit__(None, None, None)
        assert sys.getswitchinterval() == pytest.approx(interval)
    finally:
        sys.setswitchinterval(original)
