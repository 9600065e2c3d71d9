"""From a file to a store of layers, without the whole graph in memory.

Means: what LayeredEdgeList.build makes of the Graph of the same file, partition by partition.
Requires: arrays by vertex fit in memory (VERTEX_BYTES each); disk beside the store for the edges,
  three times, and for names of text or several columns, twice.
Reference: Zhu et al. 2017 (WolfPath); external distribution sort, Knuth, The Art of Computer
  Programming 3, 5.4.9.

Integers that name vertices are read twice: for the distinct ones, and for the edges. Text and names
of several columns are read once and dictionary-encoded, with sorted runs on the disk. Edges are
spilled into buckets by source. Sorted, they are adjacency lists in one flat file. A search from the
root reads each list once; then all are moved into buckets of layer order, and packed from these.
"""

import math
from types import SimpleNamespace

import numpy as np

from ... import device
from ...atomic import resolve_destination
from ...errors import GraphError, InsufficientMemoryError
from ...graph.edge_frame import check_policies
from ...graph.labeling import Labeling
from ...graph.vertex_names import check_ids_in_range
from ...graph.weight_sums import merged_weight_error, sum_type, total_weight
from ...validation import check_path, resolve_vertices, vertex_labels
from .. import build as building
from ..packing import PARTITION_BYTES
from ..store import writing
from ..store_writer import temporary_folder, write_errors
from . import kernels
from .bucket_sort import (
    BUCKETS,
    PIECE,
    Scratch,
    Spill,
    check_disk,
    release_free_memory,
    run,
    system_memory,
)
from .csr_file import Lists, search
from .edge_reader import EdgeFile
from .pack import pack_places
from .vertex_names import Names, check_found

VERTEX_BYTES = 48  # in memory, of all arrays by vertex at their peak
OPENED_BYTES = 12  # of a vertex in an opened store, beside its name, mapped and copied
LEAST_ROOM = 2**18  # bytes beside these
OVERHEAD_BYTES = 45_000_000  # of a limit, for decoders and for what allocators keep; measured
MIN_NAMING_BYTES = 2**22  # naming takes as much even under a lower limit, to say which suffices
CODE_BYTES = 16  # on the disk, of a row and a column of names that is dictionary-encoded
STEPS = 100  # that a progress report counts to
BATCH = 2**20  # rows of the file at once


def build_from_file(
    path,
    root,
    folder,
    *,
    source=None,
    destination=None,
    weight=None,
    directed=True,
    multi_edges="first",
    self_loops="keep",
    minimum_edges=None,
    memory_limit=None,
    partition_bytes=PARTITION_BYTES,
    report=None,
    made_from=None,
    vertices=None,
):
    """Make a store of layers from a file of edges that may be larger than memory.

    Parameters
    ----------
    path, source, destination, weight
        As `read_edges`.
    root : name of a vertex, or a tuple of names
    folder : str or path
        Of the store; one that is there is replaced at the end, and only if all went well.
    directed, multi_edges, self_loops
        As `Graph`.
    minimum_edges : int, optional
        As `LayeredEdgeList.build`.
    memory_limit : int, optional
        Bytes that the process may grow by; by default half of what is free. `OVERHEAD_BYTES` of
        them are for libraries. Arrays by vertex take `VERTEX_BYTES` a vertex, and names in the
        opened store twice their size where that is more; all else goes to the disk where it does
        not fit. What is imported, and compiled in the first run of a process, is not counted.
    partition_bytes : int
        About, of a partition before it is packed.
    report : callable, optional
        Called with (steps done out of STEPS, text).
    made_from : dict, optional
        What the store is to say about the file.
    vertices : str, path, or as `Graph`
        Names to include even without edges; a path of a file as `read_vertices` takes it.

    Raises
    ------
    GraphError
        As `read_edges` and `Graph`; a root that is not in the graph; a disk that is full.
    InsufficientMemoryError
        Arrays by vertex take more than `memory_limit`; `needed` is a limit that suffices.
    """
    check_policies(directed, multi_edges, self_loops)
    if memory_limit is None:
        memory_limit = device.free_memory(np) // 2
    if not isinstance(memory_limit, (int, np.integer)) or memory_limit <= 0:
        raise GraphError(f"memory_limit is {memory_limit!r}; it can be a number of bytes")
    folder = check_path(folder)
    file = EdgeFile(path, source, destination, weight, vertices)
    build = _Build(file, directed, multi_edges, self_loops == "drop", int(memory_limit), report)
    with (
        system_memory(int(memory_limit)),
        writing(folder, build.disk_bytes) as writer,
        write_errors(folder, build.disk_bytes, writer.temporary),
    ):
        final = resolve_destination(folder)
        with temporary_folder(final) as temporary, Scratch(temporary) as scratch:
            build.run(root, scratch, writer, partition_bytes, minimum_edges, made_from)


