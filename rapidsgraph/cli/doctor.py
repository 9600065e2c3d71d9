"""`rapidsgraph doctor` and `rapidsgraph demo`: what there is on this machine, and a first try."""

import time
from typing import Annotated

import typer

from .app import Device, DeviceOption, app, command, print_highest


@command(app)
def doctor(
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
):
    """Tell what this machine has, what works, and what to install for the rest."""
    from .. import doctor as examination

    found = examination.facts()
    if json:
        from json import dumps

        typer.echo(dumps(found, indent=2))
        return
    for what, how in examination.lines(found):
        typer.echo(f"{what:<14}{how}")
    for sentence in found["advice"]:
        typer.echo(f"\n{sentence}")


@command(app)
def demo(device: DeviceOption = Device.auto):
    """Rank the packages of Debian 12 by what depends on them."""
    from .. import Graph, datasets, read_edges
    from .. import pagerank as rank

    typer.echo("What Debian 12's packages need from one another: an edge leads from a package to")
    typer.echo("one that it needs. PageRank is high where much is needed, directly or not.\n")
    began = time.perf_counter()
    graph = Graph(read_edges(datasets.debian_path(), device=device))
    built = time.perf_counter()
    ranks = rank(graph)
    seconds = built - began, time.perf_counter() - built
    print_highest(ranks, "pagerank", 10)
    typer.echo(
        f"\n{graph.num_vertices:,} packages and {graph.num_edges:,} edges on the "
        f"{graph.device.upper()}: "
        f"read and built in {seconds[0]:.2f} s, ranked in {seconds[1]:.2f} s"
    )
    if graph.device == "cpu":
        typer.echo("(the first run on a machine compiles and takes longer)")
    typer.echo("\nThe same in Python:\n")
    typer.echo("    import rapidsgraph as rg")
    where = "" if device == Device.auto else f', device="{device}"'
    typer.echo(f"    edges = rg.read_edges(rg.datasets.debian_path(){where})")
    typer.echo('    rg.pagerank(edges).nlargest(10, "pagerank")')
