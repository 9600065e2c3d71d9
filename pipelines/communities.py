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
            graph = storage_of(rg.Graph(frame, directed=False, self_loops="drop"))
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
    executor = graph.executor
    rows = executor.compute_partitions(rg.scan(graph, epsilon=epsilon, mu=mu))
    clusters = executor.submit(_clusters_by_id, rows, name="clusters")
    counts = [
        executor.submit(
            _count_partition,
            graph.partitions()[index],
            partition_rows,
            clusters,
            name="count",
            worker=index,
        )
        for index, partition_rows in zip(_nonempty_partitions(graph), rows)
    ]
    total = executor.tree_reduce(_add_counts, counts, "add-counts")
    return executor.gather([executor.submit(_to_statistics, total, name="statistics")])[0]


def add_degrees(graph: Any, roles: Any) -> Any:
    """Return the Dask frame of `scan` with a column `degree`."""
    executor, partitions = graph.executor, [None] * graph.num_partitions
    for index, rows in zip(_nonempty_partitions(graph), executor.compute_partitions(roles)):
        partitions[index] = executor.submit(
            _assign_degrees, rows, graph.partitions()[index], name="degrees", worker=index
        )
    return graph.to_dask(partitions)


def _nonempty_partitions(graph: Any) -> list[int]:
    """Return the partitions with vertices, for each of which a result has a partition."""
    bounds = zip(graph.starts, graph.stops)
    return [index for index, (start, stop) in enumerate(bounds) if start < stop]


# Workers run these functions. They have rapidsgraph, but maybe not this file: if it is run as a
# script, its functions are pickled by value.


def _clusters_by_id(rows: Sequence[Any]) -> Any:
    """Return the cluster of each vertex by id, -1 for none."""
    from rapidsgraph.device import array_module

    columns = [each["cluster"].fillna(-1).astype("int32").values for each in rows]
    return array_module(columns[0]).concatenate(columns)


def _count_partition(partition: Any, rows: Any, clusters: Any) -> dict[str, Any]:
    """Return the counts of the vertices of a partition."""
    from rapidsgraph.graph.csr import row_indices

    xp, adjacency = partition.xp, partition.local_adjacency
    own = clusters[partition.local_range]
    degrees = xp.diff(adjacency.offsets).astype(float)
    of_sources = own[row_indices(adjacency)]
    is_internal = (of_sources == clusters[adjacency.neighbors]) & (of_sources >= 0)
    is_member = own >= 0
    cluster_degrees = xp.bincount(
        own[is_member], degrees[is_member], minlength=int(clusters.max()) + 1
    )
    return {
        "vertices": partition.num_local,
        "members": int(is_member.sum()),
        "largest": int((own == 0).sum()),  # clusters are numbered by size
        **{f"{role}s": int((rows["role"] == role).sum()) for role in ("core", "hub", "outlier")},
        "arcs": adjacency.neighbors.size,
        "internal_arcs": int(is_internal.sum()),
        "squares_unclustered": float((degrees[~is_member] ** 2).sum()),
        "cluster_degrees": cluster_degrees,
    }


def _add_counts(*counts: dict[str, Any]) -> dict[str, Any]:
    return {name: sum(each[name] for each in counts) for name in counts[0]}


def _to_statistics(counts: dict[str, Any]) -> dict[str, Any]:
    """Compute Newman's modularity, in which a vertex of no cluster is a cluster of its own."""
    arcs = max(counts["arcs"], 1)
    squares = float((counts["cluster_degrees"] ** 2).sum()) + counts["squares_unclustered"]
    return {
        "clusters": counts["cluster_degrees"].size,
        "largest": counts["largest"],
        "clustered": counts["members"] / max(counts["vertices"], 1),
        **{name: counts[name] for name in ("cores", "hubs", "outliers")},
        "modularity": counts["internal_arcs"] / arcs - squares / arcs**2,
    }


def _assign_degrees(rows: Any, partition: Any) -> Any:
    return rows.assign(degree=partition.xp.diff(partition.local_adjacency.offsets))


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
    *members, hubs = dask.compute(*(each.to_backend("pandas") for each in [*members, hubs]))
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
