"""Vertex names of a file: the distinct names of all batches, then the ids of each row.

The names and ids are those of `Graph` for the whole columns. Distinct integers of one column are
in memory (`integer_names`). Text and names of several columns are dictionary-encoded and stay on
disk (`dictionaries`), with the ids of all rows, so that the file is not read again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import frames
from ...graph.vertex_names import VertexNames, as_integers, check_names, check_present, check_text
from ...graph.vertex_naming import (
    check_name_kind,
    mixed_signs_error,
    name_kinds,
    name_vertices,
)
from .dictionaries import HASH_BYTES, DictionaryEncoder, FileColumn, encode_pairs
from .edge_reader import Batch, EdgeFile
from .file_array import TempFiles
from .integer_names import IntegerCollector, MemoryCheck, integer_lookup

MIN_ENCODED_ROWS = 1024
NUM_SAMPLED_ROWS = 1024  # rows whose types are checked, as all batches have the same types


class NameCollector:
    """Collect the distinct vertex names of batches.

    Parameters
    ----------
    labels : list of str
        As for `VertexNames`.
    memory : int
        Bytes for distinct names; the others are written to disk.
    files : TempFiles

    Attributes
    ----------
    labels : list of str
    dtypes : list of numpy.dtype or None
        The type of each name column; None for text.
    """

    def __init__(self, labels: list[str], memory: int, files: TempFiles) -> None:
        self.labels = labels
        self.dtypes: list[np.dtype | None] = []
        self._memory, self._files = memory, files
        self._has_rows = False
        self._empty_columns: tuple[list[Any], list[Any]] | None = None
        self._integers: IntegerCollector | None = None
        self._encoders: list[DictionaryEncoder] = []
        self._num_edge_batches = 0  # batches of the encoders before additional vertices

    @property
    def is_encoded(self) -> bool:
        """Whether `edge_ids` has the ids of all rows, so that the names are not read again."""
        return bool(self._encoders)

    @property
    def is_integer(self) -> bool:
        """Whether the names are integers of one column."""
        return self._integers is not None

    def add(self, sources: list[Any], destinations: list[Any]) -> None:
        """Add the names of the source and destination columns of a batch."""
        if not self._has_rows:
            samples = [_sample(values) for values in sources], [_sample(v) for v in destinations]
            name_vertices(samples[0], samples[1], None, self.labels, np)  # raises on wrong types
            self._has_rows = bool(len(sources[0]))
            self._empty_columns = None if self._has_rows else samples
            ends = zip(sources, destinations, self.labels, strict=True)
            self.dtypes = [_common_dtype(*columns) for columns in ends]
        if not len(sources[0]):
            return
        sources, destinations = self._convert(sources), self._convert(destinations)
        if len(self.labels) == 1 and self.dtypes[0] is not None:
            if self._integers is None:
                self._integers = IntegerCollector(self._memory, self._files, self.dtypes[0])
            self._integers.add(sources[0])
            self._integers.add(destinations[0])
        else:
            self._encode(sources, destinations)

    def _encode(self, sources: list[Any], destinations: list[Any]) -> None:
        """Encode rows in chunks that take an eighth of the memory."""
        if not self._encoders:
            memory = self._memory // len(self.labels)
            self._encoders = [DictionaryEncoder(self._files, memory) for _ in self.labels]
        ends = [[_to_arrow(values) for values in columns] for columns in (sources, destinations)]
        rows = len(ends[0][0])
        row_bytes = 2 * sum(array.nbytes for columns in ends for array in columns) // rows
        row_bytes += 2 * HASH_BYTES * len(self.labels)
        chunk_rows = max(self._memory // 8 // row_bytes, MIN_ENCODED_ROWS)
        for start in range(0, rows, chunk_rows):
            for encoder, *columns in zip(self._encoders, *ends, strict=True):
                encoder.add([array.slice(start, chunk_rows) for array in columns])
            self._num_edge_batches += 1

    def add_vertices(self, columns: Sequence[Any]) -> None:
        """Add names of vertices without edges, after all edges: one array or Series per label.

        A range takes the type of the collected integers if it fits.
        """
        if not len(columns[0]):
            return
        if isinstance(columns[0], range):
            columns = [self._range_to_array(columns[0])]
        if self._has_rows:
            known = zip(columns, self.dtypes, self.labels, strict=True)
            unified = [_unify_types(*column) for column in known]
            columns, self.dtypes = [values for values, _ in unified], [kind for _, kind in unified]
            if self._integers is not None and self.dtypes[0] is not None:
                self._integers.dtype = self.dtypes[0]
        num_edge_batches = self._num_edge_batches
        self.add(list(columns), list(columns))
        self._num_edge_batches = num_edge_batches

    def _range_to_array(self, ids: range) -> np.ndarray:
        dtype = self.dtypes[0] if self._has_rows else None
        fits = dtype is not None and ids.stop <= np.iinfo(dtype).max + 1
        return np.arange(ids.start, ids.stop, dtype=dtype if fits else np.int64)

    def _convert(self, columns: list[Any]) -> list[Any]:
        """Convert integer columns of one end to the types of the names."""
        return [
            values if dtype is None else _convert_integers(values, dtype, label)
            for values, dtype, label in zip(columns, self.dtypes, self.labels, strict=True)
        ]

    def finish(self, check_memory: MemoryCheck) -> VertexNames:
        """Return the names of the vertices.

        `check_memory` is called with the number of vertices and the bytes of their names in a
        store, and may raise before memory is taken.
        """
        if self._integers is not None:
            return self._integers.finish(self.labels, check_memory)
        if not self._encoders:
            assert self._empty_columns is not None
            sources, destinations = self._empty_columns
            names, *_ = name_vertices(sources, destinations, None, self.labels, np)
            check_memory(0, 0)
            return names
        encoders = self._encoders
        distinct = [
            encoder.finish(label) for encoder, label in zip(encoders, self.labels, strict=True)
        ]
        pairs, merged = [], encoders[0]
        for encoder, column in zip(encoders[1:], distinct[1:], strict=True):
            encoded = encode_pairs(merged, encoder, len(column), self._files, self._memory)
            pairs.append(encoded.finish(", ".join(self.labels)))
            merged.close()
            encoder.close()
            merged = encoded
        self._encoders = [merged]
        names = FileNames(self.labels, distinct, pairs, self.dtypes)
        check_memory(names.count, names.stored_bytes)
        return names

    def edge_ids(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the int32 ids of sources and destinations, in the order of `add`."""
        for ids in itertools.islice(self._encoders[0].ids(), self._num_edge_batches):
            yield ids[: ids.size // 2], ids[ids.size // 2 :]

    def integer_lookup(
        self, names: VertexNames
    ) -> Callable[[list[Any], list[Any]], tuple[np.ndarray, np.ndarray]]:
        """Return a function from the columns of a batch to the ids of sources and destinations."""
        look_up = integer_lookup(names)

        def edge_ids(sources: list[Any], destinations: list[Any]) -> tuple[np.ndarray, np.ndarray]:
            return look_up(self._convert(sources)[0]), look_up(self._convert(destinations)[0])

        return edge_ids

    def close(self) -> None:
        """Remove the files of `edge_ids`; those of the names stay."""
        for encoder in self._encoders:
            encoder.close()


class FileNames(VertexNames):
    """Vertex names whose columns are in files, looked up by binary search.

    Parameters
    ----------
    labels : list of str
    distinct, pairs : list of FileColumn
    dtypes : list of numpy.dtype or None
        The types of the name columns in the graph; None for text.
    """

    def __init__(
        self,
        labels: list[str],
        distinct: list[FileColumn],
        pairs: list[FileColumn],
        dtypes: list[np.dtype | None],
    ) -> None:
        super().__init__(labels, distinct, len((pairs or distinct)[-1]), pairs)
        self._dtypes = dtypes
        for column, dtype in zip(distinct, dtypes, strict=True):
            column.dtype = dtype

    @property
    def text_bytes(self) -> int:
        return sum(column.text_bytes for column in self.distinct)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the names in an open store."""
        return sum(column.nbytes for column in itertools.chain(self.distinct, self.pairs))

    def release(self) -> None:
        """Drop the pages of mapped columns from the memory of this process."""
        for column in itertools.chain(self.distinct, self.pairs):
            column.release()

    def columns(self, xp: Any, ids: np.ndarray | None = None) -> dict[str, Any]:
        import pandas

        rows = np.arange(self.count) if ids is None else ids
        columns = []
        for distinct, pairs in zip(self.distinct[:0:-1], self.pairs[::-1], strict=True):
            packed = pairs.take(rows)
            columns.append(distinct.take(packed % len(distinct)))
            rows = packed // len(distinct)
        columns.append(self.distinct[0].take(rows))
        columns = [
            pandas.Series(values) if dtype is None else values.astype(dtype)
            for values, dtype in zip(columns[::-1], self._dtypes, strict=True)
        ]
        return dict(zip(self.labels, columns, strict=True))

    def _look_up(self, columns: Sequence[Any], xp: Any, what: str) -> np.ndarray:
        ids = np.empty(len(columns[0]), np.int64)
        labeled = zip(self.distinct, columns, self.labels, strict=True)
        keys = [self._search_keys(*column, what) for column in labeled]
        for row, (key, *other_keys) in enumerate(zip(*keys, strict=True)):
            index = self.distinct[0].find(key)
            later_columns = zip(self.distinct[1:], self.pairs, other_keys, strict=True)
            for distinct, pairs, other in later_columns:
                within = distinct.find(other)
                is_known = index >= 0 and within >= 0
                index = pairs.find(index * len(distinct) + within) if is_known else -1
            ids[row] = index
        return ids

    def _search_keys(self, distinct: FileColumn, values: Any, label: str, what: str) -> list[Any]:
        """Return the values of a column as `FileColumn.find` takes them."""
        column = None if len(self.distinct) == 1 else label
        check_present(values, "{parameter} has no value in row {row}", parameter=what)
        if distinct.offsets is None:
            return as_integers(values, what, column).tolist()
        check_text(values, what, column)
        return [value.encode() for value in frames.to_device(values, np).tolist()]


def _sample(values: Any) -> Any:
    is_array = isinstance(values, np.ndarray)
    return values[:NUM_SAMPLED_ROWS] if is_array else values.head(NUM_SAMPLED_ROWS)


def _to_arrow(values: Any) -> Any:
    """Return a column as the Arrow array to encode: 64-bit integers, or text as bytes."""
    import pyarrow

    if isinstance(values, np.ndarray):
        wide = np.uint64 if values.dtype == np.uint64 else np.int64
        return pyarrow.array(values.astype(wide, copy=False))
    if not len(values):
        return pyarrow.array([], pyarrow.large_binary())
    values = pyarrow.array(values, from_pandas=True)
    if isinstance(values, pyarrow.ChunkedArray):
        chunks = [chunk for chunk in values.chunks if len(chunk)]
        values = chunks[0] if len(chunks) == 1 else pyarrow.concat_arrays(chunks)
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pyarrow.large_string()).cast(pyarrow.large_binary())


def _common_dtype(sources: Any, destinations: Any, label: str) -> np.dtype | None:
    """Return the dtype of a name column in `Graph`; None for text."""
    if not all(isinstance(values, np.ndarray) for values in (sources, destinations)):
        return None
    dtype = np.result_type(sources, destinations)
    return dtype if dtype.kind in "iu" else np.dtype(np.int64)


def _unify_types(values: Any, dtype: np.dtype | None, label: str) -> tuple[Any, np.dtype | None]:
    """Return additional names and the dtype of all names as in `Graph`; None for text."""
    check_name_kind(name_kinds([values]), {"text" if dtype is None else "numbers"}, label)
    if dtype is None:
        return values, None
    if values.dtype.kind not in "iu":
        check_names(values, parameter="vertices")
    if (values.dtype == np.uint64) == (dtype == np.uint64):
        return values, np.result_type(values, dtype)
    is_unsigned = dtype == np.uint64
    if int(values.min()) < 0 if is_unsigned else int(values.max()) >= 2**63:
        raise mixed_signs_error(label)
    dtype = np.dtype(np.uint64 if is_unsigned else np.int64)
    return values.astype(dtype), dtype


def _convert_integers(values: np.ndarray, dtype: np.dtype, label: str) -> np.ndarray:
    is_mixed = values.dtype == np.uint64 and dtype == np.int64 and len(values)
    if is_mixed and int(values.max()) >= 2**63:
        raise mixed_signs_error(label)
    return values.astype(dtype, copy=False)


def check_no_floats(file: EdgeFile, batch: Batch, batches: Iterable[Batch]) -> None:
    """Raise GraphError, as `Graph` does, if a column of names holds floats.

    Parameters
    ----------
    file : EdgeFile
        The origin of the batches.
    batch : Batch
        The first batch with rows, which has the types.
    batches : iterable of Batch
        The other batches, which are read to the end if the error depends on them.
    """
    kinds = [getattr(values.dtype, "kind", "O") for values in _name_columns(batch)]
    if "f" not in kinds:
        return
    index = kinds.index("f")
    # A missing name is reported before a fraction, a fraction before any other float.
    first_row, priority, row, value = 0, 3, 0, None
    for current in itertools.chain([batch], batches):
        values = _name_columns(current)[index]
        is_missing = np.isnan(values)
        is_fraction = (values != np.round(values)) | np.isinf(values)
        problems = is_missing, is_fraction, np.ones(current.num_rows, bool)
        for order, problem in enumerate(problems):
            if order < priority and problem.any():
                priority, row = order, int(problem.argmax())
                value, row = values[row : row + 1], row + first_row
        first_row += current.num_rows
    with file.located_rows(row):
        check_names(value, [*file.ends[0], *file.ends[1]][index])


def _name_columns(batch: Batch) -> list[Any]:
    return [*batch.sources, *batch.destinations]
