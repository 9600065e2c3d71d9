"""What the commands that read a graph share: their options, and the way there and back."""

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import GraphError

MultiEdges = StrEnum("MultiEdges", "first sum min max keep")
SelfLoops = StrEnum("SelfLoops", "keep drop")

EdgesArgument = Annotated[
    Path, typer.Argument(metavar="EDGES", help="CSV, TSV, SNAP, Parquet, Arrow, .mtx")
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Where edges begin; again for names of several."),
]
DestinationOption = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Where they end; likewise.")
]
UndirectedOption = Annotated[bool, typer.Option("--undirected", help="Edges go both ways.")]
MultiEdgesOption = Annotated[MultiEdges, typer.Option(help="What to make of repeated edges.")]


def output_option(what):
    return Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"Write all {what} here."),
    ]


def top_option(text):
    return Annotated[int | None, typer.Option(min=1, help=text)]


def verify_option(what):
    return Annotated[bool, typer.Option("--verify", help=f"Check the {what}.")]


def plot_option(what):
    return Annotated[
        Path | None, typer.Option(metavar="PICTURE", help=f"Draw how the {what} are spread.")
    ]


class Job:
    """The way of a command from a file of edges to what it writes, prints and draws.

    Parameters
    ----------
    what : str
        What the result holds.
    output, top, verify, plot
        As the options say.
    has_nulls : bool
        Whether some rows of the result lack a value.

    Raises
    ------
    GraphError
        The result could not be written or drawn there. The long work comes after this.
    """

    def __init__(self, what, output, top, verify, plot, *, has_nulls=False):
        from .. import files

        kind = output and files.check_writable(output)
        if kind == "mtx":
            raise GraphError(f"{output}: Matrix Market holds edges, not {what}; {_TRY}")
        if kind == "text" and has_nulls:
            raise GraphError(f"{output}: SNAP text has no way to leave a value out; {_TRY}")
        if plot:
            from .. import plot as pictures

            pictures.check(plot)
        self.output, self.top, self.verify, self.plot = output, top, verify, plot
        self.talks = verify or sys.stderr.isatty()
        self._parts, self._last = [], time.perf_counter()

    def read(self, edges, source, destination, weight=None, *, device, **policies):
        """The Graph that a file of edges holds."""
        from .. import Graph, files

        source, destination = _one_or_several(source), _one_or_several(destination)
        frame = files.read_edges(
            edges, source=source, destination=destination, weight=weight, device=device
        )
        self._note("read")
        is_plain = not isinstance(source, list) and not isinstance(destination, list)
        graph = Graph(
            frame,
            *(("source", "destination") if is_plain else (source, destination)),
            weight=weight and ("weight" if is_plain else weight),
            **policies,
        )
        self._note("built")
        return graph

    def tell(self, graph, part):
        """End a part of the work and say how long each took."""
        self._note(part)
        self.say(
            f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges on the "
            f"{graph.device.upper()}: {', '.join(self._parts)}"
        )

    def say(self, text):
        """A line on standard error: where that is a terminal, or something is verified."""
        if self.talks:
            typer.echo(text, err=True)

    def deliver(self, result, show):
        """Write the result, `show(top)` what is asked for, draw it."""
        if self.output:
            from .. import files

            files.write_frame(result, self.output)
        if self.top or not self.output:
            show(self.top)
        if self.plot:
            from .. import plot as pictures

            pictures.distribution(result, self.plot)

    def _note(self, part):
        now = time.perf_counter()
        self._parts.append(f"{part} in {now - self._last:.2f} s")
        self._last = now


_TRY = "try .parquet or .csv"


def vertex_columns(source, destination):
    """The columns that name a vertex in results and in tables of vertices."""
    from ..inputs import labels_of

    if len(source or ()) < 2 and len(destination or ()) < 2:
        return ["vertex"]
    return labels_of(source or ["source"], destination or ["destination"])


def _one_or_several(columns):
    """None, a name, or a list of them, as `read_edges` takes them."""
    return columns[0] if columns and len(columns) == 1 else columns or None
