"""Principal directions of all points, labelled or not: along them the shared start learns more readily.

It is trained on rows x followed by s V'x, with V the leading right singular vectors of the rows and s such
that both parts are equally long on average. So a weight along a direction in which points really differ
costs less than others, and a word that no labelled point has counts like those that it goes with. The
trained predictor is linear in x: the weights are folded back.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from .blas import one_blas_thread
from .drawing import some_of
from .inputs import Inputs, Matrix
from .remember import remembered

# Directions are found from at most this many points, drawn at random.
MOST_POINTS = 10_000


def points_that_tell(keys: np.ndarray, seed: int) -> np.ndarray:
    """The points that the directions are found from; all of them if few."""
    return some_of(keys, np.arange(len(keys)), MOST_POINTS, seed)


@remembered
def latent_directions(inputs: Inputs, count: int, seed: int) -> np.ndarray:
    """s V, shape (d, count).

    One BLAS thread, random numbers per column, and points by their keys: neither threads nor the order of
    the data matter.
    """
    inputs = inputs.in_order()
    rows = inputs.rows.astype(np.float64)
    total = float(inputs.square_norms.sum(dtype=np.float64))
    if total == 0:
        return np.zeros((inputs.d, 0))
    with one_blas_thread():
        _, values, found = randomized_svd(rows, count, random_state=seed, transpose=False)
    return found.T * np.sqrt(total / np.sum(values**2))


def widened(rows: Matrix, directions: np.ndarray) -> Matrix:
    """The rows, whose first columns are the features, followed by what they are along the directions."""
    d, r = directions.shape
    if r == 0:
        return rows
    latent = (rows[:, :d] @ directions).astype(rows.dtype)
    return sp.hstack([rows, latent], format="csr") if sp.issparse(rows) else np.hstack([rows, latent])


def folded(W: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Weights that score rows as W scores the widened rows."""
    d, r = directions.shape
    if r == 0:
        return W
    own, latent = np.split(W, [len(W) - r])
    return np.concatenate([own[:d] + directions @ latent, own[d:]])
