"""Algorithm 2: new points, the predictors around them and, as ours, a predictor of their own.

Eq. 21 scores a new point by the predictors of its nearest training points. A training point is also
scored by the predictor of its own neighborhood; a new one gets the same by training one for its nearest
points, with the outputs learned for them, just as long as the others were trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .engine import ChainEngine, Engine, Start
from .inference import best_codes
from .inputs import Inputs
from .neighbors import Graph
from .parallel import shared_threads
from .sequences import Sequences


@dataclass(frozen=True, eq=False)
class Voice:
    """One predictor that speaks for a new point.

    Attributes
    ----------
    neighborhood : the training point whose predictor it is, None for the new point's own.
    weight : its share in the mean.
    products : kernel between the tokens of the point (rows) and those the predictor was trained on.
    coefficients : what each of these adds to every output, tag or label.
    owners : the training points they belong to, -1 for the new point itself.
    transitions : (q, q), zero unless sequences.
    """

    neighborhood: int | None
    weight: float
    products: np.ndarray
    coefficients: np.ndarray
    owners: np.ndarray
    transitions: np.ndarray


@dataclass(frozen=True, eq=False)
class NewPoints:
    """New inputs beside the training points they are nearest to.

    `own` holds their own neighborhoods, with each new point first; its inputs are the new ones, then
    the training points `used`.
    """

    engine: Engine
    inputs: Inputs
    nearest: np.ndarray
    share: np.ndarray
    start_scores: np.ndarray | None
    own: Engine | None = None
    used: np.ndarray | None = None

    def with_own(
        self,
        distances: np.ndarray,
        share: np.ndarray,
        start_of: Callable[[Inputs], Start | None],
        Y: np.ndarray,
        etas: Iterable[float],
        C: float,
    ) -> NewPoints:
        """Train a predictor for the neighborhood of every new point; `share` counts the point itself."""
        engine, new = self.engine, self.inputs
        used, where = np.unique(self.nearest, return_inverse=True)
        inputs = new.followed_by(engine.inputs, used)
        itself = np.arange(len(new), dtype=np.int32)[:, None]
        neighbors = np.hstack([itself, len(new) + where.reshape(self.nearest.shape)]).astype(np.int32)
        graph = Graph(neighbors, np.hstack([np.zeros((len(new), 1)), distances]), engine.graph.bandwidth)
        own = type(engine)(
            engine.space, inputs, graph, share, engine.kernel, start_of(inputs), engine.seed, engine.n_jobs
        )
        length = new.starts[-1] if isinstance(engine.space, Sequences) else len(new)
        unknown = np.full((length, *Y.shape[1:]), -1, dtype=Y.dtype)
        codes = np.concatenate([unknown, engine.space.take(Y, used, engine.inputs.starts)])
        with shared_threads(engine.n_jobs):
            for eta in etas:
                own.upper_bounds(codes)
                own.update_predictors(codes, eta, C)
        return NewPoints(engine, new, self.nearest, self.share, self.start_scores, own, used)

    @property
    def reached(self) -> np.ndarray:
        """Mask of the points with a predictor nearby that has learned something."""
        return self.engine.learned[self.nearest].any(axis=1)

    def potentials(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean scores of the tokens (tokens, q), and of transitions (new inputs, q, q)."""
        S = self.engine.potentials(self.inputs, self.nearest, self.share, self.start_scores)
        T = self.engine.transitions(self.nearest, self.share)
        if self.own is not None:
            S = (S + self.own.own_scores()) / 2
        if isinstance(self.own, ChainEngine):
            T = (T + self.own.T) / 2
        if not (np.isfinite(S).all() and np.isfinite(T).all()):
            raise ValueError(
                "X holds numbers so large that their scores overflow; scale the features as in training."
            )
        return S, T

    def codes(self) -> np.ndarray:
        """The outputs with the highest mean score."""
        return best_codes(self.engine.space, *self.potentials(), self.inputs.starts)

    def voices(self) -> Iterator[Voice]:
        """The predictors that speak for the only new point."""
        half = 1.0 if self.own is None else 0.5
        for hood, weight in zip(self.nearest[0].tolist(), self.share[0].tolist(), strict=True):
            if self.engine.learned[hood]:
                yield self._voice(self.engine, hood, hood, half * weight, np.arange(len(self.engine.inputs)))
        if self.own is not None and self.used is not None and self.own.learned[0]:
            yield self._voice(self.own, 0, None, half, np.concatenate([[-1], self.used]))

    def _voice(self, engine: Engine, hood: int, name: int | None, weight: float, owners: np.ndarray) -> Voice:
        rows = slice(engine.at[hood * engine.graph.k], engine.at[(hood + 1) * engine.graph.k])
        tokens = engine.tokens[rows]
        products = engine.kernel.matrix(self.inputs, engine.inputs.only(tokens))
        q = len(engine.space)
        transitions = engine.T[hood] if isinstance(engine, ChainEngine) else np.zeros((q, q))
        coefficients = engine.A[rows] @ engine.mixing
        return Voice(name, weight, products, coefficients, owners[engine.inputs.owners[tokens]], transitions)
