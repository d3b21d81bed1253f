"""The shared start: one structural SVM on the labelled points, from which every local predictor departs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from .inference import best_codes
from .inputs import Inputs, Matrix, tokens_of
from .kernels import Kernel
from .spaces import OutputSpace
from .ssvm import Weights, fit_weights, scores, with_intercept

LAMBDAS = (1e-2, 1e-3, 1e-4)
# A kernel predictor is expanded over at most this many labelled tokens.
MOST_SUPPORT = 2000


@dataclass(frozen=True, eq=False)
class SharedPredictor:
    """w_0 in coordinates in which the kernel is a plain inner product.

    For the linear kernel these are the features (scaled, with the constant); for another the
    projections onto the span of the `support` tokens, K(x, support) @ `whiten`.
    """

    kernel: Kernel
    weights: Weights
    support: Inputs | None = None
    whiten: np.ndarray | None = None

    def coordinates(self, inputs: Inputs) -> Matrix:
        if self.support is not None:
            return self.kernel.matrix(inputs, self.support) @ self.whiten
        rows = inputs.rows / inputs.rows.dtype.type(np.sqrt(self.kernel.scale))
        return with_intercept(rows) if self.kernel.intercept else rows

    def scores(self, space: OutputSpace, inputs: Inputs) -> np.ndarray:
        """Scores per token, shape (tokens, q)."""
        return scores(space, self.coordinates(inputs), self.weights)


def train_shared(
    space: OutputSpace, inputs: Inputs, codes: np.ndarray, labeled: np.ndarray, kernel: Kernel, seed: int
) -> SharedPredictor:
    """Train w_0 on the labelled points; the weight of |w_0|^2 is chosen by 3-fold cross-validation there.

    One BLAS thread: the products are small, and sums do not depend on the number of threads.
    """
    with threadpool_limits(1, user_api="blas"):
        return _train(space, inputs, codes, labeled, kernel, seed)


def _train(space, inputs, codes, labeled, kernel, seed) -> SharedPredictor:
    blank = SharedPredictor(kernel, Weights(np.zeros((0, 0)), np.zeros((0, 0))))
    if kernel.gamma is not None:
        blank = _kernel_coordinates(blank, inputs, labeled, seed)
    rows = blank.coordinates(inputs)
    lam = _choose_lambda(space, inputs, rows, codes, labeled, seed)
    weights = _fit(space, inputs, rows, codes, labeled, lam)
    return SharedPredictor(kernel, weights, blank.support, blank.whiten)


def _kernel_coordinates(blank: SharedPredictor, inputs, labeled, seed):
    tokens, _ = tokens_of(inputs.starts, labeled)
    if len(tokens) > MOST_SUPPORT:
        tokens = np.sort(np.random.default_rng(seed).choice(tokens, MOST_SUPPORT, replace=False))
    support = inputs.only(tokens)
    gram = blank.kernel.matrix(support, support).astype(np.float64)
    values, vectors = scipy.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]  # duplicates span nothing new
    whiten = (vectors[:, kept] / np.sqrt(values[kept])).astype(inputs.rows.dtype)
    return SharedPredictor(blank.kernel, blank.weights, support, whiten)


def _fit(space, inputs, rows, codes, points, lam):
    tokens, starts = tokens_of(inputs.starts, points)
    return fit_weights(space, rows[tokens], starts, space.take(codes, points, inputs.starts), lam)


def _choose_lambda(space, inputs, rows, codes, labeled, seed):
    """The lambda with the lowest mean loss over 3 folds of the labelled points."""
    if len(labeled) < 6:
        return LAMBDAS[len(LAMBDAS) // 2]
    folds = list(KFold(3, shuffle=True, random_state=seed).split(labeled))
    losses = [
        np.mean([_fold_loss(space, inputs, rows, codes, labeled[a], labeled[b], lam) for a, b in folds])
        for lam in LAMBDAS
    ]
    return LAMBDAS[int(np.argmin(losses))]


def _fold_loss(space, inputs, rows, codes, train, test, lam):
    weights = _fit(space, inputs, rows, codes, train, lam)
    tokens, starts = tokens_of(inputs.starts, test)
    predicted = best_codes(space, scores(space, rows[tokens], weights), weights.T, starts)
    return space.losses(space.take(codes, test, inputs.starts), predicted, starts).mean()
