"""The cache of compiled kernels: damage, a full disk, and folders that others can write to."""

import json
import os
import pickle
import random
import shutil
import subprocess
import sys

import pytest

from rapidsgraph import device
from rapidsgraph.kernels import jit

pytestmark = pytest.mark.slow

CALL = """
from rapidsgraph.kernels.jit import serial

@serial
def double(value):
    return 2 * value

print(double(21), double(1.5), double(True), double(2j))
"""


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory):
    """A folder with valid entries, and what the call that made them prints."""
    folder = tmp_path_factory.mktemp("warm")
    done = call(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((folder / "rapidsgraph").glob("*.kernel"))
    return folder, done.stdout


@pytest.fixture
def warm_copy(warm_cache, tmp_path):
    """A copy of the valid cache that a test may damage."""
    shutil.copytree(warm_cache[0], tmp_path / "cache")
    (tmp_path / "cache").chmod(0o700)
    return tmp_path / "cache", warm_cache[1]


def call(folder, code=CALL, **environment):
    folders = {"NUMBA_CACHE_DIR": str(folder), "TMPDIR": str(folder), "HOME": "/dev/null"}
    environment = os.environ | folders | environment
    environment.pop("XDG_CACHE_HOME", None)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )


def entries(folder):
    return sorted((folder / "rapidsgraph").glob("*.kernel"))


def test_damaged_entries_are_replaced_and_reported_once(warm_copy):
    folder, expected = warm_copy
    for path, damage in zip(
        entries(folder), ("empty", "truncated", "flipped", "foreign"), strict=True
    ):
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(
            {
                "empty": b"",
                "truncated": content[:middle],
                "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "foreign": pickle.dumps({"not": "a kernel"}),
            }[damage]
        )
    done = call(folder)
    assert (done.returncode, done.stdout) == (0, expected)
    assert done.stderr.count("is damaged") == 4
    assert "it is compiled again" in done.stderr
    repaired = call(folder)
    assert (repaired.stdout, repaired.stderr) == (expected, "")


@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=pytest.mark.long)])
def test_every_flip_and_truncation_of_an_entry_is_detected(warm_copy, count):
    path = entries(warm_copy[0])[0]
    content, generator = path.read_bytes(), random.Random(count)
    for _ in range(count):
        at, damaged = generator.randrange(len(content)), bytearray(content)
        damaged[at] ^= 1 << generator.randrange(8)
        source = range(len(jit.MAGIC), len(jit.MAGIC) + jit.DIGEST_BYTES)
        for bytes_ in (damaged, content[:at]):
            path.write_bytes(bytes_)
            if bytes_ is damaged and at in source:  # an entry for other sources
                assert jit.read_entry(path) is None
            else:
                with pytest.raises(ValueError, match="truncated|checksum"):
                    jit.read_entry(path)


def test_entries_for_other_sources_are_replaced_without_a_word(warm_copy):
    folder, expected = warm_copy
    path, position = entries(folder)[0], len(jit.MAGIC)
    content = path.read_bytes()
    path.write_bytes(content[:position] + bytes(32) + content[position + 32 :])
    done = call(folder)
    assert (done.stdout, done.stderr) == (expected, "")
    assert jit.read_entry(path) is not None


def test_a_full_disk_is_reported_once_and_the_answer_is_right(tmp_path, warm_cache):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
    ignore = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    done = call(tmp_path, limit + ignore + CALL)
    assert (done.returncode, done.stdout) == (0, warm_cache[1])
    assert done.stderr.count("compiled kernels cannot be cached in") == 1
    assert list((tmp_path / "rapidsgraph").iterdir()) == []


@pytest.mark.parametrize("shared", ["folder", "parent", "owner"])
def test_code_from_a_folder_of_others_never_runs(warm_copy, tmp_path, shared):
    folder, expected = warm_copy
    planted = b"cos\nsystem\n(S'touch %s'\ntR." % os.fsencode(tmp_path / "executed")
    for path in entries(folder):
        path.unlink()
        jit.write_entry(path, planted)
    inner = folder / "rapidsgraph"
    if shared == "folder":
        inner.chmod(0o777)
    elif shared == "parent":
        folder.chmod(0o777)
    elif os.getuid() == 0:
        os.chown(inner, 12345, 12345)
    else:
        pytest.skip("only root can give a folder to another user")
    done = call(folder)
    assert (done.returncode, done.stdout) == (0, expected)
    assert done.stderr.count("are not used, because other users can write to") == 1
    assert not (tmp_path / "executed").exists()
    if shared == "folder":
        inner.chmod(0o700)
        call(folder)
        assert (tmp_path / "executed").exists()  # the planted code would have run


def test_an_entry_that_another_user_placed_later_is_not_used(warm_copy):
    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    path = entries(warm_copy[0])[0]
    os.chown(path, 12345, 12345)
    with pytest.raises(ValueError, match="another user"):
        jit.read_entry(path)


def test_new_folders_are_private(tmp_path):
    done = call(tmp_path / "a" / "b", "import os; os.umask(0);" + CALL)
    assert done.stderr == ""
    assert (tmp_path / "a/b/rapidsgraph").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in entries(tmp_path / "a/b")} == {0o600}