class _Vertices(Labeling):
    """Names as the Graph of a pandas frame has them."""

    def __init__(self, names, ends):
        self.names, self.xp, self._kind = names, np, "pandas"
        self._labels, self._own = vertex_labels(*ends), [a != b for a, b in zip(*ends, strict=True)]
        self.source_columns, self._text_types = ends[0], {}
        for label in self._labels:
            for column in (label, "predecessor" + label.removeprefix("vertex")):
                self._text_types[column] = None


class _Weights:
    """Weights of rows whose names are not read again, in a file."""

    def __init__(self, scratch):
        self.scratch, self.files, self.ends = scratch, [], [0]

    def append(self, weights):
        """Write the weights of a batch; a file holds those of one type."""
        if not self.files or self.files[-1].dtype != weights.dtype:
            self.files.append(self.scratch.flat(weights.dtype))
            self.ends.append(self.ends[-1])
        self.files[-1].append(weights)
        self.ends[-1] += weights.size

    def read(self, start, stop, dtype):
        """The weights of the rows from `start` to `stop`."""
        weights = np.empty(stop - start, dtype)
        for file, first, end in zip(self.files, self.ends[:-1], self.ends[1:], strict=True):
            low, high = max(start, first), min(stop, end)
            if low < high:
                values = np.empty(high - low, file.dtype)
                file.read(low - first, [values])
                weights[low - start : high - start] = values
        return weights

    def close(self):
        for file in self.files:
            file.close()


