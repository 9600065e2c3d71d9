"""Command ``scan``."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import rapidsgraph as rg

from .. import io
from ..algorithms.scan import ROLES
from ..algorithms.scan_index import EPSILONS, MUS
from ..algorithms.similarity import KERNEL_METHODS, KernelMethod
from ..frames import Frame
from ..progress import reporter
from .app import DeviceOption, app, columns_of, command, print_rows
from .files import FormatOption, OutputFormatOption, open_edges
from .layered_input import refuse_store
from .messages import EXECUTION, OUTPUT, flag_option
from .options import (
    CommandRun,
    DestinationOption,
    EdgesArgument,
    ProgressOption,
    SourceOption,
    UselessUndirectedOption,
    VerticesOption,
    output_option,
    plot_option,
    top_option,
    verify_option,
)

if TYPE_CHECKING:
    import pandas

DEFAULTS: dict[str, list[Any]] = {"--epsilon": [Decimal("0.5")], "--mu": [3]}
SWEEP: dict[str, Any] = {"--epsilon": [Decimal(str(epsilon)) for epsilon in EPSILONS], "--mu": MUS}
OPTIONAL_COLUMNS = "cores", "outliers", "hubs"  # dropped from the table in a narrow terminal


def _parse_decimal(text: str) -> Decimal:
    """Return the number exactly as it is written."""
    try:
        number = Decimal(text)
        is_valid = float(number) > 0 and number <= 1  # float is fast for any exponent
    except (InvalidOperation, ValueError):  # not a number, or a signaling NaN
        is_valid = False
    if not is_valid:
        raise typer.BadParameter(f"{text!r} is not a number above 0 and at most 1")
    return number


@command(
    app,
    examples=[
        "scan debian.parquet --epsilon 0.6 --mu 4 --output clusters.csv",
        "scan cliques.parquet --sweep --top 5",
        "scan cliques.parquet --memberships --similarities similarities.csv",
    ],
)
def scan(
    context: typer.Context,
    edges: EdgesArgument,
    format: FormatOption = None,
    epsilon: Annotated[
        list[Decimal] | None,
        typer.Option(
            parser=_parse_decimal,
            metavar="E",
            help="Minimum similarity of neighbors, above 0 and at most 1; by default 0.5.",
        ),
    ] = None,
    mu: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Minimum number of vertices similar to a core, itself included; by default 3.",
        ),
    ] = None,
    memberships: Annotated[
        bool,
        flag_option(
            "--memberships",
            help="Return a row for each cluster of a border vertex. The table counts it in each.",
        ),
    ] = False,
    sweep: Annotated[
        bool,
        flag_option(
            "--sweep",
            help="Compare all pairs of --epsilon and --mu, which are repeatable. By default "
            f"epsilon {EPSILONS[0]} to {EPSILONS[-1]} in steps of {EPSILONS[0]}, "
            f"mu {MUS[0]} to {MUS[-1]}.",
        ),
    ] = False,
    method: Annotated[
        KernelMethod,
        typer.Option(
            metavar="METHOD",
            help=f"Algorithm: {', '.join(KERNEL_METHODS)}.",
            rich_help_panel=EXECUTION,
        ),
    ] = "auto",
    source: SourceOption = None,
    destination: DestinationOption = None,
    undirected: UselessUndirectedOption = False,
    vertices: VerticesOption = None,
    device: DeviceOption = "auto",
    output: Annotated[
        str | None, output_option("vertices with clusters and roles, or the sweep,")
    ] = None,
    output_format: OutputFormatOption = None,
    similarities: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write edges with their structural similarity to FILE.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    top: Annotated[
        int | None,
        top_option(
            "Print the N largest clusters, or the N pairs of highest modularity; by default 10, or "
            "all pairs, if no --output."
        ),
    ] = None,
    verify: Annotated[bool, verify_option("clusters and roles")] = False,
    progress: ProgressOption = None,
    plot: Annotated[
        Path | None, plot_option("the adjacency matrix by cluster, or the sweep,")
    ] = None,
) -> None:
    """Find clusters of vertices with similar neighborhoods, hubs and outliers (SCAN).

    Directions are ignored.
    """
    epsilons, mus = _parameter_values(epsilon, mu, sweep, memberships, verify)
    run = CommandRun(
        "a sweep" if sweep else "clusters",
        {"EDGES": edges, "--vertices": vertices},
        output=output,
        output_format=output_format,
        top=top,
        verify=verify,
        plot=plot,
        has_nulls=not sweep,
        extra_outputs={"similarities": similarities},
    )
    refuse_store(edges, "scan")
    graph = run.read_graph(
        open_edges(context),
        source,
        destination,
        device=device,
        vertices=vertices,
        directed=False,
        self_loops="drop",
    )
    if sweep:
        write = _sweep(run, graph, epsilons, mus, method, progress)
    else:
        write = _cluster(run, graph, epsilons[0], mus[0], memberships, method)
    if similarities:
        io.write_frame(rg.structural_similarity(graph, method=method), similarities)
    write()


def _parameter_values(
    epsilons: list[Decimal] | None,
    mus: list[int] | None,
    sweep: bool,
    memberships: bool,
    verify: bool,
) -> tuple[list[Any], list[Any]]:
    """Return the distinct values of epsilon and of mu."""
    for option, is_given in (("--memberships", memberships), ("--verify", verify)):
        if sweep and is_given:
            raise typer.BadParameter(
                "a sweep counts clusters and does not return them; leave out this or --sweep",
                param_hint=option,
            )
    distinct = []
    for option, values in (("--epsilon", epsilons), ("--mu", mus)):
        values = list(dict.fromkeys(values or (SWEEP if sweep else DEFAULTS)[option]))
        if len(values) > 1 and not sweep:
            raise typer.BadParameter("give one value, or --sweep", param_hint=option)
        distinct.append(values)
    return distinct[0], distinct[1]


def _cluster(
    run: CommandRun,
    graph: rg.Graph,
    epsilon: Decimal,
    mu: int,
    memberships: bool,
    method: KernelMethod,
) -> Callable[[], None]:
    """Find the clusters, report and verify them, and return a function that writes the result."""
    result = rg.scan(graph, epsilon=epsilon, mu=mu, memberships=memberships, method=method)
    run.end_step("clustered")
    run.report_graph(graph)
    members = result[result["cluster"].notna()]
    numbers = members["cluster"].to_numpy()
    if run.is_verbose:
        run.report(_summarize(result, numbers))
    if run.verify:
        rg.verify.scan(graph, result, epsilon=epsilon, mu=mu)
        run.report(
            "verified: similar cores share a cluster, each cluster is connected, and the roles are "
            "right"
        )

    def print_clusters(count: int | None) -> None:
        sizes = np.bincount(numbers)
        is_core = members["role"] == "core"
        is_core = is_core.to_pandas() if hasattr(is_core, "to_pandas") else is_core
        cores = np.bincount(numbers[is_core.to_numpy(bool)], minlength=sizes.size)
        first_rows = np.unique(numbers, return_index=True)[1]  # rows are sorted by vertex
        shown = slice(count or 10)
        columns = {"cluster": np.arange(sizes.size), "vertices": sizes, "cores": cores}
        columns["borders"] = sizes - cores
        names = members[list(result.columns[:-2])].take(first_rows[shown])
        name_columns = [(f"smallest {name}", values) for name, values in columns_of(names)]
        print_rows([*((name, columns[name][shown]) for name in columns), *name_columns], columns)

    return lambda: run.write_result(
        result, print_clusters, lambda path: rg.plot.adjacency(graph, result, path)
    )


def _summarize(result: Frame, numbers: np.ndarray) -> str:
    """Return the numbers of clusters and of vertices by role as one line."""
    vertices = result.drop_duplicates(list(result.columns[:-2]))
    counts = [f"{role}s: {int((vertices['role'] == role).sum()):,}" for role in ROLES]
    if len(result) > len(vertices):
        borders = int((result["role"] == "border").sum())
        counts[ROLES.index("border")] += f" (in clusters {borders:,} times)"
    clusters = f"clusters: {int(numbers.max()) + 1:,}" if numbers.size else "no cluster"
    line = ", ".join([clusters, *counts])
    has_hint = len(vertices) and not numbers.size
    return f"{line}; a lower --epsilon or --mu may find some" if has_hint else line


def _sweep(
    run: CommandRun,
    graph: rg.Graph,
    epsilons: list[Decimal],
    mus: list[int],
    method: KernelMethod,
    progress: bool | None,
) -> Callable[[], None]:
    """Count clusters for all pairs of parameters, and return a function that writes the result."""
    import pandas

    index = rg.ScanIndex(graph, method=method)
    run.end_step("indexed")
    pairs = list(itertools.product(epsilons, mus))
    rows: list[Any] = []
    with reporter(progress, "Sweep", len(pairs)) as report:
        for epsilon, mu in pairs:
            row = index.sweep([epsilon], [mu])
            rows.append(row.to_pandas() if hasattr(row, "to_pandas") else row)
            report(len(rows), f"epsilon {epsilon}, mu {mu}")
    result = pandas.concat(rows, ignore_index=True)
    run.end_step("swept")
    run.report_graph(graph)
    best = result.loc[result["modularity"].idxmax()]
    run.report(
        f"highest modularity: {best['modularity']:.6g} at epsilon {best['epsilon']:g}, "
        f"mu {best['mu']:g}"
    )

    def print_pairs(count: int | None) -> None:
        rows = result.nlargest(count, "modularity") if count else result
        if sys.stdout.isatty():
            rows = _fit_terminal(rows.round({"clustered": 4, "modularity": 4}))
        print_rows(columns_of(rows), result.columns)

    return lambda: run.write_result(result, print_pairs, lambda path: rg.plot.sweep(result, path))


def _fit_terminal(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Drop columns of a sweep until the table fits into the width of the terminal."""
    max_width = shutil.get_terminal_size().columns
    for name in OPTIONAL_COLUMNS:
        widths = [max(map(len, [column, *_format_values(rows[column])])) for column in rows]
        if sum(widths) + 3 * len(widths) + 1 <= max_width:
            break
        rows = rows.drop(columns=name)
    return rows


def _format_values(values: pandas.Series) -> pandas.Series:
    return values.map("{:.6g}".format if values.dtype.kind == "f" else str)
