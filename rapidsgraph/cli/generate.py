"""`rapidsgraph generate rmat|grid|ssca2|uniform`."""

from pathlib import Path
from typing import Annotated

import typer

import rapidsgraph as rg

from .. import io
from .app import Device, DeviceOption, app, command

generating = typer.Typer(
    help="Make a random graph; the same seed makes the same graph.", no_args_is_help=True
)
app.add_typer(generating, name="generate")

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the edges.")
]
Seed = Annotated[int, typer.Option(min=0)]
Weights = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="Add a column weight, uniform between the two."),
]


@command(generating)
def rmat(
    scale: Annotated[int, typer.Argument(metavar="SCALE", help="There are 2^SCALE vertices.")],
    output: Output,
    edge_factor: Annotated[int, typer.Option(min=1, help="Edges drawn for each vertex.")] = 16,
    a: Annotated[float, typer.Option("--a", help="Share of the top left quarter.")] = 0.57,
    b: Annotated[float, typer.Option("--b", help="Of the top right.")] = 0.19,
    c: Annotated[float, typer.Option("--c", help="Of the bottom left.")] = 0.19,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = Device.auto,
):
    """A scale-free graph (R-MAT, as in Graph500) without loops and repeated edges."""
    options = {"a": a, "b": b, "c": c, "seed": seed, "weights": weights}
    _write(output, "rmat", scale, edge_factor, device=device, **options)


@command(generating)
def grid(
    width: Annotated[int, typer.Argument(metavar="WIDTH", min=1)],
    output: Output,
    height: Annotated[int | None, typer.Option(min=1, help="By default WIDTH.")] = None,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Probability with which an edge is there.")
    ] = 1.0,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = Device.auto,
):
    """A lattice with some of its edges, like a road network; both directions of each."""
    _write(output, "grid", width, height, keep=keep, seed=seed, weights=weights, device=device)


@command(generating)
def ssca2(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1)],
    output: Output,
    max_clique: Annotated[
        int, typer.Option(min=1, help="Cliques have from 1 to so many vertices.")
    ] = 7,
    inter_clique: Annotated[
        float,
        typer.Option(min=0, max=1, help="Probability of each vertex's two edges to other cliques."),
    ] = 0.5,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = Device.auto,
):
    """Cliques joined by edges, fewer the farther (SSCA#2); both directions of each."""
    options = {"max_clique": max_clique, "inter_clique": inter_clique}
    _write(output, "ssca2", vertices, **options, seed=seed, weights=weights, device=device)


@command(generating)
def uniform(
    vertices: Annotated[int, typer.Argument(metavar="VERTICES", min=1)],
    edges: Annotated[int, typer.Argument(metavar="EDGES", min=0)],
    output: Output,
    seed: Seed = 0,
    weights: Weights = None,
    device: DeviceOption = Device.auto,
):
    """Edges between any two vertices, all with the same chance."""
    _write(output, "uniform", vertices, edges, seed=seed, weights=weights, device=device)


def _write(output, name, *sizes, **options):
    kind = io.check_writable(output)
    frame = getattr(rg.generate, name)(*sizes, **options)
    if kind == "mtx":  # has ids from 1 on
        frame["source"] += 1
        frame["destination"] += 1
    io.write_frame(frame, output)
    counted = ", vertices counted from 1" if kind == "mtx" else ""
    typer.echo(f"{len(frame):,} edges in {output}{counted}", err=True)
