"""Texts of commands: --help, and messages on standard error.

Every command has the options --quiet and --log-level. `apply_message_options` applies them while
the command runs.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, get_args

import typer
from typer.core import TyperGroup

# The commands in the order of a workflow, by the panel of --help.
PANELS = {
    "Get started": ("doctor", "demo"),
    "Create a graph": ("generate",),
    "Analyze a graph": (
        "pagerank", "bfs", "sssp", "shortest-path", "components", "core-number",
        "triangles", "clustering", "similarity", "label-propagation", "scan",
    ),
    "Prepare for later runs": ("layer", "warm"),
}  # fmt: skip
# Panels of options that several commands have; those of one command come first.
GRAPH, EXECUTION, OUTPUT, MESSAGES = "Graph", "Execution", "Output", "Messages"

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
DEFAULT_LOG_LEVEL: LogLevel = "warning"
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def flag_option(*names: str, help: str, panel: str | None = None) -> Any:
    """Return a boolean option, which takes no value."""
    return typer.Option(*names, metavar="", help=help, rich_help_panel=panel)


QuietOption = Annotated[
    bool,
    flag_option(
        "--quiet",
        "-q",
        help="Print no messages and no progress, only results and errors.",
        panel=MESSAGES,
    ),
]
LogLevelOption = Annotated[
    LogLevel,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        help=f"Log what the library does, from this level on: {', '.join(get_args(LogLevel))}.",
        rich_help_panel=MESSAGES,
    ),
]

_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


class WorkflowGroup(TyperGroup):
    """List commands in the order of `PANELS`."""

    def list_commands(self, context: Any) -> list[str]:
        """Return the names of the commands."""
        names = super().list_commands(context)
        order = [name for panel in PANELS.values() for name in panel]
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def panel_of(name: str) -> str | None:
    """Return the panel that lists a command."""
    return next((panel for panel, names in PANELS.items() if name in names), None)


def format_examples(*lines: str) -> str:
    """Return command lines, without the name of the program, as the end of a --help text."""
    return "\n\n".join(["Examples:", *(f"$ rapidsgraph {line}" for line in lines)])


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun: 1 partition, 2 partitions."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def is_quiet() -> bool:
    """Return whether the command that runs was given --quiet."""
    return _is_quiet.get()


@contextlib.contextmanager
def apply_message_options(quiet: bool, log_level: LogLevel) -> Iterator[None]:
    """Suppress messages and warnings if `quiet`, and print log records from `log_level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(LOG_FORMAT, "%H:%M:%S"))
    logger = logging.getLogger("rapidsgraph")
    previous_level = logger.level
    logger.addHandler(handler)
    logger.setLevel(log_level.upper())
    token = _is_quiet.set(quiet)
    try:
        with warnings.catch_warnings() if quiet else contextlib.nullcontext():
            if quiet:
                warnings.simplefilter("ignore")
            yield
    finally:
        _is_quiet.reset(token)
        logger.removeHandler(handler)
        logger.setLevel(previous_level)


def note(text: str) -> None:
    """Print a line on standard error, unless --quiet is given."""
    if is_quiet():
        return
    with contextlib.suppress(OSError):  # a full disk that holds a log must not end the work
        typer.echo(text, err=True)


def show_warning(message: Warning | str, *_location: Any, **_file: Any) -> None:
    """Print a warning as one line on standard error; replaces `warnings.showwarning`."""
    typer.secho("warning: ", fg="yellow", nl=False, err=True)
    typer.echo(" ".join(str(message).split()), err=True)


def fail(reason: object, code: int = 1) -> NoReturn:
    """Exit with one line on standard error."""
    with contextlib.suppress(OSError):  # the exit code still reports the failure
        typer.secho("error: ", fg="red", nl=False, err=True)
        typer.echo(" ".join(str(reason).split()), err=True)
    raise typer.Exit(code)
