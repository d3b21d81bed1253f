"""A structural SVM whose regulariser knows the neighborhoods of all points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian
from sklearn.preprocessing import normalize

from ..estimator import check_choice, check_number
from ..inputs import Inputs, Matrix
from ..kernels import Kernel
from ..spaces import OutputSpace
from ..ssvm import Weights
from .base import (
    Baseline,
    Potentials,
    check_graph_parameters,
    check_lambda,
    heat_graph,
    linear_potentials,
    objective_of,
)

# The warped kernel solves one dense system over this many parts at most.
MOST_PARTS = 6000

Warp = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]


class LaplacianSSVM(Baseline):
    """Laplacian structural SVM, our implementation after Altun, McAllester and Belkin (2005).

    Minimises lam/2 ( |h|^2 + gamma sum_s h_s' L h_s ) + 1/l sum_i max_z [ f(x_i,z) - f(x_i,y_i) +
    Delta(y_i,z) ], where f sums h over the parts of an output, h_s are the values of h for the part
    label s at the parts of all points, and L is the normalised Laplacian of their k-nearest-neighbor
    graph. Unlabelled points enter through this regulariser only, and the problem is convex.

    Choices of ours: a part is a point with its class, tree node or label, or a token with its tag;
    transitions have a plain ridge; edges have heat weights; gamma is relative to the trace; the solver
    is a smoothed hinge with L-BFGS on warped features. `kernel="linear"` shares the function class of
    the other methods, `kernel="rbf"` is nearer to the paper.

    Wins where neighbors share their output (moons; digits with the RBF kernel), loses where the graph
    joins different outputs. A linear map has few smooth directions to offer and seldom gains much.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    gamma : weight of smoothness on the graph; 0 is the supervised structural SVM.
    kernel : "linear" or "rbf" (width: the median distance to the 10th neighbor).
    k : neighbors of each part.
    lam : weight of the norm, or "auto": by 3-fold cross-validation on the labelled points.
    metric : "euclidean" or "cosine", the distance that defines neighbors.
    n_jobs : threads of the neighbor search.
    random_state : seed of the folds, and of the unlabelled parts kept where there are very many.
    """

    search_space: ClassVar = {
        "gamma": [0.1, 1.0, 10.0, 100.0],
        "kernel": ["linear", "rbf"],
        "k": [5, 10, 20],
    }

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        gamma: float = 10.0,
        kernel: str = "linear",
        k: int = 10,
        lam: float | str = "auto",
        metric: str = "euclidean",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.space = space
        self.gamma = gamma
        self.kernel = kernel
        self.k = k
        self.lam = lam
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("gamma", self.gamma, least=0.0)
        check_choice("kernel", self.kernel, ("linear", "rbf"))
        check_graph_parameters(self.k, self.metric)
        check_lambda(self.lam)

    def _turns(self) -> Iterator[float]:
        features, to_weights = self._warped()
        # Warping shrinks the features: lambda is comparable again after restoring their mean norm.
        restore = np.sqrt((self._train_norm + 1.0) / max(np.mean(np.sum(features**2, axis=1)), 1e-300))
        features = features * restore
        self.lam_, warped = self._fit_labeled(features, self.lam)
        self.weights_ = Weights(to_weights(restore * warped.W), warped.T)
        train = self._train
        yield objective_of(self.space_, features, train.starts, train.codes, warped, self.lam_)

    @property
    def _train_norm(self) -> float:
        """Mean square norm of the labelled rows before warping, the constant left out."""
        if self.kernel == "rbf":
            return 1.0
        return float(self._inputs.square_norms[self._train.tokens].mean()) / self._scale**2

    def _warped(self) -> Warp:
        """Features of the labelled tokens in which the regulariser is |w|^2, and the way back."""
        rows = self._coordinates(self._inputs) if self.kernel == "linear" else None
        if rows is not None and rows.shape[1] <= rows.shape[0]:
            L, _ = self._laplacian(self._inputs.rows)
            return _warp_features(rows, L, self._train.tokens, self.gamma)
        kept = self._kept_parts()
        L, bandwidth = self._laplacian(self._inputs.rows[kept])
        labeled = np.searchsorted(kept, self._train.tokens)
        if rows is not None:
            K = rows[kept] @ rows[kept].T
            K = K.toarray() if sp.issparse(K) else K
            # The same normalisation of gamma as in feature space: d / tr(X' L X), by tr(L K).
            gamma = self.gamma * rows.shape[1] / max(np.sum(L.multiply(K)), 1e-300)
            features, to_expansion = _warp_kernel(K, L, labeled, gamma)
            return features, lambda W: np.asarray(rows[kept].T @ to_expansion(W))
        self._kernel = Kernel(1.0 / bandwidth, intercept=True)
        self._support = self._points(self._inputs).only(kept)
        K = self._kernel.matrix(self._support, self._support).astype(np.float64)
        return _warp_kernel(K, L, labeled, self.gamma)

    def _laplacian(self, rows: Matrix) -> tuple[sp.csr_matrix, float]:
        heat, bandwidth = heat_graph(rows, self.k, self.metric, self._seed, self.n_jobs)
        return sp.csr_matrix(laplacian(heat.maximum(heat.T), normed=True)), bandwidth

    def _kept_parts(self) -> np.ndarray:
        """Tokens that take part: all, or the labelled ones and a draw of the others."""
        labeled, n = self._train.tokens, self._inputs.rows.shape[0]
        if n <= MOST_PARTS:
            return np.arange(n)
        if len(labeled) > MOST_PARTS:
            raise ValueError(
                f"{len(labeled)} labelled parts are more than the {MOST_PARTS} that a dense kernel can hold; "
                'use kernel="linear" with fewer features, or fewer labelled points.'
            )
        others = np.setdiff1d(np.arange(n), labeled)
        drawn = np.random.default_rng(self._seed).choice(others, MOST_PARTS - len(labeled), replace=False)
        return np.sort(np.concatenate([labeled, drawn]))

    def _points(self, inputs: Inputs) -> Inputs:
        """Inputs as the RBF kernel sees them: in the metric of the graph."""
        return Inputs(normalize(inputs.rows), inputs.starts) if self.metric == "cosine" else inputs

    def _potentials(self, inputs: Inputs) -> Potentials:
        if self.kernel == "linear":
            return linear_potentials(self.space_, self._coordinates(inputs), self.weights_)
        rows = self._kernel.matrix(self._points(inputs), self._support)
        return linear_potentials(self.space_, rows, self.weights_)


def _warp_features(rows: Matrix, L: sp.csr_matrix, labeled: np.ndarray, gamma: float) -> Warp:
    """w'(I + gamma M)w = |R'w|^2 with M = X'LX at unit mean eigenvalue: features R^-1 x, w = R^-T w~."""
    M = rows.T @ (L @ rows)
    M = M.toarray() if sp.issparse(M) else M
    d = len(M)
    A = np.eye(d) + gamma * d / max(np.trace(M), 1e-300) * M
    R = scipy.linalg.cholesky(A, lower=True)
    own = rows[labeled].toarray() if sp.issparse(rows) else rows[labeled]
    features = scipy.linalg.solve_triangular(R, own.T, lower=True).T
    return features, lambda W: scipy.linalg.solve_triangular(R.T, W, lower=False)


def _warp_kernel(K: np.ndarray, L: sp.csr_matrix, labeled: np.ndarray, gamma: float) -> Warp:
    """The same for any kernel: K~ = K - K S at the labelled points, S = (I + gamma L K)^-1 gamma L K_l.

    The solution lies in the span of K~(x_i, .), so features of K~ at the labelled points are exact.
    The way back gives the expansion over all points: K_l B - K S B.
    """
    LK = gamma * (L @ K)
    S = scipy.linalg.solve(LK + np.eye(len(K)), LK[:, labeled], overwrite_b=True)
    warped = K[np.ix_(labeled, labeled)] - K[labeled] @ S
    values, vectors = scipy.linalg.eigh((warped + warped.T) / 2)
    kept = values > 1e-10 * values[-1]  # duplicates span nothing new
    whiten = vectors[:, kept] / np.sqrt(values[kept])

    def to_expansion(W: np.ndarray) -> np.ndarray:
        B = whiten @ W
        expansion = -S @ B
        np.add.at(expansion, labeled, B)
        return expansion

    return warped @ whiten, to_expansion
