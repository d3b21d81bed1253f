"""How init="auto" finds its start: on given outputs that it hides from itself, and on nothing else."""

import numpy as np
import pytest

from sslsop_core import SSLSOP, Classes, Sequences, datasets
from sslsop_core.choice import CUTS, FALLBACK, TRIED, choose, tried
from sslsop_core.inputs import single_rows


def inputs(n):
    return single_rows(np.random.default_rng(0).normal(size=(n, 1)))


def test_the_start_with_the_lowest_loss_on_hidden_outputs_is_chosen():
    space, given = Classes("ab"), np.array([0, 1] * 10 + [-1] * 5, dtype=np.int32)
    truth = np.where(given >= 0, given, 0)
    seen = []

    def trial(name, codes):
        seen.append(codes)
        wrong = {"hybrid": 0.5, "spread": 0.0, "hinted": 0.0}[name]
        hidden = np.flatnonzero(codes < 0)
        found = truth.copy()
        found[hidden[: round(wrong * len(hidden))]] ^= 1
        return found

    assert choose(TRIED, trial, space, given, inputs(25), seed=0) == "spread"  # the first of two level ones
    hidden_in_turn = sum((codes < 0) & (given >= 0) for codes in seen)
    assert (hidden_in_turn[:20] == CUTS * len(TRIED)).all()  # each given output once per start and cut
    assert all((codes[given < 0] == -1).all() for codes in seen)


def test_sequences_spread_by_themselves_only_where_that_is_shown_to_be_better():
    assert tried(Sequences("NV")) == ("guided", "hybrid", "spread")
    assert tried(Classes("ab")) == TRIED == ("hybrid", "spread", "hinted")


def test_too_few_given_outputs_leave_nothing_to_choose_by():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = SSLSOP().fit(X, ["a", "b", "a", "b", "a", *[None] * 25])
    assert model.init_ == FALLBACK


@pytest.mark.parametrize("name", ["moons", "hmm", "gaussian_tree", "label_mixture"])
def test_auto_is_the_chosen_start_and_nothing_more(name):
    problem = datasets.load(name)
    y = problem.hide(0.2)
    auto = SSLSOP(problem.space, max_iter=15).fit(problem.X, y)
    assert auto.init_ in TRIED
    named = SSLSOP(problem.space, max_iter=15, init=auto.init_).fit(problem.X, y)
    assert [turn.objective for turn in auto.history_] == [turn.objective for turn in named.history_]
    assert list(auto.outputs_) == list(named.outputs_)


def test_data_that_suit_a_start_get_it():
    moons = datasets.load("moons")
    assert SSLSOP(moons.space).fit(moons.X, moons.hide(0.1)).init_ == "spread"
    cora = datasets.load("cora")
    rows = np.arange(600)
    y = [output if i < 120 else None for i, output in enumerate(cora.y[:600])]
    model = SSLSOP(cora.space, metric=cora.metric, views=cora.views, max_iter=10)
    assert model.fit(cora.X[rows], y).init_ == "hybrid"  # words given a topic


def test_the_choice_does_not_depend_on_the_number_of_turns():
    problem = datasets.load("moons", n=80)
    y = problem.hide(0.3)
    whole = SSLSOP(k=6, max_iter=8).fit(problem.X, y)
    parts = SSLSOP(k=6, max_iter=2).fit(problem.X, y).resume(6)
    assert whole.init_ == parts.init_
    assert whole.outputs_.tolist() == parts.outputs_.tolist()
