"""Compiled steps for label sets; the layout is that of `listed_steps`, with a column per label.

S[p, l] is what label l adds to the score of a set for the pair p; a set scores the sum of its labels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .drawing import draw, pair_key


@njit(nogil=True, cache=True)
def two_best(lo, hi, S, k, best, margin):
    """The best set of every pair and its margin over the second, which flips one label."""
    for p in range(lo * k, hi * k):
        margin[p] = np.inf
        for label in range(S.shape[1]):
            best[p, label] = S[p, label] > 0
            margin[p] = min(margin[p], abs(S[p, label]))


@njit(nogil=True, cache=True)
def _draw_other(seed, key, y, z):
    """Draw z uniformly among the sets other than y."""
    attempt = 0
    while True:
        for label in range(len(y)):
            z[label] = draw(seed, key, attempt * len(y) + label, 2)
        if not np.array_equal(z, y):
            return
        attempt += 1


@njit(nogil=True, cache=True)
def upper_bounds(lo, hi, S, fresh, neighbors, share, Y, hamming, best, margin, seed, keys, Z, known, value):
    """z (eq. 7), the known share and the mean bound (eq. 6) of neighborhoods lo..hi."""
    k, q = neighbors.shape[1], S.shape[1]
    for i in range(lo, hi):
        known[i] = 0.0
        value[i] = 0.0
        for r in range(k):
            p = i * k + r
            y, z = Y[neighbors[i, r]], Z[p]
            if y[0] < 0:
                z[:] = -1
                continue
            bound = 0.0
            if hamming:
                for label in range(q):  # being wrong adds 1/q, label by label
                    z[label] = S[p, label] + (1 - 2 * y[label]) / q > 0
                    bound += (z[label] - y[label]) * S[p, label] + (z[label] != y[label]) / q
            elif fresh[i]:
                _draw_other(seed, pair_key(keys[i], keys[neighbors[i, r]]), y, z)
                bound = 1.0
            else:
                z[:] = best[p]
                if not np.array_equal(z, y):
                    bound = 1.0
                    for label in range(q):
                        bound += (z[label] - y[label]) * S[p, label]
                else:
                    bound = max(0.0, 1.0 - margin[p])
                    if bound > 0:
                        nearest = np.argmin(np.abs(S[p]))
                        z[nearest] = 1 - z[nearest]
            known[i] += share[i, r]
            value[i] += share[i, r] * bound
        if known[i] > 0:
            value[i] /= known[i]


@njit(nogil=True, cache=True)
def update_predictors(
    lo, hi, S, A, G, neighbors, share, known, Y, Z, start, decay, eta, pull, cross, square_norm
):
    """The step of eq. 12 on the predictors of neighborhoods lo..hi."""
    k, q = neighbors.shape[1], S.shape[1]
    with_start = len(start) > 0
    for i in range(lo, hi):
        if known[i] == 0 and not with_start:
            continue  # w = 0 stays so
        S_i, A_i = S[i * k : (i + 1) * k], A[i * k : (i + 1) * k]
        S_i *= decay
        A_i *= decay
        if pull > 0:
            for r in range(k):
                S_i[r] += pull * start[neighbors[i, r]]
        for r in range(k):
            y, z = Y[neighbors[i, r]], Z[i * k + r]
            if y[0] < 0:
                continue
            step = eta * share[i, r] / known[i]
            row = i * k * k + r * k
            for label in range(q):
                sign = y[label] - z[label]
                if sign != 0:
                    A_i[r, label] += step * sign
                    for s in range(k):
                        S_i[s, label] += step * sign * G[row + s]
        total = 0.0
        for r in range(k):
            for label in range(q):
                total += A_i[r, label] * S_i[r, label]
                if with_start:
                    total += cross * A_i[r, label] * start[neighbors[i, r], label]
        square_norm[i] = total


@njit(nogil=True, cache=True)
def sum_votes(lo, hi, S, weight, voter_starts, voters, hamming, exact, Z, sums, reached):
    """What each label would add for points lo..hi.

    Under Hamming loss both steps split over the labels: the cost of leaving the label out, less the cost of
    having it in. Under 0-1 loss these are the scores.
    """
    q = S.shape[1]
    for i in range(lo, hi):
        for v in range(voter_starts[i], voter_starts[i + 1]):
            p = voters[v]
            if weight[v] == 0:
                continue
            reached[i] = True
            for label in range(q):
                s = S[p, label]
                sums[i, label] += weight[v] * s
                if not hamming:
                    continue
                if exact:
                    # max over z of [z s + loss(y, z)], for y = 0 less for y = 1
                    sums[i, label] += weight[v] * (max(s + 1.0 / q, 0.0) - max(s, 1.0 / q))
                elif Z[p, label] >= 0:
                    sums[i, label] += weight[v] * (2 * Z[p, label] - 1) / q


@njit(nogil=True, cache=True)
def choose_outputs(lo, hi, sums, reached, ballot_starts, ballots, ballot_weights, given, Y_new):
    """The sets of points lo..hi: the labels with a positive sum, or a set voted for if that costs less.

    Sets that nobody voted for pay the same for that, so among those only the set of the sums can win.
    """
    q = sums.shape[1]
    for i in range(lo, hi):
        if not reached[i] or given[i].min() >= 0:
            continue
        candidate = np.empty(q, dtype=Y_new.dtype)
        for label in range(q):
            candidate[label] = sums[i, label] > 0 if given[i, label] < 0 else given[i, label]
        lowest = np.inf
        # Each ballot is there once. If the set of the sums was voted for, it comes again and costs less.
        for c in range(ballot_starts[i] - 1, ballot_starts[i + 1]):
            cost = 0.0
            if c >= ballot_starts[i]:
                candidate, cost = ballots[c], -ballot_weights[c]
                if np.any((given[i] >= 0) & (given[i] != candidate)):
                    continue
            for label in range(q):
                cost -= candidate[label] * sums[i, label]
            if cost < lowest:
                lowest = cost
                Y_new[i] = candidate
