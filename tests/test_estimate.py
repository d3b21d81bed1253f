"""Costs grow as they should, and what cannot fit is refused with advice."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sslsop_core import SSLSOP, Classes, Sequences
from sslsop_core.estimate import Estimate, free_memory, require_fit
from sslsop_core.neighbors import descent_seconds


def test_memory_grows_with_the_square_of_k():
    X, space = np.random.default_rng(0).normal(size=(1000, 5)), Classes("ab")
    assert SSLSOP(space, k=100).estimate(X).memory > 30 * SSLSOP(space, k=10).estimate(X).memory


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("init", ["spread", "guided"])
def test_memory_is_within_a_factor_of_two_of_what_a_fit_takes(init, k):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 20)).astype(np.float32), rng.integers(0, 8, 6000).tolist()
    model = SSLSOP(k=k, init=init, max_iter=2)
    model.fit(X[:100], y[:100])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < model.estimate(X, y).memory / peak < 2


def test_what_fit_takes_can_be_estimated():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 255, (300, 6)).astype(np.uint8), [0, 1, None] * 100
    model = SSLSOP(k=5, init="spread", max_iter=2)
    expected = model.estimate(X.astype(float), y).memory
    names = pd.Series(y, index=range(500, 800), dtype=object)
    for rows in (X, sp.csr_matrix(X), X.tolist(), pd.DataFrame(X)):
        model.fit(rows, names)
        assert model.estimate(rows, names).memory == pytest.approx(expected, rel=0.01)


def test_what_lies_on_disk_takes_no_memory():
    X, space = np.random.default_rng(0).normal(size=(1000, 5)), Classes("ab")
    free, limited = (SSLSOP(space, k=50, memory_limit=m).estimate(X).memory for m in (None, 1e6))
    assert limited < 0.3 * free


def test_sequences_cost_more_than_points():
    points = SSLSOP(Classes("abc"), k=5).estimate(np.ones((50, 4)))
    sentences = SSLSOP(Sequences("abc"), k=5).estimate([np.ones((9, 4))] * 50)
    assert sentences.memory > points.memory


def test_what_descent_compiles_counts_once_a_process():
    X, y = np.random.default_rng(0).normal(size=(2000, 30)), [0, 1] * 1000
    model = SSLSOP(k=7, init="spread", max_iter=1, search="approximate")
    before = descent_seconds(0.0, len(X), True)
    model.fit(X, y)
    assert descent_seconds(0.0, len(X), False) == 0
    assert descent_seconds(0.0, len(X), True) == before


def test_time_is_the_phases_and_then_per_turn():
    assert Estimate(search=1.0, first=0.5, gram=0.5, turn=0.5, memory=0).seconds(10) == 7.0


def test_what_was_timed_once_is_not_timed_again():
    X, y = np.random.default_rng(0).normal(size=(300, 4)), [0, 1] * 150
    assert SSLSOP(k=7).estimate(X, y) == SSLSOP(k=7).estimate(X, y)


def test_without_a_space_the_outputs_are_needed():
    with pytest.raises(ValueError, match="space must be known"):
        SSLSOP().estimate(np.ones((10, 2)))


def test_what_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="Lower k"):
        require_fit(Estimate(0, 0, 0, 0, memory=2**34), free=2**30)


def test_what_fits_and_what_cannot_be_known_pass():
    require_fit(Estimate(0, 0, 0, 0, memory=2**20), free=2**30)
    require_fit(Estimate(0, 0, 0, 0, memory=2**40), free=None)
    assert free_memory() is None or free_memory() > 0
