"""LayeredEdgeList: a graph in WolfPath's layered order, in memory or in a folder."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import frames
from ..device import Device, choose
from ..errors import GraphError, format_value, warn
from ..frames import Frame, Vertices
from ..graph.build import as_local_graph
from ..graph.graph import Graph, distributed_function
from ..graph.local_graph import GraphLike, LocalGraph, SelfLoops, StoredGraph, storage_of
from ..graph.multi_edges import DEFAULT_MULTI_EDGES, MultiEdges
from ..io.formats import Format
from ..io.inputs import Input, InputFiles
from ..progress import Progress, reporter
from ..validation import DEFAULT_WEIGHT, check_count, check_progress, suggest_parameters
from .build import build_storage, make_combined_frame, make_edge_frame, make_layer_frame
from .cache import (
    build_from_file,
    cache_path,
    check_no_file_options,
    find_store,
    warn_about_weights,
)
from .packing import PARTITION_BYTES
from .storage import LayeredStorage, StreamStats
from .store import open_store
from .store_writer import save_store

logger = logging.getLogger(__name__)


class LayeredEdgeList(StoredGraph):
    """The edges of a graph, grouped by the distance of their sources from a root.

    A list is created by `build`, `open` or `cached`. `bfs`, `sssp`, `shortest_path`, `pagerank`,
    `connected_components`, `core_number`, `triangle_count`, `clustering_coefficient`,
    `label_propagation`, `neighbor_similarity` and `structural_similarity` accept it in place of a
    `Graph`; with a `memory_limit`, they stream edges that do not fit in memory.

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

    _no_local_graph = (
        "this function does not support layered edge lists; pass a Graph or an edge frame"
    )

    def __init__(self) -> None:
        raise TypeError(
            "LayeredEdgeList has no public constructor; use LayeredEdgeList.build(graph, root), "
            ".open(path) or .cached(path, root)"
        )

    @classmethod
    @suggest_parameters
    def build(
        cls,
        graph: GraphLike | Input,
        root: Vertices,
        *,
        minimum_edges: int | None = None,
        partition_bytes: int = PARTITION_BYTES,
        store: str | Path | None = None,
        source: str | list[str] | None = None,
        destination: str | list[str] | None = None,
        weight: str | None = DEFAULT_WEIGHT,
        directed: bool = True,
        multi_edges: MultiEdges = "first",
        self_loops: SelfLoops = "keep",
        vertices: int | Vertices | None = None,
        device: Device = "auto",
        memory_limit: int | str | None = None,
        progress: Progress = None,
        format: Format | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> LayeredEdgeList:
        """Build the layered edge list of a graph from a root vertex.

        Parameters
        ----------
        graph : Graph, frame, str, Path or file object
            Graph, directed edge frame, or path, folder, glob, URL or open file of edges, as for
            `read_edges`. Files may be larger than memory: the list is built on disk, in the folder
            `store`. URLs and open files are first copied to a temporary folder. For a Dask frame,
            or its `Graph`, the workers write the list into `store`, and none needs memory for an
            array of all vertices. Neither a graph nor a frame is retained.
        root : vertex name or tuple
            Name of the root; a tuple if several columns name a vertex.
        minimum_edges : int, optional
            Minimum number of edges of a combined edge list; see `combined`.
        partition_bytes : int, default 2**24
            Approximate size of a partition before it is packed. A run with a `memory_limit` has a
            few partitions in memory at a time.
        store : str or Path, optional
            Folder of the result; required with a path or a Dask frame, whose workers must all see
            it under the same path. The parameters below are for a path, `device` and `progress`
            also for a Dask frame.
        source, destination : str or list of str, optional
            Columns of vertex names in the file; see `read_edges`.
        weight : str or None, default "weight"
            Column of weights in the file; see `read_edges`. Of a frame, the column `weight` is
            used if it exists.
        directed : bool, default True
            Whether edges have a direction.
        multi_edges : {"first", "sum", "min", "max", "keep"}, default "first"
            Policy for parallel edges; see `Graph`.
        self_loops : {"keep", "drop"}, default "keep"
            Policy for self-loops.
        vertices : int, range, frame, array, Series, str or Path, optional
            Names to include even without edges, or the path of a file of names.
        device : {"auto", "cpu", "gpu"}, default "auto"
            Device of later computations; the build itself uses the CPU.
        memory_limit : int or str, optional
            Memory by which the process may grow, in bytes or as a string such as ``"2GB"``; 45 MB
            of it are reserved for libraries. The default is half of the free memory.
        progress : bool or callable, optional
            Progress display; see `pagerank`.
        format, storage_options : optional
            Format of the file, and options of the file system of a URL; see `read_edges`.

        Returns
        -------
        LayeredEdgeList
            List in the memory of the graph, or of the folder `store`; that of a Dask frame is
            opened on the cluster of the active client, if there is one.

        Raises
        ------
        GraphError
            If the root is not in the graph or names several vertices, `store` is missing, or the
            file or frame is invalid.
        InsufficientMemoryError
            If the list does not fit beside the graph, or the vertices of a file do not fit into
            the limit; `needed` is a sufficient limit.

        Warns
        -----
        UserWarning
            If the root reaches no other vertex.
        WeightWarning
            If a file has no column `weight`, but others of numbers; see `read_edges`.

        Examples
        --------
        >>> import rapidsgraph as rg
        >>> edges = {"source": ["a", "a", "b"], "destination": ["b", "c", "c"]}
        >>> rg.LayeredEdgeList.build(rg.Graph(edges), "a").depth
        1
        """
        minimum_edges = _check_minimum_edges(minimum_edges)
        check_count("partition_bytes", partition_bytes)
        check_progress(progress)
        options = {
            "source": source, "destination": destination, "weight": weight, "directed": directed,
            "multi_edges": multi_edges, "self_loops": self_loops, "vertices": vertices,
        }  # fmt: skip
        if isinstance(graph, (str, Path, InputFiles)) or hasattr(graph, "read"):
            storage: Any = build_from_file(
                graph, root, store, {**options, "minimum_edges": minimum_edges},
                partition_bytes, device, memory_limit, progress, format, storage_options,
            )  # fmt: skip
            return cls._from_storage(_check_reach(storage))
        options |= {"format": format, "storage_options": storage_options}
        if _is_partitioned(graph):
            check_no_file_options(**options, memory_limit=memory_limit)
            build = distributed_function("build_layered")
            storage = build(
                storage_of(graph), root, store, minimum_edges=minimum_edges,
                partition_bytes=partition_bytes, device=device, progress=progress,
            )  # fmt: skip
            return cls._from_storage(_check_reach(storage))
        check_no_file_options(
            **options, store=store, device=device, memory_limit=memory_limit, progress=progress
        )
        graph = as_local_graph(graph, weight=DEFAULT_WEIGHT, multi_edges=DEFAULT_MULTI_EDGES)
        storage = build_storage(graph, root, minimum_edges, partition_bytes)
        return cls._from_storage(_check_reach(storage))

    @classmethod
    @suggest_parameters
    def open(
        cls, path: str | Path, *, device: Device = "auto", client: Any = None
    ) -> LayeredEdgeList:
        """Open a stored layered edge list.

        Parameters
        ----------
        path : str or Path
            Folder of the store.
        device : {"auto", "cpu", "gpu"}, default "auto"
            Device of computations; ``"auto"`` uses a GPU if there is one. Results are pandas
            frames, or cuDF frames on a GPU.
        client : distributed.Client, optional
            Client of a Dask cluster whose workers partition the list: each worker reads its
            partitions from the same path, and results are Dask frames. ``"auto"`` uses GPUs if all
            workers have one. A `memory_limit` then applies to each worker.

        Returns
        -------
        LayeredEdgeList
            Opened list, which a `client` distributes over its workers.

        Raises
        ------
        GraphError
            If the folder is missing, is not a layered edge list, or is damaged or invalid, or a
            worker cannot open it.
        GpuUnavailableError
            If the device is ``"gpu"`` and there is no usable GPU.

        Notes
        -----
        Only the manifest is read at once. Other files are read and validated on first use, each
        partition when a run first uses it. The files must not change while the list is in use.
        """
        if client is not None:
            open_list = distributed_function("open_layered")
            return cls._from_storage(open_list(path, client, device))
        return cls._from_storage(LayeredStorage.from_store(open_store(path), device))

    @classmethod
    @suggest_parameters
    def cached(
        cls,
        path: str | Path,
        root: Vertices,
        *,
        source: str | list[str] | None = None,
        destination: str | list[str] | None = None,
        weight: str | None = DEFAULT_WEIGHT,
        directed: bool = True,
        multi_edges: MultiEdges = "first",
        self_loops: SelfLoops = "keep",
        vertices: str | Path | None = None,
        minimum_edges: int | None = None,
        device: Device = "auto",
        memory_limit: int | str | None = None,
        progress: Progress = None,
    ) -> LayeredEdgeList:
        """Open the store beside an edge file, building it if it is missing or outdated.

        Parameters
        ----------
        path : str or Path
            Edge file, or folder of edge files, on this machine. The store is the folder of the same
            name with the suffix ``.layers``.
        root : vertex name or tuple
            Name of the root; a tuple if several columns name a vertex.
        source, destination, weight, directed, multi_edges, self_loops : optional
            Options of the file; see `build`.
        vertices : str or Path, optional
            File of names to include even without edges.
        minimum_edges, device, memory_limit, progress : optional
            Options of the list and the build; see `build`.

        Returns
        -------
        LayeredEdgeList
            List of the store.

        Raises
        ------
        GraphError
            If `build` raises it, or the folder exists and is not a layered edge list.

        Warns
        -----
        RuntimeWarning
            If the store is damaged and is replaced.
        WeightWarning
            If the file has no column `weight`, but others of numbers; see `read_edges`.

        Notes
        -----
        The store is used if it was built from this root and this version of the file (size,
        modification time, first and last bytes) with the same options, and is valid. Partitions
        are verified on first use: a damaged one is an error, the store is discarded, and the next
        call builds it again.
        """
        choose(device)
        check_progress(progress)
        options = {
            "source": source, "destination": destination, "weight": weight, "directed": directed,
            "multi_edges": multi_edges, "self_loops": self_loops, "vertices": vertices,
            "minimum_edges": _check_minimum_edges(minimum_edges),
        }  # fmt: skip
        store = find_store(path, root, options)
        if store is not None:
            warn_about_weights(path, options)
            storage = LayeredStorage.from_store(store, device)
        else:
            storage = build_from_file(
                path, root, cache_path(path), options, PARTITION_BYTES, device, memory_limit,
                progress,
            )  # fmt: skip
            _check_reach(storage)
        storage.is_cache = True
        return cls._from_storage(storage)

    def save(self, path: str | Path, *, progress: Progress = None) -> None:
        """Write the list into a folder.

        Parameters
        ----------
        path : str or Path
            Folder, which appears complete or not at all. It replaces a layered edge list or an
            empty folder of that name.
        progress : bool or callable, optional
            Progress display; see `pagerank`.

        Raises
        ------
        GraphError
            If the path is a file or a folder with other contents, the disk is full, permission is
            missing, or the list is distributed over a cluster.
        """
        storage = self._local_storage("save")
        check_progress(progress)
        with reporter(progress, "Saving", len(storage.table)) as report:
            save_store(storage, path, report)

    def edges(self, layer: int | None = None) -> Frame:
        """Return the edges in the order of the list.

        Parameters
        ----------
        layer : int, optional
            Layer of the sources, from 0 to `depth`; by default, all edges are returned.

        Returns
        -------
        frame
            Columns ``source``, ``destination``, ``weight`` if the graph is weighted, and
            ``forward`` (bool). In each partition, forward edges precede backward edges.

        Raises
        ------
        GraphError
            If there is no such layer, a partition is damaged, the list is distributed over a
            cluster, or a name column that both endpoints share has the name of another column.
        """
        return make_edge_frame(self._local_storage("edges"), layer)

    def _local_storage(self, operation: str) -> LayeredStorage:
        if not isinstance(self._storage, LayeredStorage):
            raise GraphError(
                f"{operation} does not support layered edge lists on a cluster; open the list "
                "without client=",
                parameter="client",
                hint="open the list without client=",
            )
        return self._storage

    @property
    def layers(self) -> Frame:
        """Frame of the layers: ``layer``, ``vertices``, ``forward_edges``, ``backward_edges``.

        Forward edges lead to the same or the next layer, backward edges to an earlier one.
        Vertices that the root does not reach, and their out-edges, are in no layer.
        """
        return make_layer_frame(self._storage)

    @property
    def combined(self) -> Frame:
        """Frame of the combined edge lists: ``first_layer``, ``last_layer``, ``edges``.

        Each consists of consecutive layers with at least `minimum_edges` edges; the last one has
        the remaining edges. The default of `minimum_edges` is the number of threads of a GPU
        (WolfPath's equation 1: multiprocessors x resident warps x 32), or 2^15 edges per thread
        of a CPU.
        """
        return make_combined_frame(self._storage)

    @property
    def root(self) -> Any:
        """Name of the root; a tuple if several columns name a vertex."""
        return self._storage.root

    @property
    def depth(self) -> int:
        """Greatest distance from the root, in edges."""
        return self._storage.depth

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge between two vertices counts twice."""
        return self._storage.num_edges

    @property
    def nbytes(self) -> int:
        """Size of all partitions, in bytes."""
        return self._storage.nbytes

    @property
    def path(self) -> Path | None:
        """Folder of the store, or None for a list that was built in memory."""
        return self._storage.path

    @property
    def last_run(self) -> StreamStats | None:
        """Passes, partitions and bytes of the last call with this list, or None."""
        return self._storage.last_run

    def __copy__(self) -> LayeredEdgeList:
        return self._from_storage(copy.copy(self._storage))  # with its own `last_run`


def _is_partitioned(graph: Any) -> bool:
    """Return whether a graph or frame is one of Dask."""
    is_graph = isinstance(graph, Graph) and not isinstance(storage_of(graph), LocalGraph)
    return is_graph or frames.is_dask(graph)


def _check_reach(storage: Any) -> Any:
    """Return the storage of a new list; warn if its root reaches no other vertex."""
    logger.info(
        "built a layered edge list: %d vertices, %d edges, depth %d from %r",
        storage.num_vertices, storage.num_edges, storage.depth, storage.root,
    )  # fmt: skip
    if storage.depth == 0 and storage.num_vertices > 1 and storage.num_edges:
        warn(
            f"the root {format_value(storage.root)} reaches no other vertex, so that a search in "
            "this layered edge list finds only the root; choose a root with edges that lead away "
            "from it, or build the list of the undirected graph",
            UserWarning,
        )
    return storage


def _check_minimum_edges(minimum_edges: Any) -> int | None:
    if minimum_edges is not None:
        check_count("minimum_edges", minimum_edges)
    return None if minimum_edges is None else int(minimum_edges)
