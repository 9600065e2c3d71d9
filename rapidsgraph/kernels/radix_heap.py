"""Shortest paths by weight on a CPU, by Dijkstra's algorithm with a radix heap.

Bucket 0 has the vertices at distance `last`, the least that has not been expanded, and bucket b
those whose distance differs from it in bit b - 1 and in no higher one. Distances are compared as
integers, which order nonnegative floating-point numbers alike. Once bucket 0 is empty, the first
bucket with vertices is divided among the buckets before it. A vertex moves down only, so its moves
are at most the 64 bits of a distance, whatever the weights.

Buckets are doubly linked lists: ``links[v]`` is the next vertex, ``links[num_vertices + v]`` the
previous one, or -1 - b for the first vertex of bucket b, or NO_VERTEX outside all buckets.

References
----------
R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path
problem", Journal of the ACM 37, 1990. https://doi.org/10.1145/77600.77615
"""

import numpy as np

from .constants import NO_VERTEX
from .intrinsics import bit_length
from .jit import serial

NUM_BUCKETS = 65
ONE = np.uint64(1)


@serial
def shortest_paths(cutoff, stop, sources, targets, offsets, neighbors, weights, distances, links):
    """Lower `distances` along all paths from `sources`, and return the number of divided buckets.

    Distances beyond `cutoff` are not written, and vertices at `stop` or farther not expanded. If
    there are targets, the search ends when their distances are final.
    """
    num_vertices = distances.size
    following, previous = links[:num_vertices], links[num_vertices : 2 * num_vertices]
    previous[:] = NO_VERTEX
    heads = np.full(NUM_BUCKETS, -1, np.int32)
    keys = distances.view(np.uint64)
    num_divided, num_settled = 0, 0
    for vertex in sources:  # a list that is divided first
        following[vertex] = heads[NUM_BUCKETS - 1]
        heads[NUM_BUCKETS - 1] = vertex
    # Lists are changed in place: functions that take arrays count references, which takes longer.
    while True:
        bucket = 0
        while bucket < NUM_BUCKETS and heads[bucket] < 0:
            bucket += 1
        if bucket == NUM_BUCKETS:
            return num_divided
        if bucket > 0:
            num_divided += 1
            vertex = heads[bucket]
            last = keys[vertex]
            while vertex >= 0:
                last = min(last, keys[vertex])
                vertex = following[vertex]
            while num_settled < targets.size and keys[targets[num_settled]] < last:
                num_settled += 1
            if 0 < targets.size == num_settled:
                return num_divided
            vertex = heads[bucket]
            heads[bucket] = -1
            while vertex >= 0:
                after = following[vertex]
                bucket = bit_length(keys[vertex] ^ last)
                head = heads[bucket]
                following[vertex], previous[vertex] = head, -1 - bucket
                if head >= 0:
                    previous[head] = vertex
                heads[bucket] = vertex
                vertex = after
        nearest = np.uint64(heads[0])
        distance = distances[nearest]
        if distance >= stop:
            return num_divided
        after = following[nearest]
        if after >= 0:
            previous[after] = -1
        heads[0], previous[nearest] = after, NO_VERTEX
        for arc_ in range(offsets[nearest], offsets[nearest + ONE]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            new_distance = distance + weights[arc]
            if new_distance >= distances[neighbor] or new_distance > cutoff:
                continue
            distances[neighbor] = new_distance
            before, after = previous[neighbor], following[neighbor]
            if 0 <= before < NO_VERTEX:
                following[before] = after
            elif before < 0:
                heads[-1 - before] = after
            if before < NO_VERTEX and after >= 0:
                previous[after] = before
            bucket = bit_length(keys[neighbor] ^ last)
            head = heads[bucket]
            following[neighbor], previous[neighbor] = head, -1 - bucket
            if head >= 0:
                previous[head] = neighbor
            heads[bucket] = neighbor
