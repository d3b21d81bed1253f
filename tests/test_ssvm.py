"""The solver and the layer of inference that all competitors share, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from sslsop_core import Classes
from sslsop_core.inference import allowed_codes, augmented_codes, marginals
from sslsop_core.inputs import single_rows, token_rows
from sslsop_core.shared import LAMBDAS, choose_lambda
from sslsop_core.ssvm import Weights, fit_weights, scores, smoothed_hinge

from . import problems

EVERY_KIND = pytest.mark.parametrize("kind", problems.KINDS)
SEEDS = st.integers(0, 2**32 - 1)


def coded(kind, rng, n=6):
    """A random problem, its inputs and codes, and a random weight vector as potentials."""
    twin = problems.make(kind, rng, n)
    space, inputs = twin.space, (token_rows if kind.startswith("seq") else single_rows)(twin.X)
    codes = space.encode(twin.truth, inputs.starts)
    width = space.embedding.shape[1] if hasattr(space, "embedding") else len(space)
    W = rng.normal(size=(inputs.d, width))
    T = rng.normal(size=(len(space), len(space)))
    if space.kind != "sequences":
        T = np.zeros_like(T)
    return twin, space, inputs, codes, Weights(W, T)


def flat(space, weights):
    """The weight vector in the layout of the paper's Phi."""
    parts = [weights.W.ravel()] + ([weights.T.ravel()] if space.kind == "sequences" else [])
    return np.concatenate(parts)


def literal_hinge(twin, w, i, tau, margin):
    """tau log sum_z exp((w.Phi(x, z) + Delta(y, z)) / tau) - w.Phi(x, y), by listing all z."""
    x, y = twin.X[i], twin.truth[i]
    values = [w @ twin.phi(x, z) + margin * twin.delta(y, z) for z in twin.outputs_of(x)]
    return tau * np.log(np.sum(np.exp(np.array(values) / tau))) - w @ twin.phi(x, y)


def literal_objective(twin, w, lam, tau, costs):
    hinges = [literal_hinge(twin, w, i, tau, margin=True) for i in range(len(twin.truth))]
    return lam / 2 * w @ w + costs @ hinges


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, tau=st.sampled_from([1.0, 0.5, 0.1]), margin=st.booleans())
def test_the_smoothed_hinge_is_the_sum_over_all_outputs(kind, seed, tau, margin):
    rng = np.random.default_rng(seed)
    twin, space, inputs, codes, weights = coded(kind, rng)
    costs = rng.random(len(inputs))
    V = inputs.rows @ weights.W
    value, _, _ = smoothed_hinge(space, V, weights.T, inputs.starts, codes, costs, tau, margin)
    w = flat(space, weights)
    expected = sum(c * literal_hinge(twin, w, i, tau, margin) for i, c in enumerate(costs))
    assert value == pytest.approx(expected, rel=1e-6)


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, tau=st.sampled_from([1.0, 0.5, 0.1]), margin=st.booleans())
def test_the_gradients_equal_finite_differences(kind, seed, tau, margin):
    rng = np.random.default_rng(seed)
    _, space, inputs, codes, weights = coded(kind, rng)
    costs = rng.random(len(inputs))
    V, T = 0.3 * inputs.rows @ weights.W, 0.3 * weights.T

    def value(point):
        return smoothed_hinge(
            space, point[: V.size].reshape(V.shape), point[V.size :].reshape(T.shape), inputs.starts, codes,
            costs, tau, margin,
        )[0]  # fmt: skip

    _, dV, dT = smoothed_hinge(space, V, T, inputs.starts, codes, costs, tau, margin)
    # To both sides, and not too near: with small tau and 0-1 loss the value has some ten digits.
    point = np.concatenate([V.ravel(), T.ravel()])
    expected = np.mean([approx_fprime(point, value, step) for step in (1e-5, -1e-5)], axis=0)
    np.testing.assert_allclose(np.concatenate([dV.ravel(), dT.ravel()]), expected, atol=1e-6)


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_loss_augmented_outputs_attain_the_bound(kind, seed):
    twin, space, inputs, codes, weights = coded(kind, np.random.default_rng(seed))
    S = scores(space, inputs.rows, weights)
    Z = space.decode(augmented_codes(space, S, weights.T, inputs.starts, codes), inputs.starts)
    w = flat(space, weights)
    for x, y, z in zip(twin.X, twin.truth, Z, strict=True):
        values = [w @ twin.phi(x, other) + twin.delta(y, other) for other in twin.outputs_of(x)]
        assert w @ twin.phi(x, z) + twin.delta(y, z) == pytest.approx(max(values))


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_allowed_outputs_are_the_best_of_those_that_are_allowed(kind, seed):
    rng = np.random.default_rng(seed)
    twin, space, inputs, _, weights = coded(kind, rng)
    partly = [twin.partly(rng, y) for y in twin.truth]
    given_codes = space.encode(partly, inputs.starts)
    S = scores(space, inputs.rows, weights)
    best = space.decode(allowed_codes(space, S, weights.T, inputs.starts, given_codes), inputs.starts)
    w = flat(space, weights)
    for i, y in enumerate(best):
        values = {other: w @ twin.phi(twin.X[i], other) for other in twin.allowed(i, partly[i])}
        assert values[y] == pytest.approx(max(values.values()))


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_marginals_equal_sums_over_all_outputs(kind, seed):
    twin, space, inputs, _, weights = coded(kind, np.random.default_rng(seed))
    S = scores(space, inputs.rows, weights)
    tokens, pairs = marginals(space, S, weights.T, inputs.starts)
    w = flat(space, weights)
    expected, moves = np.zeros_like(tokens), np.zeros_like(pairs)
    for i, x in enumerate(twin.X):
        outputs = twin.outputs_of(x)
        p = np.exp([w @ twin.phi(x, y) for y in outputs])
        for y, share in zip(outputs, p / p.sum(), strict=True):
            tags = space.encode([y]).ravel()
            if space.kind == "labelsets":
                expected[i] += share * tags
            else:
                expected[np.arange(inputs.starts[i], inputs.starts[i + 1]), tags] += share
            if space.kind == "sequences":
                np.add.at(moves, (tags[:-1], tags[1:]), share)
    np.testing.assert_allclose(tokens, expected, atol=1e-9)
    np.testing.assert_allclose(pairs, moves, atol=1e-9)


