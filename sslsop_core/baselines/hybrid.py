"""A random field and generative models in one product, the latter trained on unlabelled points too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import KFold

from ..estimator import check_choice, check_count, check_number
from ..inference import allowed_codes, marginals
from ..inputs import Inputs, Matrix
from ..spaces import OutputSpace
from ..ssvm import Weights, fit_weights, hinge_of_scores
from .base import (
    LOG_LOSS,
    Baseline,
    Part,
    Potentials,
    check_lambda,
    linear_potentials,
    part_of,
)
from .co import check_views
from .generative import FAMILIES, Counts, Generative, count, estimate, indicators, suitable_family

# Rounds end when no exponent moves by more than this share.
SETTLED = 1e-2


class HybridCRF(Baseline):
    """Hybrid of a random field and generative models, our implementation after Suzuki et al. (2007).

    R(y|x) is proportional to p_D(y|x)^g_0 prod_j p_j(x_j, y)^g_j with p_D a conditional random field and
    p_j hidden Markov models (for tags) or naive Bayes models (else), one per view of the features. p_D is
    trained on the labelled points. Then two steps take turns: the exponents g maximise sum log R(y_i|x_i)
    over the labelled points; the p_j maximise sum_j log sum_y p_D^g_0 prod_j p_j^g_j over the unlabelled
    ones, by EM. A new point gets the output of highest R.

    Choices of ours: g >= 0, and the labelled points that choose g are scored by models and EM runs of their
    own that never saw them (cross-fitting); a unit normal prior holds g near the random field alone;
    labelled counts enter EM with weight 1; smoothing is chosen on held-out labelled points; sparse
    features count as multinomial, binary ones as Bernoulli, real ones as Gaussian after PCA; tree
    leaves are plain classes and each label a problem of its own for the generative models.

    Wins where the features really come from such a model (hidden Markov chains, Gaussian classes,
    words given a topic), and by the exponents it seldom falls far behind the random field.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    views : arrays of columns, one generative model each; None is one model of all columns.
    emission : "multinomial", "bernoulli", "gaussian" or "auto", by the values of each view.
    smoothing : pseudo-counts of the emissions, or "auto".
    exponents : "auto", or g as numbers, the random field's first; (1, 0) is the random field.
    em_steps : EM steps between two choices of g.
    max_iter : largest number of rounds.
    folds : number of folds of the labelled points for cross-fitting.
    lam : weight of |w|^2 in the random field, or "auto": by 3-fold cross-validation.
    random_state : seed of the folds.

    Attributes
    ----------
    exponents_ : g, the random field's first.
    smoothing_, emissions_ : the pseudo-counts, and the family of each view.
    """

    search_space: ClassVar = {
        "emission": ["auto", "gaussian"],
        "smoothing": ["auto", 1.0, 0.1],
        "em_steps": [1, 2, 5],
        "lam": ["auto", 1e-2, 1e-3, 1e-4],
    }

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        views: Any = None,
        emission: str = "auto",
        smoothing: float | str = "auto",
        exponents: Any = "auto",
        em_steps: int = 2,
        max_iter: int = 10,
        folds: int = 5,
        lam: float | str = "auto",
        random_state: Any = 0,
    ):
        self.space = space
        self.views = views
        self.emission = emission
        self.smoothing = smoothing
        self.exponents = exponents
        self.em_steps = em_steps
        self.max_iter = max_iter
        self.folds = folds
        self.lam = lam
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_choice("emission", self.emission, ("auto", *FAMILIES))
        for name in ("em_steps", "max_iter", "folds"):
            check_count(name, getattr(self, name))
        if self.smoothing != "auto":
            check_number("smoothing", self.smoothing, least=0.0, strictly=True, auto=True)
        if np.iterable(self.exponents) and not isinstance(self.exponents, str):
            for g in self.exponents:
                check_number("exponents", g, least=0.0)
        elif self.exponents != "auto":
            raise ValueError(f'exponents must be "auto" or a list of numbers; got {self.exponents!r}.')
        check_lambda(self.lam)

    def _turns(self) -> Iterator[float]:
        rows = self._coordinates(self._inputs)
        self.lam_, self._field = self._fit_labeled(rows[self._train.tokens], self.lam, **LOG_LOSS)
        self._learn_families()
        phi = self._phi(self._inputs)
        outside = self._part(self._missing)
        self._pool = _Pool(self.space_, self._families, phi, rows, outside)
        everything = np.arange(len(self._labeled))
        held_out = self._folds() if self._adaptive else []
        whole = self._member(everything, everything, self._field)
        members = [self._member(train, test) for train, test in held_out]
        self.smoothing_ = self._choose_smoothing(members)
        for member in (whole, *members):
            member.restart(self.smoothing_)
        g = self._first_exponents(members)
        for _ in range(self.max_iter):
            for member in (whole, *members):
                for _ in range(self.em_steps):
                    member.learn(g)
            g_old, g = g, choose_exponents(members, g) if members else g
            self.exponents_, self._generative = g, whole.model
            yield _negative_log_likelihood(members or [whole], g) / len(self._labeled)
            if not members or np.all(np.abs(g - g_old) <= SETTLED * (g_old + SETTLED)):
                return

    @property
    def _adaptive(self) -> bool:
        return isinstance(self.exponents, str) and len(self._labeled) > 1

    def _folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        n = len(self._labeled)
        return list(
            KFold(max(2, min(self.folds, n)), shuffle=True, random_state=self._seed).split(np.arange(n))
        )

    def _learn_families(self) -> None:
        """The blocks of columns and the family of each."""
        rows = self._inputs.rows
        everything = [np.arange(self._inputs.d)]
        self.views_ = everything if self.views is None else check_views(self.views, self._inputs.d)
        blocks = [rows[:, view].astype(np.float64) for view in self.views_]
        self.emissions_ = [suitable_family(b) if self.emission == "auto" else self.emission for b in blocks]
        if "gaussian" not in self.emissions_ and min(b.min() for b in blocks) < 0:
            raise ValueError(f'emission="{self.emission}" needs values of at least 0; use "gaussian".')
        self._families = [
            FAMILIES[name](block, self._seed) for name, block in zip(self.emissions_, blocks, strict=True)
        ]

    def _phi(self, inputs: Inputs) -> list[Matrix]:
        return [
            family.features(inputs.rows[:, view].astype(np.float64))
            for family, view in zip(self._families, self.views_, strict=True)
        ]

    def _part(self, points: np.ndarray) -> Part:
        return part_of(self.space_, self._inputs.starts, self._given, points)

    def _member(self, train: np.ndarray, test: np.ndarray, field: Weights | None = None) -> _Member:
        """Models that know the outputs of `train` only, to be judged at `test`."""
        part = self._part(self._labeled[train])
        if field is None:
            rows = self._pool.rows[part.tokens]
            field = fit_weights(self.space_, rows, part.starts, part.codes, self.lam_, **LOG_LOSS)
        return _Member(self._pool, field, part, self._part(self._labeled[test]))

    def _choose_smoothing(self, members: list[_Member]) -> float:
        """The smoothing with the lowest loss of the generative models alone on held-out points."""
        if self.smoothing != "auto":
            return float(self.smoothing)
        grid = self._families[0].grid
        if not members or len(grid) == 1:
            return grid[0]
        losses = [sum(member.generative_loss(smoothing) for member in members) for smoothing in grid]
        return grid[int(np.argmin(losses))]

    def _first_exponents(self, members: list[_Member]) -> np.ndarray:
        field_alone = np.eye(1 + len(self._families))[0]
        if members:
            return choose_exponents(members, field_alone)
        if isinstance(self.exponents, str):
            return field_alone
        if len(self.exponents) != len(field_alone):
            raise ValueError(
                f"exponents must be {len(field_alone)} numbers, the random field's and one per view; "
                f"got {self.exponents!r}."
            )
        return np.asarray(self.exponents, dtype=float)

    def _potentials(self, inputs: Inputs) -> Potentials:
        field = linear_potentials(self.space_, self._coordinates(inputs), self._field)
        models = self._generative.potentials(self._phi(inputs), inputs.starts)
        return mix([field, *models], self.exponents_)


def mix(potentials: list[Potentials], g: np.ndarray) -> Potentials:
    """log R, up to a constant per point: it is linear in the exponents."""
    S = sum(weight * scores for weight, (scores, _) in zip(g, potentials, strict=True))
    T = sum(weight * moves for weight, (_, moves) in zip(g, potentials, strict=True))
    return np.asarray(S), np.asarray(T)


@dataclass(frozen=True, eq=False)
class _Pool:
    """What all members share: features of every token, and the points without output."""

    space: OutputSpace
    families: list[Any]
    phi: list[Matrix]
    rows: Matrix
    outside: Part

    def take(self, tokens: np.ndarray) -> list[Matrix]:
        return [block[tokens] for block in self.phi]


class _Member:
    """A random field and generative models that saw the outputs of some labelled points only."""

    model: Generative
    _smoothing: float

    def __init__(self, pool: _Pool, field: Weights, train: Part, test: Part):
        self.pool, self.test, space = pool, test, pool.space
        self._own = count(
            space, pool.take(train.tokens), train.starts, *indicators(space, train.codes, train.starts)
        )
        self._phi_outside, self._phi_test = pool.take(pool.outside.tokens), pool.take(test.tokens)
        self._field_outside = linear_potentials(space, pool.rows[pool.outside.tokens], field)
        self._field_test = linear_potentials(space, pool.rows[test.tokens], field)

    def restart(self, smoothing: float) -> None:
        """Begin at the labelled counts."""
        self._smoothing = smoothing
        self._estimate(self._own)

    def _estimate(self, counts: Counts) -> None:
        self.model = estimate(self.pool.space, self.pool.families, counts, self._smoothing)

    def learn(self, g: np.ndarray) -> None:
        """One step of EM on the points without output, under R (their potentials mixed by g)."""
        space, outside = self.pool.space, self.pool.outside
        if len(outside.tokens) == 0:
            return
        models = self.model.potentials(self._phi_outside, outside.starts)
        expected = marginals(space, *mix([self._field_outside, *models], g), outside.starts)
        self._estimate(self._own + count(space, self._phi_outside, outside.starts, *expected))

    def test_potentials(self) -> list[Potentials]:
        return [self._field_test, *self.model.potentials(self._phi_test, self.test.starts)]

    def generative_loss(self, smoothing: float) -> float:
        """Total loss at the test points of the generative models trained on the labelled ones."""
        self.restart(smoothing)
        models = self.test_potentials()[1:]
        S, T = mix(models, np.ones(len(models)))
        predicted = allowed_codes(self.pool.space, S, T, self.test.starts, np.full_like(self.test.codes, -1))
        return float(self.pool.space.losses(self.test.codes, predicted, self.test.starts).sum())


def choose_exponents(members: list[_Member], g: np.ndarray) -> np.ndarray:
    """max over g >= 0 of sum log R(y_i | x_i) - |g - (1, 0, ...)|^2 / 2, at points no member has seen.

    Convex. The variables are g times the spread of their scores: in log g the search would stick at 0.
    """
    potentials = [member.test_potentials() for member in members]
    spread = np.array([max(np.mean([np.std(p[j][0]) for p in potentials]), 1e-12) for j in range(len(g))])
    centre = np.eye(len(g))[0]

    def value_and_gradient(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _log_loss(members, potentials, u / spread)
        away = u / spread - centre
        return value + away @ away / 2, (gradient + away) / spread

    found = minimize(value_and_gradient, g * spread, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(g))
    return found.x / spread


def _log_loss(
    members: list[_Member], potentials: list[list[Potentials]], g: np.ndarray
) -> tuple[float, np.ndarray]:
    """-sum log R(y_i | x_i) over the members' test points, and its gradient with respect to g."""
    value, gradient = 0.0, np.zeros(len(g))
    for member, models in zip(members, potentials, strict=True):
        test, (S, T) = member.test, mix(models, g)
        costs = np.ones(len(test.starts) - 1)
        part, dS, dT = hinge_of_scores(member.pool.space, S, T, test.starts, test.codes, costs, 1.0, False)
        value += float(part)
        gradient += [np.sum(dS * scores) + np.sum(dT * moves) for scores, moves in models]
    return value, gradient


def _negative_log_likelihood(members: list[_Member], g: np.ndarray) -> float:
    return _log_loss(members, [member.test_potentials() for member in members], g)[0]
