"""The neighborhood graph (eq. 1): k nearest neighbors, their weights, and who contains whom."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from .inputs import Inputs, Matrix
from .nearest import exact_nearest

# Exact search is n^2; past this size nearest-neighbor descent is faster and good enough.
EXACT_UP_TO = 50_000
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

    def voters(self) -> tuple[np.ndarray, np.ndarray]:
        """For every point the pairs (i, r) with neighbors[i, r] equal to it, as (starts, i * k + r)."""
        n, k = self.neighbors.shape
        pairs = sp.csr_matrix(
            (np.arange(n * k), self.neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
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


class Search:
    """Nearest neighbors among `points`, exact or approximate.

    Cosine is euclidean distance between rows of unit length.

    Parameters
    ----------
    points : (n, d) array or CSR matrix.
    metric : "euclidean" or "cosine".
    method : "exact" (scikit-learn), "approximate" (nearest-neighbor descent) or "auto" by size.
    """

    def __init__(self, points: Any, metric: str, method: str, n_jobs: int | None, seed: int):
        self.metric = metric
        self.points = normalize(points) if metric == "cosine" else points
        n, d = self.points.shape
        if method == "auto":
            method = "exact" if n <= EXACT_UP_TO or (d <= 8 and not sp.issparse(points)) else "approximate"
        self.method = method
        self._n_jobs, self._seed, self._index = n_jobs, seed, None

    def _descent(self, columns: int) -> Any:
        from pynndescent import NNDescent

        if self._index is None:
            self._index = NNDescent(
                self.points, n_neighbors=max(columns, 15), random_state=self._seed, n_jobs=self._n_jobs
            )
        return self._index

    def _exact(self, queries: Any, columns: int) -> tuple[np.ndarray, np.ndarray]:
        dense = not sp.issparse(self.points) and self.points.dtype == queries.dtype == np.float32
        if dense and self.points.shape[1] >= TREES_BELOW:
            return exact_nearest(self.points, queries, columns, self._n_jobs)
        search = NearestNeighbors(n_neighbors=columns, n_jobs=self._n_jobs)
        return search.fit(self.points).kneighbors(queries)

    def among(self, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """For each of the points, distances and indices of the nearest others."""
        n = self.points.shape[0]
        if self.method == "approximate":
            indices, distances = self._descent(columns + 1).neighbor_graph
        else:
            distances, indices = self._exact(self.points, min(columns + 1, n))
        return _without_self(distances, indices, columns)

    def of(self, queries: Any, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """For each query, distances and indices of the nearest points."""
        queries = normalize(queries) if self.metric == "cosine" else queries
        if self.method == "approximate":
            indices, distances = self._descent(columns + 1).query(queries, k=columns)
        else:
            distances, indices = self._exact(queries, columns)
        return distances.astype(np.float64), indices.astype(np.int32)


def _without_self(distances, indices, columns):
    """Drop each point from its own list; where duplicates crowded it out, drop the last column."""
    itself = indices == np.arange(len(indices))[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    distances, indices = distances[~itself].reshape(shape), indices[~itself].reshape(shape)
    return distances[:, :columns].astype(np.float64), indices[:, :columns].astype(np.int32)


def build_graph(search: Search, k: int, include_self: bool) -> Graph:
    """The k nearest neighbors of every point, the point itself first if it counts."""
    n = search.points.shape[0]
    most = n if include_self else n - 1
    if most < 1:
        raise ValueError("A single point has no neighbors; add data or use include_self=True.")
    if k > most:
        text = f"k={k} is more than the {most} points a neighborhood can hold; k={most} is used."
        warnings.warn(text, stacklevel=2)
        k = most
    others = k - include_self
    wide = min(max(others, BANDWIDTH_RANK), n - 1)
    if wide == 0:
        distances, indices = np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int32)
    else:
        distances, indices = search.among(wide)
    bandwidth = bandwidth_of(distances)
    distances, indices = distances[:, :others], indices[:, :others]
    if include_self:
        indices = np.hstack([np.arange(n, dtype=np.int32)[:, None], indices])
        distances = np.hstack([np.zeros((n, 1)), distances])
    return Graph(np.ascontiguousarray(indices), np.ascontiguousarray(distances), bandwidth)


def bandwidth_of(distances: np.ndarray) -> float:
    """The median squared distance to the 10th neighbor (or the last): how far "near" is."""
    if distances.shape[1] == 0:
        return 1.0
    rank = min(BANDWIDTH_RANK, distances.shape[1]) - 1
    for squares in (np.median(distances[:, rank] ** 2), np.mean(distances**2)):
        if squares > 0:
            return float(squares)
    return 1.0  # all points coincide: every neighbor is as near as any other


def given_graph(neighbors: Any, n: int, among: int) -> Graph:
    """A graph from a user's table: indices (n, k) of `among` points, or the pair (indices, distances)."""
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
