"""Distributed calls of several ranks in this process, without a cluster."""

from contextvars import ContextVar

from rapidsgraph.distributed import executor


def use_local_ranks(monkeypatch, count):
    """Enter `executor.local_ranks` for the rest of a test."""
    variable = ContextVar("num_local_ranks", default=count)
    monkeypatch.setattr(executor, "_num_local_ranks", variable)
