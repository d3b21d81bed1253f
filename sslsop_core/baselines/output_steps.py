"""The output step of the manifold structural SVM: each missing output, given the predictor and its neighbors.

    argmin_y  max_z [ s(x_i, z) + Delta(y, z) ] - s(x_i, y) + C1 sum_j P_ij Delta(y, y_j)

"exact" minimises this; "paper" holds z fixed at the maximiser for the current output. All points move
at once, and so the neighbors' outputs are those of before the step. P has rows that sum to 1, over
points, or over tokens for sequences under Hamming loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..inference import allowed_codes, augmented_codes, best_codes, best_listed, code_scores
from ..inputs import tokens_of
from ..labelsets import LabelSets
from ..sequences import restrict
from ..spaces import ListedSpace, OutputSpace


def share_matrix(neighbors: np.ndarray, share: np.ndarray) -> sp.csr_matrix:
    """P: a row per part, the shares of its k neighbors in their columns."""
    n, k = share.shape
    return sp.csr_matrix((share.ravel(), neighbors.ravel(), np.arange(n + 1) * k), shape=(n, n))


class OutputStep(ABC):
    """Base of the four steps: one for each form that Delta takes.

    Parameters
    ----------
    neighbors, share : (parts, k) tables: who, and with what share.
    """

    def __init__(
        self,
        space: OutputSpace,
        neighbors: np.ndarray,
        share: np.ndarray,
        starts: np.ndarray,
        given: np.ndarray,
        C1: float,
    ):
        self.space, self.starts, self.given, self.C1 = space, starts, given, C1
        self.neighbors, self.share = neighbors, share
        self.P = share_matrix(neighbors, share)

    @abstractmethod
    def move(self, S: np.ndarray, T: np.ndarray, Y: np.ndarray, exact: bool) -> np.ndarray:
        """Outputs of all points after one step; the given ones stay."""

    @abstractmethod
    def graph_costs(self, Y: np.ndarray) -> np.ndarray:
        """sum_j P_ij Delta(y_i, y_j) at the current outputs, shape (n,)."""

    def hinges(self, S: np.ndarray, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """max_z [ s(z) + Delta(y, z) ] - s(y), shape (n,)."""
        Z = augmented_codes(self.space, S, T, self.starts, Y)
        gain = code_scores(self.space, S, T, self.starts, Z) - code_scores(self.space, S, T, self.starts, Y)
        return gain + self.space.losses(Y, Z, self.starts)


class ListedStep(OutputStep):
    """Classes and leaves: the cost of every output."""

    space: ListedSpace

    def _votes(self, Y: np.ndarray) -> np.ndarray:
        """sum_j P_ij Delta(y, y_j) for every y, shape (n, q)."""
        return np.asarray(self.P @ np.eye(len(self.space))[Y]) @ self.space.loss_matrix

    def move(self, S, T, Y, exact):
        D = self.space.loss_matrix
        if exact:
            worst = np.column_stack([(S + row).max(axis=1) for row in D])
        else:
            worst = D[augmented_codes(self.space, S, T, self.starts, Y)]
        return best_listed(self.space, S - worst - self.C1 * self._votes(Y), self.given)

    def graph_costs(self, Y):
        return self._votes(Y)[np.arange(len(Y)), Y]


class LabelStep(OutputStep):
    """Label sets under Hamming loss: label by label."""

    def move(self, S, T, Y, exact):
        q = len(self.space)
        votes = np.asarray(self.P @ Y)
        if exact:
            worst_in, worst_out = np.maximum(S, 1 / q), np.maximum(S + 1 / q, 0.0)
        else:
            Z = augmented_codes(self.space, S, T, self.starts, Y)
            worst_in, worst_out = (1 - Z) / q, Z / q
        cost_in, cost_out = worst_in - S + self.C1 * (1 - votes) / q, worst_out + self.C1 * votes / q
        return allowed_codes(self.space, cost_out - cost_in, T, self.starts, self.given)

    def graph_costs(self, Y):
        votes = np.asarray(self.P @ Y)
        return np.where(Y == 1, 1 - votes, votes).mean(axis=1)


class TagStep(OutputStep):
    """Sequences under Hamming loss: no closed form, so the lowest true cost among three paths.

    These are the current one, the best under scores and votes, and the paper's; the cost never rises.
    """

    def _votes(self, Y: np.ndarray) -> np.ndarray:
        """C1 P_ij / length for every tag, shape (tokens, q)."""
        lengths = np.repeat(np.diff(self.starts), np.diff(self.starts))
        return self.C1 * np.asarray(self.P @ np.eye(len(self.space))[Y]) / lengths[:, None]

    def move(self, S, T, Y, exact):
        votes = self._votes(Y)
        Z = augmented_codes(self.space, S, T, self.starts, Y)
        lengths = np.repeat(np.diff(self.starts), np.diff(self.starts))
        at_z = (np.arange(len(self.space)) == Z[:, None]) / lengths[:, None]
        paper = self._path(S + votes + at_z, T)
        if not exact:
            return paper
        Y_new = Y
        for candidate in (self._path(S + votes, T), paper):
            better = self._cost(S, T, candidate, votes) < self._cost(S, T, Y_new, votes)
            Y_new = np.where(np.repeat(better, np.diff(self.starts)), candidate, Y_new)
        return Y_new

    def _path(self, U: np.ndarray, T: np.ndarray) -> np.ndarray:
        return best_codes(self.space, restrict(U, self.given), T, self.starts)

    def _cost(self, S, T, Y, votes):
        own = np.add.reduceat(votes[np.arange(len(Y)), Y], self.starts[:-1])
        return self.hinges(S, T, Y) - own

    def graph_costs(self, Y):
        agreement = np.asarray(self.P @ np.eye(len(self.space))[Y])[np.arange(len(Y)), Y]
        return 1 - np.add.reduceat(agreement, self.starts[:-1]) / np.diff(self.starts)


class WholeStep(OutputStep):
    """Sequences and sets under 0-1 loss: the best output and the neighbors' are all that can win.

    An output that no neighbor has pays C1 in full, and the best output pays the least of the rest.
    """

    def move(self, S, T, Y, exact):
        best = allowed_codes(self.space, S, T, self.starts, self.given)
        Z = augmented_codes(self.space, S, T, self.starts, Y)
        candidates = [self._if_allowed(Y[self._tokens_of(j)], best) for j in self._sources()]
        if not exact:
            candidates.append(self._if_allowed(Z, best))
        Y_new, least = best, self._cost(S, T, best, Y, Z, exact)
        for candidate in candidates:
            cost = self._cost(S, T, candidate, Y, Z, exact)
            Y_new, least = self._where(cost < least, candidate, Y_new), np.minimum(cost, least)
        return Y_new

    def _cost(self, S, T, candidate, Y, Z, exact):
        if exact:
            cost = self.hinges(S, T, candidate)
        else:
            own = code_scores(self.space, S, T, self.starts, candidate)
            cost = self.space.losses(candidate, Z, self.starts) - own
        return cost + self.C1 * (1 - self._agreement(candidate, Y))

    def _sources(self) -> Iterator[np.ndarray]:
        """The r-th neighbor of every point, r = 0, 1, ...; the point itself where lengths differ."""
        lengths, points = np.diff(self.starts), np.arange(len(self.starts) - 1)
        for neighbor in self.neighbors.T:
            yield np.where(lengths[neighbor] == lengths, neighbor, points)

    def _tokens_of(self, points: np.ndarray) -> np.ndarray:
        """Where the codes of the points are."""
        return points if isinstance(self.space, LabelSets) else tokens_of(self.starts, points)[0]

    def _if_allowed(self, codes: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        free = (self.given < 0) | (self.given == codes)
        points = free.all(axis=1) if free.ndim == 2 else np.logical_and.reduceat(free, self.starts[:-1])
        return self._where(points, codes, otherwise)

    def _where(self, points: np.ndarray, codes: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        if isinstance(self.space, LabelSets):
            return np.where(points[:, None], codes, otherwise)
        return np.where(np.repeat(points, np.diff(self.starts)), codes, otherwise)

    def _agreement(self, candidate: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """sum_j P_ij [candidate_i = y_j]; sequences of different lengths differ."""
        rows = np.concatenate([self._rows(candidate), self._rows(Y)])
        wanted, current = np.split(np.unique(rows, axis=0, return_inverse=True)[1].ravel(), 2)
        return np.sum(self.share * (wanted[:, None] == current[self.neighbors]), axis=1)

    def _rows(self, Y: np.ndarray) -> np.ndarray:
        """Outputs as rows of one length, -1 where a sequence has ended."""
        if isinstance(self.space, LabelSets):
            return Y
        lengths = np.diff(self.starts)
        inside = np.arange(lengths.max()) < lengths[:, None]
        rows = np.full(inside.shape, -1, dtype=Y.dtype)
        rows[inside] = Y
        return rows

    def graph_costs(self, Y):
        return 1 - self._agreement(Y, Y)


def step_for(space: OutputSpace) -> type[OutputStep]:
    """The step that a space and its loss need."""
    if isinstance(space, ListedSpace):
        return ListedStep
    if space.loss_name == "zero_one":
        return WholeStep
    return LabelStep if isinstance(space, LabelSets) else TagStep
