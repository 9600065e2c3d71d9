"""Run the tasks of LDBC Graphalytics on a graph in its file format, and validate the results.

    python pipelines/graphalytics.py GRAPH.properties --output FOLDER [--engine ENGINE]
        [--reference FOLDER] [--task TASK ...]

Reads the vertices (`.v`) and edges (`.e`) that the properties name, and writes a file for each
task, such as `example-directed-BFS`, with a line "vertex value" for each vertex. With --reference,
results are compared with those of files of the same names by the rules of the benchmark
(https://arxiv.org/abs/2011.15028): BFS and CDLP must be equal, components of WCC equivalent, and
values of PR, LCC and SSSP within 0.01 % of the reference. All tasks run;
if one does not match, the results are kept, and the exit code is 1.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when run as a script

from rapidsgraph.signals import exit_on_signals

if __name__ == "__main__":
    exit_on_signals()  # before the imports that take time

import numpy as np
import pandas as pd
import typer

import rapidsgraph as rg
from rapidsgraph.atomic import replacing_folder
from rapidsgraph.cli.app import command, print_rows
from rapidsgraph.device import Device
from rapidsgraph.io.tables import read_errors
from rapidsgraph.io.writers import resolve_destination

UNREACHED = 2**63 - 1  # distance of BFS
EPSILON = 1e-4  # largest difference relative to the reference
Engine = StrEnum("Engine", "cpu gpu dask frames")
TaskName = StrEnum("TaskName", {name: name for name in ["BFS", "PR", "WCC", "CDLP", "LCC", "SSSP"]})

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass
class Properties:
    """The properties of a graph.

    Attributes
    ----------
    path : Path
        The file that holds them.
    name : str
    parameters : dict from str to str
        Such as ``"bfs.source-vertex"``, and ``"algorithms"``, a list of names.
    """

    path: Path
    name: str
    parameters: dict[str, str]

    def get(self, key: str) -> str:
        """Return a parameter; raise GraphError if there is none."""
        if key not in self.parameters:
            raise rg.GraphError(
                f"{self.path}: the properties of {self.name} have no {key}",
                parameter=key, path=self.path,
            )  # fmt: skip
        return self.parameters[key]

    def get_number(self, key: str, convert: type[int] | type[float]) -> Any:
        """Return a parameter as an integer or a float."""
        value = self.get(key)
        try:
            return convert(value)
        except ValueError:
            number = "an integer" if convert is int else "a number"
            raise self.error(key, f"it must be {number}") from None

    def error(self, key: str, problem: str) -> rg.GraphError:
        """Return the error for the value of a parameter."""
        value = self.parameters[key]
        return rg.GraphError(
            f"{self.path}: graph.{self.name}.{key} is {value!r}; {problem}",
            parameter=key, value=value, path=self.path,
        )  # fmt: skip

    @property
    def vertices(self) -> Path:
        """The file of vertices."""
        return self.path.parent / self.get("vertex-file")

    @property
    def edges(self) -> Path:
        """The file of edges."""
        return self.path.parent / self.get("edge-file")

    @property
    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        value = self.get("directed").lower()
        if value not in ("true", "false"):
            raise self.error("directed", "it must be true or false")
        return value == "true"

    @property
    def has_weights(self) -> bool:
        """Whether edges have weights: of their properties, the first, which `.e` has third."""
        return bool(self.parameters.get("edge-properties.names", "").strip())

    def check_weights(self) -> None:
        """Raise GraphError if SSSP has to use another property of edges than the first."""
        key = "sssp.weight-property"
        first = self.parameters.get("edge-properties.names", "").split(",")[0].strip()
        if first and self.parameters.get(key, first) != first:
            raise self.error(key, f"it must be the first of edge-properties.names, {first!r}")

    def check_count(self, key: str, count: int, path: Path) -> None:
        """Raise GraphError if a parameter is another number than that of the rows of a file."""
        expected = self.parameters.get(key)
        if expected is not None and expected != str(count):
            raise rg.GraphError(
                f"{path}: the file has {count:,} rows, and the properties of {self.name} have "
                f"{key} = {expected}",
                path=path,
                value=count,
            )

    @property
    def tasks(self) -> list[TaskName]:
        """The tasks that the properties list."""
        names = [name.strip() for name in self.get("algorithms").split(",")]
        for name in names:
            if name.upper() not in list(TaskName):
                known = ", ".join(TaskName).lower()
                raise self.error("algorithms", f"{name!r} is none of {known}")
        return [task for task in TaskName if task in {name.upper() for name in names}]


def read_properties(path: Path) -> Properties:
    """Read a `.properties` file: lines "graph.NAME.key = value", and comments."""
    with read_errors(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    values: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        key, separator, value = map(str.strip, line.partition("="))
        if not separator:
            raise rg.GraphError(f"{path}, line {number}: there is no '=' in {key!r}", path=path)
        if key in values:
            raise rg.GraphError(
                f"{path}, line {number}: the key {key} has a value already",
                parameter=key,
                path=path,
            )
        values[key] = value
    start, end = "graph.", ".vertex-file"
    names = [
        key.removeprefix(start).removesuffix(end)
        for key in values
        if key.startswith(start) and key.endswith(end) and len(key) > len(start + end)
    ]
    if len(names) != 1:
        raise rg.GraphError(
            f"{path}: {len(names)} lines 'graph.NAME{end} = FILE'; there must be one", path=path
        )
    prefix = f"graph.{names[0]}."
    for key in values:
        if not key.startswith(prefix):
            raise rg.GraphError(
                f"{path}: the key {key} must begin with {prefix}", parameter=key, path=path
            )
    own = {key.removeprefix(prefix): value for key, value in values.items()}
    properties = Properties(path, names[0], own)
    for key in ("vertex-file", "edge-file"):
        if not properties.get(key):
            raise properties.error(key, "name a file")
    _ = properties.is_directed  # reported before the files are read
    properties.check_weights()
    return properties


def read_edges(properties: Properties, device: Device) -> Any:
    """Read the edges of a graph: columns `source`, `destination` and, with weights, `weight`."""
    path, weight = properties.edges, "weight" if properties.has_weights else None
    with read_errors(path), path.open("rb") as file:
        is_blank = not any(line.strip() for line in file)  # ends at the first edge or comment
    edges = create_edges(weight, device) if is_blank else _read_edges(properties, weight, device)
    properties.check_count("meta.edges", len(edges), path)
    return edges


def create_edges(weight: str | None, device: Device) -> Any:
    """Return the edges of a graph without edges."""
    types = {"source": "int64", "destination": "int64"}
    types |= {} if weight is None else {weight: "float64"}
    edges = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in types.items()})
    if device == "gpu":
        import cudf

        edges = cudf.from_pandas(edges)
    return edges


def _read_edges(properties: Properties, weight: str | None, device: Device) -> Any:
    path = properties.edges
    try:
        edges = rg.read_edges(path, weight=weight, format="snap", device=device)
    except rg.GraphError as error:
        if weight is None or error.column != weight or error.hint is None:
            raise
        hint = f"{properties.name} has weights by its property edge-properties.names"
        raise error.with_fields(hint=hint) from error
    if weight is not None and weight not in edges.columns:
        raise rg.GraphError(
            f"{path}: there is no third column, but {properties.name} has weights by its property "
            "edge-properties.names",
            path=path,
            column=weight,
        )
    check_ids(edges, ["source", "destination"], path)
    return edges


def read_vertices(properties: Properties, device: Device) -> Any:
    """Read the vertices of a graph: column `vertex`."""
    path = properties.vertices
    vertices = rg.read_vertices(path, format="snap", device=device)
    check_ids(vertices, ["vertex"], path)
    properties.check_count("meta.vertices", len(vertices), path)
    return vertices


def read_reference(path: Path) -> pd.DataFrame:
    """Read a result: columns `vertex`, and `value` as text."""
    rows = rg.read_vertices(
        path, names=["vertex", "value"], text_columns=["value"], format="snap", device="cpu"
    )
    check_ids(rows, ["vertex"], path)
    return rows


def check_ids(rows: Any, columns: Sequence[str], path: Path) -> None:
    """Raise GraphError unless vertex names are integers; all are text if one is not."""
    for column in columns:
        names = rows[column]
        if names.dtype.kind == "i":
            continue
        names = names.to_pandas() if hasattr(names, "to_pandas") else names
        is_integer = names.astype(str).str.fullmatch("[+-]?[0-9]{1,18}").to_numpy(bool)
        if is_integer.all():
            continue
        row = int(is_integer.argmin())
        raise rg.GraphError(
            f"{path}: {column} {names[row]!r} in row {row} is not an integer of 64 bits",
            path=path,
            row=row,
            column=column,
            value=names[row],
        )


def check_vertices(edges: Any, vertices: Any, properties: Properties) -> None:
    """Raise GraphError if an end of an edge is not a vertex of the graph."""
    for column in ("source", "destination"):
        is_absent = ~edges[column].isin(vertices["vertex"]).to_numpy()
        if is_absent.any():
            row = int(is_absent.argmax())
            source, destination = edges["source"][row], edges["destination"][row]
            raise rg.VertexNotFoundError(
                f"{properties.edges}: vertex {edges[column][row]} of the edge {source} "
                f"{destination} is not in {properties.vertices}",
                column=column, row=row, value=int(edges[column][row]), path=properties.edges,
            )  # fmt: skip


class Workload:
    """The graphs of the tasks on an engine: without weights, and with them for SSSP."""

    def __init__(self, properties: Properties, engine: Engine) -> None:
        self.properties, self.method = properties, "frames" if engine == Engine.frames else "auto"
        device: Device = "gpu" if engine == Engine.gpu else "cpu"
        self._edges = read_edges(properties, device)
        self._vertices = read_vertices(properties, device)
        check_vertices(self._edges, self._vertices, properties)
        if engine == Engine.dask:
            import dask.dataframe
            from distributed import get_client

            count = len(get_client().nthreads())
            self._edges = dask.dataframe.from_pandas(self._edges, npartitions=count)
        self._graphs: dict[str | None, rg.Graph] = {}

    def build_for(self, task: TaskName) -> rg.Graph:
        """Return the graph of a task, which is built once; only SSSP uses weights."""
        weight = "weight" if task == TaskName.SSSP and self.properties.has_weights else None
        if weight not in self._graphs:
            try:
                self._graphs[weight] = rg.Graph(
                    self._edges, weight=weight, directed=self.properties.is_directed,
                    vertices=self._vertices,
                )  # fmt: skip
            except rg.GraphError as error:
                if weight is None or error.column != weight:
                    raise
                path, hint = self.properties.edges, "--task names tasks that ignore weights"
                raise rg.GraphError(
                    f"{path}: {error.with_fields(hint=hint)}",
                    path=path, row=error.row, column=weight, value=error.value, hint=hint,
                ) from error  # fmt: skip
        return self._graphs[weight]


def run_bfs(work: Workload) -> Any:
    """Return the number of edges from the source."""
    source = work.properties.get_number("bfs.source-vertex", int)
    return rg.bfs(work.build_for(TaskName.BFS), source, predecessors=False, method=work.method)


def run_pagerank(work: Workload) -> Any:
    """Return PageRank after a fixed number of iterations; dangling rank goes to all vertices."""
    return rg.pagerank(
        work.build_for(TaskName.PR),
        damping=work.properties.get_number("pr.damping-factor", float),
        max_iterations=work.properties.get_number("pr.num-iterations", int),
        tolerance=0, method=work.method, progress=False,
    )  # fmt: skip


def run_components(work: Workload) -> Any:
    """Return weak components."""
    return rg.connected_components(work.build_for(TaskName.WCC), method=work.method)


def run_label_propagation(work: Workload) -> Any:
    """Return the labels after at most the given number of iterations."""
    iterations = work.properties.get_number("cdlp.max-iterations", int)
    graph = work.build_for(TaskName.CDLP)
    return rg.label_propagation(graph, iterations=iterations, method=work.method)


def run_clustering(work: Workload) -> Any:
    """Return local clustering coefficients."""
    return rg.clustering_coefficient(work.build_for(TaskName.LCC), method=work.method)


def run_shortest_paths(work: Workload) -> Any:
    """Return the weight of shortest paths from the source."""
    source = work.properties.get_number("sssp.source-vertex", int)
    graph = work.build_for(TaskName.SSSP)
    return rg.sssp(graph, source, predecessors=False, method=work.method)


# Comparison: whether each value matches the reference, by the rules of the benchmark


def are_equal(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return which values equal the reference."""
    return values == reference


