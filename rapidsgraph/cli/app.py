"""The application, and the errors, exit codes and tables of all commands."""

from __future__ import annotations

import errno
import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from ..atomic import is_no_space
from ..device import Device, check_num_threads
from ..errors import ConvergenceError, GraphError, MissingColumnError, format_value
from ..frames import Frame
from ..io.formats import FORMAT_HINT
from ..validation import FILE_WEIGHT_HINT, FRAME_WEIGHT_HINT
from .messages import (
    DEFAULT_LOG_LEVEL,
    EXECUTION,
    LogLevel,
    LogLevelOption,
    QuietOption,
    WorkflowGroup,
    apply_message_options,
    fail,
    format_examples,
    panel_of,
)

DeviceOption = Annotated[
    Device,
    typer.Option(help="Device to run on; auto: a GPU if one works.", rich_help_panel=EXECUTION),
]

COLUMN_PARAMETERS = "source", "destination", "weight"  # options have the same names
FILE_PARAMETERS = {  # of commands, which name a file
    "edges": "EDGES",
    "output": "--output",
    "vertices": "--vertices",
    "roots_file": "--from-file",
    "personalization": "--personalization",
    "dangling": "--dangling",
    "start": "--start",
    "pairs": "--pairs",
}
OPTIONS = {  # option of the commands by parameter of the library
    "source": "--from",
    "root": "--from",
    "target": "--to",
    "cutoff": "--cutoff",
    "depth_limit": "--depth-limit",
    "memory_limit": "--memory-limit",
    "method": "--method",
    "damping": "--damping",
    "tolerance": "--tolerance",
    "max_iterations": "--max-iterations",
    "pairs": "--pairs",
}

app = typer.Typer(
    cls=WorkflowGroup,
    help="Graph analytics on dataframes, on a CPU or a GPU.",
    epilog=format_examples(
        "demo --output debian.parquet", "pagerank debian.parquet --top 5", "pagerank --help"
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(
    group: typer.Typer, *, examples: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a command to `group`; it reports an error in one line.

    The command has the options --quiet and --log-level. `examples` are command lines for --help,
    without the name of the program.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.replace("_", "-")

        @group.command(
            name,
            epilog=format_examples(*examples) if examples else None,
            help=_join_lines(function.__doc__),
            rich_help_panel=panel_of(name) if group is app else None,
        )
        @_with_message_options
        @functools.wraps(function)
        def run(**arguments: Any) -> None:
            for parameter, text in FILE_PARAMETERS.items():
                if arguments.get(parameter) == "":
                    fail(f"{text} is empty; name a file")
            try:
                if name != "doctor":  # which reports it
                    check_num_threads()
                function(**arguments)
                sys.stdout.flush()  # here, where a closed pipe can still be handled
            except GraphError as error:
                fail(describe_error(error))
            except MemoryError:
                fail("out of memory; use a machine with more memory, or a smaller graph")
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # Typer exits without a message
                is_stdout = error.filename is None and is_no_space(error)
                fail(f"standard output could not be written ({error})" if is_stdout else error)

        return function

    return decorate


def _join_lines(doc: str | None) -> str:
    """Return the text of a docstring with one line per paragraph, which Typer wraps."""
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in inspect.cleandoc(doc or "").split("\n\n")
    )


def _with_message_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options --quiet and --log-level, which Typer reads from the signature."""
    signature = inspect.signature(function, eval_str=True)

    @functools.wraps(function)
    def run(*, quiet: bool, log_level: LogLevel, **arguments: Any) -> None:
        if quiet and arguments.get("progress"):
            raise typer.BadParameter("leave out this or --progress", param_hint="--quiet")
        if quiet and "progress" in arguments:
            arguments["progress"] = False
        with apply_message_options(quiet, log_level):
            function(**arguments)

    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, default, option in (
            ("quiet", False, QuietOption), ("log_level", DEFAULT_LOG_LEVEL, LogLevelOption),
        )
    ]  # fmt: skip
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *options]
    )
    return run


def describe_error(error: GraphError) -> str:
    """Return the message of an error, with options of the command in place of parameters."""
    if isinstance(error, ConvergenceError):
        return error.describe("--max-iterations", "--tolerance", "--tolerance 0")
    if isinstance(error, MissingColumnError) and error.parameter in COLUMN_PARAMETERS:
        prefix = "" if error.path is None else f"{error.path}: "
        missing = f"is no column {format_value(error.column)}"
        hint = f"name the column to use with --{error.parameter}"
        if error.candidates:
            names = " and ".join(map(repr, error.candidates.values()))
            options = [f"--{name} {shlex.quote(value)}" for name, value in error.candidates.items()]
            hint = f"did you mean {names}? Use {' '.join(options)}"
            if len(options) > 1:
                missing = f"are no columns {' and '.join(map(repr, error.candidates))}"
        return f"{prefix}there {missing}; the columns are {', '.join(error.columns)}; {hint}"
    if error.hint in (FRAME_WEIGHT_HINT, FILE_WEIGHT_HINT):
        error = error.with_fields(hint="--unweighted ignores the column")
    if error.hint == FORMAT_HINT:
        # `open_edges` names --format; other tables have no option for theirs.
        error = error.with_fields(hint="write it to a file with an ending, such as .csv")
    option = OPTIONS.get(error.parameter or "")
    return str(error if option is None else error.with_fields(parameter=option))


def print_highest(frame: Frame, column: str, count: int) -> None:
    """Print the `count` rows with the largest values of `column`, and their ranks."""
    rows = frame.nlargest(count, column)
    print_rows([("rank", range(1, len(rows) + 1)), *columns_of(rows)], ("rank", column))


def columns_of(frame: Frame) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, values) for each column of a pandas or cuDF frame; missing values are empty."""
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    for name in frame.columns:
        values, is_valid = frame[name], frame[name].notna()
        if not is_valid.all():
            values = values.astype(object).where(is_valid, "")
        yield name, values.to_numpy()


def print_rows(columns: Iterable[tuple[str, Iterable]], numbers: Collection[str]) -> None:
    """Print columns as a table on a terminal, otherwise as tab-separated lines with all digits.

    Parameters
    ----------
    columns : iterable of (str, values)
    numbers : collection of str
        Names of the columns that a table aligns to the right.
    """
    names, values = zip(*columns)
    if not sys.stdout.isatty():
        for row in zip(*values):
            typer.echo("\t".join(map(str, row)))
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text  # a name may look like Rich's markup

    table = Table(
        *(
            Column(Text(name), justify="right")
            if name in numbers
            else Column(Text(name), overflow="fold")
            for name in names
        )
    )
    for row in zip(*values):
        table.add_row(*(Text(f"{v:.6g}" if _is_float(v) else str(v)) for v in row))
    Console().print(table)


def _is_float(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "f" or isinstance(value, float)
