"""Find communities in edges: compare parameters of SCAN, choose, and report what was found.

    python pipelines/communities.py EDGES --output FOLDER [--scheduler ADDRESS | --workers N]

Reads Parquet and writes a folder: `report.html`, which says it all to a person; `roles/` (Parquet:
vertex, cluster, role, degree), `sweep.csv`, `sweep.png`, `matrix.png` and `summary.json`.

The pair of parameters with the highest modularity is taken; of equals the first. To take a certain
one, give one epsilon and one mu.
"""

import sys
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Annotated

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when run as a script

from rapidsgraph.graph.graph import storage_of
from rapidsgraph.signals import exit_on_signals

if __name__ == "__main__":
    exit_on_signals()  # before the imports that take time

import pandas
import typer

import rapidsgraph as rg
from pipelines import edge_logs, log_files
from pipelines.communities_report import written
from pipelines.runtime import (
    DestinationOption,
    Device,
    DeviceOption,
    EdgesArgument,
    OutputOption,
    OverwriteOption,
    SchedulerOption,
    SourceOption,
    WorkersOption,
    collected,
    running,
)
from rapidsgraph.algorithms.scan import check_epsilon, check_mu
from rapidsgraph.algorithms.scan_index import EPSILONS, MUS
from rapidsgraph.cli.app import command
from rapidsgraph.io import write_frame

MOST_DRAWN = 2_000_000  # edges that are brought here for the picture
ALL_EPSILONS, ALL_MUS = (",".join(map(str, values)) for values in (EPSILONS, MUS))
LARGEST, MEMBERS, HUBS = 10, 8, 20  # clusters in the report, of each so many members; hubs

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def _several(kind, check, wanted):
    """A parser of values with commas between them."""

    def parse(text):
        values = []
        for word in text.split(","):
            try:
                check(kind(word))
            except (ValueError, InvalidOperation, rg.GraphError):
                raise typer.BadParameter(
                    f"{word.strip()!r} is no {wanted}; give some with commas between them"
                ) from None
            values.append(kind(word))
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
            parser=_several(Decimal, check_epsilon, "number above 0, at most 1"),
            metavar="E,E,...",
            help="How similar neighbors must be.",
        ),
    ] = ALL_EPSILONS,
    mus: Annotated[
        list,
        typer.Option(
            parser=_several(int, check_mu, "whole number, at least 1"),
            metavar="N,N,...",
            help="To how many a core is similar.",
        ),
    ] = ALL_MUS,
    scheduler: SchedulerOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = Device.auto,
    overwrite: OverwriteOption = False,
):
    """Find communities by SCAN: compare parameters, choose, report."""
    rg.plot.check()
    files = log_files.opened(edges, source=source, destination=destination)
    options = {"source": source, "destination": destination}
    options |= {"epsilons": [float(epsilon) for epsilon in epsilons], "mus": mus}
    with running(
        "communities", edges, output, overwrite=overwrite, scheduler=scheduler, workers=workers,
        device=device, **options,
    ) as job:  # fmt: skip
        with job.step("cleaning"):
            frame, counts = edge_logs.read(files, job.device)
            frame = frame.rename(columns={source: "source", destination: "destination"})
        job.tell("edges", **counts)
        with job.step("graph"):
            graph = storage_of(rg.Graph(frame, directed=False, self_loops="drop"))
        job.tell("graph", vertices=graph.num_vertices, edges=graph.num_edges)
        with job.step("sweep") as report:
            table = swept(graph, list(product(epsilons, mus)), report)
        choice = int(table["modularity"].argmax())
        with job.step("roles"):
            epsilon, mu = list(product(epsilons, mus))[choice]
            roles = with_degrees(graph, rg.scan(graph, epsilon=epsilon, mu=mu))
            job.write(roles, "roles")
        job.tell("choice", **{name: table[name][choice].item() for name in table})
        with job.step("report"):
            write_frame(table, job.folder / "sweep.csv")
            any_found = bool(table["clusters"][choice])
            matrix = _matrix(frame, roles, graph, any_found, job)
            drawn = {"sweep": job.folder / "sweep.png", "matrix": matrix}
            rg.plot.sweep(table, drawn["sweep"])
            page = written(job.summary(), table, choice, *_found(roles), drawn)
            (job.folder / "report.html").write_text(page, encoding="utf-8")


def swept(graph, pairs, report):
    """A row for each pair of epsilon and mu, with the columns of `ScanIndex.sweep`."""
    rows = []
    for epsilon, mu in pairs:
        report(len(rows), len(pairs), f"epsilon {epsilon}, mu {mu}")
        rows.append({"epsilon": float(epsilon), "mu": mu, **rated(graph, epsilon, mu)})
    return pandas.DataFrame(rows)


