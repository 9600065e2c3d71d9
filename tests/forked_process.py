"""Run programs in forks of a process that has imported the libraries the package uses.

A program needs 1.5 s of CPU time to import them and to prepare Numba, and a fork of them 0.2 s. A
client process stands for the fork: it passes on its standard streams, environment, folder and
signals, and ends as the fork does, so that `subprocess` works as with the program itself.

    python forked_process.py ADDRESS PROGRAM ARGUMENTS...     the client
    python forked_process.py ADDRESS                          the server

The program must not depend on variables that libraries read when they are imported.
"""

import functools
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile

SIGNALS = {signal.SIGINT, signal.SIGTERM}  # which tests send


def command(program, *arguments):
    """Return the command line that runs a program (as of ``python -c``) in a fork."""
    client = [sys.executable, "-I", "-S", __file__, start_server(os.getpid())[0]]
    return [*client, program, *map(str, arguments)]


@functools.cache
def start_server(_process_id):
    """Return the address of a server for this process, and its process."""
    folder = tempfile.TemporaryDirectory(prefix="forks-")
    address = os.path.join(folder.name, "socket")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env={**os.environ, "PYTHONPATH": root, "CUDA_VISIBLE_DEVICES": ""},
        stdin=subprocess.PIPE,  # closed when this process ends, which ends the server
        stdout=subprocess.PIPE,
    )
    assert server.stdout.readline() == b"ready\n"
    return address, server, folder


def serve(address):
    """Fork for each client, until standard input is closed."""
    import selectors

    import_libraries()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch a fork
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        for source in (listener, sys.stdin):
            selector.register(source, selectors.EVENT_READ)
        while [key.fileobj for key, _ in selector.select()] == [listener]:
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
                selector.close()
                return watch(connection)
            connection.close()
    return None


def import_libraries():
    """Import what commands use, without a parallel kernel: OpenMP does not survive a fork."""
    import pandas  # noqa: F401
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401
    import typer  # noqa: F401
    from numba.core.registry import cpu_target

    import rapidsgraph.kernels.jit  # noqa: F401

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy the memory of all objects


def watch(connection):
    """Fork a client's program; in the process that remains, send its exit status."""
    import json

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection, connection.makefile("rb") as lines:
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        request = json.loads(lines.readline())
        process_id = os.fork()
        if process_id:
            for stream in streams:
                os.close(stream)
            connection.sendall(b"%d\n" % process_id)
            status = os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])
            connection.sendall(b"%d\n" % status)
            os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return request


def run(program, arguments, environment, folder):
    """Run a program as the interpreter does that starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    options = {"closefd": False}
    sys.stdin = sys.__stdin__ = open(0, **options)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", **options)  # noqa: SIM115
    options["errors"] = "backslashreplace"
    sys.stderr = sys.__stderr__ = open(2, "w", 1, **options)  # noqa: SIM115
    for name in ("stdin", "stdout", "stderr"):
        getattr(sys, name).buffer.raw.name = f"<{name}>"
    exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))


def pass_on(address, program, *arguments):
    """Have the server run a program; end as the program does."""
    import json

    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as lines:
        connection.connect(address)
        socket.send_fds(connection, [b"-"], [0, 1, 2])
        request = json.dumps([program, arguments, dict(os.environ), os.getcwd()])
        connection.sendall(f"{request}\n".encode())
        process_id = int(lines.readline())
        for stream in range(3):
            os.close(stream)  # the fork alone has them
        for number in SIGNALS:
            signal.signal(number, lambda number, _: os.kill(process_id, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        status = int(lines.readline())
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        pass_on(*sys.argv[1:])
    request = serve(sys.argv[1])
    if request:
        run(*request)