class _Build:
    """One build: what its steps share."""

    def __init__(self, file, directed, multi_edges, drops_loops, limit, report):
        self.file, self.directed, self.drops_loops = file, directed, drops_loops
        self.multi_edges, self.memory_limit, self.report = multi_edges, limit, report
        self.limit = max(limit - OVERHEAD_BYTES, 0)
        self.weighted = file.weighted or multi_edges == "sum"

    def tell(self, begin, end, done, total, text):
        """Report a share of the steps from `begin` to `end`."""
        if self.report:
            self.report(begin + int((end - begin) * min(done / max(total, 1), 1)), text)

    def run(self, root, scratch, writer, partition_bytes, minimum_edges, made_from):
        file = self.file
        self.check_vertices()
        self.check_disk(scratch.folder)
        file.parse(scratch.folder, lambda text: self.tell(0, 0, 0, 1, text))
        self.check_disk(scratch.folder)
        naming = Names(vertex_labels(*file.ends), max(self.limit, MIN_NAMING_BYTES) // 3, scratch)
        names = self.named(naming, scratch)
        if naming.is_encoded:
            file.forget()
        self.check_disk(scratch.folder)
        vertices = _Vertices(names, file.ends)
        ids = resolve_vertices(vertices, root, "root")
        if ids.size > 1:
            raise GraphError(f"root names {ids.size} vertices; a layered edge list has one")
        lists = self.lists(naming, vertices, scratch)
        naming.close()
        self.weights.close()
        file.forget()
        release_free_memory()
        distances = search(
            lists, int(ids[0]), self.room // 4,
            lambda level, done: self.tell(60, 70, done, names.count, f"{level:,} levels"),
        )  # fmt: skip
        layers = building.layers_of(distances)
        del distances
        layers.depths = None  # places say it all from here
        release_free_memory()
        facts = SimpleNamespace(
            **{name: getattr(vertices, name) for name in Labeling._attributes},
            root_id=int(ids[0]), directed=self.directed, weighted=self.weighted,
            weight_dtype=lists.weight_dtype, num_edges=lists.size, minimum_edges=minimum_edges,
            order=layers.order, layer_starts=layers.starts, made_from=made_from,
        )  # fmt: skip
        facts.layer_edges = pack_places(
            lists, layers, writer, scratch, self.room, partition_bytes,
            lambda done, text: self.tell(70, 100, done, 2 * lists.size, text),
        )  # fmt: skip
        del layers
        facts.out_weights = lists.out_weights()[facts.order]
        lists.offsets = lists.sums = None
        release_free_memory()
        writer.finish(facts)

    def check_disk(self, temporary, encodes=False):
        """Raise GraphError where the disk is too small for the edges, and for codes of names."""
        if self.file.rows is not None:
            check_disk(temporary.parent, self.disk_bytes(encodes))

    def disk_bytes(self, encodes=False):
        """Return about how many bytes of disk space the build takes at its peak."""
        rows = self.file.count_rows()
        weight_bytes = 8 if self.weighted else 0
        code_bytes = encodes * (CODE_BYTES * len(self.file.groups) + weight_bytes)
        arcs = rows * (1 if self.directed else 2)
        return arcs * (12 + 2 * weight_bytes) + rows * code_bytes

    def check_vertices(self):
        """Raise InsufficientMemoryError where a range of vertices alone exceeds the limit."""
        for vertices in self.file.vertex_ranges:
            count = most = len(vertices)
            if count * VERTEX_BYTES <= self.limit:
                continue
            if vertices.start:  # edges may name others
                most += 2 * self.file.count_rows()
            room = max(LEAST_ROOM, 2 * self.file.largest_batch + 2)
            what = f"building layers of {count:,} vertices"
            self._check_limit(what, most * VERTEX_BYTES + room)

    def reserve(self, count, name_bytes):
        """Set memory aside for arrays by vertex and, at the end, for the opened store.

        Raises
        ------
        InsufficientMemoryError
            The limit is too low; says which one suffices.
        """
        needed = max(count * VERTEX_BYTES, count * OPENED_BYTES + 2 * name_bytes)
        self._check_limit(
            f"building layers of {count:,} vertices",
            needed + max(LEAST_ROOM, 2 * self.file.largest_batch + 2),
        )
        self.room = self.limit - needed

    def _check_limit(self, what, needed):
        """Raise InsufficientMemoryError where the limit is below `needed` beside the overhead."""
        if needed > self.limit:
            raise InsufficientMemoryError(
                what, needed + OVERHEAD_BYTES, self.memory_limit, "memory_limit"
            )

    def batch_rows(self, memory):
        """Return how many rows of the file may be read at once into so many bytes."""
        width = 64 * (len(self.file.ids) + self.file.weighted)
        return int(np.clip(memory // width // 2, 1024, BATCH))

    def batches(self, room):
        """Batches of the file, which take less than half of `room`."""
        try:
            yield from self.file.batches(self.batch_rows(room), room)
        except (
            InsufficientMemoryError
        ) as error:  # of a batch; vertices are not known, but there are rows
            needed = error.needed + 2 * VERTEX_BYTES * self.file.count_rows() + LEAST_ROOM
            raise InsufficientMemoryError(
                error.what, needed + OVERHEAD_BYTES, self.memory_limit, "memory_limit"
            ) from error

    def named(self, naming, scratch):
        """The first pass: the names of the vertices.

        What is wrong with a row is found here, too.
        """
        done, types = 0, []
        self.total_weight, self.weights = 0, _Weights(scratch)
        batches = self.batches(max(self.limit, MIN_NAMING_BYTES) // 2)
        for batch in batches:
            if batch.rows and not done:
                self.file.check_names(naming.labels, batch, batches)
            try:
                naming.add(batch.sources, batch.destinations)
            except GraphError:
                for _ in batches:  # errors of reading the file take precedence
                    pass
                raise
            if batch.weights is not None and (batch.rows or not types):
                types = [batch.weights.dtype] if not done else [*types[-1:], batch.weights.dtype]
                types = [np.result_type(*types)]
                self.total_weight += total_weight(batch.weights)
                if naming.is_encoded:
                    self.weights.append(batch.weights)
            if not done and naming.is_encoded:
                self.check_disk(scratch.folder, encodes=True)
            done += batch.rows
            self.tell(0, 10, done, self.file.rows or done, f"{done:,} rows, names")
        labels, dtypes = naming.labels, naming.dtypes
        text_labels = [label for label, dtype in zip(labels, dtypes) if dtype is None]
        rows = self.batch_rows(self.limit // 2)
        for columns in self.file.vertex_batches(rows, labels, text_labels):
            naming.add_vertices(columns)
        self.file.rows, self.weight_type = done, types[0] if types else None
        del batch, batches
        release_free_memory()
        names = naming.named(self.reserve)
        for vertices in self.file.vertex_ranges:
            if not vertices.start and naming.integers is not None:
                (part,) = names.parts
                ends = (0, names.count - 1) if part is None else part[[0, -1]].tolist()
                check_ids_in_range(*ends, vertices.stop)
        return names

    def edges(self, naming, names):
        """Pieces of the edges, in the order of the file: ids of sources and destinations, weights.

        Weights are None where there are none.
        """
        if naming.is_encoded:
            done = 0
            for sources, destinations in naming.ids():
                weights = None
                if self.file.weighted:
                    weights = self.weights.read(done, done + sources.size, self.weight_type)
                done += sources.size
                yield sources, destinations, weights
            return
        look_up = naming.look_up_in(names)
        for batch in self.batches(self.room // 2):
            if batch.rows:
                yield *look_up(batch.sources, batch.destinations), batch.weights

    def lists(self, naming, vertices, scratch):
        """The second pass, and a sort: adjacency lists in a file."""
        count = vertices.names.count
        each, weighted, kind = 1 if self.directed else 2, self.file.weighted, self.weight_type
        arcs, weight_bytes = self.file.rows * each, kind.itemsize if weighted else 0
        sorted_room = max(self.room // (24 + 3 * weight_bytes if weighted else 10), 64)
        buckets = 1 if arcs <= sorted_room else min(-(-8 * arcs // sorted_room), BUCKETS)
        bits = 32 + max(count - 1, 1).bit_length()
        spilled = Spill(scratch, 0, bits, buckets, kind, sorted_room)
        size = min(self.room // 4 // (8 + weight_bytes), PIECE, max(arcs, each))
        keys, weights, used = np.empty(size, np.uint64), np.empty(size if weighted else 0, kind), 0
        done, none = 0, np.empty(0, kind)
        for sources, destinations, given in self.edges(naming, vertices.names):
            rows = sources.size
            given = given.astype(kind, copy=False) if weighted else none
            for start in range(0, rows, size // each):
                piece = slice(start, start + size // each)
                if used + each * sources[piece].size > size:
                    spilled.add(keys[:used], weights[:used])
                    used = 0
                used = run(
                    kernels.to_keys, sources[piece], destinations[piece], given[piece], weighted,
                    not self.directed, self.drops_loops, used, keys, weights,
                )  # fmt: skip
            done += rows
            self.tell(10, 35, done, self.file.rows, f"{done:,} rows, by source")
        spilled.add(keys[:used], weights[:used])
        del keys, weights
        check_found(done == self.file.rows)
        release_free_memory()
        total = self.total_weight if weighted and kind.kind == "i" else math.inf
        lists = Lists(scratch, count, self.multi_edges, kind, sum_type(total))
        done = 0
        for keys, weights in spilled.runs():
            done += keys.size
            lists.add(keys, weights)
            del keys, weights  # before there are others
            self.tell(35, 60, done, spilled.size, f"{done:,} edges sorted")
        lists.finish()
        if lists.infinite is not None:
            raise merged_weight_error(vertices, *lists.infinite)
        spilled.close()
        return lists
