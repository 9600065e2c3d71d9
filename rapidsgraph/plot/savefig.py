"""Check that a figure can be plotted and saved, create it, and save it atomically."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GraphError
from ..io.writers import check_writable, save_atomically
from ..validation import check_path, suggest_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")


@suggest_parameters
def check(path: str | Path | None = None) -> None:
    """Raise an error if Matplotlib is not installed or a figure cannot be saved to `path`.

    Parameters
    ----------
    path : str or path, optional
        The file that is to be written.

    Raises
    ------
    GraphError
        If plotting would fail; call this before a long computation whose result is to be plotted.

    Examples
    --------
    >>> import rapidsgraph as rg
    >>> rg.plot.check("distribution.png")
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise GraphError(
            f"plotting requires Matplotlib ({error}): pip install 'rapidsgraph[plot]'",
            hint="pip install 'rapidsgraph[plot]'",
        ) from error
    if path is not None:
        check_writable(path, SUFFIXES)


def create_figure(**options: Any) -> Figure:
    """Return a Matplotlib figure that notebooks show, whether or not pyplot is imported."""
    from matplotlib.figure import Figure

    figure = Figure(**options)
    # IPython looks methods up on the object; a subclass would need Matplotlib at import.
    figure._repr_png_ = functools.partial(_render_png, figure)  # type: ignore[attr-defined]
    return figure


def _render_png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | Path | None, dpi: float | str = 150) -> None:
    """Save a figure to `path`, if there is one; the file is complete or unchanged."""
    if path is None:
        return
    file_path = check_path(path)

    file_format = file_path.suffix.lower().lstrip(".")
    save_atomically(file_path, lambda file: figure.savefig(file, format=file_format, dpi=dpi))
