"""Find communities in edges: compare parameters of SCAN, choose a pair, and write a report.

    python pipelines/communities.py EDGES --output FOLDER [--scheduler ADDRESS | --workers N]

Reads Parquet and writes a folder: `report.html`, which presents the results; `roles/` (Parquet:
vertex, cluster, role, degree), `sweep.csv`, `sweep.png`, `matrix.png` and `summary.json`.

The pair of parameters with the highest modularity is chosen, the first one of equal pairs. To use
other parameters, give one epsilon and one mu.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when run as a script

from rapidsgraph.signals import exit_on_signals

if __name__ == "__main__":
    exit_on_signals()  # before the imports that take time

import pandas
import typer

import rapidsgraph as rg
from pipelines import edge_logs, log_files
from pipelines.communities_report import render_report
from pipelines.runtime import (
    DestinationOption,
    Device,
    DeviceOption,
    EdgesArgument,
    OutputOption,
    OverwriteOption,
    PipelineRun,
    SchedulerOption,
    SourceOption,
    WorkersOption,
    compute_pandas,
    run_pipeline,
)
from rapidsgraph.algorithms.scan import check_epsilon, check_mu
from rapidsgraph.algorithms.scan_index import EPSILONS, MUS
from rapidsgraph.cli.app import command
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io import write_frame

MAX_PLOTTED = 2_000_000  # edges and vertices that are transferred to this process for the plot
ALL_EPSILONS, ALL_MUS = (",".join(map(str, values)) for values in (EPSILONS, MUS))
# Numbers in the report: clusters, members of each, hubs.
NUM_CLUSTERS, NUM_MEMBERS, NUM_HUBS = 10, 8, 20

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def _list_parser(
    convert: Callable[[str], Any], check: Callable[[Any], object], description: str
) -> Callable[[str], list[Any]]:
    """Return an option's parser of comma-separated values."""

    def parse(text: str) -> list[Any]:
        values = []
        for word in text.split(","):
            try:
                check(convert(word))
            except (ValueError, InvalidOperation, rg.GraphError):
                raise typer.BadParameter(
                    f"{word.strip()!r} is not {description}; separate values by commas"
                ) from None
            values.append(convert(word))
        return list(dict.fromkeys(values))

    return parse


