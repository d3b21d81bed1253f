"""Exact nearest neighbors of many points: dense float32 rows, or sparse rows.

Dense: inner products come in blocks from BLAS and are searched while they are in the cache. Points are
centred first, and the distances of those found are computed again from differences, so that single
precision costs no accuracy where it matters. Sparse: the products of a query with all points are added up
column by column, over the points that have something there; nothing is written out densely but one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from numba import njit

from .blas import one_blas_thread
from .parallel import over_chunks

QUERIES, POINTS = 128, 2048  # a block of products stays in the cache
BLOCK, ROWS = 1024, 256  # points that meet as many others, and how many of them at a time
GLANCE = 32  # products that are looked at together


def exact_nearest(points: np.ndarray, queries: np.ndarray, columns: int, n_jobs: int | None):
    """Distances and indices of the nearest `columns` points of every query, nearest first."""
    centre = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    points, queries = points - centre, queries - centre
    halves = np.einsum("ij,ij->i", points, points) / 2
    distances = np.empty((len(queries), columns))
    indices = np.empty((len(queries), columns), dtype=np.int64)
    with one_blas_thread():
        over_chunks(
            _search, len(queries), queries, points, halves, distances, indices,
            n_jobs=n_jobs, work=float(len(queries)) * len(points),
        )  # fmt: skip
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


@njit(nogil=True, cache=True)
def _insert(found, who, value, name):
    """Put a value among the smallest found so far, in order; of equal ones the lowest name comes first."""
    t = len(found) - 1
    while t > 0 and (found[t - 1] > value or (found[t - 1] == value and who[t - 1] > name)):
        found[t] = found[t - 1]
        who[t] = who[t - 1]
        t -= 1
    found[t] = value
    who[t] = name


@njit(nogil=True, cache=True)
def _any_below(products, halves, worst):
    """Whether any of some points is nearer than the worst found so far; counted on vectors."""
    near = 0
    for e in range(len(products)):
        near += halves[e] - products[e] < worst
    return near > 0


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
                for e in range(0, products.shape[1], GLANCE):
                    end = min(e + GLANCE, products.shape[1])
                    if not _any_below(products[i, e:end], halves[c + e : c + end], found[i, columns - 1]):
                        continue
                    for j in range(e, end):
                        value = halves[c + j] - products[i, j]
                        if value < found[i, columns - 1]:
                            _insert(found[i], who[i], value, c + j)
        for i in range(b - a):
            for t in range(columns):
                total = 0.0
                for e in range(points.shape[1]):
                    total += (queries[a + i, e] - points[who[i, t], e]) ** 2
                distances[a + i, t] = np.sqrt(total)
                indices[a + i, t] = who[i, t]


def exact_nearest_others(
    points: np.ndarray, columns: int, n_jobs: int | None, progress: Callable[[float], None] | None = None
):
    """The nearest `columns` points of every point, itself left out; each product serves both its points."""
    points = points - points.mean(axis=0, dtype=np.float64).astype(np.float32)
    n = len(points)
    halves = np.einsum("ij,ij->i", points, points) / 2
    found, who = np.full((n, columns), np.inf, dtype=np.float32), np.full((n, columns), n, dtype=np.int64)
    worst = np.full(n, np.inf, dtype=np.float32)
    rounds = list(_rounds(-(-n // BLOCK)))
    with one_blas_thread():
        for done, pairs in enumerate(rounds, start=1):
            work = float(len(pairs)) * BLOCK**2
            over_chunks(_meet, len(pairs), pairs, points, halves, found, who, worst, n_jobs=n_jobs, work=work)
            if progress is not None:
                progress(done / len(rounds))
    distances = np.empty((n, columns))
    over_chunks(_measure, n, points, who, distances, n_jobs=n_jobs, work=float(who.size) * points.shape[1])
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(who, order, axis=1)


def _rounds(blocks: int) -> Iterator[np.ndarray]:
    """All pairs of blocks, in rounds in which no block is in two pairs: no two threads write to the same one.

    >>> [pairs.tolist() for pairs in _rounds(3)]
    [[[0, 0], [1, 1], [2, 2]], [[1, 2]], [[0, 2]], [[0, 1]]]
    """
    yield np.repeat(np.arange(blocks), 2).reshape(blocks, 2)
    seats = blocks + blocks % 2  # a tournament: one sits still, the others move on by one each round
    for turn in range(seats - 1):
        moving = (np.arange(seats - 1) + turn) % (seats - 1)
        left = np.concatenate([[seats - 1], moving[1 : seats // 2]])
        right = np.concatenate([[moving[0]], moving[: seats // 2 - 1 : -1]]) if seats > 2 else moving[:1]
        pairs = np.sort(np.stack([left, right], axis=1), axis=1)
        yield pairs[pairs[:, 1] < blocks]


@njit(nogil=True, cache=True)
def _any_near(products, halves, worst, own_half, own_worst):
    """Whether any of some points is near enough to one point, or that to them; counted on vectors."""
    near = 0
    for e in range(len(products)):
        near += (halves[e] - products[e] <= own_worst) | (own_half - products[e] <= worst[e])
    return near > 0


@njit(nogil=True, cache=True)
def _meet(lo, hi, pairs, points, halves, found, who, worst):
    """Let all points of two blocks meet, for the pairs lo..hi; of equally near ones the lowest stays."""
    n, last = len(points), found.shape[1] - 1
    for s in range(lo, hi):
        A, B = pairs[s, 0] * BLOCK, pairs[s, 1] * BLOCK
        B_end = min(B + BLOCK, n)
        for a in range(A, min(A + BLOCK, n), ROWS):
            products = np.dot(points[a : min(a + ROWS, A + BLOCK, n)], points[B:B_end].T)
            for r in range(len(products)):
                i = a + r
                for c in range(0, B_end - B, GLANCE):
                    end = min(c + GLANCE, B_end - B)
                    there = slice(B + c, B + end)
                    if not _any_near(products[r, c:end], halves[there], worst[there], halves[i], worst[i]):
                        continue
                    for e in range(c, end):
                        j = B + e
                        if i == j:
                            continue
                        value, back = halves[j] - products[r, e], halves[i] - products[r, e]
                        if value < worst[i] or (value == worst[i] and j < who[i, last]):
                            _insert(found[i], who[i], value, j)
                            worst[i] = found[i, last]
                        if A != B and (back < worst[j] or (back == worst[j] and i < who[j, last])):
                            _insert(found[j], who[j], back, i)
                            worst[j] = found[j, last]


@njit(nogil=True, cache=True)
def _measure(lo, hi, points, who, distances):
    for i in range(lo, hi):
        for t in range(who.shape[1]):
            total = 0.0
            for e in range(points.shape[1]):
                total += (points[i, e] - points[who[i, t], e]) ** 2
            distances[i, t] = np.sqrt(total)


def exact_nearest_sparse(
    points: sp.csr_matrix,
    queries: sp.csr_matrix,
    columns: int,
    n_jobs: int | None,
    progress: Callable[[float], None] | None = None,
):
    """The same for CSR matrices, in double precision."""
    by_column = points.tocsc()
    norms, query_norms = (
        np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel() for rows in (points, queries)
    )
    distances = np.empty((queries.shape[0], columns))
    indices = np.empty((queries.shape[0], columns), dtype=np.int64)
    over_chunks(
        _search_sparse, queries.shape[0], queries.data, queries.indices, queries.indptr, by_column.data,
        by_column.indices, by_column.indptr, norms, query_norms, distances, indices,
        n_jobs=n_jobs, work=float(queries.shape[0]) * points.shape[0], progress=progress,
    )  # fmt: skip
    return distances, indices


@njit(nogil=True, cache=True)
def _search_sparse(
    lo, hi, query_data, query_columns, query_starts, data, points, starts, norms, query_norms, distances,
    indices,
):  # fmt: skip
    """|x - q|^2 = |x|^2 - 2 x.q + |q|^2, and the last term does not change the order."""
    n, columns = len(norms), indices.shape[1]
    values = np.empty(n)
    for i in range(lo, hi):
        values[:] = norms
        for e in range(query_starts[i], query_starts[i + 1]):
            c, twice = query_columns[e], 2.0 * query_data[e]
            for f in range(starts[c], starts[c + 1]):
                values[points[f]] -= twice * data[f]
        found, who = np.full(columns, np.inf), indices[i]
        for j in range(n):
            if values[j] < found[columns - 1]:
                _insert(found, who, values[j], j)
        for t in range(columns):
            distances[i, t] = np.sqrt(max(found[t] + query_norms[i], 0.0))
