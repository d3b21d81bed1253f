"""Maps of a problem: two coordinates per point, for looking at the neighborhood graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from .neighbors import Graph
from .quiet import quiet

SEED = 42
# Looser than UMAP's default, so that points of one cluster do not cover each other.
MIN_DIST, SPREAD = 0.8, 1.2


def one_row_each(X: Any) -> Any:
    """One vector per input: X itself, or the sums of the tokens of sequences."""
    if not isinstance(X, list):
        return X
    if sp.issparse(X[0]):
        return sp.csr_matrix(sp.vstack([sp.csr_matrix(x.sum(axis=0)) for x in X]))
    return np.stack([np.asarray(x).sum(axis=0) for x in X])


def quick_map(X: Any) -> np.ndarray:
    """The plane of two features if there are just two, else of the first two principal components."""
    rows = one_row_each(X)
    if rows.shape[1] <= 2:
        plane = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=float)
        return np.hstack([plane, np.zeros((len(plane), 2 - plane.shape[1]))])
    if sp.issparse(rows):  # centring would fill the matrix
        return TruncatedSVD(2, random_state=SEED).fit_transform(rows)
    rows = np.asarray(rows, dtype=float)
    return TruncatedSVD(2, random_state=SEED).fit_transform(rows - rows.mean(axis=0))


def graph_map(X: Any, graph: Graph, epochs: int = 200) -> np.ndarray:
    """UMAP of this very graph; X is only asked where the graph falls into pieces."""
    from umap import UMAP  # compiles for seconds: not at import

    rows, own = one_row_each(X), np.arange(len(graph.neighbors))
    neighbors, distances = graph.neighbors, graph.distances
    if not np.array_equal(neighbors[:, 0], own):  # UMAP wants each point first in its own row
        neighbors = np.hstack([own[:, None], neighbors])
        distances = np.hstack([np.zeros((len(own), 1)), distances])
    table = (neighbors.astype(np.int32), distances.astype(np.float32), None)
    umap = UMAP(
        n_neighbors=neighbors.shape[1], n_epochs=epochs, min_dist=MIN_DIST, spread=SPREAD, random_state=SEED,
        precomputed_knn=table, n_jobs=1,
    )  # fmt: skip
    with quiet():  # that new points cannot be placed on the map: they need not be
        return umap.fit_transform(rows)
