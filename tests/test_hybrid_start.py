"""The shared start that learns from unlabelled points: a written-out HybridCRF, and where training begins."""

import numpy as np
import pytest
import scipy.sparse as sp

from sslsop_core import SSLSOP, datasets
from sslsop_core.baselines import HybridCRF
from sslsop_core.hybrid_start import HINT, quadratic
from sslsop_core.tuning import suited


def hybrid_of(problem, **parameters):
    return suited(HybridCRF(max_iter=2, **parameters), problem).fit(problem.X, problem.hide(0.4))


def assert_same_potentials(hybrid):
    """Equal but for a constant per token, which no decision depends on; labels have none."""
    S, T = hybrid._potentials(hybrid._inputs)
    twin = quadratic(hybrid, np.zeros((hybrid.n_features_in_, 0)))
    difference = twin.scores(hybrid.space_, hybrid._inputs) - S
    if hybrid.space_.kind != "labelsets":
        difference -= difference.mean(axis=1, keepdims=True)
    assert np.abs(difference).max() < 1e-9 * np.abs(S).max()
    assert np.allclose(twin.transitions, T)


@pytest.mark.parametrize("name", ["blobs", "gaussian_tree", "hmm", "label_mixture"])
def test_the_written_out_predictor_is_the_hybrid(name):
    assert_same_potentials(hybrid_of(datasets.load(name)))


@pytest.mark.parametrize("emission", ["multinomial", "bernoulli", "gaussian"])
def test_every_family_and_several_views_are_written_out(emission):
    rng = np.random.default_rng(0)
    problem = datasets.load("blobs", n=60)
    chances = dict(zip(problem.space.names, rng.random((5, 40)), strict=True))
    counts = 2.0 * (rng.random((60, 40)) < [chances[y] for y in problem.y])
    for X in (counts, sp.csr_matrix(counts)):
        views = (np.arange(15), np.arange(15, 40))
        twin = problem.with_facts(X=X, views=views)
        assert_same_potentials(hybrid_of(twin, emission=emission))


def test_training_begins_at_the_hybrid_and_stays_near_it_under_a_strong_pull():
    problem = datasets.load("gaussian_tree")
    y = problem.hide(0.3)
    parameters = {"init": "hybrid", "random_state": 3}
    still = SSLSOP(problem.space, **parameters, eta=1e-9, max_iter=1).fit(problem.X, y)
    hybrid = HybridCRF(problem.space, random_state=still._seed).fit(problem.X, y)
    # Order of the points aside (folds are drawn by it), both are the same method on the same data.
    agreement = np.mean([a == b for a, b in zip(still.outputs_, hybrid.outputs_, strict=True)])
    assert agreement > 0.97
    moved = SSLSOP(problem.space, **parameters, max_iter=20).fit(problem.X, y)
    assert moved.history_[-1].objective < moved.history_[0].objective


def test_the_result_does_not_depend_on_threads():
    problem = datasets.load("blobs")
    y = problem.hide(0.1)
    one, two = (
        SSLSOP(problem.space, init="hybrid", n_jobs=n).fit(problem.X, y).decision_function(problem.X)
        for n in (1, 2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("name", ["blobs", "gaussian_tree", "hmm", "label_mixture"])
def test_a_hint_has_the_same_opinions_and_a_small_lead(name):
    problem = datasets.load(name, n=60)
    y = problem.hide(0.3)
    hybrid, hint = (
        SSLSOP(problem.space, init=init, max_iter=1).fit(problem.X, y)._engine.start
        for init in ("hybrid", "hinted")
    )
    factor = np.linalg.norm(hint.scores) / np.linalg.norm(hybrid.scores)
    np.testing.assert_allclose(hint.scores, factor * hybrid.scores, atol=1e-12)
    np.testing.assert_allclose(hint.transitions, factor * hybrid.transitions, atol=1e-12)
    best = np.sort(hint.scores, axis=1)
    leads = np.abs(hint.scores) if name == "label_mixture" else best[:, -1] - best[:, -2]
    assert np.median(leads) == pytest.approx(HINT)


def test_neighbors_overrule_a_hint_and_not_the_hybrid():
    moons = datasets.load("moons")
    y = moons.hide(0.05)
    hybrid, hinted = (
        SSLSOP(moons.space, init=init).fit(moons.X, y).score(moons.X, moons.y)
        for init in ("hybrid", "hinted")
    )
    assert hinted > hybrid
