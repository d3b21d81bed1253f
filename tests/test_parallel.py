"""Chunks on threads, and work that cannot say how far it is, told by the clock."""

import threading
import time

import numpy as np
import pytest

from sslsop_core.parallel import by_the_clock, over_chunks, shared_threads


@pytest.mark.parametrize("expected", [0.1, 1.0, 100.0])
def test_shares_by_the_clock_grow_and_end_at_one(expected):
    seen = []
    assert by_the_clock(lambda: time.sleep(1.3) or "done", expected, seen.append) == "done"
    assert len(seen) >= 2
    assert seen == sorted(seen)
    assert 0 < seen[0] < 1
    assert seen[-1] == 1


def test_an_error_in_the_work_is_raised():
    with pytest.raises(ZeroDivisionError):
        by_the_clock(lambda: 1 / 0, 1.0, lambda share: None)


def fill(lo, hi, target):
    target[lo:hi] += np.arange(lo, hi)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("told", [True, False])
def test_chunks_cover_everything_once(n_jobs, told):
    target, shares = np.zeros(1001), []
    progress = shares.append if told else None
    over_chunks(fill, 1001, target, n_jobs=n_jobs, work=np.inf, progress=progress)
    np.testing.assert_array_equal(target, np.arange(1001))
    assert not told or (shares == sorted(shares) and shares[-1] == 1)


def test_passes_inside_share_their_threads_and_leave_none_behind():
    seen = set()

    def note(lo, hi):
        time.sleep(0.01)
        seen.add(threading.current_thread())

    with shared_threads(2):
        for _ in range(5):
            over_chunks(note, 8, n_jobs=2, work=np.inf)
    assert len(seen) <= 2
    assert threading.current_thread() not in seen
    for thread in seen:
        thread.join(30)  # it is told to end, and not waited for
        assert not thread.is_alive()


@pytest.mark.parametrize("told", [True, False])
def test_an_error_in_a_chunk_is_raised_and_the_next_pass_works(told):
    def refuse(lo, hi):
        raise ZeroDivisionError

    progress = (lambda share: None) if told else None
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            over_chunks(refuse, 8, n_jobs=2, work=np.inf, progress=progress)
    target = np.zeros(8)
    over_chunks(fill, 8, target, n_jobs=2, work=np.inf)
    np.testing.assert_array_equal(target, np.arange(8))
