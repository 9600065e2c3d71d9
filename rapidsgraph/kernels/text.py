"""Columns of text in Arrow's layout, on a CPU: bytes, and the position at which each value begins.

There is no CUDA twin: cuDF has a gather of its own.
"""

import numpy as np

from .jit import serial

WORD_BYTES = 8  # of a category, at most


@serial
def write_categories(codes, words, sizes, offsets, data):
    """Write the category of each code.

    Parameters
    ----------
    codes : int8 array, shape (rows,)
    words : uint64 array, shape (categories,)
        The bytes of each category, the first one lowest.
    sizes : int64 array, shape (categories,)
        The number of bytes of each category, at most `WORD_BYTES`.
    offsets : int64 array, shape (rows + 1,)
    data : uint8 array
        Whole words are written, each over the end of the one before it, so `WORD_BYTES` beyond the
        text are needed.

    Returns
    -------
    num_bytes : int
        Size of the text.
    """
    position = np.int64(0)
    for row in range(len(codes)):
        code = np.uint64(codes[np.uint64(row)])
        word = words[code]
        offsets[np.uint64(row)] = position
        for byte in range(WORD_BYTES):  # becomes one store
            data[np.uint64(position + byte)] = np.uint8(word >> np.uint64(8 * byte))
        position += sizes[code]
    offsets[np.uint64(len(codes))] = position
    return position
