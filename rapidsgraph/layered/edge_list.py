"""LayeredEdgeList: a graph as WolfPath sees it from one root.

Means: vertices in the order of their distance from the root in edges, and the out-edges of each
  layer: those that go on (to the same or the next layer) before those that go back.
Requires: vertex arrays fit in memory; edges may be in a file.
Reference: Zhu et al. 2017 (WolfPath: layered edge list, combined edge list, streaming).
"""

import secrets
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import frames
from ..algorithms.traversal import run_bfs
from ..device import choose, import_cupy
from ..errors import GraphError, format_value
from ..graph.graph import as_local_graph
from ..graph.labeling import Labeling
from ..graph.vertex_arguments import resolve_vertices
from ..progress import reporter
from ..validation import check_count, check_free_memory, parse_bytes
from . import build as building
from . import cache
from .held import HeldEdges
from .outofcore import build as external
from .packing import COLUMN, PARTITION_BYTES, unpacked
from .store import opened
from .store_writer import EDGES, check_place, check_separate, save

OF_FILE = (
    "source", "destination", "weight", "directed", "multi_edges", "self_loops", "vertices",
)  # fmt: skip
CPU_EDGES = 2**15  # that one thread of a CPU takes alone


class Run(NamedTuple):
    """What the last search, ranking or shortest paths of a list took.

    Attributes
    ----------
    passes : int
        Over the edges, or as many of them as were wanted.
    partitions : int
        Looked at, in all passes.
    nbytes : int
        Of these, whether they were copied or in place.
    """

    passes: int
    partitions: int
    nbytes: int


_openers = {}  # of layered edge lists whose partitions several workers share


def register_distributed_layered(open_distributed):
    """Register the function that opens a layered edge list on the workers of a Dask client."""
    _openers["dask"] = open_distributed


