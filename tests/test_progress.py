"""Progress: for whoever asks, on a terminal when it takes long, never in a pipe."""

import contextlib
import io

import pytest

from rapidsgraph import progress
from rapidsgraph.progress import reporter


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def shown(given, stream, work=lambda report: [report(done, f"at {done}") for done in (1, 2, 3)]):
    """What appears on standard error while `work` reports to a reporter of three batches."""
    with contextlib.redirect_stderr(stream), reporter(given, "Counting", 3) as report:
        work(report)
    return stream.getvalue()


def test_a_callable_is_called_after_each_batch():
    calls = []
    assert shown(lambda *call: calls.append(call), Terminal()) == ""
    assert calls == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


def test_true_shows_a_bar_on_a_terminal_at_once():
    text = shown(True, Terminal())
    assert "Counting" in text and "3/3" in text and "at 3" in text
    assert text.endswith("\x1b[2K")  # and erases it at the end


def test_false_shows_nothing():
    assert shown(False, Terminal()) == ""


def test_by_default_a_bar_waits_for_work_that_lasts(monkeypatch):
    assert shown(None, Terminal()) == ""
    now, terminal = [0.0], Terminal()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def work(report):
        report(1, "early")
        assert terminal.getvalue() == ""
        now[0] = progress.DELAY + 0.5
        report(2, "late")

    text = shown(None, terminal, work)
    assert "Counting" in text and "2/3" in text and "late" in text


@pytest.mark.parametrize("given", [None, True])
def test_there_is_no_bar_in_a_pipe(monkeypatch, given):
    monkeypatch.setattr(progress, "DELAY", -1.0)
    assert shown(given, io.StringIO()) == ""


def test_errors_pass_and_leave_no_bar_behind():
    terminal = Terminal()

    def work(report):
        report(1, "")
        raise KeyError

    with pytest.raises(KeyError):
        shown(True, terminal, work)
    assert "Counting" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
