"""The `rapidsgraph` command: files in, files out.

Results go to standard output or into files, messages to standard error. The exit code is 1 after
an error, which is one line, 2 for wrong usage, 130 after Ctrl-C and 143 after SIGTERM. Modules with
commands import libraries when a command runs, so that `--help` is fast.
"""

import json
import os
import sys
import time
import warnings
from typing import Annotated

import typer

import rapidsgraph as rg

from .. import __version__
from ..signals import ignore_signals
from . import generate, layer, pagerank, scan, traversal  # noqa: F401
from .app import DeviceOption, app, command, print_highest, show_warning

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; `rapidsgraph.__main__` calls it when signals are handled."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the parent process
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
    warnings.showwarning = show_warning
    try:
        app()
    finally:
        ignore_signals()  # the exit code says how the command ended
        _discard_unwritable()


def _discard_unwritable() -> None:
    """Discard output that a full disk cannot take; Python would fail again on it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # handled by Typer
        except OSError:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), stream.fileno())


def _print_version(is_requested: bool) -> None:
    if is_requested:
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
) -> None:
    pass


@command(app)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what this machine offers, what works, and what to install for the rest."""
    from ..doctor import collect, format_report

    report = collect()
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    for label, text in format_report(report):
        typer.echo(f"{label:<14}{text}")
    for sentence in report["advice"]:
        typer.echo(f"\n{sentence}")


@command(app)
def demo(device: DeviceOption = "auto") -> None:
    """Rank the packages of Debian 12 by how much depends on them."""
    typer.echo("Dependencies of Debian 12: an edge leads from a package to one that it depends on.")
    typer.echo("PageRank is high for packages that many others need, directly or indirectly.\n")
    start = time.perf_counter()
    graph = rg.Graph(rg.read_edges(rg.datasets.debian_path(), device=device))
    seconds_build = time.perf_counter() - start
    start = time.perf_counter()
    result = rg.pagerank(graph)
    seconds_pagerank = time.perf_counter() - start
    print_highest(result, "pagerank", 10)
    typer.echo(
        f"\n{graph.num_vertices:,} packages and {graph.num_edges:,} edges on the "
        f"{graph.device.upper()}: read and built in {seconds_build:.2f} s, "
        f"PageRank in {seconds_pagerank:.2f} s"
    )
    if graph.device == "cpu":
        typer.echo("(The first run on a machine takes longer, because it compiles the kernels.)")
    typer.echo("\nThe same in Python:\n")
    typer.echo("    import rapidsgraph as rg")
    argument = "" if device == "auto" else f', device="{device}"'
    typer.echo(f"    edges = rg.read_edges(rg.datasets.debian_path(){argument})")
    typer.echo('    rg.pagerank(edges).nlargest(10, "pagerank")')
