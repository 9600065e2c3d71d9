"""Operations of CuPy that are compiled ahead."""

from types import SimpleNamespace

import numpy as np
import pytest

from rapidsgraph.device import operations


@pytest.mark.parametrize("number", range(len(operations.OPERATIONS)))
def test_operations_are_valid(number):
    size = operations.SIZE
    arrays = SimpleNamespace(
        int32=np.arange(size, dtype=np.int32),
        int64=np.arange(size),
        float64=np.ones(size),
        flags=np.zeros(size, bool),
    )
    operations.OPERATIONS[number](np, arrays)


@pytest.mark.gpu
def test_operations_are_compiled_once(monkeypatch):
    monkeypatch.setattr(operations, "_compiled", set())
    futures = operations.compile_operations_ahead()
    assert len(futures) == len(operations.OPERATIONS)
    for future in futures:
        future.result()
    assert operations.compile_operations_ahead() == []
