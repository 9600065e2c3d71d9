"""Progress of long work: a Rich bar on a terminal, nothing in a pipe."""

import sys
import time
from contextlib import contextmanager

from .signals import cleanup_on_signal, show_cursor

PATIENCE = 1.0  # seconds before a bar appears by itself


@contextmanager
def reporter(progress, description, total):
    """A function to call with (done, text) after each batch of work.

    Parameters
    ----------
    progress : bool, callable or None
        True: a bar on standard error, from the start. None: one where that is a terminal and the
        work lasts. A callable gets (done, total, text) instead. False: nothing.
    """
    if callable(progress):
        yield lambda done, text: progress(done, total, text)
        return
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda done, text: None
        return
    began, bars = time.monotonic(), []

    def report(done, text):
        if not bars and not progress and time.monotonic() - began < PATIENCE:
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


def _bar():
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
