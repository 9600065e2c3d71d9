"""The columns of an edge frame: read and check them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError, MissingColumnError, VertexTypeError
from ..frames import Column, Frame
from ..validation import (
    FRAME_WEIGHT_HINT,
    as_list,
    check_endpoint_columns,
    check_weights,
    choose_weight,
    is_default_weight,
    vertex_labels,
)
from .multi_edges import MultiEdges
from .vertex_names import Labeling, VertexNames, check_names
from .vertex_naming import mixed_names_error


@dataclass
class EdgeSchema:
    """What result frames take over from an edge frame.

    Attributes
    ----------
    library : str
        Library of the frame, as `frames.normalize_frame` returns it.
    labels : list of str
        Name columns of results.
    is_endpoint_specific : list of bool
        As in `Labeling`.
    source_columns : list of str
        Name columns of the sources.
    text_types : dict from str to Arrow type or None
        Types of the text columns of results.
    """

    library: str
    labels: list[str]
    is_endpoint_specific: list[bool]
    source_columns: list[str]
    text_types: dict[str, Any]

    def labeling(self, names: VertexNames, xp: ArrayModule) -> Labeling:
        """Return the labeling of vertices that are named by these columns."""
        return Labeling(
            names, xp, self.library, self.is_endpoint_specific, self.source_columns, self.text_types
        )


@dataclass
class EdgeColumns:
    """The columns of an edge frame.

    Attributes
    ----------
    schema : EdgeSchema
    sources, destinations : list of arrays or Series
        The name columns of each endpoint, one value per row.
    weights : array or None
    xp : module
        NumPy or CuPy.
    """

    schema: EdgeSchema
    sources: list[Any]
    destinations: list[Any]
    weights: Array | None
    xp: ArrayModule


def read_columns(
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of an edge frame; parameters as for `Graph`."""
    library, edges = frames.normalize_frame(edges)
    try:
        return _read_columns(library, edges, source, destination, weight, multi_edges)
    except GraphError as error:
        raise frames.with_casts_of(error, library) from None


