"""Two structural SVMs on two views of the features that teach each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..estimator import check_count, check_number
from ..inference import allowed_codes, code_scores, other_codes
from ..inputs import Inputs, Matrix
from ..spaces import OutputSpace
from ..ssvm import TAUS, Weights, fit_weights, with_intercept
from .base import Baseline, Potentials, check_lambda, linear_potentials, objective_of, part_of


class CoSSVM(Baseline):
    """Co-trained structural SVM, our implementation after Brefeld and Scheffer (2006).

    Minimises for each of two views of the features lam/2 |w|^2 + 1/l [ sum over the labelled points of
    the structural hinge + C_u sum over the others of min(g_j, 1) times the hinge at the output that the
    other view predicts ], where g_j is the margin by which the other view prefers it to its second best.
    A new point gets the output with the highest sum of both scores.

    Choices of ours: the views take turns on all points in place of example by example; C_u doubles every
    round up to its value and is multiplied by min(1, l/u); each view is scaled to unit mean square norm.
    Without natural views the columns are split at random.

    Wins where the views are independent given the output and each would do alone (words and links);
    loses elsewhere, already before it starts, as each view has a part of the features only.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    C_u : weight of the unlabelled points; 0 is two supervised structural SVMs, summed.
    views : two arrays of columns, or None for a seeded split into halves.
    max_iter : rounds.
    lam : weight of |w|^2, or "auto": by 3-fold cross-validation on the labelled points, view by view.
    random_state : seed of the split and of the folds.

    Attributes
    ----------
    views_, views_source_ : the columns used, and where they come from: "given" or "seeded halves".
    """

    search_space: ClassVar = {"C_u": [0.1, 0.3, 1.0, 3.0], "lam": ["auto", 1e-2, 1e-3, 1e-4]}

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        C_u: float = 1.0,
        views: Any = None,
        max_iter: int = 5,
        lam: float | str = "auto",
        random_state: Any = 0,
    ):
        self.space = space
        self.C_u = C_u
        self.views = views
        self.max_iter = max_iter
        self.lam = lam
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("C_u", self.C_u, least=0.0)
        check_count("max_iter", self.max_iter)
        check_lambda(self.lam)

    def _turns(self) -> Iterator[float]:
        self.views_, self.views_source_ = self._choose_views()
        self._view_scales = [_root_mean_square(self._inputs.rows[:, view]) for view in self.views_]
        rows = [self._view(self._inputs, v) for v in (0, 1)]
        fitted = [self._fit_labeled(view[self._train.tokens], self.lam) for view in rows]
        self.lams_ = [lam for lam, _ in fitted]
        self.weights_ = [weights for _, weights in fitted]
        for turn in range(1, self.max_iter + 1):
            C_u = self.C_u * 2.0 ** (turn - self.max_iter)
            yield sum(self._teach(rows, v, C_u) for v in (0, 1))
            if len(self._missing) == 0:
                return

    def _choose_views(self) -> tuple[list[np.ndarray], str]:
        d = self._inputs.d
        if self.views is not None:
            return check_views(self.views, d), "given"
        order = np.random.default_rng(self._seed).permutation(d)
        halves = [np.sort(order[: (d + 1) // 2]), np.sort(order[(d + 1) // 2 :])]
        return halves if d > 1 else [order, order], "seeded halves"

    def _view(self, inputs: Inputs, v: int) -> Matrix:
        return with_intercept(inputs.rows[:, self.views_[v]].astype(np.float64) / self._view_scales[v])

    def _teach(self, rows: list[Matrix], v: int, C_u: float) -> float:
        """Train view v on all points, those without output as the other view has them."""
        space, starts = self.space_, self._inputs.starts
        codes, confidence = self._advice(rows[1 - v], self.weights_[1 - v])
        n_labeled, n_missing = len(self._labeled), len(self._missing)
        costs = np.full(len(self._inputs), 1.0 / n_labeled)
        costs[self._missing] = C_u * confidence[self._missing] / max(n_labeled, n_missing)
        part = part_of(space, starts, codes, np.flatnonzero(costs))
        known = (space, rows[v][part.tokens], part.starts, part.codes)
        costs, lam, last = costs[costs > 0], self.lams_[v], TAUS[-1:]
        self.weights_[v] = fit_weights(*known, lam, costs=costs, start=self.weights_[v], taus=last)
        return objective_of(*known, self.weights_[v], lam, costs=costs)

    def _advice(self, rows: Matrix, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
        """The best outputs of a view, and its margin over the second best, between 0 and 1."""
        space, starts = self.space_, self._inputs.starts
        S, T = linear_potentials(space, rows, weights)
        best = allowed_codes(space, S, T, starts, self._given)
        second = other_codes(space, S, T, starts, best)
        margin = code_scores(space, S, T, starts, best) - code_scores(space, S, T, starts, second)
        return best, np.clip(margin, 0.0, 1.0)

    def _potentials(self, inputs: Inputs) -> Potentials:
        first, second = (
            linear_potentials(self.space_, self._view(inputs, v), self.weights_[v]) for v in (0, 1)
        )
        return first[0] + second[0], first[1] + second[1]


def check_views(views: Any, d: int) -> list[np.ndarray]:
    """Two or more arrays of columns, or a ValueError."""
    columns = [np.asarray(view) for view in views] if np.iterable(views) else []
    if len(columns) < 2:
        raise ValueError(f"views must be two arrays of columns; got {views!r:.80}.")
    for view in columns:
        whole = view.ndim == 1 and np.issubdtype(view.dtype, np.integer)
        if not whole or len(view) == 0 or view.min() < 0 or view.max() >= d:
            raise ValueError(
                f"views must hold arrays of column numbers from 0 to {d - 1}, none empty; got {view!r:.80}."
            )
    return columns


def _root_mean_square(rows: Matrix) -> float:
    """Root of the mean square norm of the rows; 1 if all are zero."""
    square = float(rows.multiply(rows).sum() if sp.issparse(rows) else np.sum(rows**2))
    return np.sqrt(square / rows.shape[0]) if square > 0 else 1.0
