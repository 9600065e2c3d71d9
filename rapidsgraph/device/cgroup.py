"""Memory limits of the Linux control groups around this process.

A container, a batch job or a service limits the memory of its processes by a control group, and
the groups that contain it may be limited too.

References
----------
.. [1] Linux kernel documentation, Documentation/admin-guide/cgroup-v2.rst and
   Documentation/admin-guide/cgroup-v1/memory.rst.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOUNT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
NO_LIMIT = 1 << 60  # version 1 reports a number near 2^63 for an unlimited group


class MemoryLimit(NamedTuple):
    """The limit and the free memory of a control group, in bytes."""

    limit: int
    free: int


class _Files(NamedTuple):
    """File names of the memory controller, and the memory.stat field of reclaimable memory."""

    limit: str
    usage: str
    inactive_file: str


V1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = _Files("memory.max", "memory.current", "inactive_file")


def memory() -> MemoryLimit | None:
    """Return the tightest limit and the least free memory, or None if no group is limited.

    Cached file pages count as used by a group, but the inactive ones are reclaimed before the
    limit takes effect, so they count as free here.
    """
    groups = []
    for folder, files in _groups():
        with contextlib.suppress(OSError, ValueError):  # no such group, or its limit is "max"
            limit = int((folder / files.limit).read_text())
            usage = int((folder / files.usage).read_text())
            if 0 <= limit < NO_LIMIT:  # version 1 also reports -1
                reclaimable = _read_stat(folder, files.inactive_file)
                groups.append(MemoryLimit(limit, max(limit - usage + reclaimable, 0)))
    if not groups:
        return None
    return MemoryLimit(min(group.limit for group in groups), min(min(group) for group in groups))


def _groups() -> Iterator[tuple[Path, _Files]]:
    """Yield the folder and file names of each group of this process, outermost first.

    In a container the mount point usually is the container's own group, and the path in
    `MEMBERSHIP` does not exist.
    """
    yield MOUNT, V2
    yield MOUNT / "memory", V1
    try:
        lines = MEMBERSHIP.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path:
            continue
        if not controllers:
            folder, files = MOUNT, V2
        elif "memory" in controllers.split(","):
            folder, files = MOUNT / "memory", V1
        else:
            continue
        for component in Path(path).parts[1:]:
            folder = folder / component
            yield folder, files


def _read_stat(folder: Path, field: str) -> int:
    """Return a field of memory.stat in bytes, 0 if it is missing."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.startswith(f"{field} "):
                return int(line.split()[1])
    return 0
