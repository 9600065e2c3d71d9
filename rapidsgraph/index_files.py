"""ScanIndex in a file: every array a list in the one row of an Arrow file.

Means: what an index holds, to be opened without sorting or counting anything again.
Requires: a file that `save` wrote; anything else, also one changed byte, is an error that names
  it.
Reference: the Arrow columnar format, IPC files. The schema's metadata has a JSON text beside it,
  and a checksum (CRC-32) of the whole file, which is computed while the checksum is all zeros. It
  is looked at before the file is parsed.
"""

import json
import re
import zlib

from .arrow_lists import Summing, from_arrow, list_table, name_columns, name_facts, names_from
from .errors import GraphError
from .files import check_writable, replacing
from .formats import reading
from .inputs import checked_path

ENDINGS = (".arrow", ".feather")
FORMAT, VERSION = b"rapidsgraph.ScanIndex", 1
CHECKSUM = re.compile(FORMAT + rb":([0-9a-f]{8});")
NO_CHECKSUM = FORMAT + b":00000000;"


def save(path, arrays, names, own):
    """Write {name: array} and the names of vertices; the file appears whole or not at all.

    Parameters
    ----------
    own : list of bool
        Which name columns an end of an edge has for itself.

    Raises
    ------
    GraphError
        Unknown ending, no such folder, or no permission.
    """
    import pyarrow

    path = checked_path(path)
    check_writable(path, ENDINGS)
    facts = {"version": VERSION, **name_facts(names, own)}
    table = list_table({**arrays, **name_columns(names)})
    table = table.replace_schema_metadata({"facts": json.dumps(facts), "checksum": NO_CHECKSUM})
    try:
        with replacing(path) as file:
            summing = _Summing(file)
            with pyarrow.ipc.new_file(summing, table.schema) as writer:
                writer.write_table(table)
            for place in summing.places:
                file.seek(place)
                file.write(NO_CHECKSUM.replace(b"00000000", b"%08x" % summing.checksum))
    except (OSError, pyarrow.ArrowException) as error:
        raise GraphError(f"{path}: it could not be written ({error})") from error


class _Summing(Summing):
    """Finds the places where the checksum will stand, too."""

    def __init__(self, file):
        super().__init__(file)
        self.places = []

    def write(self, data):
        data = memoryview(data).cast("B")
        if len(data) < 2**16:  # metadata come in small pieces
            found = [match.start() for match in CHECKSUM.finditer(data)]
            self.places += [self.file.tell() + start for start in found]
        return super().write(data)


def load(path, xp):
    """({name: array}, VertexNames, own) of a file that `save` wrote, arrays on the device of `xp`.

    Raises
    ------
    GraphError
        No file, no index, or one that is damaged; the message names the file.
    """
    import pyarrow

    path = checked_path(path)
    with reading(path):
        if path.is_dir():
            raise GraphError(f"{path}: it is a folder; give the file of an index")
        data = bytearray(path.read_bytes())
        _check(data, path)
        table = pyarrow.ipc.open_file(pyarrow.py_buffer(data)).read_all()
        facts = json.loads(table.schema.metadata[b"facts"])
        if facts["version"] != VERSION:
            raise GraphError(
                f"{path}: an index of version {facts['version']}; {VERSION} can be read"
            )
        columns = {name: table[name].chunk(0).values for name in table.column_names}
    columns = {name: from_arrow(values, xp) for name, values in columns.items()}
    names = names_from(columns, facts)
    return columns, names, facts["own"]


def _check(data, path):
    """Raise GraphError unless `data` are what `save` wrote; sets their checksums to zeros."""
    found = list(CHECKSUM.finditer(data))
    if not data.startswith(b"ARROW1") or not found:
        raise GraphError(f"{path}: it is no index, or a damaged one; ScanIndex.save writes one")
    given = {int(match[1], 16) for match in found}
    for start, end in [match.span(1) for match in found]:
        data[start:end] = b"0" * 8
    if given != {zlib.crc32(data)}:
        raise GraphError(f"{path}: the index is damaged; build it and save it again")