class LayeredEdgeList(HeldEdges):
    """The edges of a graph by their distance from a root.

    Made by `build`, `open` or `cached`. `bfs`, `sssp` and `pagerank` take it in place of a Graph,
    with a `memory_limit` that its edges need not fit into.

    Attributes
    ----------
    root : name of a vertex, or a tuple of names
    depth : int
        The greatest distance from the root, in edges.
    num_vertices, num_edges : int
        Without direction an edge between two vertices counts in both.
    directed, weighted : bool
    device : {"cpu", "gpu"}
    nbytes : int
        Of all partitions.
    last_run : Run or None
        What the last call with this list took.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2, 3], "destination": [1, 2, 3, 1, 0]})
    >>> layered = rg.LayeredEdgeList.build(edges, 0)
    >>> layered.layers
       layer  vertices  forward_edges  backward_edges
    0      0         1              2               0
    1      1         2              2               0
    2      2         1              0               1
    >>> rg.bfs(layered)["distance"].tolist()
    [0, 1, 1, 2]
    """

    last_run = None

    def __init__(self):
        raise TypeError(
            "make one by LayeredEdgeList.build(graph, root), .open(path) or .cached(path, root)"
        )

    @classmethod
    def build(cls, graph, root, *, minimum_edges=None, partition_bytes=PARTITION_BYTES, **of_file):
        """Layers of a graph, from one of its vertices.

        Parameters
        ----------
        graph : Graph, edge frame or path
            A frame is taken as directed and without weights. A path, of a file of edges that may be
            larger than memory, is made into a store; see `of_file`. None is kept.
        root : name of a vertex, or a tuple of names
        minimum_edges : int, optional
            See `combined`.
        partition_bytes : int
            About how large a partition is before it is packed: what a run with a `memory_limit`
            has in memory at a time are a few of them.
        **of_file
            With a path: `store`, the folder for the result, which is needed; `source`,
            `destination`, `weight` and `device` as `read_edges` takes them, `directed`,
            `multi_edges`, `self_loops` and `vertices` as `Graph`, the last also as the path of a
            file that `read_vertices` takes; `memory_limit`, bytes or a text like "2GB" that the
            process may grow by while it builds, 45 MB of it for libraries, by default half of what
            is free; and `progress`, as `pagerank`.

        Raises
        ------
        GraphError
            A root that is not in the graph, or several; what `read_edges` and `Graph` raise.
        InsufficientMemoryError
            The list would not fit beside the graph, which is known before it is built, or the
            vertices of a file within the limit, which is known once they are counted; `needed` then
            is a limit that suffices.
        """
        if minimum_edges is not None:
            check_count("minimum_edges", minimum_edges)
            minimum_edges = int(minimum_edges)
        check_count("partition_bytes", partition_bytes)
        if isinstance(graph, (str, Path)):
            return cls._build_from_file(graph, root, minimum_edges, partition_bytes, **of_file)
        if of_file:
            name = next(iter(of_file))
            raise GraphError(f"{name} is for a path; a Graph or frame is taken as it is")
        graph = as_local_graph(graph)
        ids = resolve_vertices(graph.labeling, root, "root")
        if ids.size > 1:
            raise GraphError(f"root names {ids.size} vertices; a layered edge list has one")
        needed = build_bytes(graph)
        check_free_memory(f"a layered edge list of {graph.num_arcs:,} edges", needed, graph.xp)
        layered = object.__new__(cls)
        layered.labeling = graph.labeling
        layered._fill(graph, ids, partition_bytes)
        layered.root_id, layered.minimum_edges = int(ids[0]), minimum_edges
        return layered

    @classmethod
    def _build_from_file(
        cls,
        path,
        root,
        minimum_edges,
        partition_bytes,
        *,
        store=None,
        device="auto",
        memory_limit=None,
        progress=None,
        **options,
    ):
        _check_options(options, (*OF_FILE, "made_from"))
        if store is None:
            raise GraphError(
                f"{path}: store is missing, the folder to put the layered edge list of a file into"
            )
        choose(device)
        check_place(store)
        check_separate(store, path)
        limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
        build = {"build": secrets.token_hex(8)}  # tells this one from all others
        options["made_from"] = {**options.get("made_from", {}), **build}
        with reporter(progress, "Layers", external.STEPS) as report:
            external.build_from_file(
                path,
                root,
                store,
                minimum_edges=minimum_edges,
                partition_bytes=partition_bytes,
                memory_limit=limit,
                report=report,
                **options,
            )
        found = opened(store)
        if found.facts["made_from"] != options["made_from"]:
            raise GraphError(
                f"{store}: another process has put another layered edge list there meanwhile; give "
                "each of them a folder of its own"
            )
        return cls._of(found, device)

    @classmethod
    def open(cls, path, *, device="auto", client=None):
        """A list that was saved; only its manifest is read, the rest when it is needed.

        Parameters
        ----------
        path : str or path
            The folder.
        device : {"auto", "cpu", "gpu"}
            Where it is to be computed on; "auto" takes the GPU where one works. Results are pandas
            frames, or cuDF on a GPU.
        client : distributed.Client, optional
            Of Dask, whose workers then share the partitions among them: each reads its own, from
            the same path, and results are Dask frames. "auto" takes GPUs where all workers have
            one, and a `memory_limit` is for each worker.

        Returns
        -------
        LayeredEdgeList, or DistributedLayeredEdgeList with a client

        Raises
        ------
        GraphError
            No such folder, no layered edge list, or a damaged or invalid one; the message names the
            file, and a worker that cannot open it. What is read later is validated later,
            partitions when a run first uses them. Files must not change while the list is in use.
        GpuUnavailableError
            ``device="gpu"`` where none works.
        """
        if client is not None:
            return _openers["dask"](path, client, device)
        return cls._of(opened(path), device)

    @classmethod
    def cached(cls, path, root, *, device="auto", memory_limit=None, progress=None, **options):
        """The list of a file of edges from the store beside it, which is made where it is missing.

        The store is the folder of the same name with `.layers` behind it. It is used when it was
        made from this root and this version of the file (its size, time of change, begin and end),
        read in the same way, and is valid; else it is replaced, with a RuntimeWarning if it is
        damaged. Partitions are verified when they are first used: a damaged one is an error, and
        the store is discarded, so that the next call builds it again.

        Parameters
        ----------
        path : str or path
        root : name of a vertex, or a tuple of names
        device, memory_limit, progress
            As `build` takes them.
        **options
            `source`, `destination`, `weight`, `directed`, `multi_edges`, `self_loops`,
            `vertices`, which must be a path, and `minimum_edges`, as in `build`.

        Raises
        ------
        GraphError
            What `build` raises; a folder of this name that is no layered edge list.
        """
        choose(device)
        _check_options(options, (*OF_FILE, "minimum_edges"))
        store = cache.fitting(path, root, options)
        if store is not None:
            layered = cls._of(store, device)
        else:
            version = cache.made_from(path, options)
            layered = cls.build(
                path,
                root,
                store=cache.beside(path),
                device=device,
                memory_limit=memory_limit,
                progress=progress,
                made_from=version,
                **options,
            )
        layered.is_cache = True
        return layered

    @classmethod
    def _of(cls, store, device):
        on_cpu = choose(device) == "cpu"
        layered, facts = object.__new__(cls), store.facts
        layered._store, layered.is_mapped = store, True
        xp = np if on_cpu else import_cupy()
        layered.labeling = Labeling(
            store.names_on(xp), xp, "pandas" if on_cpu else "cudf", facts["own"],
            facts["source_columns"],
        )  # fmt: skip
        for name in ("directed", "weighted", "minimum_edges", "root_id"):
            setattr(layered, name, facts[name])
        layered.num_edges, layered.weight_dtype = facts["edges"], store.weight_dtype
        layered.where = str(store.folder / EDGES)
        return layered

    def save(self, path, *, progress=None):
        """Write the list into a folder, to be opened by `open`.

        The folder appears whole or not at all; a layered edge list that is there is replaced.

        Parameters
        ----------
        path : str or path
        progress : bool or callable, optional
            As in `pagerank`.

        Raises
        ------
        GraphError
            A file, or a folder with something else; a full disk; no permission.
        """
        with reporter(progress, "Saving", len(self.table)) as report:
            save(self, path, report)

    def _fill(self, graph, ids, partition_bytes):
        self.directed, self.weighted = graph.directed, graph.weighted
        self.num_edges, lists = graph.num_arcs, graph.csr
        found = run_bfs(graph, ids, predecessors=False, bottom_up=not graph.directed)
        layers = building.layers_of(found.distances)
        del found
        self.weight_dtype = building.stored_dtype(lists.weights) if graph.weighted else None
        parts = building.split(lists, layers, self.weight_dtype)
        self.layer_edges = np.array(
            [building.edges_by_layer(offsets, layers.starts) for offsets, _, _ in parts]
        )
        self.order, self.layer_starts = layers.order, layers.starts
        self.out_weights = graph.out_weights[layers.order]
        del layers
        self.words, self.table = building.partitions_of(parts, self.weight_dtype, partition_bytes)
        first = COLUMN["forward_checksum"]
        self.sums = self.table[:, first : first + 2].astype(np.uint64).ravel()
        self.checked = np.ones((len(self.table), 2), bool)

    @property
    def num_arcs(self):
        return self.num_edges

    @property
    def depth(self):
        return self.layer_starts.size - 2

    @property
    def root(self):
        return self.labeling.name_of(self.root_id)

    @property
    def layers(self):
        """A frame with a row a layer: `layer`, `vertices`, `forward_edges`, `backward_edges`.

        Forward edges go to the same or the next layer, backward ones to a layer before. Vertices
        that the root does not reach, and the edges that leave them, are in none.
        """
        vertices = np.diff(self.layer_starts)
        return self._table(
            layer=np.arange(vertices.size),
            vertices=vertices,
            forward_edges=self.layer_edges[0],
            backward_edges=self.layer_edges[1],
        )

    @property
    def combined(self):
        """A frame with a row a combined edge list: `first_layer`, `last_layer`, `edges`.

        Consecutive layers that together have at least `minimum_edges` edges (the last has what is
        left); by default what a GPU has threads for at a time (WolfPath's equation 1:
        multiprocessors x resident warps x 32), or 2^15 edges a thread of a CPU. So many times a
        host would have to start work that takes such a list at a time.
        """
        least = self.minimum_edges or _threads(self.xp)
        edges, found, first = self.layer_edges.sum(axis=0), [], 0
        total = np.concatenate([[0], np.cumsum(edges)])
        while first < edges.size:
            last = int(np.searchsorted(total, total[first] + least, side="left"))
            last = min(max(last, first + 1), edges.size)
            found.append((first, last - 1, int(total[last] - total[first])))
            first = last
        columns = np.array(found, np.int64).reshape(len(found), 3).T
        return self._table(first_layer=columns[0], last_layer=columns[1], edges=columns[2])

    def _table(self, **columns):
        moved = {name: self.xp.asarray(values) for name, values in columns.items()}
        return frames.make_frame(self.labeling.library, moved)

    def edges(self, layer=None):
        """A frame of the edges that leave a layer, or of all, in the order of the list.

        Parameters
        ----------
        layer : int, optional
            From 0 to `depth`.

        Returns
        -------
        frame
            `source`, `destination`, `weight` where the graph has weights, and `forward` (bool). In
            each partition forward edges come before backward ones.
        """
        low, high = 0, self.num_vertices
        if layer is not None:
            is_number = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
            if not is_number or not 0 <= layer <= self.depth:
                raise GraphError(f"layer is {format_value(layer)}; it can be 0 to {self.depth}")
            low, high = map(int, self.layer_starts[layer : layer + 2])
        xp, found = self.xp, [[], [], [], []]
        first, rows = (self.table[:, COLUMN[name]] for name in ("first", "rows"))
        for part in range(2):
            for partition in np.flatnonzero((first < high) & (first + rows > low)):
                row = self.table[partition]
                begin = int(row[COLUMN["position"]])
                words = xp.asarray(self.words[begin : begin + int(row[COLUMN["words"]])])
                self.check_partition(partition, words)
                columns = unpacked(words, row, self.weight_dtype)[part]
                inside = (columns[0] >= low) & (columns[0] < high)
                for place, values in enumerate(columns):
                    found[place].append(values[inside] if values.size else values)
                found[3].append(xp.full(int(inside.sum()), part == 0))
        empty = [xp.empty(0, xp.int32), xp.empty(0, xp.int32), xp.empty(0), xp.empty(0, bool)]
        columns = [xp.concatenate([e, *f]) for e, f in zip(empty, found, strict=True)]
        order = xp.argsort(columns[0] * 0 if layer is not None else columns[0], kind="stable")
        sources, destinations, weights, forward = (c[order] if c.size else c for c in columns)
        more = {"weight": weights} if self.weighted else {}
        return self.labeling.edge_frame(
            self.order[sources], self.order[destinations], {**more, "forward": forward}
        )

    def __getstate__(self):
        """For pickle and copy; of one that was opened, where it is."""
        store = self.__dict__.get("_store")
        if store is not None:
            return {"folder": str(store.place), "device": self.device}
        return {**self.__dict__, "_on_device": None, "_pinned": None}

    def __setstate__(self, state):
        if "folder" in state:
            self.__dict__.update(type(self).open(state["folder"], device=state["device"]).__dict__)
        else:
            self.__dict__.update(state)

    def __repr__(self):
        return (
            f"<LayeredEdgeList: {self.num_vertices:,} vertices, {self.num_edges:,} edges, depth "
            f"{self.depth} from {self.root!r}, {len(self.table)} partitions, {self.device}>"
        )


def _check_options(given, known):
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise GraphError(
            f"{unknown} is no option for a file of edges; there are {', '.join(OF_FILE)}"
        )


def build_bytes(graph):
    """Upper bound of what building a list takes beside the graph, in bytes."""
    weight = 8 if graph.weighted else 0
    return graph.num_arcs * 2 * (4 + weight) + graph.num_vertices * 96


def _threads(xp):
    """Edges that keep a device busy."""
    if xp is np:
        import numba

        return CPU_EDGES * numba.get_num_threads()
    attributes = xp.cuda.Device().attributes
    return attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"]
