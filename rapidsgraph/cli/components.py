"""`rapidsgraph components`."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import rapidsgraph as rg

from .app import Device, DeviceOption, app, command, print_rows
from .layered_input import refuse_store
from .options import (
    DestinationOption,
    EdgesArgument,
    Job,
    SourceOption,
    VerticesOption,
    output_option,
    plot_option,
    top_option,
    verify_option,
)


@command(app)
def components(
    edges: EdgesArgument,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Changes nothing: here edges go both ways.")
    ] = False,
    vertices: VerticesOption = None,
    device: DeviceOption = Device.auto,
    output: Annotated[Path | None, output_option("vertices with their components")] = None,
    top: Annotated[int | None, top_option("Print the N largest; 10 if no --output.")] = None,
    verify: Annotated[bool, verify_option("components")] = False,
    plot: Annotated[Path | None, plot_option("how the sizes are spread")] = None,
):
    """Find connected components, the largest first. Directions do not matter (weak)."""
    job = Job("components", output, top, verify, plot, {"EDGES": edges, "--vertices": vertices})
    refuse_store(edges, "components")
    graph = job.read(edges, source, destination, device=device, vertices=vertices)
    result = rg.connected_components(graph)
    job.tell(graph, "found")
    sizes = np.bincount(result["component"].to_numpy())
    if sizes.size:
        job.say(f"components: {sizes.size:,}, the largest of {sizes[0]:,} vertices")
    if verify:
        rg.verify.components(graph, result)
        job.say("verified: every component is connected, and no edge joins two")

    def show(count):
        largest = sizes[: count or 10]
        columns = [("component", np.arange(largest.size)), ("vertices", largest)]
        print_rows(columns, ("component", "vertices"))

    job.deliver(result, show, lambda path: rg.plot.distribution(result, path))
