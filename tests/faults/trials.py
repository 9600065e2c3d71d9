"""Run many trials that may crash or hang, each batch in a process of its own.

A trial is a module-level function of one argument. It returns ``"right"`` where the answer is the
expected one, raises `GraphError` where the package refuses, and raises anything else where it is
wrong. A process that dies by a signal or exceeds its time limit is charged to the trial it was
running; the others of its batch run in a new process.
"""

import collections
import multiprocessing
import traceback
from dataclasses import dataclass, field

from rapidsgraph import GraphError

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["rapidsgraph", "pyarrow.parquet", "pyarrow.feather", "trials"])


@dataclass
class Outcomes:
    """How often each kind of outcome occurred, and the first few failures in full.

    Attributes
    ----------
    counts : Counter
        Of ``right``, ``refused``, ``wrong``, ``crashed`` and ``hung``.
    failures : list of (argument, str)
        Trials that were neither right nor refused.
    """

    counts: collections.Counter = field(default_factory=collections.Counter)
    failures: list = field(default_factory=list)

    def add(self, argument, outcome, detail=""):
        self.counts[outcome] += 1
        if outcome not in ("right", "refused"):
            self.failures.append((argument, f"{outcome}: {detail}"))

    def check(self):
        """Fail with the first failures, if there are any."""
        shown = "\n".join(f"{argument!r}: {detail}" for argument, detail in self.failures[:5])
        assert not self.failures, f"{dict(self.counts)}\n{shown}"


def run_trials(trial, arguments, *, timeout=60, batch=50):
    """Run ``trial(argument)`` for each argument and classify how it ended.

    Parameters
    ----------
    trial : callable
        Picklable, of one argument.
    arguments : iterable
        Picklable.
    timeout : float
        Seconds for one trial.
    batch : int
        Trials that share a process.

    Returns
    -------
    Outcomes
    """
    outcomes, waiting = Outcomes(), list(arguments)
    while waiting:
        completed = _run_batch(trial, waiting[:batch], timeout, outcomes)
        del waiting[:completed]
    return outcomes


def _run_batch(trial, arguments, timeout, outcomes):
    """Run one batch in a process; return how many of its trials have an outcome."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_child, args=(trial, arguments, sender))
    process.start()
    sender.close()
    try:
        for number, argument in enumerate(arguments):
            try:
                if not receiver.poll(timeout):
                    outcomes.add(argument, "hung", f"no result within {timeout} s")
                    return number + 1
                outcomes.add(argument, *receiver.recv())
            except EOFError:
                process.join()
                outcomes.add(argument, "crashed", f"exit code {process.exitcode}")
                return number + 1
        return len(arguments)
    finally:
        receiver.close()
        process.kill()
        process.join()


def _child(trial, arguments, sender):
    for argument in arguments:
        try:
            result = trial(argument)
            outcome = ("right", "") if result == "right" else ("wrong", repr(result))
        except GraphError as error:
            outcome = "refused", str(error)
        except Exception:
            outcome = "wrong", traceback.format_exc(limit=-6)
        sender.send(outcome)