@command(app)
def communities(
    edges: EdgesArgument,
    output: OutputOption,
    source: SourceOption = "source",
    destination: DestinationOption = "destination",
    epsilons: Annotated[
        list,
        typer.Option(
            parser=_list_parser(Decimal, check_epsilon, "a number above 0 and at most 1"),
            metavar="E,E,...",
            help="Minimum similarities of neighbors.",
        ),
    ] = ALL_EPSILONS,
    mus: Annotated[
        list,
        typer.Option(
            parser=_list_parser(int, check_mu, "an integer of at least 1"),
            metavar="N,N,...",
            help="Minimum numbers of vertices similar to a core, itself included.",
        ),
    ] = ALL_MUS,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
) -> None:
    """Find communities by SCAN: compare parameters, choose a pair, and write a report."""
    rg.plot.check()
    files = log_files.open_log_files(edges, source=source, destination=destination)
    options = {
        "source": source,
        "destination": destination,
        "epsilons": [float(epsilon) for epsilon in epsilons],
        "mus": mus,
    }
    with run_pipeline(
        "communities", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as run:  # fmt: skip
        with run.step("cleaning"):
            frame, counts = edge_logs.read_edges(files, run.device)
            frame = frame.rename(columns={source: "source", destination: "destination"})
        run.record("edges", **counts)
        with run.step("graph"):
            graph = storage_of(rg.Graph(frame, weight=None, directed=False, self_loops="drop"))
        run.record("graph", vertices=graph.num_vertices, edges=graph.num_edges)
        with run.step("sweep") as report:
            table = sweep_parameters(graph, list(product(epsilons, mus)), report)
        choice = int(table["modularity"].argmax())
        with run.step("roles"):
            epsilon, mu = list(product(epsilons, mus))[choice]
            roles = add_degrees(graph, rg.scan(graph, epsilon=epsilon, mu=mu))
            run.write_parquet(roles, "roles")
        run.record("choice", **{name: table[name][choice].item() for name in table})
        with run.step("report"):
            write_frame(table, run.folder / "sweep.csv")
            has_clusters = bool(table["clusters"][choice])
            matrix = _plot_matrix(frame, roles, graph, has_clusters, run)
            plots = {"sweep": run.folder / "sweep.png", "matrix": matrix}
            rg.plot.sweep(table, plots["sweep"])
            clusters, hubs = _select_clusters_and_hubs(roles)
            page = render_report(run.summary(), table, choice, clusters, hubs, plots)
            (run.folder / "report.html").write_text(page, encoding="utf-8")


def sweep_parameters(
    graph: Any, pairs: Sequence[tuple[Any, int]], report: Callable[..., object]
) -> pandas.DataFrame:
    """Return a row for each pair of epsilon and mu, with the columns of `ScanIndex.sweep`."""
    rows: list[dict[str, Any]] = []
    for epsilon, mu in pairs:
        report(len(rows), len(pairs), f"epsilon {epsilon}, mu {mu}")
        statistics = summarize_clustering(graph, epsilon, mu)
        rows.append({"epsilon": float(epsilon), "mu": mu, **statistics})
    return pandas.DataFrame(rows)


def summarize_clustering(graph: Any, epsilon: Any, mu: int) -> dict[str, Any]:
    """Return the statistics of one clustering; a worker holds its rows and a number per vertex."""
    roles = rg.scan(graph, epsilon=epsilon, mu=mu)
    rows = _rows_by_rank(graph, roles)
    _, [statistics, *_] = graph.run(
        _compute_statistics, graph.partitions(), rows, name="statistics"
    )
    return statistics


def add_degrees(graph: Any, roles: Any) -> Any:
    """Return the Dask frame of `scan` with a column `degree`."""
    rows = _rows_by_rank(graph, roles)
    frame, _ = graph.run_for_frame(_assign_degrees, graph.partitions(), rows, name="degrees")
    return frame


def _rows_by_rank(graph: Any, roles: Any) -> list:
    """Return the partition of a result of each rank, a frame without rows where it has none."""
    partitions = iter(graph.executor.compute_partitions(roles))
    bounds = zip(graph.starts, graph.stops, strict=True)
    return [next(partitions) if start < stop else roles._meta for start, stop in bounds]


# Ranks run these functions. Workers have rapidsgraph, but maybe not this file: if it is run as a
# script, its functions are pickled by value.


def _compute_statistics(
    communicator: Any, report: Any, partition: Any, rows: Any
) -> tuple[None, dict[str, Any]]:
    """Return the counts of roles and clusters, and the modularity, of all ranks.

    The modularity is Newman's, in which a vertex of no cluster is a cluster of its own.
    """
    from rapidsgraph.graph.csr import row_indices

    xp, adjacency = partition.xp, partition.local_adjacency
    clusters = rows["cluster"].fillna(-1).astype("int32").values
    own, clusters = clusters, communicator.all_gather(clusters)
    num_clusters = int(clusters.max()) + 1 if clusters.size else 0
    degrees = xp.diff(adjacency.offsets).astype(float)
    of_sources = own[row_indices(adjacency)]
    is_internal = (of_sources == clusters[adjacency.neighbors]) & (of_sources >= 0)
    is_member = own >= 0
    cluster_degrees = communicator.all_reduce(
        xp.bincount(own[is_member], degrees[is_member], minlength=num_clusters)
    )
    counts = {
        "vertices": own.size,
        "members": int(is_member.sum()),
        "largest": int((own == 0).sum()),  # clusters are numbered by size
        **{f"{role}s": int((rows["role"] == role).sum()) for role in ("core", "hub", "outlier")},
        "arcs": adjacency.neighbors.size,
        "internal_arcs": int(is_internal.sum()),
        "squares_unclustered": float((degrees[~is_member] ** 2).sum()),
    }
    by_rank = communicator.all_gather_object(counts)
    total = {name: sum(rank_counts[name] for rank_counts in by_rank) for name in counts}
    arcs = max(total["arcs"], 1)
    squares = float((cluster_degrees**2).sum()) + total["squares_unclustered"]
    return None, {
        "clusters": num_clusters,
        "largest": total["largest"],
        "clustered": total["members"] / max(total["vertices"], 1),
        **{name: total[name] for name in ("cores", "hubs", "outliers")},
        "modularity": total["internal_arcs"] / arcs - squares / arcs**2,
    }


def _assign_degrees(communicator: Any, report: Any, partition: Any, rows: Any) -> tuple:
    from rapidsgraph.distributed.storage import finish_frame

    degrees = partition.xp.diff(partition.local_adjacency.offsets)
    return finish_frame(communicator, rows.assign(degree=degrees))


def _select_clusters_and_hubs(
    roles: Any,
) -> tuple[list[tuple[int, list[int], pandas.DataFrame]], pandas.DataFrame]:
    """Return (number, [cores, borders], members) of large clusters, and the hubs, by degree."""
    import dask

    large = roles[roles["cluster"].fillna(NUM_CLUSTERS) < NUM_CLUSTERS]
    counts = compute_pandas(large.groupby(["cluster", "role"]).size())
    numbers = sorted({int(number) for number, _ in counts.index})
    members = [
        large[large["cluster"] == number].nlargest(NUM_MEMBERS, "degree") for number in numbers
    ]
    hubs = roles[roles["role"] == "hub"].nlargest(NUM_HUBS, "degree")
    *members, hubs = dask.compute(*(series.to_backend("pandas") for series in [*members, hubs]))
    sizes = [
        [int(counts.get((number, role), 0)) for role in ("core", "border")] for number in numbers
    ]
    return list(zip(numbers, sizes, members)), hubs


def _plot_matrix(
    frame: Any, roles: Any, graph: Any, has_clusters: bool, run: PipelineRun
) -> Path | None:
    """Plot the adjacency matrix, unless there are no clusters or the graph is too large."""
    if not has_clusters:
        run.record("plots", matrix="omitted: no cluster was found")
        return None
    if graph.num_edges > MAX_PLOTTED or graph.num_vertices > MAX_PLOTTED:
        run.record("plots", matrix=f"omitted: more than {MAX_PLOTTED:,} edges or vertices")
        return None
    edges, clusters = compute_pandas(frame), compute_pandas(roles.drop(columns="degree"))
    rg.plot.adjacency(edges, clusters, run.folder / "matrix.png")
    return run.folder / "matrix.png"


if __name__ == "__main__":
    app()
