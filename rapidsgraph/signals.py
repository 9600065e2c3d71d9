"""Termination of the command by a signal: clean up, report the signal in one line, exit.

The handlers do not raise. `KeyboardInterrupt` can surface anywhere, and is lost where a library
swallows it: in callbacks of ctypes, in destructors, in imports. The handlers run the registered
cleanups themselves and end the process. Python calls handlers between two instructions of the main
thread, which may be in a kernel for minutes; a thread then does what the handler would do.

This module imports nothing but the standard library's smallest modules, so that the handlers are
installed before anything that takes time.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SIGNALS = {
    "SIGINT": "interrupted",
    "SIGHUP": "the terminal was closed",
    "SIGTERM": "terminated",  # last: once this handler is installed, all are
}
HANDLER_DELAY = 0.5  # seconds after which the main thread is in a kernel
SHOW_CURSOR = "\x1b[?25h"  # ECMA-48 private mode; progress bars hide the cursor

_cleanups: dict[object, tuple[int, Callable[[], object]]] = {}  # with the registering process


def exit_on_signals() -> None:
    """Exit with 128 plus the number of the signal on SIGINT, SIGHUP and SIGTERM.

    Signals that the parent process ignores, as `nohup` and a shell's background jobs do, stay
    ignored. Call this in the main thread of a process of its own, not in a library.
    """
    process = os.getpid()
    is_ending = _thread.RLock()  # a second signal may call a handler within a handler

    def handle(number: int, frame: object) -> None:
        if os.getpid() != process:  # cleanups belong to the parent of a forked child
            os._exit(128 + number)
        is_ending.acquire()  # forever if the thread ends the process
        for other in SIGNALS:
            signal.signal(getattr(signal, other), signal.SIG_IGN)
        end(number)

    def end(number: int) -> None:
        _kill_children()
        _run_cleanups()
        _print_reason(signal.Signals(number).name)
        os._exit(128 + number)

    def watch(numbers: int) -> None:
        while number := os.read(numbers, 1)[0]:
            if signal.Signals(number).name in SIGNALS:
                time.sleep(HANDLER_DELAY)
                is_ending.acquire()  # forever if the handler ends the process
                end(number)

    numbers, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    _thread.start_new_thread(watch, (numbers,))
    for name in SIGNALS:
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handle)


def ignore_signals() -> None:
    """Ignore the signals once the work is complete and its exit code is known."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


@contextmanager
def cleanup_on_signal(cleanup: Callable[[], object]) -> Iterator[None]:
    """Register a function to be called if a signal ends this process within the block."""
    key = object()
    _cleanups[key] = os.getpid(), cleanup
    try:
        yield
    finally:
        del _cleanups[key]


def _run_cleanups() -> None:
    for process, cleanup in reversed(list(_cleanups.values())):
        if process == os.getpid():
            with suppress(Exception):
                cleanup()


def _kill_children() -> None:
    """Kill the workers of a local cluster, which could still write into what is deleted."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return
    with suppress(Exception):
        for child in multiprocessing.active_children():
            child.kill()
            child.join(1)
    # As multiprocessing does at exit; otherwise its resource tracker reports leaked semaphores.
    # Finalizers of negative priority, such as those of queues that wait for readers, do not run.
    with suppress(Exception):
        multiprocessing.util._run_finalizers(0)


def _print_reason(name: str) -> None:
    with suppress(OSError):
        prefix = "\x1b[31merror: \x1b[0m" if os.isatty(2) else "error: "
        os.write(2, f"{prefix}{SIGNALS[name]}; no half-written file is left\n".encode())


def show_cursor() -> None:
    """Show the cursor of the terminal again, which a progress bar has hidden."""
    with suppress(OSError):
        os.write(2, f"{SHOW_CURSOR}\n".encode())
