"""Writing a layered edge list into a folder.

Means: what a LayeredEdgeList holds, in files that any reader of Arrow can read:

manifest.json     counts, root, types, where it comes from; size and checksum (CRC-32) of each other
                  file, and its own checksum, which is computed while it is all zeros
vertices.arrow    one row of lists: order, out_weights, names
layers.arrow      a row a layer: first_vertex (a place), forward_edges, backward_edges
partitions.arrow  a row a partition: the columns of partitions.TABLE
edges.arrow       a record batch of one row a partition: the same columns, and its words, which
                  begin at multiples of 64 bytes, to be used in the mapped file

Requires: room on the disk; in memory one partition at a time, and the vertices.
Reference: the Arrow columnar format, IPC files. edges.arrow has no checksum in the manifest, as its
  partitions have their own, in the table. All files say `STORE_FORMAT` at their begin, so that a
  damaged store is still told from somebody's folder.
"""
# A folder that appears whole or not at all.
#
# Means: it is written under a hidden name beside its place, and both names are exchanged at the end.  # noqa: E501
# Requires: a file system that can rename folders. Where it cannot exchange two of them at once, the
#   old folder is put aside for the moment between two renames.
# Reference: renameat2(2). `atomic` tells leftovers of killed processes from folders of living ones.

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import stat
import zlib
from pathlib import Path

import numpy as np

from .. import device
from ..atomic import (
    copy_ownership,
    delete,
    hidden_path,
    remove_leftovers,
    temporary_path,
    write_error,
)
from ..errors import GraphError
from ..graph.name_storage import name_columns, name_facts
from ..io.arrow_arrays import Crc32Writer, list_table
from ..io.formats import read_errors
from ..io.writers import STORE_FILES, STORE_FORMAT, is_store_file, resolve_destination
from ..signals import cleanup_on_signal
from ..validation import check_path
from .packing import COLUMN, TABLE

VERSION = 1
MANIFEST, VERTICES, LAYERS, PARTITIONS, EDGES = STORE_FILES
CHECKSUM = re.compile(rb'"checksum": "([0-9a-f]{8})"\n\}\n\Z')
ALIGNMENT = 64  # of a partition's words in the file, in bytes


def check_place(folder):
    """Raise GraphError where no store can be written, before long work is done for it.

    A store that is there already will be replaced, and so will an empty folder; nothing else.
    """
    folder = check_path(folder)
    final = resolve_destination(folder)
    if not final.parent.is_dir():
        raise GraphError(f"{folder}: the folder {final.parent} does not exist; make it first")
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise GraphError(
            f"{folder}: there is no permission to write into the folder {final.parent}"
        )
    if not final.exists():
        return
    if not final.is_dir():
        raise GraphError(f"{folder}: it is a file; a layered edge list is a folder, name another")
    if not os.access(final, os.R_OK | os.W_OK | os.X_OK):
        raise GraphError(f"{folder}: there is no permission to replace it")
    with read_errors(folder):
        there = sorted(each.name for each in final.iterdir())
        others = [name for name in there if name not in STORE_FILES or not (final / name).is_file()]
        is_store = not there or any(is_store_file(final / name) for name in {*there} - {*others})
    if others or not is_store:
        what = f"{others[0]}, which is no part of one" if others else "other files"
        raise GraphError(
            f"{folder}: the folder is no layered edge list, it holds {what}; name another folder"
        )


def check_separate(folder, source):
    """Raise GraphError if a store in `folder` would replace or be part of the input it is built of.

    Parameters
    ----------
    folder, source : str or path
        The destination, and the file of edges or the folder of Parquet files.
    """
    final, read = (Path(os.path.realpath(check_path(each))) for each in (folder, source))
    if final == read or final in read.parents or read in final.parents:
        raise GraphError(
            f"{folder}: the edges are read from {source}, which is there or around it; name a "
            "folder outside of it"
        )


@contextlib.contextmanager
def write_errors(folder, needed=None, partial=None):
    """Raise a failure to write into `folder` as the GraphError of `atomic.write_error`.

    Parameters
    ----------
    folder : str or path
        The destination, for the message.
    needed : callable, optional
        Returns how many bytes of disk space are needed.
    partial : path, optional
        The temporary folder that is written.
    """
    import pyarrow

    try:
        yield
    except MemoryError:  # ArrowMemoryError among them
        raise
    except (OSError, pyarrow.ArrowException) as error:
        raise write_error(folder, error, needed, partial) from error