@EVERY_KIND
def test_the_solver_reaches_the_optimum_of_a_generic_solver(kind):
    rng = np.random.default_rng(1)
    twin, space, inputs, codes, weights = coded(kind, rng, n=5)
    costs = rng.random(len(inputs)) + 0.1
    arguments = (space, inputs.rows, inputs.starts, codes, 0.3)
    found = fit_weights(*arguments, costs=costs, taus=(0.5,))
    w = flat(space, weights)
    generic = minimize(lambda w: literal_objective(twin, w, 0.3, 0.5, costs), np.zeros(len(w)), method="BFGS")
    assert literal_objective(twin, flat(space, found), 0.3, 0.5, costs) == pytest.approx(
        generic.fun, rel=1e-4
    )


@EVERY_KIND
def test_two_starts_end_in_one_optimum(kind):
    rng = np.random.default_rng(2)
    twin, space, inputs, codes, weights = coded(kind, rng, n=8)
    arguments = (space, inputs.rows, inputs.starts, codes, 0.1)
    first = fit_weights(*arguments)
    second = fit_weights(*arguments, start=weights, taus=(0.1,))
    costs = np.full(8, 1 / 8)
    values = [literal_objective(twin, flat(space, w), 0.1, 0.1, costs) for w in (first, second)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_a_small_smoothing_comes_near_the_hinge_of_a_quadratic_program():
    # lam/2 |w|^2 + mean xi  s.t.  w.(Phi(y) - Phi(z)) >= Delta - xi, by sequential programming.
    twin, space, inputs, codes, _ = coded("classes", np.random.default_rng(3), n=6)
    lam, n, m = 0.2, 6, 9
    rows = [
        (i, twin.phi(x, y) - twin.phi(x, z), twin.delta(y, z))
        for i, (x, y) in enumerate(zip(twin.X, twin.truth, strict=True))
        for z in twin.outputs_of(x)
    ]
    slacks, gaps, deltas = (np.array(column) for column in zip(*rows, strict=True))
    program = minimize(
        lambda v: lam / 2 * v[:m] @ v[:m] + v[m:].mean(),
        np.ones(m + n),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: gaps @ v[:m] - deltas + v[m:][slacks]},
        options={"maxiter": 500},
    )
    assert program.success
    found = fit_weights(space, inputs.rows, inputs.starts, codes, lam, taus=(0.5, 0.1, 0.02))
    w = flat(space, found)
    hinges = np.zeros(n)
    np.maximum.at(hinges, slacks, deltas - gaps @ w)
    value = lam / 2 * w @ w + hinges.mean()
    assert program.fun <= value + 1e-6 <= program.fun + 0.02 * np.log(3) + 1e-3


def test_costs_count_a_point_as_often_as_they_say():
    _, space, inputs, codes, _ = coded("tree", np.random.default_rng(4), n=4)
    twice = np.array([0, 1, 1, 2, 3])
    repeated = fit_weights(space, inputs.rows[twice], np.arange(6), codes[twice], 0.1)
    weighed = fit_weights(space, inputs.rows, inputs.starts, codes, 0.1, costs=np.array([0.2, 0.4, 0.2, 0.2]))
    np.testing.assert_allclose(repeated.W, weighed.W, atol=1e-3)


def test_the_lambda_of_a_random_field_follows_the_noise():
    rng = np.random.default_rng(5)
    clean = rng.integers(0, 2, 60)
    rows = np.column_stack([2.0 * clean - 1, rng.normal(size=(60, 12))]) / 3
    noisy = np.where(rng.random(60) < 0.3, 1 - clean, clean)
    likelihood = {"margin": False, "taus": (1.0,)}
    chosen = [
        choose_lambda(
            Classes([0, 1]), np.arange(61), rows, codes.astype(np.int32), np.arange(60), 0, **likelihood
        )
        for codes in (clean, noisy)
    ]
    assert chosen[0] < chosen[1] == max(LAMBDAS)
