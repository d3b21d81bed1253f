"""Exact nearest neighbors of many dense float32 points, in half the time of the general search.

Inner products come in blocks from BLAS and are searched while they are in the cache. Points are centred
first, and the distances of those found are computed again from differences, so that single precision
costs no accuracy where it matters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from .parallel import over_chunks

QUERIES, POINTS = 128, 2048  # a block of products stays in the cache


def exact_nearest(
    points: np.ndarray,
    queries: np.ndarray,
    columns: int,
    n_jobs: int | None,
    progress: Callable[[float], None] | None = None,
):
    """Distances and indices of the nearest `columns` points of every query, nearest first."""
    centre = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    points, queries = points - centre, queries - centre
    halves = np.einsum("ij,ij->i", points, points) / 2
    distances = np.empty((len(queries), columns))
    indices = np.empty((len(queries), columns), dtype=np.int64)
    with threadpool_limits(1, user_api="blas"):
        over_chunks(
            _search, len(queries), queries, points, halves, distances, indices,
            n_jobs=n_jobs, work=float(len(queries)) * len(points), progress=progress,
        )  # fmt: skip
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


@njit(nogil=True, cache=True)
def _search(lo, hi, queries, points, halves, distances, indices):
    """|x - q|^2 / 2 = |x|^2 / 2 - x.q + |q|^2 / 2, and the last term does not change the order."""
    columns = indices.shape[1]
    for a in range(lo, hi, QUERIES):
        b = min(a + QUERIES, hi)
        found = np.full((b - a, columns), np.inf, dtype=np.float32)
        who = np.zeros((b - a, columns), dtype=np.int64)
        for c in range(0, len(points), POINTS):
            products = np.dot(queries[a:b], points[c : c + POINTS].T)
            for i in range(b - a):
                for j in range(products.shape[1]):
                    value = halves[c + j] - products[i, j]
                    if value < found[i, columns - 1]:
                        t = columns - 1
                        while t > 0 and found[i, t - 1] > value:
                            found[i, t] = found[i, t - 1]
                            who[i, t] = who[i, t - 1]
                            t -= 1
                        found[i, t] = value
                        who[i, t] = c + j
        for i in range(b - a):
            for t in range(columns):
                total = 0.0
                for e in range(points.shape[1]):
                    total += (queries[a + i, e] - points[who[i, t], e]) ** 2
                distances[a + i, t] = np.sqrt(total)
                indices[a + i, t] = who[i, t]
