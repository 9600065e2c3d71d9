"""Formats by the endings of files, and the errors that reading them raises."""

from __future__ import annotations

import contextlib
import csv
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..atomic import is_no_space
from ..errors import GraphError

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".edges": "text",
    ".el": "text",
    ".mtx": "mtx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
}
DELIMITERS = {"csv": ",", "tsv": "\t", "text": " ", "mtx": " "}


class EdgeMetadata(NamedTuple):
    """What is known of an edge file before its rows are read.

    Attributes
    ----------
    num_rows : int
        Number of edges. Exact for Parquet and Arrow. An upper bound for Matrix Market, of which a
        symmetric one has each entry twice; for other text the lines without the header, comments
        included.
    id_type : {"integer", "string"}
        For text the type of the ids in the first row.
    id_range : tuple of int, or None
        Smallest and largest id, from the statistics of Parquet or the size line of a Matrix Market
        file; None where ids are no integers, or the range is not recorded.
    """

    num_rows: int
    id_type: str
    id_range: tuple[int, int] | None


class TextSize(NamedTuple):
    """Upper bounds of the text in name columns: total bytes, and bytes of the longest name."""

    nbytes: int
    max_nbytes: int


def format_of(path: Path) -> str:
    """Return csv, tsv, text, mtx, parquet or arrow, by the ending of `path`.

    Raises
    ------
    GraphError
        The ending is unknown, or ``.gz`` follows that of a format with compression of its own.
    """
    is_gzipped = path.suffix.lower() == ".gz"
    ending = (Path(path.stem) if is_gzipped else path).suffix.lower()
    name = FORMATS.get(ending)
    if name is None:
        text = [each for each in FORMATS if FORMATS[each] in DELIMITERS]
        raise GraphError(
            f"{path}: the ending {ending!r} is not known; known are {' '.join(FORMATS)}, and .gz "
            f"behind {' '.join(text)}",
            path=path,
            value=ending,
        )
    if is_gzipped and name not in DELIMITERS:
        raise GraphError(
            f"{path}: {ending} is compressed inside and cannot be read from .gz",
            path=path,
            value=ending,
        )
    return name


@contextlib.contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Raise what readers raise about missing and damaged files as a GraphError."""
    try:
        yield
    except GraphError:
        raise
    except MemoryError as error:
        if type(error) is MemoryError:
            raise
        raise damaged_error(path, error) from error  # ArrowMemoryError: an invalid length
    except FileNotFoundError as error:
        raise GraphError(f"{path}: there is no such file", path=path) from error
    except PermissionError as error:
        raise GraphError(f"{path}: there is no permission to read it", path=path) from error
    except OSError as error:
        if is_no_space(error):  # raised by a file that is written meanwhile, with its own path
            raise
        raise damaged_error(path, error) from error
    except (EOFError, zlib.error) as error:
        raise GraphError(
            f"{path}: the gzip data are truncated or damaged ({error})", path=path
        ) from error
    except UnicodeDecodeError as error:
        if _is_binary(path):
            raise damaged_error(path, error) from error
        raise GraphError(
            f"{path}: the text is not UTF-8 ({error}); convert it first", path=path
        ) from error
    except struct.error as error:
        raise damaged_error(path, "an offset leads outside the file") from error
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{str(path)!a}: its path, or one beside it, is not valid Unicode, as this format "
            "needs it; rename it",
            path=path,
        ) from error
    except (ValueError, csv.Error, NotImplementedError, TypeError, KeyError) as error:
        raise damaged_error(path, error) from error
    except Exception as error:
        import pyarrow

        if not isinstance(error, pyarrow.ArrowException):
            raise
        raise damaged_error(path, error) from error


def _is_binary(path: Path) -> bool:
    return Path(path).is_dir() or FORMATS.get(Path(path).suffix.lower()) in ("parquet", "arrow")


def damaged_error(path: str | Path, reason: object) -> GraphError:
    """Return the error for a file that is not what its ending says."""
    reason = (str(reason) or type(reason).__name__).splitlines()[0]
    return GraphError(f"{path}: truncated, damaged or no such format ({reason})", path=path)
