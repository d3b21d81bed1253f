"""Tuning: equal budgets, only the labelled part, everything reported."""

import numpy as np
import pytest

from sslsop_core import SSLSOP, Classes, Sequences, datasets
from sslsop_core.baselines import CoSSVM, LabelSpreading, LaplacianSSVM, SupervisedSSVM
from sslsop_core.tuning import (
    PAPER_SPACE,
    SSLSOP_SPACE,
    draw_settings,
    labeled_folds,
    search_space_of,
    suited,
    tune,
)

from . import problems


def hidden(name="moons", labeled=0.3, **knobs):
    problem = datasets.load(name, **knobs)
    return problem.with_facts(y=problem.hide(labeled))


@pytest.mark.parametrize(
    "method", [SSLSOP(max_iter=3), LaplacianSSVM(lam=0.01), LabelSpreading(), SupervisedSSVM(lam=0.01)]
)
def test_every_method_has_the_same_budget_and_reports_all_of_it(method):
    problem = hidden(n=80)
    tuning = tune(method, problem, budget=4)
    assert len(tuning.trials) == 4
    settled = {}
    if isinstance(method, SSLSOP):  # its start is found before anything is searched
        settled = {"init": suited(method, problem).fit(problem.X, problem.y).init_}
    assert tuning.trials[0].parameters == settled
    assert all(len(trial.losses) == 3 and trial.seconds > 0 for trial in tuning.trials)
    assert len({repr(sorted(trial.parameters.items())) for trial in tuning.trials}) == 4
    assert tuning.best.loss == min(trial.loss for trial in tuning.trials)
    chosen = tuning.method.get_params()
    assert all(chosen[name] == value for name, value in tuning.best.parameters.items())
    assert not hasattr(tuning.method, "history_")


@pytest.mark.parametrize("kind", problems.KINDS)
def test_every_space_can_be_tuned(kind):
    twin = problems.make(kind, np.random.default_rng(0), n=18)
    y = [None if i % 3 == 2 else output for i, output in enumerate(twin.truth)]
    tuning = tune(SupervisedSSVM(twin.space, lam=0.1), (twin.X, y), budget=2, folds=2)
    assert all(np.isfinite(trial.loss) for trial in tuning.trials)


def test_the_setting_that_is_better_is_found():
    problem = hidden(n=200, labeled=0.2)
    tuning = tune(
        LaplacianSSVM(kernel="rbf", gamma=0.0, lam=0.01),
        problem,
        budget=9,
        search_space={"gamma": [0.0, 10.0]},
    )
    assert len(tuning.trials) == 3  # the space has no more
    assert tuning.method.gamma == 10.0
    linear = tune(LaplacianSSVM(lam=0.01), problem, budget=2, search_space={"kernel": ["rbf"]})
    assert linear.method.kernel == "rbf"


def test_hidden_outputs_play_no_part():
    # Points whose output is None enter as inputs only: their truth is not even there to look at.
    problem = datasets.load("blobs", n=60, classes=3)
    y = problem.hide(0.5)
    held = np.concatenate(labeled_folds(problem.space, y, 3, seed=0))
    assert sorted(held.tolist()) == [i for i, output in enumerate(y) if output is not None]


def test_held_out_points_leave_the_training_set():
    sizes = []

    class Spy(SupervisedSSVM):
        def fit(self, X, y):
            sizes.append((len(X), sum(output is not None for output in y)))
            return super().fit(X, y)

    problem = hidden("blobs", n=40, classes=2, labeled=0.6)
    tune(Spy(lam=0.1), problem, budget=1)
    assert sizes == [(32, 16)] * 3


def test_a_setting_that_is_refused_is_reported_and_never_wins():
    tuning = tune(SSLSOP(max_iter=2), hidden(n=60), budget=3, search_space={"C": [0.5], "eta": [5.0]})
    refused = tuning.trials[1]
    assert "eta * C must be at most 1" in refused.error
    assert refused.loss == np.inf
    assert tuning.best is tuning.trials[0]


def test_a_seed_settles_what_is_tried():
    first, again, other = (draw_settings(SSLSOP_SPACE, 6, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_grids_are_searched_one_after_the_other():
    grids = [{"k": [5, 6]}, [{"C": [0.1]}, {"C": [0.2], "eta": [2.0]}]]
    few, more, all_of_them = (draw_settings(grids, budget, 0) for budget in (2, 4, 99))
    assert few[0] == {}
    assert few[1] in more[1:3]
    assert sorted(setting["k"] for setting in more[1:3]) == [5, 6]
    assert sorted(setting["C"] for setting in all_of_them[3:]) == [0.1, 0.2]
    assert draw_settings(grids, 1, 0) == [{}]


def test_a_small_budget_of_sslsop_goes_to_the_size_of_neighborhoods():
    first, *others = draw_settings(SSLSOP_SPACE, 3, 0)
    assert first == {}
    assert sorted(setting.pop("k") for setting in others) == [8, 24]
    assert others == [{}, {}]  # the start is found by init="auto"
    for setting in draw_settings(SSLSOP_SPACE, 99, 0):
        SSLSOP().set_params(**setting)._check_parameters()


@pytest.mark.parametrize("method", [SSLSOP.paper(), SSLSOP.paper(k=5, C=0.1, eta=0.3, init="random")])
def test_the_paper_s_form_stays_what_it_is(method):
    assert search_space_of(method) == PAPER_SPACE
    tuning = tune(method.set_params(max_iter=2), hidden(n=60), budget=99)
    assert tuning.trials[0].parameters == {}  # no start is settled
    for trial in tuning.trials:
        assert set(trial.parameters) <= {"k", "C", "eta"}
        assert not trial.error
    first, *others = draw_settings(PAPER_SPACE, 3, 0)
    assert first == {}
    assert sorted(setting["k"] for setting in others) == [8, 24]


@pytest.mark.parametrize("method", [SSLSOP(), SSLSOP(output_step="paper"), SSLSOP(init="spread", C=0.1)])
def test_what_is_not_the_paper_s_form_is_searched_with_our_extensions(method):
    assert search_space_of(method) == SSLSOP_SPACE


def test_a_start_is_settled_only_where_it_is_left_open():
    tuning = tune(SSLSOP(max_iter=2, init="spread"), hidden(n=60), budget=3)
    assert [set(trial.parameters) for trial in tuning.trials] == [set(), {"k"}, {"k"}]


def test_a_problem_lends_its_space_views_and_metric():
    problem = datasets.load("cora")
    assert suited(SSLSOP(), problem).metric == "cosine"
    model = suited(CoSSVM(), problem)
    assert model.space == problem.space
    assert [len(view) for view in model.views] == [1433, 2708]


def test_too_few_outputs_are_refused():
    with pytest.raises(ValueError, match="at least folds=3 complete outputs; got 2"):
        tune(SupervisedSSVM(), (np.eye(4), ["a", "b", None, None]))
    with pytest.raises(ValueError, match="budget must be"):
        tune(SupervisedSSVM(), (np.eye(4), ["a", "b", "a", "b"]), budget=0)


def test_sequences_with_gaps_are_not_held_out():
    space = Sequences("NV")
    y = [("N",), (None,), None, ["V"], ("N",)]
    held = np.concatenate(labeled_folds(space, y, 3, seed=0))
    assert sorted(held.tolist()) == [0, 3, 4]
    assert labeled_folds(Classes([0, 1]), [0, 1, -1, None], 2, seed=0)[0].size == 1
