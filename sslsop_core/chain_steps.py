"""Compiled steps for tag sequences; the layout is that of `listed_steps`, with a row per token.

The pair p = i * k + r owns the rows at[p]..at[p+1] of S and A, one per token of the neighbor r of
neighborhood i; T[i] holds the scores of transitions under w_i. With histograms of transitions that count
with weight `tau` in inner products, w_i has T[i] / sqrt(tau) there: a step moves T by tau.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .chains import best_other, best_path, path_score
from .drawing import draw, pair_key


@njit(nogil=True, cache=True)
def two_best(lo, hi, S, T, at, k, best, second, margin):
    """The best and second-best sequence of every pair, and the margin between them (2-best Viterbi)."""
    for p in range(lo * k, hi * k):
        rows = slice(at[p], at[p + 1])
        first = best_path(S[rows], T[p // k], best[rows])
        margin[p] = first - best_other(S[rows], T[p // k], best[rows], second[rows])


@njit(nogil=True, cache=True)
def best_of_pairs(lo, hi, S, T, at, k, best):
    """The best sequence of every pair."""
    for p in range(lo * k, hi * k):
        best_path(S[at[p] : at[p + 1]], T[p // k], best[at[p] : at[p + 1]])


@njit(nogil=True, cache=True)
def _draw_other(seed, key, y, q, hamming, z):
    """Draw z among the sequences with the largest loss to y."""
    if q == 1:
        z[:] = y
        return
    attempt = 0
    while True:
        same = True
        for t in range(len(y)):
            if hamming:
                z[t] = (y[t] + 1 + draw(seed, key, t, q - 1)) % q
            else:
                z[t] = draw(seed, key, attempt * len(y) + t, q)
            same = same and z[t] == y[t]
        if not same:
            return
        attempt += 1


@njit(nogil=True, cache=True)
def _augment(U, y):
    """Unary scores plus the Hamming loss to y."""
    augmented = np.empty_like(U)
    for t in range(len(y)):
        for a in range(U.shape[1]):
            augmented[t, a] = U[t, a] + (a != y[t]) / len(y)
    return augmented


@njit(nogil=True, cache=True)
def upper_bounds(
    lo,
    hi,
    S,
    T,
    at,
    fresh,
    neighbors,
    share,
    starts,
    Y,
    hamming,
    best,
    second,
    margin,
    seed,
    keys,
    Z,
    known,
    value,
):
    """z (eq. 7), the known share and the mean bound (eq. 6) of neighborhoods lo..hi."""
    k, q = neighbors.shape[1], S.shape[1]
    for i in range(lo, hi):
        known[i] = 0.0
        value[i] = 0.0
        for r in range(k):
            p, j = i * k + r, neighbors[i, r]
            y, U, z = Y[starts[j] : starts[j + 1]], S[at[p] : at[p + 1]], Z[at[p] : at[p + 1]]
            if y[0] < 0:
                z[:] = -1
                continue
            if fresh[i]:
                _draw_other(seed, pair_key(keys[i], keys[j]), y, q, hamming, z)
                bound = 1.0 * (q > 1)
            elif hamming:
                bound = best_path(_augment(U, y), T[i], z) - path_score(U, T[i], y)
            else:
                # The best sequence attains the bound unless it is y; then the second does if it is near.
                z[:] = best[at[p] : at[p + 1]]
                if not np.array_equal(z, y):
                    bound = path_score(U, T[i], z) - path_score(U, T[i], y) + 1.0
                else:
                    bound = max(0.0, 1.0 - margin[p])
                    if bound > 0:
                        z[:] = second[at[p] : at[p + 1]]
            known[i] += share[i, r]
            value[i] += share[i, r] * bound
        if known[i] > 0:
            value[i] /= known[i]


@njit(nogil=True, cache=True)
def update_predictors(
    lo, hi, S, A, T, G, gram_at, at, neighbors, share, known, starts, Y, Z, start, start_T, tau, decay, eta,
    pull, cross, square_norm,
):  # fmt: skip
    """The step of eq. 12 on emissions (dual) and transitions (explicit) of neighborhoods lo..hi."""
    k, q = neighbors.shape[1], S.shape[1]
    with_start = len(start) > 0
    for i in range(lo, hi):
        if known[i] == 0 and not with_start:
            continue  # w = 0 stays so
        top = at[i * k]
        m = at[(i + 1) * k] - top
        S_i, A_i, T_i = S[top : top + m], A[top : top + m], T[i]
        S_i *= decay
        A_i *= decay
        T_i *= decay
        if pull > 0:
            T_i += pull * start_T
            for r in range(k):
                j = neighbors[i, r]
                S[at[i * k + r] : at[i * k + r + 1]] += pull * start[starts[j] : starts[j + 1]]
        for r in range(k):
            p, j = i * k + r, neighbors[i, r]
            y, z = Y[starts[j] : starts[j + 1]], Z[at[p] : at[p + 1]]
            if y[0] < 0:
                continue
            step = eta * share[i, r] / known[i]
            for t in range(len(y)):
                if t > 0:
                    T_i[y[t - 1], y[t]] += tau * step
                    T_i[z[t - 1], z[t]] -= tau * step
                if y[t] == z[t]:
                    continue
                a = at[p] - top + t
                A_i[a, y[t]] += step
                A_i[a, z[t]] -= step
                row = gram_at[i] + a * m
                for b in range(m):
                    change = step * G[row + b]
                    S_i[b, y[t]] += change
                    S_i[b, z[t]] -= change
        total = 0.0
        for a in range(m):
            for c in range(q):
                total += A_i[a, c] * S_i[a, c]
        if with_start:
            for r in range(k):
                first = starts[neighbors[i, r]]
                for a in range(at[i * k + r], at[i * k + r + 1]):
                    for c in range(q):
                        total += cross * A[a, c] * start[first + a - at[i * k + r], c]
        for b in range(q):
            for c in range(q):
                total += (T_i[b, c] + min(cross, 0.0) * start_T[b, c]) ** 2 / tau
        square_norm[i] = total


@njit(nogil=True, cache=True)
def sum_votes(
    lo, hi, S, T, at, weight, voter_starts, voters, starts, hamming, Z, sums, transitions, reached
):  # fmt: skip
    """Weighted sums of the voters' potentials for points lo..hi.

    Under Hamming loss the last q columns of `sums` also have what z adds in eq. 16, which splits over the
    tokens; if there are q more columns before them, those are without it.
    """
    k, q = len(weight) // len(T), S.shape[1]
    for i in range(lo, hi):
        U = sums[starts[i] : starts[i + 1]]
        shift, length = U.shape[1] - q, len(U)
        for v in range(voter_starts[i], voter_starts[i + 1]):
            p = voters[v]
            if weight[v] == 0:
                continue
            reached[i] = True
            transitions[i] += weight[v] * T[p // k]
            for t in range(length):
                for a in range(q):
                    U[t, shift + a] += weight[v] * S[at[p] + t, a]
        if not hamming:
            continue
        U[:, :shift] = U[:, q:]
        for v in range(voter_starts[i], voter_starts[i + 1]):
            z = Z[at[voters[v]] : at[voters[v] + 1]]
            if weight[v] > 0 and z[0] >= 0:
                for t in range(length):
                    U[t, shift + z[t]] += weight[v] / length


@njit(nogil=True, cache=True)
def _allowed_scores(U, given):
    """Unary scores with the tags that `given` rules out at -inf."""
    scores = U.copy()
    for t in range(len(given)):
        if given[t] >= 0:
            for a in range(U.shape[1]):
                if a != given[t]:
                    scores[t, a] = -np.inf
    return scores


@njit(nogil=True, cache=True)
def best_paths(lo, hi, sums, transitions, wanted, starts, given, Y_new):
    """The best allowed path of the summed potentials, for the wanted of points lo..hi."""
    for i in range(lo, hi):
        if wanted[i]:
            own = slice(starts[i], starts[i + 1])
            best_path(_allowed_scores(sums[own], given[own]), transitions[i], Y_new[own])


@njit(nogil=True, cache=True)
def choose_voted(
    lo, hi, sums, transitions, wanted, ballot_starts, ballots, at, ballot_weights, starts, given, Y_new
):  # fmt: skip
    """Outputs of the wanted of points lo..hi under 0-1 loss; the ballots are z (eq. 16) or the voters' best.

    A sequence pays the same to every voter that did not vote for it, so among those nobody voted for
    only the best path of the summed scores can win: the search is over that path and the ballots.
    """
    for i in range(lo, hi):
        if not wanted[i]:
            continue
        own = slice(starts[i], starts[i + 1])
        U = _allowed_scores(sums[own], given[own])
        candidate = np.empty(len(U), dtype=Y_new.dtype)
        best_path(U, transitions[i], candidate)
        lowest = np.inf
        # Each ballot is there once. If the path of the sums was voted for, it comes again and costs less.
        for c in range(ballot_starts[i] - 1, ballot_starts[i + 1]):
            support = 0.0
            if c >= ballot_starts[i]:
                candidate, support = ballots[at[c] : at[c + 1]], ballot_weights[c]
            cost = -path_score(U, transitions[i], candidate) - support  # infinite where not allowed
            if cost < lowest:
                lowest = cost
                Y_new[own] = candidate


@njit(nogil=True, cache=True)
def true_costs(lo, hi, S, T, at, weight, voter_starts, voters, points, candidates, candidate_at, costs):
    """The part of eq. 9 that depends on the output of a point, for candidates lo..hi (Hamming loss)."""
    k = len(weight) // len(T)
    for c in range(lo, hi):
        i, y = points[c], candidates[candidate_at[c] : candidate_at[c + 1]]
        scratch = np.empty_like(y)
        for v in range(voter_starts[i], voter_starts[i + 1]):
            p = voters[v]
            if weight[v] > 0:
                U = S[at[p] : at[p + 1]]
                bound = best_path(_augment(U, y), T[p // k], scratch) - path_score(U, T[p // k], y)
                costs[c] += weight[v] * bound
