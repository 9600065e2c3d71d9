"""The peers that can run here, by task."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pipelines.benchmarks.adapters import cugraph, igraph, networkit, networkx, scipy
from pipelines.benchmarks.adapters.interface import (
    BuildAdapter,
    PageRankAdapter,
    ScanAdapter,
    TraversalAdapter,
    import_optional,
)

CUPY_HINT = "it is part of CuPy"


def import_graphblas(notes: list[str]) -> Any:
    """Import the adapters of python-graphblas, which need it, or add a note."""
    if import_optional("graphblas", notes) is None:
        return None
    return importlib.import_module("pipelines.benchmarks.adapters.graphblas")


def pagerank_peers(on_gpu: bool) -> tuple[list[PageRankAdapter], list[str]]:
    """Return PageRank of peers, and notes on missing libraries."""
    notes: list[str] = []
    adapters: list[PageRankAdapter] = []
    if on_gpu:
        sparse = import_optional("cupyx.scipy.sparse", notes, CUPY_HINT)
        cusparse = import_optional("cupyx.cusparse", notes, CUPY_HINT)
        if sparse and cusparse:
            note = "SpMV through CuPy"
            adapters += scipy.pagerank_adapters("cuSPARSE", sparse, note, cusparse.spmv)
        if pylibcugraph := import_optional("pylibcugraph", notes, cugraph.HINT):
            adapters += cugraph.pagerank_adapters(pylibcugraph)
        return adapters, notes
    if sparse := import_optional("scipy.sparse", notes):
        adapters += scipy.pagerank_adapters("SciPy", sparse, "one thread")
    if library := import_optional("networkit", notes):
        adapters.append(networkit.NetworKitPageRank(library))
    if import_optional("igraph", notes):
        adapters.append(igraph.IgraphPageRank())
    if graphblas := import_graphblas(notes):
        adapters += graphblas.pagerank_adapters()
    if library := import_optional("networkx", notes):
        adapters.append(networkx.NetworkXPageRank(library))
    return adapters, notes


def traversal_peers(on_gpu: bool) -> tuple[list[TraversalAdapter], list[str]]:
    """Return traversals and components of peers, and notes on missing libraries."""
    notes: list[str] = []
    adapters: list[TraversalAdapter] = []
    if on_gpu:
        if pylibcugraph := import_optional("pylibcugraph", notes, cugraph.HINT):
            adapters += cugraph.traversal_adapters(pylibcugraph)
        return adapters, notes
    if import_optional("scipy.sparse.csgraph", notes):
        adapters += scipy.traversal_adapters()
    if library := import_optional("networkit", notes):
        adapters += networkit.traversal_adapters(library)
    if import_optional("igraph", notes):
        adapters += igraph.traversal_adapters()
    if graphblas := import_graphblas(notes):
        adapters += graphblas.traversal_adapters()
    if library := import_optional("networkx", notes):
        adapters += networkx.traversal_adapters(library)
    return adapters, notes


def scan_peers(on_gpu: bool) -> tuple[list[ScanAdapter], list[str]]:
    """Return similarities and common neighbors of peers, and notes on missing libraries."""
    notes: list[str] = []
    adapters: list[ScanAdapter] = []
    if on_gpu:
        if pylibcugraph := import_optional("pylibcugraph", notes, cugraph.HINT):
            adapters.append(cugraph.CuGraphJaccard(pylibcugraph, pylibcugraph.ResourceHandle()))
        return adapters, notes
    if library := import_optional("networkit", notes):
        adapters.append(networkit.NetworKitCounts(library))
    if import_optional("scipy.sparse", notes):
        adapters.append(scipy.SciPyCounts())
    if graphblas := import_graphblas(notes):
        adapters.append(graphblas.GraphBlasCounts())
    return adapters, notes


def build_peers(on_gpu: bool) -> tuple[list[BuildAdapter], list[str]]:
    """Return graph builds of peers, and notes on missing libraries."""
    notes: list[str] = []
    adapters: list[BuildAdapter] = []
    if on_gpu:
        if sparse := import_optional("cupyx.scipy.sparse", notes, CUPY_HINT):
            adapters += scipy.build_adapters("cuSPARSE", sparse)
        if pylibcugraph := import_optional("pylibcugraph", notes, cugraph.HINT):
            adapters += cugraph.build_adapters(pylibcugraph)
        return adapters, notes
    if sparse := import_optional("scipy.sparse", notes):
        adapters += scipy.build_adapters("SciPy", sparse)
    if library := import_optional("networkit", notes):
        adapters.append(networkit.build_adapter(library))
    if graphblas := import_graphblas(notes):
        adapters.append(graphblas.build_adapter())
    if import_optional("igraph", notes):
        adapters.append(igraph.build_adapter())
    return adapters, notes


PEERS: dict[str, Callable[[bool], tuple[list[Any], list[str]]]] = {  # by command
    "pagerank": pagerank_peers,
    "traversal": traversal_peers,
    "scan": scan_peers,
    "build": build_peers,
}
