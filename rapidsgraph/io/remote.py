"""Files behind URLs, by fsspec, which is an optional package.

References
----------
https://filesystem-spec.readthedocs.io
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..atomic import is_no_space
from ..errors import GraphError

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(://|::)")  # two letters at least: C:/ is no URL
BROKEN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")  # what pathlib.Path makes of one
PACKAGES = {  # of protocols that fsspec itself does not implement
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hf": "huggingface_hub",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
MAGIC = re.compile(r"[*?\[]")  # of a glob


def is_url(path: Any) -> bool:
    """Return whether a path is the URL of a remote file, in the syntax of fsspec."""
    return isinstance(path, str) and URL.match(path) is not None


def display_url(url: Any) -> str:
    """Return a URL for messages, without passwords and the tokens of a query."""
    url = re.sub(r"//[^/@]*@", "//", str(url))
    return re.sub(r"\?.*", "", url) if is_http(url) else url


def is_http(url: str) -> bool:
    """Return whether a URL is of HTTP, where a query follows the path, and folders are pages."""
    return url.lower().startswith(("http:", "https:"))


class RemotePath:
    """A URL and its file system.

    Parameters
    ----------
    url : str
    storage_options : mapping, optional
        Options of the file system, such as credentials.

    Attributes
    ----------
    name : str
        The URL for messages.

    Raises
    ------
    GraphError
        The protocol is unknown, or a package for it is missing.
    """

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.url, self.name = url, display_url(url)
        match = URL.match(url)
        assert match is not None
        protocol = match[1].lower()
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise self._missing("fsspec", *PACKAGES.get(protocol, "").split()) from error
        with self.errors():
            try:
                self.filesystem, self.path = url_to_fs(url, **(storage_options or {}))
            except ImportError as error:
                packages = PACKAGES.get(protocol)
                raise self._missing(*(packages or "").split(), reason=error) from error

    def _missing(self, *packages: str, reason: object = "") -> GraphError:
        if not packages:
            return GraphError(f"{self.name}: a package is missing ({reason})", path=self.name)
        command = f"pip install {' '.join(packages)}"
        return GraphError(
            f"{self.name}: URLs of this protocol require {' and '.join(packages)}: {command}",
            path=self.name,
            hint=command,
        )

    @contextlib.contextmanager
    def errors(self, action: str = "read") -> Iterator[None]:
        """Convert the errors of file systems into a GraphError."""
        try:
            yield
        except (GraphError, MemoryError):
            raise
        except FileNotFoundError as error:
            raise GraphError(f"{self.name}: there is no such file", path=self.name) from error
        except PermissionError as error:
            reason = f"there is no permission to {action} it ({error})"
            raise GraphError(f"{self.name}: {reason}", path=self.name) from error
        except Exception as error:  # each library of a protocol has its own
            if is_no_space(error):
                raise
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise GraphError(
                f"{self.name}: it could not be {'read' if action == 'read' else 'written'} "
                f"({reason})",
                path=self.name,
            ) from error

    def list_files(self) -> tuple[list[str], bool]:
        """Return the paths of all files that the URL names, and whether it is one file only."""
        if is_http(self.url) and "*" not in self.path:
            return [self.path], True
        with self.errors():
            if MAGIC.search(self.path) and not self.filesystem.exists(self.path):
                found = self.filesystem.glob(self.path, detail=True)
                return [path for path in found if found[path]["type"] == "file"], False
            if self.filesystem.info(self.path)["type"] == "directory":
                return self.filesystem.find(self.path), False
        return [self.path], True

    def download(self, path: str, target: Path) -> None:
        """Copy a file, one of `list_files`, to a local file."""
        with self.errors():
            self.filesystem.get_file(path, os.fspath(target))

    def upload(self, source: Path) -> None:
        """Copy a local file to the URL."""
        with self.errors("write"):
            self.filesystem.put_file(os.fspath(source), self.path)
