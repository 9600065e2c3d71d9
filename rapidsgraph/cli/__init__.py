"""The `rapidsgraph` command: files in, files out.

Results go to standard output or into files, everything said about them to standard error. A
mistake is one line and exit code 1, wrong usage 2, Ctrl-C 130, SIGTERM 143. Modules with commands
import what they compute with when they run, so that `--help` is quick.
"""

import os
import sys
import warnings
from typing import Annotated

import typer

from .. import __version__
from ..signals import ignore_signals
from . import components, doctor, generate, layer, pagerank, scan, traversal  # noqa: F401
from .app import app, show_warning

__all__ = ["app", "main"]


def _print_version(is_asked):
    if is_asked:
        typer.echo(f"rapidsgraph {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
):
    pass


def main():
    """Run the command; `rapidsgraph.__main__` calls it once signals are handled."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by whoever started this
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
    warnings.showwarning = show_warning
    try:
        app()
    finally:
        ignore_signals()  # the exit code says how the command ended
        _discard_unwritable()


def _discard_unwritable():
    """Drop what a full disk keeps from being written; Python would try again and say so at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # Typer deals with it
        except OSError:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), stream.fileno())