@contextlib.contextmanager
def writing(folder, needed=None):
    """A Writer of a store that takes the place of `folder` at the end of the block.

    If the block raises, nothing is left of it, and a store that was there stays.

    Parameters
    ----------
    folder : str or path
    needed : callable, optional
        Returns how many bytes of disk space are needed, for the message if the disk is full.

    Raises
    ------
    GraphError
        What `check_place` finds, before the block; a full disk.
    """
    folder = check_path(folder)
    with contextlib.ExitStack() as at_end:
        with write_errors(folder):
            temporary = at_end.enter_context(replacing_folder(folder, check_place))
            writer = Writer(folder, temporary, needed)
        try:
            yield writer
            if not writer.is_finished:
                raise RuntimeError("the block ended without Writer.finish")
        except BaseException:
            writer.close()
            raise
        with write_errors(folder, needed):
            at_end.close()


class Writer:
    """Partitions one by one, and then all else; see `writing`.

    Attributes
    ----------
    table : list of int64 array
        The rows of the partitions so far, with their positions.
    """

    def __init__(self, folder, temporary, needed=None):
        import pyarrow

        self.folder, self.temporary, self.needed = folder, temporary, needed
        self.table, self.is_finished = [], False
        numbers = [pyarrow.field(name, pyarrow.int64()) for name in TABLE]
        words = pyarrow.field("packed_words", pyarrow.large_list(pyarrow.uint32()))
        self._schema = pyarrow.schema([*numbers, words], {"format": STORE_FORMAT})
        self._file = open(temporary / EDGES, "xb")  # noqa: SIM115 - until `finish`
        self._batches = pyarrow.ipc.new_file(self._file, self._schema)

    def add(self, words, row):
        """Write a partition.

        Parameters
        ----------
        words : uint32 array, shape (words,)
        row : int64 array, shape (len(TABLE),)
            Of the table; its position is set here.
        """
        import pyarrow

        words = np.ascontiguousarray(words.get() if device.is_on_gpu(words) else words)
        row = np.array(row, np.int64)
        place = self._file.tell() or self._start(self._batch(row, words))
        batch = self._batch(row, words)
        own = words.nbytes + -words.nbytes % 8  # Arrow pads what it writes to so many bytes
        padding = -(place + self._size(batch, "") - own) % ALIGNMENT
        end = place + self._size(batch, " " * padding)
        row[COLUMN["position"]] = (end - own) // 4
        with self._explained():
            self._batches.write_batch(self._batch(row, words), {"padding": " " * padding})
        if (end - own) % ALIGNMENT or self._file.tell() != end:
            raise RuntimeError(f"pyarrow {pyarrow.__version__} lays record batches out otherwise")
        self.table.append(row)

    def _explained(self):
        return write_errors(self.folder, self.needed, self.temporary)

    def _batch(self, row, words):
        import pyarrow

        offsets = pyarrow.array([0, words.size], pyarrow.int64())
        words = pyarrow.LargeListArray.from_arrays(offsets, pyarrow.array(words))
        numbers = [pyarrow.array([int(value)], pyarrow.int64()) for value in row]
        return pyarrow.record_batch([*numbers, words], schema=self._schema)

    def _size(self, batch, padding):
        """Bytes that a batch takes in the file, behind others."""
        import pyarrow

        counting = pyarrow.MockOutputStream()
        with pyarrow.ipc.new_stream(counting, self._schema) as stream:
            stream.write_batch(batch)
            before = counting.tell()
            stream.write_batch(batch, {"padding": padding})
            return counting.tell() - before

    def _start(self, batch):
        """Where the first batch will begin: the file is empty until then."""
        import pyarrow

        counting = pyarrow.MockOutputStream()
        with pyarrow.ipc.new_file(counting, self._schema) as file:
            file.write_batch(batch)
            return counting.tell() - pyarrow.ipc.get_record_batch_size(batch)

    def finish(self, facts):
        """Write all else.

        Parameters
        ----------
        facts : LayeredEdgeList, or anything with the same attributes
            But for its words and table. `made_from`, if there is one, says which input it is of.
        """
        with self._explained():
            self._batches.close()
            _flush(self._file)
            files = {EDGES: {"bytes": self._file.tell()}}
            self._file.close()
            starts, edges = np.asarray(facts.layer_starts), np.asarray(facts.layer_edges)
            names = name_columns(facts.labeling.names)
            tables = {
                VERTICES: list_table(
                    {"order": facts.order, "out_weights": facts.out_weights, **names}
                ),
                LAYERS: _table(("first_vertex", "forward_edges", "backward_edges"),
                               (starts[:-1], *edges)),
                PARTITIONS: _table(TABLE, np.array(self.table).reshape(-1, len(TABLE)).T),
            }  # fmt: skip
            for name, table in tables.items():
                files[name] = self._write(
                    name, table, getattr(facts.labeling.names, "release", None)
                )
            weight_dtype = facts.weight_dtype
            manifest = {
                "format": STORE_FORMAT,
                "version": VERSION,
                "edges": facts.num_edges,
                "partitions": len(self.table),
                "root": facts.labeling.name_of(facts.root_id),
                "root_id": facts.root_id,
                "depth": starts.size - 2,
                "reached": starts[-1],
                "directed": facts.directed,
                "weighted": facts.weighted,
                "weight_dtype": None if weight_dtype is None else np.dtype(weight_dtype).name,
                "minimum_edges": facts.minimum_edges,
                **name_facts(facts.labeling.names, facts.labeling.is_endpoint_specific),
                "source_columns": list(facts.labeling.source_columns),
                "made_from": getattr(facts, "made_from", None),
                "files": files,
                "checksum": "0" * 8,
            }
            text = json.dumps(manifest, indent=1, default=lambda number: number.item()) + "\n"
            data = text.encode()
            start, stop = CHECKSUM.search(data).span(1)
            with open(self.temporary / MANIFEST, "xb") as file:
                file.write(data[:start] + b"%08x" % zlib.crc32(data) + data[stop:])
                _flush(file)
        self.is_finished = True

    def _write(self, name, table, release=None):
        """Write a file; `release` drops what was read of mapped columns, again and again."""
        import pyarrow

        table = table.replace_schema_metadata({"format": STORE_FORMAT})
        with open(self.temporary / name, "xb") as file:
            summing = Crc32Writer(file, release)
            with pyarrow.ipc.new_file(summing, table.schema) as writer:
                writer.write_table(table)
            _flush(file)
            return {"bytes": file.tell(), "checksum": f"{summing.checksum:08x}"}

    def close(self):
        """Give up."""
        with contextlib.suppress(OSError):  # a full disk
            self._file.close()


