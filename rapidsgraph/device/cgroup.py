"""What memory a container, a batch job or a service leaves to this process.

Means: the limits of the control groups that the process is in, and of those around them.
Reference: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

import contextlib
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
NO_LIMIT = 1 << 60  # the first version writes a number near 2^63 where there is none
SECOND = ("memory.max", "memory.current", "inactive_file")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def memory():
    """(limit, free) of the tightest group, in bytes; None where nothing is limited.

    Copies of files in memory count as used by a group, but those that were not used lately are
    given back before a limit is felt, so they are free here.
    """
    limits = []
    for folder, names in _groups():
        with contextlib.suppress(OSError, ValueError):  # no group, or "max" in it
            limit, used = (int((folder / name).read_text()) for name in names[:2])
            if 0 <= limit < NO_LIMIT:  # the first version also knows -1
                limits.append((limit, max(limit - used + _given_back(folder, names[2]), 0)))
    if not limits:
        return None
    return min(limits)[0], min(min(limit, free) for limit, free in limits)


def _groups():
    """(folder, names of files) of the groups of this process, from the mount point inwards.

    In a container the mount point is mostly its own group, and the path that the process is told
    leads nowhere.
    """
    yield MOUNT, SECOND
    yield MOUNT / "memory", FIRST
    try:
        lines = MEMBERSHIP.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path:
            continue
        if controllers == "":
            folder, names = MOUNT, SECOND
        elif "memory" in controllers.split(","):
            folder, names = MOUNT / "memory", FIRST
        else:
            continue
        for part in Path(path).parts[1:]:
            folder = folder / part
            yield folder, names


def _given_back(folder, name):
    """Bytes of file copies that the kernel drops first."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return 0
