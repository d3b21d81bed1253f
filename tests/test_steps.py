"""The compiled steps equal the paper's equations, for every space, both output steps, any start."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given as draw_given
from hypothesis import settings
from hypothesis import strategies as st

from sslsop_core.engine import ChainEngine, Start, engine_for
from sslsop_core.inputs import single_rows, token_rows
from sslsop_core.kernels import Kernel
from sslsop_core.neighbors import Graph

from . import reference
from .problems import KINDS, make

C, ETA = 0.1, 0.7


class Run:
    """An engine and, beside it, explicit weight vectors W that obey the literal equations."""

    def __init__(
        self, kind, seed, *, with_start, anchor=False, known=1.0, partly=False, n_jobs=1, transitions=1.0
    ):
        rng = np.random.default_rng(seed)
        self.twin = twin = make(kind, rng)
        self.transitions = transitions
        if transitions != 1:
            twin.phi = reference.sequence_phi(list(twin.space.names), transitions)
        n, k = len(twin.X), 4
        self.neighbors = np.array([rng.permutation(n)[:k] for _ in range(n)], dtype=np.int32)
        self.share = rng.dirichlet(np.ones(k), size=n)
        m = twin.space.dim(3)
        self.w0 = rng.normal(size=m) if with_start else np.zeros(m)
        self.anchor = anchor
        self.W = np.tile(self.w0, (n, 1))
        self.given = [y if rng.random() < 0.4 else None for y in twin.truth]
        if partly:
            self.given = [
                twin.partly(rng, y) if g is None else g for g, y in zip(self.given, twin.truth, strict=True)
            ]
        self.Y = [
            y if g == y or rng.random() < known else None for g, y in zip(self.given, twin.truth, strict=True)
        ]
        inputs = token_rows(twin.X) if kind.startswith("sequences") else single_rows(twin.X)
        start = self._start(inputs) if with_start else None
        graph = Graph(self.neighbors, np.zeros((n, k)), 1.0)
        self.engine = engine_for(twin.space)(
            twin.space,
            inputs,
            graph,
            self.share,
            Kernel(None, False, transitions=transitions),
            start,
            seed,
            n_jobs,
        )
        self.starts = inputs.starts

    def _start(self, inputs):
        space, q = self.twin.space, len(self.twin.space)
        emissions, T = self.w0, None
        if space.kind == "sequences":
            emissions, T = self.w0[: -q * q], np.sqrt(self.transitions) * self.w0[-q * q :].reshape(q, q)
        scores = inputs.rows @ emissions.reshape(inputs.d, -1)
        if hasattr(space, "embedding"):
            scores = scores @ space.embedding.T
        return Start(scores, float(emissions @ emissions), T, self.anchor)

    @property
    def codes(self):
        return self.twin.space.encode(self.Y, self.starts)

    def decoded_z(self):
        """Z as lists of outputs, None where the neighbor's output is unknown."""
        engine, space = self.engine, self.twin.space
        if isinstance(engine, ChainEngine):
            flat = space.decode(engine.Z, engine.at)
        else:
            flat = space.decode(engine.Z)
        k = self.neighbors.shape[1]
        return [flat[i * k : (i + 1) * k] for i in range(len(self.neighbors))]

    def scores_equal(self):
        """Every score the engine keeps equals w_i . Phi(x_j, y) of the explicit weights."""
        twin, engine, k = self.twin, self.engine, self.neighbors.shape[1]
        for i, N_i in enumerate(self.neighbors):
            for r, j in enumerate(N_i):
                rows = slice(engine.at[i * k + r], engine.at[i * k + r + 1])
                T = engine.T[i] if isinstance(engine, ChainEngine) else None
                for y in twin.outputs_of(twin.X[j]):
                    expected = self.W[i] @ twin.phi(twin.X[j], y)
                    assert score(twin.space, engine.S[rows], T, y) == pytest.approx(expected, abs=1e-9)

    def turn(self, exact):
        """One turn of Algorithm 1 on both sides, comparing every quantity."""
        twin, engine = self.twin, self.engine
        args = (twin.phi, twin.delta)
        engine.upper_bounds(self.codes)
        Z = self.decoded_z()
        for i, N_i in enumerate(self.neighbors):
            for r, j in enumerate(N_i):
                if self.Y[j] is None:
                    assert Z[i][r] is None
                    continue
                outputs = twin.outputs_of(twin.X[j])
                attained = reference.bracket(*args, self.W[i], twin.X[j], self.Y[j], Z[i][r])
                assert attained == pytest.approx(
                    reference.bound(*args, outputs, self.W[i], twin.X[j], self.Y[j])
                )
        w0 = self.w0 if self.anchor else None
        value = reference.objective(
            *args, twin.outputs_of, self.W, twin.X, self.Y, self.neighbors, self.share, C, w0
        )
        assert engine.objective(C) == pytest.approx(value, abs=1e-9)
        engine.update_predictors(self.codes, ETA, C)
        self.W = np.array(
            [
                reference.w_next(
                    twin.phi, self.W[i], twin.X, self.Y, Z[i], self.neighbors[i], self.share[i], C, ETA,
                    self.w0 if self.anchor else 0.0,
                )
                for i in range(len(self.W))
            ]
        )  # fmt: skip
        self.scores_equal()
        Y_new = [self._next_output(i, Z, exact) for i in range(len(self.Y))]
        given = twin.space.encode(self.given, self.starts)
        codes = engine.update_outputs(self.codes, given, exact)
        assert twin.space.decode(codes, self.starts) == Y_new
        self.Y = Y_new

    def _next_output(self, i, Z, exact):
        twin = self.twin
        allowed = twin.allowed(i, self.given[i])
        voters = reference.voters_of(i, self.neighbors, self.Y)
        if len(allowed) == 1 or not voters:
            return self.Y[i]
        if not exact:
            return reference.output_paper(
                twin.phi, twin.delta, allowed, self.W, twin.X[i], voters, Z, self.share
            )
        outputs = twin.outputs_of(twin.X[i])
        return reference.output_exact(
            twin.phi, twin.delta, outputs, allowed, self.W, twin.X[i], voters, self.share
        )


