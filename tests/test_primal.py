"""The weights of one predictor give the scores that the engine keeps for it."""

from __future__ import annotations

import numpy as np
import pytest

from sslsop_core import SSLSOP, datasets
from sslsop_core.primal import local_outputs, local_weights


@pytest.mark.parametrize("intercept", [True, False])
def test_local_weights_reproduce_the_scores_of_the_neighborhood(intercept):
    problem = datasets.load("moons", n=60)
    model = SSLSOP(problem.space, k=6, max_iter=5, init="spread", intercept=intercept)
    model.fit(problem.X, problem.hide(labeled=0.3))
    neighbors = model.graph_.neighbors[7]
    rows = problem.X[neighbors]
    rows = np.hstack([rows, np.ones((6, 1))]) if intercept else rows
    kept = model._engine.S[7 * 6 : 8 * 6]
    np.testing.assert_allclose(rows @ local_weights(model, 7), kept, atol=1e-9)
    assert local_outputs(model, 7, problem.X).shape == (60,)


def test_predictors_without_a_finite_w_are_refused():
    problem = datasets.load("moons", n=40)
    y = problem.hide(labeled=0.3)
    for options, told in (({"kernel": "rbf"}, "linear"), ({"init": "global"}, "global")):
        model = SSLSOP(problem.space, k=4, max_iter=1, **options).fit(problem.X, y)
        with pytest.raises(ValueError, match=told):
            local_weights(model, 0)
