"""The neighborhood graph (eq. 1): k nearest neighbors, their weights, and who contains whom."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from .inputs import Inputs, Matrix
from .nearest import exact_nearest, exact_nearest_others, exact_nearest_sparse
from .parallel import by_the_clock

# Exact search is n^2; past this size nearest-neighbor descent is faster and good enough.
EXACT_UP_TO = 50_000
# Nearest-neighbor descent takes as long as so many exact comparisons per point, of a million; more points are
# further apart in memory. It compiles once a process.
DESCENT_PAIRS, DESCENT_EXPONENT, DESCENT_COMPILES = 35_000, 1.25, 25.0
# Queries and points that are timed to know what a comparison takes.
TIMED = (512, 20_000)
# In fewer dimensions trees find neighbors without looking at all points.
TREES_BELOW = 16
# The heat weights' bandwidth: median squared distance to the neighbor of this rank.
BANDWIDTH_RANK = 10
LEAST_HEAT = 1e-9  # of the weight of the nearest neighbor


@dataclass(frozen=True, eq=False)
class Graph:
    """Neighborhoods of n points.

    Attributes
    ----------
    neighbors : (n, k) int32. Row i is N_i, nearest first; the point itself comes first if included.
    distances : (n, k) float64.
    bandwidth : h of the heat weights exp(-d^2 / h).
    """

    neighbors: np.ndarray
    distances: np.ndarray
    bandwidth: float

    @property
    def k(self) -> int:
        return self.neighbors.shape[1]

    def narrowed(self, k: int) -> Graph:
        """The k nearest of every neighborhood: what a search for k would have found."""
        return Graph(
            np.ascontiguousarray(self.neighbors[:, :k]),
            np.ascontiguousarray(self.distances[:, :k]),
            self.bandwidth,
        )

    def voters(self, points: int) -> tuple[np.ndarray, np.ndarray]:
        """For every point the pairs (i, r) with neighbors[i, r] equal to it, as (starts, i * k + r)."""
        n, k = self.neighbors.shape
        pairs = sp.csr_matrix(
            (np.arange(n * k), self.neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, points)
        ).tocsc()
        return pairs.indptr.astype(np.int64), pairs.data.astype(np.int64)


def inverse_frequencies(inputs: Inputs) -> np.ndarray | None:
    """Inverse document frequencies of sparse token features, where sequences are the documents."""
    if not sp.issparse(inputs.rows) or len(inputs) == inputs.rows.shape[0]:
        return None
    return TfidfTransformer().fit(inputs.sums()).idf_.astype(inputs.rows.dtype)


def weighted_sums(inputs: Inputs, idf: np.ndarray | None) -> Matrix:
    """One vector per input, by which neighbors are found."""
    points = inputs.sums()
    return points if idf is None else (points @ sp.diags(idf, format="csr")).tocsr()


def suitable_method(method: str, n: int, d: int, sparse: bool) -> str:
    """The search that "auto" stands for."""
    if method != "auto":
        return method
    return "exact" if n <= EXACT_UP_TO or (d <= 8 and not sparse) else "approximate"


class Search:
    """Nearest neighbors among `points`, exact or approximate.

    Cosine is euclidean distance between rows of unit length. Rows of zeros have no direction: they get one
    of their own, or they would be nearer to everything than most things are to each other.

    Parameters
    ----------
    points : (n, d) array or CSR matrix.
    metric : "euclidean" or "cosine".
    method : "exact", "approximate" (nearest-neighbor descent) or "auto" by size.
    any_empty : whether there are rows of zeros; by default the points are looked at.
    """

    def __init__(
        self,
        points: Any,
        metric: str,
        method: str,
        n_jobs: int | None,
        seed: int,
        any_empty: bool | None = None,
    ):
        self.metric = metric
        if any_empty is None:
            any_empty = metric == "cosine" and bool(empty_rows(points).any())
        self._any_empty = any_empty
        self.points = self._scaled(points)
        n, d = points.shape
        self.method = suitable_method(method, n, d, sp.issparse(points))
        self._n_jobs, self._seed, self._index = n_jobs, seed, None

    def _scaled(self, rows: Any) -> Any:
        if self.metric != "cosine":
            return rows
        unit = normalize(rows)
        if not self._any_empty:
            return unit
        own = empty_rows(rows)[:, None].astype(unit.dtype)
        if sp.issparse(unit):
            return sp.hstack([unit, sp.csr_matrix(own)], format="csr")
        return np.hstack([unit, own])

    def _descent(self, columns: int) -> Any:
        from pynndescent import NNDescent

        if self._index is None:
            # On one thread: with more of them its draws, and so what it finds, depend on how many.
            self._index = NNDescent(
                self.points, n_neighbors=max(columns, 15), random_state=self._seed, n_jobs=1
            )
            _compiled.add(sp.issparse(self.points))
        return self._index

    def _descent_seconds(self) -> float:
        queries, points = (self.points[:most] for most in TIMED)
        pair = seconds_per_pair(points, queries, min(15, points.shape[0]))
        return descent_seconds(pair, self.points.shape[0], sp.issparse(points))

    def build(self, columns: int) -> Search:
        """Make ready for queries now, and not with the first of them."""
        if self.method == "approximate":
            self._descent(columns + 1).prepare()
        return self

    @property
    def _single(self) -> bool:
        """Whether the points are of the kind that `nearest` is fast for."""
        points = self.points
        return not sp.issparse(points) and points.dtype == np.float32 and points.shape[1] >= TREES_BELOW

    def _exact(
        self, queries: Any, columns: int, progress: Callable[[float], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        if sp.issparse(self.points):
            return exact_nearest_sparse(self.points, queries, columns, self._n_jobs, progress)
        if self._single and queries.dtype == np.float32:
            return exact_nearest(self.points, queries, columns, self._n_jobs)
        search = NearestNeighbors(n_neighbors=columns, n_jobs=self._n_jobs)
        return search.fit(self.points).kneighbors(queries)

    def among(
        self, columns: int, progress: Callable[[float], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each of the points, distances and indices of the nearest others."""
        n = self.points.shape[0]
        if self.method == "approximate":
            if progress is not None:
                by_the_clock(partial(self._descent, columns + 1), self._descent_seconds(), progress)
            indices, distances = self._descent(columns + 1).neighbor_graph
        elif self._single:
            distances, indices = exact_nearest_others(self.points, columns, self._n_jobs, progress)
            return distances, indices.astype(np.int32)
        else:
            distances, indices = self._exact(self.points, min(columns + 1, n), progress)
        return without_self(distances, indices, columns)

    def of(self, queries: Any, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """For each query, distances and indices of the nearest points."""
        queries = self._scaled(queries)
        if self.method == "approximate":
            indices, distances = self._descent(columns + 1).query(queries, k=columns)
        else:
            distances, indices = self._exact(queries, columns)
        return distances.astype(np.float64), indices.astype(np.int32)


_compiled: set[bool] = set()  # whether descent has run in this process, for sparse points and for dense ones


def descent_seconds(pair: float, n: int, sparse: bool) -> float:
    """Seconds that nearest-neighbor descent will take, given those of one comparison."""
    pairs = DESCENT_PAIRS * 1e6 * (n / 1e6) ** DESCENT_EXPONENT
    return (0.0 if sparse in _compiled else DESCENT_COMPILES) + pair * pairs


def seconds_per_pair(points: Any, queries: Any, columns: int, metric: str = "euclidean") -> float:
    """Seconds that exact search takes on one thread per query and point."""
    search = Search(points, metric, "exact", 1, 0)
    search.of(queries[:1], columns)  # compile
    begin = time.perf_counter()
    search.of(queries, columns)
    return (time.perf_counter() - begin) / (queries.shape[0] * points.shape[0])


def empty_rows(rows: Any) -> np.ndarray:
    """Mask of the rows without a non-zero entry."""
    return np.asarray(abs(rows).sum(axis=1)).ravel() == 0 if sp.issparse(rows) else ~rows.any(axis=1)


def without_self(distances, indices, columns, first=0):
    """Drop each point (the first is `first`) from its own list; where duplicates crowded it out, the last."""
    itself = indices == np.arange(first, first + len(indices))[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    distances, indices = distances[~itself].reshape(shape), indices[~itself].reshape(shape)
    return distances[:, :columns].astype(np.float64), indices[:, :columns].astype(np.int32)


def build_graph(
    search: Search, k: int, include_self: bool, progress: Callable[[float], None] | None = None
) -> Graph:
    """The k nearest neighbors of every point, the point itself first if it counts."""
    n = search.points.shape[0]
    others, wide = columns_needed(n, k, include_self)
    if wide == 0:
        distances, indices = np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int32)
    else:
        distances, indices = search.among(wide, progress)
    neighbors, lengths = neighborhoods(distances, indices, others, include_self)
    return Graph(neighbors, lengths, bandwidth_of(distances))


def columns_needed(n: int, k: int, include_self: bool) -> tuple[int, int]:
    """How many others a neighborhood holds, and how many are looked for to know how far "near" is."""
    most = n if include_self else n - 1
    if most < 1:
        raise ValueError("A single point has no neighbors; add data or use include_self=True.")
    if k > most:
        text = f"k={k} is more than the {most} points a neighborhood can hold; k={most} is used."
        warnings.warn(text, stacklevel=3)
        k = most
    others = k - include_self
    return others, min(max(others, BANDWIDTH_RANK), n - 1)


def neighborhoods(distances, indices, others: int, include_self: bool, first: int = 0):
    """Tables of neighbors and distances of points numbered from `first`."""
    distances, indices = distances[:, :others], indices[:, :others]
    if include_self:
        itself = np.arange(first, first + len(indices), dtype=np.int32)[:, None]
        indices, distances = np.hstack([itself, indices]), np.hstack([np.zeros(itself.shape), distances])
    return np.ascontiguousarray(indices), np.ascontiguousarray(distances)


def bandwidth_of(distances: np.ndarray) -> float:
    """The median squared distance to the 10th neighbor (or the last): how far "near" is."""
    if distances.shape[1] == 0:
        return 1.0
    return positive(np.median(distances[:, bandwidth_rank(distances)] ** 2), np.mean(distances**2))


def bandwidth_rank(distances: np.ndarray) -> int:
    return min(BANDWIDTH_RANK, distances.shape[1]) - 1


def positive(*squares: float) -> float:
    """The first positive one; 1 if all points coincide: every neighbor is as near as any other."""
    return float(next((square for square in squares if square > 0), 1.0))


def given_graph(neighbors: Any, n: int, among: int) -> Graph:
    """A graph from a user's table: indices (n, k) of `among` points, or the pair (indices, distances).

    A `Graph` is taken as it is, with its own bandwidth: `build_graph` made it.
    """
    if isinstance(neighbors, Graph):
        if len(neighbors.neighbors) != n or neighbors.neighbors.max() >= among:
            raise ValueError(
                f"neighbors must be the graph of these {n} points among {among}; got one of "
                f"{len(neighbors.neighbors)} points. Search again, or leave it out."
            )
        return neighbors
    indices, distances = neighbors if isinstance(neighbors, tuple) else (neighbors, None)
    indices = np.asarray(indices)
    if indices.ndim != 2 or len(indices) != n or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"neighbors must be an integer table of shape (n, k) with n = {n} rows; "
            f"got {indices.dtype} of shape {indices.shape}."
        )
    if indices.size == 0 or indices.min() < 0 or indices.max() >= among:
        raise ValueError(f"neighbors must hold indices from 0 to {among - 1}; check the table.")
    if np.any(np.diff(np.sort(indices, axis=1), axis=1) == 0):
        raise ValueError("neighbors must not name a point twice in one row; check the table.")
    distances = np.zeros(indices.shape) if distances is None else np.asarray(distances, dtype=np.float64)
    if distances.shape != indices.shape or not np.all(np.isfinite(distances)) or distances.min() < 0:
        raise ValueError(f"distances must be finite, non-negative and of shape {indices.shape}.")
    return Graph(np.ascontiguousarray(indices, dtype=np.int32), distances, bandwidth_of(distances))


def shares(distances: np.ndarray, weights: str, bandwidth: float) -> np.ndarray:
    """The share of every neighbor in its neighborhood; rows sum to 1.

    "uniform" is the paper's 1/k. "heat" (ours) counts a neighbor with exp(-d^2 / h).
    """
    if weights == "uniform":
        return np.full(distances.shape, 1.0 / distances.shape[1])
    squares = distances**2
    # Floored, so that a point far from all others still hears them and no known share is zero.
    heat = np.maximum(np.exp((squares.min(axis=1, keepdims=True) - squares) / bandwidth), LEAST_HEAT)
    return heat / heat.sum(axis=1, keepdims=True)