def score(space, rows, T, y):
    if space.kind == "sequences":
        tags = [space.names.index(tag) for tag in y]
        return sum(rows[t, c] for t, c in enumerate(tags)) + sum(T[a, b] for a, b in pairwise(tags))
    if space.kind == "labelsets":
        return rows[0] @ np.array(y)
    return rows[0, space.names.index(y)]


@pytest.mark.parametrize("anchor", [False, True])
@pytest.mark.parametrize("loss", ["01", "hamming"])
def test_transitions_of_less_weight_are_the_equations_with_a_smaller_feature(loss, anchor):
    run = Run(f"sequences-{loss}", seed=6, with_start=True, anchor=anchor, transitions=0.3)
    for _ in range(3):
        run.turn(exact=False)


HAS_CLOSED_FORM = [kind for kind in KINDS if kind != "sequences-hamming"]


@pytest.mark.parametrize("known", [1.0, 0.3])
@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("with_start", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_three_turns_with_the_papers_output_step_are_the_equations(kind, with_start, partly, known):
    run = Run(kind, seed=3, with_start=with_start, partly=partly, known=known)
    for _ in range(3):
        run.turn(exact=False)


@pytest.mark.parametrize("known", [1.0, 0.3])
@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("with_start", [False, True])
@pytest.mark.parametrize("kind", HAS_CLOSED_FORM)
def test_three_turns_with_the_exact_output_step_are_the_equations(kind, with_start, partly, known):
    run = Run(kind, seed=4, with_start=with_start, partly=partly, known=known)
    for _ in range(3):
        run.turn(exact=True)


@pytest.mark.parametrize("kind", KINDS)
def test_an_anchored_start_pulls_towards_the_shared_predictor(kind):
    run = Run(kind, seed=5, with_start=True, anchor=True)
    for _ in range(3):
        run.turn(exact=False)


@settings(max_examples=25, deadline=None)
@draw_given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), partly=st.booleans())
def test_the_exact_step_never_raises_the_objective_at_fixed_predictors(seed, kind, partly):
    run = Run(kind, seed=seed, with_start=True, partly=partly)
    twin, given = run.twin, run.twin.space.encode(run.given, run.starts)
    run.engine.upper_bounds(run.codes)
    before = run.engine.objective(C)
    codes = run.engine.update_outputs(run.codes, given, True)
    run.engine.upper_bounds(codes)
    assert run.engine.objective(C) <= before + 1e-9
    for i, y in enumerate(twin.space.decode(codes, run.starts)):
        assert y in twin.allowed(i, run.given[i])


@settings(max_examples=25, deadline=None)
@draw_given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS))
def test_the_bound_is_never_below_the_loss_of_the_prediction(seed, kind):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng, n=1)
    w, x, y = rng.normal(size=twin.space.dim(3)), twin.X[0], twin.truth[0]
    assert twin.space.bound(x, y, w) >= twin.space.loss(y, twin.space.argmax(x, w)) - 1e-12


@settings(max_examples=25, deadline=None)
@draw_given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS))
def test_the_step_follows_a_subgradient(seed, kind):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng, n=1)
    space, x, y = twin.space, twin.X[0], twin.truth[0]
    w, u = rng.normal(size=(2, space.dim(3)))
    gradient = space.joint_feature(x, space.loss_augmented_argmax(x, y, w)) - space.joint_feature(x, y)
    assert space.bound(x, y, u) >= space.bound(x, y, w) + gradient @ (u - w) - 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_whole_set_neighborhoods_make_one_global_predictor(kind):
    run = Run(kind, seed=8, with_start=True)
    n = len(run.Y)
    run.neighbors = np.tile(np.arange(n, dtype=np.int32), (n, 1))
    run.share = np.full((n, n), 1 / n)
    graph = Graph(run.neighbors, np.zeros((n, n)), 1.0)
    run.engine = engine_for(run.twin.space)(
        run.twin.space, run.engine.inputs, graph, run.share, Kernel(None, False), run.engine.start, 8, 1
    )
    run.turn(exact=False)
    assert np.allclose(run.W, run.W[0])
    blocks = run.engine.S.reshape(n, -1)
    assert np.allclose(blocks, blocks[0])