def _table(names, columns):
    import pyarrow

    return pyarrow.table(
        {name: np.ascontiguousarray(column, np.int64) for name, column in zip(names, columns)}
    )


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def save(layered, folder, report=None):
    """Write a LayeredEdgeList; `report(partitions done, text)` is called for each partition."""
    with writing(folder, lambda: layered.nbytes) as writer:
        for partition, row in enumerate(layered.table):
            start = int(row[COLUMN["position"]])
            words = layered.words[start : start + int(row[COLUMN["words"]])]
            layered.check_partition(partition, words)
            writer.add(words, row)
            if report:
                report(partition + 1, f"{len(layered.table)} partitions")
        writer.finish(layered)


CURRENT_FOLDER, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def replacing_folder(folder, check):
    """A new folder that takes the place of `folder` at the end, and vanishes if the block fails.

    A folder that is replaced passes on its mode and, where permitted, its owner and group.

    Parameters
    ----------
    folder : path
    check : callable
        Of the final path: raises where what is there now may not go.

    Raises
    ------
    GraphError
        What `check` raises, or a place inside a stored layered edge list.
    """
    final = resolve_destination(folder)
    check(final)
    remove_leftovers(final)
    with temporary_folder(final) as temporary:
        yield temporary
        _sync(temporary)
        _take_place(temporary, final, check)
        _sync(final.parent)


@contextlib.contextmanager
def temporary_folder(final):
    """A hidden folder beside `final`, locked; what has its name at the end is removed."""
    try:
        replaced = os.stat(final)
    except FileNotFoundError:
        replaced = None
    mode = 0o777 if replaced is None else stat.S_IMODE(replaced.st_mode) & 0o700
    with temporary_path(final, mode, is_folder=True) as (temporary, handle):
        if replaced is not None:
            copy_ownership(handle, replaced)
        yield temporary


def _take_place(temporary, final, check):
    try:
        os.rename(temporary, final)  # where there is nothing, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    check(final)  # it may have changed since
    if _exchanged(temporary, final):
        return
    aside = hidden_path(final)

    def restore():
        try:
            os.rename(aside, final)
        except OSError:
            if final.exists():  # the new folder has taken the place
                delete(aside)

    with cleanup_on_signal(restore):
        try:
            os.rename(final, aside)
            os.rename(temporary, final)
        except BaseException:
            restore()
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one, other):
    """Whether two paths could be exchanged at once, and were."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        return False
    one, other = os.fsencode(one), os.fsencode(other)
    return libc.renameat2(CURRENT_FOLDER, one, CURRENT_FOLDER, other, EXCHANGE) == 0


def _sync(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # not every file system can
            os.fsync(handle)
    finally:
        os.close(handle)
