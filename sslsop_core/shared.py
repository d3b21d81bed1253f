"""The shared start: one structural SVM on the labelled points, from which every local predictor departs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import scipy.linalg
from sklearn.model_selection import KFold

from .blas import one_blas_thread
from .drawing import in_order
from .inference import best_codes
from .inputs import Inputs, Matrix, tokens_of
from .kernels import Kernel
from .latent import folded, widened
from .remember import remembered
from .spaces import OutputSpace
from .ssvm import Weights, fit_weights, hinge_of_scores, scores, with_intercept

LAMBDAS = (1e-2, 1e-3, 1e-4, 1e-5)
# A kernel predictor is expanded over at most this many labelled tokens.
MOST_SUPPORT = 2000
# Lambda is chosen on at most this many labelled points, by predictors of this precision: errors settle long
# before objectives do.
MOST_JUDGED = 3000
JUDGED_TOL = 1e-5


class Shared(Protocol):
    """w_0 as the learner knows it: how it scores tokens and transitions, its norm, and whether it pulls."""

    @property
    def anchored(self) -> bool: ...

    @property
    def transitions(self) -> np.ndarray: ...

    @property
    def square_norm(self) -> float: ...

    def scores(self, space: OutputSpace, inputs: Inputs) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class SharedPredictor:
    """w_0 in coordinates in which the kernel is a plain inner product.

    For the linear kernel these are the features, scaled; for another the projections onto the span of the
    `support` tokens, K(x, support) @ `whiten`. A constant follows, also when the local predictors have
    none: how common an output is, a neighborhood need not learn.
    """

    kernel: Kernel
    weights: Weights
    support: Inputs | None = None
    whiten: np.ndarray | None = None
    anchored: ClassVar[bool] = False

    def coordinates(self, inputs: Inputs) -> Matrix:
        if self.support is not None:
            return with_intercept(self.kernel.matrix(inputs, self.support) @ self.whiten)
        return with_intercept(inputs.rows / inputs.rows.dtype.type(np.sqrt(self.kernel.scale)))

    @property
    def transitions(self) -> np.ndarray:
        return self.weights.T

    @property
    def square_norm(self) -> float:
        """That of the part that acts on features."""
        return float(np.sum(self.weights.W**2))

    def scores(self, space: OutputSpace, inputs: Inputs) -> np.ndarray:
        """Scores per token, shape (tokens, q)."""
        return scores(space, self.coordinates(inputs), self.weights)


@remembered
def train_shared(
    space: OutputSpace,
    inputs: Inputs,
    codes: np.ndarray,
    labeled: np.ndarray,
    kernel: Kernel,
    directions: np.ndarray,
    seed: int,
) -> SharedPredictor:
    """Train w_0 on the labelled points; the weight of |w_0|^2 is chosen by 3-fold cross-validation there.

    A linear one learns more readily along the `directions`, see `latent`.

    One BLAS thread: the products are small, and sums do not depend on the number of threads. The points are
    taken by their keys: neither sums nor folds depend on the order of the data.
    """
    with one_blas_thread():
        labeled = in_order(inputs.keys, labeled)
        own = inputs.take(labeled)
        return _train(space, own, space.take(codes, labeled, inputs.starts), kernel, directions, seed)


def _train(space, inputs, codes, kernel, directions, seed) -> SharedPredictor:
    blank = SharedPredictor(kernel, Weights(np.zeros((0, 0)), np.zeros((0, 0))))
    if kernel.gamma is not None:
        blank, directions = _kernel_coordinates(blank, inputs, seed), directions[:, :0]
    rows, points = widened(blank.coordinates(inputs), directions), np.arange(len(inputs))
    lam = choose_lambda(space, inputs.starts, rows, codes, points, seed)
    weights = fit_weights(space, rows, inputs.starts, codes, lam)
    weights = Weights(folded(weights.W, directions), weights.T)
    return SharedPredictor(kernel, weights, blank.support, blank.whiten)


def _kernel_coordinates(blank: SharedPredictor, inputs, seed):
    tokens = np.arange(inputs.rows.shape[0])
    if len(tokens) > MOST_SUPPORT:
        tokens = np.sort(np.random.default_rng(seed).choice(tokens, MOST_SUPPORT, replace=False))
    support = inputs.only(tokens)
    gram = blank.kernel.matrix(support, support).astype(np.float64)
    values, vectors = scipy.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]  # duplicates span nothing new
    whiten = (vectors[:, kept] / np.sqrt(values[kept])).astype(inputs.rows.dtype)
    return SharedPredictor(blank.kernel, blank.weights, support, whiten)


def fit_points(space, starts, rows, codes, points, lam, **loss):
    """`fit_weights` on some of the points; `rows` and `codes` are those of all."""
    tokens, begins = tokens_of(starts, points)
    return fit_weights(space, rows[tokens], begins, space.take(codes, points, starts), lam, **loss)


def choose_lambda(space, starts, rows, codes, labeled, seed, **loss):
    """The lambda with the lowest mean error over 3 folds of (at most `MOST_JUDGED`) labelled points."""
    if len(labeled) < 6:
        return LAMBDAS[1]
    judged = np.random.default_rng(seed).permutation(labeled)[:MOST_JUDGED]
    errors = [
        _fold_errors(space, starts, rows, codes, judged[train], judged[test], loss)
        for train, test in KFold(3).split(judged)
    ]
    return LAMBDAS[int(np.argmin(np.mean(errors, axis=0)))]


def _fold_errors(space, starts, rows, codes, train, test, loss):
    """Error on `test` for every lambda, each fit starting where the one before ended."""
    tokens, begins = tokens_of(starts, test)
    true = space.take(codes, test, starts)
    weights, errors = None, []
    for lam in LAMBDAS:
        weights = fit_points(space, starts, rows, codes, train, lam, start=weights, tol=JUDGED_TOL, **loss)
        S = scores(space, rows[tokens], weights)
        errors.append(_error(space, S, weights.T, begins, true, loss.get("margin", True)))
    return errors


def _error(space, S, T, starts, true, margin):
    if not margin:  # a random field is judged by its likelihood
        costs = np.full(len(starts) - 1, 1.0 / (len(starts) - 1))
        return hinge_of_scores(space, S, T, starts, true, costs, 1.0, margin=False)[0]
    predicted = best_codes(space, S, T, starts)
    # The loss of whole outputs is coarse on few points: wrong parts (tags, labels) count beside it.
    return space.losses(true, predicted, starts).mean() + np.mean(true != predicted)
