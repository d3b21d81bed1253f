"""Generative models p(x, y): naive Bayes for listed outputs and labels, a hidden Markov model for tags.

Every family of emissions has the form log p(x | c) = phi(x) . theta_c + b_c (+ what does not depend on
c), so that counting is phi' G with G the weights of points in classes, and scoring is phi theta + b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD

from ..inputs import Matrix
from ..labelsets import LabelSets
from ..sequences import Sequences
from ..spaces import OutputSpace

# Gaussian emissions keep this many principal components.
COMPONENTS = 30


class Multinomial:
    """Counts: a class is a distribution over columns, smoothed by pseudo-counts."""

    grid: ClassVar[tuple[float, ...]] = (1.0, 0.1, 0.01)

    def __init__(self, rows: Matrix, seed: int):
        # Rows scaled to unit length are brought back to the size of counts, one per entry on average.
        total = float(rows.sum())
        self.unit = _entries(rows) / total if total > 0 else 1.0

    def features(self, rows: Matrix) -> Matrix:
        return rows * self.unit

    def estimate(self, sums: np.ndarray, totals: np.ndarray, smoothing: float):
        smoothed = sums + smoothing
        return np.log(smoothed / smoothed.sum(axis=0)), np.zeros(len(totals))


class Bernoulli:
    """Binary columns, independent given the class."""

    grid: ClassVar[tuple[float, ...]] = (1.0, 0.1, 0.01)

    def __init__(self, rows: Matrix, seed: int):
        self.unit = 1.0 / rows.max() if rows.max() > 0 else 1.0

    def features(self, rows: Matrix) -> Matrix:
        return (rows > 0).astype(np.float64)

    def estimate(self, sums: np.ndarray, totals: np.ndarray, smoothing: float):
        theta = (sums + smoothing) / (totals + 2 * smoothing)
        return np.log(theta) - np.log1p(-theta), np.log1p(-theta).sum(axis=0)


class Gaussian:
    """Principal components, independent given the class; variances are drawn towards the shared ones."""

    grid: ClassVar[tuple[float, ...]] = (10.0,)

    def __init__(self, rows: Matrix, seed: int):
        most = min(COMPONENTS, rows.shape[0] - 1, rows.shape[1] - sp.issparse(rows))
        self._rotation = None
        if sp.issparse(rows) or most < rows.shape[1]:
            kind = TruncatedSVD if sp.issparse(rows) else PCA
            self._rotation = kind(max(most, 1), random_state=seed).fit(rows)

    def features(self, rows: Matrix) -> Matrix:
        z = rows if self._rotation is None else self._rotation.transform(rows)
        return np.hstack([z, z**2])

    def axes(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """P and c with components P x - c, for rows of `width` columns."""
        if self._rotation is None:
            return np.eye(width), np.zeros(width)
        P = self._rotation.components_
        return P, P @ getattr(self._rotation, "mean_", np.zeros(width))

    def estimate(self, sums: np.ndarray, totals: np.ndarray, smoothing: float):
        first, second = np.split(sums, 2)
        # A trace of the overall mean keeps a class without points in its place.
        overall = first.sum(axis=1, keepdims=True) / totals.sum()
        mean = (first + 0.1 * overall) / (totals + 0.1)
        squares = np.maximum(second - 2 * mean * first + totals * mean**2, 0.0)
        least = 1e-9 * (
            second.sum() / second.shape[0] or 1.0
        )  # in the units of the data, as naive Bayes has it
        shared = (squares.sum(axis=1, keepdims=True) + least) / totals.sum()
        variance = (squares + smoothing * shared) / (totals + smoothing)
        bias = -0.5 * np.sum(mean**2 / variance + np.log(variance), axis=0)
        return np.vstack([mean / variance, -0.5 / variance]), bias


FAMILIES: dict[str, Any] = {"multinomial": Multinomial, "bernoulli": Bernoulli, "gaussian": Gaussian}


def suitable_family(rows: Matrix) -> str:
    """The family that the values suggest: sparse counts, binary columns or real numbers."""
    values = rows.data if sp.issparse(rows) else rows
    if values.size and values.min() < 0:
        return "gaussian"
    if sp.issparse(rows):
        return "multinomial"
    return "bernoulli" if np.isin(values, (0, values.max(initial=1))).all() else "gaussian"


def _entries(rows: Matrix) -> int:
    return rows.nnz if sp.issparse(rows) else int(np.count_nonzero(rows))


@dataclass(frozen=True, eq=False)
class Counts:
    """Expected counts: phi' G of every block, points per class, first tags, transitions."""

    sums: list[np.ndarray]
    totals: np.ndarray
    firsts: np.ndarray
    pairs: np.ndarray

    def __add__(self, other: Counts) -> Counts:
        sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        return Counts(sums, self.totals + other.totals, self.firsts + other.firsts, self.pairs + other.pairs)


