"""What all commands share: how they end, the options they have in common, how results are shown."""

import errno
import functools
import re
import sys
from enum import StrEnum
from typing import Annotated

import typer

from ..errors import GraphError

Device = StrEnum("Device", "auto cpu gpu")
DeviceOption = Annotated[Device, typer.Option(help="Where to run; auto: a GPU where one works.")]
ColumnOption = Annotated[str | None, typer.Option(metavar="COLUMN")]

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
            except KeyboardInterrupt:
                fail("interrupted; no half-written file is left", 130)
            except GraphError as error:
                fail(error)
            except MemoryError:
                fail("out of memory; use a machine with more, or fewer edges")
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # Typer ends quietly
                fail(error)

        return function

    return decorate


def fail(reason, code=1):
    """End with one line on standard error."""
    typer.secho("error: ", fg="red", nl=False, err=True)
    typer.echo(as_options(" ".join(str(reason).split())), err=True)
    raise typer.Exit(code)


def as_options(text):
    """A message of the library in the words of the command: its parameters are options here."""
    text = re.sub(r"\b(source|destination|weight|tolerance|dangling)=", r"--\1 ", text)
    return text.replace("max_iterations", "--max-iterations")


def print_highest(frame, column, count):
    """The `count` rows with most in `column`: a table on a terminal, else tabs and all digits."""
    rows = frame.nlargest(count, column)
    rows = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    names = [name for name in rows.columns if name != column]
    rows = enumerate(zip(*(rows[name].to_numpy() for name in (*names, column))), 1)
    if not sys.stdout.isatty():
        for place, row in rows:
            typer.echo("\t".join(map(str, (place, *row))))
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text  # a name may look like Rich's markup

    places, values = Column("rank", justify="right"), Column(column, justify="right")
    table = Table(places, *(Column(Text(name), overflow="fold") for name in names), values)
    for place, (*vertex, value) in rows:
        table.add_row(str(place), *(Text(str(name)) for name in vertex), f"{value:.6g}")
    Console().print(table)
