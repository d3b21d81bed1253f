"""Large arrays in memory or, past a limit, in files that the system pages in and out."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np


def beyond(limit: float | None, sizes: dict[str, int]) -> set[str]:
    """The names of the arrays that no longer fit into `limit` bytes, counted in their order.

    >>> sorted(beyond(100, {"S": 40, "A": 40, "gram": 90}))
    ['gram']
    """
    if limit is None:
        return set()
    return {name for name, total in zip(sizes, np.cumsum(list(sizes.values())), strict=True) if total > limit}


def zeros(shape: Any, dtype: Any, on_disk: bool) -> np.ndarray:
    """An array of zeros, in memory or in a file of the temporary folder (`TMPDIR`).

    The file has no name there: it goes when the array goes, also when the process is killed.
    """
    if not on_disk or np.prod(shape) == 0:
        return np.zeros(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # a full disk is an error here, not a crash at some later write
            os.posix_fallocate(file.fileno(), 0, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        return np.memmap(file, dtype, "w+", shape=shape).view(np.ndarray)
