"""Progress of long work: a Rich bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .signals import cleanup_on_signal, show_cursor

ProgressCallback: TypeAlias = Callable[[int, int | None, str], object]
Progress: TypeAlias = bool | ProgressCallback | None
Report: TypeAlias = Callable[[int, str], object]  # called with (done, text)

DELAY = 1.0  # seconds before a bar that was not requested appears


@contextmanager
def reporter(progress: Progress, description: str, total: int | None) -> Iterator[Report]:
    """Yield a function to call with (done, text) after each batch of work.

    Parameters
    ----------
    progress : bool, callable or None
        True shows a bar on standard error from the start. None shows one if standard error is a
        terminal and the work takes longer than a second. A callable is called with
        (done, total, text) instead. False reports nothing.
    description : str
        The text before the bar.
    total : int or None
        The number of batches; None if it is unknown.

    Yields
    ------
    callable
    """
    if callable(progress):
        yield lambda done, text: progress(done, total, text)
        return
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda done, text: None
        return
    start_time = time.monotonic()
    bars: list[Any] = []  # none or one

    def report(done: int, text: str) -> None:
        if not bars and not progress and time.monotonic() - start_time < DELAY:
            return
        if not bars:
            bars.append(_bar())
            bars[0].start()
            bars[0].add_task(description, total=total, text="")
        bars[0].update(bars[0].task_ids[0], completed=done, text=text)

    with cleanup_on_signal(lambda: show_cursor() if bars and not bars[0].disable else None):
        try:
            yield report
        finally:
            for bar in bars:
                bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not (console.is_interactive or console.is_jupyter),  # Rich would end a line there
    )
