"""Problems to run: embedded sets, the paper's benchmarks, generators, and anybody's own file."""

from .limits import Limits
from .problem import Problem
from .reading import read
from .registry import Record, available, load
from .report import Report

__all__ = ["Limits", "Problem", "Record", "Report", "available", "load", "read"]
