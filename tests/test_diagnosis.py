"""Losses, margins and advice say what a look at the model says."""

from __future__ import annotations

import numpy as np
import pytest

from sslsop_core import SSLSOP, Classes, TreeLeaves, datasets
from sslsop_core.diagnosis import advise, margins, point_losses, token_starts

STARTS = np.arange(4)


def test_unknown_truth_has_no_loss_and_unreached_points_have_the_largest():
    space = TreeLeaves({"a": "x", "b": "x", "x": "root", "c": "root"})
    codes, truth = np.array([0, -1, 1], dtype=np.int32), space.encode(["b", "a", None])
    np.testing.assert_array_equal(point_losses(space, codes, truth, STARTS), [1.0, 2.0, np.nan])


def test_a_truth_that_is_an_inner_node_has_no_loss():
    space = TreeLeaves({"a": "x", "b": "x", "x": "root", "c": "root"})
    losses = point_losses(space, np.array([0, 1, 2], dtype=np.int32), space.encode(["x", "b", "c"]), STARTS)
    np.testing.assert_array_equal(losses, [np.nan, 0.0, 0.0])


@pytest.mark.parametrize("name", ["blobs", "gaussian_tree", "hmm", "label_mixture"])
def test_margins_agree_with_the_votes_that_explain_lists(name):
    problem = datasets.load(name, n=60)
    model = SSLSOP(problem.space, k=6, max_iter=4).fit(problem.X, problem.hide(labeled=0.4))
    found = margins(model)
    for i in range(0, 60, 7):
        votes = model.explain(i).votes
        lead = sum(vote.weight * (vote.score - vote.runner_up_score) for vote in votes)
        assert found[i] == pytest.approx(lead / sum(vote.weight for vote in votes), rel=1e-4, abs=1e-6)


def test_token_starts_are_offsets_of_sequences_and_counts_otherwise():
    assert token_starts([np.ones((2, 3)), np.ones((1, 3))]).tolist() == [0, 2, 3]
    assert token_starts(np.ones((2, 3))).tolist() == [0, 1, 2]


def test_flipping_outputs_are_noticed_and_the_remedy_helps():
    problem = datasets.load("moons", n=160)
    y, options = problem.hide(per_class=2), {"k": 8, "eta": 0.2, "weights": "uniform", "intercept": True}
    restless = SSLSOP(problem.space, output_step="paper", max_iter=30, **options).fit(problem.X, y)
    advice = advise(restless)
    assert advice is not None
    assert advice.remedy == {"output_step": "exact"}
    cured = SSLSOP(problem.space, max_iter=30, **(options | advice.remedy)).fit(problem.X, y)
    assert advise(cured) is None


def test_points_that_stay_unreached_are_noticed():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    model = SSLSOP(Classes("ab"), k=2).fit(X, ["a", None, "b", None, None, None])
    advice = advise(model)
    assert advice is not None
    assert "3 points have no output" in advice.text
    assert advice.remedy == {"k": 4}


def test_a_collapse_onto_one_output_is_noticed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = ["a" if i % 10 else "b" for i in range(20)] + [None] * 180
    y[:8] = ["b"] * 8
    model = SSLSOP(Classes("ab"), k=15).fit(X, y)
    model._Y[20:] = 0
    advice = advise(model)
    assert advice is not None
    assert "collapsed" in advice.text
