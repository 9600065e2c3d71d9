"""Where tasks run: on the workers of the active Dask client, or here where there is none.

Means: `submit` gives a task at once, which other tasks take as an argument; `results` waits.
Requires: functions of modules, whose arguments and results are not changed by anyone: what a dead
  worker held is computed again from the same arguments.
Reference: flox (the same chunk and combine functions, eager and on Dask).

On a cluster tasks are futures, and what they give stays where it was computed until another task
needs it. A task may name the worker that it belongs to; another takes it over if that one is gone.
"""

import functools
import sys
import threading
import time
import uuid
import weakref
from contextlib import suppress

from ..errors import GraphError

FAN_IN = 4  # of a tree of combinations
LOOK, PATIENCE = 5, 30  # seconds until workers are looked for, and until none is an error

_call = threading.local()  # .undo: what to do if the call under way in this thread fails


def engine_of(client=None):
    """The engine of a Dask client: the one given, or the active one, or none."""
    client = client or _active_client()
    return Here() if client is None else There(client)


def _active_client():
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client, secede
    from distributed.threadpoolexecutor import thread_state

    try:
        client = get_client()
    except ValueError:
        return None
    if getattr(thread_state, "proceed", False):  # in a task, whose thread ours may need
        secede()
    return client


def lets_go(function):
    """Have a call that fails let go of all tasks that it made.

    Else they would stay: Dask keeps the errors of tasks, which know the frames of the calls that
    they passed, and these the tasks. Memory of workers would stay taken, and what failed once
    would fail again without being tried.
    """

    @functools.wraps(function)
    def run(*arguments, **options):
        if _undone() is not None:  # within another such call
            return function(*arguments, **options)
        _call.undo = []
        try:
            return function(*arguments, **options)
        except BaseException:
            for undo in _call.undo:
                undo()
            raise
        finally:
            _call.undo = None

    return run


def if_it_fails(undo):
    """Have `undo` called if the call under way fails."""
    if _undone() is not None:
        _call.undo.append(undo)


def _undone():
    return getattr(_call, "undo", None)


def _noted(future):
    """A future, which a call that fails releases if anyone has it still."""
    known = weakref.ref(future)

    def release():
        if known() is not None:
            known().release()

    if_it_fails(release)
    return future


class _Done:
    """A task that has run."""

    def __init__(self, value):
        self.value = value


class Here:
    """Tasks run one after the other in this thread, when they are submitted."""

    client, workers = None, (None,)

    def submit(self, function, *arguments, name, at=None):
        """A task; `at` is the place of a worker among `workers`."""
        return _Done(function(*map(_value, arguments)))

    def frames(self, collection):
        """A task for each partition of a Dask frame."""
        import dask

        return [_Done(frame) for frame in dask.compute(*collection.to_delayed())]

    def results(self, tasks):
        """What some tasks give, as a list."""
        return [task.value for task in tasks]

    def collection(self, tasks, meta, divisions):
        """A Dask frame whose partitions are what tasks give."""
        from dask import delayed
        from dask.dataframe import from_delayed

        parts = [delayed(task.value) for task in tasks]
        return from_delayed(parts, meta=meta, divisions=divisions, verify_meta=False)


def _value(argument):
    if isinstance(argument, _Done):
        return argument.value
    return [_value(each) for each in argument] if isinstance(argument, list) else argument


class There:
    """Tasks run on the workers of a Dask client."""

    def __init__(self, client):
        self.client = client
        self._check_open()
        self.workers = tuple(sorted(client.nthreads())) or (None,)

    def submit(self, function, *arguments, name, at=None, actor=False):
        """As of Here; what an actor is stays where it is, and others call its methods."""
        self._check_open()
        worker = None if at is None else self.workers[at % len(self.workers)]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        key = f"{name}-{uuid.uuid4().hex}"
        task = self.client.submit(on_worker, function, *arguments, key=key, actor=actor, **where)
        return _noted(task)

    def frames(self, collection):
        return [_noted(future) for future in self.client.compute(collection.to_delayed())]

    def results(self, tasks):
        """As of Here; GraphError where no worker is left, or the scheduler.

        Dask would wait for workers for ever.
        """
        from distributed import CancelledError, KilledWorker, wait
        from distributed.comm import CommClosedError

        tasks, client, seen = list(tasks), self.client, time.monotonic()

        async def gather():
            return await client.gather(tasks, asynchronous=True)

        try:
            while True:
                with suppress(TimeoutError):
                    wait(tasks, timeout=LOOK)
                if all(task.done() for task in tasks):
                    try:  # a worker may die with what it has computed
                        return client.sync(gather, callback_timeout=PATIENCE)
                    except TimeoutError:
                        if any(task.status == "error" for task in tasks):
                            raise  # of a task
                self._check_open()
                if client.status != "running":
                    raise CommClosedError("there is no connection to it")
                if client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > PATIENCE:
                    client.cancel(tasks)
                    raise GraphError(
                        f"there was no worker for {PATIENCE} seconds; start workers that connect "
                        "to this scheduler, and run it again"
                    )
        except KilledWorker as error:
            raise GraphError(
                f"workers died again and again, the last one at {error.last_worker.address}; "
                "their logs say why, and lack of memory is what it often is"
            ) from error
        except (CancelledError, CommClosedError) as error:
            self._check_open()
            raise GraphError(f"the scheduler is gone, or the client is closed: {error}") from error

    def _check_open(self):
        if self.client.status in ("closing", "closed"):
            raise GraphError(
                "the client is closed, and with it went what its workers held; call .compute() on "
                "results, or write them, while it is open"
            )

    def collection(self, tasks, meta, divisions):
        from dask.dataframe import from_delayed

        return from_delayed(list(tasks), meta=meta, divisions=divisions, verify_meta=False)


def on_worker(function, *arguments):
    """A call on a worker: kernels take as many threads as the worker has."""
    import numba
    from distributed.worker import Worker

    # Workers may share a process, where one kernel runs at a time.
    threads = sum(worker.state.nthreads for worker in Worker._instances)
    numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))
    return function(*arguments)


def tree(engine, combine, tasks, name):
    """One task: `combine` of all, several at a time; combine(*values) gives a value of their kind.

    What is combined first is what stands together, in this order.
    """
    tasks = list(tasks)
    while len(tasks) > 1:
        groups = [tasks[start : start + FAN_IN] for start in range(0, len(tasks), FAN_IN)]
        tasks = [
            engine.submit(combine, *group, name=name, at=place * len(engine.workers) // len(groups))
            if len(group) > 1
            else group[0]
            for place, group in enumerate(groups)
        ]
    return tasks[0]


def each_part(engine, function, tasks, ranges, name):
    """A task a part: function(what a task gives, first vertex, the one behind the last)."""
    return [
        engine.submit(function, task, *bounds, name=name, at=at)
        for at, (task, bounds) in enumerate(zip(tasks, ranges))
    ]
