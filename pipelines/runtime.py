"""Run a pipeline: start workers, time steps, write the results folder and its summary.

Results are written to a hidden folder beside the output, which is renamed to the output after the
last step. A run that fails or is interrupted leaves an existing output unchanged. If the workers
run on several machines, all of them must be able to write to the folder.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import rapidsgraph as rg
from rapidsgraph.atomic import replacing_folder
from rapidsgraph.cli.app import print_rows
from rapidsgraph.cli.messages import is_quiet
from rapidsgraph.device import frame_library_problem
from rapidsgraph.io.writers import resolve_destination
from rapidsgraph.validation import DEFAULT_WEIGHT

if TYPE_CHECKING:
    from distributed import Client
    from rich.progress import Progress

SUMMARY = "summary.json"  # identifies a folder of results
TIMEOUT = 5  # seconds for a scheduler to answer, and for its first worker

Device = StrEnum("Device", "auto cpu gpu")
EdgesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="EDGES", show_default=False, help="A Parquet file, or a folder of Parquet files."
    ),
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the results.")
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing results after the last step.")
]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Number of workers on this machine, without --scheduler."
    ),
]
DeviceOption = Annotated[
    Device, typer.Option(help="Device of the workers; auto: GPUs if every worker has one.")
]
SourceOption = Annotated[str, typer.Option(metavar="COLUMN", help="Column of sources.")]
DestinationOption = Annotated[str, typer.Option(metavar="COLUMN", help="Column of destinations.")]
WeightOption = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Column of weights. By default weight, if it exists; any other one must exist.",
    ),
]
UnweightedOption = Annotated[bool, typer.Option("--unweighted", help="Ignore weights.")]


def weight_argument(weight: str, unweighted: bool) -> str | None:
    """Return the parameter `weight` of the library from --weight and --unweighted."""
    if unweighted and weight != DEFAULT_WEIGHT:
        raise typer.BadParameter("leave out this or --weight", param_hint="--unweighted")
    return None if unweighted else weight


def parse_number(minimum: float, maximum: float | None = None) -> Callable[[str], float]:
    """Return an option's parser of numbers from `minimum` to `maximum`."""

    def parse(text: str) -> float:
        with suppress(ValueError):
            if minimum <= float(text) <= (sys.float_info.max if maximum is None else maximum):
                return float(text)
        bounds = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise typer.BadParameter(f"{text} is not a number {bounds}")

    return parse


class PipelineRun:
    """Hold the client, the results folder, the summary and the step times of a run.

    Attributes
    ----------
    client : distributed.Client
    device : {"cpu", "gpu"}
        Device of the workers.
    folder : Path
        Folder of the results, renamed to the output after the last step.
    facts : dict of dict
        Values of the summary by group and name.
    """

    client: Client
    device: str

    def __init__(self, name: str, folder: Path, options: dict[str, Any]) -> None:
        self.folder = folder
        self.facts: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.progress = _step_progress()
        self._header = {"pipeline": name, "options": options, "version": rg.__version__}

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[..., None]]:
        """Time a step; yield a callable for the parameter `progress` of rapidsgraph."""
        start, task = time.perf_counter(), self.progress.add_task(name, total=None, text="")

        def report(done: int, total: int | None, text: str = "") -> None:
            self.progress.update(task, completed=done, total=total, text=text)

        yield report
        self.seconds[name] = round(time.perf_counter() - start, 3)
        self.progress.remove_task(task)
        if not self.progress.disable:
            self.progress.console.print(f"{name}: {self.seconds[name]:.1f} s", highlight=False)

    def record(self, group: str, **facts: Any) -> None:
        """Add facts to a group of the summary."""
        self.facts.setdefault(group, {}).update(facts)

    def write_parquet(self, frame: Any, name: str) -> None:
        """Write a Dask frame as a folder of Parquet files, one per partition, in order."""
        path = self.folder / name
        path.mkdir(parents=True)  # here, because workers would create it concurrently
        frame.to_parquet(
            str(path),
            write_index=False,
            # A lambda is pickled by value; workers may not have this module.
            name_function=lambda index: f"part-{index:05d}.parquet",
        )

    def summary(self) -> dict[str, Any]:
        """Return the summary."""
        return {**self._header, **self.facts, "seconds": self.seconds}


@contextmanager
def run_pipeline(
    name: str,
    edges: Path,
    output: Path,
    *,
    overwrite: bool,
    scheduler: str | None,
    workers: int | None,
    device: str,
    **options: Any,
) -> Iterator[PipelineRun]:
    """Yield a run with workers; at the end, rename its results to `output` and print the summary.

    Parameters
    ----------
    name : str
    edges, output : path
        The input, and the folder for the results.
    overwrite : bool
    scheduler, workers, device
        Values of the command-line options.
    **options
        Further options, for the summary.

    Raises
    ------
    GraphError
        The output may not be replaced, or no workers are available.
    """
    if scheduler and workers:
        raise typer.BadParameter(
            "a scheduler has its own workers; leave out this or --scheduler", param_hint="--workers"
        )
    output = output.expanduser()
    options = {"edges": str(edges), "output": str(output), **options}
    start = time.perf_counter()
    check = _output_check(edges.expanduser(), overwrite)
    with replacing_folder(resolve_destination(output), check) as folder:
        run = PipelineRun(name, folder, options)
        with run.progress, _connected(run, scheduler, workers, device):
            yield run
        run.seconds["total"] = round(time.perf_counter() - start, 3)
        files = {"files": sorted([SUMMARY, *os.listdir(folder)])}
        (folder / SUMMARY).write_text(json.dumps(run.summary() | files, indent=2) + "\n")
    _print_summary(run, output)