def count(
    space: OutputSpace, phi: list[Matrix], starts: np.ndarray, probabilities: np.ndarray, pairs: np.ndarray
) -> Counts:
    """Counts from the probabilities of outputs, tags or labels at every token."""
    G = probabilities
    if isinstance(space, LabelSets):  # each label is a problem of two classes: in the set, or not
        G = np.hstack([G, 1.0 - G])
    sums = [np.asarray(block.T @ G) for block in phi]
    return Counts(sums, G.sum(axis=0), G[starts[:-1]].sum(axis=0), pairs)


def indicators(space: OutputSpace, codes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Known outputs as probabilities, and their transitions: what `count` needs."""
    q = len(space)
    pairs = np.zeros((q, q))
    if isinstance(space, LabelSets):
        return codes.astype(np.float64), pairs
    if isinstance(space, Sequences):
        inside = np.ones(len(codes), dtype=bool)
        inside[starts[:-1]] = False
        after = np.flatnonzero(inside)
        np.add.at(pairs, (codes[after - 1], codes[after]), 1.0)
    return np.eye(q)[codes], pairs


@dataclass(frozen=True, eq=False)
class Generative:
    """One joint model p_j(x_j, y) per block of columns; they share p(y)."""

    space: OutputSpace
    emissions: list[tuple[np.ndarray, np.ndarray]]
    prior: np.ndarray
    firsts: np.ndarray
    transitions: np.ndarray

    def potentials(self, phi: list[Matrix], starts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """log p_j(x_j, y) as scores and transitions, up to a constant per point, for every block."""
        return [(self._scores(block, j, starts), self.transitions) for j, block in enumerate(phi)]

    def _scores(self, block: Matrix, j: int, starts: np.ndarray) -> np.ndarray:
        theta, bias = self.emissions[j]
        L = np.asarray(block @ theta) + bias
        if isinstance(self.space, Sequences):
            L[starts[:-1]] += self.firsts
        else:
            L += self.prior
        return against(self.space, L)


def against(space: OutputSpace, L: np.ndarray) -> np.ndarray:
    """Scores of classes against their mean; of labels, "in the set" against "not"."""
    if isinstance(space, LabelSets):
        inside, outside = np.split(L, 2, axis=-1)
        return inside - outside
    return L - L.mean(axis=-1, keepdims=True)


def estimate(space: OutputSpace, families: list[Any], counts: Counts, smoothing: float) -> Generative:
    """The models that the counts suggest; every class, first tag and transition is seen once more."""
    emissions = [
        family.estimate(sums, counts.totals, smoothing)
        for family, sums in zip(families, counts.sums, strict=True)
    ]
    moves = counts.pairs + 1.0
    transitions = np.log(moves / moves.sum(axis=1, keepdims=True))
    if not isinstance(space, Sequences):
        transitions = np.zeros_like(moves)
    prior, firsts = np.log(counts.totals + 1.0), np.log(counts.firsts + 1.0)
    return Generative(space, emissions, prior, firsts - firsts.mean(), transitions)
