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
from urllib.parse import unquote

from ..atomic import is_no_space
from ..errors import GraphError

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(://|::)")  # two letters at least: C:/ is no URL
FILE_URL = re.compile(r"(?:file|local)://(?:localhost(?=/))?", re.IGNORECASE)
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
USER = re.compile(r"//[^/\s'\"]*@")  # and password
HTTP_QUERY = re.compile(r"(https?:[^?\s]*)\?.*?(?=::[a-z0-9+.-]+://|$)", re.IGNORECASE | re.DOTALL)
# Of a URL within text; a client may leave out the scheme.
QUERY = re.compile(r"(https?:[^\s?'\"<>()]*)?\?(?(1)|[^\s'\"<>()]*=)[^\s'\"<>()]*", re.IGNORECASE)
PROGRAMMING_ERRORS = AttributeError, NameError, TypeError


def is_url(path: Any) -> bool:
    """Return whether a path is the URL of a remote file, in the syntax of fsspec."""
    return isinstance(path, str) and URL.match(path) is not None


def strip_file_url(path: Any) -> Any:
    """Return the path of a ``file://`` URL, with percent escapes decoded, or another path as is."""
    match = FILE_URL.match(path) if isinstance(path, str) else None
    return path if match is None else unquote(path[match.end() :], errors="surrogateescape")


def check_storage_options(path: Any, storage_options: Mapping[str, Any] | None) -> None:
    """Raise GraphError if options of a file system are given with a path that is no URL."""
    if storage_options is not None and not is_url(path):
        raise GraphError(
            "{parameter} are options of the file system of a URL, and the path is none",
            parameter="storage_options",
            value=path,
            hint="leave storage_options out",
        )


def display_url(url: Any) -> str:
    """Return a URL for messages, without passwords and the tokens of a query.

    In a chain such as ``simplecache::https://...`` each URL is changed.
    """
    return HTTP_QUERY.sub(r"\1", USER.sub("//", str(url)))


def redact(text: str) -> str:
    """Return a text without the passwords and queries of URLs in it, which may have no scheme."""
    return QUERY.sub(r"\1", USER.sub("//", text))


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
        with self.errors("open"):
            try:
                self.filesystem, self.path = url_to_fs(url, **(storage_options or {}))
            except ImportError as error:
                packages = PACKAGES.get(protocol)
                raise self._missing(*(packages or "").split(), reason=error) from error

    def _missing(self, *packages: str, reason: object = "") -> GraphError:
        if not packages:
            return GraphError(
                f"{self.name}: a package is missing ({redact(str(reason))})", path=self.name
            )
        command = f"pip install {' '.join(packages)}"
        return GraphError(
            f"{self.name}: URLs of this protocol require {' and '.join(packages)}: {command}",
            path=self.name,
            hint=command,
        )

    @contextlib.contextmanager
    def errors(self, action: str) -> Iterator[None]:
        """Convert the errors of file systems into a GraphError.

        Parameters
        ----------
        action : {"open", "read", "write"}
            A verb for the message.
        """
        try:
            yield
        except (GraphError, MemoryError, *PROGRAMMING_ERRORS):
            raise
        except FileNotFoundError as error:
            raise GraphError(f"{self.name}: there is no such file", path=self.name) from error
        except PermissionError as error:
            reason = f"there is no permission to {action} it ({redact(str(error))})"
            raise GraphError(f"{self.name}: {reason}", path=self.name) from error
        except Exception as error:  # each library of a protocol has its own
            reason = redact((str(error) or type(error).__name__).splitlines()[0])
            raise GraphError(
                f"{self.name}: the file system cannot {action} it ({reason})", path=self.name
            ) from error

    def list_files(self) -> tuple[list[str], bool]:
        """Return the paths of all files that the URL names, and whether it names a folder."""
        if is_http(self.url) and "*" not in self.path:
            return [self.path], False
        with self.errors("read"):
            if MAGIC.search(self.path) and not self.filesystem.exists(self.path):
                matches = self.filesystem.glob(self.path, detail=True)
                paths = [path for path, facts in matches.items() if facts["type"] == "file"]
                return sorted(paths), False
            if self.filesystem.info(self.path)["type"] == "directory":
                return self.filesystem.find(self.path), True
        return [self.path], False

    def display(self, path: str) -> str:
        """Return the URL of a file, one of `list_files`, for messages."""
        if path == self.path:
            return self.name
        return display_url(self.filesystem.unstrip_protocol(path))

    def read_start(self, path: str, size: int) -> bytes:
        """Return the first bytes of a file, one of `list_files`."""
        with self.errors("read"):
            return self.filesystem.cat_file(path, 0, size)

    def download(self, path: str, target: Path) -> None:
        """Copy a file, one of `list_files`, to a local file.

        Raises
        ------
        GraphError
            The file system fails.
        OSError
            The local disk is full.
        """
        full_disk = None
        with self.errors("read"):
            try:
                self.filesystem.get_file(path, os.fspath(target))
            except OSError as error:
                if not is_no_space(error):
                    raise
                full_disk = error
        if full_disk is not None:
            raise full_disk

    def upload(self, source: Path) -> None:
        """Copy a local file to the URL."""
        with self.errors("write"):
            self.filesystem.put_file(os.fspath(source), self.path)
