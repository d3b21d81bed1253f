"""Inference on chains: the best path, the two best paths and the posterior, compiled.

A chain has unary scores U (length, q) and transition scores T (q, q), entry [a, b] for tag a
followed by b. The score of a path y is sum_t U[t, y_t] + sum_t T[y_t, y_t+1]. Among tied paths
the lexicographically lowest wins: suffixes are scored first and the path is read off from the left.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Differences of scores, of a token and of transitions together, whose exponentials are far from underflow.
MOST_SPREAD = 300.0


@njit(nogil=True, cache=True)
def suffix_scores(U, T, suffix):
    """Fill suffix[t, a]: the best score of the tokens after t, given tag a at t."""
    length, q = U.shape
    suffix[length - 1, :] = 0.0
    for t in range(length - 2, -1, -1):
        for a in range(q):
            best = -np.inf
            for b in range(q):
                best = max(best, T[a, b] + U[t + 1, b] + suffix[t + 1, b])
            suffix[t, a] = best


@njit(nogil=True, cache=True)
def prefix_scores(U, T, prefix):
    """Fill prefix[t, b]: the best score of the tokens before t, given tag b at t."""
    length, q = U.shape
    prefix[0, :] = 0.0
    for t in range(1, length):
        for b in range(q):
            best = -np.inf
            for a in range(q):
                best = max(best, prefix[t - 1, a] + U[t - 1, a] + T[a, b])
            prefix[t, b] = best


@njit(nogil=True, cache=True)
def _read_right(U, T, suffix, t, path):
    """Complete the best path to the right of t, where path[t] is set."""
    length, q = U.shape
    for u in range(t + 1, length):
        a, best = path[u - 1], -np.inf
        for b in range(q):
            value = T[a, b] + U[u, b] + suffix[u, b]
            if value > best:
                best = value
                path[u] = b


@njit(nogil=True, cache=True)
def _read_left(U, T, prefix, t, path):
    """Complete the best path to the left of t, where path[t] is set."""
    q = U.shape[1]
    for u in range(t - 1, -1, -1):
        b, best = path[u + 1], -np.inf
        for a in range(q):
            value = prefix[u, a] + U[u, a] + T[a, b]
            if value > best:
                best = value
                path[u] = a


@njit(nogil=True, cache=True)
def best_path(U, T, path):
    """Viterbi: write the best path into `path` and return its score."""
    suffix = np.empty(U.shape, dtype=U.dtype)
    suffix_scores(U, T, suffix)
    best = -np.inf
    path[0] = 0
    for a in range(U.shape[1]):
        value = U[0, a] + suffix[0, a]
        if value > best:
            best = value
            path[0] = a
    _read_right(U, T, suffix, 0, path)
    return best


@njit(nogil=True, cache=True)
def best_other(U, T, y, path):
    """Write the best path other than y into `path` and return its score (-inf if there is none).

    A path other than y differs from it at some t, so the best one passes through the best (t, a)
    with a != y_t, measured by the best score of all paths through that tag.
    """
    length, q = U.shape
    suffix = np.empty(U.shape, dtype=U.dtype)
    prefix = np.empty(U.shape, dtype=U.dtype)
    suffix_scores(U, T, suffix)
    prefix_scores(U, T, prefix)
    best, at = -np.inf, -1
    path[:] = y
    for t in range(length):
        for a in range(q):
            value = prefix[t, a] + U[t, a] + suffix[t, a]
            if a != y[t] and value > best:
                best, at = value, t
                path[t] = a
    if at < 0:
        return best
    # Only the last improvement stands: earlier positions are read off again from `at`.
    _read_left(U, T, prefix, at, path)
    _read_right(U, T, suffix, at, path)
    return best


@njit(nogil=True, cache=True)
def path_score(U, T, y):
    """The score of the path y."""
    score = U[0, y[0]]
    for t in range(1, len(y)):
        score += T[y[t - 1], y[t]] + U[t, y[t]]
    return score


@njit(nogil=True, cache=True)
def posterior(U, T, marginals, pairs, weight):
    """Write token marginals of p(y) ~ exp(score), add `weight` times pair marginals to `pairs`.

    Returns the logarithm of the partition function.
    """
    # Messages are scaled to 1 at their largest. The least is then exp(-range) or more, the ranges those of T
    # and of a row of U: within them nothing underflows, and an exponential is due per score, not per pair.
    spread = np.max(T) - np.min(T)
    for t in range(len(U)):
        if not np.max(U[t]) - np.min(U[t]) + spread < MOST_SPREAD:  # not a number if all are -inf
            return _posterior_of_logs(U, T, marginals, pairs, weight)
    return _scaled_posterior(U, T, marginals, pairs, weight)


@njit(nogil=True, cache=True)
def _scaled_posterior(U, T, marginals, pairs, weight):
    """`posterior` by sums of products."""
    length, q = U.shape
    highest = np.max(T)
    factor = np.exp(T - highest)
    own, left, right = np.empty((length, q)), np.ones((length, q)), np.ones((length, q))
    scale = np.ones(length)  # by which the messages to the left were divided
    log_z = 0.0
    for t in range(length):
        top = np.max(U[t])
        log_z += top
        for a in range(q):
            own[t, a] = np.exp(U[t, a] - top)
    for t in range(length - 2, -1, -1):
        for a in range(q):
            total = 0.0
            for b in range(q):
                total += factor[a, b] * own[t + 1, b] * right[t + 1, b]
            right[t, a] = total
        scale[t] = np.max(right[t])
        right[t] /= scale[t]
        log_z += highest + np.log(scale[t])
    before = np.empty(q)
    for t in range(length):
        if t > 0:
            left[t] = 0.0
            for a in range(q):
                for b in range(q):
                    left[t, b] += before[a] * factor[a, b]
            left[t] /= np.max(left[t])
        mass = 0.0
        for a in range(q):
            before[a] = left[t, a] * own[t, a]
            marginals[t, a] = before[a] * right[t, a]
            mass += marginals[t, a]
        marginals[t] /= mass
        if t == 0:
            log_z += np.log(mass)
        if (
            t < length - 1
        ):  # the sum over all pairs is `mass * scale`, as `right` is the sum over what follows
            for a in range(q):
                share = weight * before[a] / (mass * scale[t])
                for b in range(q):
                    pairs[a, b] += share * factor[a, b] * own[t + 1, b] * right[t + 1, b]
    return log_z


@njit(nogil=True, cache=True)
def _posterior_of_logs(U, T, marginals, pairs, weight):
    """`posterior` for scores of any size, by logarithms of sums."""
    length, q = U.shape
    right = np.zeros((length, q))
    left = np.zeros((length, q))
    for t in range(length - 2, -1, -1):
        for a in range(q):
            top = -np.inf
            for b in range(q):
                top = max(top, T[a, b] + U[t + 1, b] + right[t + 1, b])
            total = 0.0
            for b in range(q):
                total += np.exp(T[a, b] + U[t + 1, b] + right[t + 1, b] - top)
            right[t, a] = top + np.log(total)
    for t in range(1, length):
        for b in range(q):
            top = -np.inf
            for a in range(q):
                top = max(top, left[t - 1, a] + U[t - 1, a] + T[a, b])
            total = 0.0
            for a in range(q):
                total += np.exp(left[t - 1, a] + U[t - 1, a] + T[a, b] - top)
            left[t, b] = top + np.log(total)
    top = np.max(U[0] + right[0])
    log_z = top + np.log(np.sum(np.exp(U[0] + right[0] - top)))
    for t in range(length):
        for a in range(q):
            marginals[t, a] = np.exp(left[t, a] + U[t, a] + right[t, a] - log_z)
    for t in range(1, length):
        for a in range(q):
            before = left[t - 1, a] + U[t - 1, a] - log_z
            for b in range(q):
                pairs[a, b] += weight * np.exp(before + T[a, b] + U[t, b] + right[t, b])
    return log_z
