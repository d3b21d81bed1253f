"""Random draws inside compiled loops that do not depend on the order of the loops."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def draw(seed, a, b, n):
    """An integer in 0..n-1, a pure function of (seed, a, b): splitmix64 of their mix."""
    x = np.uint64(seed) + np.uint64(a) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(b) * np.uint64(0xD1B54A32D192ED03)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) % np.uint64(n))
