"""The trace of memory in processes with several threads."""

import threading
import time
import tracemalloc

import numpy as np
import traced_memory
from traced_memory import trace_memory


def test_peak():
    held = np.zeros(1_000_000, np.uint8)
    with trace_memory() as get_peak:
        np.zeros(3_000_000, np.uint8)
        assert 3e6 <= get_peak() < 3.1e6
    with trace_memory() as get_peak:
        assert get_peak() < 1e5
    assert held.size and not tracemalloc.is_tracing()


def test_tracing_stops_after_other_threads():
    thread = threading.Thread(target=time.sleep, args=[0.2])
    with trace_memory():
        thread.start()
    assert not thread.is_alive() and not tracemalloc.is_tracing()


def test_tracing_continues_while_other_threads_run(monkeypatch):
    monkeypatch.setattr(traced_memory, "IDLE_TIMEOUT", 0.1)
    is_over = threading.Event()
    thread = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(is_over.is_set, True)])
    thread.start()
    block = None
    try:
        with trace_memory():
            block = np.zeros(3_000_000, np.uint8)
        assert tracemalloc.is_tracing()
    finally:
        is_over.set()
        thread.join()
    with trace_memory() as get_peak:
        assert get_peak() < 1e5
    assert block.size and not tracemalloc.is_tracing()
