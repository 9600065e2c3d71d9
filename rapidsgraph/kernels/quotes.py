"""Quoted fields of CSV text, on CPUs only: where they begin, end and span lines.

Means: the state machine of a CSV lexer, which blocks of a file pass through one after the other.
Requires: ``state`` from `new_state`. There is no CUDA twin: text is decompressed and split on the
  host.
Reference: RFC 4180. A quote opens a field only as its first character, and two quotes inside a
  quoted field are one; elsewhere a quote is an ordinary character, as in Arrow and pandas.
"""

import numpy as np

from .jit import serial

LF, CR, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
# Elements of the state: whether the last byte is inside a quoted field, whether it is the closing
# quote of one that spans lines, bytes seen, the last byte, where the last quoted field begins and
# ends, whether it spans lines, whether any does, where the first field begins that spans lines and
# has text behind its closing quote (-1: none), where the longest field begins that spans lines,
# its length.
(
    INSIDE, CLOSED, SEEN, LAST, OPENED_AT, CLOSED_AT, SPANS, ANY_SPANS, TRAILING, LONGEST, LENGTH,
) = range(11)  # fmt: skip


def new_state():
    """Return the state before the first block: int64, shape (11,)."""
    state = np.zeros(11, np.int64)
    state[LAST], state[CLOSED_AT], state[TRAILING] = LF, -2, -1
    return state


@serial
def follow(block, delimiter, state):
    """Advance ``state`` over a block of bytes: uint8, shape (bytes,)."""
    seen, last = state[SEEN], np.uint8(state[LAST])
    inside, closed = state[INSIDE] != 0, state[CLOSED] != 0
    for i in range(len(block)):
        byte = block[np.uint64(i)]
        if byte == QUOTE:
            at = seen + i
            if inside:
                inside, closed = False, state[SPANS] != 0
                state[CLOSED_AT] = at
                if closed and at - state[OPENED_AT] > state[LENGTH]:
                    state[LONGEST], state[LENGTH] = state[OPENED_AT], at - state[OPENED_AT]
            elif at == state[CLOSED_AT] + 1:
                inside, closed = True, False
            elif last in (LF, CR) or last == delimiter:
                inside = True
                state[OPENED_AT], state[SPANS] = at, 0
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
