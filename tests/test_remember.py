"""Steps that runs share: once per content, only when asked, and the time is accounted for."""

import threading
import time

import numpy as np
import pytest

from sslsop_core import SSLSOP, datasets, remember
from sslsop_core.remember import MOST, remembered, remembering
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


def test_what_is_kept_is_bounded(step):
    with remembering():
        for i in range(MOST + 5):
            step(np.array([i]))
        step(np.array([0]))
    assert len(step.calls) == MOST + 6  # the first was forgotten
    assert len(remember._results) == MOST


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


@pytest.mark.parametrize("shared", ["svm", "hybrid"])
def test_tuning_with_a_remembered_start_finds_the_same(shared, monkeypatch):
    problem = datasets.load("blobs", n=60, classes=3)
    hidden = problem.with_facts(y=problem.hide(0.4))
    space = {"k": [4, 9], "eta": [1.0, 5.0]}
    tunings = []
    for most in (MOST, 0):  # with no room, every start is trained anew
        monkeypatch.setattr(remember, "MOST", most)
        remember._results.clear()
        tunings.append(tune(SSLSOP(shared=shared, max_iter=4), hidden, budget=4, search_space=space))
    assert [trial.losses for trial in tunings[0].trials] == [trial.losses for trial in tunings[1].trials]
