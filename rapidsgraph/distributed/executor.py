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
import uuid
import weakref

from ..errors import ClusterError, SchedulerLost, WorkerLost

FAN_IN = 4  # of a tree of combinations

_prepared = weakref.WeakSet()  # clients whose scheduler has the plugin
_call = threading.local()  # .undo: what to do if the call under way in this thread fails


def engine_of(client=None):
    """The engine of a Dask client: the one given, or the active one, or none."""
    client = client or _active_client()
    return LocalExecutor() if client is None else DaskExecutor(client)


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


def check_active(client):
    """Raise ClusterError where the active client is of another cluster.

    It would not find the tasks of a result, whose frame Dask computes on the active client.
    """
    active = _active_client()
    if client is None or active is None or active is client:
        return
    check_open(client)
    own, other = address_of(client), address_of(active)
    if own != other:
        raise ClusterError(
            f"the graph is on the cluster at {own}, and the active client is of {other}; call "
            "within `with client.as_current():` of the graph's own client, or build it again"
        )


def check_open(client):
    """Raise ClusterError where a client is closed."""
    if client.status in ("closing", "closed"):
        raise ClusterError(
            "the client is closed, and with it went what its workers held; call .compute() on "
            "results, or write them, while it is open"
        )


def address_of(client):
    """Return the address of a client's scheduler, for messages and comparisons."""
    return getattr(client.scheduler, "address", None) or "an unknown address"


def release_on_error(function):
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
            for argument in arguments[:1]:
                has_own = getattr(type(argument), "has_own_client", None)
                if has_own is not None and hasattr(argument, "client"):
                    (check_open if has_own else check_active)(argument.client)
            return function(*arguments, **options)
        except BaseException:
            for undo in _call.undo:
                undo()
            raise
        finally:
            _call.undo = None

    return run


def on_error(undo):
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

    on_error(release)
    return future


class _Done:
    """A task that has run."""

    def __init__(self, value):
        self.value = value


class LocalExecutor:
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

    def are_valid(self, tasks):
        """Whether no task, in lists or by itself, has failed or been cancelled."""
        return True

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


class DaskExecutor:
    """Tasks run on the workers of a Dask client."""

    def __init__(self, client):
        from . import monitor

        self.client, self._monitor = client, monitor
        self.workers = tuple(sorted(self._monitor.ask_scheduler(client, "ncores"))) or (None,)
        if client not in _prepared:
            self._register_plugin()
            _prepared.add(client)

    def _register_plugin(self):
        from distributed.protocol.pickle import dumps

        plugin = self._monitor.ReleaseRestrictions()
        options = {"plugin": dumps(plugin), "name": plugin.name, "idempotent": True}
        try:
            self._monitor.ask_scheduler(self.client, "register_scheduler_plugin", **options)
        except ClusterError:
            raise
        except Exception:  # a scheduler that may not unpickle, or has no rapidsgraph
            # Without it, tasks fail by Dask's no-workers-timeout when all workers are replaced.
            return

    def submit(self, function, *arguments, name, at=None, actor=False):
        """As of Here; what an actor is stays where it is, and others call its methods."""
        check_open(self.client)
        worker = None if at is None else self.workers[at % len(self.workers)]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        key = f"{name}-{uuid.uuid4().hex}"
        task = self.client.submit(
            run_on_worker, function, *arguments, key=key, actor=actor, **where
        )
        return _noted(task)

    def frames(self, collection):
        return [_noted(future) for future in self.client.compute(collection.to_delayed())]

    def results(self, tasks):
        """As of Here.

        Raises
        ------
        ClusterError
            The cluster cannot give them: the message says what does not answer, or who died.
        """
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        tasks, lost = list(tasks), (KilledWorker, NoValidWorkerError, NoWorkerError)
        failed = self._failed_for(lost)
        try:
            try:
                return self._gather(tasks)
            except lost as error:
                if error.task not in failed:
                    raise
                # The task failed in an earlier call, and was not tried in this one.
                self._retry(tasks)
                return self._gather(tasks)
        except KilledWorker as error:
            raise ClusterError(
                f"workers died again and again, the last one at {error.last_worker.address}; "
                "their logs say why, and lack of memory is what it often is"
            ) from error
        except (NoValidWorkerError, NoWorkerError) as error:
            raise WorkerLost(None, self._monitor.get_timeout()) from error
        except CancelledError as error:
            check_open(self.client)
            if self.client.status != "running":
                raise SchedulerLost(address_of(self.client), None) from error
            raise ClusterError(
                "the cluster has no data for a task that the call needs: it was restarted, or the "
                "frame or graph is of another cluster; load the frame and build the graph again "
                f"({error})"
            ) from error
        except CommClosedError as error:
            check_open(self.client)
            raise SchedulerLost(address_of(self.client), None) from error

    def supervise(self, function, check=None):
        """Run a coroutine function in the client's loop; see `monitor.supervise`."""
        return self.client.sync(self._monitor.supervise, self.client, function, check)

    def _gather(self, tasks):
        from distributed.client import _wait

        client = self.client

        async def gather():
            # A cancelled Client.gather that still waits for tasks would leave errors of its own.
            await _wait(tasks)
            return await client.gather(tasks, asynchronous=True)

        check_open(client)
        return self.supervise(gather)

    def _failed_for(self, reasons):
        """Return the keys of tasks that are known to have failed for some types of errors."""
        errors = [state.exception for state in list(self.client.futures.values())]
        return {error.task for error in errors if isinstance(error, reasons)}

    def _retry(self, tasks):
        """Have the scheduler run failed tasks again, and the failed ones that they depend on."""
        client, failed = self.client, [task.key for task in tasks if task.status == "error"]

        async def retry():
            monitor = self._monitor.monitor_of(client)
            for key in await monitor.ask("retry", keys=failed, client=client.id):
                state = client.futures.get(key)
                if state is not None and state.status == "error":
                    state.retry()

        client.sync(retry)

    def are_valid(self, tasks):
        if isinstance(tasks, (list, tuple)):
            return all(map(self.are_valid, tasks))
        return getattr(tasks, "status", None) not in ("error", "cancelled", "lost")

    def collection(self, tasks, meta, divisions):
        from dask.dataframe import from_delayed

        return from_delayed(list(tasks), meta=meta, divisions=divisions, verify_meta=False)


def run_on_worker(function, *arguments):
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


def map_partitions(engine, function, tasks, ranges, name):
    """A task a part: function(what a task gives, first vertex, the one behind the last)."""
    return [
        engine.submit(function, task, *bounds, name=name, at=at)
        for at, (task, bounds) in enumerate(zip(tasks, ranges))
    ]
