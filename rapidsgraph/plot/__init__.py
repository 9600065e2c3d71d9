"""Pictures of results. Matplotlib is imported on use, and no window system is needed."""

from .adjacency import adjacency
from .distribution import POINTS, distribution
from .sweep import sweep
from .writing import check

__all__ = ["POINTS", "adjacency", "check", "distribution", "sweep"]
