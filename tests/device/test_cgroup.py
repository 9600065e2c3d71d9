"""What a container leaves, by files like those of Linux."""

import pytest

from rapidsgraph.device import arrays

GIB = 1 << 30


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """Writes the files of a group; `member` tells the process where it is."""
    monkeypatch.setattr(arrays, "CGROUP_MOUNT", tmp_path)
    monkeypatch.setattr(arrays, "CGROUP_MEMBERSHIP", tmp_path / "membership")

    def write(path="", member=None, **files):
        folder = tmp_path / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("memory_", "memory.", 1)).write_text(f"{text}\n")
        if member:
            (tmp_path / "membership").write_text(member)

    return write


def test_no_group_and_no_limit(groups):
    assert arrays.cgroup_memory() is None
    groups(memory_max="max", memory_current=GIB)
    assert arrays.cgroup_memory() is None


def test_files_that_were_read_are_no_use_of_memory(groups):
    """A container that has read a large file is as full as its limit, and has all of it free."""
    groups(memory_max=8 * GIB, memory_current=3 * GIB)
    assert arrays.cgroup_memory() == (8 * GIB, 5 * GIB)
    groups(memory_stat=f"anon 5\ninactive_file {2 * GIB}\nactive_file 7")
    assert arrays.cgroup_memory() == (8 * GIB, 7 * GIB)


def test_over_the_limit_nothing_is_free(groups):
    groups(memory_max=GIB, memory_current=GIB + 4096)
    assert arrays.cgroup_memory() == (GIB, 0)


def test_the_tightest_group_around_the_process_counts(groups):
    """A service in a slice: both have limits, and that of the slice is nearly reached."""
    groups(member="0::/work.slice/job.service\n")
    groups("work.slice", memory_max=16 * GIB, memory_current=15 * GIB)
    groups("work.slice/job.service", memory_max=8 * GIB, memory_current=2 * GIB)
    assert arrays.cgroup_memory() == (8 * GIB, GIB)


def test_the_first_version(groups):
    def first(path, limit, used, given_back=0):
        groups(
            path,
            memory_limit_in_bytes=limit,
            memory_usage_in_bytes=used,
            memory_stat=f"inactive_file 1\ntotal_inactive_file {given_back}",
        )

    groups(member="5:devices:/other\n4:cpu,memory:/job\n0::/\n")
    first("memory", 9223372036854771712, 3 * GIB)
    assert arrays.cgroup_memory() is None
    first("memory/job", 4 * GIB, 3 * GIB, GIB)
    assert arrays.cgroup_memory() == (4 * GIB, 2 * GIB)


def test_in_a_container_its_own_group_is_the_outermost(groups):
    """The path is that outside; inside it leads nowhere."""
    groups(member="0::/docker/0123456789\n", memory_max=2 * GIB, memory_current=GIB)
    assert arrays.cgroup_memory() == (2 * GIB, GIB)
