"""Arrays that processes of one machine share."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rapidsgraph.distributed import shared_memory

pytestmark = pytest.mark.skipif(
    shared_memory.get_machine_id() is None, reason="needs memfd_create of Linux"
)

ATTACH = """
import sys
import numpy as np
from rapidsgraph.distributed import shared_memory

array = shared_memory.attach({address}, (2, 5), np.float32)
if array is None:
    sys.exit(3)
assert array[1, 2] == 7 and array.dtype == np.float32
array[0, 4] = 5
"""


def attach_in_process(address):
    return subprocess.run([sys.executable, "-c", ATTACH.format(address=address)]).returncode


def test_processes_share_an_array():
    array, address = shared_memory.allocate((2, 5), np.float32)
    assert array.shape == (2, 5) and not array.any()
    array[1, 2] = 7
    assert attach_in_process(address) == 0 and array[0, 4] == 5
    process, file, token = address
    for wrong in ((process, file, bytes(16)), (process, 10**6, token), (2**22 + 1, file, token)):
        assert shared_memory.attach(wrong, (2, 5), np.float32) is None
    attached = shared_memory.attach(address, (2, 5), np.float32)
    del array
    assert attach_in_process(address) == 3  # the process that allocated it has released it
    assert attached[1, 2] == 7


def test_no_file_stays_open():
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(20):
        array, address = shared_memory.allocate((2, 5), np.float64)
        assert shared_memory.attach(address, (2, 5), np.float64) is not None
        del array
    assert count() == before
