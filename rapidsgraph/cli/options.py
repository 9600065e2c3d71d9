"""What the commands that read a graph share: their options, and the way there and back."""

import contextlib
import os
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from .. import io
from ..errors import GraphError
from ..validation import vertex_labels

MultiEdges = StrEnum("MultiEdges", "first sum min max keep")
SelfLoops = StrEnum("SelfLoops", "keep drop")

EdgesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="EDGES", show_default=False, help="CSV, TSV, SNAP text, Parquet, Arrow, .mtx"
    ),
]
EdgesOrLayersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="EDGES",
        show_default=False,
        help="CSV, TSV, SNAP text, Parquet, Arrow, .mtx; or the folder of a layered edge list.",
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Where edges begin. Again, if several name a vertex."),
]
DestinationOption = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Where edges end. Likewise.")
]
UndirectedOption = Annotated[bool, typer.Option("--undirected", help="Edges go both ways.")]
MultiEdgesOption = Annotated[
    MultiEdges,
    typer.Option(metavar="POLICY", help=f"Which of repeated edges: {', '.join(MultiEdges)}."),
]

SelfLoopsOption = Annotated[SelfLoops, typer.Option(help="Edges from a vertex to itself.")]
VerticesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Vertices to include even without edges; a table with a column vertex."
    ),
]
ProgressOption = Annotated[
    bool | None, typer.Option(help="A progress bar; by default on a terminal.")
]


def output_option(what: str) -> Any:
    return typer.Option("--output", "-o", metavar="FILE", help=f"Write {what} here.")


def top_option(text: str) -> Any:
    return typer.Option(min=1, metavar="N", help=text)


def verify_option(what: str) -> Any:
    return typer.Option("--verify", help=f"Check the {what}.")


def plot_option(what: str) -> Any:
    return typer.Option(metavar="FILE", help=f"Draw {what}: .png, .svg, .pdf.")


class Job:
    """The way of a command from a file of edges to what it writes, prints and draws.

    Parameters
    ----------
    what : str
        What the result holds.
    output, top, verify, plot
        As the options say.
    inputs : dict from str to path or None
        The files that are read, by the argument or option that names them.
    has_nulls : bool
        Whether some rows of the result lack a value.
    others : dict from str to path or None
        Where further results are to be written, by what they hold; their options are called so.

    Raises
    ------
    GraphError
        The result could not be written or drawn there, or would replace what is read. The long
        work comes after this.
    """

    def __init__(self, what, output, top, verify, plot, inputs, *, has_nulls=False, others=None):
        others = others or {}
        more = {f"--{name}": path for name, path in others.items()}
        written = {"--output": output, **more, "--plot": plot}
        written = {option: path.expanduser() for option, path in written.items() if path}
        for option, path in inputs.items():
            if str(path) == "-":
                raise GraphError(f"{option} is -, but standard input is not read; name a file")
            for writer, to in written.items():
                if path and _is_within(to, path.expanduser()):
                    read = option if to == path.expanduser() else f"{option} ({path})"
                    raise GraphError(
                        f"{to}: {writer} would write over {read}, which is read from there; "
                        "name another file"
                    )
        _check_result(output, what, has_nulls)
        for name, path in others.items():
            _check_result(path, name)
            if path and output and _is_same(path.expanduser(), output.expanduser()):
                raise GraphError(f"{path}: --{name} would write over --output; name another file")
        if plot:
            rg.plot.check(plot)
        self.output, self.top, self.verify, self.plot = output, top, verify, plot
        self.talks = verify or sys.stderr.isatty()
        self._parts, self._last = [], time.perf_counter()

    def read(self, edges, source, destination, weight=None, *, device, vertices=None, **policies):
        """Return the Graph of a file of edges, and of a file of vertices if there is one."""
        source, destination = one_or_several(source), one_or_several(destination)
        frame = io.read_edges(
            edges, source=source, destination=destination, weight=weight, device=device
        )
        self.note("read")
        is_plain = not isinstance(source, list) and not isinstance(destination, list)
        graph = rg.Graph(
            frame,
            "source" if is_plain else source,
            "destination" if is_plain else destination,
            weight=weight and ("weight" if is_plain else weight),
            vertices=_vertices(edges, frame, vertices, (source, destination), device),
            **policies,
        )
        self.note("built")
        return graph

    def tell(self, graph, part=None):
        """End a part of the work, if one is named, and say how long each took."""
        if part:
            self.note(part)
        self.say(
            f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges on the "
            f"{graph.device.upper()}: {', '.join(self._parts)}"
        )

    def say(self, text, always=False):
        """A line on standard error: where that is a terminal, or something is verified."""
        if self.talks or always:
            with contextlib.suppress(OSError):  # a log that cannot be written must not end the work
                typer.echo(text, err=True)

    def deliver(self, result, show, draw):
        """Write the result, `show(top)` what is asked for, `draw(path)` the picture."""
        if self.output:
            io.write_frame(result, self.output)
        if self.top or not self.output:
            show(self.top)
        if self.plot:
            draw(self.plot)

    def note(self, part):
        """End a part of the work."""
        now = time.perf_counter()
        self._parts.append(f"{part} in {now - self._last:.2f} s")
        self._last = now


def _vertices(edges, frame, path, ends, device):
    """What `Graph` takes as vertices: those that EDGES declares, and those of --vertices."""
    declared = io.declared_vertices(edges)
    if path is None:
        return declared
    source, destination = (
        end if isinstance(end, list) else [what]
        for what, end in zip(("source", "destination"), ends, strict=True)
    )
    labels = vertex_columns(source, destination)
    texts = [
        label
        for label, *columns in zip(labels, source, destination, strict=True)
        if len(frame) and not all(frame[column].dtype.kind in "iu" for column in columns)
    ]
    table = io.read_vertices(path, names=labels, device=device, text_columns=texts)
    for label in labels:
        is_text = table[label].dtype.kind not in "iu"
        if len(frame) and len(table) and is_text != (label in texts):
            kinds = ("text", "integers") if is_text else ("integers", "text")
            raise GraphError(
                f"{path}: column {label!r} holds {kinds[0]}, and {edges} names vertices by "
                f"{kinds[1]}"
            )
    if declared is None:
        return table
    values = table[labels[0]].to_numpy()
    return np.concatenate([np.arange(declared.start, declared.stop), values])


_TRY = "try .parquet or .csv"


def _check_result(path, what, has_nulls=False):
    """Raise GraphError if such a result could not be written there."""
    kind = path and io.check_writable(path)
    if kind == "mtx":
        raise GraphError(f"{path}: Matrix Market holds edges, not {what}; {_TRY}")
    if kind == "text" and has_nulls:
        raise GraphError(f"{path}: SNAP text has no way to leave a value out; {_TRY}")


def _is_same(path, other):
    """Whether two paths, of files that need not be there, lead to one place."""
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _is_within(path, read):
    """Whether a file to write is one that is read, or would be one of a folder's."""
    if _is_same(path, read):
        return True
    path, read = Path(os.path.realpath(path)), Path(os.path.realpath(read))
    return read.is_dir() and read in path.parents and path.suffix.lower() in (".parquet", ".pq")


def vertex_columns(source, destination):
    """The columns that name a vertex in results and in tables of vertices."""
    if len(source or ()) < 2 and len(destination or ()) < 2:
        return ["vertex"]
    return vertex_labels(source or ["source"], destination or ["destination"])


def one_or_several(columns):
    """None, a name, or a list of them, as `read_edges` takes them."""
    return columns[0] if columns and len(columns) == 1 else columns or None
