"""What the competitors share: the interface of SSLSOP, linear coordinates, a graph of parts.

A competitor ends with *potentials*: scores (tokens, q) of every output, tag or label, and transition
scores (q, q). Prediction, outputs and decisions follow from them in one place, here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..door import check_inputs, check_training
from ..estimator import Iteration, StructuredEstimator, check_choice, check_count, check_number, compact
from ..inference import allowed_codes, best_codes
from ..inputs import Inputs, Matrix, tokens_of
from ..neighbors import Search, build_graph
from ..sequences import Sequences
from ..shared import choose_lambda
from ..spaces import Classes, OutputSpace
from ..ssvm import TAUS, Weights, fit_weights, scores, smoothed_hinge, with_intercept
from ..starts import spread_start

# The negative log-likelihood of a random field, as arguments of `fit_weights`.
LOG_LOSS: dict[str, Any] = {"margin": False, "taus": (1.0,)}
METRICS = ("euclidean", "cosine")
ALL_KINDS = ("classes", "tree", "sequences", "labelsets")

Potentials = tuple[np.ndarray, np.ndarray]


class Baseline(StructuredEstimator):
    """Interface of all competitors: fit, iter_fit, predict, outputs_, history_, score.

    A partly given output counts as missing while training; the outputs learned for such points are
    always among the allowed ones.

    Attributes
    ----------
    outputs_ : outputs of the training points, given or learned.
    history_ : one `Iteration` per turn; n_iter_ turns were taken.
    space_, classes_, n_features_in_ : what was used.
    """

    kinds: ClassVar[tuple[str, ...]] = ALL_KINDS
    search_space: ClassVar[dict[str, list[Any]]] = {}

    random_state: Any
    _inputs: Inputs
    _given: np.ndarray
    _Y: np.ndarray

    # --- training ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from X and the outputs y, None where missing."""
        for _ in self.iter_fit(X, y):
            pass
        return self

    def iter_fit(self, X: Any, y: Any) -> Iterator[Iteration]:
        """Train, yielding an `Iteration` after each turn; between turns the model predicts."""
        self._check_parameters()
        self._start(X, y)
        self.history_ = []
        self.n_iter_ = 0
        for objective in self._turns():
            if np.isinf(objective):
                raise ValueError(
                    f"The objective of {type(self).__name__} is not finite after {self.n_iter_ + 1} turns; "
                    "scale the features, with StandardScaler for example."
                )
            Y, Y_old = self._learned_outputs(), self._Y
            n_changed = int(self.space_.changed(Y, Y_old, self._inputs.starts).sum())
            self._Y = Y
            self.n_iter_ += 1
            codes = compact(Y, len(self.space_))
            self.history_.append(Iteration(self.n_iter_, float(objective), n_changed, 0, codes))
            yield self.history_[-1]

    def _start(self, X: Any, y: Any) -> None:
        """Check X and y; set the space, the labelled points, the scale of features and the seed."""
        self.space_, self._inputs, self._given = check_training(self, X, y, self.space)
        if self.space_.kind not in self.kinds:
            raise ValueError(
                f"{type(self).__name__} works on {', '.join(self.kinds)} only; "
                f"got {self.space_!r}. Choose another method."
            )
        complete = self.space_.complete(self._given, self._inputs.starts)
        if not complete.any():
            raise ValueError(
                f"{type(self).__name__} learns from completely given outputs, and all are given only in part."
            )
        self._labeled, self._missing = np.flatnonzero(complete), np.flatnonzero(~complete)
        self._train = part_of(self.space_, self._inputs.starts, self._given, self._labeled)
        self._Y = spread_start(self.space_, self._given, self._inputs.keys, self._inputs.starts, seed=0)
        mean_square = float(self._inputs.square_norms.mean())
        self._scale = np.sqrt(mean_square) if mean_square > 0 else 1.0
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))

    @abstractmethod
    def _turns(self) -> Iterator[float]:
        """Train; after each turn leave the model able to answer `_potentials` and yield the objective."""

    @abstractmethod
    def _potentials(self, inputs: Inputs) -> Potentials:
        """Scores of all outputs of the inputs, and of transitions."""

    def _finite_potentials(self, inputs: Inputs) -> Potentials:
        S, T = self._potentials(inputs)
        if not (np.isfinite(S).all() and np.isfinite(T).all()):
            raise ValueError(
                f"X holds numbers so large that the scores of {type(self).__name__} overflow; "
                "scale the features, with StandardScaler for example."
            )
        return S, T

    def _learned_outputs(self) -> np.ndarray:
        """Codes of all training points: the given ones, else the best that are allowed."""
        S, T = self._finite_potentials(self._inputs)
        return allowed_codes(self.space_, S, T, self._inputs.starts, self._given)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse bad parameters."""

    # --- what was learned ----------------------------------------------------------------------------

    @property
    def outputs_(self) -> Any:
        check_is_fitted(self, "history_")
        return self._outside(self._Y, self._inputs.starts)

    def predict(self, X: Any) -> Any:
        """Outputs of new points."""
        check_is_fitted(self, "history_")
        new = check_inputs(self, X, self.space_, reset=False)
        return self._outside(best_codes(self.space_, *self._finite_potentials(new), new.starts), new.starts)

    @available_if(lambda self: not isinstance(self.space, Sequences))
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of every class, leaf or label, shape (n, q); for two classes the difference, (n,)."""
        check_is_fitted(self, "history_")
        S, _ = self._finite_potentials(check_inputs(self, X, self.space_, reset=False))
        return S[:, 1] - S[:, 0] if isinstance(self.space_, Classes) and S.shape[1] == 2 else S

    # --- parts -----------------------------------------------------------------------------------------

    def _coordinates(self, inputs: Inputs) -> Matrix:
        """Features at unit mean square norm, with a constant: lambda then means the same on any data."""
        return with_intercept(inputs.rows.astype(np.float64) / self._scale)

    def _fit_labeled(self, rows: Matrix, lam: float | str, **loss: Any) -> tuple[float, Weights]:
        """A predictor trained on the labelled points, whose tokens are `rows`; also the lambda chosen."""
        starts, codes = self._train.starts, self._train.codes
        if lam == "auto":
            points = np.arange(len(self._labeled))
            lam = choose_lambda(self.space_, starts, rows, codes, points, self._seed, **loss)
        return float(lam), fit_weights(self.space_, rows, starts, codes, float(lam), **loss)


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the points: which rows are their tokens, where each begins among these, their codes."""

    tokens: np.ndarray
    starts: np.ndarray
    codes: np.ndarray


def part_of(space: OutputSpace, starts: np.ndarray, codes: np.ndarray, points: np.ndarray) -> Part:
    return Part(*tokens_of(starts, points), space.take(codes, points, starts))


def linear_potentials(space: OutputSpace, rows: Matrix, weights: Weights) -> Potentials:
    """Potentials of one linear predictor."""
    return scores(space, rows, weights), weights.T


def objective_of(
    space: OutputSpace,
    rows: Matrix,
    starts: np.ndarray,
    codes: np.ndarray,
    weights: Weights,
    lam: float,
    *,
    costs: np.ndarray | None = None,
    margin: bool = True,
    taus: tuple[float, ...] = TAUS,
) -> float:
    """What `fit_weights` minimises, at the last smoothing."""
    costs = np.full(len(starts) - 1, 1.0 / (len(starts) - 1)) if costs is None else costs
    V = np.asarray(rows @ weights.W)
    value, _, _ = smoothed_hinge(space, V, weights.T, starts, codes, costs, taus[-1], margin)
    return float(lam / 2 * weights.square_norm + value)


def heat_graph(
    rows: Matrix, k: int, metric: str, seed: int, n_jobs: int | None
) -> tuple[sp.csr_matrix, float]:
    """Heat weights exp(-d^2/h) of the k nearest others of each row (not symmetric), and h."""
    n = rows.shape[0]
    if n == 1:
        return sp.csr_matrix((1, 1)), 1.0
    graph = build_graph(Search(rows, metric, "auto", n_jobs, seed), min(k, n - 1), include_self=False)
    heat = np.exp(-(graph.distances**2) / graph.bandwidth)
    at = np.arange(0, heat.size + 1, graph.k)
    return sp.csr_matrix((heat.ravel(), graph.neighbors.ravel(), at), shape=(n, n)), graph.bandwidth


def check_lambda(lam: Any) -> None:
    """Refuse a weight of |w|^2 that is neither "auto" nor a positive number."""
    if lam != "auto":
        check_number("lam", lam, least=0.0, strictly=True, auto=True)


def check_graph_parameters(k: Any, metric: Any) -> None:
    check_count("k", k)
    check_choice("metric", metric, METRICS)
