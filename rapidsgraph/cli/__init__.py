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
from typing import Annotated, Any

import typer

import rapidsgraph as rg

from .. import __version__
from ..atomic import is_no_space
from ..errors import GraphError
from ..io.formats import Format, split_endings
from ..io.remote import display_url
from ..signals import ignore_signals
from . import (  # noqa: F401
    core_number,
    label_propagation,
    layer,
    pagerank,
    scan,
    shortest_path,
    similarity,
    traversal,
    triangles,
)
from .app import DeviceOption, app, command, print_highest
from .files import STREAM, OutputFormatOption, check_output, closed_output, write_output
from .messages import flag_option, format_examples, note, panel_of, show_warning
from .options import ProgressOption

__all__ = ["app", "main"]


def main() -> None:
    """Run the command; `rapidsgraph.__main__` calls it when signals are handled."""
    # A stream is None if the parent process closed it; no file must get its descriptor.
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stdout = closed_output()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    warnings.showwarning = show_warning
    try:
        app()
    except GraphError as error:  # raised outside commands: --help cannot be printed
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if not is_no_space(error):
            raise
        print(f"error: standard output could not be written ({error})", file=sys.stderr)
        sys.exit(1)
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
            "--version",
            metavar="",
            help="Show the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


@command(app, examples=["doctor", "doctor --json"])
def doctor(
    as_json: Annotated[bool, flag_option("--json", help="Print JSON.")] = False,
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


@command(app, examples=["warm", "warm --device cpu --jobs 2"])
def warm(
    device: DeviceOption = "auto",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one per CPU core.")
    ] = None,
    progress: ProgressOption = None,
) -> None:
    """Compile the kernels of all algorithms, so that first calls need not."""
    from ..warm import warm as compile_kernels

    folder, num_entries = compile_kernels(device, num_jobs=jobs, progress=progress)
    typer.echo(f"{num_entries} compiled kernels are cached in {folder}")


@command(app, examples=["demo", "demo --output debian.parquet"])
def demo(
    device: DeviceOption = "auto",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the edges to FILE for other commands; by default they are ranked.",
        ),
    ] = None,
) -> None:
    """Rank the packages of Debian 12 by how much depends on them."""
    if output is not None:
        check_output(output, "edges", None)
        edges = rg.datasets.debian()
        write_output(edges.assign(kind=edges["kind"].astype("str")), output, None)
        note(f"{len(edges):,} edges in {display_url(output)}")
        return
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


generate = typer.Typer(
    help="Generate a random graph; the same seed gives the same graph.",
    epilog=format_examples("generate rmat 12 --output rmat.parquet", "generate rmat --help"),
    no_args_is_help=True,
)
app.add_typer(generate, name="generate", rich_help_panel=panel_of("generate"))

Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the edges to FILE, a URL, or - for standard output.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")]
Weights = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="Add a column weight, uniform from LOW to below HIGH; by default none.",
    ),
]


@command(
    generate,
    examples=[
        "generate rmat 12 --seed 1 --output rmat.parquet",
        "generate rmat 10 --edge-factor 8 --weights 0 1 --output rmat.csv",
    ],
)
def rmat(
    scale: Annotated[
        int, typer.Argument(metavar="SCALE", help="Binary logarithm of the number of vertices.")
    ],
    output: Output,
    output_format: OutputFormatOption = None,
    edge_factor: Annotated[int, typer.Option(min=1, help="Edges drawn per vertex.")] = 16,
    a: Annotated[float, typer.Option("--a", help="Probability of the top left quadrant.")] = 0.57,
    b: Annotated[float, typer.Option("--b", help="Probability of the top right quadrant.")] = 0.19,
    c: Annotated[
        float, typer.Option("--c", help="Probability of the bottom left quadrant.")
    ] = 0.19,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate a scale-free graph (R-MAT, as in Graph500) without self-loops and parallel edges."""
    options = {"a": a, "b": b, "c": c, "seed": seed, "weights": weights}
    _generate(output, output_format, "rmat", scale, edge_factor, device=device, **options)


@command(
    generate,
    examples=[
        "generate grid 100 --weights 1 10 --output grid.parquet",
        "generate grid 200 --height 50 --keep 0.72 --output roads.csv.gz",
    ],
)
def grid(
    width: Annotated[int, typer.Argument(metavar="WIDTH", min=1, help="Vertices of a row.")],
    output: Output,
    output_format: OutputFormatOption = None,
    height: Annotated[int | None, typer.Option(min=1, help="Rows; by default WIDTH.")] = None,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that an edge of the lattice is kept.")
    ] = 1.0,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate a lattice with a random subset of its edges, in both directions."""
    _generate(
        output,
        output_format,
        "grid",
        width,
        height,
        keep=keep,
        seed=seed,
        weights=weights,
        device=device,
    )


@command(
    generate,
    examples=[
        "generate ssca2 5000 --output cliques.parquet",
        "generate ssca2 5000 --max-clique 12 --inter-clique 0.2 --output large.csv",
    ],
)
def ssca2(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1, help="Number of vertices.")],
    output: Output,
    output_format: OutputFormatOption = None,
    max_clique: Annotated[
        int, typer.Option(min=1, help="Maximum number of vertices of a clique.")
    ] = 7,
    inter_clique: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Probability of each of a vertex's two edges to other cliques."
        ),
    ] = 0.5,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate cliques and random edges between them (SSCA#2), in both directions."""
    options: dict[str, Any] = {"max_clique": max_clique, "inter_clique": inter_clique}
    _generate(
        output,
        output_format,
        "ssca2",
        vertices,
        **options,
        seed=seed,
        weights=weights,
        device=device,
    )


@command(
    generate,
    examples=[
        "generate uniform 1000 8000 --output uniform.csv",
        "generate uniform 1000 8000 --seed 7 --output uniform.mtx",
    ],
)
def uniform(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1, help="Number of vertices.")],
    edges: Annotated[int, typer.Argument(metavar="EDGES", min=0, help="Number of edges.")],
    output: Output,
    output_format: OutputFormatOption = None,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate directed edges between uniformly random vertices."""
    _generate(
        output, output_format, "uniform", vertices, edges, seed=seed, weights=weights, device=device
    )


def _generate(
    output: str, output_format: Format | None, name: str, *sizes: Any, **options: Any
) -> None:
    """Write the edges of the graph from the function `name` of `rapidsgraph.generate`."""
    check_output(output, "edges", output_format)
    frame = getattr(rg.generate, name)(*sizes, **options)
    is_matrix = (output_format or split_endings(output)[0].lstrip(".")) == "mtx"
    if is_matrix:
        frame["source"] += 1
        frame["destination"] += 1
    write_output(frame, output, output_format)
    ids = ", vertex ids from 1" if is_matrix else ""
    place = "standard output" if output == STREAM else display_url(output)
    note(f"{len(frame):,} edges in {place}{ids}")
