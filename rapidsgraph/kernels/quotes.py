"""Quoted fields of CSV text: where they begin, where they end, and whether they span lines.

The lexer's state machine processes a file block by block, starting from `new_state`. A quote opens
a field only as its first character, and two quotes inside a quoted field stand for one; elsewhere a
quote is an ordinary character, as in Arrow and pandas.

There is no CUDA twin: text is decompressed and split on the host.

References
----------
RFC 4180.
"""

import numpy as np

from .jit import serial

LF, CR, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
# Elements of the state. Positions count bytes from the start of the file.
(
    INSIDE,  # whether the last byte is inside a quoted field
    CLOSED,  # whether the last quoted field is closed, spans lines, and its end was not seen yet
    SEEN,  # number of bytes
    LAST,  # the last byte
    OPENED_AT,  # position of the opening quote of the last quoted field
    CLOSED_AT,  # position of its closing quote
    SPANS,  # whether it spans lines
    ANY_SPANS,  # whether any quoted field spans lines
    TRAILING,  # first field that spans lines and has text after its closing quote; -1 if none
    LONGEST,  # position of the longest field that spans lines
    LENGTH,  # its length
) = range(11)


def new_state():
    """Return the state before the first block: int64, shape (11,)."""
    state = np.zeros(11, np.int64)
    state[LAST], state[CLOSED_AT], state[TRAILING] = LF, -2, -1
    return state


@serial
def follow(block, delimiter, state):
    """Advance the state over a block of bytes: uint8, shape (bytes,)."""
    seen, last = state[SEEN], np.uint8(state[LAST])
    inside, closed = state[INSIDE] != 0, state[CLOSED] != 0
    for i in range(len(block)):
        byte = block[np.uint64(i)]
        if byte == QUOTE:
            position = seen + i
            if inside:
                inside, closed = False, state[SPANS] != 0
                state[CLOSED_AT] = position
                if closed and position - state[OPENED_AT] > state[LENGTH]:
                    state[LONGEST], state[LENGTH] = state[OPENED_AT], position - state[OPENED_AT]
            elif position == state[CLOSED_AT] + 1:  # the second of two quotes
                inside, closed = True, False
            elif last in (LF, CR) or last == delimiter:
                inside = True
                state[OPENED_AT], state[SPANS] = position, 0
        elif inside:
            if byte in (LF, CR):
                state[SPANS] = state[ANY_SPANS] = 1
        elif closed:
            closed = False
            is_end = byte in (LF, CR) or byte == delimiter
            if not is_end and state[TRAILING] < 0:
                state[TRAILING] = state[OPENED_AT]
        last = byte
    state[SEEN], state[LAST], state[INSIDE], state[CLOSED] = seen + len(block), last, inside, closed
