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
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import joblib

MOST = 16  # results that a process keeps; the oldest go first

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
            saved.seconds += found[1]
            return found[0]
        began = time.perf_counter()
        result = step(*args, **kwargs)
        with _lock:
            _results[key] = result, time.perf_counter() - began
            while len(_results) > MOST:
                _results.popitem(last=False)
        return result

    return wrapper