def _read_columns(
    library: str,
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of a normalized frame; see `read_columns`."""
    endpoints = [as_list(source), as_list(destination)]
    weight = choose_weight(weight, frames.column_names(edges), [*endpoints[0], *endpoints[1]])
    check_endpoint_columns(*endpoints)
    try:
        sources, destinations = (
            [frames.get_column(edges, name, parameter) for name in names]
            for parameter, names in zip(("source", "destination"), endpoints, strict=True)
        )
    except MissingColumnError as error:
        names = [name for names in endpoints for name in names]
        if not all(isinstance(name, str) for name in names) or names != ["source", "destination"]:
            columns = frames.column_names(edges)
            used = [*names, *as_list(weight)]
            raise frames.missing_column_error(
                error.column, columns, str(error.parameter), used=used
            ) from None
        options = {} if weight is None or is_default_weight(weight) else {"weight": weight}
        if weight is not None and multi_edges != "first":
            options["multi_edges"] = multi_edges
        raise frames.missing_endpoint_error(edges, frames.column_names(edges), options) from None
    if endpoints[0] == endpoints[1]:
        raise GraphError(
            f"source and destination are the same column, {', '.join(map(repr, endpoints[0]))}; "
            "name two different ones",
            parameter="destination",
            column=endpoints[1][0],
            value=destination,
        )
    if isinstance(weight, str) and weight in (*endpoints[0], *endpoints[1]):
        raise GraphError(
            f"weight is {weight!r}, a column that names vertices; name another one, or pass "
            "weight=None",
            parameter="weight",
            column=weight,
            value=weight,
        )
    xp, num_rows = frames.common_array_module(sources + destinations), len(sources[0])
    lengths = {len(values) for values in sources + destinations}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}", parameter="edges")
    weights = None
    if weight is not None:
        weights = _read_weights(library, edges, weight, num_rows, xp)
    labels = vertex_labels(*endpoints)
    text_types: dict[str, Any] = {}
    for columns, names in zip((sources, destinations), endpoints, strict=True):
        for values, name in zip(columns, names, strict=True):
            check_names(values, name)
    if num_rows:
        check_name_kinds(labels, endpoints, sources, destinations)
    else:
        _unify_name_kinds(sources, destinations)
    for label, name in zip(labels, endpoints[0], strict=True):
        text_type = frames.arrow_text_type(edges, name)
        for column in ("predecessor", "label"):  # of results, which name vertices
            text_types[column + label.removeprefix("vertex")] = text_type
        text_types[label] = text_type
    is_endpoint_specific = [a != b for a, b in zip(*endpoints, strict=True)]
    schema = EdgeSchema(library, labels, is_endpoint_specific, endpoints[0], text_types)
    return EdgeColumns(schema, sources, destinations, weights, xp)


def _read_weights(library: str, edges: Frame, weight: str, num_rows: int, xp: ArrayModule) -> Array:
    """Return the checked weights of a frame; errors in the default column say how to ignore it."""
    try:
        weights = check_weights(frames.get_column(edges, weight, "weight"), weight, xp)
    except GraphError as error:
        if not is_default_weight(weight):
            raise
        # Casts first: the hint becomes a part of the message.
        raise frames.with_casts_of(error, library).with_hint(FRAME_WEIGHT_HINT) from None
    if len(weights) != num_rows:
        raise GraphError(
            f"the number of weights is {len(weights)}, but that of rows is {num_rows}",
            parameter="weight",
            column=weight,
        )
    return weights


def read_partition_columns(
    number: int,
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of a partition of a Dask frame; errors have its number.

    Parameters are those of `read_columns`. If `weight` is not None, the column must exist.
    """
    try:
        columns = read_columns(edges, source, destination, weight, multi_edges)
        if weight is not None and columns.weights is None:  # optional in whole frames only
            names = frames.column_names(frames.normalize_frame(edges)[1])
            used = [*as_list(source), *as_list(destination)]
            error = frames.missing_column_error(weight, names, "weight", used=used)
            raise error.with_hint(FRAME_WEIGHT_HINT)
    except GraphError as error:
        raise error.with_fields(partition=number) from None
    return columns


@contextlib.contextmanager
def translate_key_errors(edges: Frame, *options: Any) -> Iterator[None]:
    """Translate a KeyError of Dask to a MissingColumnError that names the partition.

    Dask raises the KeyError where it selects columns. A selection that tolerated missing columns
    would not be pushed down into the readers of files.

    Parameters
    ----------
    edges : Dask frame
        All columns. If there is a KeyError, its partitions are computed.
    options
        Arguments of `read_partition_columns`.
    """
    try:
        yield
    except KeyError:
        from dask import delayed

        find = delayed(_find_missing_column, pure=False)
        for number, frame in enumerate(edges.to_delayed()):
            try:
                error = find(number, frame, *options).compute()
            except KeyError as reader_error:  # a reader selects the columns of the metadata
                error = _missing_in_file_error(number, edges, str(reader_error), *options[:3])
            if error is not None:
                raise error from None
        raise


def _missing_in_file_error(
    number: int, edges: Frame, message: str, *columns: Any
) -> MissingColumnError | None:
    """Return the error of a partition, by the message of a reader that misses one of its columns.

    None if the message names none of the columns.
    """
    for parameter, names in zip(("source", "destination", "weight"), columns, strict=True):
        for name in as_list(names):
            if name is not None and repr(name) in message:
                others = [column for column in edges.columns if repr(column) not in message]
                error = frames.missing_column_error(name, others, parameter)
                if parameter == "weight":
                    error = error.with_hint(FRAME_WEIGHT_HINT)
                return error.with_fields(partition=number)
    return None


def _find_missing_column(number: int, frame: Frame, *options: Any) -> MissingColumnError | None:
    """Return the error of a partition without one of the columns, or None if it has all."""
    try:
        read_partition_columns(number, frame.iloc[:0], *options)
    except MissingColumnError as error:
        return error
    except GraphError:  # about values or types
        pass
    return None


def choose_partition_error(errors: Iterable[GraphError]) -> GraphError:
    """Return the error of the first partition, but errors about floats as names last.

    If integers are missing in one partition, pandas makes floats of those in all others. Only the
    error about the missing ones has a hint that works. Of other floats, fractions come first.
    """

    def order(error: GraphError) -> tuple[bool, bool, float]:
        is_whole = isinstance(error.value, float) and error.value.is_integer()
        number = math.inf if error.partition is None else error.partition
        return isinstance(error, VertexTypeError), is_whole, number

    return min(errors, key=order)


def check_name_kinds(
    labels: Sequence[str],
    endpoints: Sequence[Sequence[str]],
    sources: Sequence[Column],
    destinations: Sequence[Column],
) -> None:
    """Raise GraphError if one endpoint is named by text and the other by numbers."""
    for label, pair, ends in zip(labels, zip(sources, destinations), zip(*endpoints), strict=True):
        are_numbers = [*map(device.is_array, pair)]
        if len({*are_numbers}) > 1:
            text, numbers = (ends[are_numbers.index(flag)] for flag in (False, True))
            raise mixed_names_error(label, text, numbers)


def _unify_name_kinds(sources: list[Column], destinations: list[Column]) -> None:
    """Convert text to integers, in place, where one of two columns without rows has integers."""
    for index, pair in enumerate(zip(sources, destinations, strict=True)):
        for columns, other in zip((sources, destinations), reversed(pair), strict=True):
            if device.is_array(other) and not device.is_array(columns[index]):
                columns[index] = device.array_module(other).empty(0, np.int64)
