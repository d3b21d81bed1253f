"""Costs grow as they should, and what cannot fit is refused with advice."""

from __future__ import annotations

import numpy as np
import pytest

from sslsop_core import Classes, Sequences
from sslsop_core.estimate import Estimate, estimate, free_memory, require_fit


def test_memory_grows_with_the_square_of_k():
    X, space = np.ones((1000, 5)), Classes("ab")
    assert estimate(space, X, 100).memory > 30 * estimate(space, X, 10).memory


def test_sequences_cost_more_than_points():
    points = estimate(Classes("abc"), np.ones((50, 4)), 5)
    sentences = estimate(Sequences("abc"), [np.ones((9, 4))] * 50, 5)
    assert sentences.turn > points.turn
    assert sentences.memory > points.memory


def test_time_is_the_start_and_then_per_turn():
    assert Estimate(start=2.0, turn=0.5, memory=0).seconds(10) == 7.0


def test_what_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="Lower k"):
        require_fit(Estimate(0, 0, memory=2**34), free=2**30)


def test_what_fits_and_what_cannot_be_known_pass():
    require_fit(Estimate(0, 0, memory=2**20), free=2**30)
    require_fit(Estimate(0, 0, memory=2**40), free=None)
    assert free_memory() is None or free_memory() > 0
