"""Tasks of SPMD calls: what a rank changes in its process."""

import asyncio
import sys
import types

import pytest

from rapidsgraph.distributed.spmd_worker import (
    SWITCH_INTERVAL,
    shorten_switch_interval,
    throttle_event_loop,
)


@pytest.mark.parametrize("interval", [0.005, SWITCH_INTERVAL / 2])
def test_ranks_restore_the_switch_interval(interval):
    original = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        first, second = shorten_switch_interval(), shorten_switch_interval()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # ranks of a process end in any order
        assert sys.getswitchinterval() == pytest.approx(min(interval, SWITCH_INTERVAL))
        second.__exit__(None, None, None)
        assert sys.getswitchinterval() == pytest.approx(interval)
    finally:
        sys.setswitchinterval(original)


@pytest.mark.parametrize(("protocol", "is_throttled"), [("ucx", True), ("tcp", False)])
def test_an_event_loop_that_polls_sleeps_while_a_rank_runs(protocol, is_throttled):
    async def run_rank():
        tasks = []

        def add_callback(function):
            tasks.append(asyncio.ensure_future(function()))

        loop = types.SimpleNamespace(add_callback=add_callback)
        worker = types.SimpleNamespace(address=f"{protocol}://127.0.0.1:1", loop=loop)
        with throttle_event_loop(worker):
            await asyncio.sleep(0.01)
            assert [task.done() for task in tasks] == [False] * is_throttled
        await asyncio.wait_for(asyncio.gather(*tasks), 1)

    asyncio.run(run_rank())
