"""Run a pipeline: start workers, time steps, write the results folder and its summary.

Results are written to a hidden folder beside the output, which is renamed to the output after the
last step. A run that fails or is interrupted leaves an existing output unchanged. If the workers
run on several machines, all of them must be able to write to the folder.
"""

import json
import logging
import os
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import rapidsgraph as rg
from rapidsgraph.cli.app import print_rows
from rapidsgraph.device import frame_library_problem
from rapidsgraph.layered.atomic_folder import replacing_folder

SUMMARY = "summary.json"  # by which a folder of results is known
PATIENCE = 5  # seconds for a scheduler to answer, and for its first worker

Device = StrEnum("Device", "auto cpu gpu")
EdgesArgument = Annotated[
    Path,
    typer.Argument(metavar="EDGES", show_default=False, help="A Parquet file, or a folder of them"),
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the results.")
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace results that are there, at the end.")
]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, as tcp://host:8786.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Without --scheduler: so many workers on this machine."),
]
DeviceOption = Annotated[
    Device, typer.Option(help="Where workers compute; auto: on GPUs where all have one.")
]
SourceOption = Annotated[str, typer.Option(metavar="COLUMN", help="Where edges begin.")]
DestinationOption = Annotated[str, typer.Option(metavar="COLUMN", help="Where edges end.")]


def number(least, most=None):
    """Return a parser of an option: a number from `least` to `most`, or without an upper limit."""

    def parse(text):
        with suppress(ValueError):
            if least <= float(text) <= (sys.float_info.max if most is None else most):
                return float(text)
        wanted = f"from {least} on" if most is None else f"from {least} to {most}"
        raise typer.BadParameter(f"{text} is no number {wanted}")

    return parse


class Job:
    """Hold the client, the folder, the facts and the step times of a run.

    Attributes
    ----------
    client : distributed.Client
    device : {"cpu", "gpu"}
        Device of the workers.
    folder : Path
        Where results are written; it is renamed to the output at the end.
    facts : dict of dict
        Values of the summary by group and name.
    """

    def __init__(self, name, folder, options):
        self.folder, self.facts, self.seconds = folder, {}, {}
        self.client = self.device = None
        self._about = {"pipeline": name, "options": options, "version": rg.__version__}
        self._bar = _bar()

    @contextmanager
    def step(self, text):
        """Time a step; give a ``report(done, total, text)`` as rapidsgraph takes it."""
        began, task = time.perf_counter(), self._bar.add_task(text, total=None, text="")

        def report(done, total, text=""):
            self._bar.update(task, completed=done, total=total, text=text)

        yield report
        self.seconds[text] = round(time.perf_counter() - began, 3)
        self._bar.remove_task(task)
        if not self._bar.disable:
            self._bar.console.print(f"{text}: {self.seconds[text]:.1f} s", highlight=False)

    def tell(self, group, **facts):
        """Add facts to a group of the summary."""
        self.facts.setdefault(group, {}).update(facts)

    def write(self, frame, name):
        """Write a Dask frame as a folder of Parquet files, one per partition, in order."""
        path = self.folder / name
        path.mkdir(parents=True)  # here: workers would each find that it is missing
        frame.to_parquet(
            str(path),
            write_index=False,
            # A lambda is sent to workers as it is; they may not know this file.
            name_function=lambda place: f"part-{place:05d}.parquet",
        )

    def summary(self):
        """Return the summary."""
        return {**self._about, **self.facts, "seconds": self.seconds}


