"""Progress: for whoever asks, on a terminal when it takes long, never in a pipe."""

import contextlib
import io
import sys
import types

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


class Notebook:
    """What IPython displays, and then updates."""

    def __init__(self, monkeypatch):
        self.bundles = []
        module = types.ModuleType("IPython.display")
        module.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        monkeypatch.setattr("rich.console._is_jupyter", lambda: True)

    def display(self, bundle, *, raw, display_id):
        assert raw and display_id
        self.bundles.append(bundle)
        return self

    def update(self, bundle, *, raw):
        self.display(bundle, raw=raw, display_id=True)


def test_a_notebook_shows_a_bar_without_ipywidgets(monkeypatch, recwarn):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(progress, "NOTEBOOK_SECONDS", 0)
    assert shown(True, io.StringIO()) == ""
    first, *_, last, end = notebook.bundles
    assert first["text/plain"] == "Counting 0/3  0:00:00"
    assert last["text/plain"] == "Counting 3/3 at 3 0:00:00"
    assert '<progress value="3" max="3"></progress>' in last["text/html"]
    assert end == {"text/plain": "", "text/html": ""}
    assert not recwarn.list


def test_a_notebook_shows_few_updates_and_escapes_texts(monkeypatch):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(progress, "NOTEBOOK_SECONDS", 1000)
    with reporter(True, "a<b", None) as report:
        for done in range(1000):
            report(done, "<i>")
    assert len(notebook.bundles) == 3
    assert "a&lt;b <progress></progress> 0 &lt;i&gt;" in notebook.bundles[1]["text/html"]


def test_a_notebook_shows_no_bar_by_default(monkeypatch):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", -1.0)
    assert shown(None, io.StringIO()) == ""
    assert not notebook.bundles
