"""Commands ``rapidsgraph doctor`` and ``rapidsgraph demo``."""

import json
import time
from typing import Annotated

import typer

import rapidsgraph as rg

from .app import Device, DeviceOption, app, command, print_highest


@command(app)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what this machine offers, what works, and what to install for the rest."""
    from ..doctor import collect, format_report

    facts = collect()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    for label, text in format_report(facts):
        typer.echo(f"{label:<14}{text}")
    for sentence in facts["advice"]:
        typer.echo(f"\n{sentence}")


@command(app)
def demo(device: DeviceOption = Device.auto) -> None:
    """Rank the packages of Debian 12 by how much depends on them."""
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
    argument = "" if device == Device.auto else f', device="{device}"'
    typer.echo(f"    edges = rg.read_edges(rg.datasets.debian_path(){argument})")
    typer.echo('    rg.pagerank(edges).nlargest(10, "pagerank")')
