"""Costly steps that many runs on the same data share, remembered by the content of their arguments.

Outside of `remembering` nothing is kept and nothing is looked up.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import joblib
import numpy as np
import scipy.sparse as sp

MOST_BYTES = (
    256_000_000  # of the arrays in what a process keeps; what was not asked for the longest goes first
)

P = ParamSpec("P")
R = TypeVar("R")


class Saved:
    """Seconds that were not spent, because a result was remembered."""

    def __init__(self) -> None:
        self.seconds = 0.0


_saved: ContextVar[Saved | None] = ContextVar("saved", default=None)
_results: OrderedDict[str, tuple[Any, float]] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def remembering() -> Iterator[Saved]:
    """Inside, remembered steps are computed once per process; what that saved is counted."""
    saved = Saved()
    token = _saved.set(saved)
    try:
        yield saved
    finally:
        _saved.reset(token)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, a run that needs the result of a step twice takes it once; an outer count goes on."""
    token = _saved.set(_saved.get() or Saved())
    try:
        yield
    finally:
        _saved.reset(token)


def remembered(step: Callable[P, R]) -> Callable[P, R]:
    """A step that depends on nothing but its arguments, and whose result nobody changes."""

    @wraps(step)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        saved = _saved.get()
        if saved is None:
            return step(*args, **kwargs)
        key = joblib.hash((step.__qualname__, args, kwargs))
        with _lock:
            found = _results.get(key)
            if found is not None:
                _results.move_to_end(key)
        if found is not None:
            saved.seconds += found[1]
            return found[0]
        began = time.perf_counter()
        result = step(*args, **kwargs)
        with _lock:
            _results[key] = result, time.perf_counter() - began
            while sum(_nbytes(kept) for kept, _ in _results.values()) > MOST_BYTES:
                _results.popitem(last=False)
        return result

    return wrapper


def _nbytes(value: Any) -> int:
    """The size of the arrays in a result: an array, a sparse matrix, or a dataclass of such."""
    if is_dataclass(value):
        return sum(_nbytes(getattr(value, field.name)) for field in fields(value))
    if sp.issparse(value):
        return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
    return value.nbytes if isinstance(value, np.ndarray) else 0
