"""SSLSOP: Algorithms 1 and 2 of "Semi-supervised learning of local structured output predictors".

Where the paper is silent, this is what happens:

- A point is its own neighbor (`include_self=True`), so that it lies in at least one neighborhood.
- Missing outputs start as `init` says. With "spread" an output is unknown, and left out of every sum,
  until a neighborhood that knows something reaches it; sums are divided by the known share.
- A point that no neighborhood reaches keeps the output `None`.
- Ties go to the lowest output, except at w = 0, where z is drawn among the tied outputs.
- C multiplies the norm: larger C, simpler predictors, the opposite of most SVM libraries.

Ours and not the paper's: `output_step="exact"`, `weights="heat"`, `kernel="rbf"`, `init="global"` and
`anchor`. The paper's algorithm to the letter is `SSLSOP.paper(space, ...)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_random_state

from .engine import Start, engine_for
from .inputs import single_rows, token_rows
from .kernels import Kernel
from .neighbors import Search, build_graph, given_graph, shares
from .sequences import Sequences
from .shared import train_shared
from .spaces import OutputSpace
from .starts import nearest_start, random_start, shared_start, spread_start


@dataclass(frozen=True, eq=False)
class Iteration:
    """What one turn of Algorithm 1 did.

    Attributes
    ----------
    t : number of the turn, from 1.
    objective : eq. 9 after the turn, over the neighborhoods reached.
    n_changed : outputs that moved in this turn.
    n_unreached : points without an output.
    outputs : compact codes of all outputs after the turn, -1 where there is none.
    """

    t: int
    objective: float
    n_changed: int
    n_unreached: int
    outputs: np.ndarray


class SSLSOP(ClassifierMixin, BaseEstimator):
    """Semi-supervised learning of local structured output predictors."""

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        k: int = 10,
        C: float = 0.01,
        eta: float | str = 5.0,
        max_iter: int = 50,
        output_step: str = "exact",
        init: str = "spread",
        weights: str = "heat",
        kernel: str = "linear",
        gamma: float | str = "auto",
        intercept: bool = False,
        anchor: bool = False,
        metric: str = "euclidean",
        search: str = "auto",
        include_self: bool = True,
        scale: str | float = "auto",
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.space = space
        self.k = k
        self.C = C
        self.eta = eta
        self.max_iter = max_iter
        self.output_step = output_step
        self.init = init
        self.weights = weights
        self.kernel = kernel
        self.gamma = gamma
        self.intercept = intercept
        self.anchor = anchor
        self.metric = metric
        self.search = search
        self.include_self = include_self
        self.scale = scale
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, *, neighbors=None):
        for _ in self.iter_fit(X, y, neighbors=neighbors):
            pass
        return self

    def iter_fit(self, X, y, *, neighbors=None) -> Iterator[Iteration]:
        self._start(X, y, neighbors)
        yield from self._iterate(self.max_iter)

    def _start(self, X, y, neighbors):
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        self.space_ = self.space
        inputs = token_rows(X) if isinstance(self.space_, Sequences) else single_rows(X)
        given = self.space_.encode(y, inputs.starts)
        points = inputs.sums()
        self._search = Search(points, self.metric, self.search, self.n_jobs, self._seed)
        graph = build_graph(self._search, self.k, self.include_self) if neighbors is None else given_graph(neighbors, len(inputs))
        share = shares(graph.distances, self.weights, graph.bandwidth)
        scale = float(inputs.square_norms.mean()) if self.scale == "auto" else self.scale
        gamma = None if self.kernel == "linear" else (1 / graph.bandwidth if self.gamma == "auto" else self.gamma)
        kernel = Kernel(gamma, self.intercept, scale)
        self._given = given
        start = self._shared = None
        if self.init == "global":
            labeled = np.flatnonzero(self.space_.complete(given, inputs.starts))
            self._shared = train_shared(self.space_, inputs, given, labeled, kernel, self._seed)
            S0 = self._shared.scores(self.space_, inputs)
            start = Start(S0, float(np.sum(self._shared.weights.W**2)), self._shared.weights.T, self.anchor)
            self._Y = shared_start(self.space_, given, inputs, S0, self._shared)
        elif self.init == "nearest":
            self._Y = nearest_start(self.space_, given, inputs, self._search.points, self.n_jobs)
        elif self.init == "random":
            self._Y = random_start(self.space_, given, inputs.starts, self._seed)
        else:
            self._Y = spread_start(self.space_, given, inputs.starts, self._seed)
        self._engine = engine_for(self.space_)(self.space_, inputs, graph, share, kernel, start, self._seed, self.n_jobs)
        self._engine.upper_bounds(self._Y)
        self.history_ = []
        self.n_iter_ = 0

    def _iterate(self, T):
        for _ in range(T):
            t = self.n_iter_ + 1
            eta = 1 / (self.C * t) if self.eta == "auto" else self.eta
            e = self._engine
            e.update_predictors(self._Y, eta, self.C)
            Y = e.update_outputs(self._Y, self._given, self.output_step == "exact")
            n_changed = int(self.space_.changed(Y, self._Y, e.inputs.starts).sum())
            self._Y = Y
            e.upper_bounds(Y)
            self.n_iter_ = t
            n_unreached = int((~self.space_.known(Y, e.inputs.starts)).sum())
            it = Iteration(t, e.objective(self.C), n_changed, n_unreached, Y)
            self.history_.append(it)
            yield it

    def predict_codes(self, X):
        new = token_rows(X) if isinstance(self.space_, Sequences) else single_rows(X)
        e = self._engine
        d, nearest = self._search.of(new.sums(), e.graph.k)
        share = shares(d, self.weights, e.graph.bandwidth).astype(e.dtype)
        S0 = None if self._shared is None else self._shared.scores(self.space_, new)
        V = e.potentials(new, nearest, share, S0)
        return e.best_outputs(new, V, nearest, share)
