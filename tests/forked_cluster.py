"""A Dask scheduler and workers without nannies, in processes that start from a fork server."""

import asyncio
import contextlib
import logging

from distributed import Scheduler, Worker
from distributed.utils import get_mp_context

OPTIONS = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": ":0"}


@contextlib.contextmanager
def processes(workers):
    """Yield the address of a scheduler, and the processes of the scheduler and of its workers."""
    context, started = get_mp_context(), []

    def start(*arguments):
        receiver, sender = context.Pipe(duplex=False)
        with receiver:
            started.append(context.Process(target=_serve, args=(sender, *arguments), daemon=True))
            started[-1].start()
            sender.close()  # the process has the only other end, so that its death is noticed
            return receiver.recv()

    try:
        address = start()
        for _ in range(workers):
            start(address)
        yield address, started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.join()


def _serve(sender, address=None):
    """Run a scheduler, or a worker of the scheduler at `address`, and send its own address."""

    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    async def serve():
        if address is None:
            server = Scheduler(**OPTIONS)
        else:
            server = Worker(address, nthreads=1, memory_limit=0, **OPTIONS)
        async with server:
            sender.send(server.address)
            await server.finished()

    asyncio.run(serve())
