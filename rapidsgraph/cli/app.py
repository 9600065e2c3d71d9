"""What all commands share: how they end, the options they have in common, how results are shown."""

import contextlib
import errno
import functools
import re
import sys
from enum import StrEnum
from typing import Annotated

import typer

from ..atomic import is_no_space
from ..errors import GraphError

Device = StrEnum("Device", "auto cpu gpu")
DeviceOption = Annotated[Device, typer.Option(help="Where to run; auto: a GPU where one works.")]

app = typer.Typer(
    help="Graph analytics on dataframes, on a CPU or a GPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(group):
    """Make a function a command of `group` that ends in one line when something goes wrong."""

    def decorate(function):
        @group.command()
        @functools.wraps(function)
        def safely(**given):
            try:
                function(**given)
                sys.stdout.flush()  # here, where a closed pipe can still be dealt with
            except GraphError as error:
                fail(error)
            except MemoryError:
                fail("out of memory; use a machine with more, or fewer edges")
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # Typer ends quietly
                is_stdout = error.filename is None and is_no_space(error)
                fail(f"standard output could not be written ({error})" if is_stdout else error)

        return function

    return decorate


def show_warning(message, *_location, **_file):
    """Print a warning as one line on standard error; replaces `warnings.showwarning`."""
    typer.secho("warning: ", fg="yellow", nl=False, err=True)
    typer.echo(as_options(" ".join(str(message).split())), err=True)


def fail(reason, code=1):
    """End with one line on standard error."""
    with contextlib.suppress(OSError):  # the exit code tells, too
        typer.secho("error: ", fg="red", nl=False, err=True)
        typer.echo(as_options(" ".join(str(reason).split())), err=True)
    raise typer.Exit(code)


def as_options(text):
    """A message of the library in the words of the command: its parameters are options here."""
    text = re.sub(r"\b(source|destination|weight|tolerance|dangling)=", r"--\1 ", text)
    text = re.sub(r"^source(?= is\b|:| holds\b)|^root(?= is\b|:| names\b| holds\b)", "--from", text)
    text = text.replace("leave the source out", "leave --from out")
    text = re.sub(r"^(?=(cutoff|depth_limit|method) is\b)", "--", text).replace(
        "--depth_", "--depth-"
    )
    text = re.sub(r"(^|\bby )memory_limit\b", r"\1--memory-limit", text)
    return text.replace("max_iterations", "--max-iterations")


def print_highest(frame, column, count):
    """The `count` rows with most in `column`, beside their places."""
    rows = frame.nlargest(count, column)
    print_rows([("rank", range(1, len(rows) + 1)), *columns_of(rows)], ("rank", column))


def columns_of(frame):
    """(name, values) of each column of a pandas or cuDF frame; what is missing is empty."""
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    for name in frame.columns:
        values, there = frame[name], frame[name].notna()
        yield name, (values if there.all() else values.astype(object).where(there, "")).to_numpy()


def print_rows(columns, numbers):
    """Rows of (name, values) columns: a table on a terminal, else tabs and all digits.

    `numbers` are the names of columns that a table aligns to the right.
    """
    names, values = zip(*columns)
    if not sys.stdout.isatty():
        for row in zip(*values):
            typer.echo("\t".join(map(str, row)))
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text  # a name may look like Rich's markup

    right, left = {"justify": "right"}, {"overflow": "fold"}
    table = Table(*(Column(Text(name), **(right if name in numbers else left)) for name in names))
    for row in zip(*values):
        table.add_row(*(Text(f"{v:.6g}" if _is_float(v) else str(v)) for v in row))
    Console().print(table)


def _is_float(value):
    return getattr(getattr(value, "dtype", None), "kind", "") == "f" or isinstance(value, float)