@contextmanager
def running(name, edges, output, *, overwrite, scheduler, workers, device, **options):
    """Give a Job with workers; at the end, move its results to `output` and print the summary.

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
            "a scheduler has its own workers; leave this or --scheduler out", param_hint="--workers"
        )
    output = output.expanduser()
    options = {"edges": str(edges), "output": str(output), **options}
    began = time.perf_counter()
    with replacing_folder(output, _checked(edges.expanduser(), overwrite)) as folder:
        job = Job(name, folder, options)
        with job._bar, _at_work(job, scheduler, workers, device):
            yield job
        job.seconds["whole run"] = round(time.perf_counter() - began, 3)
        made = {"made": sorted([SUMMARY, *os.listdir(folder)])}
        (folder / SUMMARY).write_text(json.dumps(job.summary() | made, indent=2) + "\n")
    _show(job, output)


def _is_of_results(folder):
    """Return whether a folder contains the results of a pipeline, and nothing else."""
    try:
        made = json.loads((folder / SUMMARY).read_text())["made"]
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return set(os.listdir(folder)) <= set(made)


def _checked(edges, overwrite):
    """Return a function that raises if the output folder may not be replaced."""

    def check(output):
        if not output.parent.is_dir():
            raise rg.GraphError(f"{output}: the folder {output.parent} does not exist; make it")
        if not os.access(output.parent, os.W_OK | os.X_OK):
            raise rg.GraphError(f"{output}: there is no permission to write into {output.parent}")
        read = Path(os.path.realpath(edges))
        if output == read or output in read.parents or read in output.parents:
            raise rg.GraphError(f"{output}: EDGES are read from there; name another folder")
        if not output.exists():
            return
        if not output.is_dir():
            raise rg.GraphError(f"{output}: it is a file; name a folder")
        if any(output.iterdir()):
            if not _is_of_results(output):
                raise rg.GraphError(
                    f"{output}: the folder holds something else than results; name another one"
                )
            if not overwrite:
                raise rg.GraphError(
                    f"{output}: there are results already; give --overwrite or another folder"
                )

    return check


@contextmanager
def _at_work(job, scheduler, workers, device):
    """Set the client and the device of a job, and translate errors of lost workers."""
    before, lost = logging.root.manager.disable, []
    logging.disable(logging.CRITICAL)  # Dask logs at length what is raised here, too
    try:
        with ExitStack() as stack:
            with job.step("workers"):
                manager = _of_scheduler(scheduler) if scheduler else rg.cluster(device, workers)
                job.client = stack.enter_context(manager)
                if scheduler:  # the watch of rg.cluster is its own
                    from rapidsgraph.distributed.monitor import watching

                    lost = stack.enter_context(watching(job.client, close=True))
            job.device = _device_of(job.client, device)
            job.tell("workers", number=len(job.client.nthreads()), device=job.device)
            yield
    except Exception as error:
        if lost:
            raise lost[0] from error
        if _is_of_cluster(error):
            raise rg.GraphError(f"workers or their scheduler were lost: {error}") from error
        raise
    finally:
        logging.disable(before)


def _is_of_cluster(error):
    from distributed import KilledWorker
    from distributed.client import CancelledError
    from distributed.scheduler import NoValidWorkerError, NoWorkerError

    return isinstance(error, (KilledWorker, CancelledError, NoValidWorkerError, NoWorkerError))


@contextmanager
def _of_scheduler(address):
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:  # a timeout is an OSError, too
        raise rg.GraphError(
            f"--scheduler {address}: no Dask scheduler answers there within {PATIENCE} seconds; "
            "give the address that it printed when it started"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise rg.GraphError(
                f"--scheduler {address}: it has no workers; start some with: dask worker {address}"
            ) from error
        yield client


def _device_of(client, device):
    """Return the device that all workers have and --device allows, "cpu" or "gpu"."""
    if device == Device.cpu:
        return "cpu"
    problems = client.run(frame_library_problem)
    missing = next(((worker, why) for worker, why in problems.items() if why), None)
    if missing and device == Device.gpu:
        raise rg.GpuUnavailableError(
            f"--device gpu: the worker {missing[0]} has none: {missing[1]}"
        )
    return "cpu" if missing else "gpu"


def collected(frame):
    """Compute a small Dask frame or series as one of pandas."""
    return frame.to_backend("pandas").compute()


def _bar():
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
        disable=not console.is_interactive,
    )


def _show(job, output):
    """Print the summary: a table on a terminal, tab-separated values in a pipe."""
    rows = [
        (group.replace("_", " "), name.replace("_", " "), _shown(value))
        for group, facts in {**job.facts, "seconds": job.seconds}.items()
        for name, value in facts.items()
    ]
    rows += [("results", path.name, str(output / path.name)) for path in sorted(output.iterdir())]
    groups, names, values = zip(*rows)
    print_rows([("of", groups), ("what", names), ("value", values)], ())


def _shown(value):
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
