"""All benchmarks of this machine, or those named: records, tables, and what follows from them.

    python pipelines/benchmarks/run.py [--output FOLDER] [--device cpu|gpu]
    python pipelines/benchmarks/run.py --list
    python pipelines/benchmarks/run.py bfs/rmat18 'pagerank/*/SciPy' kim

A name is TASK, TASK/GRAPH or TASK/GRAPH/LIBRARY; `*` is every graph that a benchmark has by
default. Each command of this folder that is needed runs as a process of its own, one after the
other, and saves its records as it goes: what a time limit cuts off keeps what it had. The short
set, which is the default, is for minutes; `--full` is all graphs.
"""

import argparse
import importlib
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import performance, records, tables
from pipelines.benchmarks.command import WRONG, wrong_answers
from pipelines.benchmarks.selection import COMMANDS, groups
from pipelines.benchmarks.workloads import FILES, FOLDERS

BUDGET = {"cpu": 600.0, "gpu": 540.0}  # seconds of the short set
GRACE = 10.0  # seconds for a process to end when it is told to


def run(words, path, seconds):
    """Run a command line whose records go into `path`: None, or what became of it."""
    log = path.with_suffix(".log")
    with log.open("w") as said:
        process = subprocess.Popen(words, stdout=said, stderr=None if LIVE else said)
        try:
            status = process.wait(timeout=max(seconds, 1))
        except subprocess.TimeoutExpired:
            stop(process)
            return f"cut off after {seconds:.0f} s"
        except KeyboardInterrupt:
            stop(process)
            raise
    if status not in (0, WRONG):  # what is wrong is in the records
        last = log.read_text().strip().splitlines()[-1:] or ["it said nothing"]
        return f"failed with exit status {status}: {last[0]}"
    log.unlink()


LIVE = sys.stderr.isatty()


def stop(process):
    """Interrupt a process, so that it can remove its files; end it if it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def listing(device):
    """Lines of every name that can be run."""
    lines, notes = [], []
    for name, command in COMMANDS.items():
        module = importlib.import_module(f"pipelines.benchmarks.{name}")
        libraries, said = command.contenders(module, device == "gpu")
        notes += said
        graphs = getattr(module, f"{device.upper()}_GRAPHS", ()) if command.by_graph else ()
        for task in command.tasks:
            about = f"  by {', '.join(libraries)}" if libraries else ""
            about += "" if command.default else "  (only if named)"
            lines += [f"{task}/{graph}{about}{is_missing(graph)}" for graph in graphs] or [
                f"{task}{about}"
            ]
    return lines + [f"missing: {note}" for note in dict.fromkeys(notes)]


def is_missing(graph):
    """What is said of a graph whose file is not here."""
    if graph not in FILES or any((folder / FILES[graph][0]).exists() for folder in FOLDERS):
        return ""
    return "  (its file is not here: --data, or --fetch of the command)"


def missing_of(rows, group):
    """What was asked for by its name, and has no record."""
    graph = group.graphs[0] if len(group.graphs) == 1 else None
    if graph and all(row.get("graph") != graph or row["table"] == "graph" for row in rows):
        yield f"failed: nothing was measured on {graph}"
    elif group.libraries and all(row.get("library") != group.libraries[1] for row in rows):
        yield f"failed: {group.libraries[1]} did nothing"


def arguments_of(given):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="TASK/GRAPH/LIBRARY; see --list")
    parser.add_argument("--list", action="store_true", help="the names, and who is missing")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="for records and tables")
    parser.add_argument("--full", action="store_true", help="every graph: takes much longer")
    parser.add_argument("--quick", action="store_true", help="tiny graphs: does it work at all?")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="for all together")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the real graphs are")
    parser.add_argument("--tables", action="store_true", help="print every table at the end")
    found = parser.parse_args(given)
    from rapidsgraph import device

    problem = None if found.device == "cpu" else device.gpu_problem()
    if found.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    found.device = "cpu" if found.device == "cpu" or problem else "gpu"
    if found.budget is not None and not found.budget > 0:
        parser.error(f"--budget is {found.budget:g}; it must be a number of seconds above 0")
    if found.data is not None and not found.data.is_dir():
        parser.error(f"--data: there is no folder {found.data}")
    if found.output is not None:
        try:
            found.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--output: {found.output} cannot be made a folder: {error}")
    try:
        found.groups = groups(found.names, found.device, found.full, found.quick)
    except ValueError as error:
        parser.error(str(error))
    return found


def main(arguments=None):
    found = arguments_of(arguments)
    if found.list:
        print("\n".join(listing(found.device)))
        return 0
    budget = found.budget or (float("inf") if found.full else BUDGET[found.device])
    began, problems, made = time.monotonic(), [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = found.output or Path(temporary)
        interrupted = False
        for number, group in enumerate(found.groups):
            what = f"{group.command} ({', '.join(group.tasks)})"
            left = budget - (time.monotonic() - began)
            if left < GRACE:
                problems.append(f"{what}: left out, the time was up")
                continue
            print(f"{number + 1} of {len(found.groups)}: {what}", file=sys.stderr, flush=True)
            draft, start = Path(temporary) / f"{number}.jsonl", time.monotonic()
            words = group.words(found.device, draft, found.quick, found.data, found.full)
            try:
                wrong = run(words, draft, min(left, 10**6))
            except KeyboardInterrupt:
                wrong, interrupted = "interrupted", True
            print(f"   {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            if wrong:
                problems.append(f"{what}: {wrong}")
            if draft.exists():
                rows = records.read(draft)
                problems += [f"{what}: {text}" for text in missing_of(rows, group) if not wrong]
                made.setdefault(group.command, []).extend(rows)
                label = performance.label(rows[0]["machine"])
                records.write(folder / f"{group.command}-{label}.jsonl", made[group.command])
            if interrupted:
                break
        everything = [row for rows in made.values() for row in rows]
        if found.tables:
            for command, rows in made.items():
                print(tables.markdown(rows, command))
        if found.quick:
            print("--quick: the graphs are tiny, and these are no figures to go by\n")
        print(performance.summary(everything))
        if found.output:
            performance.draw(everything, folder)
    wrong = list(wrong_answers(everything))
    for note in dict.fromkeys(row["note"] for row in everything if row["table"] == "note"):
        print(f"left out: {note}", file=sys.stderr)
    for line in [*problems, *(line for line, _ in wrong)]:
        print(f"problem: {line}", file=sys.stderr)
    print(f"{time.monotonic() - began:.0f} s in all", file=sys.stderr)
    if interrupted:
        return 130
    failed = any(is_ours for _, is_ours in wrong) or any("failed" in line for line in problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
