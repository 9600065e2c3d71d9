"""Where the partitions of a layered edge list are: in memory, on a GPU, or in a mapped file.

Means: what runs need of a list besides its meaning, read from its store when it is first asked for.
Requires: a `_store`, or the same attributes set by who builds a list.
"""

import contextlib
import mmap
import weakref
from functools import cached_property

import numpy as np

from .. import device
from ..algorithms.traversal import initial_delta
from ..device import import_cupy
from ..errors import GraphError
from ..graph.labeling import Labeling
from .packing import COLUMN, checksum, explain, sections, verify_partitions
from .streaming import held_on_gpu

READ_ONLY = 8  # cudaHostRegisterReadOnly
OF_ALL = "sums", "checked", "step", "last_run", "_on_device", "_pinned", "_was_streamed"
SAMPLE, SAMPLED = 2**16, 4  # weights of a partition that are looked at, and partitions


class HeldEdges:
    """Partitions, and vertices in layer order."""

    labeling: Labeling

    is_mapped = False
    is_cache = False  # whether `cached` opened the store, which it builds again if it is discarded
    first_partition = 0  # its number, where these are but a part of a list
    where = "the layered edge list"
    _on_device = _pinned = None
    _was_streamed = False

    @property
    def names(self):
        return self.labeling.names

    @property
    def xp(self):
        return self.labeling.xp

    @property
    def num_vertices(self):
        return self.labeling.num_vertices

    @property
    def device(self):
        return self.labeling.device

    # What is in a store is read when it is first asked for.

    @cached_property
    def order(self):
        """The id of the vertex at each place: int32, shape (vertices,)."""
        return self.xp.asarray(self._store.order)

    @cached_property
    def out_weights(self):
        """What leaves the vertex at each place, edges or their weights: float64."""
        return self.xp.asarray(self._store.out_weights)

    @cached_property
    def layer_starts(self):
        """The first place of each layer, and of the unreached: int64, shape (depth + 2,)."""
        return self._store.layer_starts

    @cached_property
    def starts_on_device(self):
        """`layer_starts` where kernels run."""
        return self.xp.asarray(self.layer_starts)

    @cached_property
    def layer_edges(self):
        """Edges that leave each layer, forward and backward: int64, shape (2, depth + 1)."""
        return self._store.layer_edges

    @cached_property
    def table(self):
        """A row a partition, as partitions.py says: int64."""
        return self._store.table

    @cached_property
    def sums(self):
        """Checksums found for both sections of each partition, 0 before: uint64."""
        return np.zeros(2 * len(self.table), np.uint64)

    @cached_property
    def checked(self):
        """Whether they were: bool, shape (partitions, 2)."""
        return np.zeros((len(self.table), 2), bool)

    @cached_property
    def words(self):
        """All partitions: uint32, in memory, on the GPU or in a mapped file."""
        return self._store.words

    def on_device(self):
        """(table, checksums found, whether they were): where kernels run, the last on the host.

        A run may add to the checksums, unless all are found: those are kept for the next runs.
        """
        checked = self.checked.copy()  # before the sums, which other threads may add to
        is_checked, table, kept = bool(checked.all()), self.table, self._on_device
        if self.xp is np:
            return table, self.sums if is_checked else self.sums.copy(), checked
        if is_checked and kept is not None and kept[0] is table:
            return *kept[1:], checked
        found = self.xp.asarray(table), self.xp.asarray(self.sums)
        if is_checked:
            self._on_device = table, *found
        return *found, checked

    @property
    def mapped(self):
        """The mapped file of edges, where `is_mapped`."""
        return self._store.mapped

    @property
    def manifest_checksum(self):
        """Of the store, which differs from those of all other lists."""
        return self._store.facts["checksum"]

    @property
    def nbytes(self):
        return int(self.table[:, COLUMN["words"]].sum()) * 4

    @property
    def largest_partition(self):
        """Bytes of it."""
        return int(self.table[:, COLUMN["words"]].max(initial=0)) * 4

    def check_partition(self, partition, words):
        """Compare the words of a partition with its checksums, and check the values inside.

        Raises
        ------
        GraphError
            A damaged partition, or a value out of bounds; the message names it.
        """
        xp, row = device.array_module(words), self.table[partition : partition + 1]
        sums = xp.zeros(2, np.uint64)
        verify_partitions(
            0, 1, int(row[0, COLUMN["position"]]), 2, self.num_vertices, xp.asarray(row), words,
            self.weight_dtype, sums, words.size,
        )  # fmt: skip
        self.note_checksums(partition, sums.tolist())

    def note_checksums(self, partition, found):
        """Compare those found for the first sections of a partition; GraphError if one differs."""
        first = COLUMN["forward_checksum"]
        for part, value in enumerate(found):
            if int(value) % 2**64 != int(self.table[partition, first + part]) % 2**64:
                raise self._invalid_partition(partition)
            self.sums[2 * partition + part] = int(value) % 2**64
            self.checked[partition, part] = True

    def _invalid_partition(self, partition):
        """The GraphError for a partition that `verify_partitions` did not accept."""
        row = self.table[partition]
        begin = int(row[COLUMN["position"]])
        words = self.words[begin : begin + int(row[COLUMN["words"]])]
        words = words.get() if device.is_on_gpu(words) else words
        middle, reason = int(row[COLUMN["forward_words"]]), None
        first = COLUMN["forward_checksum"]
        expected = [int(value) for value in row[first : first + 2]]
        if [
            checksum(own) if own.size else 0 for own in (words[:middle], words[middle:])
        ] == expected:
            reason = explain(words, row, self.num_vertices, self.weight_dtype)
        advice = "build the layered edge list again"
        if self.is_cache and self._store.discard():
            advice = "the store was discarded; run the call again to rebuild it"
        return GraphError(
            f"{self.where}: partition {self.first_partition + partition} of its edges is "
            f"{'damaged' if reason is None else f'invalid: {reason}'}; {advice}"
        )

    @cached_property
    def step(self):
        """By how much `relax` goes on at first; see `first_step`."""
        each, sample = np.dtype(self.weight_dtype).itemsize, [np.empty(0)]
        for row in self.table[self.table[:, COLUMN["forward_words"]] > 0][:SAMPLED]:
            layout = sections(row, each)[0]
            begin = int(row[COLUMN["position"]]) + layout.weights
            words = self.words[begin : begin + min(layout.edges, SAMPLE) * each // 4]
            words = words.get() if device.is_on_gpu(words) else words
            sample.append(words.view(self.weight_dtype))
        sample = np.concatenate(sample)
        leaving = int((self.out_weights > 0).sum())
        return initial_delta(sample[sample < np.inf], self.num_edges / max(leaving, 1), self.xp)

    def part(self, start, stop):
        """The list with partitions `start` to before `stop` alone, of the same vertices."""
        own = object.__new__(type(self))
        own.__dict__.update((n, v) for n, v in self.__dict__.items() if n not in OF_ALL)
        own.table, own.first_partition = self.table[start:stop], self.first_partition + start
        return own

    # Where partitions are.

    def partitions_before(self, place, forward_only=False):
        """Numbers of the partitions with sources before a place, and edges."""
        key = "forward_words" if forward_only else "words"
        has = self.table[:, COLUMN[key]] > 0
        return np.flatnonzero(has & (self.table[:, COLUMN["first"]] < place))

    def work(self, start, stop):
        """Edges of some partitions."""
        own = self.table[start:stop]
        return int((own[:, COLUMN["forward_edges"]] + own[:, COLUMN["backward_edges"]]).sum())

    def pin(self, again):
        """Pin all partitions on the host, where it has room; whether they are pinned.

        Pinning takes longer than a copy through pinned buffers: it is for those that are copied
        `again`, or were before.
        """
        begin, end = self._extent()
        address, size = self.words.ctypes.data + 4 * begin, 4 * (end - begin)
        if self._pinned == address:
            return True
        if size and (again or self._was_streamed):
            runtime, flags = import_cupy().cuda.runtime, READ_ONLY if self.is_mapped else 0
            # Systems may refuse it, for files above all; then pinned buffers do, as at first.
            with contextlib.suppress(runtime.CUDARuntimeError):
                if 2 * size < device.free_memory(np):
                    runtime.hostRegister(address, size, flags)
                    weakref.finalize(self, _unpin, address, self.words)
                    self._pinned = address
        self._was_streamed = True
        return self._pinned == address

    def _extent(self):
        """The first word of all partitions, less some to begin a page, and the one behind all."""
        if not len(self.table):
            return 0, 0
        position, size = (self.table[:, COLUMN[name]] for name in ("position", "words"))
        first = int(position[0])
        return first - first % (mmap.PAGESIZE // 4), int((position + size).max())

    def move_to_host(self):
        """Have all partitions in the host's memory, or in a file."""
        if device.is_on_gpu(self.words):
            self.words = self.words.get()

    def move_to_gpu(self):
        """Have all partitions in the GPU's memory."""
        if not device.is_on_gpu(self.words):
            self.words, self.table = held_on_gpu(self)
            self.is_mapped = False


def _unpin(address, _words):
    """`_words`, which are there, are kept until now."""
    runtime = import_cupy().cuda.runtime
    with contextlib.suppress(runtime.CUDARuntimeError):  # at the end of a process CUDA is gone
        runtime.hostUnregister(address)