def _has_results_only(folder: Path) -> bool:
    """Return whether a folder contains the results of a pipeline, and nothing else."""
    try:
        files = json.loads((folder / SUMMARY).read_text())["files"]
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return set(os.listdir(folder)) <= set(files)


def _output_check(edges: Path, overwrite: bool) -> Callable[[Path], None]:
    """Return a function that raises if the output folder may not be replaced."""

    def check(output: Path) -> None:
        def error(problem: str) -> rg.GraphError:
            return rg.GraphError(f"{output}: {problem}", parameter="--output", path=output)

        if not output.parent.is_dir():
            raise error(f"the folder {output.parent} does not exist; create it")
        if not os.access(output.parent, os.W_OK | os.X_OK):
            raise error(f"there is no permission to write into {output.parent}")
        source = Path(os.path.realpath(edges))
        if output == source or output in source.parents or source in output.parents:
            raise error("it contains EDGES, or is in their folder; name another folder")
        if not output.exists():
            return
        if not output.is_dir():
            raise error("it is a file; name a folder")
        if any(output.iterdir()):
            if not _has_results_only(output):
                raise error("the folder holds files that are not results; name another folder")
            if not overwrite:
                raise error("there are results already; give --overwrite or another folder")

    return check


@contextmanager
def _connected(
    run: PipelineRun, scheduler: str | None, workers: int | None, device: str
) -> Iterator[None]:
    """Set the client and the device of a run, and translate errors of lost workers."""
    disabled_level = logging.root.manager.disable
    lost: list[rg.ClusterError] = []
    logging.disable(logging.CRITICAL)  # Dask logs at length what is raised here
    try:
        with ExitStack() as stack:
            with run.step("workers"):
                manager = _connect(scheduler) if scheduler else rg.cluster(device, workers)
                run.client = stack.enter_context(manager)
                if scheduler:  # rg.cluster monitors its own
                    from rapidsgraph.distributed.monitor import watching

                    lost = stack.enter_context(watching(run.client, close=True))
            run.device = _common_device(run.client, device)
            run.record("workers", number=len(run.client.nthreads()), device=run.device)
            yield
    except Exception as error:
        if lost:
            raise lost[0] from error
        if _is_cluster_error(error):
            raise rg.ClusterError(f"workers or their scheduler were lost: {error}") from error
        raise
    finally:
        logging.disable(disabled_level)


def _is_cluster_error(error: Exception) -> bool:
    from distributed import KilledWorker
    from distributed.client import CancelledError
    from distributed.scheduler import NoValidWorkerError, NoWorkerError

    return isinstance(error, (KilledWorker, CancelledError, NoValidWorkerError, NoWorkerError))


@contextmanager
def _connect(address: str) -> Iterator[Client]:
    """Yield a client of a running scheduler that has workers."""
    from distributed import Client

    try:
        client = Client(address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:  # a timeout is an OSError, too
        raise rg.ClusterError(
            f"--scheduler {address}: no Dask scheduler answers there within {TIMEOUT} seconds; "
            "give the address that it printed when it started",
            parameter="--scheduler",
            value=address,
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError as error:
            raise rg.ClusterError(
                f"--scheduler {address}: it has no workers; start some with: dask worker {address}",
                parameter="--scheduler",
                value=address,
            ) from error
        yield client


def _common_device(client: Client, device: str) -> str:
    """Return the device that all workers have and --device allows, "cpu" or "gpu"."""
    if device == Device.cpu:
        return "cpu"
    problems = client.run(frame_library_problem)
    failure = next(((worker, text) for worker, text in problems.items() if text), None)
    if failure and device == Device.gpu:
        raise rg.GpuUnavailableError(
            f"--device gpu: worker {failure[0]} cannot use a GPU: {failure[1]}",
            parameter="--device",
        )
    return "cpu" if failure else "gpu"


def compute_pandas(frame: Any) -> Any:
    """Compute a small Dask frame or series as one of pandas."""
    return frame.to_backend("pandas").compute()


def _step_progress() -> Progress:
    """Return a progress line of the current step, shown on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=is_quiet() or not console.is_interactive,
    )


def _print_summary(run: PipelineRun, output: Path) -> None:
    """Print the summary: a table on a terminal, tab-separated values in a pipe."""
    rows = [
        (group.replace("_", " "), name.replace("_", " "), _format(value))
        for group, facts in {**run.facts, "seconds": run.seconds}.items()
        for name, value in facts.items()
    ]
    rows += [("results", path.name, str(output / path.name)) for path in sorted(output.iterdir())]
    groups, names, values = zip(*rows)
    print_rows([("group", groups), ("name", names), ("value", values)], ())


def _format(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
