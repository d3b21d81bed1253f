"""Problems to run: embedded sets, the paper's benchmarks, generators, and anybody's own file."""

from .problem import Problem
from .registry import Record, available, load

__all__ = ["Problem", "Record", "available", "load"]
