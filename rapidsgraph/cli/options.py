"""Options that commands share, and the steps from a file of edges to a written result."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from .. import frames, io
from ..device import Device
from ..errors import GraphError, format_bytes
from ..frames import Frame
from ..graph.local_graph import SelfLoops
from ..graph.multi_edges import MULTI_EDGES, MultiEdges
from ..io.formats import Format
from ..io.inputs import InputFiles
from ..io.remote import display_url
from ..validation import vertex_labels
from .files import STREAM, check_output, overwrites, write_output
from .messages import GRAPH, MESSAGES, OUTPUT, flag_option, note, pluralize

CANDIDATES = "rapidsgraph.weight_candidates"  # in the context of a command
INPUTS = (
    "CSV, TSV, SNAP text, JSON Lines, Parquet, Arrow or .mtx: a file, a folder, a glob in quotes, "
    "a URL, or - for standard input"
)
EdgesArgument = Annotated[
    str, typer.Argument(metavar="EDGES", show_default=False, help=f"{INPUTS}.")
]
EdgesOrLayersArgument = Annotated[
    str,
    typer.Argument(
        metavar="EDGES",
        show_default=False,
        help=f"{INPUTS}; or the folder of a layered edge list.",
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of source names, by default source; repeat it for several columns.",
        rich_help_panel=GRAPH,
    ),
]
DestinationOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of destination names, by default destination; repeatable like --source.",
        rich_help_panel=GRAPH,
    ),
]
WeightOption = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Column of edge weights. The default is used if it exists; any other one must exist.",
        rich_help_panel=GRAPH,
    ),
]
UnweightedOption = Annotated[bool, flag_option("--unweighted", help="Ignore weights.", panel=GRAPH)]
UndirectedOption = Annotated[
    bool,
    flag_option("--undirected/--directed", help="Treat edges as undirected.", panel=GRAPH),
]
UselessUndirectedOption = Annotated[
    bool,
    flag_option(
        "--undirected", help="Has no effect: directions are ignored in any case.", panel=GRAPH
    ),
]
MultiEdgesOption = Annotated[
    MultiEdges,
    typer.Option(
        metavar="POLICY",
        help=f"How to merge parallel edges: {', '.join(MULTI_EDGES)}.",
        rich_help_panel=GRAPH,
    ),
]
SelfLoopsOption = Annotated[
    SelfLoops, typer.Option(help="Whether to keep self-loops.", rich_help_panel=GRAPH)
]
VerticesOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Further vertices, such as those without edges: a table with a column vertex; by "
        "default none.",
        rich_help_panel=GRAPH,
    ),
]
ProgressOption = Annotated[
    bool | None,
    flag_option(
        "--progress/--no-progress",
        help="Show a progress bar on a terminal; by default after a second.",
        panel=MESSAGES,
    ),
]


def output_option(content: str) -> Any:
    return typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"Write {content} to FILE, a URL, or - for standard output; by default a summary is "
        "printed.",
        rich_help_panel=OUTPUT,
    )


def top_option(text: str) -> Any:
    return typer.Option(min=1, metavar="N", help=text, rich_help_panel=OUTPUT)


def verify_option(content: str) -> Any:
    return flag_option(
        "--verify", help=f"Check the {content} against their definition.", panel=OUTPUT
    )


def plot_option(content: str) -> Any:
    return typer.Option(
        metavar="FILE",
        help=f"Plot {content} to FILE: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    )


class CommandRun:
    """Read the inputs of a command, time its steps, and write, print and plot its result.

    Parameters
    ----------
    content : str
        What the result holds, for messages.
    inputs : dict from str to path or None
        The input files by the argument or option that names them.
    output, output_format, top, verify, plot
        Values of the options.
    has_nulls : bool
        Whether the result may have missing values.
    extra_outputs : dict from str to path or None
        Further output files by their content, which is also the name of the option.

    Raises
    ------
    GraphError
        An output cannot be written, or would overwrite an input. This is checked before any work.
    """

    def __init__(
        self,
        content: str,
        inputs: Mapping[str, str | Path | None],
        *,
        output: str | None = None,
        output_format: Format | None = None,
        top: int | None = None,
        verify: bool = False,
        plot: Path | None = None,
        has_nulls: bool = False,
        extra_outputs: Mapping[str, str | None] | None = None,
    ) -> None:
        extra_outputs = extra_outputs or {}
        extra = {f"--{name}": path for name, path in extra_outputs.items()}
        outputs = {"--output": output, **extra, "--plot": None if plot is None else str(plot)}
        _check_overwriting(inputs, outputs)
        check_output(output, content, output_format, has_nulls)
        if output == STREAM and top is not None:
            raise typer.BadParameter(
                "the table and --output would both go to standard output; leave out one of them",
                param_hint="--top",
            )
        for name, path in extra_outputs.items():
            check_output(path, name, None)
            if path and output and overwrites(path, output):
                name_of_path = display_url(path)
                raise GraphError(
                    f"{name_of_path}: --{name} would overwrite --output; name another file",
                    parameter=f"--{name}",
                    path=name_of_path,
                )
        if plot:
            rg.plot.check(plot)
        self.output, self.output_format = output, output_format
        self.top, self.verify, self.plot = top, verify, plot
        self.is_verbose = verify or sys.stderr.isatty()
        self._step_times: list[str] = []
        self._step_start = time.perf_counter()

    def read_graph(
        self,
        edges: InputFiles,
        source: list[str] | None,
        destination: list[str] | None,
        weight: str | None = None,
        *,
        device: Device,
        vertices: str | None = None,
        **policies: Any,
    ) -> rg.Graph:
        """Build the Graph of a file of edges and, optionally, a file of vertices."""
        endpoints = column_argument(source), column_argument(destination)
        frame = io.read_edges(
            edges, source=endpoints[0], destination=endpoints[1], weight=weight, device=device
        )
        self.end_step("read")
        is_renamed = not any(isinstance(end, list) for end in endpoints)  # as `read_edges` does
        weight_column = weight and ("weight" if is_renamed else weight)
        more_vertices = _read_vertices(edges, frame, vertices, endpoints, device)
        try:
            graph = rg.Graph(
                frame,
                "source" if is_renamed else endpoints[0] or "source",
                "destination" if is_renamed else endpoints[1] or "destination",
                weight=weight_column,
                vertices=more_vertices,
                **policies,
            )
        except GraphError as error:
            if error.row is None or weight_column is None or error.column != weight_column:
                raise
            raise io.locate_error(error.with_fields(column=weight), edges) from None
        self.end_step("built")
        return graph

    def end_step(self, step: str) -> None:
        """Record the time since the previous step ended."""
        now = time.perf_counter()
        self._step_times.append(f"{step} in {now - self._step_start:.2f} s")
        self._step_start = now

    def report(self, text: str, always: bool = False) -> None:
        """Print a line on standard error if that is a terminal, with --verify, or `always`."""
        if self.is_verbose or always:
            note(text)

    def report_graph(self, graph: Any) -> None:
        """Report the size and the device of a graph, and the times of all steps.

        Of a layered edge list, also report what the last algorithm has read.
        """
        if not graph.num_edges:
            self.report("there are no edges", always=True)
        self.report(
            f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges on the "
            f"{graph.device.upper()}: {', '.join(self._step_times)}"
        )
        statistics = graph.last_run if isinstance(graph, rg.LayeredEdgeList) else None
        if statistics is not None:
            self.report(
                f"{pluralize(statistics.passes, 'pass', 'passes')} over the edges: "
                f"{pluralize(statistics.partitions, 'partition')}, "
                f"{format_bytes(statistics.nbytes)}"
            )

    def write_result(
        self,
        result: Frame,
        print_table: Callable[[int | None], None],
        plot: Callable[[Path], object] | None = None,
    ) -> None:
        """Write the result, call ``print_table(top)`` and ``plot(path)``, each if requested."""
        if self.output:
            write_output(result, self.output, self.output_format)
        if self.top or not self.output:
            print_table(self.top)
        if self.plot and plot:
            plot(self.plot)


def _check_overwriting(
    inputs: Mapping[str, str | Path | None], outputs: Mapping[str, str | None]
) -> None:
    """Raise GraphError if an output would overwrite an input, or a table is standard input."""
    for input_name, source in inputs.items():
        if str(source) == STREAM and input_name != "EDGES":
            raise GraphError(
                f"{input_name} is -, but only EDGES is read from standard input; name a file",
                parameter=input_name,
                value=STREAM,
            )
        for option, target in outputs.items():
            if source and target and overwrites(target, source):
                text = (
                    input_name if target == str(source) else f"{input_name} ({display_url(source)})"
                )
                raise GraphError(
                    f"{display_url(target)}: {option} would overwrite {text}, which is an input; "
                    "name another file",
                    parameter=option,
                    path=display_url(target),
                )


def _read_vertices(
    edges: InputFiles,
    frame: Frame,
    path: str | None,
    endpoints: Sequence[str | list[str] | None],
    device: Device,
) -> Any:
    """Return the vertices that EDGES declares and those in the file of --vertices, or None."""
    declared = io.declared_vertices(edges)
    if path is None:
        return declared
    source, destination = (
        end if isinstance(end, list) else [default]
        for default, end in zip(("source", "destination"), endpoints, strict=True)
    )
    labels = vertex_columns(source, destination)
    text_columns = [
        label
        for label, *columns in zip(labels, source, destination, strict=True)
        if len(frame) and not all(frame[column].dtype.kind in "iu" for column in columns)
    ]
    table = io.read_vertices(path, names=labels, device=device, text_columns=text_columns)
    for label in labels:
        is_text = table[label].dtype.kind not in "iu"
        if len(frame) and len(table) and is_text != (label in text_columns):
            types = ("text", "integers") if is_text else ("integers", "text")
            raise GraphError(
                f"{display_url(path)}: column {label!r} holds {types[0]}, and "
                f"{display_url(edges)} names vertices by {types[1]}",
                parameter="--vertices",
                column=label,
                path=display_url(path),
            )
    if declared is None:
        return table
    values = table[labels[0]].to_numpy()
    return np.concatenate([np.arange(declared.start, declared.stop), values])


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether the command line has an option, by the name of its parameter."""
    source = context.get_parameter_source(name) if name in context.params else None
    return source is not None and not source.name.startswith("DEFAULT")


