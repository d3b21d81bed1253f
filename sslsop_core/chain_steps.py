"""Compiled steps for tag sequences; the layout is that of `listed_steps`, with a row per token.

The pair p = i * k + r owns the rows at[p]..at[p+1] of S and A, one per token of the neighbor r of
neighborhood i; T[i] holds the transition weights of w_i themselves.
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
    lo, hi, S, A, T, G, gram_at, at, neighbors, share, known, starts, Y, Z, start, start_T, decay, eta, pull,
    cross, square_norm,
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
                    T_i[y[t - 1], y[t]] += step
                    T_i[z[t - 1], z[t]] -= step
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
                total += (T_i[b, c] + min(cross, 0.0) * start_T[b, c]) ** 2
        square_norm[i] = total


@njit(nogil=True, cache=True)
def _allowed(path, given):
    for t in range(len(path)):
        if given[t] >= 0 and path[t] != given[t]:
            return False
    return True


@njit(nogil=True, cache=True)
def _sum_voters(i, S, T, at, weight, voter_starts, voters, given, U, sum_T):
    """Weighted sums of the voters' potentials, with the tags that `given` rules out at -inf."""
    U[:] = 0.0
    sum_T[:] = 0.0
    reached = False
    k = len(weight) // len(T)
    for v in range(voter_starts[i], voter_starts[i + 1]):
        p = voters[v]
        if weight[p] > 0:
            U += weight[p] * S[at[p] : at[p + 1]]
            sum_T += weight[p] * T[p // k]
            reached = True
    for t in range(len(given)):
        if given[t] >= 0:
            for a in range(U.shape[1]):
                if a != given[t]:
                    U[t, a] = -np.inf
    return reached


@njit(nogil=True, cache=True)
def update_outputs_zero_one(
    lo, hi, S, T, at, weight, voter_starts, voters, starts, given, votes, vote_weight, Y_new
):
    """Outputs of points lo..hi under 0-1 loss; `votes` are z (eq. 16) or the voters' best (exact).

    A sequence pays the same to every voter that did not vote for it, so among those nobody voted for
    only the best path of the summed scores can win: the search is over that path and the votes.
    """
    q = S.shape[1]
    sum_T = np.empty((q, q))
    for i in range(lo, hi):
        free = given[starts[i] : starts[i + 1]]
        U = np.empty((len(free), q))
        if free.min() >= 0 or not _sum_voters(i, S, T, at, weight, voter_starts, voters, free, U, sum_T):
            continue
        candidate = np.empty(len(free), dtype=Y_new.dtype)
        best_path(U, sum_T, candidate)
        lowest = np.inf
        for c in range(voter_starts[i] - 1, voter_starts[i + 1]):
            if c >= voter_starts[i]:
                candidate = votes[at[voters[c]] : at[voters[c] + 1]]
                if candidate[0] < 0 or weight[voters[c]] == 0 or not _allowed(candidate, free):
                    continue
            cost = -path_score(U, sum_T, candidate)
            for v in range(voter_starts[i], voter_starts[i + 1]):
                p = voters[v]
                if weight[p] > 0 and np.array_equal(votes[at[p] : at[p + 1]], candidate):
                    cost -= weight[p] * vote_weight[p]
            if cost < lowest:
                lowest = cost
                Y_new[starts[i] : starts[i + 1]] = candidate


@njit(nogil=True, cache=True)
def _true_cost(i, S, T, at, weight, voter_starts, voters, y, scratch):
    """The part of eq. 9 that depends on the output y of point i (Hamming loss)."""
    k = len(weight) // len(T)
    cost = 0.0
    for v in range(voter_starts[i], voter_starts[i + 1]):
        p = voters[v]
        if weight[p] > 0:
            U = S[at[p] : at[p + 1]]
            bound = best_path(_augment(U, y), T[p // k], scratch) - path_score(U, T[p // k], y)
            cost += weight[p] * bound
    return cost


@njit(nogil=True, cache=True)
def update_outputs_hamming(lo, hi, S, T, at, weight, voter_starts, voters, starts, given, exact, Z, Y_new):
    """Outputs of points lo..hi under Hamming loss.

    Eq. 16 splits over the tokens and is one Viterbi. The exact step has no closed form: the true cost
    is evaluated for a short list (the current output, eq. 16's, the summed scores', every voter's best)
    and the lowest is taken, so that the objective never rises.
    """
    q, k = S.shape[1], len(weight) // len(T)
    sum_T = np.empty((q, q))
    for i in range(lo, hi):
        free = given[starts[i] : starts[i + 1]]
        length = len(free)
        U = np.empty((length, q))
        if free.min() >= 0 or not _sum_voters(i, S, T, at, weight, voter_starts, voters, free, U, sum_T):
            continue
        U_paper = U.copy()
        for v in range(voter_starts[i], voter_starts[i + 1]):
            p = voters[v]
            z = Z[at[p] : at[p + 1]]
            if weight[p] > 0 and z[0] >= 0:
                for t in range(length):
                    U_paper[t, z[t]] += weight[p] / length
        chosen = Y_new[starts[i] : starts[i + 1]]
        if not exact:
            best_path(U_paper, sum_T, chosen)
            continue
        scratch = np.empty(length, dtype=Y_new.dtype)
        candidate = np.empty(length, dtype=Y_new.dtype)
        lowest = np.inf
        if chosen[0] >= 0:
            lowest = _true_cost(i, S, T, at, weight, voter_starts, voters, chosen, scratch)
        for c in range(voter_starts[i] - 2, voter_starts[i + 1]):
            if c == voter_starts[i] - 2:
                best_path(U_paper, sum_T, candidate)
            elif c == voter_starts[i] - 1:
                best_path(U, sum_T, candidate)
            else:
                p = voters[c]
                best_path(S[at[p] : at[p + 1]], T[p // k], candidate)
                if weight[p] == 0 or not _allowed(candidate, free):
                    continue
            if not np.array_equal(candidate, chosen):
                cost = _true_cost(i, S, T, at, weight, voter_starts, voters, candidate, scratch)
                if cost < lowest:
                    lowest = cost
                    chosen[:] = candidate
