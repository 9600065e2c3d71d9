"""What a traversal finds, before it is named."""

from dataclasses import dataclass


@dataclass
class TraversalResult:
    """What a traversal found, by vertex id.

    Attributes
    ----------
    distances : int32 (-1: unreached) or float64 (infinite: unreached), shape (vertices,)
    predecessors : int32, shape (vertices,); NO_VERTEX where there is none
    rounds : int
        Levels, or frontiers that were expanded and split; on a CPU of `paths`, steps.
    """

    distances: object
    predecessors: object
    rounds: int
