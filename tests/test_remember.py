"""Steps that runs share: once per content, only when asked, and the time is accounted for."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from sslsop_core import SSLSOP, datasets, remember
from sslsop_core.inputs import Inputs
from sslsop_core.kernels import Kernel
from sslsop_core.remember import remembered, remembering
from sslsop_core.shared import SharedPredictor
from sslsop_core.ssvm import Weights
from sslsop_core.tuning import tune


@pytest.fixture
def step():
    calls = []

    @remembered
    def double(values, offset=0):
        calls.append(1)
        time.sleep(0.01)
        return 2 * values + offset

    double.calls = calls
    remember._results.clear()
    return double


def test_equal_content_is_computed_once(step):
    with remembering():
        first, again = step(np.arange(3)), step(np.arange(3))
    assert again is first
    assert len(step.calls) == 1


def test_other_content_is_computed(step):
    with remembering():
        results = [step(np.arange(3)), step(np.arange(3.0)), step(np.arange(4)), step(np.arange(3), offset=1)]
    assert len(step.calls) == 4
    assert results[3].tolist() == [1, 3, 5]


def test_nothing_is_remembered_unless_asked(step):
    step(np.arange(3))
    step(np.arange(3))
    with remembering():
        step(np.arange(3))
    step(np.arange(3))
    assert len(step.calls) == 4


def test_the_time_that_was_saved_is_told(step):
    with remembering() as first:
        step(np.arange(3))
    with remembering() as second:
        step(np.arange(3))
        step(np.arange(3))
    assert first.seconds == 0
    assert second.seconds >= 0.02


def test_what_is_kept_is_bounded(step, monkeypatch):
    monkeypatch.setattr(remember, "MOST_BYTES", 3 * 80)
    with remembering():
        for i in (0, 1, 2, 0, 3):  # 0 was asked for again, so 1 is the one to go
            step(np.full(10, i))
        assert len(step.calls) == 4
        step(np.full(10, 0))
        assert len(step.calls) == 4
        step(np.full(10, 1))
    assert len(step.calls) == 5


def test_the_arrays_inside_a_result_count():
    sparse = sp.csr_matrix(np.eye(4))
    inside = sparse.data.nbytes + sparse.indices.nbytes + sparse.indptr.nbytes
    support = Inputs(sparse, np.arange(5))
    shared = SharedPredictor(Kernel(1.0, False), Weights(np.zeros((3, 2)), np.zeros((2, 2))), support)
    assert remember._nbytes(shared) == inside + 5 * 8 + 6 * 8 + 4 * 8


def test_threads_count_their_own_savings(step):
    saved = {}

    def work(name):
        with remembering() as mine:
            step(np.arange(2))
            saved[name] = mine.seconds

    with remembering():
        step(np.arange(2))
    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(step.calls) == 1
    assert saved["a"] == saved["b"] > 0


@pytest.mark.parametrize("init", ["guided", "auto"])
def test_tuning_with_a_remembered_start_finds_the_same(init, monkeypatch):
    problem = datasets.load("moons", n=40)
    hidden = problem.with_facts(y=problem.hide(0.4))
    space = {"k": [4]}
    tunings = []
    for most in (remember.MOST_BYTES, 0):  # with no room, every start is trained anew
        monkeypatch.setattr(remember, "MOST_BYTES", most)
        remember._results.clear()
        tunings.append(tune(SSLSOP(init=init, max_iter=4), hidden, budget=2, search_space=space))
    assert [trial.losses for trial in tunings[0].trials] == [trial.losses for trial in tunings[1].trials]
