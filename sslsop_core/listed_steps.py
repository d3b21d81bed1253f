"""Compiled steps for outputs that can be listed (classes and tree leaves).

Every kernel takes a range lo..hi of its first index, neighborhoods or points, and writes only
there. Pairs p = i * k + r stand for the neighbor r of neighborhood i; S[p] holds the scores of all q
outputs for that neighbor under w_i, A[p] its coefficients, so that w_i = sum_r x_r (x) e(.) A[p].
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .drawing import draw, pair_key

# Scores that are fetched together. They lie anywhere in memory: fetched before any is looked at, the waits
# overlap, and the output step is three times as fast when scores are larger than the caches. Ranges are
# passed as numbers: a slice counts references, and that waits for everything on its way.
TOGETHER = 64


@njit(nogil=True, cache=True)
def _fetch(source, indices, a, b, rows):
    """Copy the rows of the source that indices[a:b] name."""
    for r in range(b - a):
        row = indices[a + r]  # once, not for every column: the fewer instructions, the more is on its way
        for c in range(source.shape[1]):
            rows[r, c] = source[row, c]


@njit(nogil=True, cache=True)
def _best_other(S, p, y):
    """The best output but y for the pair p, the lowest of tied ones; y itself if there is no other."""
    z, best = y, -np.inf
    for other in range(S.shape[1]):
        if S[p, other] > best and other != y:
            z, best = other, S[p, other]
    return z, best


@njit(nogil=True, cache=True)
def _attains_bound(S, p, y, losses):
    """The output of highest score plus loss to y, the lowest of tied ones, and that sum."""
    z, best = 0, -np.inf
    for other in range(S.shape[1]):
        if S[p, other] + losses[y, other] > best:
            z, best = other, S[p, other] + losses[y, other]
    return z, best


@njit(nogil=True, cache=True)
def _draw_tied(y, q, losses, zero_one, seed, key):
    """At w = 0 any output with the largest loss to y attains the bound: draw one, each with equal chance."""
    z, most, ties = y, -np.inf, 0
    for other in range(q):
        loss = 1.0 * (other != y) if zero_one else losses[y, other]
        if loss > most:
            z, most, ties = other, loss, 1
        elif loss == most:
            ties += 1
            if draw(seed, key, ties, ties) == 0:
                z = other
    return z, most


@njit(nogil=True, cache=True)
def upper_bounds(lo, hi, S, fresh, neighbors, share, Y, losses, zero_one, seed, keys, Z, known, value):
    """z (eq. 7), the known share and the mean bound (eq. 6) of neighborhoods lo..hi."""
    k, q = neighbors.shape[1], S.shape[1]
    for i in range(lo, hi):
        known[i] = 0.0
        value[i] = 0.0
        for r in range(k):
            p = i * k + r
            j = neighbors[i, r]
            y = Y[j]
            if y < 0:
                Z[p] = -1
                continue
            if fresh[i]:
                z, best = _draw_tied(y, q, losses, zero_one, seed, pair_key(keys[i], keys[j]))
            elif zero_one:
                z, best = _best_other(S, p, y)
                best += 1.0
                if S[p, y] > best or (S[p, y] == best and y < z):
                    z, best = y, S[p, y]
            else:
                z, best = _attains_bound(S, p, y, losses)
            Z[p] = z
            known[i] += share[i, r]
            value[i] += share[i, r] * (best - S[p, y])
        if known[i] > 0:
            value[i] /= known[i]


@njit(nogil=True, cache=True)
def update_predictors(
    lo, hi, S, A, G, neighbors, share, known, Y, Z, common, zero_one, start, decay, eta, pull, cross,
    square_norm,
):  # fmt: skip
    """The step of eq. 12 on the predictors of neighborhoods lo..hi, and <A, S + cross S_0> after it.

    A violated constraint adds eta * share * G[:, r] to the scores of y and takes it from those of z;
    for a tree an output shares its path with others: common[y, y'] = e(y).e(y').
    """
    k, q = neighbors.shape[1], S.shape[1]
    with_start = len(start) > 0
    S_0, all_neighbors = np.empty((k, q), dtype=start.dtype), neighbors.ravel()
    for i in range(lo, hi):
        if known[i] == 0 and not with_start:
            continue  # w = 0 stays so
        if with_start:
            _fetch(start, all_neighbors, i * k, (i + 1) * k, S_0)
        for r in range(k):
            p = i * k + r
            for y in range(q):
                S[p, y] *= decay
                A[p, y] *= decay
                if pull > 0:
                    S[p, y] += pull * S_0[r, y]
        for r in range(k):
            p = i * k + r
            y, z = Y[neighbors[i, r]], Z[p]
            if y < 0 or y == z:
                continue
            step = eta * share[i, r] / known[i]
            A[p, y] += step
            A[p, z] -= step
            row = i * k * k + r * k
            for s in range(k):
                change = step * G[row + s]
                if zero_one:
                    S[i * k + s, y] += change
                    S[i * k + s, z] -= change
                else:
                    for other in range(q):
                        S[i * k + s, other] += change * (common[y, other] - common[z, other])
        total = 0.0
        for r in range(k):
            p = i * k + r
            for y in range(q):
                total += A[p, y] * S[p, y]
                if with_start:
                    total += cross * A[p, y] * S_0[r, y]
        square_norm[i] = total


@njit(nogil=True, cache=True)
def _add_bounds(cost, rows, weight, a, b, losses):
    """Add the bound (eq. 6) that each output would have under the voters a..b with these scores."""
    for r in range(b - a):
        share = weight[a + r]
        for y in range(len(cost)):
            best = -np.inf
            for other in range(len(cost)):
                best = max(best, rows[r, other] + losses[y, other])
            cost[y] += share * (best - rows[r, y])


@njit(nogil=True, cache=True)
def _add_bounds_zero_one(cost, rows, weight, a, b):
    """The same for 0-1 loss: only the best output and its margin over the second matter."""
    for r in range(b - a):
        share = weight[a + r]
        best, first, second = 0, -np.inf, -np.inf
        for y in range(len(cost)):
            second = max(second, min(first, rows[r, y]))
            if rows[r, y] > first:
                best, first = y, rows[r, y]
        for y in range(len(cost)):
            cost[y] += share * (first + 1.0 - rows[r, y])
        cost[best] -= share * min(1.0, first - second)


@njit(nogil=True, cache=True)
def _add_fixed(cost, rows, weight, voters, a, b, Z, losses, zero_one):
    """Add what eq. 16 makes of the voters a..b with these scores."""
    for r in range(b - a):
        share, z = weight[a + r], Z[voters[a + r]]
        for y in range(len(cost)):
            cost[y] -= share * rows[r, y]
            if z >= 0:  # a point reached for the first time has no z: it takes eq. 21
                cost[y] += share * (1.0 * (y != z) if zero_one else losses[y, z])


@njit(nogil=True, cache=True)
def _add_votes(cost, S, weight, voters, first, last, losses, zero_one, exact, Z, rows):
    """Add what each output would cost the voters first..last; whether any of them has learned something."""
    total = 0.0
    for a in range(first, last, TOGETHER):
        b = min(a + TOGETHER, last)
        _fetch(S, voters, a, b, rows)
        if not exact:
            _add_fixed(cost, rows, weight, voters, a, b, Z, losses, zero_one)
        elif zero_one:
            _add_bounds_zero_one(cost, rows, weight, a, b)
        else:
            _add_bounds(cost, rows, weight, a, b, losses)
        for v in range(a, b):
            total += weight[v]
    return total > 0


@njit(nogil=True, cache=True)
def _cheapest(cost, given, groups):
    """The output of lowest cost among those that the given code allows."""
    q = len(cost)
    chosen, best = -1, np.inf
    for y in range(q):
        if cost[y] < best and (given < 0 or groups[given - q, y]):
            chosen, best = y, cost[y]
    return chosen


@njit(nogil=True, cache=True)
def update_outputs(lo, hi, S, weight, voter_starts, voters, given, groups, losses, zero_one, exact, Z, Y_new):
    """The outputs of points lo..hi: eq. 16 with z held fixed, or the exact minimiser of eq. 9.

    The voters of a point are pairs; their weights, in the same order, are the pairs' shares in their
    neighborhoods, 0 where that has learned nothing yet.
    """
    cost, rows = np.empty(S.shape[1]), np.empty((TOGETHER, S.shape[1]), dtype=S.dtype)
    for i in range(lo, hi):
        if 0 <= given[i] < len(cost):
            Y_new[i] = given[i]
            continue
        cost[:] = 0.0
        first, last = voter_starts[i], voter_starts[i + 1]
        if _add_votes(cost, S, weight, voters, first, last, losses, zero_one, exact, Z, rows):
            Y_new[i] = _cheapest(cost, given[i], groups)


@njit(nogil=True, cache=True)
def sum_votes(lo, hi, S, weight, voter_starts, voters, losses, zero_one, exact, Z, costs, reached):
    """The first half of `update_outputs` where voters are in several places: sums for points lo..hi."""
    rows = np.empty((TOGETHER, S.shape[1]), dtype=S.dtype)
    for i in range(lo, hi):
        first, last = voter_starts[i], voter_starts[i + 1]
        reached[i] = _add_votes(costs[i], S, weight, voters, first, last, losses, zero_one, exact, Z, rows)


@njit(nogil=True, cache=True)
def choose_outputs(lo, hi, costs, reached, given, groups, Y_new):
    """The second half: the outputs of points lo..hi from the summed costs."""
    for i in range(lo, hi):
        if 0 <= given[i] < costs.shape[1]:
            Y_new[i] = given[i]
        elif reached[i]:
            Y_new[i] = _cheapest(costs[i], given[i], groups)
