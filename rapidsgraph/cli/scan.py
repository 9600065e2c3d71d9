"""`rapidsgraph scan`."""

import itertools
import shutil
import sys
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from .. import io
from ..algorithms.clustering import ROLES
from ..algorithms.scan_index import EPSILONS, MUS
from ..progress import reporter
from .app import Device, DeviceOption, app, columns_of, command, print_rows
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

Method = StrEnum("Method", "auto gpuscan")
DEFAULTS: dict[str, list[Any]] = {"--epsilon": [Decimal("0.5")], "--mu": [3]}
SWEEP: dict[str, Any] = {"--epsilon": [Decimal(str(epsilon)) for epsilon in EPSILONS], "--mu": MUS}
LESS_WANTED = "cores", "outliers", "hubs"  # in the table of a sweep


def _decimal(text):
    """The number as it is written, not the nearest binary one."""
    try:
        number = Decimal(text)
        is_fit = float(number) > 0 and number <= 1  # float is quick, whatever the exponent
    except (InvalidOperation, ValueError):  # no number, a signaling NaN
        is_fit = False
    if not is_fit:
        raise typer.BadParameter(f"{text!r} is not a number above 0, at most 1")
    return number


@command(app)
def scan(
    edges: EdgesArgument,
    epsilon: Annotated[
        list[Decimal] | None,
        typer.Option(
            parser=_decimal,
            metavar="E",
            help="How similar neighbors must be, above 0 to 1; by default 0.5.",
        ),
    ] = None,
    mu: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="N", help="A core is similar to so many, itself included; by default 3."
        ),
    ] = None,
    memberships: Annotated[
        bool,
        typer.Option(
            "--memberships",
            help="A row for each cluster in which a border is similar to a core; the table counts "
            "it in each.",
        ),
    ] = False,
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="Compare parameters: give --epsilon and --mu several times. By default "
            f"{EPSILONS[0]} to {EPSILONS[-1]} by {EPSILONS[0]}, {MUS[0]} to {MUS[-1]}.",
        ),
    ] = False,
    method: Annotated[
        Method,
        typer.Option(
            metavar="METHOD", help=f"How; the clusters are the same: {', '.join(Method)}."
        ),
    ] = Method.auto,
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Changes nothing: here edges go both ways.")
    ] = False,
    vertices: VerticesOption = None,
    device: DeviceOption = Device.auto,
    output: Annotated[
        Path | None, output_option("vertices with clusters and roles, or the sweep,")
    ] = None,
    similarities: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write edges with the similarity of their ends here."),
    ] = None,
    top: Annotated[
        int | None,
        top_option(
            "Print the N largest clusters, 10 if no --output; or the N pairs of the highest "
            "modularity, all if no --output."
        ),
    ] = None,
    verify: Annotated[bool, verify_option("clusters and roles")] = False,
    plot: Annotated[Path | None, plot_option("the matrix by cluster, or the sweep")] = None,
):
    """Find clusters of vertices with similar neighborhoods, hubs and outliers (SCAN).

    Directions do not matter.
    """
    epsilons, mus = _parameters(epsilon, mu, sweep, memberships, verify)
    inputs = {"EDGES": edges, "--vertices": vertices}
    job = Job(
        "a sweep" if sweep else "clusters", output, top, verify, plot, inputs,
        has_nulls=not sweep, others={"similarities": similarities},
    )  # fmt: skip
    refuse_store(edges, "scan")
    options = {"vertices": vertices, "directed": False, "self_loops": "drop"}
    graph = job.read(edges, source, destination, device=device, **options)
    if sweep:
        delivery = _swept(job, graph, epsilons, mus, method.value)
    else:
        delivery = _clustered(job, graph, epsilons[0], mus[0], memberships, method.value)
    if similarities:
        io.write_frame(rg.structural_similarity(graph, method=method.value), similarities)
    job.deliver(*delivery)


