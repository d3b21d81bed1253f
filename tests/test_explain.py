"""Explanations: the votes add up to the output, and its weight rests on labelled points."""

from itertools import pairwise

import numpy as np
import pytest

from sslsop_core import SSLSOP, load_model

from .problems import KINDS, make
from .test_learner import LITERAL, explicit_weights, hidden, with_one


@pytest.fixture(params=KINDS)
def fitted(request):
    rng = np.random.default_rng(0)
    twin = make(request.param, rng, n=25)
    given = hidden(twin, rng, 0.3)
    return (
        twin,
        given,
        SSLSOP(twin.space, k=5, max_iter=8, init="guided", eta=5.0, **LITERAL).fit(twin.X, given),
    )


def test_votes_carry_the_scores_of_the_neighborhoods_that_contain_the_point(fitted):
    twin, _, model = fitted
    W = explicit_weights(model)
    for i in range(25):
        why = model.explain(i)
        assert why.output == model.outputs_[i]
        voters = {hood for hood, row in enumerate(model.graph_.neighbors) if i in row}
        assert {vote.neighborhood for vote in why.votes} <= voters
        for vote in why.votes:
            w, x = W[vote.neighborhood], with_one(twin.X[i])
            assert vote.score == pytest.approx(w @ twin.phi(x, why.output), abs=1e-9)
            assert vote.runner_up_score == pytest.approx(w @ twin.phi(x, why.runner_up), abs=1e-9)
            assert vote.output == twin.space.argmax(x, w)


def supporters(model, i):
    """The points with a positive part in the score of point i's output, loop by loop."""
    engine, space = model._engine, model.space_
    code = space.encode([model.outputs_[i]], np.array([0, engine.inputs.lengths[i]]))
    coefficients, (gram, gram_at) = engine.A @ engine.mixing, engine.gram
    parts = np.zeros(len(engine.inputs))
    for hood, row in enumerate(engine.graph.neighbors):
        at = engine.at[hood * len(row) : (hood + 1) * len(row) + 1]
        size = at[-1] - at[0]
        block = gram[gram_at[hood] : gram_at[hood] + size**2].reshape(size, size)
        for own in np.flatnonzero(row == i):
            for j, (begin, end) in zip(row, pairwise(at), strict=True):
                products = block[at[own] - at[0] : at[own + 1] - at[0], begin - at[0] : end - at[0]]
                scores = products @ coefficients[begin:end]
                signs = code - 0.5 if code.ndim == 2 else np.eye(scores.shape[1])[code]
                parts[j] += engine.share[hood, own] * np.sum(signs * scores)
    return set(np.flatnonzero(parts > 0).tolist())


@pytest.mark.parametrize("init", ["spread", "guided", "hybrid", "hinted"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_labelled_points_and_of_the_shared_start_sum_to_one(kind, init):
    rng = np.random.default_rng(0)
    twin = make(kind, rng, n=25)
    given = hidden(twin, rng, 0.3)
    model = SSLSOP(twin.space, k=5, max_iter=8, init=init).fit(twin.X, given)
    for i in range(25):
        for why in (model.explain(i), model.explain(twin.X[i] + 0.01)):
            assert all(given[j] is not None for j, _ in why.sources)
            total = why.shared + sum(weight for _, weight in why.sources)
            alone = why.output is not None and supporters(model, i) <= {i}  # nobody else speaks for it
            assert total == pytest.approx(1) or (total == 0 and (alone or why.output is None))
            assert 0 <= why.shared <= (0 if init == "spread" else 1)
        if given[i] is not None:
            assert (model.explain(i).sources, model.explain(i).shared) == (((i, 1.0),), 0)


def test_what_neighbors_did_not_change_comes_from_the_shared_start():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)) + 9, rng.normal(size=(20, 2)) - 9])
    y = ["a"] * 3 + [None] * 17 + ["b"] * 3 + [None] * 17
    model = SSLSOP(k=5, init="guided").fit(X, y)
    why = model.explain(9)
    assert why.output == "a"
    assert why.shared > 0.5
    assert model.explain(X[9] + 0.1).shared > 0.5
    corrected = SSLSOP(k=5, init="guided", eta=20.0, C=0.05).fit(X, y)  # forgets its start quickly
    assert corrected.explain(9).shared < 0.01


def test_partly_given_outputs_are_sources_where_nothing_else_is():
    rng = np.random.default_rng(0)
    twin = make("sequences-01", rng)
    given = [(y[0], *[None] * (len(y) - 1)) for y in twin.truth]
    model = SSLSOP(twin.space, k=4, max_iter=5, init="spread").fit(twin.X, given)
    reached = [i for i, output in enumerate(model.outputs_) if output is not None]
    assert reached
    for i in reached:
        assert sum(weight for _, weight in model.explain(i).sources) == pytest.approx(1)


def test_a_new_point_is_explained_by_its_nearest_neighborhoods_and_its_own(fitted):
    twin, _, model = fitted
    W = explicit_weights(model)
    x = twin.X[3] + 0.01
    why = model.explain(x)
    assert why.output == model.predict([x])[0]
    points = model._meet([x], None)
    share = dict(zip(points.nearest[0].tolist(), points.share[0], strict=True))
    voters = [vote.neighborhood for vote in why.votes]
    assert set(voters) <= {None, *share}
    assert voters.count(None) == 1
    assert sum(vote.weight for vote in why.votes) == pytest.approx(1)
    for vote in why.votes:
        if vote.neighborhood is not None:
            assert vote.score == pytest.approx(
                W[vote.neighborhood] @ twin.phi(with_one(x), why.output), abs=1e-9
            )
            assert vote.weight == pytest.approx(share[vote.neighborhood] / 2)


def test_the_votes_of_a_new_point_add_up_to_its_scores():
    rng = np.random.default_rng(5)
    twin = make("classes", rng, n=30)
    model = SSLSOP(twin.space, k=5, init="global", max_iter=5).fit(twin.X, hidden(twin, rng))
    x = twin.X[7] + 0.1
    why, scores = model.explain(x), model.decision_function([x])[0]
    total = sum(vote.weight * vote.score for vote in why.votes)
    assert total == pytest.approx(scores[twin.space.names.index(why.output)])


def test_an_output_comes_from_its_own_side():
    X = np.concatenate([np.arange(10.0), np.arange(100.0, 110.0)])[:, None]
    model = SSLSOP(k=4, kernel="rbf", init="spread").fit(X, ["a", *[None] * 9, "b", *[None] * 9])
    assert model.explain(9).sources == ((0, 1.0),)
    assert model.explain(19).sources == ((10, 1.0),)
    assert model.explain([105.5]).output == "b"


def test_a_point_never_reached_has_nothing_to_explain():
    X = np.concatenate([np.arange(10.0), np.arange(100.0, 110.0)])[:, None]
    model = SSLSOP(k=4).fit(X, ["a", *[None] * 19])
    why = model.explain(15)
    assert (why.output, why.votes, why.sources, why.shared) == (None, (), (), 0)
    assert model.explain([105.0]).output is None
    with pytest.raises(ValueError, match="index from 0 to 19"):
        model.explain(20)


def test_a_loaded_model_explains_the_same(fitted, tmp_path):
    _, _, model = fitted
    model.save(tmp_path / "model.sslsop")
    loaded = load_model(tmp_path / "model.sslsop")
    for i in range(25):
        mine, other = model.explain(i), loaded.explain(i)
        assert other.output == mine.output
        assert [s[0] for s in other.sources] == [s[0] for s in mine.sources]
