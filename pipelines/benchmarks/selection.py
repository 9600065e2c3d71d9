"""The commands that `run.py` can run, and the names of their tasks.

A name is TASK, TASK/GRAPH or TASK/GRAPH/LIBRARY; `*` stands for every graph that a command has by
default.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.benchmarks.adapters.registry import PEERS
from pipelines.benchmarks.harness import LIBRARIES

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Command:
    """A command of this folder.

    Attributes
    ----------
    tasks : dict
        The value of its ``--only`` by the task's name here; None if it has no such option.
    short : dict from device to tuple of str
        Graphs of the short set; () for the command's own.
    takes_graphs : bool
        Whether ``--graphs`` selects them.
    is_default : bool
        Whether it runs unless others are named.
    options : dict from device to tuple of str
        Further arguments of the short set.
    """

    tasks: Mapping[str, str | None]
    short: Mapping[str, tuple[str, ...]]
    takes_graphs: bool = True
    is_default: bool = True
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


COMMANDS = {
    "pagerank": Command(
        {"pagerank": None},
        {"cpu": ("rmat18", "NY"), "gpu": ("rmat22", "grid1400")},
    ),
    "traversal": Command(
        {"bfs": "bfs", "sssp": "sssp", "components": "components"},
        {"cpu": ("rmat18", "NY"), "gpu": ("rmat22", "rmat22u", "grid1400")},
    ),
    "scan": Command(
        {"similarity": "similarity", "scan": "scan", "queries": "queries", "gpuscan": "papers"},
        {"cpu": ("rmat16u", "grid1000"), "gpu": ("rmat22u", "grid1400")},
        options={"cpu": ("--few",), "gpu": ("--few",)},
    ),
    "build": Command({"build": None}, {"cpu": ("rmat18",), "gpu": ("rmat22", "grid1400")}),
    "kim": Command(
        {"kim": None},
        {"cpu": (), "gpu": ()},
        takes_graphs=False,
        options={"gpu": ("--seconds", "25")},
    ),
    "reddy": Command({"reddy": None}, {"cpu": (), "gpu": ()}, takes_graphs=False),
    "layers": Command(
        {
            "layers": "resident",
            "iterations": "iterations",
            "flag": "flag",
            "streamed": "streamed",
            "layered-build": "build",
        },
        {"cpu": (), "gpu": ("grid1400",)},
        options={"gpu": ("--stream-graphs", "uniform21-128")},
    ),
    "scaling": Command(
        {"scaling": None},
        {"cpu": (), "gpu": ()},
        takes_graphs=False,
        options={"cpu": ("--budget", "45"), "gpu": ("--budget", "30")},
    ),
    "frames": Command(
        {"frames": None}, {"cpu": (), "gpu": ()}, takes_graphs=False, is_default=False
    ),
    "cluster": Command(
        {"dask": None}, {"cpu": (), "gpu": ()}, takes_graphs=False, is_default=False
    ),
}
TASKS = {task: name for name, command in COMMANDS.items() for task in command.tasks}


def libraries(command: str, on_gpu: bool) -> tuple[list[str], list[str]]:
    """Return the libraries that a command can run here, and notes on missing ones."""
    if command not in PEERS:
        return [], []
    adapters, notes = PEERS[command](on_gpu)
    return list(dict.fromkeys(["rapidsgraph", *(adapter.library for adapter in adapters)])), notes


@dataclass(frozen=True)
class Group:
    """One process: a command with its tasks, graphs and libraries; () stands for all."""

    command: str
    tasks: tuple[str, ...]
    graphs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def command_line(
        self,
        device: str,
        output: Path,
        quick: bool = False,
        data: Path | None = None,
        full: bool = False,
    ) -> list[str]:
        """Return the command line of the process."""
        command, module = COMMANDS[self.command], FOLDER / f"{self.command}.py"
        line = [sys.executable, str(module), "--device", device, "--output", str(output)]
        only = [value for task in self.tasks if (value := command.tasks[task]) is not None]
        if only and set(self.tasks) != set(command.tasks):
            line += ["--only", ",".join(only)]
        if self.graphs:
            line += ["--graphs", ",".join(self.graphs)]
        if self.libraries:
            line += ["--libraries", ",".join(self.libraries)]
        if data is not None:
            line += ["--data", str(data)]
        if quick:
            return [*line, "--quick"]
        return line if full else [*line, *command.options.get(device, ())]


def select_groups(
    names: Sequence[str], device: str, full: bool = False, quick: bool = False
) -> list[Group]:
    """Return the processes that names select; ValueError names an unknown one."""
    if not names:
        names = [task for task, name in TASKS.items() if COMMANDS[name].is_default]
    selected: dict[tuple[str, str, str], list[str]] = {}
    for name in names:
        task, graph, library, *excess = [*name.split("/"), "", ""][: max(3, name.count("/") + 1)]
        if task not in TASKS or excess:
            raise ValueError(
                f"unknown benchmark {name!r}; a name is TASK/GRAPH/LIBRARY, where TASK is one of "
                f"{', '.join(TASKS)}"
            )
        command = TASKS[task]
        graph = "" if graph == "*" else graph
        library = "" if library == "*" else library
        if graph and not COMMANDS[command].takes_graphs:
            raise ValueError(f"{name!r} names a graph, but {task} has fixed graphs")
        if library and command not in PEERS:
            raise ValueError(f"{name!r} names a library, but {task} always runs all of them")
        if library and library not in LIBRARIES:
            raise ValueError(f"{name!r}: unknown library; known are {', '.join(LIBRARIES)}")
        selected.setdefault((command, graph, library), []).append(task)
    groups = []
    for (command, graph, library), tasks in selected.items():
        short = () if full or quick else COMMANDS[command].short[device]
        libraries = ("rapidsgraph", library) if library else ()
        if library and tasks == ["gpuscan"]:
            libraries += ("serial",)
        graphs = (graph,) if graph else short
        groups.append(Group(command, tuple(dict.fromkeys(tasks)), graphs, libraries))
    return sorted(groups, key=lambda group: list(COMMANDS).index(group.command))
