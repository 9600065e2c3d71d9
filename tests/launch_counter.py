"""A plugin of pytest that counts launches of kernels, and fits them to compute-sanitizer.

`PYTHONPATH=tests pytest -m sanitizer -p launch_counter` prints the kernels that no
test has launched.
"""

from functools import partial

from rapidsgraph import device
from rapidsgraph.device import launcher


def pytest_ignore_collect(collection_path):
    """Leave out modules without marked tests, whose imports the GPU's environment may lack."""
    is_module = collection_path.suffix == ".py" and collection_path.name != "conftest.py"
    return True if is_module and "mark.sanitizer" not in collection_path.read_text() else None


def pytest_configure(config):
    """Fit launches to the instrumented kernels, and count them."""
    if not device.gpu_problem():
        cupy = device.import_cupy()
        cupy.cuda.set_allocator(None)  # an access beyond an array of a pool is no error
        # Instrumentation takes registers, so that blocks which fit without it may never start while
        # the others wait at the grid barrier. One block per multiprocessor always fits.
        blocks = cupy.cuda.Device().attributes["MultiProcessorCount"]
        launcher.resident_blocks = lambda *_: blocks
    config.launched = set()

    def record(function, stem, entry, *arguments):
        config.launched.add(f"{stem}.{entry}")
        return function(stem, entry, *arguments)

    launcher._bind = partial(record, launcher._bind)  # of launches on a GPU, and on a CPU:
    launcher._find_twin = partial(record, launcher._find_twin)


def pytest_terminal_summary(terminalreporter, config):
    """Print which kernels have not been launched."""
    stems = [path.stem for path in device.KERNELS.glob("*.cu")]
    kernels = {f"{stem}.{entry}" for stem in stems for entry in device.signatures(stem)}
    missing = ", ".join(sorted(kernels - config.launched))
    terminalreporter.write_line(f"kernels not launched: {missing or 'none'}")
