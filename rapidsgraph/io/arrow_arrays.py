"""Arrays and vertex names in Arrow files: each a list in the one row of a table.

Means: columns of any length beside one another, without a copy where the type allows.
Requires: a reader that has compared the file with its checksum before it is parsed. A checksum does
  not tell who wrote a file: `read_lists` accepts what Arrow itself finds valid, and the `check_`
  functions what the package can use.
Reference: the Arrow columnar format.
"""

import io
import zlib

import numpy as np

from .. import device, frames
from ..errors import GraphError
from ..graph.vertex_names import VertexNames
from ..validation import MAX_VERTICES

INTEGERS = {
    name: np.dtype(name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}

PIECE = 2**20  # bytes written between two calls that release mapped pages


def list_table(columns):
    """A pyarrow.Table of {name: array or text Series}, one row."""
    import pyarrow

    columns = {name: to_arrow(values) for name, values in columns.items()}
    return pyarrow.table(
        {
            name: pyarrow.LargeListArray.from_arrays(
                pyarrow.array([0, len(values)], "int64"), values
            )
            for name, values in columns.items()
        }
    )


def read_lists(data):
    """Read a file that `list_table` made, without a copy.

    Parameters
    ----------
    data : buffer

    Returns
    -------
    columns : {name: pyarrow.Array}
        The items of each list.
    metadata : {bytes: bytes}
        Of the schema.

    Raises
    ------
    ValueError
        Anything else than one row of lists without missing values, or whatever Arrow does not
        accept: buffers that are too short, offsets out of bounds, text that is not UTF-8.
    """
    import pyarrow

    try:
        table = pyarrow.ipc.open_file(pyarrow.py_buffer(data)).read_all()
        table.validate(full=True)
    except pyarrow.ArrowMemoryError as error:  # declared sizes; the data are in memory already
        raise ValueError(str(error)) from error
    if table.num_rows != 1 or len(set(table.column_names)) < table.num_columns:
        raise ValueError(f"it has {table.num_rows} rows in place of one, or a column twice")
    columns = {}
    for name, column in zip(table.column_names, table.columns):
        if not pyarrow.types.is_large_list(column.type) or column.num_chunks != 1:
            raise ValueError(f"column {name!r} is {column.type} in place of a list")
        (lists,) = column.chunks
        values = lists.values
        if lists.null_count or values.null_count or len(lists.flatten()) != len(values):
            raise ValueError(f"column {name!r} has missing values, or items that are in no list")
        columns[name] = values
    return columns, table.schema.metadata or {}


def invalid(path, field, value, expected, advice):
    """The GraphError for a field of a file that has another value than it can have."""
    return GraphError(f"{path}: {field} is {value!s:.80}, not {expected}; {advice}")


def is_count(value):
    """Whether a value of JSON is an integer from 0, below 2**63."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def check_columns(columns, expected, path, advice):
    """Check that columns are there, with their types and lengths.

    Parameters
    ----------
    columns : {name: pyarrow.Array}
    expected : {name: (types, length)}
        Names of Arrow types; the length may be None for any.
    path : Path
    advice : str
        What to do, for messages.

    Raises
    ------
    GraphError
    """
    for name, (types, length) in expected.items():
        if name not in columns:
            raise GraphError(f"{path}: the column {name!r} is missing; {advice}")
        values = columns[name]
        if str(values.type) not in types:
            raise invalid(path, f"the type of {name}", values.type, " or ".join(types), advice)
        if length is not None and len(values) != length:
            raise invalid(path, f"the length of {name}", f"{len(values):,}", f"{length:,}", advice)


def check_name_facts(facts, path, advice):
    """Check what `name_facts` wrote: types and ranges.

    Raises
    ------
    GraphError
        Names the file, the field and the value.
    """
    for field in ("vertices", "labels", "own", "dtype"):
        if field not in facts:
            raise GraphError(f"{path}: the field {field!r} is missing; {advice}")
    vertices, labels, own, dtype = (facts[f] for f in ("vertices", "labels", "own", "dtype"))
    if not is_count(vertices) or vertices > MAX_VERTICES:
        raise invalid(path, "vertices", vertices, f"0 to {MAX_VERTICES}", advice)
    are_labels = isinstance(labels, list) and labels and all(map(_is_text, labels))
    if not are_labels or len(set(labels)) < len(labels):
        raise invalid(path, "labels", labels, "a list of different names", advice)
    are_flags = isinstance(own, list) and all(isinstance(flag, bool) for flag in own)
    if not are_flags or len(own) != len(labels):
        raise invalid(path, "own", own, "true or false for each of the labels", advice)
    if dtype is not None and (not isinstance(dtype, str) or dtype not in INTEGERS):
        raise invalid(path, "dtype", dtype, f"null or one of {', '.join(INTEGERS)}", advice)


def _is_text(value):
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def check_names(columns, facts, path, advice, vertex=None):
    """Check the columns of `name_columns`: as many names as vertices, ascending, all different.

    Parameters
    ----------
    columns : {name: pyarrow.Array}
    facts : dict
        Accepted by `check_name_facts`.
    path : Path
    advice : str
    vertex : int, optional
        Whose name is wanted.

    Returns
    -------
    int, str, tuple or None
        The name of `vertex`.

    Raises
    ------
    GraphError
        Names the file, the column and the value.
    """
    several, count = len(facts["labels"]), facts["vertices"]
    if several == 1 and "names_0" not in columns:  # names are 0, 1, ...
        largest = -1 if facts["dtype"] is None else np.iinfo(facts["dtype"]).max
        if facts["dtype"] is None or count > largest + 1:
            raise invalid(path, "dtype", facts["dtype"], f"a type for {count:,} names", advice)
        return vertex
    parts = [f"names_{i}" for i in range(several)]
    pairs = [f"pairs_{i}" for i in range(several - 1)]
    expected = dict.fromkeys(parts, ((*INTEGERS, "large_string"), None))
    check_columns(columns, expected | dict.fromkeys(pairs, (("int64",), None)), path, advice)
    for name in (*parts, *pairs):
        _check_ascending(columns[name], name, path, advice)
    combined = len(columns[parts[0]])
    for part, pair in zip(parts[1:], pairs):
        packed, limit = columns[pair].to_numpy(), combined * len(columns[part])
        if packed.size and not (packed[0] >= 0 and packed[-1] < limit):
            outside = packed[0] if packed[0] < 0 else packed[-1]
            raise invalid(path, pair, outside, f"0 to {limit - 1}", advice)
        combined = packed.size
    if combined != count:
        raise invalid(path, "the number of names", f"{combined:,}", f"{count:,} vertices", advice)
    if vertex is None:
        return None
    found, place = [], vertex
    for part, pair in zip(parts[:0:-1], pairs[::-1]):
        place, within = divmod(columns[pair][place].as_py(), len(columns[part]))
        found.append(columns[part][within].as_py())
    found.append(columns[parts[0]][place].as_py())
    return tuple(found[::-1]) if several > 1 else found[0]


def _check_ascending(values, name, path, advice):
    import pyarrow.compute as pc

    if len(values) < 2:
        return
    ascending = pc.less(values[:-1], values[1:])
    place = pc.index(ascending, False).as_py()
    if place >= 0:
        raise invalid(
            path, f"{name}[{place + 1}]", repr(values[place + 1].as_py()),
            f"above the one before, {values[place].as_py()!r:.80}", advice,
        )  # fmt: skip


def to_arrow(values):
    """The Arrow array of an array or column, text as large_string, wherever they are."""
    import pyarrow

    if device.is_on_gpu(values):
        values = values.get()
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    values = values.to_arrow() if hasattr(values, "to_arrow") else pyarrow.array(values)
    values = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
    is_number = pyarrow.types.is_integer(values.type)
    return values if is_number else values.cast(pyarrow.large_string())


def from_arrow(values, xp):
    """The array on the device of `xp`, or text Series, of an Arrow array; numbers are copied."""
    is_text = str(values.type) == "large_string"
    return frames.moved(values.to_pandas() if is_text else values.to_numpy().copy(), xp)


def name_columns(names):
    """{column: values} that hold what VertexNames do, beside what `name_facts` says."""
    columns = {f"names_{i}": part for i, part in enumerate(names.parts) if part is not None}
    return columns | {f"pairs_{i}": pairs for i, pairs in enumerate(names.pairs)}


def name_facts(names, own):
    """What JSON says of VertexNames and of which name columns an end of an edge has for itself."""
    return {
        "vertices": names.count,
        "labels": names.labels,
        "own": own,
        "dtype": None if names.dtype is None else np.dtype(names.dtype).name,
    }


def names_from(columns, facts):
    """VertexNames of what `name_columns` and `name_facts` gave; takes them out of `columns`."""
    several = range(len(facts["labels"]))
    return VertexNames(
        facts["labels"],
        [columns.pop(f"names_{i}", None) for i in several],
        facts["vertices"],
        [columns.pop(f"pairs_{i}") for i in several[:-1]],
        facts["dtype"] and np.dtype(facts["dtype"]),
    )


class Summing(io.RawIOBase):
    """Passes on what is written, with its checksum (CRC-32).

    Parameters
    ----------
    file : binary file
    release : callable, optional
        Called after each piece of at most `PIECE` bytes.
    """

    def __init__(self, file, release=None):
        self.file, self.checksum, self.release = file, 0, release

    def writable(self):
        return True

    def tell(self):
        return self.file.tell()

    def write(self, data):
        if self.release is None:
            self.checksum = zlib.crc32(data, self.checksum)
            return self.file.write(data)
        data = memoryview(data).cast("B")
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            self.checksum = zlib.crc32(piece, self.checksum)
            self.file.write(piece)
            self.release()
        return len(data)
