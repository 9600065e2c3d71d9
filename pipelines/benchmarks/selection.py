"""What run.py can run: the commands of this folder by the names of what they measure.

A name is TASK, TASK/GRAPH or TASK/GRAPH/LIBRARY; `*` is every graph that a command has by default.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.benchmarks.command import LIBRARIES

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Command:
    """A command of this folder.

    Attributes
    ----------
    tasks : {name here: what its --only calls it, or None where it has no such option}
    short : {device: graphs of the short set; () for the command's own}
    by_graph : bool
        Whether --graphs picks them.
    default : bool
        Whether it runs unasked.
    options : {device: more of the short set}
    """

    tasks: dict
    short: dict
    by_graph: bool = True
    default: bool = True
    options: dict = field(default_factory=dict)

    def contenders(self, module, on_gpu):
        """Names of libraries that can run here, and what is said of others."""
        notes = []
        if hasattr(module, "builders"):
            found = module.builders(on_gpu, notes)
        elif hasattr(module, "cpu_peers"):
            from pipelines.benchmarks import gpu

            of_gpu = {"pagerank": "gpu_peers", "traversal": "gpu_searchers", "scan": "gpu_counters"}
            name = of_gpu[module.__name__.rpartition(".")[2]]
            found, notes = getattr(gpu, name)() if on_gpu else module.cpu_peers()
        else:
            return [], []
        own = {"rapidsgraph": None}
        return list(own | {one.library: None for one in found}), notes


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
        by_graph=False,
        options={"gpu": ("--seconds", "25")},
    ),
    "reddy": Command({"reddy": None}, {"cpu": (), "gpu": ()}, by_graph=False),
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
        by_graph=False,
        options={"cpu": ("--budget", "45"), "gpu": ("--budget", "30")},
    ),
    "cluster": Command({"dask": None}, {"cpu": (), "gpu": ()}, by_graph=False, default=False),
}
TASKS = {task: name for name, command in COMMANDS.items() for task in command.tasks}


@dataclass(frozen=True)
class Group:
    """A process: a command with its tasks, graphs and libraries; () is all."""

    command: str
    tasks: tuple
    graphs: tuple = ()
    libraries: tuple = ()

    def words(self, device, output, quick=False, data=None, full=False):
        """Its command line."""
        command, module = COMMANDS[self.command], FOLDER / f"{self.command}.py"
        words = [sys.executable, str(module), "--device", device, "--output", str(output)]
        only = [command.tasks[task] for task in self.tasks]
        if None not in only and set(self.tasks) != set(command.tasks):
            words += ["--only", ",".join(only)]
        if self.graphs:
            words += ["--graphs", ",".join(self.graphs)]
        if self.libraries:
            words += ["--libraries", ",".join(self.libraries)]
        if data is not None:
            words += ["--data", str(data)]
        if quick:
            return [*words, "--quick"]
        return words if full else [*words, *command.options.get(device, ())]


def groups(names, device, full=False, quick=False):
    """What to run for some names; ValueError names one that nobody knows."""
    if not names:
        names = [task for task, name in TASKS.items() if COMMANDS[name].default]
    wanted = {}
    for name in names:
        task, graph, library, *more = [*name.split("/"), "", ""][: max(3, name.count("/") + 1)]
        if task not in TASKS or more:
            raise ValueError(
                f"there is no benchmark {name!r}; a name is TASK/GRAPH/LIBRARY, of which TASK is "
                f"one of {', '.join(TASKS)}"
            )
        command = TASKS[task]
        graph = "" if graph == "*" else graph
        library = "" if library == "*" else library
        if graph and not COMMANDS[command].by_graph:
            raise ValueError(f"{name!r} names a graph, and {task} has graphs of its own")
        if library and command not in WITH_LIBRARIES:
            raise ValueError(f"{name!r} names a library, and {task} cannot leave any out")
        if library and library not in LIBRARIES:
            raise ValueError(f"{name!r} names no library; there are {', '.join(LIBRARIES)}")
        wanted.setdefault((command, graph, library), []).append(task)
    found = []
    for (command, graph, library), tasks in wanted.items():
        short = () if full or quick else COMMANDS[command].short[device]
        graphs = (graph,) if graph else short
        libraries = ("rapidsgraph", library) if library else ()
        if library and tasks == ["gpuscan"]:
            libraries += ("serial",)
        found.append(Group(command, tuple(dict.fromkeys(tasks)), graphs, libraries))
    return sorted(found, key=lambda group: list(COMMANDS).index(group.command))


WITH_LIBRARIES = ("pagerank", "traversal", "scan", "build")