def _parameters(epsilons, mus, sweep, memberships, verify):
    """All that are asked for, each once."""
    for option, is_given in (("--memberships", memberships), ("--verify", verify)):
        if sweep and is_given:
            raise typer.BadParameter(
                "a sweep counts clusters and gives none; leave out this or --sweep",
                param_hint=option,
            )
    given = []
    for option, values in (("--epsilon", epsilons), ("--mu", mus)):
        values = list(dict.fromkeys(values or (SWEEP if sweep else DEFAULTS)[option]))
        if len(values) > 1 and not sweep:
            raise typer.BadParameter(
                "several values need --sweep; for clusters give one", param_hint=option
            )
        given.append(values)
    return given


def _clustered(job, graph, epsilon, mu, memberships, method):
    """What `Job.deliver` takes."""
    parameters = {"epsilon": epsilon, "mu": mu}
    result = rg.scan(graph, **parameters, memberships=memberships, method=method)
    job.tell(graph, "clustered")
    members = result[result["cluster"].notna()]
    numbers = members["cluster"].to_numpy()
    if job.talks:
        job.say(_counted(result, numbers))
    if job.verify:
        rg.verify.scan(graph, result, **parameters)
        job.say("verified: similar cores share a cluster, each cluster hangs together, roles fit")

    def show(count):
        sizes = np.bincount(numbers)
        cores = np.bincount(numbers[_are(members, "core")], minlength=sizes.size)
        first = np.unique(numbers, return_index=True)[1]  # rows are sorted by vertex
        shown = slice(count or 10)
        columns = {"cluster": np.arange(sizes.size), "vertices": sizes, "cores": cores}
        columns["borders"] = sizes - cores
        names = members[list(result.columns[:-2])].take(first[shown])
        names = [(f"smallest {name}", values) for name, values in columns_of(names)]
        print_rows([*((name, columns[name][shown]) for name in columns), *names], columns)

    return result, show, lambda path: rg.plot.adjacency(graph, result, path)


def _are(rows, role):
    are = rows["role"] == role
    return (are.to_pandas() if hasattr(are, "to_pandas") else are).to_numpy(bool)


def _counted(result, numbers):
    """Clusters and roles in a line."""
    vertices = result.drop_duplicates(list(result.columns[:-2]))
    counts = [f"{role}s: {int((vertices['role'] == role).sum()):,}" for role in ROLES]
    if len(result) > len(vertices):
        borders = int((result["role"] == "border").sum())
        counts[ROLES.index("border")] += f" (in clusters {borders:,} times)"
    clusters = f"clusters: {int(numbers.max()) + 1:,}" if numbers.size else "no cluster"
    line = ", ".join([clusters, *counts])
    is_hinted = len(vertices) and not numbers.size
    return f"{line}; a lower --epsilon or --mu may find some" if is_hinted else line


def _swept(job, graph, epsilons, mus, method):
    """What `Job.deliver` takes."""
    import pandas

    index = rg.ScanIndex(graph, method=method)
    job.note("indexed")
    pairs, rows = list(itertools.product(epsilons, mus)), []
    with reporter(None, "Sweep", len(pairs)) as report:
        for epsilon, mu in pairs:
            row = index.sweep([epsilon], [mu])
            rows.append(row.to_pandas() if hasattr(row, "to_pandas") else row)
            report(len(rows), f"epsilon {epsilon}, mu {mu}")
    result = pandas.concat(rows, ignore_index=True)
    job.tell(graph, "swept")
    best = result.loc[result["modularity"].idxmax()]
    job.say(
        f"highest modularity: {best['modularity']:.6g} at epsilon {best['epsilon']:g}, "
        f"mu {best['mu']:g}"
    )

    def show(count):
        rows = result.nlargest(count, "modularity") if count else result
        if sys.stdout.isatty():
            rows = _narrowed(rows.round({"clustered": 4, "modularity": 4}))
        print_rows(columns_of(rows), result.columns)

    return result, show, lambda path: rg.plot.sweep(result, path)


def _narrowed(rows):
    """What of a sweep a terminal has room for."""
    room = shutil.get_terminal_size().columns
    for name in LESS_WANTED:
        widths = [max(map(len, [column, *_shown(rows[column])])) for column in rows]
        if sum(widths) + 3 * len(widths) + 1 <= room:
            break
        rows = rows.drop(columns=name)
    return rows


def _shown(values):
    return values.map("{:.6g}".format if values.dtype.kind == "f" else str)
