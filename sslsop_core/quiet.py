"""Warnings of one block of code unheard, and those of other threads heard as ever.

`warnings.catch_warnings` puts a copy of the process's filters in place and the old ones back: of two blocks
that overlap in time, the one that ends last leaves the filters of the other behind, for good.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_lock = threading.Lock()
_within: Counter[int] = Counter()  # in how many blocks each thread is


class _ByThread(type):
    def __subclasscheck__(cls, category: type) -> bool:
        return threading.get_ident() in _within


class Unheard(Warning, metaclass=_ByThread):
    """The category of every warning, in a thread that is in a block; elsewhere of none.

    So a filter for it does no harm where another library's `catch_warnings` brings it back.
    """


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, no warning of this thread is told.

    >>> with quiet():
    ...     warnings.warn("unheard")
    """
    thread = threading.get_ident()
    with _lock:
        _within[thread] += 1
        warnings.simplefilter("ignore", Unheard)  # once, and before all others
    try:
        yield
    finally:
        with _lock:
            _within[thread] -= 1
            if not _within[thread]:
                del _within[thread]
            if not _within:
                _drop_filter()


def _drop_filter() -> None:
    with suppress(ValueError):  # it is not there, if a `catch_warnings` took it away
        warnings.filters.remove(("ignore", None, Unheard, None, 0))  # type: ignore[attr-defined]