def choose_weight_option(
    context: typer.Context,
    edges: InputFiles,
    source: list[str] | None,
    destination: list[str] | None,
) -> str | None:
    """Return the column of weights that --weight and --unweighted ask for, or None."""
    weight, unweighted = (context.params[name] for name in ("weight", "unweighted"))
    if unweighted and is_given(context, "weight"):
        raise typer.BadParameter("leave out this or --weight", param_hint="--unweighted")
    column = None if unweighted else io.choose_weight_column(edges, weight, source, destination)
    if column is None and not unweighted:
        context.meta[CANDIDATES] = io.list_weight_candidates(edges, source, destination)
    return column


def note_missing_weights(context: typer.Context, effect: str | None = None) -> None:
    """Print that there is no column `weight`, if others may be weights or there is an `effect`.

    `choose_weight_option` has looked for them.
    """
    candidates = context.meta.get(CANDIDATES, ())
    text = "there is no column 'weight' and no --weight" + (f": {effect}" if effect else "")
    if candidates:
        text += (
            f"; columns of numbers: {frames.list_weight_candidates(candidates)}; "
            f"--weight {shlex.quote(candidates[0])} uses one of them, --unweighted none"
        )
    if candidates or effect:
        note(text)


def vertex_columns(source: Sequence[str] | None, destination: Sequence[str] | None) -> list[str]:
    """Return the columns that name a vertex in results and in tables of vertices."""
    if len(source or ()) < 2 and len(destination or ()) < 2:
        return ["vertex"]
    return vertex_labels(source or ["source"], destination or ["destination"])


def column_argument(columns: list[str] | None) -> str | list[str] | None:
    """Return the values of --source or --destination as `read_edges` takes them."""
    return columns[0] if columns and len(columns) == 1 else columns or None
