"""Commands ``generate rmat``, ``generate grid``, ``generate ssca2`` and ``generate uniform``."""

from pathlib import Path
from typing import Annotated, Any

import typer

import rapidsgraph as rg

from .. import io
from .app import DeviceOption, app, command

group = typer.Typer(
    help="Generate a random graph; the same seed gives the same graph.", no_args_is_help=True
)
app.add_typer(group, name="generate")

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Write the edges to FILE.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")]
Weights = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="Add a column weight, uniform in [LOW, HIGH)."),
]


@command(group)
def rmat(
    scale: Annotated[
        int, typer.Argument(metavar="SCALE", help="Binary logarithm of the number of vertices.")
    ],
    output: Output,
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
    _write(output, "rmat", scale, edge_factor, device=device, **options)


@command(group)
def grid(
    width: Annotated[int, typer.Argument(metavar="WIDTH", min=1, help="Vertices of a row.")],
    output: Output,
    height: Annotated[int | None, typer.Option(min=1, help="Rows; by default WIDTH.")] = None,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that an edge of the lattice is kept.")
    ] = 1.0,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate a lattice with a random subset of its edges, in both directions."""
    _write(output, "grid", width, height, keep=keep, seed=seed, weights=weights, device=device)


@command(group)
def ssca2(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1, help="Number of vertices.")],
    output: Output,
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
    options = {"max_clique": max_clique, "inter_clique": inter_clique}
    _write(output, "ssca2", vertices, **options, seed=seed, weights=weights, device=device)


@command(group)
def uniform(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1, help="Number of vertices.")],
    edges: Annotated[int, typer.Argument(metavar="EDGES", min=0, help="Number of edges.")],
    output: Output,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = "auto",
) -> None:
    """Generate directed edges between uniformly random vertices."""
    _write(output, "uniform", vertices, edges, seed=seed, weights=weights, device=device)


def _write(output: Path, name: str, *sizes: Any, **options: Any) -> None:
    """Write the edges that a function of `rapidsgraph.generate` returns."""
    file_format = io.check_writable(output)
    frame = getattr(rg.generate, name)(*sizes, **options)
    if file_format == "mtx":
        frame["source"] += 1
        frame["destination"] += 1
    io.write_frame(frame, output)
    note = ", vertex ids from 1" if file_format == "mtx" else ""
    typer.echo(f"{len(frame):,} edges in {output}{note}", err=True)
