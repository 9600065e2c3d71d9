"""Progress of long work: a bar on a terminal and in a notebook, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import escape
from typing import Any, TypeAlias

from .signals import cleanup_on_signal, show_cursor

ProgressCallback: TypeAlias = Callable[[int, int | None, str], object]
Progress: TypeAlias = bool | ProgressCallback | None
Report: TypeAlias = Callable[[int, str], object]  # called with (done, text)

DELAY = 1.0  # seconds before a bar that was not requested appears
NOTEBOOK_SECONDS = 0.2  # between updates of a bar in a notebook, which each are a message


@contextmanager
def reporter(progress: Progress, description: str, total: int | None) -> Iterator[Report]:
    """Yield a function to call with (done, text) after each batch of work.

    Parameters
    ----------
    progress : bool, callable or None
        True shows a bar on standard error if it is a terminal, or in the notebook, from the start.
        None shows one on a terminal if the work takes longer than a second. A callable is called
        with (done, total, text) instead. False reports nothing.
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
            bars.append(_create_bar(description, total))
        bars[0].update(done, text)

    with cleanup_on_signal(lambda: show_cursor() if bars and bars[0].hides_cursor else None):
        try:
            yield report
        finally:
            for bar in bars:
                bar.stop()


def _create_bar(description: str, total: int | None) -> _TerminalBar | _NotebookBar:
    from rich.console import Console

    console = Console(stderr=True)
    bar = _NotebookBar if console.is_jupyter else _TerminalBar
    return bar(console, description, total)


class _TerminalBar:
    """A bar of Rich, which disappears at the end."""

    def __init__(self, console: Any, description: str, total: int | None) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self.hides_cursor = console.is_interactive
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_interactive,  # Rich would end a line there
        )
        self._bar.start()
        self._task = self._bar.add_task(description, total=total, text="")

    def update(self, done: int, text: str) -> None:
        self._bar.update(self._task, completed=done, text=text)

    def stop(self) -> None:
        self._bar.stop()


class _NotebookBar:
    """A bar of HTML, which disappears at the end.

    That of Rich needs ipywidgets in the notebook and in its front end.
    """

    hides_cursor = False

    def __init__(self, console: Any, description: str, total: int | None) -> None:
        from IPython.display import display

        self._description, self._total = description, total
        self._start_time, self._update_time = time.monotonic(), 0.0
        self._handle: Any = display(self._format(0, ""), raw=True, display_id=True)

    def update(self, done: int, text: str) -> None:
        now = time.monotonic()
        if now - self._update_time >= NOTEBOOK_SECONDS:
            self._update_time = now
            self._handle.update(self._format(done, text), raw=True)

    def stop(self) -> None:
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def _format(self, done: int, text: str) -> dict[str, str]:
        count = f"{done:,}" if self._total is None else f"{done:,}/{self._total:,}"
        seconds = time.monotonic() - self._start_time
        words = f"{count} {text} {timedelta(seconds=int(seconds))}"
        value = "" if self._total is None else f' value="{done}" max="{self._total}"'
        html = (
            f"<div>{escape(self._description)} <progress{value}></progress> {escape(words)}</div>"
        )
        return {"text/plain": f"{self._description} {words}", "text/html": html}
