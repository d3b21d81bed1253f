"""Algorithm 1 from beginning to end: `fit` is the literal equations, turn after turn, from every start."""

import numpy as np
import pytest

from sslsop_core import SSLSOP

from . import reference
from .problems import KINDS, make
from .test_learner import INITS, LITERAL, explicit_weights, hidden, shared_weights, with_one

C, ETA, TURNS = 0.1, 0.7, 4


class Literal:
    """The paper's run on explicit weight vectors, beside a model that has begun."""

    def __init__(self, model, twin, given, w0):
        n, self.model, self.twin, self.given = len(given), model, twin, given
        self.X = [with_one(x) for x in twin.X]
        self.neighbors = model.graph_.neighbors
        self.share = model._engine.share
        self.W = [w0.copy() for _ in range(n)]

    def z(self, i, r, Y):
        """The paper's z_ij; where several attain the bound, at w = 0 for one, the one that was found."""
        j, twin = self.neighbors[i][r], self.twin
        if Y[j] is None:
            return None
        x, found = self.X[j], self.found_z(i, r)
        highest = reference.bound(twin.phi, twin.delta, twin.outputs_of(x), self.W[i], x, Y[j])
        attained = reference.bracket(twin.phi, twin.delta, self.W[i], x, Y[j], found)
        assert attained == pytest.approx(highest, abs=1e-12)
        return found

    def found_z(self, i, r):
        engine, space = self.model._engine, self.twin.space
        pair = i * self.neighbors.shape[1] + r
        if space.kind == "sequences":
            return space.decode(self.Z[engine.at[pair] : engine.at[pair + 1]])[0]
        return space.decode(self.Z[pair : pair + 1])[0]

    def turn(self, Y, exact, Z, found):
        """One turn; of outputs that cost the same the ones that were found are taken."""
        self.Z, twin, n = Z, self.twin, len(Y)
        z = [[self.z(i, r, Y) for r in range(len(row))] for i, row in enumerate(self.neighbors)]
        for i, N_i in enumerate(self.neighbors):
            if any(Y[j] is not None for j in N_i):
                self.W[i] = reference.w_next(twin.phi, self.W[i], self.X, Y, z[i], N_i, self.share[i], C, ETA)
            else:
                self.W[i] = (1 - ETA * C) * self.W[i]
        return [self.output(i, Y, z, exact, found[i]) for i in range(n)]

    def output(self, i, Y, z, exact, found):
        twin, x = self.twin, self.X[i]
        voters = reference.voters_of(i, self.neighbors, Y)
        if self.given[i] is not None or not voters:
            return Y[i]
        outputs = twin.outputs_of(x)
        if exact:
            costs = {
                y: reference.cost_exact(twin.phi, twin.delta, outputs, self.W, x, voters, self.share, y)
                for y in outputs
            }
        else:
            costs = {
                y: reference.cost_paper(twin.phi, twin.delta, self.W, x, voters, z, self.share, y)
                for y in outputs
            }
        best = min(costs, key=costs.__getitem__)
        return found if costs[found] == pytest.approx(costs[best], abs=1e-12) else best

    def objective(self, Y):
        known = [i for i, N_i in enumerate(self.neighbors) if any(Y[j] is not None for j in N_i)]
        bounds = reference.objective(
            self.twin.phi, self.twin.delta, self.twin.outputs_of, [self.W[i] for i in known], self.X, Y,
            self.neighbors[known], self.share[known], 0.0,
        )  # fmt: skip
        return bounds + C / 2 * sum(np.sum(w**2) for w in self.W)


def first_outputs(init, model, twin, given, w0):
    """Where the missing outputs begin, literally."""
    if init in ("spread", "guided"):
        return list(given)
    if init == "random":
        return list(model.outputs_)
    labeled = [j for j, y in enumerate(given) if y is not None]
    Y = []
    for x, y in zip(twin.X, given, strict=True):
        if y is not None:
            Y.append(y)
        elif init == "global":
            Y.append(reference.predict_one(twin.phi, twin.outputs_of(x), w0, with_one(x)))
        elif twin.space.kind == "sequences":
            tokens = [(v, tag) for j in labeled for v, tag in zip(twin.X[j], given[j], strict=True)]
            Y.append(tuple(min(tokens, key=lambda token: np.sum((token[0] - t) ** 2))[1] for t in x))
        else:
            Y.append(given[min(labeled, key=lambda j: np.sum((twin.X[j] - x) ** 2))])
    return Y


# A step over labels or tags one by one (Hamming loss of sequences) has no closed form to compare with.
EXACT = [kind for kind in KINDS if kind != "sequences-hamming"]


@pytest.mark.parametrize(("kind", "exact"), [(k, False) for k in KINDS] + [(k, True) for k in EXACT])
@pytest.mark.parametrize("init", INITS)
def test_fit_is_algorithm_1_to_the_letter(init, kind, exact):
    rng = np.random.default_rng(11)
    twin = make(kind, rng, n=14)
    given = hidden(twin, rng, 0.4)
    model = SSLSOP(
        twin.space, k=4, C=C, eta=ETA, max_iter=TURNS, tol=0.0, init=init, anchor=False,
        output_step="exact" if exact else "paper", **LITERAL,
    )  # fmt: skip
    model._start(twin.X, given, None, lambda phase, share: None)
    w0 = np.zeros(twin.space.dim(4)) if model._shared is None else shared_weights(model)
    Y = first_outputs(init, model, twin, given, w0)
    assert list(model.outputs_) == Y
    assert all(g is None or g == y for g, y in zip(given, Y, strict=True))
    literal = Literal(model, twin, given, w0)
    model._engine.upper_bounds(model._Y)
    Z = model._engine.Z.copy()
    for turn in model._iterate(TURNS):
        Y = literal.turn(Y, exact, Z, model.outputs_)
        assert list(model.outputs_) == Y
        np.testing.assert_allclose(explicit_weights(model), literal.W, atol=1e-9)
        assert turn.objective == pytest.approx(literal.objective(Y))
        Z = model._engine.Z.copy()
