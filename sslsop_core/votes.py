"""Votes on the outputs of points: sums that add up wherever the voters are.

Neighborhoods, all of them or those of one block, sum up what they say about points, and name outputs where
the loss is that of whole outputs. Voters may be in several places: what they say is added up first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from .inputs import tokens_of


@dataclass(frozen=True, eq=False)
class Ballots:
    """Outputs that were named for points, sorted by point.

    Attributes
    ----------
    points : (m,). For which point.
    codes : the outputs one after the other: tags of a sequence, or bits of a label set.
    at : (m + 1,). Where each begins in `codes`.
    weights : (m,). How much each counts.
    """

    points: np.ndarray
    codes: np.ndarray
    at: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def only(self, which: np.ndarray) -> Ballots:
        """The chosen ones, in this order."""
        tokens, at = tokens_of(self.at, which)
        return Ballots(self.points[which], self.codes[tokens], at, self.weights[which])

    def starts(self, n: int) -> np.ndarray:
        """Where those for each of n points begin."""
        return np.searchsorted(self.points, np.arange(n + 1))

    def distinct(self) -> Ballots:
        """Each output of a point once, where it was named first, with the sum of the weights."""
        if len(self) == 0:
            return self
        first, weights = np.zeros(len(self), dtype=bool), self.weights.astype(np.float64)
        starts = np.append(np.flatnonzero(np.diff(self.points, prepend=-1)), len(self))
        _add_up_equal(starts, self.at, self.codes, weights, first)
        return replace(self, weights=weights).only(np.flatnonzero(first))


@njit(nogil=True, cache=True)
def _add_up_equal(starts, at, codes, weights, first):
    """Between two starts, mark the first of equal ballots and give it the weights of the others."""
    for i in range(len(starts) - 1):
        for b in range(starts[i], starts[i + 1]):
            mine = codes[at[b] : at[b + 1]]
            first[b] = True
            for a in range(starts[i], b):
                if first[a] and np.array_equal(codes[at[a] : at[a + 1]], mine):
                    weights[a] += weights[b]
                    first[b] = False
                    break


def in_order(pieces: Sequence[Ballots]) -> Ballots:
    """Ballots of several places, sorted by point; for the same point in the order of the places."""
    at = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(piece.at) for piece in pieces]))])
    columns = zip(*((piece.points, piece.codes, piece.weights) for piece in pieces), strict=True)
    points, codes, weights = map(np.concatenate, columns)
    return Ballots(points, codes, at, weights).only(np.argsort(points, kind="stable"))


@dataclass(frozen=True, eq=False)
class Votes:
    """What neighborhoods say about points.

    Attributes
    ----------
    sums : (tokens, columns). Scores, gains or costs of tags, labels or outputs, as the space needs them.
    transitions : (points, q, q) for sequences, (points, 0, 0) otherwise.
    reached : (points,). Whether any neighborhood that knows an output contains the point.
    ballots : the outputs voted for, or those to be asked back about; none where the sums say it all.
    """

    sums: np.ndarray
    transitions: np.ndarray
    reached: np.ndarray
    ballots: Ballots

    def between(self, lo: int, hi: int, starts: np.ndarray) -> Votes:
        """Those on points lo..hi, numbered from 0; tokens begin at `starts`."""
        which = np.arange(*np.searchsorted(self.ballots.points, [lo, hi]))
        ballots = self.ballots.only(which)
        return Votes(
            self.sums[starts[lo] : starts[hi]],
            self.transitions[lo:hi],
            self.reached[lo:hi],
            replace(ballots, points=ballots.points - lo),
        )


def added(pieces: Sequence[tuple[np.ndarray, Votes]], starts: np.ndarray) -> Votes:
    """All votes on points whose tokens begin at `starts`, from pairs (points, votes on them)."""
    n, some = len(starts) - 1, pieces[0][1]
    sums = np.zeros((starts[-1], some.sums.shape[1]))
    transitions = np.zeros((n, *some.transitions.shape[1:]))
    reached = np.zeros(n, dtype=bool)
    for points, votes in pieces:
        sums[tokens_of(starts, points)[0]] += votes.sums
        transitions[points] += votes.transitions
        reached[points] |= votes.reached
    named = [replace(votes.ballots, points=points[votes.ballots.points]) for points, votes in pieces]
    return Votes(sums, transitions, reached, in_order(named).distinct())


def no_ballots(dtype: np.dtype) -> Ballots:
    nothing = np.zeros(0, dtype=np.int64)
    return Ballots(nothing, np.zeros(0, dtype=dtype), np.zeros(1, dtype=np.int64), np.zeros(0))


def cheapest(candidates: Ballots, costs: np.ndarray, Y: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For every point with candidates the one of lowest cost, the first of equal ones; else its present Y."""
    order = np.lexsort((costs, candidates.points))  # stable
    points, first = np.unique(candidates.points[order], return_index=True)
    Y_new = Y.copy()
    Y_new[tokens_of(starts, points)[0]] = candidates.only(order[first]).codes
    return Y_new
