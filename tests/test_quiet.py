"""A block is quiet for its own thread and time, whatever others do to the filters of warnings meanwhile."""

import threading
import warnings

import pytest
from sklearn.neighbors import NearestNeighbors

from sslsop_core.quiet import quiet


def heard(text: str) -> bool:
    """Whether a warning is told under the filters as they are."""
    with warnings.catch_warnings(record=True) as told:
        warnings.warn(text, stacklevel=1)
    return bool(told)


def test_a_block_is_quiet_and_nothing_after_it():
    before = list(warnings.filters)
    with quiet():
        assert not heard("inside")
        with quiet():
            assert not heard("inside twice")
        assert not heard("inside once more")
    assert warnings.filters == before
    assert heard("outside")


def test_other_threads_are_heard():
    found = []
    with quiet():
        other = threading.Thread(target=lambda: found.append(heard("elsewhere")))
        other.start()
        other.join()
    assert found == [True]


def test_blocks_of_threads_may_end_in_any_order():
    before, found = list(warnings.filters), []
    entered, first_ended = threading.Event(), threading.Event()

    def second():
        with quiet():
            entered.set()
            first_ended.wait(10)
            found.append(heard("still inside"))

    thread = threading.Thread(target=second)
    with quiet():
        thread.start()
        entered.wait(10)
    assert heard("the second block is that of another thread")
    first_ended.set()
    thread.join()
    assert found == [False]
    assert warnings.filters == before


def test_filters_that_somebody_puts_back_later_are_not_quiet():
    with quiet():
        foreign = warnings.catch_warnings()
        foreign.__enter__()
    foreign.__exit__(None, None, None)
    assert heard("the block is over")
    before = [one for one in warnings.filters if one[2].__name__ != "Unheard"]
    with quiet():
        assert not heard("inside")
    assert warnings.filters == before


def test_a_block_that_fails_ends_too():
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert heard("after the error")


def test_scikit_learn_can_hand_its_filters_on():
    with quiet():  # it reads them all, and takes their patterns for regular expressions
        search = NearestNeighbors(n_neighbors=1, n_jobs=2).fit([[0.0], [1.0]])
        assert search.kneighbors([[0.9]])[1].tolist() == [[1]]
