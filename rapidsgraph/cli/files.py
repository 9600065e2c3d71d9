"""Files of commands: paths, folders, globs and URLs; ``-`` is standard input or output."""

from __future__ import annotations

import fnmatch
import io as streams
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, get_args

import typer

from .. import io
from ..errors import GraphError
from ..frames import Frame
from ..io.formats import FORMAT_HINT, FORMATS, TEXT_FORMATS, Format, enclosing_store, split_endings
from ..io.inputs import Input, InputFiles, is_local, open_input
from ..io.remote import display_url, is_url, strip_file_url
from ..validation import check_path
from .messages import GRAPH, OUTPUT

STREAM = "-"
FORMAT_NAMES = ", ".join(get_args(Format))

FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Format of EDGES: {FORMAT_NAMES}; by default from its suffix. Required for -.",
        rich_help_panel=GRAPH,
    ),
]
OutputFormatOption = Annotated[
    Format | None,
    typer.Option(
        "--output-format",
        metavar="FORMAT",
        help="Format of --output; by default from its suffix, or csv for -.",
        rich_help_panel=OUTPUT,
    ),
]


def open_edges(context: typer.Context) -> InputFiles:
    """Return the files of the argument EDGES, which exist until the command ends.

    A URL is downloaded, and standard input is copied, to a temporary folder.
    """
    edges, file_format = context.params["edges"], context.params["format"]
    source: Input = edges
    if edges == STREAM:
        if sys.stdin is None:
            raise GraphError(
                "EDGES is -, and standard input is closed", parameter="EDGES", value=STREAM
            )
        if file_format is None:
            raise GraphError(
                f"EDGES is -; give the format of standard input by --format: {FORMAT_NAMES}",
                parameter="--format",
            )
        source = sys.stdin.buffer
    try:
        return context.with_resource(open_input(source, file_format))
    except GraphError as error:
        if error.hint != FORMAT_HINT:
            raise
        hint = f"give --format csv, or another of {FORMAT_NAMES}"
        raise error.with_fields(hint=hint) from None


class ClosedOutput(streams.RawIOBase):
    """A binary file in place of a closed standard output: to write to it is an error."""

    @staticmethod
    def error() -> GraphError:
        """Return the error."""
        return GraphError("standard output is closed", parameter="--output", value=STREAM)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, _data: Any) -> NoReturn:
        """Raise GraphError."""
        raise self.error()


def closed_output() -> TextIO:
    """Return a text file in place of a closed standard output."""
    raw: Any = ClosedOutput()
    return streams.TextIOWrapper(raw, encoding="utf-8", write_through=True)


def is_file_or_folder(edges: Any) -> bool:
    """Return whether an input is one local file or folder, beside which layers can be stored."""
    return edges != STREAM and is_local(edges)


def check_output(
    output: str | None, content: str, output_format: Format | None, has_nulls: bool = False
) -> None:
    """Raise GraphError if a result cannot be written to a file, or to standard output."""
    if output is None:
        if output_format is not None:
            raise typer.BadParameter("give --output too", param_hint="--output-format")
        return
    if output == STREAM:
        name = output_format or "csv"
        if isinstance(sys.stdout.buffer, ClosedOutput):  # reported before any work
            raise ClosedOutput.error()
        if name not in TEXT_FORMATS and sys.stdout.isatty():
            raise GraphError(
                f"--output is -, and a terminal cannot show {name}; redirect standard output, or "
                "give --output-format csv",
                parameter="--output-format",
            )
    else:
        name = io.check_writable(output, format=output_format)
    hint, display_name = "try .parquet or .csv", display_url(output)
    if name == "mtx" and content != "edges":
        raise GraphError(
            f"{display_name}: Matrix Market files hold edges, not {content}; {hint}",
            path=display_name,
            hint=hint,
        )
    if name == "snap" and has_nulls:
        raise GraphError(
            f"{display_name}: SNAP text cannot hold missing values; {hint}",
            path=display_name,
            hint=hint,
        )


def write_output(frame: Frame, output: str, output_format: Format | None) -> None:
    """Write a frame to a file, a URL, or standard output."""
    if output == STREAM:
        sys.stdout.flush()
        io.write_frame(frame, sys.stdout.buffer, output_format or "csv")
        sys.stdout.buffer.flush()
    else:
        io.write_frame(frame, output, output_format)


def overwrites(output: str, source: str | Path) -> bool:
    """Return whether an output is an input, or would be a file of a folder or glob that is one."""
    output, edges = strip_file_url(output), strip_file_url(str(source))
    if STREAM in (output, edges):
        return False
    if is_url(output) or is_url(edges):
        folder = edges.rstrip("/") + "/"
        return output == edges or output.startswith(folder) or fnmatch.fnmatch(output, edges)
    path, origin = check_path(output), check_path(edges)
    if is_same(path, origin):
        return True
    path, origin = Path(os.path.realpath(path)), Path(os.path.realpath(origin))
    if split_endings(path)[0] not in FORMATS or enclosing_store(path):  # `check_output` refuses it
        return False
    if origin.is_dir():
        return origin in path.parents
    return not origin.exists() and fnmatch.fnmatch(str(path), str(origin))


def is_same(path: Path, other: Path) -> bool:
    """Return whether two paths, of files that may not exist, lead to the same file."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)
