"""Inference on many points at once, under given scores: best outputs, best others, worst ones, posterior.

Scores S (tokens, q) are of every output (classes, leaves), tag or label; T (q, q) holds transition
scores and matters to sequences only. Codes and `starts` are laid out as the spaces have it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import expit, softmax

from .chains import best_other, best_path, path_score, posterior
from .labelsets import LabelSets
from .sequences import Sequences, restrict
from .spaces import ListedSpace, OutputSpace


def best_codes(space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The outputs of highest score; T may hold one (q, q) per point."""
    if isinstance(space, Sequences):
        paths = np.empty(len(S), dtype=np.int16)
        _best_paths(S, T.astype(S.dtype).reshape(-1, len(space), len(space)), starts, paths)
        return paths
    if isinstance(space, LabelSets):
        return (S > 0).astype(np.int8)
    return S.argmax(axis=1).astype(np.int32)


def allowed_codes(
    space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """The outputs of highest score among those that the given codes allow."""
    if isinstance(space, ListedSpace):
        return best_listed(space, S, given)
    if isinstance(space, Sequences):
        return best_codes(space, restrict(S, given), T, starts)
    return np.where(given >= 0, given, best_codes(space, S, T, starts))


def best_listed(space: ListedSpace, S: np.ndarray, given: np.ndarray) -> np.ndarray:
    """For each point its given output, or the allowed one of highest score."""
    S = S.copy()
    partly = given >= len(space)
    S[partly] = np.where(space.groups[given[partly] - len(space)], S[partly], -np.inf)
    complete = (given >= 0) & ~partly
    return np.where(complete, given, S.argmax(axis=1)).astype(given.dtype)


def other_codes(
    space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """The outputs of highest score other than `codes`; `codes` themselves if there is no other."""
    if isinstance(space, Sequences):
        paths = np.empty(len(S), dtype=np.int16)
        _other_paths(S, T.astype(S.dtype), starts, codes, paths)
        return paths
    if isinstance(space, LabelSets):
        others = (S > 0).astype(np.int8)
        same = np.flatnonzero((others == codes).all(axis=1))
        least = np.abs(S[same]).argmin(axis=1)  # the flip that costs least
        others[same, least] = 1 - others[same, least]
        return others
    if len(space) == 1:
        return codes
    masked = S.copy()
    masked[np.arange(len(S)), codes] = -np.inf
    return masked.argmax(axis=1).astype(np.int32)


def augmented_codes(
    space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """The outputs z that maximise score(z) + Delta(codes, z) (eq. 7)."""
    if isinstance(space, ListedSpace):
        return (S + space.loss_matrix[codes]).argmax(axis=1).astype(np.int32)
    if space.loss_name == "zero_one":
        others = other_codes(space, S, T, starts, codes)
        gain = code_scores(space, S, T, starts, others) + 1 - code_scores(space, S, T, starts, codes)
        wins = gain > 0
        if isinstance(space, Sequences):
            return np.where(np.repeat(wins, np.diff(starts)), others, codes)
        return np.where(wins[:, None], others, codes)
    if isinstance(space, Sequences):
        wrong = np.arange(len(space)) != codes[:, None]
        lengths = np.repeat(np.diff(starts), np.diff(starts))
        return best_codes(space, S + wrong / lengths[:, None], T, starts)
    return best_codes(space, S + (1 - 2.0 * codes) / len(space), T, starts)


def code_scores(
    space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """The scores of the outputs `codes`, shape (n,)."""
    if isinstance(space, Sequences):
        values = np.empty(len(starts) - 1)
        _path_scores(S, T.astype(S.dtype), starts, codes, values)
        return values
    if isinstance(space, LabelSets):
        return np.einsum("ij,ij->i", S, codes)
    return S[np.arange(len(S)), codes]


def marginals(
    space: OutputSpace, S: np.ndarray, T: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Under p(y) ~ exp(score): the probability of every output, tag or label, and expected transitions.

    The first has the shape of S; the second, summed over all points, that of T.
    """
    pairs = np.zeros(T.shape)
    if isinstance(space, Sequences):
        tokens = np.empty(S.shape)
        _posteriors(S.astype(np.float64), T.astype(np.float64), starts, tokens, pairs)
        return tokens, pairs
    return expit(S) if isinstance(space, LabelSets) else softmax(S, axis=1), pairs


@njit(nogil=True, cache=True)
def _best_paths(U, T, starts, paths):
    for i in range(len(starts) - 1):
        rows = slice(starts[i], starts[i + 1])
        best_path(U[rows], T[min(i, len(T) - 1)], paths[rows])


@njit(nogil=True, cache=True)
def _other_paths(U, T, starts, codes, paths):
    for i in range(len(starts) - 1):
        rows = slice(starts[i], starts[i + 1])
        best_other(U[rows], T, codes[rows], paths[rows])


@njit(nogil=True, cache=True)
def _path_scores(U, T, starts, codes, values):
    for i in range(len(starts) - 1):
        rows = slice(starts[i], starts[i + 1])
        values[i] = path_score(U[rows], T, codes[rows])


@njit(nogil=True, cache=True)
def _posteriors(U, T, starts, tokens, pairs):
    for i in range(len(starts) - 1):
        rows = slice(starts[i], starts[i + 1])
        posterior(U[rows], T, tokens[rows], pairs, 1.0)
