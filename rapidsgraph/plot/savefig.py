"""What all pictures share: whether one can be drawn, and its way into a file."""

from ..atomic import ByteCounter, atomic_write, write_error
from ..errors import GraphError
from ..io.writers import check_writable
from ..validation import check_path

ENDINGS = (".png", ".svg", ".pdf")


def check(path=None):
    """Raise GraphError, before long work, if a picture could not be drawn or written to `path`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise GraphError(
            f"pictures need Matplotlib ({error}); install rapidsgraph[plot]"
        ) from error
    if path is not None:
        check_writable(path, ENDINGS)


def write(figure, path, dpi=150):
    """Write a figure to `path`, if there is one, whole or not at all."""
    if path is None:
        return
    path = check_path(path)

    def save(file):
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=dpi)

    def size():
        counter = ByteCounter()
        save(counter)
        return counter.size

    try:
        with atomic_write(path) as file:
            save(file)
    except OSError as error:
        raise write_error(path, error, size) from error
