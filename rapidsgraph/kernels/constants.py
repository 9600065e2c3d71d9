"""Constants shared by the host, the CUDA kernels and their Numba twins.

The launcher passes each constant that a `.cu` file uses to the compiler as a macro, so no `.cu`
file defines one of these names itself. This module imports neither Numba nor CuPy.
"""

from __future__ import annotations

import enum

WARP = 32  # threads of a warp
BLOCK_THREADS = 256  # default number of threads per block
COOPERATIVE_THREADS = 1024  # threads of a block of a cooperative launch
MAX_BLOCK_VERTICES, MAX_BLOCK_ARCS = 2**12, 2**15  # of a graph that one block of a GPU processes

NO_VERTEX = 2**31 - 1  # predecessor of a source or an unreached vertex
UNREACHED = 2**31 - 1  # depth of an unreached vertex, which sorts behind all others
NO_CLUSTER = -1  # label of a vertex outside all clusters
CORE, BORDER, HUB, OUTLIER = range(4)  # roles of vertices

# Reductions of the weights of parallel edges
MERGE_FIRST, MERGE_SUM, MERGE_MIN, MERGE_MAX = range(4)
KEEP_ALL = -1  # parallel edges are not merged

ARC_CHUNK = 1024  # consecutive arcs that a warp processes, of any number of rows

# Names of vertices
WORD_FLAGS = 32  # integers that have a flag in a word of ids
NAME_BATCH = 8  # names that a thread loads at once

# Radix sort
SORT_TILE = 3072  # consecutive keys that a block moves
SORT_DIGITS = 256  # threads of the block, and the most digits of a pass
SORT_PASSES = 8  # the most passes

# Bucket sort
MAX_BUCKET_PAIRS = 2**16
BUCKET_THREAD_SIZE = 16  # the most pairs of one key that a thread sorts
BUCKET_WARP_SIZE = 128  # the most pairs of one key that a warp sorts
BUCKET_BATCH = 4  # pairs that a thread loads at once

# Sums by key: bits of the largest weight before the point of its high part, and bits of a low part
SUM_HIGH_BITS, SUM_LOW_BITS = 30, 32

# Out-of-core build
NO_KEY = 2**64 - 1  # no edge: the source of a key is below 2^31

# PageRank
PAGERANK_MAX_SHARED_VERTICES = 2048  # of a graph whose PageRank one block computes
PAGERANK_CHUNK = 2048  # arcs of a long row that one warp sums
PAGERANK_EXACT_LENGTH = 64  # up to which rows of one class have one length
PAGERANK_MIDDLE_LENGTH = 256  # up to which they have one of two lengths
# Propagation blocking
PAGERANK_BLOCK_CHUNK = 512  # most entries of a row that one warp sums
PAGERANK_LANE_ENTRIES = 4  # contiguous entries of a lane
PAGERANK_MAX_TILES = 4096  # tiles, including the tail
PAGERANK_VECTOR = 4  # values by which arrays in shared memory are aligned: at least 16 bytes
PAGERANK_LONG_SUM, PAGERANK_SHORT_SUM = 8, 2  # contributions in a value; at most 1 is left over
PAGERANK_SUM_KINDS = 3  # long and short sums, and single contributions
PAGERANK_MAX_SUMMED = 128  # ranges of contributions that have sums

# BFS and SSSP
FRONTIER_CHUNK = 2048  # arcs of a long adjacency list that one block expands at a time
SHARED_FRONTIER = 2048  # vertices of a frontier that a block can keep in shared memory
# Direction-optimizing BFS goes bottom-up once the frontier has more than 1 / ALPHA of the
# unexplored arcs, and top-down again once it has less than 1 / BETA of the vertices.
BFS_ALPHA = 15
BFS_BETA = 20

# SCAN
SIMILARITY_LEVELS = 2**20  # quantization of similarity by which the lists of an index are sorted

# Kinds of similarity of two vertices, by the names of the public functions
SIMILARITY_STRUCTURAL, SIMILARITY_JACCARD, SIMILARITY_OVERLAP = range(3)
SIMILARITY_COSINE, SIMILARITY_COMMON = range(3, 5)

# Triangles
TRIANGLE_CHUNK = 2048  # neighbors of a vertex whose lists one block looks up at a time

# Core numbers
CORE_SELECTIONS = 12  # index of the first counter of selections, behind those of three rounds
CORE_COUNTERS = 18  # counters of three rounds and three selections

# Layered edge lists
GROUP_ROWS = 32  # rows of a section that share one start
MAX_LAUNCH_PARTITIONS = 256  # partitions of one launch
PARTITION_COLUMNS = 16  # columns of the partition table, the last of which is unused


class Column(enum.IntEnum):
    """Columns of the partition table; `COLUMN_POSITION` and so on in CUDA kernels."""

    POSITION = 0  # first word of the partition
    WORDS = 1
    FORWARD_WORDS = 2
    FIRST = 3  # position of the first source
    ROWS = 4
    FORWARD_EDGES = 5
    FORWARD_BASE = 6
    FORWARD_BITS = 7
    FORWARD_DEGREE_BITS = 8
    BACKWARD_EDGES = 9
    BACKWARD_BASE = 10
    BACKWARD_BITS = 11
    BACKWARD_DEGREE_BITS = 12
    FORWARD_CHECKSUM = 13
    BACKWARD_CHECKSUM = 14


def macros() -> dict[str, int]:
    """Return the value of each constant by the name of its macro."""
    constants = {name: value for name, value in globals().items() if type(value) is int}
    return constants | {f"COLUMN_{column.name}": int(column) for column in Column}