def are_close(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return which values differ from the reference by at most 0.01 % of it."""
    with np.errstate(invalid="ignore"):  # the difference of infinities
        is_near = abs(values - reference) <= EPSILON * abs(reference)
    return (values == reference) | (is_near & np.isfinite(reference))


def are_equivalent(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return which values are those that the groups of the reference have first, one to one."""
    is_equivalent = np.ones(values.size, bool)
    for one, other in ((values, reference), (reference, values)):
        _, first, groups = np.unique(one, return_index=True, return_inverse=True)
        is_equivalent &= other == other[first[groups]]
    return is_equivalent


@dataclass
class Task:
    """How a task is run, written and compared."""

    run: Callable[[Workload], Any]
    column: str
    dtype: type
    compare: Callable[[np.ndarray, np.ndarray], np.ndarray]
    keys: dict[str, str] = field(default_factory=dict)  # of properties, by parameter of the call


TASKS = {
    TaskName.BFS: Task(run_bfs, "distance", np.int64, are_equal, {"source": "bfs.source-vertex"}),
    TaskName.PR: Task(
        run_pagerank, "pagerank", np.float64, are_close,
        {"damping": "pr.damping-factor", "max_iterations": "pr.num-iterations"},
    ),
    TaskName.WCC: Task(run_components, "component", np.int64, are_equivalent),
    TaskName.CDLP: Task(
        run_label_propagation, "label", np.int64, are_equal,
        {"iterations": "cdlp.max-iterations"},
    ),
    TaskName.LCC: Task(run_clustering, "coefficient", np.float64, are_close),
    TaskName.SSSP: Task(
        run_shortest_paths, "distance", np.float64, are_close, {"source": "sssp.source-vertex"}
    ),
}  # fmt: skip


def run_task(name: TaskName, work: Workload) -> pd.DataFrame:
    """Return the result of a task: columns `vertex` and `value`, sorted by vertex."""
    task = TASKS[name]
    try:
        result = task.run(work)
    except rg.GraphError as error:
        key = task.keys.get(error.parameter or "")
        if key is None:
            raise
        path = work.properties.path
        error = error.with_fields(parameter=f"graph.{work.properties.name}.{key}")
        raise rg.GraphError(
            f"{path}: {error}", parameter=key, value=error.value, path=path
        ) from error
    result = result.compute() if hasattr(result, "compute") else result
    result = result.to_pandas() if hasattr(result, "to_pandas") else result
    values = result[task.column]
    values = values.astype("Int64").fillna(UNREACHED) if name == TaskName.BFS else values
    return pd.DataFrame({"vertex": result["vertex"], "value": values.to_numpy(task.dtype)})


def write_result(result: pd.DataFrame, path: Path) -> None:
    """Write lines "vertex value"; an infinite value is "infinity"."""
    if result["value"].dtype.kind == "f" and not np.isfinite(result["value"]).all():
        is_finite = np.isfinite(result["value"])
        result = result.assign(value=result["value"].astype(object).where(is_finite, "infinity"))
    result.to_csv(path, sep=" ", header=False, index=False)


def parse_values(reference: pd.DataFrame, dtype: type, path: Path) -> np.ndarray:
    """Return the values of a reference as numbers."""
    values = reference["value"].to_numpy(object)
    try:
        return values.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        for row, value in enumerate(values):
            try:
                values[row : row + 1].astype(dtype)
            except (ValueError, TypeError, OverflowError):
                number = "an integer" if dtype is np.int64 else "a number"
                raise rg.GraphError(
                    f"{path}: the value {value!r} of vertex {reference['vertex'][row]} is not "
                    f"{number}",
                    row=row, value=value, path=path,
                ) from None  # fmt: skip
        raise


def validate(name: TaskName, result: pd.DataFrame, path: Path) -> None:
    """Raise VerificationError unless a result matches the reference in a file."""
    reference = read_reference(path).sort_values("vertex", ignore_index=True)
    result = result.sort_values("vertex", ignore_index=True)
    if not np.array_equal(reference["vertex"], result["vertex"]):
        raise rg.VerificationError(f"{name}: the vertices are not those of {path}")
    task = TASKS[name]
    expected = parse_values(reference, task.dtype, path)
    is_match = task.compare(result["value"].to_numpy(), expected)
    if not is_match.all():
        row = int(is_match.argmin())
        raise rg.VerificationError(
            f"{name}: {np.count_nonzero(~is_match):,} of {is_match.size:,} values do not match "
            f"{path}; the first is {result['value'][row]} for vertex {result['vertex'][row]}, "
            f"where the reference has {expected[row]}",
            row=row,
            value=result["value"][row].item(),
        )


@contextmanager
def start_workers(engine: Engine, workers: int | None) -> Iterator[None]:
    """Start a cluster on this machine for the engine that needs one."""
    if engine == Engine.dask:
        with rg.cluster("cpu", workers):
            yield
    else:
        yield


def find_references(
    graph: Properties, names: Sequence[TaskName], folder: Path | None, are_required: bool
) -> dict[TaskName, Path]:
    """Return the files in a folder that tasks are validated with; some may be missing."""
    if folder is None:
        if are_required:
            raise typer.BadParameter("give --reference, too", param_hint="--require-references")
        return {}
    if not folder.is_dir():
        raise rg.GraphError(f"{folder}: there is no such folder", path=folder)
    paths = {name: folder / f"{graph.name}-{name}" for name in names}
    missing = [path for path in paths.values() if not path.is_file()]
    if missing and are_required:
        raise rg.GraphError(f"{missing[0]}: there is no such file", path=missing[0])
    return {name: path for name, path in paths.items() if path not in missing}


def _check_output(output: Path) -> None:
    if not output.parent.is_dir():
        raise rg.GraphError(
            f"{output}: the folder {output.parent} does not exist; create it first", path=output
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise rg.GraphError(f"{output}: there are files already; name another folder", path=output)


@command(app)
def graphalytics(
    properties: Annotated[
        Path, typer.Argument(metavar="GRAPH.properties", show_default=False, help="Of the graph.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="New folder for the results.")
    ],
    engine: Annotated[Engine, typer.Option(help="What runs the tasks.")] = Engine.cpu,
    reference: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Validate with the files of this folder.")
    ] = None,
    require_references: Annotated[
        bool,
        typer.Option("--require-references", help="Fail if --reference lacks the file of a task."),
    ] = False,
    task: Annotated[
        list[TaskName] | None,
        typer.Option(
            case_sensitive=False, help="Run this task; repeatable. By default those of the graph."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Workers of the engine dask.")
    ] = None,
) -> None:
    """Run the tasks of LDBC Graphalytics on a graph, and validate the results."""
    graph = read_properties(properties)
    names = task or graph.tasks
    references = find_references(graph, names, reference, require_references)
    rows, mismatches = [], []
    with (
        replacing_folder(resolve_destination(output), _check_output) as folder,
        start_workers(engine, workers),
    ):
        start = time.perf_counter()
        work = Workload(graph, engine)
        rows.append(("read", f"{time.perf_counter() - start:.3f}", ""))
        start = time.perf_counter()
        for name in names:
            work.build_for(name)
        rows.append(("build", f"{time.perf_counter() - start:.3f}", ""))
        for name in names:
            start = time.perf_counter()
            result = run_task(name, work)
            seconds = f"{time.perf_counter() - start:.3f}"
            write_result(result, folder / f"{graph.name}-{name}")
            check = "" if reference is None else "not validated"
            if name in references:
                check = "valid"
                try:
                    validate(name, result, references[name])
                except rg.VerificationError as error:  # the other tasks are of use
                    check = "wrong"
                    mismatches.append(str(error))
            rows.append((str(name), seconds, check))
    print_rows(zip(("task", "seconds", "check"), zip(*rows)), ("seconds",))
    if mismatches:
        raise rg.VerificationError("; ".join(mismatches))


if __name__ == "__main__":
    app()