def rated(graph, epsilon, mu):
    """Facts of one clustering. On workers are its rows and one number a vertex."""
    executor = graph.executor
    pieces = executor.compute_partitions(rg.scan(graph, epsilon=epsilon, mu=mu))
    clusters = executor.submit(_clusters, pieces, name="clusters")
    tallies = [
        executor.submit(
            _tally, graph.partitions()[place], piece, clusters, name="tally", worker=place
        )
        for place, piece in zip(_filled(graph), pieces)
    ]
    total = executor.tree_reduce(_added, tallies, "add-tallies")
    return executor.gather([executor.submit(_facts, total, name="facts")])[0]


def with_degrees(graph, roles):
    """The Dask frame of scan with a column `degree`."""
    executor, pieces = graph.executor, [None] * graph.num_partitions
    for place, piece in zip(_filled(graph), executor.compute_partitions(roles)):
        part = graph.partitions()[place]
        pieces[place] = executor.submit(_with_degrees, piece, part, name="degrees", worker=place)
    return graph.to_dask(pieces)


def _filled(graph):
    """Places of the parts that have vertices: a result has a partition for each of these."""
    return [
        place for place, (first, stop) in enumerate(zip(graph.starts, graph.stops)) if first < stop
    ]


# These run on workers, which know rapidsgraph but perhaps not this file: run as a script, its
# functions are sent to them.


def _clusters(pieces):
    """The cluster of each vertex by id, -1 for none."""
    from rapidsgraph.device import array_module

    columns = [piece["cluster"].fillna(-1).astype("int32").values for piece in pieces]
    return array_module(columns[0]).concatenate(columns)


def _tally(part, piece, clusters):
    """What the vertices of a part add to the facts."""
    from rapidsgraph.graph.csr import row_indices

    xp, lists = part.xp, part.local_adjacency
    own = clusters[part.local_range]
    degrees = xp.diff(lists.offsets).astype(float)
    of_ends = own[row_indices(lists)]
    inside = (of_ends == clusters[lists.neighbors]) & (of_ends >= 0)
    is_member = own >= 0
    weights = xp.bincount(own[is_member], degrees[is_member], minlength=int(clusters.max()) + 1)
    return {
        "vertices": part.num_local,
        "members": int(is_member.sum()),
        "largest": int((own == 0).sum()),  # clusters are numbered by size
        **{f"{role}s": int((piece["role"] == role).sum()) for role in ("core", "hub", "outlier")},
        "arcs": lists.neighbors.size,
        "inside": int(inside.sum()),
        "alone": float((degrees[~is_member] ** 2).sum()),
        "of_clusters": weights,
    }


def _added(*tallies):
    return {name: sum(tally[name] for tally in tallies) for name in tallies[0]}


def _facts(tally):
    """Modularity is Newman's, a vertex of no cluster being alone."""
    arcs = max(tally["arcs"], 1)
    expected = (float((tally["of_clusters"] ** 2).sum()) + tally["alone"]) / arcs**2
    return {
        "clusters": tally["of_clusters"].size,
        "largest": tally["largest"],
        "clustered": tally["members"] / max(tally["vertices"], 1),
        **{name: tally[name] for name in ("cores", "hubs", "outliers")},
        "modularity": tally["inside"] / arcs - expected,
    }


def _with_degrees(piece, part):
    return piece.assign(degree=part.xp.diff(part.local_adjacency.offsets))


def _found(roles):
    """Of the largest clusters (number, roles counted, first members); the hubs of most degree."""
    import dask

    large = roles[roles["cluster"].fillna(LARGEST) < LARGEST]
    counts = collected(large.groupby(["cluster", "role"]).size())
    numbers = sorted({int(number) for number, _ in counts.index})
    of_each = [large[large["cluster"] == number] for number in numbers]
    first = [members.nlargest(MEMBERS, "degree") for members in of_each]
    hubs = roles[roles["role"] == "hub"].nlargest(HUBS, "degree")
    *first, hubs = dask.compute(*(each.to_backend("pandas") for each in [*first, hubs]))
    sizes = [
        [int(counts.get((number, role), 0)) for role in ("core", "border")] for number in numbers
    ]
    return list(zip(numbers, sizes, first)), hubs


def _matrix(frame, roles, graph, any_found, job):
    """Draw the adjacency matrix; None without clusters, and where the graph is too large."""
    if not any_found:
        job.tell("pictures", matrix="not drawn: no cluster was found")
        return None
    if graph.num_edges > MOST_DRAWN or graph.num_vertices > MOST_DRAWN:
        job.tell("pictures", matrix=f"not drawn: more than {MOST_DRAWN:,} edges or vertices")
        return None
    edges, found = collected(frame), collected(roles.drop(columns="degree"))
    rg.plot.adjacency(edges, found, job.folder / "matrix.png")
    return job.folder / "matrix.png"


if __name__ == "__main__":
    app()
