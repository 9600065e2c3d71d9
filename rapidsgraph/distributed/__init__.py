"""Graphs in several partitions: the same calls on Dask frames. Imported when one is given.

`engine.py` runs tasks on the active Dask client, or here; `partitioned.py` builds a graph whose
parts (`parts.py`) stay on their workers, with names by `naming.py`. What the algorithms do with
them is in a file for each family; results are Dask frames. Where rounds are many, workers go on
without the scheduler (`together.py`). `layered.py` shares a layered edge list out among workers,
`local.py` starts a cluster of this machine. `monitor.py` bounds how long a call waits for a worker
or scheduler that does not answer.
"""

from .components import connected_components
from .graph import PartitionedGraph
from .pagerank import pagerank
from .scan import scan, structural_similarity
from .traversal import bfs, sssp

__all__ = [
    "PartitionedGraph",
    "bfs",
    "connected_components",
    "pagerank",
    "scan",
    "sssp",
    "structural_similarity",
]