@pytest.fixture
def read_only(tmp_path):
    """Arguments of `call` whose only writable folder is that for temporary files, and its cache."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir(mode=0o1777)
    (tmp_path / "tmp").chmod(0o1777)  # as /tmp
    cache = tmp_path / f"tmp/rapidsgraph-{os.getuid()}/kernels"
    return (tmp_path / "file", {"TMPDIR": str(tmp_path / "tmp")}), cache


def test_a_read_only_home_is_replaced_by_a_private_temporary_folder(read_only, warm_cache):
    (folder, temporary), cache = read_only
    done = call(folder, "import os; os.umask(0);" + CALL, **temporary)
    assert (done.returncode, done.stdout) == (0, warm_cache[1])
    (warning,) = [line for line in done.stderr.splitlines() if "compiled kernels are" in line]
    assert f"cached in {cache}, which is temporary, because {folder}/rapidsgraph" in warning
    assert "set NUMBA_CACHE_DIR to a folder of your own" in warning
    assert {path.stat().st_mode & 0o777 for path in (cache, cache.parent)} == {0o700}
    again = call(folder, CALL + "assert not sum(double.stats.cache_misses.values())", **temporary)
    assert (again.returncode, again.stdout, again.stderr) == (0, warm_cache[1], "")


@pytest.mark.parametrize("shared", ["mode", "owner", "link"])
def test_a_temporary_folder_of_others_is_not_used(read_only, warm_cache, tmp_path, shared):
    (folder, temporary), cache = read_only
    cache.parent.mkdir(mode=0o700)
    shutil.copytree(warm_cache[0] / "rapidsgraph", cache)
    planted = b"cos\nsystem\n(S'touch %s'\ntR." % os.fsencode(tmp_path / "executed")
    for path in cache.iterdir():
        jit.write_entry(path, planted)
    if shared == "mode":
        cache.parent.chmod(0o777)
    elif shared == "link":
        cache.parent.rename(tmp_path / "other")
        cache.parent.symlink_to(tmp_path / "other")
    elif os.getuid() == 0:
        os.chown(cache.parent, 12345, 12345)
    else:
        pytest.skip("only root can give a folder to another user")
    done = call(folder, **temporary)
    assert (done.returncode, done.stdout) == (0, warm_cache[1])
    assert done.stderr.count("compiled kernels are not cached, because") == 1
    assert "set NUMBA_CACHE_DIR to a folder of your own" in done.stderr
    assert not (tmp_path / "executed").exists()


def test_a_folder_that_only_root_can_write_to_is_read(warm_copy):
    """As in the image, whose kernels belong to root and are used by everybody."""
    if os.getuid() != 0:
        pytest.skip("only root can run a process of another user")
    folder, expected = warm_copy
    for path in (folder, folder / "rapidsgraph"):
        path.chmod(0o755)
    for path in entries(folder):
        path.chmod(0o644)
    before = [path.stat().st_mtime_ns for path in entries(folder)]
    for parent in folder.parents:  # pytest closes its folders to other users
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(0o755)
    # The first compilation imports modules that the other user may not be allowed to read.
    become = "import numba, os; numba.njit(lambda x: 2 * x)(1.5)\n"
    become += "os.setgroups([]); os.setgid(12345); os.setuid(12345)\n"
    compiled = "assert not sum(double.stats.cache_misses.values()), double.stats"
    done = call(folder, CALL.replace("print", become + "print") + compiled)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert before == [path.stat().st_mtime_ns for path in entries(folder)]


def test_the_command_warns_in_one_line(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    # A generator has the fewest kernels to compile.
    arguments = ["generate", "uniform", "8", "8", "--output", str(tmp_path / "edges.csv")]
    code = f"import sys; from rapidsgraph.__main__ import main; sys.argv[1:] = {arguments}; main()"
    done = call(tmp_path / "cache", code)
    (warning,) = [line for line in done.stderr.splitlines() if "kernels cached" in line]
    assert warning.startswith("warning: kernels cached in")
    assert done.returncode == 0


def test_doctor_names_damaged_files_and_unsafe_folders(warm_copy):
    folder, _ = warm_copy
    path = entries(folder)[0]
    path.write_bytes(b"")
    code = "import json; from rapidsgraph import doctor; print(json.dumps(doctor._numba()))"
    done = call(folder, code)
    assert json.loads(done.stdout)["damaged"] == [str(path)]
    path.parent.chmod(0o777)
    done = call(folder, code)
    assert list(json.loads(done.stdout)["unsafe"]) == [str(path.parent)]
    assert done.stderr == ""


@pytest.mark.parametrize("free", [0, 2**30])
def test_cuda_kernels_are_cached_in_memory_if_the_disk_is_full(tmp_path, monkeypatch, free):
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cupy"))
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "")
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(device.arrays.shutil, "disk_usage", {tmp_path: usage}.__getitem__)
    check = device.arrays.check_cuda_cache.__wrapped__
    if free:
        check()
        assert os.environ["CUPY_CACHE_IN_MEMORY"] == ""
        return
    with pytest.warns(UserWarning, match=f"because the disk of {tmp_path} is full"):
        check()
    assert os.environ["CUPY_CACHE_IN_MEMORY"] == "1"
    check()  # says it once
