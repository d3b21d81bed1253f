"""A shared start that learns from unlabelled points too: a random field times generative models.

`HybridCRF` ends with potentials that are linear in the features, but for Gaussian emissions, which add
squares of some principal components. Written out as such, w_0 is a handful of arrays: quick to
evaluate, simple to keep in a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .baselines.generative import Gaussian, against
from .baselines.hybrid import HybridCRF
from .blas import one_blas_thread
from .drawing import in_order, some_of
from .inputs import Inputs, Matrix, tokens_of
from .labelsets import LabelSets
from .latent import folded, widened
from .remember import remembered
from .sequences import Sequences
from .spaces import ListedSpace, OutputSpace

# The start learns from at most this many labelled and as many unlabelled points, drawn at random.
MOST_POINTS = 4000
# How far the best output of a hint leads, at the median. Local predictors ask for a lead of 1.
HINT = 0.3


@dataclass(frozen=True, eq=False)
class QuadraticPredictor:
    """Potentials x W + b + (P x - c)^2 Q of a token, and `first` besides for the first of a sequence."""

    # It is no point of the space that the local predictors live in: they are measured from it.
    anchored: ClassVar[bool] = True
    square_norm: ClassVar[float] = 0.0

    W: np.ndarray  # (d, q)
    b: np.ndarray  # (q,)
    P: np.ndarray  # (r, d)
    c: np.ndarray  # (r,)
    Q: np.ndarray  # (r, q)
    first: np.ndarray  # (q,)
    transitions: np.ndarray  # (q, q)

    def scores(self, space: OutputSpace, inputs: Inputs) -> np.ndarray:
        """Scores per token, shape (tokens, q)."""
        rows = inputs.rows
        S = np.asarray(rows @ self.W) + self.b
        if len(self.P):
            S += (np.asarray(rows @ self.P.T) - self.c) ** 2 @ self.Q
        if isinstance(space, Sequences):
            S[inputs.starts[:-1]] += self.first
        return S.astype(rows.dtype)

    def scaled(self, factor: float) -> QuadraticPredictor:
        """The same opinions, so many times as firmly."""
        names = ("W", "b", "Q", "first", "transitions")
        return replace(self, **{name: factor * getattr(self, name) for name in names})


def drawn_points(keys: np.ndarray, labeled: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The labelled and the unlabelled points that the start learns from; all of them if few."""
    missing = np.setdiff1d(np.arange(len(keys)), labeled)
    return some_of(keys, labeled, MOST_POINTS, seed), some_of(keys, missing, MOST_POINTS, seed)


@remembered
def train_hybrid(
    space: OutputSpace,
    inputs: Inputs,
    codes: np.ndarray,
    labeled: np.ndarray,
    views: Any,
    directions: np.ndarray,
    seed: int,
) -> QuadraticPredictor:
    """Train `HybridCRF` on labelled and unlabelled points, its random field as `latent` has it."""
    labeled, missing = (in_order(inputs.keys, points) for points in drawn_points(inputs.keys, labeled, seed))
    tokens, starts = tokens_of(inputs.starts, np.concatenate([labeled, missing]))
    X = inputs.rows[tokens]
    if isinstance(space, Sequences):
        X = [X[a:b] for a, b in pairwise(starts)]
    y = space.decode(space.take(codes, labeled, inputs.starts), tokens_of(inputs.starts, labeled)[1])
    hybrid = _WidenedHybrid(space, views=views, random_state=seed)
    hybrid.directions = directions
    # One BLAS thread: the products are small, and sums do not depend on the number of threads.
    with one_blas_thread():
        return quadratic(hybrid.fit(X, [*y, *[None] * len(missing)]), directions)


def train_hint(
    space: OutputSpace, inputs: Inputs, codes: np.ndarray, labeled: np.ndarray, views: Any,
    directions: np.ndarray, seed: int,
) -> QuadraticPredictor:  # fmt: skip
    """The same hybrid, so faint that neighbors overrule it.

    Products of generative models are surer than they are right: at their own scale hardly a neighborhood is
    violated, and nothing is learned there.
    """
    hybrid = train_hybrid(space, inputs, codes, labeled, views, directions, seed)
    drawn = np.concatenate(drawn_points(inputs.keys, labeled, seed))
    lead = float(np.median(_leads(space, hybrid.scores(space, inputs.take(np.sort(drawn))))))
    return hybrid.scaled(HINT / lead) if lead > 0 else hybrid


def _leads(space: OutputSpace, scores: np.ndarray) -> np.ndarray:
    """How far the best output of every token is ahead of the next one; of a label, in or out."""
    if isinstance(space, LabelSets):
        return np.abs(scores)
    if len(space) == 1:
        return np.zeros(len(scores))
    runner_up, best = np.partition(scores, (-2, -1), axis=1)[:, -2:].T
    return best - runner_up


class _WidenedHybrid(HybridCRF):
    """A hybrid whose random field learns more readily along some directions."""

    directions: np.ndarray

    def _coordinates(self, inputs: Inputs) -> Matrix:
        return widened(super()._coordinates(inputs), self.directions)


def quadratic(hybrid: HybridCRF, directions: np.ndarray) -> QuadraticPredictor:
    """The potentials of a fitted hybrid, up to a constant per token, as one predictor."""
    space, d, model = hybrid.space_, hybrid.n_features_in_, hybrid._generative
    g, weights = hybrid.exponents_, hybrid._field
    field = folded(weights.W, directions)
    field = field @ space.embedding.T if isinstance(space, ListedSpace) else field
    W, b = g[0] / hybrid._scale * field[:-1], g[0] * field[-1]
    P, c, Q = [np.zeros((0, d))], [np.zeros(0)], [np.zeros((0, len(space)))]
    blocks = zip(g[1:], hybrid.views_, hybrid._families, model.emissions, strict=True)
    for exponent, view, family, (theta, bias) in blocks:
        theta, bias = exponent * against(space, theta), exponent * against(space, bias)
        if isinstance(family, Gaussian):
            linear, square = np.split(theta, 2)
            axes, centre = family.axes(len(view))
            wide = np.zeros((len(axes), d))
            wide[:, view] = axes
            W, b = W + wide.T @ linear, b - centre @ linear
            P, c, Q = [*P, wide], [*c, centre], [*Q, square]
        else:
            W[view] += family.unit * theta
        b = b + bias
        if not isinstance(space, Sequences):
            b = b + exponent * against(space, model.prior)
    others = float(np.sum(g[1:]))
    first = others * model.firsts if isinstance(space, Sequences) else np.zeros(len(space))
    transitions = g[0] * weights.T + others * model.transitions
    return QuadraticPredictor(W, b, np.vstack(P), np.concatenate(c), np.vstack(Q), first, transitions)
